/* keys.js - keys whose messages wait behind one that failed */

import { release_action } from "/actions.js";
import { h } from "/dom.js";
import { need } from "/data.js";
import { empty, loading, message_link, panel, state, table, trouble }
	from "/parts.js";
import { link, route, with_params } from "/route.js";
import { bdi, cut, ago, number } from "/text.js";

const LIMIT = 100;
/* parked is counted up to this number */
const COUNTED = 1000;

function row(k) {
	const halted = k.reason === "halted";

	return { key: k.record, cells: [
	    h("a", { href: link("messages", { key: k.key }) }, cut(k.key)),
	    state(halted ? "critical" : "warning", k.reason, halted ?
		"waits for an operator" : "goes on by itself"),
	    message_link(k.head), ago(k.since), (k.parked >= COUNTED ? "≥ " :
		"") + number(k.parked), k.error ? cut(k.error) :
		h("span", { class: "none" }, "–"),
	    halted && release_action(k.key) || ""] };
}

export function keys() {
	const { params } = route();
	const answer = need("/api/keys", { after: params.after, limit: LIMIT },
	    2000);
	const list = answer.data?.rows || answer.data;
	const last = list?.length === LIMIT ? list.at(-1).record : null;

	return panel("keys", "Blocked keys", null, trouble(answer), !list ?
	    !answer.error && loading() : list.length === 0 ?
	    empty("No key is blocked: each key's messages are sent as they come.")
	    : [h("p", { class: "quiet", key: "about" }, "Halted keys wait for " +
		"an operator: retry their dead message, or release the key. All " +
		"others go on by themselves."), table("Blocked keys", [["Key"],
		["Reason"], ["Waits for"], ["Since"], ["Parked behind it",
		"number"], ["Error", "error"], ["", "act"]], list.map(row))],
	    (last || params.after) && h("nav", { class: "pages", key: "pages" },
		params.after && h("a", { class: "button", href:
		    with_params({ after: null }) }, "First page"),
		last && h("a", { class: "button", href:
		    with_params({ after: last }) }, "Next →")));
}
