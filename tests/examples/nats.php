<?php
/*
 * nats.php - a stand-in for the Composer package basis-company/nats
 *
 * Only for run_examples.sh: it has the few classes and functions of the package
 * that examples/php/consumer.php calls, with the names and the meaning that they
 * have there.  Tests cannot reach a registry of Composer.  To test with the
 * package itself: NATS_PHP=.../vendor/autoload.php run_examples.sh php
 */

declare(strict_types=1);

namespace Basis\Nats;

use RuntimeException;

final class Configuration
{
    public function __construct(public string $host, public int $port)
    {
    }
}

final class Client
{
    /** @var resource */
    private $socket;
    /** @var array<string, list<Message\Msg>> */
    private array $received = [];

    public function __construct(Configuration $c)
    {
        $this->socket = stream_socket_client("tcp://$c->host:$c->port")
            ?: throw new RuntimeException('cannot connect');
        $this->send('CONNECT {"headers":true,"verbose":false}');
        $this->send('SUB stand.in.created created');
        $this->send('SUB stand.in.queue queue');
    }

    public function send(string $line, string $payload = ''): void
    {
        $end = str_starts_with($line, 'PUB') ? "\r\n$payload\r\n" : "\r\n";
        fwrite($this->socket, $line . $end);
    }

    public function publish(string $subject, string $payload, string $reply = ''): void
    {
        $this->send("PUB $subject $reply " . strlen($payload), $payload);
    }

    /** The subscription's next message; null: none within the seconds. */
    public function receive(string $sid, float $seconds): ?Message\Msg
    {
        $until = microtime(true) + $seconds;
        while (!($this->received[$sid] ?? [])) {
            $left = (int) (($until - microtime(true)) * 1_000_000);
            $read = [$this->socket];
            $none = null;
            if ($left <= 0 || !stream_select($read, $none, $none, 0, $left)) {
                return null;
            }
            $line = fgets($this->socket)
                ?: throw new RuntimeException('connection closed');
            $this->read(preg_split('/ +/', trim($line)));
        }
        return array_shift($this->received[$sid]);
    }

    private function read(array $words): void
    {
        if ($words[0] === 'PING') {
            $this->send('PONG');
        } elseif ($words[0] === '-ERR') {
            throw new RuntimeException(implode(' ', $words));
        } elseif ($words[0] === 'MSG' || $words[0] === 'HMSG') {
            $has_headers = $words[0] === 'HMSG';
            $size = (int) array_pop($words);
            $head = $has_headers ? (int) array_pop($words) : 0;
            $bytes = stream_get_contents($this->socket, $size + 2);
            $this->received[$words[2]][] = new Message\Msg($this,
                $words[3] ?? null, substr($bytes, 0, $head),
                substr($bytes, $head, $size - $head));
        }
    }

    public function getApi(): self
    {
        return $this;
    }

    public function getStream(string $stream): Stream
    {
        return new Stream($this, $stream);
    }
}

final class Stream
{
    public function __construct(private Client $client, private string $name)
    {
    }

    public function getConsumer(string $name): Consumer
    {
        return new Consumer($this->client, $this->name, $name);
    }
}

final class Consumer
{
    private array $config = ['ack_policy' => 'explicit', 'deliver_policy' => 'all'];
    private float $expires = 0.1;

    public function __construct(private Client $client, private string $stream,
        private string $name)
    {
        $this->config['durable_name'] = $name;
    }

    public function getConfiguration(): self
    {
        return $this;
    }

    public function setSubjectFilter(string $filter): self
    {
        $this->config['filter_subject'] = $filter;
        return $this;
    }

    public function setMaxAckPending(int $n): self
    {
        $this->config['max_ack_pending'] = $n;
        return $this;
    }

    public function setMaxDeliver(int $n): self
    {
        $this->config['max_deliver'] = $n;
        return $this;
    }

    public function setAckWait(int $nanoseconds): self
    {
        $this->config['ack_wait'] = $nanoseconds;
        return $this;
    }

    public function create(): self
    {
        $this->client->publish(
            "\$JS.API.CONSUMER.DURABLE.CREATE.$this->stream.$this->name",
            json_encode(['stream_name' => $this->stream,
                'config' => $this->config]), 'stand.in.created');
        $answer = $this->client->receive('created', 5)?->payload->body
            ?? throw new RuntimeException('no answer');
        if (isset(json_decode($answer, true)['error'])) {
            throw new RuntimeException($answer);
        }
        return $this;
    }

    public function setExpires(float $seconds): self
    {
        $this->expires = $seconds;
        return $this;
    }

    public function getQueue(): self
    {
        return $this;
    }

    public function fetch(): ?Message\Msg
    {
        $this->client->publish(
            "\$JS.API.CONSUMER.MSG.NEXT.$this->stream.$this->name",
            json_encode(['batch' => 1,
                'expires' => (int) ($this->expires * 1e9)]), 'stand.in.queue');
        return $this->client->receive('queue', 1);
    }
}

namespace Basis\Nats\Message;

use Basis\Nats\Client;

final class Payload
{
    /** @param array<string, string> $headers */
    public function __construct(private array $headers, public string $body)
    {
    }

    public function getHeader(string $name): ?string
    {
        return $this->headers[$name] ?? null;
    }
}

final class Msg
{
    public Payload $payload;

    public function __construct(private Client $client,
        public ?string $replyTo, string $head, string $body)
    {
        preg_match_all('/^([^:\r\n]+): *(.*)\r$/m', $head, $m);
        $this->payload = new Payload(array_combine($m[1], $m[2]), $body);
    }

    public function ack(): void
    {
        $this->client->publish($this->replyTo, '+ACK');
    }

    public function nack(): void
    {
        $this->client->publish($this->replyTo, '-NAK');
    }
}
