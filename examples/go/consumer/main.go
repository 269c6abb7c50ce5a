// Consumer processes each message of JetStream once, in order per key.
//
//	export BILLING_DSN='billing:PASSWORD@tcp(127.0.0.1:3306)/billing'
//	export NATS_URL=nats://127.0.0.1:4222
//	go run ./consumer
//
// It needs the tables of ../consumer.sql.
//
// Once: the id of the message, Nats-Msg-Id, is inserted in the transaction that
// processes it.  A message that comes again finds its id, and is only
// acknowledged.  The program may be killed at any moment.
//
// In order per key (Outbox-Key): with MaxAckPending 1 JetStream sends the
// next message only after the ack of the one before, also to several processes
// with this durable name.  With more, a later message of a key could overtake
// one that comes again.  See README.md for more throughput.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const duplicateKey = 1062

// isNew inserts the id; false means that it is there already.
func isNew(ctx context.Context, tx *sql.Tx, id string) (bool, error) {
	_, err := tx.ExecContext(ctx,
		"INSERT INTO processed_messages (message_id) VALUES (?)", id)
	var refused *mysql.MySQLError
	if errors.As(err, &refused) && refused.Number == duplicateKey {
		return false, nil
	}
	return err == nil, err
}

// handle processes the message in one transaction, and says what it did.
func handle(ctx context.Context, db *sql.DB, msg jetstream.Msg) (string,
	error) {
	id := msg.Headers().Get("Nats-Msg-Id")
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return "", err
	}
	defer tx.Rollback() // after a Commit it does nothing

	fresh, err := isNew(ctx, tx, id)
	if err != nil {
		return "", fmt.Errorf("%s: %w", id, err)
	}
	if !fresh {
		return "duplicate " + id, nil
	}
	_, err = tx.ExecContext(ctx, // here your application's changes
		`INSERT INTO order_history (order_key, sequence, event_type, event_data)
		VALUES (?, ?, ?, ?)`, msg.Headers().Get("Outbox-Key"),
		msg.Headers().Get("Outbox-Sequence"),
		msg.Headers().Get("Outbox-Type"), msg.Data())
	if err != nil {
		return "", fmt.Errorf("%s: %w", id, err)
	}
	return "processed " + id, tx.Commit()
}

func consume(ctx context.Context, db *sql.DB, nc *nats.Conn) error {
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	wait, err := time.ParseDuration(os.Getenv("ACK_WAIT") + "s")
	if err != nil {
		wait = 30 * time.Second
	}
	consumer, err := js.CreateOrUpdateConsumer(ctx, "EVENTS",
		jetstream.ConsumerConfig{
			Durable:       "billing",
			FilterSubject: "events.order.>",
			AckPolicy:     jetstream.AckExplicitPolicy,
			AckWait:       wait,
			MaxAckPending: 1,
			MaxDeliver:    -1, // never skip a message: it would be lost
		})
	if err != nil {
		return err
	}
	// If the server forgets a request, because it was killed, the heartbeats
	// that belong to it are missing, and Next makes a new one.
	messages, err := consumer.Messages(jetstream.PullMaxMessages(1),
		jetstream.PullExpiry(5*time.Second),
		jetstream.WithMessagesErrOnMissingHeartbeat(false))
	if err != nil {
		return err
	}
	defer messages.Stop()
	context.AfterFunc(ctx, messages.Stop)
	for {
		msg, err := messages.Next()
		if errors.Is(err, jetstream.ErrMsgIteratorClosed) {
			return nil
		} else if err != nil {
			return err
		}
		done, err := handle(ctx, db, msg)
		if err != nil {
			log.Print("failed: ", err)
			msg.NakWithDelay(time.Second) // it comes again, first
			continue
		}
		log.Print(done)
		if err := msg.Ack(); err != nil {
			log.Print("ack: ", err) // it comes again, and is a duplicate
		}
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(),
		os.Interrupt, syscall.SIGTERM)
	defer stop()
	db, err := sql.Open("mysql", os.Getenv("BILLING_DSN"))
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	nc, err := nats.Connect(os.Getenv("NATS_URL"), nats.MaxReconnects(-1))
	if err != nil {
		log.Fatal(err)
	}
	defer nc.Close()
	if err := consume(ctx, db, nc); err != nil {
		log.Fatal(err)
	}
}
