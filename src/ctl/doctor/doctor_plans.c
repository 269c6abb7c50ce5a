/*
 * doctor_plans.c - check that the daemon's statements use their indexes
 *
 * Calls the daemon's own functions with a store that explains statements in
 * place of running them.  Plans depend on data: they name existing rows.
 */

#include "ctl/doctor/doctor.h"

#include <stdlib.h>
#include <string.h>

#include "ctl/base/change.h"
#include "mysql/db.h"
#include "util/xalloc.h"

/* Smaller tables may be read as a whole. */
#define FEW	1000

struct plans {
	struct doctor	*doctor;
	unsigned	 seen, bad;
	json_t		*told;		/* members: errors that were printed */
	unsigned	 same;		/* statements with one of them */
};

static const char *
cell(const struct db_rows *plan, const char *name)
{
	int		 col = db_column(plan, name);
	const char	*text = col < 0 ? NULL : db_nullable(plan, (unsigned)col);

	return text == NULL ? "" : text;
}

static bool
has_index(const struct plans *p)
{
	return store_index(p->doctor->ctl->store) != INDEX_NONE;
}

/* Messages flow; if they are too slow, a problem of the backlog says so. */
static void
refuse_plan(struct plans *p, const char *what, const char *table,
    const char *how)
{
	const struct store	*s = p->doctor->ctl->store;
	struct buf		 sql = { 0 };

	p->bad++;
	if (!has_index(p)) {
		store_put_claim_index(s, &sql);
		doctor_say(p->doctor, DOCTOR_ADVICE, "plans", "%s %s %s: %s",
		    what, how, table, sql.data);
	} else {
		db_name(&sql, store_table_name(s, T_OUTBOX));
		doctor_say(p->doctor, DOCTOR_ADVICE, "plans", "%s %s %s: "
		    "run ANALYZE TABLE %s, and compare its indexes with "
		    "sql/schema.sql", what, how, table, sql.data);
	}
	buf_free(&sql);
}

/*
 * The line for the result of a union has no table, or "<union1,2>".  With LIMIT
 * on an ordered index the plan shows the rows it expects to read; without the
 * claim's index that estimate is wrong.
 */
static void
judge_line(struct plans *p, const char *what, const struct db_rows *plan)
{
	const struct store	*s = p->doctor->ctl->store;
	const char		*table = cell(plan, "table");
	const char		*type = cell(plan, "type");
	const char		*outbox = store_table_name(s, T_OUTBOX);
	bool			 in_order = strcmp(type, "index") == 0;
	bool			 many = strtoull(cell(plan, "rows"), NULL,
				    10) > FEW;

	/* Plans show the aliases of tables. */
	if (strcmp(table, "o") == 0)
		table = outbox;
	else if (strcmp(table, "e") == 0)
		table = store_table_name(s, T_EVENTS);
	else if (strcmp(table, "p") == 0)
		table = store_table_name(s, T_PARTITIONS);
	if (table[0] == '\0' || table[0] == '<')
		return;
	if ((in_order && (many ||
	    (!has_index(p) && strcmp(table, outbox) == 0))) ||
	    (many && strcmp(type, "ALL") == 0))
		refuse_plan(p, what, table, "reads all of");
	else if (strstr(cell(plan, "Extra"), "filesort") != NULL)
		refuse_plan(p, what, table, "sorts what it reads of");
}

static void
judge_plan(void *arg, const char *what, struct db_rows *plan,
    const struct err *e)
{
	struct plans	*p = arg;
	unsigned	 bad = p->bad;
	const char	*why;

	p->seen++;
	if (plan == NULL) {
		/* Several statements may lack the same right: tell it once. */
		why = strstr(e->text, ": ");
		why = why == NULL ? e->text : why + 2;
		p->bad++;
		if (json_object_get(p->told, why) != NULL) {
			p->same++;
			return;
		}
		json_object_set_new(p->told, why, json_true());
		doctor_say(p->doctor, DOCTOR_FAIL, "plans", "%s", e->text);
		return;
	}
	while (p->bad == bad && db_next(plan))
		judge_line(p, what, plan);
}

