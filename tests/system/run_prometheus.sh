#!/usr/bin/env bash
# A real Prometheus scrapes the daemon over TCP: its alerts come within ten
# seconds of the fault, and go with it
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/http.sh"

is_short && skip_all 'a long test'

command -v prometheus > /dev/null || skip_all 'no prometheus'
command -v curl > /dev/null || skip_all 'no curl'
start_servers
PORT=$(free_port)
WEB=$(free_port)

WORKERS=2 write_conf
echo "monitor: {listen: \"127.0.0.1:$PORT\"}" >> "$CONF"
start_fleet

# The rules as they are, but they do not wait for minutes.
mkdir "$DIR/prometheus"
sed 's/^\( *for:\) .*/\1 1s/' "$srcdir/etc/prometheus/outbox-master.rules.yml" \
    > "$DIR/prometheus/rules.yml"
cat > "$DIR/prometheus/prometheus.yml" <<END
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yml]
scrape_configs:
  - job_name: outbox-master
    static_configs: [{targets: ["127.0.0.1:$PORT"]}]
END
prometheus --config.file="$DIR/prometheus/prometheus.yml" \
    --storage.tsdb.path="$DIR/prometheus/data" \
    --web.listen-address="127.0.0.1:$WEB" --log.level=error \
    > "$DIR/prometheus/log" 2>&1 &
MASTERS+=("$!")

ask() { curl -sf -m 5 -G "http://127.0.0.1:$WEB/api/v1/$1" "${@:2}"; }
# value QUERY: of its first series
value() { ask query --data-urlencode "query=$1" |
    jq -r '.data.result[0].value[1]'; }
has_value() { [ "$(value "$1")" = "$2" ]; }
# firing: each alert, with the problem behind it
firing() { ask alerts | jq -r '.data.alerts[] | select(.state == "firing") |
    [.labels.alertname, .labels.id // .labels.reason // ""] | join(" ")' |
    sort -u; }
fires() { firing | grep -Fxq "$1"; }
is_quiet() { [ -z "$(firing)" ]; }
has_begun() { ask rules > "$DIR/rules" && has_value outbox_ready 1; }

within 30 'Prometheus scrapes the monitor' has_begun
is "$(jq '[.data.groups[].rules[].health] | unique | tojson' "$DIR/rules")" \
    '"[\"ok\"]"' 'each rule can be evaluated'
produce --events 500
wait_for 20 is_drained
within 10 'what was published is known' \
    has_value outbox_published_messages_total 500
within 10 'without a fault there is no alert' is_quiet

"$SANDBOX" stop "$DIR/nats" > /dev/null
within 10 'the broker is away: an alert' fires 'OutboxCritical broker'
"$SANDBOX" restart "$DIR/nats" > /dev/null
within 10 'the broker is back: no alert' is_quiet

call_enqueue "'dead', NULL, 'two words', 1, NULL, NULL, 'x'"
within 10 'a dead letter: an alert' fires 'OutboxDeadLetters message'
within 10 'a dead letter: the problem, too' fires 'OutboxWarning dead_letters'
sql 'DELETE FROM outbox_dead_letters'

"$LAB" stream --nats "$URL" --name EVENTS --subjects 'events.>' \
    --dup-window 600 --max-msgs "$(stored)" --discard-new
call_enqueue "'full', NULL, 'full', 1, NULL, NULL, 'x'"
within 10 'the stream is full: an alert' fires 'OutboxCritical stream_full'

stop_master "$MASTER"
within 10 'the daemon is gone: an alert' fires 'OutboxTargetDown '
within 10 'and one that nothing is scraped' fires 'OutboxMissing '
done_testing
