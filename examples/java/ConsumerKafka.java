/*
 * ConsumerKafka.java - a Kafka consumer that processes each message once, in
 * order per key
 *
 * Needs Java 17 and the tables of ../consumer.sql.
 *
 *     mvn -q dependency:copy-dependencies -DoutputDirectory=lib
 *     export BILLING_URL='jdbc:mariadb://127.0.0.1/billing?user=U&password=P'
 *     export KAFKA_BROKERS=127.0.0.1:9092
 *     java -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp 'lib/*' \
 *         ConsumerKafka.java
 *
 * Once: the id of the message, Outbox-Id, is inserted in the transaction that
 * processes it, and the offset is committed after that.  A message that comes
 * again finds its id, and only its offset is committed.  The program may be
 * killed at any moment.
 *
 * In order per key: the messages of a key are in one partition of the topic,
 * and a partition belongs to one process of the group.  A message that fails
 * comes again before later ones of its partition.  A process that stood still
 * and has lost its partition may go on with what it had read: its messages
 * have the same ids.
 */

import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import javax.sql.DataSource;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.mariadb.jdbc.MariaDbPoolDataSource;

public final class ConsumerKafka {
    private static final int DUPLICATE_KEY = 1062;

    static String header(ConsumerRecord<byte[], byte[]> msg, String name) {
        return new String(msg.headers().lastHeader(name).value(),
                StandardCharsets.UTF_8);
    }

    /** Is the id new? Waits for the end of another transaction with it. */
    static boolean isNew(Connection db, String id) throws SQLException {
        try (var insert = db.prepareStatement(
                "INSERT INTO processed_messages (message_id) VALUES (?)")) {
            insert.setString(1, id);
            insert.executeUpdate();
            return true;
        } catch (SQLException e) {
            if (e.getErrorCode() != DUPLICATE_KEY) {
                throw e;
            }
            return false;
        }
    }

    /** What your application does with a message, in the open transaction. */
    static void process(Connection db, ConsumerRecord<byte[], byte[]> msg)
            throws SQLException {
        try (var insert = db.prepareStatement("INSERT INTO order_history "
                + "(order_key, sequence, event_type, event_data) "
                + "VALUES (?, ?, ?, ?)")) {
            insert.setString(1, header(msg, "Outbox-Key"));
            insert.setString(2, header(msg, "Outbox-Sequence"));
            insert.setString(3, header(msg, "Outbox-Type"));
            insert.setBytes(4, msg.value());
            insert.executeUpdate();
        }
    }

    /** Processes the message in one transaction; returns what was done. */
    static String handle(DataSource source, ConsumerRecord<byte[], byte[]> msg)
            throws SQLException {
        var id = header(msg, "Outbox-Id");
        try (var db = source.getConnection()) {
            db.setAutoCommit(false);
            try {
                var fresh = isNew(db, id);
                if (fresh) {
                    process(db, msg);
                }
                db.commit();
                return (fresh ? "processed " : "duplicate ") + id;
            } catch (SQLException | RuntimeException e) {
                db.rollback();
                throw e;
            }
        }
    }

    /** Handles messages of a partition, up to one that fails. */
    static void handleAll(DataSource source,
            KafkaConsumer<byte[], byte[]> consumer, TopicPartition partition,
            List<ConsumerRecord<byte[], byte[]>> messages)
            throws InterruptedException {
        for (var msg : messages) {
            try {
                System.out.println(handle(source, msg));
            } catch (SQLException | RuntimeException e) {
                System.err.println("failed: " + e.getMessage());
                // It comes again, before later ones.
                consumer.seek(partition, msg.offset());
                Thread.sleep(1000);
                return;
            }
        }
    }

    public static void main(String[] args) throws Exception {
        Map<String, Object> configuration = Map.of(
                "bootstrap.servers", System.getenv("KAFKA_BROKERS"),
                "group.id", "billing",
                "auto.offset.reset", "earliest", // a new group skips nothing
                "enable.auto.commit", false,
                "max.poll.records", 100, // within max.poll.interval.ms
                "session.timeout.ms",
                System.getenv().getOrDefault("SESSION_MS", "45000"));
        var bytes = new ByteArrayDeserializer();
        var billing = System.getenv("BILLING_URL");
        try (var source = new MariaDbPoolDataSource(billing);
                var consumer =
                        new KafkaConsumer<>(configuration, bytes, bytes)) {
            consumer.subscribe(List.of("events"));
            while (true) {
                var messages = consumer.poll(Duration.ofSeconds(5));
                for (var partition : messages.partitions()) {
                    handleAll(source, consumer, partition,
                            messages.records(partition));
                }
                try {
                    consumer.commitSync();
                } catch (KafkaException e) {
                    // A later one counts; or others own the partitions now.
                    System.err.println("failed: " + e.getMessage());
                }
            }
        }
    }
}
