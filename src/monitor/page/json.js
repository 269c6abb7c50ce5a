/*
 * json.js - JSON indented, from its own text: numbers and escapes stay as they
 * are stored, which JSON.parse would change
 */
import { h } from "/dom.js";
import { visible } from "/text.js";

const token = /"(?:\\.|[^"\\])*"|[{}[\],:]|[^\s{}[\],:"]+/g;

function is_json(text) {
	try {
		/* A single word or number needs no layout. */
		return typeof JSON.parse(text) === "object";
	} catch {
		return false;
	}
}

function value(t, is_name) {
	const cls = is_name ? "name" : t[0] === '"' ? "string" :
	    /^[-\d]/.test(t) ? "digits" : "word";

	return h("span", { class: cls }, visible(t));
}

/* Parts for a <pre>; null if it is no object or array. */
export function json_parts(text) {
	const parts = [], indent = (n) => `\n${"  ".repeat(n)}`;
	let depth = 0, plain = "";

	if (!is_json(text))
		return null;
	const tokens = text.match(token);
	tokens.forEach((t, i) => {
		if ("{[".includes(t)) {
			plain += "]}".includes(tokens[i + 1]) ? t :
			    t + indent(++depth);
		} else if ("]}".includes(t)) {
			plain += "{[".includes(tokens[i - 1]) ? t :
			    indent(--depth) + t;
		} else if (t === ",")
			plain += t + indent(depth);
		else if (t === ":")
			plain += ": ";
		else {
			parts.push(plain, value(t, tokens[i + 1] === ":"));
			plain = "";
		}
	});
	parts.push(plain);
	return parts.filter((p) => p !== "");
}
