/*
 * Consumer.java - a JetStream consumer that processes each message once, in
 * order per key
 *
 * Needs Java 17 and the tables of ../consumer.sql.
 *
 *     mvn -q dependency:copy-dependencies -DoutputDirectory=lib
 *     export BILLING_URL='jdbc:mariadb://127.0.0.1/billing?user=U&password=P'
 *     export NATS_URL=nats://127.0.0.1:4222
 *     java -cp 'lib/*' Consumer.java
 *
 * Once: the id of the message, Nats-Msg-Id, is inserted in the transaction that
 * processes it.  A message that comes again finds its id, and is only
 * acknowledged.  The program may be killed at any moment.
 *
 * In order per key (Outbox-Key): with maxAckPending 1 JetStream sends the
 * next message only after the ack of the one before, also to several processes
 * with this durable name.  With more, a later message of a key could overtake
 * one that comes again.  See README.md for more throughput.
 */

import io.nats.client.Message;
import io.nats.client.Nats;
import io.nats.client.Options;
import io.nats.client.api.AckPolicy;
import io.nats.client.api.ConsumerConfiguration;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import javax.sql.DataSource;
import org.mariadb.jdbc.MariaDbPoolDataSource;

public final class Consumer {
    private static final int DUPLICATE_KEY = 1062;

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
    static void process(Connection db, Message msg) throws SQLException {
        var headers = msg.getHeaders();
        try (var insert = db.prepareStatement("INSERT INTO order_history "
                + "(order_key, sequence, event_type, event_data) "
                + "VALUES (?, ?, ?, ?)")) {
            insert.setString(1, headers.getFirst("Outbox-Key"));
            insert.setString(2, headers.getFirst("Outbox-Sequence"));
            insert.setString(3, headers.getFirst("Outbox-Type"));
            insert.setBytes(4, msg.getData());
            insert.executeUpdate();
        }
    }

    /** Processes the message in one transaction; returns what was done. */
    static String handle(DataSource source, Message msg) throws SQLException {
        var id = msg.getHeaders().getFirst("Nats-Msg-Id");
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

    public static void main(String[] args) throws Exception {
        var options = new Options.Builder()
                .server(System.getenv("NATS_URL")).maxReconnects(-1).build();
        var wait = System.getenv().getOrDefault("ACK_WAIT", "30");
        var configuration = ConsumerConfiguration.builder()
                .durable("billing")
                .filterSubject("events.order.>")
                .ackPolicy(AckPolicy.Explicit)
                .ackWait(Duration.ofSeconds(Long.parseLong(wait)))
                .maxAckPending(1)
                .maxDeliver(-1) // never skip a message: it would be lost
                .build();
        var billing = System.getenv("BILLING_URL");
        try (var source = new MariaDbPoolDataSource(billing);
                var nats = Nats.connect(options)) {
            var consumer = nats.getStreamContext("EVENTS")
                    .createOrUpdateConsumer(configuration);
            while (true) {
                var msg = consumer.next(Duration.ofSeconds(5));
                if (msg == null) {
                    continue;
                }
                try {
                    System.out.println(handle(source, msg));
                    msg.ack();
                } catch (SQLException | RuntimeException e) {
                    System.err.println("failed: " + e.getMessage());
                    // It comes again, before all others.
                    msg.nakWithDelay(Duration.ofSeconds(1));
                }
            }
        }
    }
}
