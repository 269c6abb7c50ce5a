#!/usr/bin/env bash
# The benchmark: tiny runs of all that it has, and one that must fail
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

is_short && skip_all 'a long test'

bench() {
	KIND=$KIND "$srcdir/bench/run" --out "$DIR/results" "$@" \
	    > "$DIR/table" 2> "$DIR/said"
}
tiny=(--rows 600 --backlogs '' --workers 2 --payloads '' --keys ''
    --batches '' --floor-payloads 200 --loads 200 --seconds 1
    --idle-seconds 1 --ages 1000 --blocked 20)

# document EXPRESSION: of bench.json as @j, by a server that reads JSON
document() {
	{
		printf "SET @j = CONVERT(0x%s USING utf8mb4); SELECT %s;" \
		    "$(od -An -v -tx1 "$DIR/results/bench.json" | tr -d ' \n')" \
		    "$1"
	} | "$SANDBOX" sql "$DIR/db" -N
}
# value SECTION FIGURE: of the first such record
value() { awk -F '\t' -v s="$1" -v f="$2" '$1 == s && $3 == f {
    print $4; exit }' "$DIR/results/bench.tsv"; }
is_above() { awk -v n="$1" -v low="$2" 'BEGIN { exit !(n > low) }'; }

p50_of() { awk -F '\t' -v relay=" relay=$1 " '
    index($2, relay) && $3 == "p50" { print $4 }' "$DIR/results/bench.tsv"; }

# all_sections: a small run of each, and what its results have
all_sections() {
	local figure section name low relay
	bench "${tiny[@]}"
	is "$?" 0 'a small run of all sections: exit status 0' ||
	    sed 's/^/# /' "$DIR/said"
	is "$(document 'JSON_VALID(@j)')" 1 'bench.json is valid JSON'
	is "$(document "JSON_EXTRACT(@j, '\$.ok')")" true 'bench.json: ok is true'
	is "$(document "JSON_LENGTH(@j, '\$.records')")" \
	    "$(wc -l < "$DIR/results/bench.tsv")" \
	    'bench.json has all of bench.tsv'
	for figure in drain:rate drain:relay_cpu:-1 drain:worker_peak \
	    floor:rate floor:of_both steady:reached steady:commit_p99 \
	    steady:latency_p50 steady:p50_of_floor idle:Questions age:of_plain; do
		IFS=: read -r section name low <<< "$figure"
		check "$section has a $name above ${low:-0}" \
		    is_above "$(value "$section" "$name")" "${low:-0}"
	done
	is "$(awk -F '\t' '$3 == "lost"' "$DIR/results/bench.tsv" | wc -l)" 12 \
	    'each of 12 runs of the relay was checked'
	is "$(awk -F '\t' '$3 ~ /^(lost|duplicated|out_of_order)$/ && $4 != 0' \
	    "$DIR/results/bench.tsv")" '' \
	    'no run lost, doubled or reordered any'
	for section in drain floor steady idle age; do
		check "the table has a section $section" \
		    has_line "$DIR/table" "^$section\$"
	done

	# The sections of the long form alone.
	bench "${tiny[@]}" --only cost,sparse,http --lingers 50 --sparse-events 1
	is $? 0 'small runs of cost, sparse and http: exit status 0'
	# A broker may have a message before its producer knows that it is committed.
	for figure in cost:reached cost:p99 cost:statements:4 cost:statements_net \
	    cost:relay_cpu cost:db_net:-1000 sparse:p50:-1 sparse:Questions http:rate; do
		IFS=: read -r section name low <<< "$figure"
		check "$section has a $name above ${low:-0}" \
		    is_above "$(value "$section" "$name")" "${low:-0}"
	done
	for relay in floor polls listener; do
		check "cost: the linger makes the $relay wait" \
		    is_above "$(p50_of "$relay")" 10
	done
	check 'sparse has a run that follows the binlog' \
	    has_line "$DIR/results/relay.log" 'binlog: connected'
	check 'sparse has one that may not' \
	    has_line "$DIR/results/relay.log" 'workers poll: binlog: '
	check 'cost: statements by name' has_line "$DIR/results/bench.tsv" \
	    '	by_name	.*claim [0-9.]+'
	is "$(awk -F '\t' '$3 == "lost" && $4 == 0' "$DIR/results/bench.tsv" | wc -l)" \
	    4 'each of 4 runs of the relay was checked'
}

"$SANDBOX" start "$KIND" "$DIR/db" > /dev/null
rc=$?
[ "$rc" -ne 77 ] && command -v nats-server > /dev/null ||
    skip_all 'a server is missing'
all_sections

# A message that is deleted from the stream must be noticed.
BENCH_BEFORE_CHECK='"$LAB" delete-msg --nats "$URL" --stream EVENTS --seq 5' \
    bench "${tiny[@]}" --only drain
is $? 1 'a lost message: exit status 1'
check "a lost message: the output has the checker's result" \
    has_line "$DIR/said" 'THE CHECKER FOUND FAULTS .*"lost":1'
is "$(value drain lost)" 1 'a lost message: bench.tsv has it'
is "$(document "JSON_EXTRACT(@j, '\$.ok')")" false 'a lost message: ok is false'
check 'a lost message: no table is printed' not has_line "$DIR/table" '^drain$'

# So must an event that is deleted with its message.
BENCH_BEFORE_CHECK='message="--nats $URL --stream EVENTS --seq 5"
    sql "DELETE FROM events WHERE sequence = $("$LAB" show $message |
	sed -n "s/^Outbox-Sequence: //p")"
    "$LAB" delete-msg $message' \
    bench "${tiny[@]}" --only drain
is $? 1 'a missing event: exit status 1'
check 'a missing event: the checker itself found no fault' \
    has_line "$DIR/said" '"ok":true,"committed":599'

bench --only drian
is $? 2 'an unknown section: exit status 2'
bench --rows many
is $? 2 '--rows that is no number: exit status 2'
bench --lingers 5,soon
is $? 2 '--lingers that are no numbers: exit status 2'
done_testing