/* The latest rows, as many as in a batch; the caller frees. */
static uint64_t *
some_rows(struct doctor *d, size_t *n, struct err *e)
{
	struct store	*s = d->ctl->store;
	uint64_t	*list = NULL;

	*n = 0;
	store_sql(s, "SELECT {global_sequence} FROM {outbox} {primary} "
	    "ORDER BY {global_sequence} DESC LIMIT :max",
	    SQL_NUMBER("max", d->ctl->conf->worker.batch_size));
	if (change_add(d->ctl, &list, n, e) < 0)
		return NULL;
	if (*n == 0)
		list[(*n)++] = 1;
	return list;
}

/* Each call returns nothing, or the error that it was only explained. */
static void
explain_all(struct plans *p, const uint64_t *list, size_t n,
    const struct store_view *v)
{
	static const enum outcome	 outcomes[] = { OUT_DELIVERED,
	    OUT_RETRY, OUT_DEFER, OUT_DEAD, OUT_UNSENT };
	struct store			*s = p->doctor->ctl->store;
	const struct conf		*conf = p->doctor->ctl->conf;
	struct range			 ranges[STORE_RANGES];
	size_t				 nranges = 0, nc;
	struct batch			 b = { 0 };
	struct waiting_list		 w;
	struct candidate		*c = NULL;
	uint64_t			 claimed;
	struct glance			 glance;
	struct err			 e;

	for (; nranges < v->nleases && nranges < STORE_RANGES; nranges++)
		ranges[nranges] = (struct range){ v->leases[nranges].label,
		    v->leases[nranges].epoch, (size_t)conf->worker.batch_size };
	if (nranges == 0)
		ranges[nranges++] = (struct range){ "p00", 1, 1 };
	store_explain(s, judge_plan, p);
	if (store_may_glance(s))
		store_glance(s, 1, &glance, &e);
	store_candidates(s, ranges, nranges, &c, &nc, &e);
	store_claim(s, &(struct claim_set){ ranges, nranges, list, n }, &b,
	    &claimed, &e);
	store_fetch(s, list, n, 1, &b, &e);
	store_fetch_away(s, list, n, &b, &e);
	store_waiting(s, list, n, &w, &e);
	b.msgs = xcalloc(n, sizeof(*b.msgs));
	for (b.n = 0; b.n < n; b.n++)
		b.msgs[b.n] = (struct msg){ .sequence = list[b.n] };
	for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++) {
		struct settled	done = { 0 };

		for (size_t k = 0; k < b.n; k++) {
			msg_fail(&b.msgs[k], outcomes[i], "why");
			b.msgs[k].reason = "message";
			b.msgs[k].written = false;
		}
		store_settle(s, &b, &done, &e);
	}
	batch_free(&b);
	store_explain(s, NULL, NULL);
}

void
doctor_plans(struct doctor *d)
{
	struct plans		 p = { .doctor = d, .told = json_object() };
	struct store_view	 v;
	struct err		 e;
	uint64_t		*list;
	size_t			 n;

	if ((list = some_rows(d, &n, &e)) == NULL ||
	    store_view(d->ctl->store, &v, &e) < 0) {
		doctor_say(d, DOCTOR_FAIL, "plans", "%s", e.text);
		json_decref(p.told);
		free(list);
		return;
	}
	explain_all(&p, list, n, &v);
	json_decref(p.told);
	if (p.same > 0)
		doctor_say(d, DOCTOR_FAIL, "plans", "%s more fail "
		    "for the same reason",
		    COUNTED(p.same, "statement"));
	if (p.bad == 0)
		doctor_say(d, DOCTOR_OK, "plans", "all %u statements of a "
		    "batch use their indexes", p.seen);
	store_view_free(&v);
	free(list);
}
