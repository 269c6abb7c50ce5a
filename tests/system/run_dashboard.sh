#!/usr/bin/env bash
# The dashboard in a browser: what it shows of a healthy fleet, of a broker that
# is away, of blocked keys and of 1,000 dead letters; clicks, keys and changes;
# texts of rows stay texts
#
# PICTURES=DIR keeps a picture of each state, as in doc/pictures.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/browser.sh"

is_short && skip_all 'a long test'
PICTURES=${PICTURES:-$DIR/pictures}
mkdir -p "$PICTURES"
TOKEN=a-token-of-this-test

# go HASH: as by a link of the page
go() { js "location.hash = '$1'" > /dev/null; }

# shows_text CSS REGEX NAME: within ten seconds
shows_text() {
	wait_for 10 reads "$1" "$2"
	ok $? "$3" || say "$(text_of "$1" 2>&1)"
}
silent() { is "$(console_errors)" '' "$1: no error on the console"; }

# picture NAME [HASH]: light, dark, and on a phone, each small
picture() {
	local size
	for size in '1400 900 light' '1400 900 dark' '390 844 phone'; do
		read -r width height kind <<< "$size"
		screen "$width" "$height" "${kind/phone/light}"
		wait_for 15 has_no_element '#notice.shown'
		pause 400
		shot "$PICTURES/$1_$kind.png"
	done
	screen 1400 900
	shrink "$PICTURES/$1"_{light,dark,phone}.png
}
shrink() {
	local file
	for file; do
		command -v pngquant > /dev/null &&
		    pngquant --force --ext .png 64 "$file"
		check "${file##*/} is smaller than 150 kB" \
		    [ "$(stat -c %s "$file")" -lt 150000 ]
	done
}

# letters KEY COUNT TYPE METADATA: rows of as many keys; all in SQL
letters() {
	sql "START TRANSACTION;
	INSERT INTO events (stream_id, stream_sequence, event_type, metadata,
	    event_data) SELECT CONCAT($1, n), 1, $3, $4, '{}'
	    FROM $(numbers "$2") ORDER BY n;
	INSERT INTO outbox (global_sequence, partition_key)
	    SELECT sequence, CONCAT('p', LPAD(CRC32(stream_id) % 16, 2, '0'))
	    FROM events WHERE stream_id LIKE CONCAT($1, '%')
	    AND sequence NOT IN (SELECT global_sequence FROM outbox);
	COMMIT"
}
has_letters() { is_sql 'SELECT COUNT(*) FROM outbox_dead_letters
    WHERE reason = "message"' "$1"; }
is_paused() { is_sql "SELECT lease_owner <=> 'paused' FROM outbox_partitions
    WHERE partition_key = '$1'" "$2"; }

# set_on_dead WORD: what follows a dead letter
set_on_dead() {
	sed -i -E "s/^retry: \{(on_dead: [a-z]+, )?/retry: {on_dead: $1, /" "$CONF"
	ctl reload
	is "$RC" 0 "a reload with on_dead: $1"
}

# give_token: a wrong one, then the right one
give_token() {
	within 5 'the token is asked for' has_element '#token'
	type_into '#token' 'not the token'$'\ue007'
	shows_text '#dialog .wrong' 'not the token' 'a wrong token is refused'
	type_into '#token' "$TOKEN"$'\ue007'
}

start_servers
printf '%s\n' "$TOKEN" > "$DIR/token"
chmod 600 "$DIR/token"
PAGE_PORT=$(free_port)
URL_OF_PAGE=http://127.0.0.1:$PAGE_PORT
# write_page_conf [MONITOR-KEYS]
write_page_conf() {
	RETRY='burst: 10000' write_conf
	echo "monitor: {listen: \"127.0.0.1:$PAGE_PORT\",
	    token_file: $DIR/token${1:+, $1}}" >> "$CONF"
}
write_page_conf
browser_start
start_fleet
answers() { curl -sf -m 5 "$URL_OF_PAGE/api/session" > /dev/null; }
within 10 'the monitor answers' answers

# --- healthy ----------------------------------------------------------------

produce_forever --keys 40 --rate 100
browser_open "$URL_OF_PAGE/"
shows_text '#problems' 'Healthy' 'a healthy fleet: it says so'
shows_text '#tile-workers .value' '^2$' 'two workers are active'
shows_text '#tile-dead .value' '^0$' 'no dead letter'
shows_text '#live' '^Live$' 'it is live'
shows_text '#workers tbody' 'running' 'the workers have a state'
shows_text '#workers tbody' '[0-9]/s' 'and a rate'
is "$(js 'document.querySelectorAll("#partitions .cell").length')" 16 \
    'a cell for each partition'
shows_text '#tile-delivered .value' '^~?[0-9,]+$' 'the last hour is counted'
shows_text '#destinations' 'EVENTS' 'the destination is named'
shows_text '#destinations .figures' '[1-9][0-9]*/s' 'and has a rate'
shows_text '#destinations .failures' '^0 of [0-9,]+ tries failed$' \
    'and tells how much fails'
before=$(text_of '#tile-delivered .value')
grows() { [ "$(text_of '#tile-delivered .value')" != "$before" ]; }
within 15 'numbers grow without a reload' grows
silent 'healthy'
picture healthy

# --- filters, pages, keys ---------------------------------------------------

go '#/messages?state=delivered'
within 10 'delivered messages are listed' has_element '#messages a.row'
type_into '#filter-key' $'k7\ue007'
wait_for 10 is_js 'location.hash.includes("key=k7")' true
keys_shown='[...new Set([...document.querySelectorAll(
    "#messages tbody tr")].map((r) => r.cells[2].textContent))].join()'
