/*
 * data.js - what the page knows: the status, the session, and answers of the
 * other paths, which are asked again while they are shown
 */
import { get } from "/api.js";
import { live } from "/live.js";

export const known = {
	status: null,
	status_at: 0,		/* Date.now() */
	session: { actions: false, authorized: false, token_required: false,
		user: null, by_proxy: false, may: [] },
};

const answers = new Map();
let round = 0, redraw = () => {};

export function data_start(on_change) {
	redraw = on_change;
}

/*
 * The answer of a path: {data, error, at}, at first without data.  It is asked
 * for again when it is older than age_ms, but only while the page is live.
 */
export function need(path, query = {}, age_ms = 3000) {
	const name = `${path}?${JSON.stringify(query)}`;
	let answer = answers.get(name);

	if (!answer) {
		answer = { data: null, error: null, at: 0, asking: false };
		answers.set(name, answer);
	}
	answer.round = round;
	if (!answer.asking && (answer.at === 0 || live.state === "live" &&
	    Date.now() - answer.at >= (answer.error ?
	    patience(answer.error) : age_ms)))
		ask(answer, path, query);
	return answer;
}

/* A question that was wrong stays wrong; other errors may be over soon. */
function patience(error) {
	return error.status === 400 || error.status === 404 ? Infinity : 5000;
}

async function ask(answer, path, query) {
	answer.asking = true;
	try {
		answer.data = await get(path, query);
		answer.error = null;
	} catch (e) {
		answer.error = e;
	}
	answer.at = Date.now();
	answer.asking = false;
	redraw();
}

/* After a change: everything that is shown is out of date. */
export function data_expire() {
	for (const answer of answers.values())
		answer.at = 0;
	redraw();
}

/* Around a drawing of the page: forget what it did not need. */
export function data_round() {
	round++;
}

export function data_sweep() {
	for (const [name, answer] of answers)
		if (answer.round < round - 1 && !answer.asking)
			answers.delete(name);
}

/* --- rates of the workers of the monitor's host --- */

const SPAN_MS = 4000;
let samples = [];

/* An event has no partitions: those of the status before stay. */
export function take_status(status) {
	const host = status.this_host;

	known.status = { ...status, partitions: status.partitions ??
	    known.status?.partitions };
	known.status_at = Date.now();
	/* The same state may come twice: by a request and as an event. */
	if (host && host.at_ms !== samples.at(-1)?.at_ms) {
		samples.push({ at_ms: host.at_ms, delivered: new Map(
		    host.workers.map((w) => [w.id, w.delivered])),
		    taken: new Map((host.destinations || []).map((d) =>
			[d.destination, d.taken])) });
		while (samples.length > 2 && host.at_ms - samples[1].at_ms >=
		    SPAN_MS)
			samples.shift();
	} else if (!host)
		samples = [];
	redraw();
}

/* Messages a second; null: another host, or not known yet. */
function rate(of, name) {
	const first = samples[0], last = samples.at(-1);

	if (samples.length < 2 || !first[of].has(name) ||
	    !last[of].has(name))
		return null;
	/* Without a change there is no event. */
	if (live.state === "live" && Date.now() - known.status_at > SPAN_MS)
		return 0;
	return Math.max(0, (last[of].get(name) - first[of].get(name)) *
	    1000 / (last.at_ms - first.at_ms));
}

export function rate_of(id) {
	return rate("delivered", id);
}

/* The same of a destination. */
export function rate_to(name) {
	return rate("taken", name);
}

export function rate_here() {
	let sum = null;

	for (const w of known.status?.this_host?.workers || [])
		if (rate_of(w.id) !== null)
			sum = (sum || 0) + rate_of(w.id);
	return sum;
}

export async function load_session() {
	try {
		known.session = await get("/api/session");
	} catch {
		/* The stream of events says what is wrong. */
	}
	redraw();
}

export async function load_status() {
	try {
		take_status(await get("/api/status"));
	} catch (e) {
		known.error = e;
		redraw();
		return;
	}
	known.error = null;
}
