/* keyboard.js - moving through rows and cells, and the help */

import { h, patch } from "/dom.js";
import { button } from "/parts.js";

const steps = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 };
const help = [["/", "filter messages"], ["g o", "overview"],
	["g m", "messages"], ["g d", "dead letters"], ["g b", "blocked keys"],
	["g p", "partitions"], ["g w", "workers"], ["g c", "changes"],
	["↓ ↑, j k", "next and previous row"], ["← →", "cells of the grid"],
	["Enter", "open"], ["Esc", "close, leave a field"], ["?", "this help"]];

function focus_in(list, from, step) {
	const i = list.indexOf(from);
	const next = i < 0 ? (step > 0 ? 0 : list.length - 1) : i + step;

	if (next < 0 || next >= list.length)
		return i >= 0;
	list[next].focus();
	list[next].scrollIntoView({ block: "nearest" });
	return true;
}

/* Cells of the same column in the lines above and below. */
function grid_step(cell, key) {
	const width = cell.offsetWidth, grid = cell.parentElement;
	const columns = Math.max(1, Math.floor((grid.clientWidth + 4) /
	    (width + 4)));

	return { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns,
	    ArrowDown: columns }[key];
}

/* Returns whether the key was one of these. */
export function move(key, from) {
	const cell = from.closest?.(".cell"), row = from.closest?.("tr");

	if (cell) {
		const step = grid_step(cell, key);
		return step !== undefined &&
		    focus_in([...cell.parentElement.children], cell, step);
	}
	if (!(key in steps) || from.closest?.("pre, dialog"))
		return false;
	return focus_in([...document.querySelectorAll("#main a.row")],
	    from.matches?.("a.row") ? from : row?.querySelector("a.row"),
	    steps[key]);
}

export function show_help() {
	const dialog = document.getElementById("dialog");

	patch(dialog, h("h2", { id: "dialog-title" }, "Keyboard"),
	    h("dl", { class: "facts keys" }, help.map(([key, what]) =>
		h("div", { key }, h("dt", {}, h("kbd", {}, key)),
		    h("dd", {}, what)))), h("div", { class: "buttons" },
		button("Close", () => dialog.close())));
	dialog.setAttribute("aria-labelledby", "dialog-title");
	dialog.showModal();
}
