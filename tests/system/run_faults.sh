#!/usr/bin/env bash
# Workers die, stop and lose connections at each point between claim and settle
#
# Needs a daemon that was configured with --enable-fault-points (src/util/fault.h):
# OUTBOX_MASTER or the directory OUTBOX_FAULTS names it.  ONLY=REGEX strikes the
# orders that match it alone, the short form every sixteenth.
[ -z "${OUTBOX_FAULTS:-}" ] || OUTBOX_MASTER=$OUTBOX_FAULTS/outbox-master
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

grep -q OUTBOX_FAULT "$OUTBOX_MASTER" ||
    skip_all 'built without --enable-fault-points'

# Every statement of the daemon: its name in src, how many of the name make
# one piece of work (or which of them), and the function that brings a worker to
# it.
TICK='
glance		1	nothing
candidates	1	many
claim		1	many
fetch		1	many
fetch away	1	large
waiting		1	delayed
settle		1	nothing
give back	1	refused
retry		1	refused
begin		1	poison
bury		3	poison
commit		1	poison
rollback	1	unburied
'
MEMBER='
heartbeat	1	nothing
renew		1	nothing
former label	1	misplaced
leases		1	nothing
acquire		1	freed
release		1	given
register	1	forgotten
strays		3	newfirst
purge		1	newfirst
backlog		1	nothing
newest		1	nothing
scrub		1	nothing
'
LIFE='
session		2	newcomer
counts		1	newcomer
schema		4	newcomer
settings	1	newcomer
server		4	newcomer
begin		1	newcomer
take over	3	newcomer
commit		1	newcomer
leave		2	leaver
binlog		5	unheard
'
FIRST='
settings	3	blank
partitions	1	blank
'
# Parked rows return after a second.
PARK='
block		1	parked
park		1	parked
unpark		1	parked
unblock		1	parked
blocked		1	freed
bump own	1	severed
in doubt	1	silent
'
# Another partition count, by a worker that has just begun: its first statements
# are above.
CHANGE='
session		3-4	recount
begin		1	recount
counts		2-2	recount
leases		3-4	recount
repartition	2	recount
partitions	1	widen
commit		1	recount
'
LOSSES='
stream		3	doubtful
now		1	doubtful
delivered	1	doubtful
holes		1	doubtful
begin		1	doubtful
send again	3	doubtful
commit		1	doubtful
'
# A database that went back, with rows that wait though they are delivered.
BACK='
compare rows	1	gone_back
compare events	2	gone_back
compare dead	1	gone_back
rows found	1	gone_back
'
BUS='
send		3	nothing
flush		1	nothing
answer		3	nothing
'

export OUTBOX_FAULT=$DIR/faults
mkdir -p "$OUTBOX_FAULT/passed"
start_servers
sql "GRANT REPLICATION SLAVE ON *.* TO 'outbox'@'localhost'"
WORKERS=6
LEASE_TTL=2 LEASE_RENEW=0.5 HEARTBEAT_TTL=2 CLAIM_TTL=4 IDLE=50 \
    TIMEOUT_MS=1000 HANG_TIMEOUT=0 BATCH=200 BATCH_BYTES=65536 \
    SUBJECT='{event_type}' WAKE='binlog: true' write_conf
REPORT=--json start_master --window=0
ORDERS=0
PASSED_OVER=0
STRIDE=1
! is_short || STRIDE=16
DEAD=0

#
# Orders
#

arm() {
	rm -f "$OUTBOX_FAULT"/armed*
	printf '%s\n' "$1" > "$OUTBOX_FAULT/new"
	mv "$OUTBOX_FAULT/new" "$OUTBOX_FAULT/armed"
}
has_fired() { [ ! -e "$OUTBOX_FAULT/armed" ]; }

# strike ORDER TRIGGER: give the order, bring it about, wait until it is done
strike() {
	[[ $1 =~ ${ONLY:-.} ]] || return 0
	PASSED_OVER=$(((PASSED_OVER + 1) % STRIDE))
	[ "$PASSED_OVER" -eq 0 ] || return 0
	ORDERS=$((ORDERS + 1))
	"$2" "$1"
	wait_for 20 has_fired || MISSED+=("$1")
	case $2 in unburied|refused|recount|widen) "after_$2" "$1" ;; esac
}

