/*
 * producer.js - enqueues events in the application's transaction, with mysql2
 *
 *     npm ci
 *     export SHOP_URL='mysql://shop:PASSWORD@127.0.0.1:3306/app'
 *     echo '17 990' | node producer.js          # lines: order, amount
 *
 * Needs sql/schema.sql and the table of ../producer.sql.  The account needs the
 * rights of outbox_producer (sql/grants.sql) and its own.
 */

import { createInterface } from "node:readline";
import mysql from "mysql2/promise";

class Refused extends Error {}

/** Runs work in a transaction; what it throws rolls everything back. */
async function transaction(pool, work) {
  const conn = await pool.getConnection();
  try {
    await conn.beginTransaction();
    const result = await work(conn);
    await conn.commit();
    conn.release();
    return result;
  } catch (error) {
    conn.destroy(); // the server rolls back, even if the connection is broken
    throw error;
  }
}

/** Enqueues an event; without an open transaction the procedure fails. */
function enqueue(conn, key, type, data, metadata = {}) {
  return conn.execute("CALL outbox_enqueue(?, NULL, ?, 1, NULL, ?, ?)", [
    key,
    type,
    JSON.stringify(metadata),
    JSON.stringify(data),
  ]);
}

/** Changes the data and enqueues the event: both are committed, or neither. */
function pay(pool, order, amount) {
  return transaction(pool, async (conn) => {
    // The row of the order is locked from here on, so that transactions on one
    // key commit in turn, and its events are numbered in that order.
    const [change] = await conn.execute(
      "UPDATE orders SET paid = paid + ? WHERE id = ?",
      [amount, order],
    );
    if (change.affectedRows === 0) {
      throw new Refused(`order ${order} does not exist`);
    }
    await enqueue(conn, `order-${order}`, "order.paid", { order, amount });
    // Whatever is thrown before the COMMIT takes the event with it.
    const [[row]] = await conn.execute(
      "SELECT paid <= total AS inBounds FROM orders WHERE id = ?",
      [order],
    );
    if (!row.inBounds) {
      throw new Refused(`order ${order}: more than its total`);
    }
  });
}

const pool = mysql.createPool(process.env.SHOP_URL);
for await (const line of createInterface({ input: process.stdin })) {
  const [order, amount] = line.split(" ").map(Number);
  try {
    await pay(pool, order, amount);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    console.error(`refused: ${error.message}`);
  }
}
await pool.end();
