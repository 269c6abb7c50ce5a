#!/usr/bin/env bash
# The benchmark: tiny runs of all that it has, and one that must fail
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

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

bench "${tiny[@]}"
rc=$?
[ "$rc" -ne 77 ] || skip_all 'a server is missing'
is "$rc" 0 'a tiny run of everything'
[ "$rc" -eq 0 ] || sed 's/^/# /' "$DIR/said"
"$SANDBOX" start "$KIND" "$DIR/db" > /dev/null
is "$(document 'JSON_VALID(@j)')" 1 'bench.json is JSON'
is "$(document "JSON_EXTRACT(@j, '\$.ok')")" true 'it says that all is well'
is "$(document "JSON_LENGTH(@j, '\$.records')")" \
    "$(wc -l < "$DIR/results/bench.tsv")" 'and has each figure'
for figure in drain:rate drain:relay_cpu:-1 drain:worker_peak \
    floor:rate floor:of_both steady:reached steady:commit_p99 \
    steady:latency_p50 steady:p50_of_floor idle:Questions age:of_plain; do
	IFS=: read -r section name low <<< "$figure"
	is_above "$(value "$section" "$name")" "${low:-0}"
	ok $? "$section has $name"
done
is "$(awk -F '\t' '$3 == "lost"' "$DIR/results/bench.tsv" | wc -l)" 12 \
    'each run of the relay was judged'
is "$(awk -F '\t' '$3 ~ /^(lost|duplicated|out_of_order)$/ && $4 != 0' \
    "$DIR/results/bench.tsv")" '' 'and nothing was found'
for section in drain floor steady idle age; do
	has_line "$DIR/table" "^$section\$"
	ok $? "the table has $section"
done

# Who takes a message out of the stream has to be found out.
BENCH_BEFORE_CHECK='"$LAB" delete-msg --nats "$URL" --stream EVENTS --seq 5' \
    bench "${tiny[@]}" --only drain
is $? 1 'a lost message is a failure'
has_line "$DIR/said" 'THE CHECKER FOUND FAULTS .*"lost":1'
ok $? 'and is told'
is "$(value drain lost)" 1 'it is a figure as well'
is "$(document "JSON_EXTRACT(@j, '\$.ok')")" false 'bench.json says so'
! has_line "$DIR/table" '^drain$'
ok $? 'there is no table'

# What is missing on both sides is missing.
BENCH_BEFORE_CHECK='message="--nats $URL --stream EVENTS --seq 5"
    sql "DELETE FROM events WHERE sequence = $("$LAB" show $message |
	sed -n "s/^Outbox-Sequence: //p")"
    "$LAB" delete-msg $message' \
    bench "${tiny[@]}" --only drain
is $? 1 'an event less than there should be is a failure'
has_line "$DIR/said" '"ok":true,"committed":599'
ok $? 'though the checker found nothing'

bench --only drian
is $? 2 'a section that is not known is refused'
bench --rows many
is $? 2 'and what is no number'
done_testing