# each TABLE WHENS ACT: strike all points of a table
each() {
	local what n trigger when i first
	while IFS=$'\t' read -r what n trigger; do
		[ -n "$what" ] || continue
		for when in $2; do
			first=1
			[ "$n" = "${n%-*}" ] || first=${n%-*}
			for ((i = first; i <= ${n#*-}; i++)); do
				strike "$what.$when:$i:$3" "$trigger"
			done
		done
	done < <(tr -s '\t' <<< "$1")
}

#
# Functions that bring a worker to a point
#

nothing() { arm "$1"; }

# Where a name stands for several statements they are counted, so nothing of
# the kind may be under way.
no_poison() { is_sql "SELECT COUNT(*) FROM events JOIN outbox
    ON global_sequence = sequence WHERE event_type = 'two words'" 0; }
poison() {
	wait_for 30 no_poison
	arm "$1"
	call_enqueue "'poison$ORDERS', NULL, 'two words', 1, NULL, NULL, 'x'"
	DEAD=$((DEAD + 1))
}

unburied() {
	wait_for 30 no_poison
	sql "CREATE TRIGGER refuse BEFORE INSERT ON outbox_dead_letters
	    FOR EACH ROW SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213"
	poison "$1"
}
after_unburied() { sql 'DROP TRIGGER refuse'; }

delayed() {
	arm "$1"
	sql "START TRANSACTION; $(event_row "delayed$ORDERS" 1 \
	    "'p0$((ORDERS % 10))'" 'NOW(6) + INTERVAL 2 SECOND' events.x)
	    COMMIT"
}

# A label of a former count, perhaps: not the one that the key has.
misplaced() {
	arm "$1"
	sql "START TRANSACTION; $(event_row "misplaced$ORDERS" 1 \
	    "IF(CRC32('misplaced$ORDERS') % 16 = 3, 'p04', 'p03')" '' events.x)
	    COMMIT"
}

# Longer than all that may be held.
large() {
	arm "$1"
	call_enqueue "'large$ORDERS', NULL, 'events.x', 1, NULL, NULL,
	    REPEAT('x', 70000)"
}

# key KEY ROWS DELAY: rows of a key whose first one is due in so many seconds
key() {
	local i rows=''
	for ((i = 1; i <= $2; i++)); do rows+="('$1', $i, 'events.x', 'x'),"; done
	sql "START TRANSACTION;
	    INSERT INTO events (stream_id, stream_sequence, event_type,
		event_data) VALUES ${rows%,};
	    INSERT INTO outbox (global_sequence, partition_key, available_at)
		SELECT sequence, 'p0$((ORDERS % 10))', NOW(6) + INTERVAL
		IF(stream_sequence = 1, $3, 0) SECOND FROM events
		WHERE stream_id = '$1'; COMMIT"
}

# More than a glance shows.
many() {
	arm "$1"
	key "many$ORDERS" 150 0
}

# More than a batch behind a head that is not due until a worker that is killed has
# a successor.
parked() {
	wait_for 20 is_sql 'SELECT COUNT(*) FROM outbox_blocked_keys' 0
	arm "$1"
	key "parked$ORDERS" 250 3
}

# Two connections end: that of a worker, and perhaps that of the janitor.
severed() {
	local id
	arm "$1"
	for id in $(sql "SELECT id FROM information_schema.processlist
	    WHERE user = 'outbox' AND command <> 'Binlog Dump'
	    ORDER BY id LIMIT 2"); do sql "KILL $id"; done
}

# The listener's ends.
DOORBELLS="SELECT id FROM information_schema.processlist
    WHERE command = 'Binlog Dump'"
hears() { [ -n "$(sql "$DOORBELLS")" ]; }
# It is not started again at once when it has died often.
rung() {
	wait_for 30 hears
	arm "$1"
}
unheard() {
	rung "$1"
	sql "KILL $(sql "$DOORBELLS")"
}

# The broker is silent for longer than a message is waited for; a worker that
# has just met that has nothing out.
silent() {
	local pid
	read -r pid _ < "$DIR/nats/process"
	arm "$1"
	for _ in 1 2 3 4; do
		kill -STOP "$pid"
		pause 1500
		kill -CONT "$pid"
		wait_for 3 has_fired && return
	done
}

# The stream was not checked since its server started, and five rows have a
# stream sequence that does not exist.
doubtful() {
	arm "$1"
	for _ in 1 2 3; do
		doubt_once
		wait_for 4 has_fired && return
	done
}
doubt_once() {
	VICTIM=''
	wait_for 30 has_steady started_at
	sql "UPDATE outbox SET ack_sequence = ack_sequence + 1000000000
		WHERE ack_sequence < 1000000000
		ORDER BY published_at DESC LIMIT 5;
	    UPDATE outbox_streams SET servers = ''"
	[ -z "$VICTIM" ] || kill -KILL "$VICTIM"
}

# The server is not known, and five rows have lost that they were delivered.
gone_back() {
	arm "$1"
	for _ in 1 2 3; do
		go_back_once
		wait_for 4 has_fired && return
	done
}
go_back_once() {
	VICTIM=''
	wait_for 30 has_steady started_at
	sql "UPDATE outbox SET published_at = NULL, ack_sequence = NULL,
		message_hash = NULL, available_at = NOW(6) + INTERVAL 15 SECOND
		WHERE published_at IS NOT NULL AND claim_token IS NULL
		ORDER BY published_at DESC LIMIT 5;
	    UPDATE outbox_streams SET database_server = NULL,
		tail_sequence = GREATEST(tail_sequence, 200) - 200"
	[ -z "$VICTIM" ] || kill -KILL "$VICTIM"
}

# Two of a key for which there is no stream: one is refused, one waits.
subjects() {
	"$LAB" stream --nats "$URL" --name EVENTS --subjects "$1" \
	    --dup-window 600
}
refused() {
	subjects 'events.>'
	arm "$1"
	call_enqueue "'refused$ORDERS', NULL, 'later.x', 1, NULL, NULL, 'x'" \
	    "'refused$ORDERS', NULL, 'later.x', 1, NULL, NULL, 'x'"
}
after_refused() { subjects 'events.>,later.>'; }

# A lease without an owner, with another one, and no worker registered.
freed() {
	arm "$1"
	sql "UPDATE outbox_partitions SET lease_owner = NULL,
	    lease_until = NULL WHERE partition_key = 'p03'"
}
given() {
	wait_for 30 is_complete
	arm "$1"
	sql "UPDATE outbox_partitions SET lease_epoch = lease_epoch + 1,
	    lease_until = NOW(6) + INTERVAL 2 SECOND, lease_owner =
		(SELECT id FROM outbox_workers WHERE id <> lease_owner LIMIT 1)
	    WHERE partition_key = 'p03'"
}
forgotten() {
	arm "$1"
	sql 'DELETE FROM outbox_workers'
}

# The pids of registered workers that have lived for a second: who dies
# younger is not started again at once.
steady() {
	local pid
	for pid in $(sql "SELECT pid FROM outbox_workers
	    WHERE started_at < NOW(6) - INTERVAL 1 SECOND ORDER BY $1"); do
		! kill -0 "$pid" 2>/dev/null || echo "$pid"
	done
}
has_steady() { VICTIM=$(steady "$1" | head -n 1) && [ -n "$VICTIM" ]; }
is_complete() { [ "$(steady id | wc -l)" -eq "$WORKERS" ] && all_owned; }

# send SIGNAL ORDER WHICH: the first of the list gets it, or nobody
send() {
	VICTIM=''
	wait_for 30 has_steady "$3"
	arm "$2"
	[ -z "$VICTIM" ] || kill "-$1" "$VICTIM"
}
# From 16 partitions to 24 and back, by a reload.  If the worker dies that makes
# the change, another one makes it.
COUNT=16
change_count() {
	COUNT=$((40 - COUNT))
	sed -i "s/partition_count: [0-9]*/partition_count: $COUNT/" "$CONF"
	kill -HUP "$MASTER"
}
is_recounted() { is_sql 'SELECT partition_count FROM outbox_settings' "$COUNT"; }
recount() {
	wait_for 20 is_complete
	arm "$1"
	change_count
}
after_recount() { wait_for 20 is_recounted || MISSED+=("$1: not made"); }
# Without leases for it.
knows_16() { is_sql "SELECT COUNT(*) FROM outbox WHERE published_at IS NULL
    AND partition_key > 'p15'" 0; }
to_16() {
	[ "$COUNT" -eq 16 ] || change_count
	wait_for 20 is_recounted
	wait_for 20 is_complete
	wait_for 20 knows_16
	sql "UPDATE outbox_settings SET former_counts = NULL;
	    DELETE FROM outbox_partitions WHERE partition_key > 'p15';
	    UPDATE outbox_partitions SET lease_epoch = lease_epoch + 1"
}
widen() {
	to_16
	recount "$1"
}
after_widen() { after_recount "$@"; }

newcomer() { send KILL "$1" started_at; }
leaver() { send TERM "$1" started_at; }
# Duties of the first.
newfirst() {
	wait_for 30 is_complete
	send KILL "$1" id
}
# A database in which no worker has ever been; it takes no events.
blank() {
	wait_for 30 is_complete
	sql "UPDATE outbox_settings SET partition_count = NULL;
	    DELETE FROM outbox_partitions WHERE partition_key = 'p05'"
	send KILL "$1" started_at
}

#
# Groups of orders under load, each with a judgement
#

begin() {
	MISSED=()
	ORDERS_BEFORE=$ORDERS
	STARTED=$(now_ms)
	BEFORE=$(published)
	OUT_BEFORE=$(wc -l < "$DIR/out")
	LOG_BEFORE=$(wc -l < "$LOG")
	produce_forever --keys 8 --payload 100 --producers 2 --per-txn 2 \
	    --rate 200 --type events.lab
}

finish() {
	rm -f "$OUTBOX_FAULT"/armed*
	kill -TERM "$PRODUCER"
	wait "$PRODUCER"
	is "${MISSED[*]-}" '' \
	    "$1: all $((ORDERS - ORDERS_BEFORE)) faults were met"
	drains 60 "$1: all rows are sent or dead"
	check_stream "$1: the stream is complete and in order, nothing twice" \
	    --wait 5 --expect-dead "$DEAD"
	say "$(($(now_ms) - STARTED)) ms"
}

# counts_are_right NAME: where no worker died the reports must add up
sum() { tail -n "+$((OUT_BEFORE + 1))" "$DIR/out" |
    sed "s/.*\"$1\":\([0-9]*\).*/\1/" | awk '{ n += $1 } END { print n + 0 }'; }
all_reported() { [ "$(sum published)" -eq $(($(published) - BEFORE)) ]; }
counts_are_right() {
	wait_for 5 all_reported
	is "$(sum published)" $(($(published) - BEFORE)) \
	    "$1: the reports have each delivery once"
	check "$1: the reports have a claim for each delivery" \
	    [ "$(sum claimed)" -ge "$(sum published)" ]
}
few_lines() {
	local orders=$((ORDERS - ORDERS_BEFORE)) lines
	! is_short || return 0		# true of many orders only
	lines=$(($(wc -l < "$LOG") - LOG_BEFORE))
	[ "$orders" -eq 0 ] || [ "$lines" -le $((orders * 4)) ]
	ok $? "$1: at most 4 lines of log for each fault ($lines, $orders)"
}

# A statement that fails each time is tried again at the pace of the backoff.
lasting() {
	local lines tries
	arm "$1.instead:0:$2"
	lines=$(wc -l < "$LOG")
	tries=$(server_status Com_signal)
	pause 2000
	tries=$(($(server_status Com_signal) - tries))
	lines=$(($(wc -l < "$LOG") - lines))
	rm "$OUTBOX_FAULT/armed"
	[ "$tries" -gt 0 ] && [ "$tries" -le $((WORKERS * 10)) ]
	ok $? "$1 fails with $2 for 2 s: at most 10 tries a worker ($tries)"
	check "$1 fails with $2 for 2 s: at most 5 lines a worker ($lines)" \
	    [ "$lines" -le $((WORKERS * 5)) ]
}

#
# Stopped at a point, long enough for others to take leases and claims
#

STOPPED=()
halt() {
	local f
	rm -f "$OUTBOX_FAULT"/armed*	# if this one is passed over
	strike "$@"
	for f in "$OUTBOX_FAULT"/armed.*; do
		[ ! -e "$f" ] || STOPPED+=("${f##*.}")
	done
}
have_moved() {
	local pids
	pids=$(IFS=,; echo "${STOPPED[*]}")
	is_sql "SELECT COUNT(*) FROM outbox_partitions
	    JOIN outbox_workers ON id = lease_owner WHERE pid IN ($pids)" 0
}
let_go() {
	[ ${#STOPPED[@]} -gt 0 ] || return 0
	within 30 'other workers take the leases of stopped ones' have_moved
	pause 2500
	kill -CONT "${STOPPED[@]}"
	STOPPED=()
}

wait_for 30 is_complete

begin
each "$TICK" 'before sent after' kill
each "$BUS" 'before after' kill
finish 'killed in a tick'

begin
each "$MEMBER$LIFE" 'sent after' kill
finish 'killed in the rest'

begin
each "$TICK" 'before sent after' lost
each "$BUS" 'before after' lost
finish 'connections lost in a tick'
counts_are_right 'connections lost in a tick'
few_lines 'connections lost in a tick'

if ! is_short; then
	begin
	each "$MEMBER$LIFE" 'sent after' lost
	finish 'connections lost in the rest'
fi

# Deadlock, lock wait, killed query, three ways to be read-only, shutdown,
# table full.
begin
for code in 1213 1205 1317 1290 1792 1836 1053 1114; do
	each "$TICK" instead "$code"
done
finish 'statements fail in a tick'
counts_are_right 'statements fail in a tick'
few_lines 'statements fail in a tick'

if ! is_short; then
	begin
	each "$MEMBER$LIFE" instead 1213
	finish 'statements fail in the rest'
fi

begin
lasting claim 1213
lasting settle 1205
lasting leases 1317
if ! is_short; then
	lasting settle 1114
	lasting heartbeat 1290
fi
finish 'statements fail for a while'
counts_are_right 'statements fail for a while'

begin
each "$PARK" 'sent after' kill
each "$PARK" 'sent after' lost
each "$PARK" instead 1213
finish 'parking'

begin
each "$CHANGE" sent kill
each "$CHANGE" sent lost
each "$CHANGE" instead 1213
finish 'another partition count'
to_16

begin
each "$LOSSES" sent kill
each "$LOSSES" sent lost
each "$LOSSES" instead 1213
finish 'looking for losses'

if ! is_short; then
	begin
	each "$BACK" sent kill
	each "$BACK" sent lost
	each "$BACK" instead 1213
	finish 'a database that went back'
fi

# All of the second half, in the short form too: they are few.
wait_for 30 is_complete
EVERY=$STRIDE
STRIDE=1
begin
if ! is_short; then
	for point in claim.before claim.sent send.before settle.before; do
		halt "$point:1:stop" nothing
	done
	let_go
	wait_for 30 is_complete
fi
for point in flush.before flush.after answer.after settle.sent; do
	halt "$point:1:stop" nothing
done
let_go
within 30 'a worker that was stopped does not send what is late' \
    has_line "$LOG" 'time to send was over'
finish 'stopped'
STRIDE=$EVERY

# Without producers, which need the count.
MISSED=()
wait_for 30 is_complete
each "$FIRST" 'sent after' kill
is "${MISSED[*]-}" '' 'killed at the first start: each fault was met'
wait_for 30 is_complete
is "$(sql "SELECT partition_count, COUNT(*) FROM outbox_settings
    JOIN outbox_partitions GROUP BY 1")" "$(printf '16\t16')" \
    'killed at the first start: partition count and leases exist'

# A new statement needs a line in the tables above.
names() { awk -F '\t' 'NF { print $1 }' <<< "$*" | sort -u; }
names "$TICK$MEMBER$LIFE$FIRST$PARK$CHANGE$LOSSES$BACK$BUS" > "$DIR/known"
(cd "$OUTBOX_FAULT/passed" && for f in *; do echo "${f%.*}"; done) |
    sort -u > "$DIR/passed"
is "$(comm -13 "$DIR/known" "$DIR/passed")" '' \
    'every statement and step of the daemon is in the tables of this test'
is_short ||
    is "$(comm -23 "$DIR/known" "$DIR/passed")" '' \
    'every table entry was met'

stops 'the master stops with status 0'
done_testing
