#!/usr/bin/env bash
# seeds.sh - run.sh for one seed after the other
#
#   tests/chaos/seeds.sh [--from N] [--count N] [--seconds S] [--masters M]
#       [--kind mariadb|mysql] [--tables NAME] [--faults "NAME..."] [--rate R]
#
# From 1, 20 of them, 60 s each, two masters, tables and faults that each seed
# chooses.  For the partition count:
#
#   tests/chaos/seeds.sh --faults counts --count 10 --seconds 120
#
# and the same with --tables pillar.  One line for each and one for
# all; LOGS=DIR gets the output of each run and its logs.  Exit: 0 if all were
# good.

FROM=1 COUNT=20 DURATION=60 NMASTERS=2 KIND=${KIND:-mariadb} FAULTS=''
TABLES=${TABLES:-} RATE=1200
while [ $# -gt 0 ]; do
	[ $# -ge 2 ] || set -- --help x
	case $1 in
	--from) FROM=$2 ;;
	--count) COUNT=$2 ;;
	--seconds) DURATION=$2 ;;
	--masters) NMASTERS=$2 ;;
	--kind) KIND=$2 ;;
	--tables) TABLES=$2 ;;
	--faults) FAULTS=$2 ;;
	--rate) RATE=$2 ;;
	*) sed -n '2,/^$/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
	esac
	shift 2
done
export srcdir=${srcdir:-$(dirname "$0")/../..}
WORK=$(mktemp -d "${TMPDIR:-/tmp}/outbox-seeds.XXXXXX")
trap 'rm -rf "$WORK"' EXIT
trap 'exit 130' INT TERM
ALL=$WORK/all
: > "$ALL"

# value NAME: of the checker's words on both databases, added
value() {
	sed -n "s/^# checked .*\"$1\":\([0-9]*\).*/\1/p" "$WORK/out" |
	    awk '{ n += $1 } END { print n + 0 }'
}

names='lost duplicated out_of_order foreign damaged phantom'
bad=0
for ((seed = FROM; seed < FROM + COUNT; seed++)); do
	start=$SECONDS
	logs=${LOGS:+$LOGS/$seed}
	KEEP='' LOGS=$logs "$srcdir/tests/chaos/run.sh" --seed "$seed" \
	    --seconds "$DURATION" --masters "$NMASTERS" --kind "$KIND" \
	    --events-rate "$RATE" ${TABLES:+--tables "$TABLES"} \
	    ${FAULTS:+--faults "$FAULTS"} > "$WORK/out" 2>&1
	rc=$?
	[ -z "$logs" ] || cp "$WORK/out" "$logs/out"
	line=''
	for name in committed delivered $names; do
		n=$(value "$name")
		line+=" $name $n"
		echo "$name $n" >> "$ALL"
	done
	verdict=ok
	[ "$rc" -eq 0 ] || { verdict='NOT OK' bad=$((bad + 1)); }
	echo "seed $seed: $verdict,$line, $((SECONDS - start)) s"
	sed -n '1,2s/^# /    /p' "$WORK/out"
	grep -E '^not ok|^# VIOLATION|^Bail|^# replay' "$WORK/out" |
	    sed 's/^/    /'
done
echo "$COUNT seeds of $DURATION s, $bad not ok:" "$(awk '{ n[$1] += $2 }
    END { for (name in n) print name, n[name] }' "$ALL" | sort | paste -sd, |
    sed 's/,/, /g')"
[ "$bad" -eq 0 ]
