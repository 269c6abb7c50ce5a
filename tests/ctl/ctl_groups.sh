#!/usr/bin/env bash
# outboxctl dead groups, and --group of the other dead commands
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

start_with_operator
# shellcheck disable=SC2034
CONF=$OP
sql "INSERT INTO outbox_partitions (partition_key) VALUES
    ('p00'), ('p01'), ('p02'), ('p03')"

# bury FROM N ERROR [REASON [TYPE]]: so many dead letters, from this sequence
# on; ERROR is SQL that may use the number n of each
bury() {
	sql "INSERT INTO events (sequence, stream_id, stream_sequence,
		event_type, event_data)
	    SELECT $1 + n, CONCAT('k', n % 7), $1 + n, '${5:-ok}', 'x'
	    FROM $(numbers "$2");
	INSERT INTO outbox_dead_letters (global_sequence, partition_key,
		order_key, event_type, attempts, reason, last_error, died_at)
	    SELECT $1 + n, 'p01', CONCAT('k', n % 7), '${5:-ok}', 1,
	    '${4:-message}', $3, TIMESTAMP '2026-01-31 12:00:00' +
	    INTERVAL n SECOND FROM $(numbers "$2")"
}
# groups [ARGUMENT...]: count and error of each
groups() {
	ctl --json dead groups "$@"
	field '.rows[] | "\(.count) \(.error)"'
}
# id_of_error TEXT: the group with this error
id_of_error() {
	ctl --json dead groups
	jq -r --arg e "$1" '.rows[] | select(.error == $e).group' <<< "$OUT"
}

ctl --json dead groups
is "$(field '[.rows, .looked_at, .exact, .more]')" '[[],0,true,false]' \
    'no dead letter: no group'
ctl dead groups
is "$RC$OUT" 0 'and nothing is printed'

#
# 1,000 letters of three errors are three groups.
#
bury 1000 500 "CONCAT('timeout after ', n, ' ms: order \"', SHA2(n, 256),
    '\"')"
bury 2000 300 "CONCAT('no stream for ', UUID())"
bury 3000 200 "CONCAT('HTTP 422: {\"code\":', n,
    ',\"id\":\"', n, '\"}')" attempts paid
