/*
 * chart.js - throughput of an hour as SVG: bars of published and failed
 * messages, and below them the 99th percentile of the time from commit to
 * acknowledgement, on a logarithmic scale from 1 ms; and the share of failed
 * tries of a destination
 */
import { h, patch } from "/dom.js";
import { brief, duration, number } from "/text.js";

const LEFT = 46, RIGHT = 8, BARS = 110, GAP = 22, LINE = 44, BOTTOM = 18;
const MINUTES = 60;
/* Each ends in few letters. */
const SCALES = [1e2, 1e3, 1e4, 6e4, 6e5, 36e5, 36e6, 864e5, 864e6, 864e8];
let hovered = null;

/* 1, 2 or 5 times a power of ten, not below n */
function round_up(n) {
	const power = 10 ** Math.floor(Math.log10(n));

	return [1, 2, 5, 10].find((f) => f * power >= n) * power;
}

function grid(y, width, text) {
	return [h("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y,
	    y2: y }), h("text", { class: "axis", x: LEFT - 6, y: y + 4,
	    "text-anchor": "end" }, text)];
}

function clock(at) {
	return at.slice(11, 16);
}

function bars(minutes, x, step, top) {
	const high = (n) => n / top * BARS;
	const bar = (cls, i, from, n) => n > 0 && h("rect", { class: cls,
	    x: x(i) + 0.5, width: Math.max(1, step - 1),
	    y: BARS - high(from + n) + 10, height: Math.max(1, high(n)) });

	return minutes.map((m, i) => h("g", { key: m.at },
	    bar("published", i, 0, m.published),
	    bar("failed", i, m.published, m.failed)));
}

/* Broken where no message was answered. */
function p99_line(minutes, x, step, top) {
	const base = 10 + BARS + GAP + LINE;
	let d = "", up = true;

	minutes.forEach((m, i) => {
		if (m.p99_ms === null) {
			up = true;
			return;
		}
		const part = Math.log10(Math.max(1, m.p99_ms)) / Math.log10(top);
		d += `${up ? "M" : "L"}${(x(i) + step / 2).toFixed(1)} ` +
		    `${(base - part * LINE).toFixed(1)}h.01`;
		up = false;
	});
	return h("path", { class: "p99", d: d || "M0 0" });
}

function times(minutes, x, width, y) {
	const every = width < 500 ? 20 : 10;

	return minutes.map((m, i) => Number(clock(m.at).slice(3)) % every === 0 &&
	    i > 1 && i < MINUTES - 1 && h("text", { class: "axis", key: m.at,
	    x: x(i), y, "text-anchor": "middle" }, clock(m.at)));
}

/* What is read out, and shown above the chart: a minute, or the hour. */
function reading(minutes, since) {
	const m = hovered === null ? null : minutes[hovered];
	const sum = (name) => minutes.reduce((n, x) => n + x[name], 0);
	const worst = Math.max(0, ...minutes.map((x) => x.p99_ms || 0));

	return [h("span", { class: "when" }, m ? `${clock(m.at)} UTC` :
	    since > minutes[0].at ? `Since ${clock(since)} UTC` :
	    "Last 60 minutes"), h("span", { class: "key published" },
	    `${number(m ? m.published : sum("published"))} published`),
	    h("span", { class: "key failed" },
	    `${number(m ? m.failed : sum("failed"))} failed`),
	    h("span", { class: "key p99" }, m ? `p99 ${duration(m.p99_ms)}` :
	    `p99 at most ${duration(worst || null)}`)];
}

/*
 * Draw into an element that is as wide as the chart shall be.  since: before it
 * nothing is known.
 */
export function chart(element, minutes, since) {
	const width = Math.max(280, element.clientWidth);
	const step = (width - LEFT - RIGHT) / MINUTES;
	const x = (i) => LEFT + (MINUTES - minutes.length + i) * step;
	const top = round_up(Math.max(10,
	    ...minutes.map((m) => m.published + m.failed)));
	const slow = SCALES.find((ms) => ms >= Math.max(...minutes.map((m) =>
	    m.p99_ms || 0))) || 864e8;
	const low = 10 + BARS + GAP + LINE, height = low + BOTTOM;
	const point = (e) => {
		const i = Math.floor((e.clientX -
		    element.getBoundingClientRect().left - LEFT) / step) -
		    MINUTES + minutes.length;

		hovered = i >= 0 && i < minutes.length ? i : null;
		chart(element, minutes, since);
	};

	if (hovered !== null && hovered >= minutes.length)
		hovered = null;
	patch(element, h("p", { class: "reading" }, reading(minutes, since)),
	    h("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, width,
		height, role: "img", "aria-label": "Messages each minute",
		onpointermove: point, onpointerleave: () => {
			hovered = null;
			chart(element, minutes, since);
		} },
	    grid(10, width, brief(top)), grid(10 + BARS / 2, width,
	    brief(top / 2)), grid(10 + BARS, width, "0"),
	    grid(10 + BARS + GAP, width, duration(slow)), grid(low, width, "1 ms"),
	    hovered !== null && h("rect", { class: "cross", key: "cross",
		x: x(hovered), y: 4, width: step, height: low - 4 }),
	    bars(minutes, x, step, top), p99_line(minutes, x, step, slow),
	    times(minutes, x, width, height - 4)));
}

/*
 * tried: taken and failed of each minute; the same minutes have the times.  The
 * height is the square root of the share, so that a few percent are seen.
 */
export function failures(tried, minutes) {
	const share = (m) => m.failed / Math.max(1, m.taken + m.failed);
	const sum = (name) => tried.reduce((n, m) => n + m[name], 0);
	const worst = tried.reduce((w, m, i) => share(m) > share(tried[w]) ?
	    i : w, 0);
	const bar = (cls, i, high) => h("rect", { class: cls, x: i + 0.1,
	    width: 0.8, y: 20 - high, height: high });
	const text = `${number(sum("failed"))} of ` +
	    `${number(sum("taken") + sum("failed"))} tries failed` +
	    (sum("failed") > 0 ? `, most at ${clock(minutes[worst].at)} UTC: ` +
	    `${Math.ceil(share(tried[worst]) * 100)} %` : "");

	return h("div", { class: "failures", key: "failures" },
	    sum("failed") > 0 && h("svg", { viewBox: `0 0 ${MINUTES} 20`, preserveAspectRatio: "none",
		role: "img", "aria-label": `Each minute: ${text}` },
	    h("line", { class: "grid", x1: 0, x2: MINUTES, y1: 20, y2: 20 }),
	    tried.map((m, i) => h("g", { key: minutes[i].at },
		m.taken + m.failed > 0 && bar("published", i, 1.5),
		m.failed > 0 && bar("failed", i, Math.max(2, Math.sqrt(share(m)) * 20))))),
	    h("p", { class: "quiet" }, text));
}
