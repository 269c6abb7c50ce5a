/*
 * api.js - requests to the monitor, and the token of this browser tab
 *
 * The token is in sessionStorage: it goes with the tab, and no other site and
 * no later visitor of this browser gets it.
 */
import { set_server_time } from "/text.js";

const TOKEN = "outbox-token";

/* What an answer says of itself, as outboxctl does. */
export class Failure extends Error {
	constructor(status, error, remedy) {
		super(error);
		this.status = status;	/* 0: no answer */
		this.remedy = remedy;
	}
}

export function token() {
	return sessionStorage.getItem(TOKEN);
}

export function set_token(text) {
	if (text)
		sessionStorage.setItem(TOKEN, text);
	else
		sessionStorage.removeItem(TOKEN);
}

export function headers(more) {
	const out = new Headers(more);

	if (token())
		out.set("Authorization", `Bearer ${token()}`);
	return out;
}

async function failure_of(response) {
	let doc = null;

	try {
		doc = await response.json();
	} catch {
		/* Not from the monitor, or cut short. */
	}
	return new Failure(response.status, doc?.error ||
	    `the answer was ${response.status} ${response.statusText}`,
	    doc?.remedy);
}

export async function request(path, options = {}) {
	let response;

	try {
		response = await fetch(path, { ...options, cache: "no-store",
		    credentials: "same-origin", headers: headers(options.headers) });
	} catch (e) {
		if (e.name === "AbortError")
			throw e;
		throw new Failure(0, "the monitor does not answer",
		    "Is the daemon running? service outbox-master status");
	}
	set_server_time(response.headers.get("Date"));
	if (!response.ok)
		throw await failure_of(response);
	return response;
}

/* query: members without a value are left out */
export async function get(path, query = {}, signal) {
	const words = new URLSearchParams();

	for (const name in query)
		if (query[name] !== undefined && query[name] !== null &&
		    query[name] !== "")
			words.set(name, query[name]);
	const response = await request(words.size === 0 ? path :
	    `${path}?${words}`, { signal });
	return response.json();
}

export async function post(action, body) {
	const response = await request(`/api/actions/${action}`, {
		method: "POST", body: JSON.stringify(body),
		headers: { "Content-Type": "application/json" } });
	return response.json();
}