groups > "$DIR/groups"
is "$(cat "$DIR/groups")" '500 timeout after # ms: order "*"
300 no stream for *
200 HTTP 422: {"code":#,"id":"*"}' 'numbers, ids and quoted values make no group'
is "$(field '[.looked_at, .exact, .more, .rows[0].exact]')" \
    '[1000,true,false,true]' 'all were counted'
is "$(field '.rows[2].sample|[.sequence, .key, .type, .error]|join(" ")')" \
    '3199 k3 paid HTTP 422: {"code":199,"id":"199"}' \
    'the sample is the newest letter'
is "$(field '.rows[2]|[.first, .last, .reason]|join(" ")')" \
    '2026-01-31T12:00:00.000000Z 2026-01-31T12:03:19.000000Z attempts' \
    'first and last time, and the reason'
is "$(field '[.rows[].group|test("^[0-9a-f]{16}$")]|all')" true \
    'the ids are 16 digits'
before=$(field '[.rows[].group]')
ctl --json dead groups
is "$(field '[.rows[].group]')" "$before" 'and stay the same'
# Of this release and later ones: a program may keep it.
is "$(id_of_error 'no stream for *')" 3b76cd985c5344aa \
    'the id of an error that is known here'
is "$(groups --type paid)" '200 HTTP 422: {"code":#,"id":"*"}' '--type'
is "$(groups --key k1 | cut -d' ' -f1 | tr '\n' ' ')" "$(sql "SELECT COUNT(*)
    FROM outbox_dead_letters WHERE order_key = 'k1'
    GROUP BY global_sequence DIV 1000 ORDER BY 1 DESC" | tr '\n' ' ')" '--key'
is "$(groups --since 2026-01-31T12:05:01Z --until 2026-01-31T12:05:03Z)" \
    '2 timeout after # ms: order "*"' '--since and --until'
ctl dead groups --limit 1
like "$OUT" '^count +group +reason +last' 'without --json: a table'
like "$ERR" 'there are more groups' '--limit: more groups are announced'
ctl --json dead groups --limit 1
is "$(field '[(.rows|length), .more]')" '[1,true]' '--limit in JSON'

#
# --group
#
id=$(id_of_error 'no stream for *')
shows '[.rows[].sequence]|[length, min, max]' '[100,2000,2099]' \
    'dead list --group: only its letters' dead list --group "$id"
shows '[.rows[].sequence]|[length, min, max]' '[200,2100,2299]' \
    'and they go on after the last' dead list --group "$id" --after 2099 \
    --limit 500
shows .next null 'to the end'
shows '[(.rows|length), .next]' '[0,null]' \
    'with another filter' dead list --group "$id" --type paid
refuses <<EOF
--group:_"x"_is_no_group dead list --group x
--group:_"${id^^}"_is_no_group dead retry --all --group ${id^^}
--group:_".*"_is_no_group dead purge --all --group ${id}0
give_either_SEQUENCE..._or_--all dead retry --group $id
a_filter_needs_--all dead retry 7 --group $id
not_an_option messages list --group $id
not_an_option dead groups --group $id
EOF
ctl --json dead retry --all --group "$id" --key k1 --yes
is "$RC $(field .changed)" "0 $(sql "SELECT COUNT(*) FROM outbox JOIN events ON
    sequence = global_sequence WHERE stream_id = 'k1'")" \
    'dead retry --group --key: both count'
ctl --json dead retry --all --group "$id" --yes
is "$RC $(sql 'SELECT COUNT(*), MIN(global_sequence), MAX(global_sequence)
    FROM outbox' | tr '\t' ' ')" '0 300 2000 2299' \
    'dead retry --all --group: its letters, and no other'
is "$(id_of_error 'no stream for *')" '' 'the group is gone'
id=$(id_of_error 'HTTP 422: {"code":#,"id":"*"}')
ctl --json dead purge --all --group "$id" --yes --dry-run
is "$RC $(field .changed)" '0 200' 'dead purge --dry-run: would be 200'
ctl --json dead purge --all --group "$id" --yes
is "$RC $(field .changed)" '0 200' 'dead purge --all --group: its letters'
is "$(groups)" '500 timeout after # ms: order "*"' 'one group is left'
ctl --json dead purge --all --group "$id" --yes
is "$RC $(field .changed)" '0 0' 'a group that is gone: nothing'

#
# What is a number, an id and a quoted value
#
sql 'DELETE FROM outbox_dead_letters; DELETE FROM outbox; DELETE FROM events'
# says TEXT SQL: a letter with this error has this text
N=1
says() {
	sql "DELETE FROM outbox_dead_letters WHERE reason <> 'purged'"
	bury $((N++ * 10)) 1 "$2"
	ctl --json dead groups
	is "$(jq -r '.rows[0].error' <<< "$OUT")" "$1" "error: $1"
}
says '# of # bytes' "'1,048,576 of 12.5 bytes'"
says 'connect #:#: refused' "'connect 10.0.0.1:4222: refused'"
says "can't read the worker's key '*'" \
    "'can\\'t read the worker\\'s key \\'a \\\\\\'b\\''"
says 'HTTP 404: # left' "'HTTP 404: 7 left'"
says 'held: # more: HTTP 503' "'held: 12 more: HTTP 503'"
says 'HTTP #, XHTTP #, HTTP #' "'HTTP 1234, XHTTP 404, HTTP 12'"
says 'deadbeef is a word, * is none' "'deadbeef is a word, deadbee5 is none'"
says '* and * and *' "CONCAT('0xFF and 01ARZ3NDEKTSV4RRFFQ69G5FAV and ',
    SHA2('x', 256))"
says 'utf#mb# order_# p#' "'utf8mb4 order_4711 p03'"
# shellcheck disable=SC2016
says '"*" and `*`' "'\"a\" and \`b\`'"
says 'an open "quote #' "'an open \"quote 7'"
says 'schön # ☃' "'schön 7 ☃'"
says '' "''"
says '' NULL
says 'a "*": {"why":"*"}' "'a \"b\": {\"why\":\"c\"}'"
says "$(printf 'ä%.0s' {1..127})..." "REPEAT('ä', 200)"
says "$(printf 'a%.0s' {1..255})..." "REPEAT('a', 1000)"
says "$(printf '"*"%.0s' {1..85})..." "REPEAT('\"', 1000)"
sql "UPDATE outbox_dead_letters SET last_error = '\\0\\b\\n\\t\\Z \\\\'"
ctl --json dead groups
is "$RC $(field '.rows|length')" '0 1' 'control characters'
id=$(field .rows[0].group)
shows '.rows|length' 1 'and they are found again' dead list --group "$id"

#
# Bounded: groups, and rows
#
sql "DELETE FROM outbox_dead_letters WHERE reason <> 'purged'"
bury 100000 1500 "CONCAT('e', CHAR(97 + n MOD 26), CHAR(97 + n DIV 26 MOD 26),
    CHAR(97 + n DIV 676))"
ctl --json dead groups --limit 5000
is "$(field '[(.rows|length), .more, .looked_at]')" '[1000,true,1500]' \
    '1,500 errors: the newest 1,000 groups'
done_testing
