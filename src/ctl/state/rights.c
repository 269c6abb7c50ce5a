/* rights.c - rights that the account of the daemon lacks */

#include <string.h>

#include "ctl/schema/schema.h"
#include "ctl/state/state_impl.h"

/*
 * The daemon needs no right to the audit log, nor to the registry; outboxctl
 * tells what it lacks.
 */
int
state_put_rights(struct ctl *c, json_t *state, struct err *e)
{
	const json_t		*here = json_object_get(state, "this_host");
	struct schema_report	 r = { 0 };
	json_t			*list, *w;
	size_t			 k;
	int			 rc;

	/* A worker has waited for a lock: the question would wait, too. */
	json_array_foreach(json_object_get(here, "workers"), k, w)
		if (member_text(w, "why") != NULL &&
		    strstr(member_text(w, "why"), "(1205)") != NULL)
			return json_object_set_new(state, "rights",
			    json_null());
	if ((rc = schema_find_rights(c, &r, e)) == 0) {
		list = json_array();
		for (size_t i = 0; i < r.n; i++) {
			const struct schema_finding *f = &r.findings[i];

			if (f->unused || f->table == T_AUDIT ||
			    f->table == T_REGISTRY)
				continue;
			json_array_append_new(list, json_pack(
			    "{s:s, s:s, s:s, s:b}", "what", f->what.data,
			    "cost", f->cost.data, "sql", f->sql.data,
			    "needed", f->level == SCHEMA_FAIL));
		}
		rc = json_object_set_new(state, "rights", list);
	}
	schema_report_free(&r);
	return rc;
}