within 10 'a filter by key shows that key alone' is_js "$keys_shown" k7
js 'history.back()' > /dev/null
within 10 'Back takes the filter away' is_js \
    'document.getElementById("filter-key").value' ''
kill "$PRODUCER"
wait "$PRODUCER"
first='document.querySelector("#messages a.row").textContent'
within 20 'all is delivered' is_drained
pause 3000
page=$(js "$first")
click '#page-next'
other_page() { [ "$(js "$first")" != "$page" ]; }
within 10 'the next page has other messages' other_page
click '#page-before'
within 10 'the page before has the first ones' is_js "$first" "$page"
press 'go'
within 5 'g o goes to the overview' has_element '#tile-workers'
press '/'
within 5 '/ goes to the filter' is_js 'document.activeElement.id' filter-key
press $'\ue00c'
go '#/messages?state=delivered'
wait_for 10 has_element '#messages a.row'
press 'j'
within 5 'j goes to the first row' is_js 'document.activeElement.className' row
press $'\ue007'
within 10 'Enter opens a message' has_element '#detail .facts'
press $'\ue00c'
within 5 'Esc closes it' is_js 'document.getElementById("detail").hidden' true
silent 'filters and pages'

# --- live, paused -----------------------------------------------------------

# hide true|false: as if another tab were in front
hide() {
	js "(Object.defineProperty(document, 'hidden', {configurable: true,
	    value: $1}), document.dispatchEvent(new Event('visibilitychange')))" \
	    > /dev/null
}
hide true
within 5 'hidden, it is paused' is_js \
    'document.getElementById("live").dataset.state' paused
hide false
shows_text '#live' '^Live$' 'and live when it is seen again'
click '#live'
shows_text '#live' '^Paused' 'a click pauses it'
click '#live'
shows_text '#live' '^Live$' 'another one goes on'

# --- partitions -------------------------------------------------------------

go '#/partitions?label=p03'
shows_text '#chosen' 'Partition p03' 'a partition has details'
click '#chosen button'
give_token
shows_text '#dialog' 'would be changed' 'it asks, and tells what a dry run says'
check 'nothing is changed yet' is_paused p03 0
click '#confirm'
within 10 'p03 is paused' is_paused p03 1
shows_text '#chosen' 'paused' 'the page shows it'
shows_text '#chosen button' 'Resume' 'and can resume it'
click '#chosen button'
click '#confirm'
within 10 'p03 is owned again' all_owned
within 10 'both are in the audit' \
    is_sql 'SELECT COUNT(*) FROM outbox_audit' 2
