/* audit.js - what operators changed, newest first */

import { h } from "/dom.js";
import { need } from "/data.js";
import { empty, loading, panel, table, trouble } from "/parts.js";
import { route } from "/route.js";
import { ago, bdi, cut, number } from "/text.js";
import { pages } from "/messages.js";

export function audit() {
	const { params } = route();
	const answer = need("/api/audit", { after: params.after, limit: 50 },
	    5000);
	const rows = answer.data?.rows || answer.data;

	return panel("audit", "Changes by operators", null, trouble(answer),
	    !rows ? !answer.error && loading() : rows.length === 0 ?
	    empty("Nobody has changed anything with outboxctl or this page.") :
	    table("Changes", [["When"], ["User"], ["Login"], ["Command"],
		["Arguments", "error"], ["Changed", "number"]],
		rows.map((r) => ({ key: r.id, cells: [ago(r.at), bdi(r.user),
		    bdi(r.login), h("code", {}, r.command), cut(r.arguments),
		    number(r.changed)] }))),
	    rows && pages(params, answer.data, rows.length));
}
