/* schema.c - schema print, install, check and upgrade */

#include "ctl/schema/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/command_file.h"
#include "util/display.h"
#include "util/xalloc.h"

static int
render(const struct ctl *c, struct buf *text, struct err *e)
{
	if (c->args.trigger)
		return trigger_render(c->conf, text, e);
	if (c->args.grants)
		return schema_put_all_grants(c->conf, text, e);
	return schema_render(c->conf, text, e);
}

int
schema_print(struct ctl *c)
{
	struct buf	text = { 0 };
	struct err	e;

	if (c->args.trigger && c->args.grants)
		return ctl_misuse("--trigger or --grants, not both");
	if (render(c, &text, &e) < 0) {
		buf_free(&text);
		return ctl_error("%s", e.text);
	}
	if (c->args.json)
		print_object(c, json_pack("{s:s}", "sql", text.data));
	else
		display_print(stdout, "%s", text.data);
	buf_free(&text);
	return CTL_DONE;
}

/* Find the tables that are known not to exist. */
static int
read_missing(struct ctl *c, bool missing[NTABLES], struct err *e)
{
	struct db_rows	*rows;

	for (enum store_table t = 0; t < NTABLES; t++)
		missing[t] = schema_is_used(c, t);
	store_sql(c->store, "SELECT table_name FROM information_schema.tables "
	    "WHERE table_schema = DATABASE()");
	if ((rows = store_query(c->store, c->command->words, e)) == NULL)
		return -1;
	while (db_next(rows))
		for (enum store_table t = 0; t < NTABLES; t++)
			if (strcmp(db_text(rows, 0),
			    store_table_name(c->store, t)) == 0)
				missing[t] = false;
	db_rows_free(rows);
	return 0;
}

/* "a, b" */
static unsigned
list_missing(struct ctl *c, const bool missing[NTABLES], struct buf *to)
{
	unsigned	n = 0;

	for (enum store_table t = 0; t < NTABLES; t++)
		if (missing[t])
			buf_printf(to, "%s%s", n++ == 0 ? "" : ", ",
			    store_table_name(c->store, t));
	if (n == 0)
		buf_str(to, "nothing: no table is missing");
	return n;
}

/* Read the schema again, as the audit table may be new, and note n changes. */
static int
learn_and_note(struct ctl *c, unsigned n, struct err *e)
{
	struct err	other;

	if (store_learn(c->store, e) == 0)
		return audit_note(c, n, e);
	audit_note(c, n, &other);
	return -1;
}

/* The whole text: what is missing, and the procedures. */
static int
create_all(struct ctl *c, struct err *e)
{
	struct buf	text = { 0 };
	int		rc = schema_render(c->conf, &text, e);

	if (rc == 0 && !c->args.dry_run)
		rc = schema_run_all(c, text.data, e);
	buf_free(&text);
	return rc;
}

static int
install(struct ctl *c, unsigned n, struct err *e)
{
	int	rc = create_all(c, e);

	if (rc == 0 && !c->args.dry_run && c->args.trigger)
		rc = trigger_install(c, e);
	if (rc < 0 || c->args.dry_run)
		return rc;
	return learn_and_note(c, n, e) < 0 ? -1 : fan_out_register(c, e);
}

/* The text expects columns that upgrade adds to tables of a former version. */
static int
refuse_install(struct ctl *c, const struct err *e)
{
	if (strstr(e->text, "(1054)") == NULL)
		return ctl_fail(c, e);
	return ctl_refuse("outboxctl schema upgrade adds what these older "
	    "tables lack; then repeat this command", "%s", e->text);
}

int
schema_install(struct ctl *c)
{
	bool		missing[NTABLES];
	struct buf	names = { 0 };
	struct err	e;
	unsigned	n;
	int		status = CTL_DONE;

	if (read_missing(c, missing, &e) < 0)
		return ctl_fail(c, &e);
	n = list_missing(c, missing, &names);
	if (c->args.trigger) {
		buf_printf(&names, "%s the trigger on %s",
		    n > 0 ? "," : ", but", store_table_name(c->store,
		    T_EVENTS));
		n++;
	}
	if (install(c, n, &e) < 0)
		status = refuse_install(c, &e);
	else
		print_done(c, n, "%s %s.",
		    c->args.dry_run ? "Would create" : "Created", names.data);
	buf_free(&names);
	return status;
}

static const char *const levels[] = { "note", "warn", "fail" };
#define NLEVELS	((int)(sizeof(levels) / sizeof(levels[0])))