js 'document.querySelector(".grid .cell").focus()' > /dev/null
press $'\ue014'
within 5 'an arrow goes to the next cell' is_js \
    'document.activeElement.textContent.slice(0, 3)' p01
silent 'pause and resume'

# --- the broker is away -----------------------------------------------------

go '#/overview'
"$SANDBOX" stop "$DIR/nats" > /dev/null
shows_text '#problems' '[Cc]ritical' 'broker away: a critical problem'
shows_text '#problems .remedy' '.' 'with what to do'
shows_text '#destinations' '(away|held up)' 'the destination is away'
call_enqueue "'waits', NULL, 'ok', 1, NULL, NULL, 'x'"
shows_text '#tile-backlog .value' '^1$' 'what waits is counted'
shows_text '#destinations' 'held up' 'so its route is held up'
within 10 'and named once, beside the stream' is_js \
    'document.querySelectorAll("#destinations li").length' 2
picture broker_away
"$SANDBOX" restart "$DIR/nats" > /dev/null
shows_text '#problems' 'Healthy' 'and it goes with its cause'
silent 'broker away'

# --- blocked keys -----------------------------------------------------------

set_on_dead halt
for key in order-17 order-42 order-4711; do
	call_enqueue "'$key', NULL, 'never a subject', 1, NULL, NULL, 'x'" \
	    "'$key', NULL, 'order.paid', 1, NULL, NULL, '{}'"
done
go '#/keys'
within 20 'three blocked keys' is_js \
    'document.querySelectorAll("#keys tbody tr").length' 3
shows_text '#problems, #top .verdict' 'problem' 'the head tells it'
picture blocked_keys
go '#/overview'
shows_text '#problems' '[Ww]arning.*halted' 'and so does the overview'
shows_text '#problems .remedy code' \
    '^outboxctl -c [^ ]*/outbox.yml dead show [0-9]+$' \
    'a command in a remedy is a whole one'
picture blocked
screen 360 740
is "$(js '(document.querySelector("#problems .remedy").append(
    "x".repeat(300)), document.documentElement.scrollWidth)')" 360 \
    'a long word in a remedy: as wide as a phone'
screen 1400 900
go '#/keys'
click '#keys button[data-action="release"]'
click '#confirm'
within 10 'a key is released' is_js \
    'document.querySelectorAll("#keys tbody tr").length' 2
silent 'blocked keys'
set_on_dead continue

# --- dead letters -----------------------------------------------------------

clear_rows
letters "'customer-'" 600 "'order refunded'" NULL
letters "'invoice-'" 300 "'invoice.*'" NULL
letters "'cart-'" 100 "'cart.opened'" "'[1]'"
within 30 '1,000 dead letters' has_letters 1000
go '#/dead'
within 15 'they are three groups' is_js \
    'document.querySelectorAll(".group").length' 3
shows_text '.group' '^600' 'the largest comes first'
shows_text '#dead > header' '1,000 dead letters of 3 errors' 'they are counted'
picture dead_letters
click '.group:nth-child(3) .buttons a'
within 10 'a group has its letters' has_element '.letters a.row'
click '.letters a.row'
within 10 'a letter has details' has_element '#detail .error-text'
press $'\ue00c'
sql "UPDATE events SET metadata = '{}' WHERE event_type = 'cart.opened'"
click '.group:nth-child(3) button[data-action="dead-retry"]'
shows_text '#dialog .found' '100 dead letters' 'a retry of the group asks first'
click '#confirm'
within 15 'the group is retried' has_letters 900
within 15 'and gone from the page' is_js \
    'document.querySelectorAll(".group").length' 2
within 20 'its messages are delivered' is_drained
click '.group:nth-child(2) button[data-action="dead-purge"]'
click '#confirm'
within 15 'another group is discarded' has_letters 600
silent 'dead letters'

# --- texts of rows ----------------------------------------------------------

