/*
 * text.js - texts of rows, numbers and times, as people read them
 *
 * What comes from a row may hold anything.  Characters that cannot be seen, or
 * that turn the direction of writing, are shown by their number.
 */
import { h } from "/dom.js";

const unseen = new RegExp("[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f" +
	"\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180e\\u200b-\\u200f" +
	"\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0" +
	"\\ufff9-\\ufffb\\ud800-\\udfff\\u{e0000}-\\u{e0fff}]", "gu");

function code_of(character) {
	return "U+" + character.codePointAt(0).toString(16).toUpperCase()
	    .padStart(4, "0");
}

/* Parts of a text; keep is a string of characters that need no number. */
export function visible(text, keep = "") {
	const parts = [];
	let from = 0;

	for (const m of String(text).matchAll(unseen)) {
		if (keep.includes(m[0]))
			continue;
		parts.push(text.slice(from, m.index),
		    h("span", { class: "unseen",
			title: "a character that cannot be seen" },
			code_of(m[0])));
		from = m.index + m[0].length;
	}
	parts.push(String(text).slice(from));
	return parts.filter((p) => p !== "");
}

/* A text of a row, apart from the direction of the text around it. */
export function bdi(text, attrs) {
	if (text === null || text === undefined)
		return h("span", { class: "none" }, "–");
	if (text === "")
		return h("span", { class: "none" }, "(empty)");
	return h("bdi", attrs, visible(text));
}

/* The same in one line that is cut; the whole text is its title. */
export function cut(text, attrs) {
	return bdi(text, { ...attrs, class: "cut", title: plain(text) });
}

/* As a string, for a title or a label. */
export function plain(text) {
	return text === null || text === undefined ? "" :
	    String(text).replace(unseen, (c) => `[${code_of(c)}]`);
}

/* --- numbers --- */

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 3,
	notation: "compact" });

export function number(n) {
	return n === null || n === undefined ? "–" : whole.format(n);
}

/* At most five characters, for axes and cells: 1.25K, 12.4M */
export function brief(n) {
	return n < 10000 ? whole.format(n) : short.format(n);
}

export function counted(n, thing, exact = true) {
	return `${exact ? "" : "about "}${number(n)} ${thing}` +
	    (n === 1 ? "" : "s");
}

export function bytes(n) {
	if (n < 1024)
		return counted(n, "byte");
	return n < 1048576 ? `${(n / 1024).toFixed(1)} KiB` :
	    `${(n / 1048576).toFixed(1)} MiB`;
}

/* --- times --- */

const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

/* 850 ms, 12 s, 3 min 20 s, 2 h 5 min */
export function duration(ms) {
	if (ms === null || ms === undefined)
		return "–";
	if (ms < 1000)
		return `${Math.max(0, Math.round(ms))} ms`;
	let s = Math.floor(ms / 1000);
	const i = units.findIndex(([size]) => s >= size);
	const [size, word] = units[i];
	const text = `${Math.floor(s / size)} ${word}`;

	s %= size;
	if (i === units.length - 1 || Math.floor(s / units[i + 1][0]) === 0)
		return text;
	return `${text} ${Math.floor(s / units[i + 1][0])} ${units[i + 1][1]}`;
}

/* The clock of the server, as far as its answers tell. */
let ahead_ms = 0;

export function set_server_time(date) {
	const ms = Date.parse(date);

	/* The header has whole seconds: small differences mean nothing. */
	if (!Number.isNaN(ms))
		ahead_ms = Math.abs(ms - Date.now()) < 2000 ? 0 :
		    ms - Date.now();
}

export function server_now() {
	return Date.now() + ahead_ms;
}

/* "12 s ago", with the exact time as its title */
export function ago(at) {
	if (!at)
		return h("span", { class: "none" }, "–");
	const ms = server_now() - Date.parse(at);

	return h("time", { datetime: at, title: `${exact(at)} UTC` },
	    ms >= 0 ? `${duration(Math.max(ms, 1000))} ago` :
	    `in ${duration(-ms)}`);
}

/* 2026-01-31 12:00:00.123 */
export function exact(at) {
	return at.replace("T", " ").replace(/(\.\d{3})\d*/, "$1")
	    .replace(/Z$/, "");
}
