<?php
/*
 * switch.php - what switch.sh moves: an application that writes an outbox
 * table, with Laravel's query builder, a poller that relays it, and a checker
 *
 *     php switch.php write SHAPE    one of the application's processes
 *     php switch.php poll SHAPE     the relay of before
 *     php switch.php check          counts what is in the stream
 *
 * An event has the number of its order's change, so each order's events in the
 * stream must be 1, 2, 3, ... up to what the table of the orders says.
 */

declare(strict_types=1);

require '/usr/share/php/Illuminate/Database/autoload.php';

use Illuminate\Database\Capsule\Manager as DB;

const ORDERS = 20;

/** What signals ask for: to stop, or to die before the next mark. */
final class Asked
{
    public static bool $to_stop = false;
    public static bool $to_die = false;
}
pcntl_async_signals(true);
pcntl_signal(SIGTERM, function () { Asked::$to_stop = true; });
pcntl_signal(SIGUSR1, function () { Asked::$to_die = true; });

function uuid(): string
{
    return vsprintf('%s%s-%s-4%.3s-8%.3s-%s%s%s',
        str_split(bin2hex(random_bytes(16)), 4));
}

/** One row of each kind of table. */
function row(string $shape, string $key, string $event): array
{
    return match ($shape) {
        'debezium', 'debezium_deletes' => ['id' => uuid(),
            'aggregatetype' => 'order', 'aggregateid' => $key,
            'type' => 'OrderChanged', 'payload' => $event],
        'laravel' => ['uuid' => uuid(), 'topic' => 'order.changed',
            'aggregate_id' => $key, 'payload' => $event,
            'created_at' => date('Y-m-d H:i:s')],
        'rails' => ['id' => uuid(), 'event' => 'order.changed',
            'aggregate_identifier' => $key, 'payload' => $event],
    };
}

/** Changes orders, each with its event, in one transaction. */
function write(string $shape): void
{
    while (!Asked::$to_stop) {
        $order = random_int(1, ORDERS);
        DB::connection()->transaction(function () use ($shape, $order) {
            // The row is locked, so the events of an order come in turn.
            DB::table('orders')->where('id', $order)->increment('version');
            $n = DB::table('orders')->where('id', $order)->value('version');
            $row = row($shape, "order-$order",
                json_encode(['order' => $order, 'n' => $n]));
            DB::table('outbox_events')->insert($row);
            if ($shape === 'debezium_deletes') {
                DB::table('outbox_events')->delete($row['id']);
            }
        }, 5);
        usleep(10_000);
    }
}

/** Sends what is not marked as sent, in the order of $by, and marks it then. */
function poll(string $shape, string $by, string $id, string $done): void
{
    $nats = new Nats();
    while (!Asked::$to_stop) {
        $rows = DB::table('outbox_events')->whereNull($done)->orderBy($by)
            ->limit(50)->get();
        foreach ($rows as $row) {
            $nats->publish('events.order.changed', $row->$id, $row->payload);
        }
        if (Asked::$to_die && count($rows) > 0) {
            exit(0);
        }
        DB::table('outbox_events')->whereIn('id', $rows->pluck('id'))
            ->update([$done => DB::raw('CURRENT_TIMESTAMP')]);
        usleep(20_000);
    }
}

/** Compares the stream with the orders; true if all is there once, in order. */
function check(): bool
{
    $seen = [];
    $found = ['twice' => 0, 'out of order' => 0, 'lost' => 0];
    $last = array_fill(1, ORDERS, 0);
    foreach ((new Nats())->read('EVENTS') as $body) {
        ['order' => $order, 'n' => $n] = json_decode($body, true);
        $found['twice'] += isset($seen[$order][$n]) ? 1 : 0;
        $found['out of order'] += $n < $last[$order] ? 1 : 0;
        $seen[$order][$n] = true;
        $last[$order] = max($last[$order], $n);
    }
    $committed = DB::table('orders')->pluck('version', 'id');
    foreach ($committed as $order => $version) {
        $found['lost'] += count(array_diff_key(
            array_fill(1, $version, true), $seen[$order] ?? []));
    }
    echo 'committed ', $committed->sum();
    foreach ($found as $what => $n) {
        echo ", $n $what";
    }
    echo "\n";
    return array_sum($found) === 0;
}

