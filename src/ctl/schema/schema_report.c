/* schema_report.c - findings and their remedies */

#include "ctl/schema/schema_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/xalloc.h"

const char *const schema_ways[NWAYS] = {
	[ALTER_INSTANT] = ", ALGORITHM=INSTANT",
	[ALTER_ONLINE] = ", ALGORITHM=INPLACE, LOCK=NONE",
	[ALTER_PLAIN] = "",
};

const char schema_cannot_run[] = "the daemon cannot run";

struct schema_finding *
schema_find_about(struct check *k, enum store_table t, const char *about,
    enum schema_level level, const char *cost, const char *what, ...)
{
	struct schema_report	*r = k->report;
	struct schema_finding	*f;
	char			 line[512];
	va_list			 ap;

	va_start(ap, what);
	vsnprintf(line, sizeof(line), what, ap);
	va_end(ap);
	r->findings = xreallocarray(r->findings, r->n + 1,
	    sizeof(*r->findings));
	f = &r->findings[r->n++];
	*f = (struct schema_finding){ .level = level, .table = t,
	    .by = BY_HAND, .way = ALTER_PLAIN };
	buf_printf(&f->what, "%s: %s", about, line);
	buf_str(&f->cost, cost);
	buf_str(&f->sql, "");
	return f;
}

void
schema_put_sql(const struct check *k, enum store_table t, const char *sql,
    const char *name, struct buf *to)
{
	const char	*open;

	for (; (open = strchr(sql, '{')) != NULL; sql = open + strlen("{t}")) {
		buf_add(to, sql, (size_t)(open - sql));
		db_name(to, open[1] == 't' ? schema_name(k, t) : name);
	}
	buf_str(to, sql);
}

void
schema_put(const struct check *k, struct schema_finding *f, const char *sql,
    const char *name)
{
	schema_put_sql(k, f->table, sql, name, &f->sql);
}

void
schema_report_free(struct schema_report *r)
{
	for (size_t i = 0; i < r->n; i++) {
		buf_free(&r->findings[i].what);
		buf_free(&r->findings[i].cost);
		buf_free(&r->findings[i].sql);
		buf_free(&r->findings[i].undo);
	}
	free(r->findings);
}

bool
schema_is_pillar(const struct check *k)
{
	for (enum store_table t = T_SETTINGS; t <= T_STREAMS; t++)
		if (schema_has(k, t))
			return false;
	return true;
}

const char *
schema_name(const struct check *k, enum store_table t)
{
	return store_table_name(k->ctl->store, t);
}

bool
schema_has(const struct check *k, enum store_table t)
{
	return k->live.tables[t].engine != NULL;
}

enum store_table
schema_events(const struct check *k)
{
	return schema_is_used(k->ctl, T_EVENTS) ? T_EVENTS : T_OUTBOX;
}

const struct schema_column *
schema_outbox_column(const struct check *k, const char *word)
{
	return schema_column_of(&k->live.tables[T_OUTBOX],
	    store_column_name(k->ctl->store, word));
}
