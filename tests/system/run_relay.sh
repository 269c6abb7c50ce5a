#!/usr/bin/env bash
# From a committed row to an acknowledged message, through supervised workers
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

start_servers
write_conf

"$OUTBOX_MASTER" -c "$CONF" -t > "$DIR/t" 2>&1
is $? 0 'the configuration is accepted'

"$OUTBOX_MASTER" -c "$CONF" --once --json > "$DIR/once" 2>> "$DIR/log"
is $? 0 '--once without work is clean'
is "$(sql 'SELECT partition_count FROM outbox_settings')" 16 \
    'an empty settings row is filled from the file'
is "$(sql 'SELECT COUNT(*) FROM outbox_partitions')" 16 'lease rows exist'
is "$(sql 'SELECT COUNT(*) FROM outbox_partitions
    WHERE lease_owner IS NOT NULL')" 0 '--once gives its leases back'
is "$(sql 'SELECT COUNT(*) FROM outbox_workers')" 0 'and takes its row out'

produce --events 100 --keys 7 --payload 200
"$OUTBOX_MASTER" -c "$CONF" --once --json > "$DIR/once" 2>> "$DIR/log"
is $? 0 '--once with work is clean'
like "$(cat "$DIR/once")" '"claimed":100,"published":100,"failed":0' \
    'and reports it as JSON'
is "$(jq -r 'keys_unsorted[]' "$DIR/once")" "$(sed -n '/Li claimed/,/^.El/s/.*Li //p' \
    "$srcdir/man/outbox-master.8")" 'with the fields of the manual'
is "$(sql 'SELECT COUNT(*) FROM outbox WHERE published_at IS NULL
    OR claim_token IS NOT NULL')" 0 'rows are settled'
check_stream 'the stream is complete'

shown=$("$LAB" show --nats "$URL" --stream EVENTS --seq 1)
id=$(sql 'SELECT outbox_id FROM outbox_settings')
like "$shown" "^Nats-Msg-Id: $id-1-[0-9a-f]{16}$" 'message id'
like "$shown" '^Outbox-Sequence: 1$' 'Outbox-Sequence'
like "$shown" '^Outbox-Time: 20[0-9-]{8}T[0-9:]{8}\.[0-9]{6}Z$' 'Outbox-Time'
like "$shown" '^traceparent: ' 'metadata become headers'

start_master
produce --events 20000 --keys 200 --payload 200 --producers 4 --per-txn 10
drains 60 'a running master drains the outbox'
check_stream 'complete, in order per key, nothing twice' --wait 10
stops 'SIGTERM ends with status 0'
is "$(sql 'SELECT COUNT(*) FROM outbox_partitions
    WHERE lease_owner IS NOT NULL')" 0 'all leases are released'
is "$(sql 'SELECT COUNT(*) FROM outbox_workers')" 0 'no worker row is left'
[ ! -e "$DIR/run/outbox.pid" ]
ok $? 'the pid file is gone'

done_testing
