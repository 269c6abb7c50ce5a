<?php
/*
 * laravel.php - enqueues events in a transaction of Laravel's query builder
 *
 * In a Laravel application take pay() as it is, with the facade
 * Illuminate\Support\Facades\DB.  Here illuminate/database runs without the
 * rest of Laravel:
 *
 *     composer require illuminate/database illuminate/events
 *     export SHOP_HOST=127.0.0.1 SHOP_PORT=3306 SHOP_DATABASE=app
 *     export SHOP_USER=shop SHOP_PASSWORD=...
 *     echo '17 990' | php laravel.php           # lines: order, amount
 *
 * Needs sql/schema.sql and the table of ../producer.sql.
 */

declare(strict_types=1);

require __DIR__ . '/vendor/autoload.php';

use Illuminate\Database\Capsule\Manager as DB;

/** Change the data and enqueue the event: both are committed, or neither. */
function pay(int $order, int $amount): void
{
    // After a deadlock the closure is called again, three times in all.
    DB::connection()->transaction(function () use ($order, $amount) {
        // This lock makes transactions on one key commit in turn.
        $row = DB::table('orders')->where('id', $order)
            ->lockForUpdate()->first()
            ?? throw new DomainException("order $order does not exist");
        DB::table('orders')->where('id', $order)->increment('paid', $amount);
        enqueue("order-$order", 'order.paid',
            ['order' => $order, 'amount' => $amount]);
        // Whatever is thrown before the end takes the event with it.
        if ($row->paid + $amount > $row->total) {
            throw new DomainException("order $order: more than its total");
        }
    }, 3);
}

/** In an open transaction; without one, the procedure fails. */
function enqueue(string $key, string $type, array $data,
    array $metadata = []): void
{
    DB::connection()->statement(
        'CALL outbox_enqueue(?, NULL, ?, 1, NULL, ?, ?)',
        [$key, $type, json_encode((object) $metadata, JSON_THROW_ON_ERROR),
            json_encode($data, JSON_THROW_ON_ERROR)]);
}

$capsule = new DB();
$capsule->addConnection([
    'driver' => 'mysql', 'charset' => 'utf8mb4', 'prefix' => '',
    'host' => getenv('SHOP_HOST'), 'port' => getenv('SHOP_PORT') ?: 3306,
    'database' => getenv('SHOP_DATABASE'), 'username' => getenv('SHOP_USER'),
    'password' => getenv('SHOP_PASSWORD'),
]);
$capsule->setAsGlobal();
while (($line = fgets(STDIN)) !== false) {
    [$order, $amount] = array_map('intval', explode(' ', $line, 2) + [0, 0]);
    try {
        pay($order, $amount);
    } catch (DomainException $e) {	// other errors end the program
        fwrite(STDERR, "refused: {$e->getMessage()}\n");
    }
}
