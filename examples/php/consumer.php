<?php
/*
 * consumer.php - a JetStream consumer that processes each message once
 *
 * Needs PHP 8.1 with pdo_mysql, and the tables of ../consumer.sql.
 *
 *     composer require basis-company/nats
 *     export BILLING_DSN='mysql:host=127.0.0.1;dbname=billing;charset=utf8mb4'
 *     export BILLING_USER=billing BILLING_PASSWORD=... NATS_HOST=127.0.0.1
 *     php consumer.php
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

declare(strict_types=1);

require __DIR__ . '/vendor/autoload.php';

use Basis\Nats\Client;
use Basis\Nats\Configuration;
use Basis\Nats\Message\Msg;

function is_new(PDO $db, string $id): bool
{
    try {
        $db->prepare('INSERT INTO processed_messages (message_id) VALUES (?)')
            ->execute([$id]);
        return true;
    } catch (PDOException $e) {
        if (($e->errorInfo[1] ?? 0) === 1062) {	// it is there already
            return false;
        }
        throw $e;
    }
}

function connect(): PDO
{
    return new PDO((string) getenv('BILLING_DSN'),
        getenv('BILLING_USER') ?: null, getenv('BILLING_PASSWORD') ?: null,
        [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
            PDO::ATTR_EMULATE_PREPARES => false]);
}

/** Process the message in one transaction; says what was done. */
function handle(PDO $db, Msg $message): string
{
    $header = fn (string $name): string => $message->payload->getHeader($name)
        ?? throw new UnexpectedValueException("message without $name");
    $db->beginTransaction();
    try {
        $new = is_new($db, $header('Nats-Msg-Id'));
        if ($new) {			// here your application's changes
            $db->prepare('INSERT INTO order_history (order_key, sequence,
                    event_type, event_data) VALUES (?, ?, ?, ?)')
                ->execute([$header('Outbox-Key'), $header('Outbox-Sequence'),
                    $header('Outbox-Type'), $message->payload->body]);
        }
        $db->commit();
        return ($new ? 'processed ' : 'duplicate ') . $header('Nats-Msg-Id');
    } catch (Throwable $e) {
        if ($db->inTransaction()) {
            $db->rollBack();
        }
        throw $e;
    }
}

$nats = new Client(new Configuration(host: getenv('NATS_HOST') ?: 'localhost',
    port: (int) (getenv('NATS_PORT') ?: 4222)));
$consumer = $nats->getApi()->getStream('EVENTS')->getConsumer('billing');
$consumer->getConfiguration()->setSubjectFilter('events.order.>')
    ->setMaxAckPending(1)
    ->setMaxDeliver(-1)		// never skip a message: it would be lost
    ->setAckWait((int) (getenv('ACK_WAIT') ?: 30) * 1_000_000_000);
$queue = $consumer->create()->setExpires(0.9)->getQueue();
$db = null;
while (true) {
    $message = $queue->fetch();		// waits for a second at most
    if ($message?->replyTo === null) {	// none, or a status of the server
        continue;
    }
    try {
        $db ??= connect();
        echo handle($db, $message), "\n";
        $message->ack();
    } catch (Throwable $e) {
        fwrite(STDERR, "failed: {$e->getMessage()}\n");
        $db = null;			// it may be broken: connect again
        sleep(1);
        $message->nack();		// the same message comes again, first
    }
}
