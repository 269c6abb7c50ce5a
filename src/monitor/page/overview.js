/* overview.js - the first view: problems, the main numbers, an hour, the fleet */

import { chart, failures } from "/chart.js";
import { h } from "/dom.js";
import { known, need, rate_here, rate_to } from "/data.js";
import { map_of } from "/partitions.js";
import { empty, loading, mark, panel, state, trouble } from "/parts.js";
import { link } from "/route.js";
import { ago, bdi, brief, counted, duration, exact, number, plain, server_now,
	visible } from "/text.js";
import { database_line, worker_table } from "/workers.js";

/* --- problems --- */

/*
 * A command, with all that belongs to it: -c FILE before its words, options with
 * their values, numbers and quoted texts; or a statement of SQL.
 */
const value = "(?:'[^']*'|[\\w./:@*+-]*[\\d/*][\\w./:@*+-]*[\\w/*]|\\d+|" +
	"[A-Z]{2,})";
const command = new RegExp("(\\boutboxctl(?: -c " +
	"(?:'[^']*'|[^\\s;,:]*[^\\s;,:.]))? [a-z-]+" +
	"(?: (?:list|show|groups|retry|discard|resolve|replay|purge|blocked|bury|" +
	"release|sync|pause|resume|info|add|republish|forget|check|upgrade|" +
	`install|print))?(?: (?:-{1,2}[a-z-]+(?: ${value})?|${value}))*` +
	"|\\b(?:service|systemctl) [a-z-]+ [a-z@-]+" +
	"|\\bSET GLOBAL \\w+ = [^\\s,;]+|\\bUPDATE .+? WHERE id = \\d+)");

/* Commands in a remedy are easier to find, and to copy, in their own type. */
function remedy(text) {
	return text.split(command).map((part, i) => h(i % 2 === 1 ? "code" :
	    "span", {}, visible(part)));
}

const places = {
	halted_keys: ["keys", "Blocked keys"],
	in_doubt: ["keys", "Blocked keys"],
	dead_letters: ["dead", "Dead letters"],
	paused_partitions: ["partitions", "Partitions"],
	unowned_partitions: ["partitions", "Partitions"],
	host_stands_back: ["workers", "Workers"],
	host_vanished: ["workers", "Workers"],
	oldest: ["messages", "Waiting messages"],
	backlog_growing: ["messages", "Waiting messages"],
	silent_worker: ["workers", "Workers"],
	waiting_worker: ["workers", "Workers"],
	no_worker: ["workers", "Workers"],
	destination_fails: ["messages", "Waiting messages"],
};

function problem(p, i) {
	const place = places[p.id];

	return h("li", { class: `problem ${p.severity}`,
	    key: `${p.id} ${JSON.stringify(p.touches)} ${i}` }, mark(p.severity),
	    h("div", { class: "what" },
	    h("p", { class: "why" }, h("strong", {}, p.severity), " ",
		h("bdi", {}, visible(p.why))),
	    p.remedy && h("p", { class: "remedy" }, remedy(p.remedy))),
	    h("div", { class: "aside" }, p.since && h("span", {}, "since ",
		ago(p.since)), place && h("a", { href: link(place[0]) },
		place[1])));
}

/* It waits below all that may need somebody. */
function advice(list) {
	if (list.length === 0)
		return null;
	return panel("advice", "Advice", "what works and could be better",
	    h("ul", { class: "problems" }, list.map(problem)));
}

function problems(list) {
	if (list.length === 0)
		return h("section", { class: "healthy", key: "problems", id:
		    "problems" }, mark("ok"), h("p", {}, h("strong", {},
		    "Healthy."), " Nothing needs an operator."));
	return h("section", { key: "problems", id: "problems", "aria-label":
	    "Problems" }, h("ul", { class: "problems" }, list.map(problem)));
}

/* --- the main numbers --- */

function tile(id, view, title, value, unit, level, ...about) {
	return h("a", { class: `tile ${level || ""}`, id, key: id, href: view },
	    h("span", { class: "name" }, title),
	    h("span", { class: "value" }, value, unit && h("small", {}, unit)),
	    h("span", { class: "about" }, about));
}

/* Why a number is missing. */
function missing(s, why) {
	return s.database ? "not known without the database" : why;
}

function workers_tile(s) {
	const w = s.workers;

	if (!w)
		return tile("tile-workers", link("workers"), "Active workers",
		    "–", null, null, missing(s, "not known"));
	return tile("tile-workers", link("workers"), "Active workers",
	    number(w.live), null, w.live === 0 ? "critical" : w.stale > 0 ?
	    "warning" : null, `on ${counted(w.hosts, "host")}`,
	    w.stale > 0 && `, ${number(w.stale)} without a heartbeat`);
}

