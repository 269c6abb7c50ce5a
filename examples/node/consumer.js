/*
 * consumer.js - a JetStream consumer that processes each message once, in order
 * per key
 *
 *     npm ci
 *     export BILLING_URL='mysql://billing:PASSWORD@127.0.0.1:3306/billing'
 *     export NATS_URL=nats://127.0.0.1:4222
 *     node consumer.js
 *
 * Needs the tables of ../consumer.sql.
 *
 * Once: the id of the message, Nats-Msg-Id, is inserted in the transaction that
 * processes it.  A message that comes again finds its id, and is only
 * acknowledged.  The program may be killed at any moment.
 *
 * In order per key (Outbox-Key): with max_ack_pending 1 JetStream sends the
 * next message only after the ack of the one before, also to several processes
 * with this durable name.  With more, a later message of a key could overtake
 * one that comes again.  See README.md for more throughput.
 */

import { AckPolicy, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect, nanos } from "@nats-io/transport-node";
import mysql from "mysql2/promise";

/** Is the id new?  Waits for the end of another transaction with it. */
async function isNew(conn, id) {
  try {
    await conn.execute(
      "INSERT INTO processed_messages (message_id) VALUES (?)",
      [id],
    );
    return true;
  } catch (error) {
    if (error.code !== "ER_DUP_ENTRY") throw error;
    return false;
  }
}

/** Processes the message in one transaction; returns what was done. */
async function handle(pool, msg) {
  const id = msg.headers.get("Nats-Msg-Id");
  const conn = await pool.getConnection();
  try {
    await conn.beginTransaction();
    const fresh = await isNew(conn, id);
    if (fresh) {
      await conn.execute( // here your application's changes
        `INSERT INTO order_history (order_key, sequence, event_type, event_data)
         VALUES (?, ?, ?, ?)`,
        [
          msg.headers.get("Outbox-Key"),
          msg.headers.get("Outbox-Sequence"),
          msg.headers.get("Outbox-Type"),
          Buffer.from(msg.data),
        ],
      );
    }
    await conn.commit();
    conn.release();
    return `${fresh ? "processed" : "duplicate"} ${id}`;
  } catch (error) {
    conn.destroy(); // the server rolls back, even if the connection is broken
    throw error;
  }
}

const pool = mysql.createPool(process.env.BILLING_URL);
const nats = await connect({
  servers: process.env.NATS_URL,
  maxReconnectAttempts: -1,
});
const manager = await jetstreamManager(nats);
await manager.consumers.add("EVENTS", {
  durable_name: "billing",
  filter_subject: "events.order.>",
  ack_policy: AckPolicy.Explicit,
  ack_wait: nanos(Number(process.env.ACK_WAIT ?? 30) * 1000),
  max_ack_pending: 1,
  max_deliver: -1, // never skip a message: it would be lost
});
const consumer = await jetstream(nats).consumers.get("EVENTS", "billing");
// If the server forgets a request, because it was killed, the heartbeats that
// belong to it are missing, and the client makes a new one.
const messages = await consumer.consume({ max_messages: 1, expires: 5000 });
for await (const msg of messages) {
  try {
    console.log(await handle(pool, msg));
    msg.ack();
  } catch (error) {
    console.error(`failed: ${error.message}`);
    msg.nak(1000); // the same message comes again, first
  }
}
