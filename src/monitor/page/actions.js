/*
 * actions.js - changes: each asks first, and says what a dry run has found
 */
import { Failure, post, set_token, token } from "/api.js";
import { data_expire, known, load_session } from "/data.js";
import { h, patch } from "/dom.js";
import { live_restart } from "/live.js";
import { button, can_act, mark } from "/parts.js";
import { bdi, counted, visible } from "/text.js";

const dialog = document.getElementById("dialog");
const notice = document.getElementById("notice");
let forget_notice, turn = 0;

function show(title, ...children) {
	patch(dialog, h("h2", { id: "dialog-title", key: "title" }, title),
	    children);
	dialog.setAttribute("aria-labelledby", "dialog-title");
	if (!dialog.open)
		dialog.showModal();
	/* The browser knows this only of elements that it has parsed. */
	(dialog.querySelector("[data-first]") || dialog).focus();
}

function close() {
	turn++;
	dialog.close();
}

/* The event comes later: by then another one may be open. */
dialog.addEventListener("close", () => {
	if (dialog.open)
		return;
	turn++;
	patch(dialog);
});

/* A sentence below the page that goes by itself; read out by readers. */
export function say(text, level = "ok") {
	clearTimeout(forget_notice);
	patch(notice, mark(level), h("span", {}, text));
	notice.className = "shown";
	forget_notice = setTimeout(() => {
		notice.className = "";
	}, 8000);
}

/* --- the token --- */

async function try_token(text, input, then) {
	set_token(text);
	await load_session();
	if (!known.session.authorized) {
		set_token(null);
		ask_token(then, "This is not the token.");
		return;
	}
	close();
	live_restart();
	data_expire();
	then?.();
}

/* then: what goes on once the token is right */
export function ask_token(then, wrong) {
	const submit = (e) => {
		const input = e.target.querySelector("input");

		e.preventDefault();
		if (input.value.trim() !== "")
			try_token(input.value.trim(), input, then);
	};

	show("Token", h("form", { onsubmit: submit, key: "token" },
	    h("label", { for: "token" }, "The text in your file of ",
		h("code", {}, "monitor.tokens"), ", or that of ", h("code", {},
		"monitor.token_file"), ". This tab forgets it when it is " +
		"closed."),
	    h("input", { id: "token", type: "password", autocomplete: "off",
		spellcheck: "false", required: true, "data-first": true,
		"aria-invalid": wrong ? "true" : null }),
	    wrong && h("p", { class: "wrong", role: "alert" }, wrong),
	    h("div", { class: "buttons" }, button("Cancel", close),
		h("button", { type: "submit", class: "main" }, "Continue"))));
}

export async function forget_token() {
	set_token(null);
	await load_session();
	live_restart();
	say("The token is forgotten.");
}

/* --- a change --- */

function answer_of(error) {
	return h("div", { class: "trouble", key: "trouble" }, mark("critical"),
	    h("div", {}, h("p", {}, visible(error.message)), error.remedy &&
		h("p", { class: "remedy" }, visible(error.remedy))));
}

/* Keys that an action leaves halted. */
function still_halted(list) {
	if (!list || list.length === 0)
		return null;
	return h("div", { class: "trouble", key: "halted" }, mark("warning"),
	    h("p", {}, `${counted(list.length, "key")} would stay halted: `,
		list.slice(0, 5).map((k, i) => [i > 0 && ", ", bdi(k.key),
		    ` (by message ${k.by})`]), list.length > 5 && ", …"));
}

function about_of(change) {
	return [h("p", { class: "about", key: "about" }, "On ",
	    h("bdi", {}, visible(change.about)), "."),
	    h("p", { key: "explain" }, change.explain)];
}

function refused(change, error, again) {
	if (error.status === 401 || error.status === 403 &&
	    !known.session.authorized) {
		set_token(null);
		ask_token(again, token() && "This is not the token.");
		return;
	}
	show(change.verb, about_of(change), answer_of(error),
	    h("div", { class: "buttons" }, button("Close", close,
		{ "data-first": true })));
}

