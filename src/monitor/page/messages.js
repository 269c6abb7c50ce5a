/* messages.js - messages by state, with filters, page by page */

import { actions_for, message_actions } from "/actions.js";
import { h } from "/dom.js";
import { need } from "/data.js";
import { empty, loading, message_link, panel, reason_of, state, table, trouble }
	from "/parts.js";
import { go, link, route, with_params } from "/route.js";
import { ago, bdi, counted, cut, duration, number } from "/text.js";

const LIMIT = 50;
const filters = ["key", "type", "partition", "since", "until"];
const states = { pending: "Waiting", delivering: "Being sent",
	delivered: "Delivered", dead: "Dead" };
const nothing = {
	pending: "No message waits.",
	delivering: "No message is being sent at this moment.",
	delivered: "No delivered row is left: none was sent yet, or they were " +
	    "pruned.",
	dead: "There is no dead letter.",
};
const chosen = new Set();
let chosen_in = null;

/* What a list was chosen from: another state or filter starts anew. */
function forget_choice(params, which) {
	const place = JSON.stringify([which, filters.map((f) => params[f])]);

	if (place !== chosen_in) {
		chosen.clear();
		chosen_in = place;
	}
}

/* --- filters --- */

function field(name, label, hint, params) {
	return h("label", { key: name }, h("span", {}, label), h("input", {
	    id: `filter-${name}`, name, value: params[name] || "", placeholder:
	    hint, autocomplete: "off", spellcheck: "false", type: "text" }));
}

function apply(e) {
	const changes = { after: null, trail: null };

	e.preventDefault();
	for (const name of filters)
		changes[name] = e.currentTarget.elements[name].value || null;
	go(with_params(changes));
}

export function filter_form(params, clear) {
	return h("form", { class: "filters", key: "filters", role: "search",
	    onsubmit: apply, onchange: apply },
	    field("key", "Key", "order-17", params),
	    field("type", "Type", "order.*", params),
	    field("partition", "Partition", "p03", params),
	    field("since", "Since", "90m, 7d, 2026-01-31", params),
	    field("until", "Until", "1h", params),
	    h("div", { class: "buttons" }, h("button", { type: "submit" },
		"Filter"), filters.some((f) => params[f]) && h("a",
		{ class: "button", href: clear }, "Clear")));
}

function tabs(params, which) {
	return h("div", { class: "segments", key: "states" },
	    Object.keys(states).map((s) => h("a", { key: s, href:
		link("messages", { ...params, state: s, after: null,
		trail: null, message: null }), "aria-current": s === which ?
		"true" : null }, states[s])));
}

/* --- rows --- */

function choose(sequence) {
	return h("input", { type: "checkbox", checked: chosen.has(sequence),
	    "aria-label": `choose message ${sequence}`, onchange: (e) => {
		if (e.target.checked)
			chosen.add(sequence);
		else
			chosen.delete(sequence);
		dispatchEvent(new Event("redraw"));
	    } });
}

function choose_all(rows) {
	const all = rows.length > 0 && rows.every((r) => chosen.has(r.sequence));

	return h("input", { type: "checkbox", checked: all, "aria-label":
	    "choose all of this page", onchange: () => {
		for (const r of rows)
			if (all)
				chosen.delete(r.sequence);
			else
				chosen.add(r.sequence);
		dispatchEvent(new Event("redraw"));
	    } });
}

/* The time that the filters since and until are about. */
function time_of(row, which) {
	return which === "delivered" ? row.published_at : which === "dead" ?
	    row.died_at : row.occurred_at;
}

const times = { pending: "Committed", delivering: "Committed",
	delivered: "Delivered", dead: "Died" };

/* Why it is where it is; of a delivered message how long that took. */
function note_of(row, which) {
	if (which === "delivered")
		return duration(Date.parse(row.published_at) -
		    Date.parse(row.occurred_at));
	if (which === "dead")
		return [reason_of(row.reason), " ", row.error && cut(row.error)];
	return [row.parked && state("warning", "behind its key"), " ",
	    row.error && cut(row.error)];
}

/* A click beside the links of a row, unless it ends the choice of a text. */
function open_row(e, sequence) {
	if (!e.target.closest("a, input, button") &&
	    getSelection().toString() === "")
		go(with_params({ message: sequence }));
}

