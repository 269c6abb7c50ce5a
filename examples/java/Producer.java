/*
 * Producer.java - enqueues events in the application's transaction, with JDBC
 *
 * Needs Java 17, sql/schema.sql and the table of ../producer.sql.
 *
 *     mvn -q dependency:copy-dependencies -DoutputDirectory=lib
 *     export SHOP_URL='jdbc:mariadb://127.0.0.1/app?user=shop&password=P'
 *     echo '17 990' | java -cp 'lib/*' Producer.java    # lines: order, amount
 *
 * The account needs the rights of outbox_producer (sql/grants.sql) and its own.
 */

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;

public final class Producer {
    /** The order does not exist, or would be overpaid. */
    static final class RefusedException extends Exception {
        RefusedException(String message) {
            super(message);
        }
    }

    /** Enqueues an event; without an open transaction the procedure fails. */
    static void enqueue(Connection db, String key, String type, String metadata,
            byte[] data) throws SQLException {
        try (var call = db.prepareCall(
                "{CALL outbox_enqueue(?, NULL, ?, 1, NULL, ?, ?)}")) {
            call.setString(1, key);
            call.setString(2, type);
            call.setString(3, metadata);
            call.setBytes(4, data);
            call.execute();
        }
    }

    /** Changes data and enqueues the event: both are committed, or neither. */
    static void pay(Connection db, int order, int amount)
            throws SQLException, RefusedException {
        db.setAutoCommit(false);
        try {
            // The row of the order is locked from here on, so that transactions
            // on one key commit in turn, and its events are numbered so.
            try (var update = db.prepareStatement(
                    "UPDATE orders SET paid = paid + ? WHERE id = ?")) {
                update.setInt(1, amount);
                update.setInt(2, order);
                if (update.executeUpdate() == 0) {
                    throw new RefusedException("no order " + order);
                }
            }
            // Your JSON library writes this; numbers need no quoting.
            var data = "{\"order\": %d, \"amount\": %d}";
            enqueue(db, "order-" + order, "order.paid",
                    "{\"source\": \"shop\"}", data.formatted(order, amount)
                            .getBytes(StandardCharsets.UTF_8));
            // Whatever is thrown before the commit takes the event with it.
            checkOrder(db, order);
            db.commit();
        } catch (SQLException | RefusedException | RuntimeException e) {
            try {
                db.rollback();
            } catch (SQLException again) {
                e.addSuppressed(again);
            }
            throw e;
        }
    }

    static void checkOrder(Connection db, int order)
            throws SQLException, RefusedException {
        try (var query = db.prepareStatement(
                "SELECT paid <= total FROM orders WHERE id = ?")) {
            query.setInt(1, order);
            try (var row = query.executeQuery()) {
                if (!row.next() || !row.getBoolean(1)) {
                    throw new RefusedException(
                            "order " + order + ": more than its total");
                }
            }
        }
    }

    public static void main(String[] args) throws SQLException, IOException {
        var lines = new BufferedReader(new InputStreamReader(System.in));
        try (var db = DriverManager.getConnection(System.getenv("SHOP_URL"))) {
            for (String line; (line = lines.readLine()) != null;) {
                var words = line.split(" ");
                var order = Integer.parseInt(words[0]);
                try {
                    pay(db, order, Integer.parseInt(words[1]));
                } catch (RefusedException e) { // other errors end the program
                    System.err.println("refused: " + e.getMessage());
                }
            }
        }
    }
}
