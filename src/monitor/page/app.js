/* app.js - puts the page together: views, keyboard, live state, theme */

import { ask_token, forget_token } from "/actions.js";
import { audit } from "/audit.js";
import { data_round, data_start, data_sweep, known, load_session, load_status,
	take_status } from "/data.js";
import { dead } from "/dead.js";
import { close_detail, detail } from "/detail.js";
import { h, patch } from "/dom.js";
import { keys } from "/keys.js";
import { move, show_help } from "/keyboard.js";
import { is_held, live, live_hold, live_start } from "/live.js";
import { messages } from "/messages.js";
import { overview } from "/overview.js";
import { button, icon, mark, trouble } from "/parts.js";
import { close_partition, partitions } from "/partitions.js";
import { go, link, route, with_params } from "/route.js";
import { bdi, brief, counted, duration, plain } from "/text.js";
import { next_theme, theme_name, theme_start } from "/theme.js";
import { workers } from "/workers.js";

const views = {
	overview: ["Overview", "o", overview],
	messages: ["Messages", "m", messages],
	dead: ["Dead letters", "d", dead],
	keys: ["Blocked keys", "b", keys],
	partitions: ["Partitions", "p", partitions],
	workers: ["Workers", "w", workers],
	audit: ["Changes", "c", audit],
};
const at = (id) => document.getElementById(id);
let asked = false, shown_view = null, wants_filter = false;

/* --- the head of the page --- */

function verdict() {
	const list = known.status?.problems;

	if (!list)
		return null;
	const worst = list[0]?.severity || "ok";
	return h("a", { class: `verdict ${worst}`, href: link("overview") },
	    mark(worst), list.length === 0 ? "Healthy" :
	    counted(list.length, "problem"));
}

const live_words = {
	live: ["ok", "Live", "new data comes by itself"],
	connecting: ["off", "Connecting", "the first answer is awaited"],
	paused: ["off", "Paused", "nothing is asked for"],
};

function live_state() {
	const age = known.status_at && duration(Math.max(1000, Date.now() -
	    (live.heard_at || known.status_at)));
	const [level, word, title] = live_words[live.state] || ["critical",
	    "Connection lost", live.why?.message];
	const text = live.state === "live" || !age ? word :
	    `${word} · data of ${age} ago`;

	/* The age is not read out: it changes each second. */
	return [button([h("span", { class: `dot ${level}`, key: "dot" }), text],
	    () => live_hold(!is_held()), { class: "live", id: "live",
	    "data-state": live.state, title: `${plain(title)}; click to ` +
	    (is_held() ? "go on" : "pause") }), h("span", { class: "read-out",
	    role: "status", key: "read-out" }, word)];
}

/* Whose token it is, or whom a proxy has logged in. */
function user() {
	const { user: name, may } = known.session;

	return name && h("span", { id: "user", title: may.length === 0 ?
	    `${name} may read` : `${name} may ${may.join(", ")}` }, bdi(name));
}

function session_button() {
	const { actions, authorized, by_proxy, token_required } = known.session;

	if (!actions && !token_required && !authorized)
		return h("span", { class: "quiet", title: "no monitor.tokens " +
		    "are set: this page only shows" }, "read only");
	if (by_proxy)
		return null;
	return authorized ?
	    button([icon("unlock"), h("span", { class: "words" },
		"Forget token")], forget_token, { id: "session", "aria-label":
		"Forget token" }) : button([icon("lock"), h("span", { class:
		"words" }, "Enter token")], () => ask_token(), { id: "session",
		"aria-label": "Enter token" });
}

function head() {
	const outbox = known.status?.outbox;

	return [h("a", { class: "brand", href: link("overview") },
	    "outbox-master"), outbox && h("span", { class: "quiet outbox" },
	    h("bdi", {}, plain(outbox.name))), verdict(), h("span",
		{ class: "space" }), live_state(), user(), session_button(),
	    button([icon("theme"), h("span", { class: "words" }, theme_name())],
		next_theme, { id: "theme", title: "colours: as the system, " +
		"light, dark", "aria-label": `Colours: ${theme_name()}` }),
	    button("?", show_help, { id: "help", title: "Keyboard",
		"aria-label": "Keyboard" })];
}

