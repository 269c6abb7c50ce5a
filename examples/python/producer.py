"""Enqueues events in the application's transaction, with SQLAlchemy.

    pip install -r requirements.txt
    export SHOP_URL='mysql+pymysql://shop:PASSWORD@127.0.0.1/app'
    echo '17 990' | python3 producer.py          # lines: order, amount

Needs sql/schema.sql and the table of ../producer.sql.  The account needs the
rights of outbox_producer (sql/grants.sql) and its own.
"""

import json
import os
import sys

from sqlalchemy import Connection, Engine, create_engine, text


class Refused(Exception):
    """The order does not exist, or would be overpaid."""


def enqueue(
    conn: Connection,
    key: str,
    event_type: str,
    data: dict,
    metadata: dict | None = None,
) -> None:
    """Enqueue an event.  Without an open transaction the procedure fails."""
    conn.execute(
        text(
            "CALL outbox_enqueue"
            "(:key, NULL, :type, 1, NULL, :metadata, :data)"
        ),
        {
            "key": key,
            "type": event_type,
            "metadata": json.dumps(metadata or {}),
            "data": json.dumps(data),
        },
    )


def pay(engine: Engine, order: int, amount: int) -> None:
    """Change the data and enqueue the event: both are committed, or neither."""
    with engine.begin() as conn:  # COMMIT at the end; ROLLBACK on an exception
        # The row of the order is locked from here on, so that transactions on
        # one key commit in turn, and its events are numbered in that order.
        conn.execute(
            text("UPDATE orders SET paid = paid + :amount WHERE id = :order"),
            {"amount": amount, "order": order},
        )
        data = {"order": order, "amount": amount}
        enqueue(conn, f"order-{order}", "order.paid", data)
        # Whatever is raised before the COMMIT takes the event with it.
        in_bounds = conn.execute(
            text("SELECT paid <= total FROM orders WHERE id = :order"),
            {"order": order},
        ).scalar()
        if in_bounds is None:
            raise Refused(f"order {order} does not exist")
        if not in_bounds:
            raise Refused(f"order {order}: more than its total")


def main() -> None:
    engine = create_engine(os.environ["SHOP_URL"], pool_pre_ping=True)
    for line in sys.stdin:
        order, amount = map(int, line.split())
        try:
            pay(engine, order, amount)
        except Refused as e:  # other errors end the program
            print(f"refused: {e}", file=sys.stderr)


if __name__ == "__main__":
    main()