async function run(change) {
	const mine = ++turn;

	show(change.verb, about_of(change), h("p", { class: "quiet", key: "wait" },
	    "Working …"));
	try {
		const done = await post(change.action,
		    { ...change.body, dry_run: false });
		if (mine === turn)
			close();
		say(`${change.verb}: ${counted(done.changed, change.thing)}` +
		    (done.changed === 1 ? " was changed." : " were changed."));
		change.then?.();
	} catch (e) {
		if (!(e instanceof Failure))
			throw e;
		if (mine === turn)
			refused(change, e, () => ask(change));
		else
			say(`${change.verb}: ${e.message}`, "critical");
	}
	data_expire();
}

/* A further option of the change; another dry run tells what it does. */
function choice_of({ choice, ...change }) {
	return choice && h("label", { class: "choice", key: "choice" },
	    h("input", { type: "checkbox", checked: Boolean(
		change.body[choice.name]), onchange: (e) => ask({ ...change,
		choice, body: { ...change.body, [choice.name]:
		    e.target.checked } }) }), " ", choice.text);
}

function confirm(change, found) {
	const what = counted(found.changed, change.thing);

	if (found.changed === 0) {
		show(change.verb, about_of(change), h("p", { key: "found" },
		    "Nothing would be changed: it was done already, or there " +
		    "is nothing left."), still_halted(found.halted),
		    h("div", { class: "buttons" }, button("Close", close,
			{ "data-first": true })));
		return;
	}
	show(change.verb, about_of(change), h("p", { class: "found",
	    key: "found" }, "A dry run says: ", h("strong", {}, what),
	    " would be changed."), still_halted(found.halted), choice_of(change),
	    h("div", { class: "buttons", key: "buttons" }, button("Cancel",
		close, { "data-first": change.danger || null }),
	    button(`${change.verb} ${what}`, () => run(change),
		{ class: change.danger ? "main danger" : "main", id: "confirm",
		"data-first": change.danger ? null : true })));
}

/*
 * A change: {action, body} of the request; verb and thing, "Retry" and
 * "message"; about, what it is about; explain, what it does; danger: it cannot
 * be undone; choice, {name, text}: a flag of the body; then: to be called when
 * it is done.
 */
export async function ask(change) {
	if (!known.session.authorized) {
		ask_token(() => ask(change));
		return;
	}
	const mine = ++turn;

	show(change.verb, about_of(change), h("p", { class: "quiet",
	    key: "wait" }, "Looking at what this would change …"),
	    h("div", { class: "buttons" }, button("Cancel", close)));
	try {
		const found = await post(change.action,
		    { ...change.body, dry_run: true });
		if (mine === turn)
			confirm(change, found);
	} catch (e) {
		if (!(e instanceof Failure))
			throw e;
		if (mine === turn)
			refused(change, e, () => ask(change));
	}
}

/* --- the changes of messages, by their state --- */

const explains = {
	retry: "They become due at once.",
	discard: "They become dead letters, and later messages of their keys " +
	    "go on. A dead letter can be retried.",
	replay: "They are sent again, with a new message id: consumers get " +
	    "them twice.",
	"dead-retry": "They are put back in their old order, with no failed " +
	    "attempts. Keys that they halt go on.",
	"dead-purge": "They are deleted for good; their events stay.",
};
const verbs = { retry: "Retry", discard: "Discard", replay: "Replay",
	"dead-retry": "Retry", "dead-purge": "Discard" };

const release = { name: "release", text: "Let the keys go on that they halt" };

/* Those of messages in this state that this person may ask for. */
export function actions_for(state) {
	const all = state === "dead" ? ["dead-retry", "dead-purge"] :
	    state === "delivered" ? ["replay"] :
	    state === "pending" ? ["retry", "discard"] : [];

	return all.filter(can_act);
}

/* A button for each action of messages in this state, if it takes the body. */
export function message_actions(state, body, about, then, suffix = "") {
	return actions_for(state).filter((action) => action !== "discard" ||
	    body.sequences).map((action) => button(
	    `${verbs[action]}${suffix} …`, () => ask({ action, body, about, then,
		verb: verbs[action], explain: explains[action],
		thing: state === "dead" ? "dead letter" : "message",
		choice: action === "dead-purge" && release,
		danger: action === "dead-purge" || action === "discard" }),
	    { key: action, "data-action": action }));
}

export function release_action(key) {
	return can_act("release") && button("Release …", () => ask({ action: "release", verb: "Release",
	    thing: "key", body: { keys: [key] }, about: `key ${key}`, explain: "Its " +
	    "waiting messages go on without the dead one. That one can still " +
	    "be retried, and then comes behind them." }),
	    { "data-action": "release" });
}
