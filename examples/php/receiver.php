<?php
/*
 * receiver.php - takes messages from the HTTP publisher of outbox-master
 *
 * Needs PHP 8.1 with pdo_mysql, and the tables of ../consumer.sql.
 *
 *     export RECEIVER_DSN='mysql:host=127.0.0.1;dbname=billing;charset=utf8mb4'
 *     export RECEIVER_USER=billing RECEIVER_PASSWORD=...
 *     export RECEIVER_KEYS=/etc/billing/keys    # a file for each signing key
 *     php -S 127.0.0.1:8080 receiver.php
 *
 * php -S is a server for development: one request at a time, no TLS.  In
 * production run this file under php-fpm, behind a web server with TLS, with
 * the variables as env[...] of the pool and post_max_size above the largest
 * payload.  X-Outbox-Signature covers id, time, method, path and body, but not
 * the other headers; TLS does.  The path is the one that the daemon has sent: if
 * the web server before PHP changes it, set it here.
 *
 * The name of a key file is the id of the key.  To replace a key, add the new
 * file here, let the daemon sign with both, with the new one alone, then delete
 * the old file.
 *
 * Order per key: the daemon sends the next message of a key only after the one
 * before has got its 2xx.  So answer after the COMMIT, as here, and not from a
 * queue that works on several messages of a key at once.
 */

declare(strict_types=1);

const MAX_AGE = 300;			// seconds, in both directions

/** A request that is refused; the code is the HTTP status. */
final class Refused extends RuntimeException
{
}

/** @return array<string> the signing keys by their ids */
function signing_keys(string $directory): array
{
    $keys = [];
    foreach (glob("$directory/*") ?: [] as $file) {
        // The key is the first line, as for the daemon.
        if (!preg_match('/\A[^\r\n]+/', file_get_contents($file) ?: '', $m)) {
            throw new RuntimeException("$file: empty or not readable");
        }
        $keys[basename($file)] = $m[0];
    }
    return $keys ?: throw new RuntimeException("no keys in '$directory'");
}

/**
 * The text that is signed: the lengths of all parts, then the parts.
 *
 * @param array<string> $parts
 */
function signed_text(array $parts): string
{
    return 'v2 ' . implode(' ', array_map('strlen', $parts)) . "\n"
        . implode('', $parts);
}

/** @param array<string> $keys */
function check_signature(array $keys, string $id, string $body): void
{
    $time = $_SERVER['HTTP_X_TIMESTAMP'] ?? '';
    if (!preg_match('/\A[0-9]{1,12}\z/', $time)
        || abs(time() - (int) $time) > MAX_AGE) {
        throw new Refused('X-Timestamp is missing or too old', 401);
    }
    $given = [];			// k2=0123...,k1=4567...
    foreach (explode(',', $_SERVER['HTTP_X_OUTBOX_SIGNATURE'] ?? '') as $item) {
        [$name, $mac] = explode('=', trim($item), 2) + [1 => ''];
        $given[$name] = $mac;
    }
    $text = signed_text([$id, $time, $_SERVER['REQUEST_METHOD'],
        $_SERVER['REQUEST_URI'], $body]);
    foreach (array_intersect_key($keys, $given) as $name => $key) {
        if (hash_equals(hash_hmac('sha256', $text, $key), $given[$name])) {
            return;
        }
    }
    throw new Refused('X-Outbox-Signature is missing or wrong', 401);
}

/** Is the id new?  Waits for the end of another request with the same id. */
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

function needed(string $name): string
{
    return $_SERVER['HTTP_' . strtoupper(strtr($name, '-', '_'))]
        ?? throw new Refused("$name is missing", 400);
}

/** What your application does with a message, in the open transaction. */
function process(PDO $db, string $body): void
{
    $db->prepare('INSERT INTO order_history
            (order_key, sequence, event_type, event_data) VALUES (?, ?, ?, ?)')
        ->execute([needed('X-Outbox-Key'), needed('Outbox-Sequence'),
            needed('Outbox-Type'), $body]);
}

function connect(): PDO
{
    return new PDO((string) getenv('RECEIVER_DSN'),
        getenv('RECEIVER_USER') ?: null, getenv('RECEIVER_PASSWORD') ?: null,
        [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
            PDO::ATTR_EMULATE_PREPARES => false]);
}

function receive(): string
{
    if ($_SERVER['REQUEST_METHOD'] !== 'POST') {
        throw new Refused('only POST', 405);
    }
    $body = (string) file_get_contents('php://input');
    $id = needed('Idempotency-Key');
    check_signature(signing_keys((string) getenv('RECEIVER_KEYS')), $id, $body);
    if (!preg_match('/\A[!-~]{1,128}\z/', $id)) {
        throw new Refused('Idempotency-Key is not an id', 400);
    }
    $db = connect();
    $db->beginTransaction();	// rolled back at the end, unless committed
    if (!is_new($db, $id)) {
        return 'duplicate';
    }
    process($db, $body);
    $db->commit();
    return 'processed';
}

// 500 until the COMMIT: if PHP ends the request, the message comes again.
http_response_code(500);
ini_set('display_errors', '0');
header('Content-Type: text/plain');
try {
    $answer = receive();
    http_response_code(200);
} catch (Refused $e) {
    $answer = $e->getMessage();
    http_response_code($e->getCode());
} catch (Throwable $e) {
    $answer = 'failed, see the error log';
    error_log(get_class($e) . ': ' . $e->getMessage());
}
echo "$answer\n";
