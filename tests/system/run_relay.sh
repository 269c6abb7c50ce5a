#!/usr/bin/env bash
# From a committed row to an acknowledged message, through supervised workers
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

start_servers
write_conf

"$OUTBOX_MASTER" -c "$CONF" -t > "$DIR/t" 2>&1
is $? 0 '-t accepts the configuration'

"$OUTBOX_MASTER" -c "$CONF" --once --json > "$DIR/once" 2>> "$DIR/log"
is $? 0 '--once without rows: exit status 0'
is "$(sql 'SELECT partition_count FROM outbox_settings')" 16 \
    '--once writes the partition count to an empty settings row'
rows_are 16 outbox_partitions '--once makes the lease rows'
rows_are 0 'outbox_partitions
    WHERE lease_owner IS NOT NULL' '--once releases its leases'
rows_are 0 outbox_workers "--once removes its worker's row"

produce --events 100 --keys 7 --payload 200
"$OUTBOX_MASTER" -c "$CONF" --once --json > "$DIR/once" 2>> "$DIR/log"
is $? 0 '--once with 100 rows: exit status 0'
like "$(cat "$DIR/once")" '"claimed":100,"published":100,"failed":0' \
    '--once --json reports 100 rows'
is "$(jq -r 'keys_unsorted[]' "$DIR/once")" "$(sed -n '/Li claimed/,/^.El/s/.*Li //p' \
    "$srcdir/man/outbox-master.8")" \
    'the report has the fields of the manual'
rows_are 0 'outbox WHERE published_at IS NULL
    OR claim_token IS NOT NULL' \
    '--once: all rows published, none claimed'
check_stream '--once: the stream is complete'

shown=$("$LAB" show --nats "$URL" --stream EVENTS --seq 1)
id=$(sql 'SELECT outbox_id FROM outbox_settings')
like "$shown" "^Nats-Msg-Id: $id-1-[0-9a-f]{16}$" 'Nats-Msg-Id'
like "$shown" '^Outbox-Sequence: 1$' 'Outbox-Sequence'
like "$shown" '^Outbox-Time: 20[0-9-]{8}T[0-9:]{8}\.[0-9]{6}Z$' 'Outbox-Time'
like "$shown" '^traceparent: ' 'metadata become headers'

start_master
N=20000
! is_short || N=4000
produce --events $N --keys 200 --payload 200 --producers 4 --per-txn 10
drains 60 "a running master sends $N messages"
check_stream 'the stream is complete and in order, nothing twice' --wait 10
stops 'SIGTERM: exit status 0'
rows_are 0 'outbox_partitions
    WHERE lease_owner IS NOT NULL' 'SIGTERM: all leases are released'
rows_are 0 outbox_workers "SIGTERM: no worker's row is left"
check 'SIGTERM: the pid file is removed' [ ! -e "$DIR/run/outbox.pid" ]

done_testing
