/* schema_report.c - findings and their remedies */

#include "ctl/schema/schema_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/xalloc.h"

const char *const schema_ways[NWAYS] = {
	[ALTER_INSTANT] = ", ALGORITHM=INSTANT",
	[ALTER_ONLINE] = ", ALGORITHM=INPLACE, LOCK=NONE",
	[ALTER_PLAIN] = "",
};

const struct schema_cost schema_cannot_run = { SCHEMA_FAIL,
	"the daemon cannot run" };

struct schema_finding *
schema_find(struct schema_report *r, enum store_table table,
    struct schema_cost cost, const char *sql, const char *what, ...)
{
	struct schema_finding	*f;
	char			 line[512];
	va_list			 ap;

	va_start(ap, what);
	vsnprintf(line, sizeof(line), what, ap);
	va_end(ap);
	r->findings = xreallocarray(r->findings, r->n + 1,
	    sizeof(*r->findings));
	f = &r->findings[r->n++];
	*f = (struct schema_finding){ .level = cost.level, .table = table,
	    .by_hand = cost.level == SCHEMA_NOTE, .way = ALTER_PLAIN,
	    .what = xstrdup(line), .cost = xstrdup(cost.text),
	    .sql = xstrdup(sql) };
	return f;
}

void
schema_report_free(struct schema_report *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->findings[i].what);
		free(r->findings[i].cost);
		free(r->findings[i].sql);
		free(r->findings[i].undo);
	}
	free(r->findings);
}

const char *
schema_name(const struct check *k, enum store_table t)
{
	return store_table_name(k->ctl->store, t);
}

/* "ALTER TABLE `name` ..." */
struct schema_finding *
schema_alter(struct check *k, enum store_table t, struct schema_cost cost,
    const char *change, const char *what, ...)
{
	struct schema_finding	*f;
	char			*name = db_named(schema_name(k, t));
	char			*sql = xasprintf("ALTER TABLE %s %s", name,
				    change);
	char			 line[512];
	va_list			 ap;

	va_start(ap, what);
	vsnprintf(line, sizeof(line), what, ap);
	va_end(ap);
	f = schema_find(k->report, t, cost, sql, "%s: %s", schema_name(k, t),
	    line);
	free(sql);
	free(name);
	return f;
}

bool
schema_has(const struct check *k, enum store_table t)
{
	return k->live.tables[t].engine != NULL;
}
