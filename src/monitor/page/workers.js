/* workers.js - the workers of all hosts, and the processes of this one */

import { h } from "/dom.js";
import { known, need, rate_of } from "/data.js";
import { empty, loading, panel, state, table, trouble } from "/parts.js";
import { ago, bdi, counted, duration, number, visible } from "/text.js";

const levels = { running: "ok", standby: "ok", starting: "info",
	stopping: "info", paused: "warning", "no broker": "critical",
	"no database": "critical", refused: "critical" };

/* What this host's scoreboard says of a worker; undefined: another host's. */
function local_of(id) {
	return known.status?.this_host?.workers.find((w) => w.id === id);
}

function state_of(w) {
	const here = local_of(w.id);

	if (!w.live)
		return state("critical", "no heartbeat");
	if (!here)
		return state("ok", "alive");
	if (here.kernel_state === "T")
		return state("critical", "stopped by a signal");
	return [state(levels[here.state] || "info", here.state),
	    here.why && h("p", { class: "why" }, h("bdi", {},
		visible(here.why)))];
}

const columns = [["Worker"], ["Host"], ["Pid", "number"], ["Started"],
	["Heartbeat left", "number"], ["State"], ["Partitions", "number"],
	["Rate", "number"]];

/* several: of databases that workers use; only one is named above the table. */
function row(w, several) {
	const rate = rate_of(w.id);

	return { key: w.id, class: w.live ? null : "stale", cells: [
	    h("span", { title: w.id }, w.slot === null || w.slot === undefined ?
		bdi(w.id) : `worker ${w.slot}`), h("span", { title:
		w.instance && `instance ${w.instance}` }, bdi(w.host)),
	    ...(several ? [bdi(w.server)] : []), String(w.pid),
	    ago(w.started_at), w.live ? duration(w.ttl_ms) : "over",
	    state_of(w), number(w.partitions),
	    rate === null ? h("span", { class: "none", title:
		"only the monitor of its own host knows" }, "–") :
	    `${number(rate)}/s`] };
}

/* What the database is, and which hosts use which of its servers. */
export function database_line() {
	const s = known.status, hosts = s?.hosts || [];

	return s?.cluster?.text && h("p", { class: "quiet", key: "database",
	    id: "database" }, "Database: ", bdi(s.cluster.text),
	    hosts.length > 1 && ["; hosts ", hosts.map((x, i) => [i > 0 ?
		", " : "", bdi(x.host || "?"), x.servers.length > 0 && [" on ",
		bdi(x.servers.join(" and "))]])]);
}

export function worker_table(list) {
	if (list.length === 0)
		return empty("No worker has a heartbeat. Start the daemon: ",
		    h("code", {}, "service outbox-master start"), ".");
	const several = new Set(list.map((w) => w.server)).size > 1;

	return table("Workers", several ? [...columns.slice(0, 2),
	    ["Database"], ...columns.slice(2)] : columns, list.map((w) => row(w, several)));
}

function process_row(name, p) {
	return { key: name, cells: [name, String(p.pid), `${duration(p.up_ms)}`,
	    [state(levels[p.state] || "info", p.state), p.why && h("p",
		{ class: "why" }, h("bdi", {}, visible(p.why)))],
	    `${duration(p.silent_ms)} ago`, p.last_error ? [bdi(p.last_error), " ",
		ago(p.last_error_at)] : h("span", { class: "none" }, "none")] };
}

function this_host(host) {
	if (!host)
		return empty("No daemon runs on the host of this monitor.");
	const names = ["master", "janitor", "listener", "monitor"];

	return table("Processes", [["Process"], ["Pid", "number"],
	    ["Running for", "number"], ["State"], ["Last sign of life",
	    "number"], ["Last error"]],
	    names.filter((n) => host[n]).map((n) => process_row(n, host[n]))
		.concat(host.workers.map((w, i) => process_row(`worker ${i}`,
		    w))));
}

export function workers() {
	const list = need("/api/workers", {}, 2000), s = known.status;

	return [panel("workers", "Workers", list.data &&
	    `${counted(list.data.length, "worker")} of all hosts`,
	    trouble(list), database_line(), list.data ? worker_table(list.data) : loading()),
	    s && panel("processes", "Processes of this host", s.this_host &&
		`generation ${s.this_host.generation}`, this_host(s.this_host))];
}
