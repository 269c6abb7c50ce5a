#!/usr/bin/env bash
# prometheus_test.sh - do the alert rules, the dashboard and the manual page fit
# the metrics?
#
# Needs promtool, of Debian's package prometheus; the short form goes without.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

RULES=$srcdir/etc/prometheus/outbox-master.rules.yml
BOARD=$srcdir/etc/grafana/outbox-master.json
PAGE=$srcdir/man/outbox-metrics.7

# The names in the code, in the manual page, and in a file, without the suffixes
# of a histogram's series
code() { grep -oh '"outbox_[a-z_]*"' "$srcdir"/src/monitor/metrics*.c |
    tr -d '"' | sort -u; }
page() { sed -n 's/^\.It Ic \(outbox_[a-z_]*\).*/\1/p' "$PAGE" | sort; }
used() { grep -oh 'outbox_[a-z_]*' "$1" | sed 's/_bucket$//' | sort -u; }

check 'there are metrics in the code' test "$(code | wc -l)" -gt 40
is "$(page)" "$(code)" 'the manual page has each metric once'
is "$(used "$RULES" | comm -23 - <(code))" '' 'rules name metrics that exist'
is "$(used "$BOARD" | comm -23 - <(code))" '' \
    'the dashboard names metrics that exist'
check 'the dashboard uses most of them' \
    test "$(used "$BOARD" | wc -l)" -gt 30
is "$(jq -r '[.panels[].id] | length - (unique | length)' "$BOARD")" 0 \
    'the panels of the dashboard have ids of their own'
is "$(jq -r '.panels[] | select(.type != "row") | select(.targets == []) |
    .title' "$BOARD")" '' 'each panel shows something'

if ! command -v promtool > /dev/null && is_short; then
	say 'no promtool: the rules are not tested'
	done_testing
fi

alerts() { sed -n 's/^ *- alert: //p' "$RULES"; }
# stories RULES: do the stories come out with these rules?
stories() {
	local story
	for story in "$srcdir"/tests/prometheus/*.yml; do
		sed "s|\[.*/outbox-master.rules.yml\]|[$1]|" "$story" \
		    > "$DIR/${story##*/}"
	done
	promtool test rules "$DIR"/*.yml > "$DIR/promtool" 2>&1
}

promtool check rules "$RULES" > "$DIR/promtool" 2>&1
ok $? 'promtool: the rules are in order' || sed 's/^/# /' "$DIR/promtool"
mkdir "$DIR/rules"
cp "$RULES" "$DIR/rules/whole.yml"
stories "$DIR/rules/whole.yml"
ok $? 'promtool: each story comes out' || sed 's/^/# /' "$DIR/promtool"
for alert in $(alerts); do
	sed "s/alert: $alert\$/alert: Another/" "$RULES" > "$DIR/rules/less.yml"
	check "$alert has a story that fails without it" \
	    not stories "$DIR/rules/less.yml"
done
done_testing
