<?php
/*
 * producer.php - enqueues events in the application's transaction, with PDO
 *
 * Needs PHP 8.1 with pdo_mysql, sql/schema.sql and ../producer.sql.
 *
 *     export SHOP_DSN='mysql:host=127.0.0.1;dbname=app;charset=utf8mb4'
 *     export SHOP_USER=shop SHOP_PASSWORD=...
 *     echo '17 990' | php producer.php          # lines: order, amount
 *
 * The account needs the rights of outbox_producer (sql/grants.sql) and its own.
 */

declare(strict_types=1);

final class Overpaid extends DomainException
{
}

/** Change the data and enqueue the event: both are committed, or neither. */
function pay(PDO $db, int $order, int $amount): void
{
    $db->beginTransaction();
    try {
        // The row of the order is locked from here on, so that transactions on
        // one key commit in turn, and its events are numbered in that order.
        $db->prepare('UPDATE orders SET paid = paid + ? WHERE id = ?')
            ->execute([$amount, $order]);
        enqueue($db, "order-$order", 'order.paid',
            ['order' => $order, 'amount' => $amount], ['source' => 'shop']);
        // Whatever fails before the COMMIT takes the event with it.
        check_order($db, $order);
        $db->commit();
    } catch (Throwable $e) {
        if ($db->inTransaction()) {
            $db->rollBack();
        }
        throw $e;
    }
}

function enqueue(PDO $db, string $key, string $type, array $data,
    array $metadata = []): void
{
    $db->prepare('CALL outbox_enqueue(?, NULL, ?, 1, NULL, ?, ?)')->execute([
        $key, $type, json_encode((object) $metadata, JSON_THROW_ON_ERROR),
        json_encode($data, JSON_THROW_ON_ERROR)]);
}

function check_order(PDO $db, int $order): void
{
    $query = $db->prepare('SELECT paid <= total FROM orders WHERE id = ?');
    $query->execute([$order]);
    match ($query->fetchColumn()) {
        false => throw new DomainException("order $order does not exist"),
        0 => throw new Overpaid("order $order: more than its total"),
        1 => null,
    };
}

$db = new PDO((string) getenv('SHOP_DSN'), getenv('SHOP_USER') ?: null,
    getenv('SHOP_PASSWORD') ?: null, [
        PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
        PDO::ATTR_EMULATE_PREPARES => false,
    ]);
while (($line = fgets(STDIN)) !== false) {
    [$order, $amount] = array_map('intval', explode(' ', $line, 2) + [0, 0]);
    try {
        pay($db, $order, $amount);
    } catch (DomainException $e) {	// other errors end the program
        fwrite(STDERR, "refused: {$e->getMessage()}\n");
    }
}