function growth(b) {
	const n = b.growth_per_second;

	if (b.waiting === 0)
		return "nothing waits";
	if (n === null || n === undefined)
		return "growth is not known yet";
	if (n > 0)
		return `▲ grows by ${number(n)} a second`;
	if (n === 0)
		return "steady";
	return `▼ falls by ${number(-n)} a second` + (b.drained_in_ms ?
	    `, empty in ${duration(b.drained_in_ms)}` : "");
}

function backlog_tile(s) {
	const b = s.backlog;

	if (!b)
		return tile("tile-backlog", link("messages"), "Backlog", "–",
		    null, null, missing(s, "not counted: see outboxctl doctor"));
	return tile("tile-backlog", link("messages"), "Backlog",
	    (b.exact ? "" : "~") + number(b.waiting), null,
	    b.growing_since ? "warning" : null, growth(b),
	    b.parked > 0 && `, ${number(b.parked)}${b.parked_least ?
		" or more" : ""} behind blocked keys`);
}

/* It grows between two states, unless others have taken its place since. */
function age_of(oldest) {
	return oldest.age_ms < 2000 ? oldest.age_ms :
	    Math.max(0, server_now() - Date.parse(oldest.at));
}

function oldest_tile(s) {
	const o = s.oldest, bad = s.problems.some((p) => p.id === "oldest");

	if (!o)
		return tile("tile-oldest", link("messages"), "Oldest message",
		    "–", null, null, missing(s, !s.backlog?.waiting ?
		    "nothing waits" : s.backlog.parked >= s.backlog.waiting ?
		    "what waits is parked" : "what waits has no lease"));
	return tile("tile-oldest", link("messages", { message: o.sequence }),
	    "Oldest message", h("span", { title: `${exact(o.at)} UTC` },
	    duration(age_of(o))), null,
	    bad ? "warning" : null, `message ${o.sequence} in `,
	    bdi(o.partition), o.paused && ", which is paused");
}

/* By the table; what was deleted there this host may know. */
function delivered_tile(s, here) {
	const now = rate_here(), d = s.delivered, hosts = s.workers?.hosts > 1;
	const of_table = d && d.last_hour >= (here?.published || 0);
	const n = !of_table ? here?.published : d.exact ? d.last_hour :
	    Number(d.last_hour.toPrecision(3));

	return tile("tile-delivered", link("messages", { state: "delivered" }),
	    "Delivered in the last hour", n === undefined ? "–" :
	    (of_table && !d.exact ? "~" : "") + number(n), null, null,
	    now === null ? "" : `${number(now)} a second now` +
	    (hosts ? " on this host" : ""), !d && here && here.since >
	    here.minutes[0].at && `, since ${here.since.slice(11, 16)} UTC`);
}

function dead_tile(s) {
	const d = s.dead;

	if (!d)
		return tile("tile-dead", link("dead"), "Dead letters", "–", null,
		    null, missing(s, "there is no table for them"));
	return tile("tile-dead", link("dead"), "Dead letters",
	    (d.exact ? "" : "~") + number(d.count), null,
	    d.new > 0 ? "warning" : null, d.count === 0 ? "none" :
	    d.new > 0 ? `${number(d.new)} of them new` : "none of them new");
}

function tiles(s, here) {
	return h("section", { class: "tiles", key: "tiles", "aria-label":
	    "Numbers" }, workers_tile(s), backlog_tile(s), oldest_tile(s),
	    delivered_tile(s, here), dead_tile(s));
}

/* --- destinations --- */

function broker_state(b) {
	if (b.error)
		return [state("critical", "away"), b.error];
	if (b.unfit)
		return [state("critical", "refuses"), b.unfit];
	if (b.full)
		return [state("critical", "full"), b.full];
	if (b.unheard)
		return [state("critical", "drops all"), b.unheard];
	if (b.warnings?.length > 0)
		return [state("warning", "loses messages"),
		    b.warnings.join("; ")];
	return [state("ok", "works"), b.subjects ? `takes ${b.subjects}` : ""];
}

/* when: a word such as "since", and the time */
function destination(key, name, kind, [word, why], ...when) {
	return h("li", { key }, h("div", { class: "name" }, bdi(name), " ",
	    h("span", { class: "quiet" }, kind)), word,
	    h("p", { class: "why" }, h("bdi", {}, visible(why || "")),
	    when[1] && [why ? ", " : "", when[0], " ", ago(when[1])]));
}

const levels = { works: "ok", unused: "info", fails: "critical",
	"held up": "critical" };

/* Messages a second, and what share of its tries failed in the last minute. */
function figures(d) {
	const rate = rate_to(d.destination);

	return [rate === null ? null : `${number(rate)}/s`,
	    d.failed_percent > 0 && `${d.failed_percent} % fail`]
	    .filter((x) => x).join(", ");
}

