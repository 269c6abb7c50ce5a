# browser.sh - a headless chromium for tests, by WebDriver with curl and jq;
# includes ctl.sh
#
# browser_start, then the functions below; CSS is a selector, and must match
# within five seconds.  What a page may do is what a user may: clicks and keys
# go through the browser's own events.

# shellcheck shell=bash disable=SC2034

. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

BROWSER=	# address of the session

# Debian's name, or that of its makers
chromium_path() { command -v chromium || command -v google-chrome; }

# wd METHOD PATH [JSON]: a request of the session; prints its value, and returns
# 1 if it is an error
wd() {
	local out
	out=$(curl -s -m 30 -X "$1" "$BROWSER$2" \
	    ${3:+-H 'Content-Type: application/json' -d "$3"}) || return 1
	jq -e '.value | type == "object" and has("error")' <<< "$out" \
	    > /dev/null && { jq -r .value.error <<< "$out" >&2; return 1; }
	jq -rc .value <<< "$out"
}

browser_options() {
	jq -nc --arg binary "$(chromium_path)" --arg profile "$DIR/profile" '{
	    capabilities: {alwaysMatch: {
		"goog:loggingPrefs": {browser: "ALL"},
		"goog:chromeOptions": {binary: $binary, args: [
		    "--headless=new", "--no-sandbox", "--disable-gpu",
		    "--disable-dev-shm-usage", "--hide-scrollbars",
		    "--disable-background-networking", "--disable-quic",
		    "--disable-component-update", "--disable-sync",
		    "--no-first-run", "--user-data-dir=" + $profile]}}}}'
}

driver_port() {
	DRIVER=$(sed -n 's/.*started successfully on port \([0-9]*\).*/\1/p' \
	    "$DIR/driver.log")
	[ -n "$DRIVER" ]
}

# Start it, or skip the test.  It ends with the test.
browser_start() {
	if ! command -v chromedriver || ! chromium_path; then
		skip_all 'no chromium with chromedriver'
	fi > "$DIR/paths"
	chromedriver --port=0 > "$DIR/driver.log" 2>&1 < /dev/null &
	MASTERS+=("$!")
	wait_for 20 driver_port || { echo 'Bail out! no chromedriver'; exit 1; }
	BROWSER=http://127.0.0.1:$DRIVER/session
	BROWSER=$BROWSER/$(wd POST '' "$(browser_options)" | jq -r .sessionId)
}

browser_open() { wd POST /url "$(jq -nc --arg u "$1" '{url: $u}')" > /dev/null; }

# element CSS: its reference
element() {
	local id
	id=$(wd POST /element "$(jq -nc --arg c "$1" \
	    '{using: "css selector", value: $c}')" 2> /dev/null) || return 1
	jq -r '.[]' <<< "$id"
}
has_element() { element "$1" > /dev/null; }
has_alert() { wd GET /alert/text > /dev/null 2>&1; }
has_no_element() { not has_element "$1"; }

# found CSS: the same, awaited
found() {
	wait_for 5 has_element "$1" || { say "no element: $1" >&2; return 1; }
	element "$1"
}

# A drawing may replace the element between the two requests: once more then.
click_once() {
	local id
	id=$(element "$1") && wd POST "/element/$id/click" '{}' \
	    > /dev/null 2>&1
}
click() { wait_for 5 click_once "$1" || { say "no click: $1" >&2; return 1; }; }

# type_into CSS TEXT: instead of what is there; U+E007 is Enter
type_into() {
	local id
	id=$(found "$1") || return 1
	wd POST "/element/$id/clear" '{}' > /dev/null
	wd POST "/element/$id/value" "$(jq -nc --arg t "$2" '{text: $t}')" \
	    > /dev/null
}

# press KEYS: one after the other, to whatever has the focus
press() {
	wd POST /actions "$(jq -nc --arg k "$1" '{actions: [{type: "key",
	    id: "keys", actions: [$k | split("")[] | ({type: "keyDown",
	    value: .}, {type: "keyUp", value: .})]}]}')" > /dev/null
}

# js EXPRESSION: its value
js() { wd POST /execute/sync "$(jq -nc --arg s "return ($1)" \
    '{script: $s, args: []}')"; }
is_js() { [ "$(js "$1" 2> /dev/null)" = "$2" ]; }

# text_of CSS: as it is seen
text_of() {
	local id
	id=$(found "$1") && wd GET "/element/$id/text"
}
reads() { [[ $(text_of "$1" 2> /dev/null) =~ $2 ]]; }

# Errors on the console since the last call; reports of the page's security
# policy are among them.
console_errors() { wd POST /se/log '{"type": "browser"}' |
    jq -r '.[] | select(.level == "SEVERE") | .message' | sort -u | head; }

cdp() { wd POST /goog/cdp/execute "$(jq -nc --arg c "$1" --argjson p "$2" \
    '{cmd: $c, params: $p}')" > /dev/null; }

# screen WIDTH HEIGHT [light|dark]
screen() {
	cdp Emulation.setDeviceMetricsOverride "{\"width\": $1, \"height\": $2,
	    \"deviceScaleFactor\": 1, \"mobile\": $([ "$1" -lt 600 ] &&
	    echo true || echo false)}"
	cdp Emulation.setEmulatedMedia "{\"features\": [{\"name\":
	    \"prefers-color-scheme\", \"value\": \"${3:-light}\"}]}"
}

# shot FILE: what is seen, as PNG
shot() { wd GET /screenshot | base64 -d > "$1"; }

browser_end() { [ -z "$BROWSER" ] || wd DELETE '' > /dev/null 2>&1; }