clear_rows
script='<script>alert(1)</script><img src=x onerror=alert(2)>'
call_enqueue "'$script', NULL, '\"onload=alert(3) $script', 1, NULL,
    '{\"a\":\"$script\"}', '{\"html\":\"$script\"}'" \
    "'good$script', NULL, 'x\"<img', 1, NULL, '{\"a\":\"$script\"}',
    '{\"html\":\"$script\"}'" \
    "CONCAT('rtl-', X'E280AE', 'gnp.exe'), NULL, 'rtl', 1, NULL, NULL,
    CONCAT('a', X'07', 'b')"
within 20 'one of them is dead, two are delivered' has_letters 1
within 20 'two are delivered' is_drained
dead=$(sql 'SELECT global_sequence FROM outbox_dead_letters')
sql "UPDATE outbox_dead_letters SET last_error = '$script'"
go "#/messages?state=dead&message=$dead"
shows_text '#messages tbody' '<script>alert\(1\)' 'a key with a script is text'
shows_text '#detail .error-text' '<img src=x' 'an error is text'
shows_text '#detail pre' '<script>alert\(1\)' 'a payload is text'
shows_text '#detail .facts' '"onload=alert' 'a type is text'
picture hostile
go '#/dead'
shows_text '.group' '<img src=x' 'an error of a group is text'
go '#/messages?state=delivered'
shows_text '#messages tbody' 'rtl-U\+202Egnp.exe' \
    'a character that turns the direction of writing is shown by its number'
click '#messages tbody tr:last-child a.row'
wait_for 10 has_element '#detail pre'
is "$(js 'document.querySelectorAll("main img, #detail img, script").length')" \
    1 'no element was made of it'
check 'no dialog of the browser is open' not has_alert
silent 'texts of rows'

# --- a phone, a lost connection ---------------------------------------------

screen 360 740
for view in overview messages dead keys partitions workers audit; do
	go "#/$view"
	wait_for 5 has_element ".panel"
	is "$(js 'document.documentElement.scrollWidth')" 360 \
	    "$view: as wide as a phone"
done
screen 1400 900
stop_master "$MASTER"
shows_text '#live' 'Connection lost . data of [0-9]+ s' \
    'without a monitor: it says how old its data is'
start_fleet
within 40 'it comes back by itself' reads '#live' '^Live$'
go '#/overview'
shows_text '#tile-delivered .value' '[1-9]' \
    'another daemon: the last hour is known by the table'
shows_text '#throughput .reading' '[1-9][0-9,]* published' \
    'and by the minutes of the daemon before'
