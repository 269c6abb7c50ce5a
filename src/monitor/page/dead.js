/* dead.js - dead letters, grouped by their error */

import { message_actions } from "/actions.js";
import { h } from "/dom.js";
import { need } from "/data.js";
import { empty, loading, message_link, panel, reason_of, trouble }
	from "/parts.js";
import { chosen_actions, filter_form, matching_actions, message_table,
	need_messages, pages } from "/messages.js";
import { link, route, with_params } from "/route.js";
import { ago, bdi, counted, number, visible } from "/text.js";

/* Letters, page by page: of a group, or those that pass the filters. */
function letters(params, same_error) {
	const answer = need_messages(params, "dead");
	const rows = answer.data?.rows;

	return h("div", { class: "letters", key: "letters" }, trouble(answer),
	    chosen_actions("dead"), !rows ? !answer.error && loading() :
	    rows.length === 0 ? empty("None is left.") :
	    message_table(rows, "dead", !same_error),
	    rows && pages(params, answer.data, rows.length));
}

/* The newest letter; its error only if the group's has places for others. */
function sample(g) {
	const { sequence, key, type, error } = g.sample;

	return [h("p", { class: "quiet" }, reason_of(g.reason), " last ",
	    ago(g.last), ", first ", ago(g.first), ", sample ",
	    message_link(sequence), " of key ", bdi(key), ", type ", bdi(type)),
	    error && error !== g.error && h("p", { class: "sample" },
	    h("bdi", {}, visible(error)))];
}

function group_actions(g) {
	return message_actions("dead", { group: g.group, all: true },
	    `all dead letters with the error "${g.error || g.reason}"`, null,
	    " all");
}

function group(g, params) {
	const open = params.group === g.group;

	return h("li", { key: g.group, class: open ? "group open" : "group" },
	    h("div", { class: "head" }, h("span", { class: "size" },
		(g.exact ? "" : "~") + number(g.count)),
	    h("div", { class: "what" }, h("p", { class: "error-text" },
		g.error ? h("bdi", {}, visible(g.error)) : "no error is noted"),
		sample(g)), h("div", { class: "buttons" }, h("a",
		{ class: "button", "aria-expanded": String(open), href:
		with_params({ group: open ? null : g.group, after: null,
		trail: null }) }, open ? "Hide" : "Show"),
		group_actions(g))), open && letters(params,
		g.sample.error === g.error));
}

/* With filters: the plain list. */
function filtered(params) {
	return [matching_actions(params, "dead"), letters(params, false)];
}

export function dead() {
	const { params } = route();
	const is_filtered = ["key", "type", "partition", "since", "until"]
	    .some((f) => params[f]);
	const answer = need("/api/dead/groups", {}, 3000);
	const list = answer.data?.rows;
	const total = list?.reduce((n, g) => n + g.count, 0);

	return panel("dead", "Dead letters", list && !is_filtered &&
	    total > 0 && counted(total, "dead letter", answer.data.exact) +
	    ` of ${counted(list.length, "error")}`,
	    filter_form(params, link("dead")), is_filtered ? filtered(params) :
	    [trouble(answer), !list ? !answer.error && loading() :
	    list.length === 0 ? empty("There is no dead letter. Messages come ",
		"here that can never be sent, or that have failed as often as ",
		h("code", {}, "retry.max_attempts"), " allows.") :
	    h("ul", { class: "groups", key: "groups" },
		list.map((g) => group(g, params))), answer.data?.more &&
	    h("p", { class: "quiet", key: "more" }, "There are more errors.")]);
}