/* A route; what it takes at the broker is the broker's to say. */
function route(s, d, takes, hour) {
	const bad = d.state !== "works" && d.why;
	const tried = hour?.destinations.find((x) =>
	    x.destination === d.destination)?.minutes;

	return h("li", { key: `d ${d.destination}` },
	    h("div", { class: "name" }, bdi(d.destination ===
		"publish.driver" ? d.to || d.destination : d.destination),
		" ", h("span", { class: "quiet" }, d.destination ===
		"publish.driver" ? "" : `to ${plain(d.to || "?")}`)),
	    h("span", { class: "figures" }, state(levels[d.state] || "info",
		d.state), " ", h("span", { class: "quiet" }, figures(d))),
	    h("p", { class: "why" }, bad ? [h("bdi", {}, visible(d.why)),
		d.since && [", since ", ago(d.since)]] : d.last_error ?
		["last error: ", h("bdi", {}, visible(d.last_error)), ", ",
		ago(d.last_error_at)] : takes), tried?.some((m) =>
		m.taken + m.failed > 0) && failures(tried, hour.minutes));
}

/*
 * The routes of this host; the broker if it is asked and not well, or no daemon
 * runs here; what is refused while others work.
 */
function destinations(s, hour) {
	const routes = s.this_host?.destinations || [], b = s.broker;
	/* Where nothing is taken, all types are refused. */
	const refused = (s.this_host?.refused || []).filter((r) =>
	    !routes.some((d) => d.state === "fails" &&
		r.type.startsWith(`route ${d.destination},`)));
	const paused = s.this_host?.workers.find((w) => w.paused)?.paused;
	/* Then the route tells itself that the broker is away. */
	const told = b?.error && routes.some((d) =>
	    d.destination === "publish.driver" && d.state !== "works");
	const well = b && broker_state(b);

	return panel("destinations", "Destinations", routes.length > 0 ?
	    "of this host" : null,
	    h("ul", { class: "destinations" },
	    b && !told && (routes.length === 0 || b.error || b.unfit || b.full ||
		b.unheard || b.warnings?.length > 0) &&
		destination("broker", s.outbox?.destination || b.driver,
		s.outbox?.destination ? null : "", well),
	    routes.map((d) => route(s, d, b && d.destination ===
		"publish.driver" && !b.error ? well[1] : "", hour)),
	    paused && destination("paused", "publishing", "on this host",
		[state("critical", "paused"), paused.why], "since", paused.since),
	    refused.map((r) => destination(r.type, r.type,
		`to ${plain(r.subject)}`, [state("warning", "refused"), r.why],
		"since", r.since)), (s.streams || []).map((x) => destination(`s ${x.name}`,
		x.name, "stream", x.alarm ? [state("critical", "alarm"), x.alarm] :
		x.lost > 0 ? [state("warning", "lost"),
		    `${counted(x.lost, "message")} lost`] :
		[state("ok", "complete"), "its messages were there"],
		"checked", x.checked_at))));
}

function throughput(answer) {
	const minutes = answer.data?.minutes || [];

	return panel("throughput", "Throughput", "messages each minute",
	    trouble(answer), answer.data === null ? !answer.error && loading() :
	    minutes.length === 0 ? empty("Nothing was measured yet. Does the " +
		"daemon of this host run?") :
	    h("div", { class: "chartbox", key: "chart", draw: (element) =>
		chart(element, minutes, answer.data.since) }));
}

/* A problem at the top tells already why the database gives no answer. */
function trouble_of(answer) {
	if (!answer.error || !known.status.database)
		return trouble(answer);
	return h("p", { class: "quiet", key: "trouble" }, "Not known without " +
	    "the database", answer.data ? ": this is from before." : ".");
}

function fleet() {
	const workers = need("/api/workers", {}, 5000);
	const partitions = need("/api/partitions", {}, 5000);

	return h("div", { class: "columns", key: "fleet" },
	    panel("workers", "Workers", h("a", { href: link("workers") }, "All"),
		trouble_of(workers), database_line(),
		workers.data && worker_table(workers.data)),
	    panel("partitions", "Partitions", h("a", { href:
		link("partitions") }, "All"), trouble_of(partitions),
		partitions.data && map_of(partitions.data)));
}

export function overview() {
	const s = known.status;

	if (!s)
		return known.error ? trouble({ error: known.error, data: null }) :
		    loading();
	const minutes = need("/api/throughput", {}, 5000);

	return [problems(s.problems), tiles(s, minutes.data),
	    h("div", { class: "columns wide-left", key: "first" },
		throughput(minutes), destinations(s, minutes.data)), fleet(),
	    advice(s.advice)];
}
