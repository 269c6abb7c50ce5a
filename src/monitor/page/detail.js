/* detail.js - one message: what it waits for, payload, headers, history */

import { message_actions } from "/actions.js";
import { h } from "/dom.js";
import { need } from "/data.js";
import { json_parts } from "/json.js";
import { button, loading, state, trouble } from "/parts.js";
import { go, link, route, with_params } from "/route.js";
import { ago, bdi, bytes, duration, exact, number, visible } from "/text.js";

/* More is not shown: outboxctl writes it into a file. */
const SHOWN = 200000;

const levels = { pending: "info", delivering: "info", delivered: "ok",
	dead: "critical", missing: "critical" };
const words = { pending: "waiting", delivering: "being sent" };
let as_stored = false;

function fact(name, value) {
	return value === null || value === undefined ? null :
	    h("div", { key: name }, h("dt", {}, name), h("dd", {}, value));
}

function text_fact(name, text) {
	return fact(name, text === null || text === undefined ? null : bdi(text));
}

function time_fact(name, at) {
	return fact(name, at ? [ago(at), " ", h("span", { class: "quiet" },
	    exact(at))] : null);
}

function facts(m) {
	return h("dl", { class: "facts", key: "facts" },
	    fact("Key", m.key === null ? null : h("a", { href: link("messages",
		{ state: m.state === "dead" ? "dead" : "pending", key: m.key,
		message: m.sequence }) }, bdi(m.key))),
	    text_fact("Type", m.type),
	    fact("Version", m.version), text_fact("Partition", m.partition),
	    fact("Number in its key", m.stream_sequence),
	    text_fact("Correlation", m.correlation_id),
	    text_fact("Message id", m.message_id),
	    text_fact("Reason", m.reason), text_fact("Subject", m.subject),
	    fact("Attempts", number(m.attempts)),
	    fact("Replays", m.replay_no ? number(m.replay_no) : null),
	    fact("Sequence in the stream", m.ack_sequence &&
		number(m.ack_sequence)),
	    text_fact("Owner", m.lease_owner),
	    time_fact("Committed", m.occurred_at),
	    time_fact("Delivered", m.published_at),
	    time_fact("Died", m.died_at),
	    fact("Due", m.due_in_ms === null || m.due_in_ms === undefined ?
		null : m.due_in_ms === 0 ? "now" :
		`in ${duration(m.due_in_ms)}`));
}

/* --- payload --- */

function copy(text) {
	/* Over HTTP a browser gives the clipboard to pages of this host only. */
	return navigator.clipboard && button("Copy", (e) => {
		const { target } = e;

		navigator.clipboard.writeText(text).then(() => {
			target.textContent = "Copied";
		});
	}, { key: "copy" });
}

function payload(m) {
	const text = m.payload;

	if (text === null || text === undefined)
		return null;
	const is_long = text.length > SHOWN, head = text.slice(0, SHOWN);
	const json = m.payload_is_hex || is_long ? null : json_parts(text);
	const kind = m.payload_is_hex ? "binary, as hexadecimal digits" :
	    json ? "JSON" : "text";

	return h("section", { key: "payload", "aria-label": "Payload" },
	    h("header", {}, h("h3", {}, "Payload"), h("span", { class: "quiet" },
		`${kind}, ${bytes(m.payload_bytes ?? text.length)}`),
	    json && button(as_stored ? "Indented" : "As stored", () => {
		as_stored = !as_stored;
		dispatchEvent(new Event("redraw"));
	    }, { key: "as-stored", "aria-pressed": String(as_stored) }),
	    copy(text)), h("pre", { class: m.payload_is_hex ? "hex" : null,
		tabindex: "0" }, h("bdi", {}, json && !as_stored ? json :
		visible(head, "\n\t"))),
	    is_long && h("p", { class: "quiet" }, "This is only its beginning: ",
		h("code", {}, `outboxctl messages show --payload --raw ` +
		    m.sequence)));
}

function headers(list) {
	if (!list || Object.keys(list).length === 0)
		return null;
	return h("section", { key: "headers", "aria-label": "Headers" },
	    h("header", {}, h("h3", {}, "Headers")), h("dl",
		{ class: "facts headers" }, Object.entries(list).map(
		    ([name, value]) => h("div", { key: name }, h("dt", {},
			bdi(name)), h("dd", {}, bdi(Array.isArray(value) ?
			value.join(", ") : String(value)))))));
}

/* --- history --- */

/* What is known of it, in the order of time; some steps have none. */
function history(m) {
	const list = m.history || [];

	if (list.length === 0)
		return null;
	return h("section", { key: "history", "aria-label": "History" },
	    h("header", {}, h("h3", {}, "History")), h("ol",
		{ class: "history" }, list.map((x) => h("li", { key: x.what },
		    h("span", { class: "quiet" }, x.at ? [ago(x.at), " ",
			exact(x.at)] : "at an unknown time"), h("p", {},
			h("bdi", {}, visible(x.what)))))));
}

function waits(m) {
	return [m.waits_for && h("p", { class: "waits", key: "waits" },
	    "Waits for ", h("bdi", {}, visible(m.waits_for))),
	    m.error && h("p", { class: "error-text", key: "error" },
		h("bdi", {}, visible(m.error))),
	    m.cannot_be_sent && m.cannot_be_sent !== m.error && h("p",
		{ class: "error-text", key: "refusal" }, "Cannot be sent as " +
		"it is: ", h("bdi", {}, visible(m.cannot_be_sent)))];
}

export function close_detail() {
	if (!route().params.message)
		return false;
	go(with_params({ message: null }));
	return true;
}

export function detail() {
	const sequence = route().params.message;
	const answer = need(`/api/messages/${encodeURIComponent(sequence)}`, {},
	    2000);
	const m = answer.data;

	return [h("header", { key: "head" }, h("h2", {}, `Message ${sequence}`),
	    m && state(levels[m.state] || "info", words[m.state] || m.state),
	    h("a", { class: "button close", href: with_params({ message: null }),
		"aria-label": "Close" }, "✕")), trouble(answer),
	    !m && !answer.error && loading(), m && [waits(m),
		h("div", { class: "buttons", key: "buttons" },
		    message_actions(m.state, { sequences: [m.sequence] },
			`message ${m.sequence}`)), facts(m), payload(m),
		headers(m.headers), history(m)]];
}