stop_master "$MASTER"
rm -f "$DIR"/run/*.scoreboard
start_fleet
within 40 'it comes back without them' reads '#live' '^Live$'
shows_text '#throughput .reading' '^Since [0-9:]+ UTC.0 published' \
    'the chart says since when it counts'
shows_text '#tile-delivered .value' '[1-9]' 'the last hour is still known'
go '#/workers'
shows_text '#workers tbody' 'running.*running' 'two workers run'
picture workers

# --- colours ----------------------------------------------------------------

# colours NAME RGB CHOICE: of the page, and what its button tells
colours() {
	shows_text '#top' "$3" "$1: the button says $3"
	within 5 "$1" is_js \
	    'getComputedStyle(document.documentElement).backgroundColor' "rgb($2)"
}
LIGHT='244, 245, 247' DARK='15, 18, 24'
screen 1400 900 dark
colours 'a dark system: the page is dark' "$DARK" Auto
click 'button[aria-label^="Colours:"]'
colours 'light was chosen' "$LIGHT" Light
shot "$PICTURES/chosen_light.png"
screen 1400 900 light
click 'button[aria-label^="Colours:"]'
colours 'dark was chosen, on a light system' "$DARK" Dark
shot "$PICTURES/chosen_dark.png"
click 'button[aria-label^="Colours:"]'
colours 'as the system has it again' "$LIGHT" Auto

# --- monitor.require_token --------------------------------------------------

write_page_conf 'require_token: true'
stop_master "$MASTER"
start_fleet
asks_token() { [ "$(curl -s -m 5 -o /dev/null -w '%{http_code}' \
    "$URL_OF_PAGE/api/status")" = 401 ]; }
within 10 'the monitor shows nothing without its token' asks_token
js 'sessionStorage.clear()' > /dev/null
browser_open "$URL_OF_PAGE/#/overview"
js 'location.reload()' > /dev/null
shows_text 'main' '^This monitor shows nothing without its token' \
    'a page without the token is locked'
check 'no panel is shown' has_no_element 'main .panel:not(.locked)'
picture locked
click 'main .locked button'
give_token
shows_text '#tile-workers .value' '^2$' 'with the token it shows the fleet'
shows_text '#live' '^Live$' 'and is live'
check 'it is not locked any more' has_no_element '.locked'
click '#session'
shows_text 'main' '^This monitor shows nothing without its token' \
    'the token is forgotten: it is locked again'
check 'and nothing is left to see' has_no_element 'main .panel:not(.locked)'

# --- people -----------------------------------------------------------------

(umask 077; echo a-token-of-ben-0000 > "$DIR/ben"
    echo a-token-of-eve-0000 > "$DIR/eve")
people="tokens: [{name: ben@x.example, file: $DIR/ben, may: [pause, retry]},
    {name: eve, file: $DIR/eve, may: read}]"
# restart KEYS: of the monitor; the page has forgotten its token
restart() {
	write_page_conf "$1"
	stop_master "$MASTER"
	start_fleet
	within 10 'the monitor answers' answers
	js 'sessionStorage.clear()' > /dev/null
	browser_open "$URL_OF_PAGE/#/$2"
	js 'location.reload()' > /dev/null
}
# log_in TOKEN: with the button in the head
log_in() {
	click '#session'
	type_into '#token' "$1"$'\ue007'
}
restart "$people" 'messages?state=delivered'
within 10 'nobody yet: rows can be chosen' has_element '#messages .choose'
log_in a-token-of-ben-0000
shows_text '#user' '^ben@x.example$' 'the page says whose token it is'
console_errors > /dev/null	# of the start
is "$(js 'document.getElementById("user").title')" \
    'ben@x.example may retry, pause' 'and what that person may do'
go '#/partitions?label=p00'
within 10 'ben may pause' has_element '#chosen .buttons button'
click '#chosen .buttons button'
click '#confirm'
within 10 'a partition is paused' is_paused p00 1
within 10 'which ben may not resume' has_no_element '#chosen .buttons button'
is "$(sql 'SELECT SUBSTRING_INDEX(unix_user, "@", 2) FROM outbox_audit
    ORDER BY id DESC LIMIT 1')" "$(id -un) for ben@x.example (monitor)" \
    'the audit has the name'
go '#/audit'
shows_text '#audit tbody' 'for ben@x.example \(monitor\)' 'and the page shows it'
picture people
click '#session'
within 10 'the token is forgotten' has_no_element '#user'
log_in a-token-of-eve-0000
shows_text '#user' '^eve$' 'another person'
go '#/messages?state=delivered'
within 10 'there are messages' has_element '#messages a.row'
check 'eve cannot choose rows' has_no_element '#messages .choose'
go '#/partitions?label=p00'
wait_for 10 has_element '#chosen .buttons a'
check 'and has no buttons' has_no_element '#partitions button, #chosen button'
silent 'people'

# A proxy says who it is: here the browser itself sends the header.
restart "$people, require_token: true, user_header: X-User,
    proxies: [127.0.0.1]" overview
shows_text 'main' 'shows nothing without its token' 'nobody is logged in'
cdp Network.enable '{}'
cdp Network.setExtraHTTPHeaders '{"headers": {"X-User": "ben@x.example"}}'
js 'location.reload()' > /dev/null
shows_text '#user' '^ben@x.example$' 'the proxy has logged ben in'
shows_text '#live' '^Live$' 'who sees the fleet'
check 'and has no token to forget' has_no_element '#session'
cdp Network.setExtraHTTPHeaders '{"headers": {"X-User": "mallory"}}'
js 'location.reload()' > /dev/null
shows_text 'main' '^mallory is not in monitor.tokens' 'a stranger sees nothing'
browser_end
done_testing
