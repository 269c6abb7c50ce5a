/* theme.js - light or dark: as the system has it, or as chosen here */

const THEME = "outbox-theme";
const names = { system: "Auto", light: "Light", dark: "Dark" };
let redraw;

function theme() {
	const chosen = localStorage.getItem(THEME);

	return chosen in names ? chosen : "system";
}

function apply() {
	if (theme() === "system")
		document.documentElement.removeAttribute("data-theme");
	else
		document.documentElement.setAttribute("data-theme", theme());
}

export function theme_name() {
	return names[theme()];
}

export function next_theme() {
	const order = Object.keys(names);

	localStorage.setItem(THEME, order[(order.indexOf(theme()) + 1) % 3]);
	apply();
	redraw();
}

export function theme_start(on_change) {
	redraw = on_change;
	apply();
}