/* The statement that is tried first; the caller frees. */
static char *
remedy_of(const struct schema_finding *f)
{
	return xasprintf("%s%s", f->sql, schema_ways[f->way]);
}

/* The statement that makes a table is long; what follows it is not. */
static char *
short_remedy(const struct schema_finding *f, bool whole)
{
	const char	*rest = strchr(f->sql, ';');

	if (whole || strncasecmp(f->sql, "CREATE TABLE ", 13) != 0)
		return remedy_of(f);
	return xasprintf("outboxctl schema upgrade, which shows the CREATE "
	    "TABLE with --dry-run%s", rest == NULL ? "" : rest);
}

static void
print_finding(const struct schema_finding *f, bool whole)
{
	char	*remedy = short_remedy(f, whole);

	display_print(stdout, "%s: %s: %s%s%s\n", levels[f->level], f->what, f->cost,
	    remedy[0] == '\0' ? "" : "; remedy: ", remedy);
	free(remedy);
}

static json_t *
finding_json(const struct schema_finding *f)
{
	char	*remedy = remedy_of(f);
	json_t	*row = json_pack("{s:s, s:s, s:s, s:s, s:b}", "level",
	    levels[f->level], "what", f->what, "cost", f->cost, "remedy",
	    remedy, "upgrade", !f->by_hand);

	free(remedy);
	return row;
}

/* "8 must, 12 should, 1 may: outboxctl schema upgrade does 20 of them" */
static void
print_summary(const struct ctl *c, const struct schema_report *r)
{
	static const char *const	 words[] = { "may", "should", "must" };
	unsigned			 n[NLEVELS] = { 0 }, done = 0;
	const char			*comma = "";
	struct buf			 remedy = { 0 };

	for (size_t i = 0; i < r->n; i++) {
		n[r->findings[i].level]++;
		done += !r->findings[i].by_hand;
	}
	if (n[SCHEMA_FAIL] + n[SCHEMA_WARN] == 0)
		return;
	for (int level = NLEVELS - 1; level >= 0; level--) {
		if (n[level] == 0)
			continue;
		display_print(stdout, "%s%u %s", comma, n[level], words[level]);
		comma = ", ";
	}
	command_file_put(&remedy, done == 0 ? "each line has its remedy" :
	    "outboxctl schema upgrade does ", c->path);
	display_print(stdout, ": %s", remedy.data);
	buf_free(&remedy);
	if (done > 0 && done < r->n)
		display_print(stdout, "%u of ", done);
	display_print(stdout, "%s\n", done == 0 ? "" : r->n == 1 ? "it" :
	    "them");
}

/* Changes without which the daemon cannot run, or loses rows. */
static bool
is_left(const struct schema_finding *f)
{
	return f->by_hand && f->level == SCHEMA_FAIL && f->sql[0] != '\0' &&
	    strncmp(f->sql, "GRANT ", 6) != 0;
}

/* Print all findings, or only those that upgrade corrects or names. */
static void
print_report(const struct ctl *c, const struct schema_report *r, bool all)
{
	static const char *const	 columns[] = { NULL };
	json_t				*rows = json_array();

	for (size_t i = 0; i < r->n; i++)
		if (!all && r->findings[i].by_hand &&
		    !(c->args.json && is_left(&r->findings[i])))
			continue;
		else if (c->args.json)
			json_array_append_new(rows,
			    finding_json(&r->findings[i]));
		else
			print_finding(&r->findings[i], !all);
	print_rows(c, columns, rows);
}

int
schema_check(struct ctl *c)
{
	struct schema_report	r;
	struct err		e;
	int			status = CTL_DONE;

	if (schema_compare(c, &r, &e) < 0) {
		schema_report_free(&r);
		return ctl_fail(c, &e);
	}
	if (!c->args.json)
		print_summary(c, &r);
	print_report(c, &r, true);
	for (size_t i = 0; i < r.n; i++)
		if (r.findings[i].level == SCHEMA_FAIL)
			status = CTL_FAILED;
	schema_report_free(&r);
	return status;
}

/*
 * Try the ways that do not block other sessions first.  The server refuses a
 * way before it begins; if a right is missing, the last way fails, too.
 */
