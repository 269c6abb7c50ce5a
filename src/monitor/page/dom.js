/*
 * dom.js - make the page match a description of it
 *
 * h() describes an element, patch() changes the children of an element until
 * they are as described.  Elements that stay are kept, so that focus, scroll
 * position and selection survive an update.  Strings only ever become text
 * nodes: no markup is parsed anywhere in this page.
 */

const SVG = "http://www.w3.org/2000/svg";
const drawn = new Set(["svg", "g", "path", "rect", "line", "polyline", "text",
	"circle"]);

/* These are set as properties: their attributes are only initial values. */
const properties = new Set(["value", "checked", "indeterminate", "disabled",
	"hidden"]);

/* A child that is null or false is left out; an array is its elements. */
export function h(tag, attrs, ...children) {
	return { tag, attrs: attrs || {}, key: attrs?.key,
	    children: children.flat(Infinity).filter((c) =>
		c !== null && c !== undefined && c !== false) };
}

function set(node, name, value) {
	if (name === "key" || name === "draw")
		return;
	if (name.startsWith("on"))
		node[name] = value;
	else if (properties.has(name)) {
		if (node[name] !== value)
			node[name] = value;
	} else if (value === null || value === undefined || value === false)
		node.removeAttribute(name);
	else if (node.getAttribute(name) !== String(value))
		node.setAttribute(name, value === true ? "" : value);
}

function reset(node, name) {
	if (name.startsWith("on"))
		node[name] = null;
	else if (name === "value")
		node.value = "";
	else if (properties.has(name))
		node[name] = false;
	else
		node.removeAttribute(name);
}

function make(child) {
	if (typeof child !== "object")
		return document.createTextNode(child);
	const node = drawn.has(child.tag) ?
	    document.createElementNS(SVG, child.tag) :
	    document.createElement(child.tag);
	node.described = { attrs: {} };
	update(node, child);
	return node;
}

function update(node, child) {
	for (const name in node.described.attrs)
		if (!(name in child.attrs))
			reset(node, name);
	if (child.attrs.draw)	/* as soon as it is in the page, with a size */
		queueMicrotask(() => child.attrs.draw(node));
	else	/* before the attributes: a select needs options for its value */
		patch(node, child.children);
	for (const name in child.attrs)
		set(node, name, child.attrs[name]);
	node.described = child;
}

function fits(node, child) {
	return typeof child !== "object" ? node.nodeType === Node.TEXT_NODE :
	    node.described?.tag === child.tag && node.described.key === child.key;
}

/* The node to reuse for a child: the one with its key, or else the next. */
function reusable(child, next, keyed) {
	if (child.key !== undefined) {
		const node = keyed.get(child.key);
		return node && fits(node, child) ? node : null;
	}
	return next && fits(next, child) ? next : null;
}

export function patch(parent, ...children) {
	const keyed = new Map();
	let next = parent.firstChild;

	for (const node of parent.childNodes)
		if (node.described?.key !== undefined)
			keyed.set(node.described.key, node);
	for (const child of children.flat(Infinity)) {
		if (child === null || child === undefined || child === false)
			continue;
		let node = reusable(child, next, keyed);
		if (node === null) {
			node = make(child);
			parent.insertBefore(node, next);
			continue;
		}
		if (node === next)
			next = next.nextSibling;
		else
			parent.insertBefore(node, next);
		if (typeof child === "object")
			update(node, child);
		else if (node.data !== String(child))
			node.data = child;
	}
	while (next) {
		const after = next.nextSibling;
		next.remove();
		next = after;
	}
}
