// Producer enqueues events in the application's transaction, with database/sql.
//
//	export SHOP_DSN='shop:PASSWORD@tcp(127.0.0.1:3306)/app'
//	echo '17 990' | go run ./producer         # lines: order, amount
//
// It needs sql/schema.sql and the table of ../producer.sql.  The account needs
// the rights of outbox_producer (sql/grants.sql) and its own.
package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"

	_ "github.com/go-sql-driver/mysql"
)

// errRefused means that the order does not exist, or would be overpaid.
var errRefused = errors.New("refused")

// payment is the payload of the event.
type payment struct {
	Order  int `json:"order"`
	Amount int `json:"amount"`
}

// enqueue enqueues an event.  It takes a *sql.Tx, because the procedure fails
// without an open transaction.
func enqueue(ctx context.Context, tx *sql.Tx, key, eventType string,
	data, metadata any) error {
	payload, err := json.Marshal(data)
	if err != nil {
		return err
	}
	meta, err := json.Marshal(metadata)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx,
		"CALL outbox_enqueue(?, NULL, ?, 1, NULL, ?, ?)",
		key, eventType, meta, payload)
	return err
}

// pay changes the data and enqueues the event: both are committed, or neither.
func pay(ctx context.Context, db *sql.DB, order, amount int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after a Commit it does nothing

	// The row of the order is locked from here on, so that transactions on one
	// key commit in turn, and its events are numbered in that order.
	_, err = tx.ExecContext(ctx,
		"UPDATE orders SET paid = paid + ? WHERE id = ?", amount, order)
	if err != nil {
		return fmt.Errorf("pay: %w", err)
	}
	err = enqueue(ctx, tx, fmt.Sprintf("order-%d", order), "order.paid",
		payment{order, amount}, map[string]string{"source": "shop"})
	if err != nil {
		return fmt.Errorf("enqueue: %w", err)
	}
	// An error before the Commit takes the event with it.
	var inBounds bool
	err = tx.QueryRowContext(ctx,
		"SELECT paid <= total FROM orders WHERE id = ?", order).Scan(&inBounds)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("%w: order %d does not exist", errRefused, order)
	case err != nil:
		return fmt.Errorf("check: %w", err)
	case !inBounds:
		return fmt.Errorf("%w: order %d: more than its total",
			errRefused, order)
	}
	return tx.Commit()
}

func main() {
	db, err := sql.Open("mysql", os.Getenv("SHOP_DSN"))
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var order, amount int
		if _, err := fmt.Sscan(lines.Text(), &order, &amount); err != nil {
			log.Fatalf("%q: %v", lines.Text(), err)
		}
		err := pay(context.Background(), db, order, amount)
		if errors.Is(err, errRefused) {
			log.Print(err)
		} else if err != nil {
			log.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}