static int
apply_fix(struct ctl *c, const struct schema_finding *f, struct err *e)
{
	struct err	 other;
	char		*sql;
	int		 rc = -1;

	if (f->trigger)
		return trigger_install(c, e);
	if (f->procedures)
		return create_all(c, e);
	if (f->fan_out)
		return store_learn(c->store, e) < 0 ? -1 :
		    fan_out_register(c, e);
	for (enum schema_way way = f->way; rc < 0 && way < NWAYS; way++) {
		if (way == ALTER_PLAIN && f->way != ALTER_PLAIN)
			display_print(stderr, "outboxctl: %s: the table has to be "
			    "locked for it: %s\n", f->what, e->text);
		sql = xasprintf("%s%s", f->sql, schema_ways[way]);
		rc = schema_run_all(c, sql, e);
		free(sql);
		if (rc < 0 && store_fault(c->store) != DB_WRONG)
			break;
	}
	if (rc < 0 && f->undo != NULL)
		(void)schema_run_all(c, f->undo, &other);
	return rc;
}

/* Make the changes; *n: how many of them. */
static int
apply_fixes(struct ctl *c, const struct schema_report *r, unsigned *n,
    struct err *e)
{
	int	rc = 0;

	for (size_t i = 0; rc == 0 && i < r->n; i++)
		if (!r->findings[i].by_hand &&
		    (rc = apply_fix(c, &r->findings[i], e)) == 0)
			++*n;
	return rc;
}

/* While something is left that it cannot run without, reading it may fail. */
static int
apply_and_note(struct ctl *c, const struct schema_report *r, unsigned left,
    unsigned *n, struct err *e)
{
	int		rc = apply_fixes(c, r, n, e);
	struct err	other;

	if (*n == 0)
		return rc;
	if (rc < 0 || left > 0) {
		store_learn(c->store, &other);
		return audit_note(c, *n, rc < 0 ? &other : e) < 0 ? -1 : rc;
	}
	return learn_and_note(c, *n, e);
}

static void
print_left(const struct schema_report *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (is_left(&r->findings[i]))
			print_finding(&r->findings[i], true);
}

/* What was done and what is left. */
static void
print_rest(const struct ctl *c, const struct schema_report *r, unsigned n)
{
	json_t	*rows = json_array();

	if (!c->args.json) {
		display_print(stdout, "%u change%s made; left to the operator:\n", n,
		    n == 1 ? "" : "s");
		print_left(r);
		json_decref(rows);
		return;
	}
	for (size_t i = 0; i < r->n; i++)
		if (is_left(&r->findings[i]))
			json_array_append_new(rows,
			    finding_json(&r->findings[i]));
	print_object(c, json_pack("{s:I, s:b, s:o}", "changed", (json_int_t)n,
	    "dry_run", 0, "left", rows));
}

static void
print_plan(const struct ctl *c, const struct schema_report *r, unsigned left)
{
	print_report(c, r, false);
	if (left > 0 && !c->args.json) {
		display_print(stdout, "Left to the operator:\n");
		print_left(r);
	}
}

/* What it would do, and to how many rows. */
struct plan {
	unsigned	n, left;
	uint64_t	nrows;
};

static struct plan
plan_of(const struct schema_report *r)
{
	struct plan	p = { 0 };

	for (size_t i = 0; i < r->n; i++) {
		const struct schema_finding *f = &r->findings[i];

		p.left += is_left(f);
		p.n += !f->by_hand;
		if (!f->by_hand && f->nrows > p.nrows)
			p.nrows = f->nrows;
	}
	return p;
}

static int
upgrade(struct ctl *c, const struct schema_report *r)
{
	struct plan	p = plan_of(r);
	int		status = p.left > 0 ? CTL_FAILED : CTL_DONE;
	unsigned	n = 0;
	struct err	e;

	if (c->args.dry_run && (p.n + p.left > 0 || c->args.json)) {
		print_plan(c, r, p.left);
		return status;
	}
	if (p.n > 0 && p.nrows > CTL_MANY && !ctl_confirm_impact(c, "%s would "
	    "be made, to tables of up to %s", COUNTED(p.n, "change"),
	    COUNTED(p.nrows, "row")))
		return CTL_FAILED;
	if (apply_and_note(c, r, p.left, &n, &e) < 0)
		return ctl_fail(c, &e);
	if (p.left > 0)
		print_rest(c, r, n);
	else
		print_done(c, n, n == 0 ? "Nothing to upgrade." :
		    "%u change%s made; reload the daemon, so that it uses "
		    "them.", n, n == 1 ? "" : "s");
	return status;
}

int
schema_upgrade(struct ctl *c)
{
	struct schema_report	r = { 0 };
	struct err		e;
	int			status;

	status = schema_compare(c, &r, &e) < 0 ? ctl_fail(c, &e) :
	    upgrade(c, &r);
	schema_report_free(&r);
	return status;
}