/** As much of the protocol of NATS as this needs. */
final class Nats
{
    /** @var resource */
    private $socket;
    private string $inbox;
    /** @var array<string, list<string>> payloads that have come, by subscription */
    private array $come = ['answer' => [], 'read' => []];

    public function __construct()
    {
        $this->inbox = 'inbox.' . bin2hex(random_bytes(8));
        $this->socket = stream_socket_client(getenv('NATS'))
            ?: throw new RuntimeException('NATS is away');
        fwrite($this->socket, "CONNECT {\"headers\":true,\"verbose\":false}\r\n"
            . "SUB $this->inbox.answer answer\r\n"
            . "SUB $this->inbox.read read\r\n");
    }

    /** Returns when the stream has the message. */
    public function publish(string $subject, string $id, string $body): void
    {
        $head = "NATS/1.0\r\nNats-Msg-Id: $id\r\n\r\n";
        fwrite($this->socket, "HPUB $subject $this->inbox.answer " . strlen($head)
            . ' ' . strlen($head . $body) . "\r\n$head$body\r\n");
        $answer = json_decode($this->message('answer'), true);
        isset($answer['seq']) || throw new RuntimeException('not stored');
    }

    public function ask(string $subject, array $question): array
    {
        $body = json_encode((object) $question);
        fwrite($this->socket, "PUB \$JS.API.$subject $this->inbox.answer "
            . strlen($body) . "\r\n$body\r\n");
        $answer = json_decode($this->message('answer'), true);
        return isset($answer['error'])
            ? throw new RuntimeException(json_encode($answer)) : $answer;
    }

    /** The payloads of all messages of a stream. */
    public function read(string $stream): Generator
    {
        $n = $this->ask("STREAM.INFO.$stream", [])['state']['messages'];
        if ($n > 0) {
            $this->ask("CONSUMER.CREATE.$stream", ['stream_name' => $stream,
                'config' => ['deliver_subject' => "$this->inbox.read",
                    'deliver_policy' => 'all', 'ack_policy' => 'none']]);
        }
        while ($n-- > 0) {
            yield $this->message('read');
        }
    }

    /** The payload of the next message to this subscription. */
    private function message(string $sid): string
    {
        while (!$this->come[$sid] &&
            ($line = fgets($this->socket)) !== false) {
            $words = explode(' ', trim($line));
            if ($words[0] === 'PING') {
                fwrite($this->socket, "PONG\r\n");
            } elseif ($words[0] === 'MSG' || $words[0] === 'HMSG') {
                $size = (int) array_pop($words);
                $head = $words[0] === 'HMSG' ? (int) array_pop($words) : 0;
                $bytes = stream_get_contents($this->socket, $size + 2);
                $this->come[$words[2]][] = substr($bytes, $head, $size - $head);
            } elseif ($words[0] === '-ERR') {
                throw new RuntimeException($line);
            }
        }
        return array_shift($this->come[$sid])
            ?? throw new RuntimeException('NATS closed the connection');
    }
}

$capsule = new DB();
$capsule->addConnection(['driver' => 'mysql', 'charset' => 'utf8mb4',
    'prefix' => '', 'host' => '127.0.0.1', 'port' => getenv('DB_PORT'),
    'database' => 'app', 'username' => 'shop', 'password' => 'shop-secret']);
$capsule->setAsGlobal();
[, $command, $shape] = $argv + [2 => ''];
match ($command) {
    'write' => write($shape),
    'poll' => match ($shape) {
        'laravel' => poll($shape, 'id', 'uuid', 'sent_at'),
        'rails' => poll($shape, 'created_at', 'id', 'processed_at'),
    },
    'check' => check() || exit(1),
};
