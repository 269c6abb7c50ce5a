/*
 * route.js - the address behind '#': the view, its filters, the open message
 *
 *	#/messages?state=delivered&key=order-17&message=4711
 */

export function route() {
	const [path, words] = location.hash.replace(/^#\/?/, "").split("?");

	return { view: path || "overview",
	    params: Object.fromEntries(new URLSearchParams(words || "")) };
}

export function link(view, params = {}) {
	const words = new URLSearchParams();

	for (const name in params)
		if (params[name] !== undefined && params[name] !== null &&
		    params[name] !== "")
			words.set(name, params[name]);
	return `#/${view}${words.size > 0 ? `?${words}` : ""}`;
}

/* The same view with some other parameters; null takes one away. */
export function with_params(changes) {
	const { view, params } = route();

	return link(view, { ...params, ...changes });
}

export function go(hash) {
	location.hash = hash;
}