/* with_error: not if all of them have the same one. */
export function message_table(rows, which, with_error = true) {
	const act = actions_for(which).length > 0;
	const open = Number(route().params.message);

	return table("Messages", [act && [choose_all(rows), "choose"],
	    ["Sequence", "number"], ["Key"], ["Type"], ["Partition"],
	    ["Attempts", "number"], [times[which]],
	    which === "delivered" ? ["From commit to answer", "number"] :
	    with_error && ["Error", "error"]].filter(Boolean),
	    rows.map((r) => ({ key: r.sequence,
	    class: r.sequence === open ? "open" : null,
	    onclick: (e) => open_row(e, r.sequence), cells: [
		act && choose(r.sequence), message_link(r.sequence),
		h("a", { href: link("messages", { state: which, key: r.key }),
		    tabindex: "-1" }, cut(r.key)), cut(r.type),
		bdi(r.partition), number(r.attempts), ago(time_of(r, which)),
		with_error && note_of(r, which)].filter((c) => c !== false)
	})));
}

/* --- actions on several --- */

export function chosen_actions(which, then) {
	if (actions_for(which).length === 0 || chosen.size === 0)
		return null;
	return h("div", { class: "chosen", key: "chosen" },
	    h("span", {}, `${number(chosen.size)} chosen`),
	    message_actions(which, { sequences: [...chosen] },
		counted(chosen.size, "chosen message"), () => {
			chosen.clear();
			then?.();
		}));
}

/* All that pass the filters, on every page. */
export function matching_actions(params, which) {
	const body = which === "dead" ? { all: true } : {};
	const given = filters.filter((f) => params[f]);

	if (actions_for(which).length === 0 || given.length === 0 ||
	    chosen.size > 0)
		return null;
	for (const f of given)
		body[f] = params[f];
	return h("div", { class: "chosen", key: "matching" },
	    h("span", {}, "All that match:"), message_actions(which, body,
		`all messages of ${given.map((f) => `${f} ${params[f]}`)
		    .join(", ")}`));
}

/* --- pages --- */

/* trail: the starts of the pages before this one, with dots between */
export function pages(params, data, rows) {
	const trail = params.trail ? params.trail.split(".") : [];
	const before = params.after === undefined ? null : trail.at(-1) || "";
	const next = data.next !== null && data.next !== undefined;

	if (before === null && !next)
		return null;
	return h("nav", { class: "pages", key: "pages", "aria-label": "Pages" },
	    before !== null && h("a", { class: "button", id: "page-before",
		href: with_params({ after: before || null, trail:
		trail.slice(0, -1).join(".") || null }) }, "← Previous"),
	    next && h("a", { class: "button", id: "page-next", href:
		with_params({ after: data.next, trail: params.after ===
		undefined ? null : [...trail, params.after].join(".") }) },
		"Next →"),
	    h("span", { class: "quiet" }, next && rows < LIMIT ?
		`${number(data.looked_at)} rows were searched: Next goes on` :
		`from ${params.after ? `behind ${params.after}` :
		"the first one"}`));
}

/* The list in this state that passes the filters; dead ones may be of a group. */
export function need_messages(params, which) {
	const query = { after: params.after, limit: LIMIT };
	const is_dead = which === "dead";

	for (const name of filters)
		query[name] = params[name];
	if (is_dead)
		query.group = params.group;
	else
		query.state = which;
	return need(is_dead ? "/api/dead" : "/api/messages", query, 2000);
}

export function messages() {
	const { params } = route();
	const which = params.state in states ? params.state : "pending";
	const answer = need_messages(params, which);
	const rows = answer.data?.rows;

	forget_choice(params, which);
	return panel("messages", "Messages", tabs(params, which),
	    filter_form(params, link("messages", { state: which })),
	    trouble(answer), chosen_actions(which),
	    matching_actions(params, which), !rows ? !answer.error && loading() :
	    rows.length > 0 ? message_table(rows, which) :
	    filters.some((f) => params[f]) ? empty("No message matches. Widen " +
		"the filter, or look in another state.") : empty(nothing[which]),
	    rows && pages(params, answer.data, rows.length));
}
