/*
 * live.js - the stream of events: open while the page is seen, opened again
 * with growing pauses when it is lost
 *
 * It is read with fetch, because an EventSource cannot send a token.
 */
import { Failure, request } from "/api.js";

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15000;
/* The monitor writes at least every ten seconds. */
const SILENCE_MS = 25000;

export const live = {
	state: "connecting",	/* live, paused, lost */
	heard_at: null,		/* Date.now() of the last byte */
	why: null,		/* a Failure, if lost */
};

let on_status, on_change, stop = null, wait_ms = FIRST_WAIT_MS, timer = null;
let held = false;

function become(state, why = null) {
	live.state = state;
	live.why = why;
	on_change();
}

/* One event: lines of "field: value". */
function take(text) {
	let name = "message", data = "";

	for (const line of text.split("\n")) {
		if (line.startsWith("event:"))
			name = line.slice(6).trim();
		else if (line.startsWith("data:"))
			data += line.slice(5).trim();
	}
	if (name === "status" && data !== "")
		on_status(JSON.parse(data));
}

async function read(body, watch) {
	const reader = body.pipeThrough(new TextDecoderStream()).getReader();
	let rest = "";

	for (;;) {
		const { value, done } = await reader.read();
		if (done)
			throw new Failure(0, "the monitor closed the stream");
		watch();
		live.heard_at = Date.now();
		const events = (rest + value.replace(/\r/g, "")).split("\n\n");
		rest = events.pop();
		for (const event of events)
			take(event);
		if (live.state !== "live") {
			wait_ms = FIRST_WAIT_MS;
			become("live");
		}
	}
}

async function open() {
	const mine = new AbortController();
	let silence;
	const watch = () => {
		clearTimeout(silence);
		silence = setTimeout(() => mine.abort(), SILENCE_MS);
	};

	timer = null;
	stop = mine;
	watch();
	try {
		const response = await request("/api/events",
		    { signal: mine.signal });
		await read(response.body, watch);
	} catch (e) {
		if (stop === mine)
			again(e);
	} finally {
		clearTimeout(silence);
	}
}

function again(why) {
	stop = null;
	/* Up to half of it by chance: not all pages come back at once. */
	timer = setTimeout(open, wait_ms * (0.5 + Math.random() / 2));
	wait_ms = Math.min(wait_ms * 2, LONGEST_WAIT_MS);
	become("lost", why);
}

function close() {
	const open_one = stop;

	stop = null;
	clearTimeout(timer);
	timer = null;
	open_one?.abort();
}

function follow() {
	const wanted = !document.hidden && !held;

	if (wanted && stop === null) {
		close();
		wait_ms = FIRST_WAIT_MS;
		become("connecting");
		open();
	} else if (!wanted && live.state !== "paused") {
		close();
		become("paused");
	}
}

/* With another token, or at once instead of after the pause. */
export function live_restart() {
	close();
	follow();
}

export function live_hold(on) {
	held = on;
	follow();
}

export function is_held() {
	return held;
}

export function live_start(status, change) {
	on_status = status;
	on_change = change;
	document.addEventListener("visibilitychange", follow);
	addEventListener("online", live_restart);
	/* A page that the browser keeps for Back must not keep a connection. */
	addEventListener("pagehide", close);
	addEventListener("pageshow", (e) => e.persisted && follow());
	follow();
}
