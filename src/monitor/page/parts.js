/* parts.js - pieces that several views are made of */

import { h } from "/dom.js";
import { known } from "/data.js";
import { with_params } from "/route.js";

const shapes = {
	ok: "M3 8.5 6.5 12 13 4.5",
	advice: "M8 7v5M8 4.2v.6",
	warning: "M8 5.5v4M8 11.4v.6",
	critical: "M5.2 5.2l5.6 5.6M10.8 5.2l-5.6 5.6",
};
const frames = {
	advice: h("circle", { cx: 8, cy: 8, r: 7 }),
	warning: h("path", { d: "M8 1 15.5 14.5H.5Z" }),
	critical: h("path", { d: "M5 .8h6L15.2 5v6L11 15.2H5L.8 11V5Z" }),
};

/* A shape for each level, so that colour alone says nothing. */
export function mark(level) {
	return h("svg", { class: `mark ${level}`, viewBox: "0 0 16 16",
	    "aria-hidden": "true" }, frames[level],
	    h("path", { class: "sign", d: shapes[level] }));
}

const icons = {
	lock: "M4 7.5h8v6H4zM5.7 7.5V5a2.3 2.3 0 0 1 4.6 0v2.5",
	unlock: "M4 7.5h8v6H4zM5.7 7.5V5a2.3 2.3 0 0 1 4.5-.7",
	theme: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 1 0 8 1.8zv12.4",
};

export function icon(name) {
	return h("svg", { class: `icon ${name}`, viewBox: "0 0 16 16",
	    "aria-hidden": "true" }, h("path", { d: icons[name] }),
	    name === "theme" && h("path", { class: "half", d:
		"M8 1.8a6.2 6.2 0 0 1 0 12.4z" }));
}

/* A word with a shape: level is ok, info, warning, critical or off. */
export function state(level, word, title) {
	return h("span", { class: `state ${level}`, title }, word);
}

/* Why the data of a view is missing, and what to do; or null. */
export function trouble(answer) {
	if (!answer.error)
		return null;
	return h("div", { class: "trouble", role: "alert", key: "trouble" },
	    mark("critical"), h("div", {}, h("p", {}, answer.error.message),
	    answer.error.remedy && h("p", { class: "remedy" },
	    answer.error.remedy), answer.data !== null &&
	    h("p", { class: "quiet" }, "What is shown is from before.")));
}

export function empty(...sentences) {
	return h("p", { class: "empty", key: "empty" }, sentences);
}

export function loading() {
	return h("p", { class: "empty", key: "loading" }, "Loading …");
}

/* A panel with a heading; more stands at the right of the heading. */
export function panel(id, title, more, ...children) {
	return h("section", { class: "panel", id, key: id,
	    "aria-labelledby": `${id}-title` },
	    h("header", {}, h("h2", { id: `${id}-title` }, title),
	    h("div", { class: "more" }, more)), children);
}

/*
 * columns: [title, class] each; rows: {key, cells, ...attributes}.  On a phone
 * each row is a card, and each cell names its column.
 */
export function table(label, columns, rows) {
	return h("div", { class: "scroller", key: label, tabindex: "-1" },
	    h("table", { "aria-label": label },
	    h("thead", {}, h("tr", {}, columns.map(([title, cls]) =>
		h("th", { scope: "col", class: cls }, title)))),
	    h("tbody", {}, rows.map(({ key, cells, ...attrs }) =>
		h("tr", { key, ...attrs }, cells.map((cell, i) =>
		    h("td", { class: columns[i][1], "data-label":
			typeof columns[i][0] === "string" ? columns[i][0] : "" },
			cell)))))));
}

/* A number of a message that opens its details; rows move by the arrow keys. */
export function message_link(sequence) {
	return h("a", { class: "row", href: with_params({ message: sequence }) },
	    String(sequence));
}

const reasons = {
	message: ["cannot be sent", "the message itself is wrong: it was never " +
	    "sent, and a retry fails again unless the cause is corrected"],
	attempts: ["too many attempts", "it failed as often as " +
	    "retry.max_attempts allows"],
	poison: ["ended its worker", "workers died while they sent it"],
	discarded: ["discarded", "by an operator"],
};

/* Why a message is dead, in words. */
export function reason_of(reason) {
	return state("critical", ...(reasons[reason] || [reason]));
}

/* May this person do it?  Until we know who it is: may somebody? */
export function can_act(action) {
	const { actions, authorized, by_proxy, may } = known.session;

	return actions && (!authorized && !by_proxy || may.includes(action));
}

export function button(text, onclick, attrs = {}) {
	return h("button", { type: "button", onclick, ...attrs }, text);
}
