"""A JetStream consumer that processes each message once, in order per key.

    pip install -r requirements.txt
    export BILLING_URL='mysql+pymysql://billing:PASSWORD@127.0.0.1/billing'
    export NATS_URL=nats://127.0.0.1:4222
    python3 consumer.py

Needs the tables of ../consumer.sql.

Once: the id of the message, Nats-Msg-Id, is inserted in the transaction that
processes it.  A message that comes again finds its id, and is only
acknowledged.  The program may be killed at any moment.

In order per key (Outbox-Key): with max_ack_pending 1 JetStream sends the next
message only after the ack of the one before, also to several processes with
this durable name.  With more, a later message of a key could overtake one that
comes again.  See README.md for more throughput.
"""

import asyncio
import os

import nats
from nats.aio.msg import Msg
from nats.errors import TimeoutError as NoMessage
from nats.js.api import AckPolicy, ConsumerConfig
from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.exc import IntegrityError

DUPLICATE_KEY = 1062


def is_new(conn: Connection, message_id: str) -> bool:
    try:
        conn.execute(
            text("INSERT INTO processed_messages (message_id) VALUES (:id)"),
            {"id": message_id},
        )
    except IntegrityError as e:
        if e.orig.args[0] != DUPLICATE_KEY:
            raise
        return False
    return True


def handle(engine: Engine, msg: Msg) -> str:
    """Process the message in one transaction; returns what was done."""
    message_id = msg.headers["Nats-Msg-Id"]
    with engine.begin() as conn:
        if not is_new(conn, message_id):
            return f"duplicate {message_id}"
        conn.execute(  # here your application's changes
            text(
                "INSERT INTO order_history (order_key, sequence, event_type,"
                " event_data) VALUES (:key, :sequence, :type, :data)"
            ),
            {
                "key": msg.headers["Outbox-Key"],
                "sequence": msg.headers["Outbox-Sequence"],
                "type": msg.headers["Outbox-Type"],
                "data": msg.data,
            },
        )
    return f"processed {message_id}"


async def main() -> None:
    engine = create_engine(os.environ["BILLING_URL"], pool_pre_ping=True)
    nc = await nats.connect(os.environ["NATS_URL"], max_reconnect_attempts=-1)
    subscription = await nc.jetstream().pull_subscribe(
        "events.order.>",
        durable="billing",
        stream="EVENTS",
        config=ConsumerConfig(
            ack_policy=AckPolicy.EXPLICIT,
            ack_wait=float(os.environ.get("ACK_WAIT", "30")),
            max_ack_pending=1,
            max_deliver=-1,  # never skip a message: it would be lost
        ),
    )
    while True:
        try:
            [msg] = await subscription.fetch(1, timeout=5)
        except NoMessage:
            continue
        try:
            print(await asyncio.to_thread(handle, engine, msg), flush=True)
            await msg.ack()
        except Exception as e:  # the same message comes again, first
            print(f"failed: {e}", flush=True)
            await msg.nak(delay=1)


if __name__ == "__main__":
    asyncio.run(main())
