"""A Kafka consumer that processes each message once, in order per key.

    pip install -r requirements.txt
    export BILLING_URL='mysql+pymysql://billing:PASSWORD@127.0.0.1/billing'
    export KAFKA_BROKERS=127.0.0.1:9092
    python3 consumer_kafka.py

Needs the tables of ../consumer.sql.

Once: the id of the message, Outbox-Id, is inserted in the transaction that
processes it, and the offset is committed after that.  A message that comes
again finds its id, and only its offset is committed.  The program may be killed
at any moment.

In order per key: the messages of a key are in one partition of the topic, and a
partition belongs to one process of the group.  A message that fails comes again
before later ones of its partition.  A process that stood still and has lost its
partition may go on with what it had read: its messages have the same ids.
"""

import os
import time

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition
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


def handle(engine: Engine, msg: Message) -> str:
    """Process the message in one transaction; returns what was done."""
    headers = {name: value.decode() for name, value in msg.headers()}
    message_id = headers["Outbox-Id"]
    with engine.begin() as conn:
        if not is_new(conn, message_id):
            return f"duplicate {message_id}"
        conn.execute(  # here your application's changes
            text(
                "INSERT INTO order_history (order_key, sequence, event_type,"
                " event_data) VALUES (:key, :sequence, :type, :data)"
            ),
            {
                "key": headers["Outbox-Key"],
                "sequence": headers["Outbox-Sequence"],
                "type": headers["Outbox-Type"],
                "data": msg.value(),
            },
        )
    return f"processed {message_id}"


def main() -> None:
    engine = create_engine(os.environ["BILLING_URL"], pool_pre_ping=True)
    consumer = Consumer(
        {
            "bootstrap.servers": os.environ["KAFKA_BROKERS"],
            "group.id": "billing",
            "auto.offset.reset": "earliest",  # a new group skips nothing
            "enable.auto.commit": False,
            "session.timeout.ms": int(os.environ.get("SESSION_MS", "45000")),
        }
    )
    consumer.subscribe(["events"])
    while True:
        msg = consumer.poll(5)
        if msg is None:
            continue
        if msg.error():
            if msg.error().fatal():
                raise KafkaException(msg.error())
            print(f"failed: {msg.error()}", flush=True)
            continue
        try:
            print(handle(engine, msg), flush=True)
            consumer.commit(message=msg, asynchronous=False)
        except Exception as e:  # the same message comes again, first
            print(f"failed: {e}", flush=True)
            consumer.seek(
                TopicPartition(msg.topic(), msg.partition(), msg.offset())
            )
            time.sleep(1)


if __name__ == "__main__":
    main()
