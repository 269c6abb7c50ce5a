/*
 * partitions.js - the partitions as a grid: a few as cards, hundreds as small
 * cells with a label, each with its state as a sign
 */
import { ask } from "/actions.js";
import { h } from "/dom.js";
import { known, need } from "/data.js";
import { button, can_act, empty, loading, message_link, panel, state, table,
	trouble } from "/parts.js";
import { go, link, route, with_params } from "/route.js";
import { ago, bdi, brief, counted, duration, number, plain } from "/text.js";

const CARDS = 64;		/* with more, only label and number */
const NUMBERS = 256;		/* with more, only label and sign */

const kinds = {
	owned: ["ok", "", "owned by a worker"],
	draining: ["info", "↓", "its worker is stopping, or no producer uses " +
	    "its label any more: what waits is still sent"],
	paused: ["warning", "‖", "paused by an operator"],
	free: ["critical", "○", "no worker owns it"],
	expired: ["critical", "!", "its owner's lease is over"],
};

function kind_of(p) {
	const host = known.status?.this_host;
	const owner = host?.workers.find((w) => w.id === p.owner);

	if (p.state === "owned" && (p.obsolete || owner?.state === "stopping"))
		return "draining";
	return p.state in kinds ? p.state : "owned";
}

/* host:slot of an id such as host:slot:random */
function short_owner(id) {
	return id === null ? "–" : id.replace(/:[0-9a-f]{16}$/, "");
}

function waiting(p) {
	return typeof p.waiting === "boolean" ? (p.waiting ? "some" : "0") :
	    (p.exact ? "" : "~") + number(p.waiting);
}

function describe(p) {
	return `${p.partition === "" ? "(no label)" : plain(p.partition)}: ` +
	    `${kind_of(p)}, owner ${plain(short_owner(p.owner))}, ` +
	    `epoch ${p.epoch}, ${waiting(p)} waiting`;
}

/* Darker with more waiting rows, in four steps. */
function heat(p) {
	const n = Number(p.waiting);

	return n === 0 ? 0 : n < 10 ? 1 : n < 1000 ? 2 : 3;
}

function cell(p, size, chosen) {
	const kind = kind_of(p), [level, sign] = kinds[kind];
	const label = p.partition === "" ? "(none)" : p.partition;

	return h("a", { key: p.partition, class: `cell ${level} heat${heat(p)}`,
	    href: link("partitions", { ...(route().view === "partitions" ?
		route().params : {}), label: p.partition || "(none)" }),
	    title: describe(p), "aria-label": describe(p),
	    "aria-current": chosen ? "true" : null },
	    size === "dots" ? null : size === "tiny" ? [sign, bdi(label)] :
	    size === "small" ?
	    [h("span", { class: "label" }, bdi(label)), sign && h("span",
		{ class: "sign" }, sign), heat(p) > 0 && h("span", { class:
		"count" }, brief(Number(p.waiting)))] :
	    [h("span", { class: "label" }, bdi(label)),
	    h("span", { class: "word" }, sign ? `${sign} ${kind}` : kind),
	    h("span", { class: "owner" }, bdi(short_owner(p.owner))),
	    h("span", { class: "epoch" }, `epoch ${p.epoch}`),
	    h("span", { class: "count" }, `${waiting(p)} waiting`)]);
}

function size_for(n) {
	return n <= CARDS ? "cards" : n <= NUMBERS ? "small" : "tiny";
}

function summary(list) {
	const counts = {};

	for (const p of list)
		counts[kind_of(p)] = (counts[kind_of(p)] || 0) + 1;
	return h("p", { class: "summary", key: "summary" },
	    Object.keys(kinds).filter((k) => counts[k]).map((k) =>
		h("span", { key: k }, state(kinds[k][0],
		    `${number(counts[k])} ${k}`, kinds[k][2]))));
}

/* p2 before p10: the server sorts by bytes. */
function by_number(list) {
	return list.slice().sort((a, b) => a.partition.length -
	    b.partition.length || (a.partition < b.partition ? -1 : 1));
}

/* The grid for the overview. */
export function map_of(list) {
	const size = list.length <= CARDS ? "small" : "dots";

	if (list.length === 0)
		return none();
	return [summary(list), h("div", { class: `grid ${size}`, key: "grid" },
	    by_number(list).map((p) => cell(p, size)))];
}