function badge(view) {
	const s = known.status;

	if (view === "dead" && s?.dead?.count > 0)
		return brief(s.dead.count);
	if (view === "keys" && s?.blocked?.length > 0)
		return brief(s.blocked.reduce((n, b) => n + b.keys, 0));
	if (view === "messages" && s?.backlog?.waiting > 0)
		return brief(s.backlog.waiting);
	return null;
}

function tabs(current) {
	return Object.entries(views).map(([view, [name, letter]]) => h("a",
	    { key: view, href: link(view), "aria-current": view === current ?
	    "page" : null, title: `g ${letter}`, id: `tab-${view}` }, name,
	    badge(view) && h("span", { class: "badge" }, badge(view))));
}

/* --- drawing --- */

function locked() {
	return known.session.token_required && !known.session.authorized;
}

function content(view) {
	if (locked() && known.session.by_proxy)
		return h("div", { class: "panel locked" }, h("p", {},
		    bdi(known.session.user), " is not in monitor.tokens: this " +
		    "monitor shows nothing to others."));
	if (locked())
		return h("div", { class: "panel locked" }, h("p", {}, "This " +
		    "monitor shows nothing without its token."), button(
		    "Enter token", () => ask_token(), { class: "main" }));
	return [live.state === "lost" && live.why && trouble({ error: live.why,
	    data: known.status }), views[view][2]()];
}

function draw() {
	const { view: named, params } = route();
	const view = named in views ? named : "overview";

	asked = false;
	data_round();
	patch(at("top"), head());
	patch(at("tabs"), tabs(view));
	patch(at("main"), content(view));
	at("detail").hidden = !params.message || locked();
	patch(at("detail"), params.message && !locked() ? detail() : null);
	document.body.classList.toggle("with-detail", Boolean(params.message));
	data_sweep();
	document.title = `${known.status?.problems.length ?
	    `(${known.status.problems.length}) ` : ""}${views[view][0]} · ` +
	    "outbox-master";
	if (shown_view !== null && shown_view !== view)
		scrollTo(0, 0);
	shown_view = view;
	if (wants_filter && at("filter-key")) {
		wants_filter = false;
		at("filter-key").select();
	}
}

function redraw() {
	if (!asked) {
		asked = true;
		requestAnimationFrame(draw);
	}
}

/* --- keyboard --- */

let after_g = 0;

function close_something() {
	if (document.activeElement?.matches("input"))
		document.activeElement.blur();
	else if (!close_detail())
		close_partition();
}

function focus_filter() {
	if (at("filter-key") === null)
		go(link("messages"));
	wants_filter = true;
	redraw();
}

function on_key(e) {
	const typing = e.target.matches("input, textarea, select");
	const g = e.timeStamp - after_g < 1500;

	if (e.ctrlKey || e.metaKey || e.altKey || at("dialog").open)
		return;
	after_g = 0;
	if (e.key === "Escape")
		close_something();
	else if (typing)
		return;
	else if (g && Object.values(views).some(([, l]) => l === e.key))
		go(link(Object.keys(views).find((v) => views[v][1] === e.key)));
	else if (e.key === "g")
		after_g = e.timeStamp;
	else if (e.key === "/")
		focus_filter();
	else if (e.key === "?")
		show_help();
	else if (!move(e.key, e.target))
		return;
	e.preventDefault();
}

function start() {
	theme_start(redraw);
	data_start(redraw);
	addEventListener("hashchange", redraw);
	addEventListener("redraw", redraw);
	addEventListener("resize", redraw);
	document.addEventListener("keydown", on_key);
	load_session();
	load_status();
	live_start(take_status, redraw);
	/* Ages grow, and answers get old. */
	setInterval(() => document.hidden || redraw(), 1000);
	redraw();
}

start();