function none() {
	return empty("There are no partitions yet: a daemon makes them when it ",
	    "starts, by outbox.partition_count.");
}

/* --- one of them --- */

/* Without labels: all. */
function act(action, verb, labels) {
	return can_act(action) && button(`${verb} …`, () => ask({ action, verb,
	    thing: "partition",
	    body: labels.length === 0 ? { all: true } : { labels },
	    about: labels.length === 0 ? "all partitions" :
	    labels.map((l) => `partition ${l}`).join(", "),
	    explain: action === "pause" ? "Nothing of it is sent, on any host, " +
	    "until it is resumed. New messages wait." :
	    "Its messages are sent again." }));
}

function chosen_one(p) {
	const rows = [["State", state(kinds[kind_of(p)][0], kind_of(p),
	    kinds[kind_of(p)][2])], ["Owner", bdi(p.owner)],
	    ["Lease left", p.ttl_ms === null ? "–" :
		duration(Math.max(0, p.ttl_ms))], ["Epoch", number(p.epoch)],
	    ["Waiting", waiting(p)], ["Oldest message", p.oldest === null ?
		"–" : [message_link(p.oldest), " ", ago(p.oldest_at)]],
	    p.class && ["Class", bdi(p.class)], p.obsolete && ["Obsolete",
		"no producer uses this label any more"]];

	return panel("chosen", ["Partition ", bdi(p.partition || "(none)")],
	    h("a", { href: with_params({ label: null }) }, "Close"),
	    h("dl", { class: "facts flow" }, rows.filter(Boolean).map(
		([name, value]) => h("div", { key: name }, h("dt", {}, name),
		h("dd", {}, value)))),
	    h("div", { class: "buttons" }, h("a", { class: "button", href:
		link("messages", { partition: p.partition }) },
		"Waiting messages"), p.state === "paused" ?
		act("resume", "Resume", [p.partition]) :
		act("pause", "Pause", [p.partition])));
}

/* Those that need a look: not owned, or with waiting rows. */
function busiest(list) {
	const rows = list.filter((p) => kind_of(p) !== "owned" ||
	    Number(p.waiting) > 0).sort((a, b) => (b.oldest_ms || 0) -
	    (a.oldest_ms || 0)).slice(0, 20);

	if (rows.length === 0)
		return empty("All partitions are owned, and nothing waits.");
	return table("Partitions that have waiting messages or no owner",
	    [["Partition"], ["State"], ["Owner"], ["Epoch", "number"],
	    ["Waiting", "number"], ["Oldest"], ["Since"]],
	    rows.map((p) => ({ key: p.partition, cells: [
		h("a", { href: with_params({ label: p.partition || "(none)" }) },
		    bdi(p.partition || "(none)")),
		state(kinds[kind_of(p)][0], kind_of(p)),
		bdi(short_owner(p.owner)), number(p.epoch), waiting(p),
		p.oldest === null ? "–" : message_link(p.oldest),
		ago(p.oldest_at)] })));
}

export function partitions() {
	const answer = need("/api/partitions", {}, 2000), list = answer.data;
	const label = route().params.label;

	if (!list)
		return panel("partitions", "Partitions", null, trouble(answer),
		    !answer.error && loading());
	const chosen = list.find((p) => (p.partition || "(none)") === label);
	const paused = list.filter((p) => p.state === "paused");
	const size = size_for(list.length);

	/* Below a long grid it would not be seen. */
	return [size === "tiny" && chosen && chosen_one(chosen),
	    panel("partitions", "Partitions",
	    [counted(list.length, "partition"), can_act("pause") &&
		paused.length < list.length && button("Pause all …", () => ask({
		    action: "pause", verb: "Pause", thing: "partition",
		    body: { all: true }, about: "all partitions",
		    explain: "Nothing is sent, on any host, until they are " +
		    "resumed." })), paused.length > 1 &&
		act("resume", "Resume all", [])], trouble(answer),
	    list.length === 0 ? none() : [summary(list), h("div", { class:
		`grid ${size}`, key: "grid" }, by_number(list).map((p) => cell(p,
		size, p === chosen)))]), size !== "tiny" && chosen &&
	    chosen_one(chosen), panel("busiest", "Waiting longest", null, busiest(list))];
}

export function close_partition() {
	if (!route().params.label)
		return false;
	go(with_params({ label: null }));
	return true;
}
