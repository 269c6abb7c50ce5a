/* schema.c - schema print, install, check and upgrade */

#include "ctl/schema/schema_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/command_file.h"
#include "util/display.h"
#include "util/xalloc.h"

int
schema_print(struct ctl *c)
{
	struct buf	text = { 0 };
	struct err	e;
	int		rc;

	if (c->args.trigger && c->args.grants)
		return ctl_misuse("--trigger or --grants, not both");
	if (c->args.trigger)
		rc = trigger_render(c->conf, &text, &e);
	else if (c->args.grants)
		rc = schema_put_all_grants(c->conf, &text, &e);
	else
		rc = schema_render(c->conf, &text, &e);
	if (rc < 0) {
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

/* "a, b": the tables that are not there, or not to be seen */
static int
list_missing(struct ctl *c, struct buf *to, unsigned *n, struct err *e)
{
	struct schema_model	live;
	int			rc = schema_read_live(c, &live, e);

	*n = 0;
	for (enum store_table t = 0; rc == 0 && t < NTABLES; t++)
		if (schema_is_used(c, t) && live.tables[t].engine == NULL)
			buf_printf(to, "%s%s", (*n)++ == 0 ? "" : ", ",
			    store_table_name(c->store, t));
	if (*n == 0)
		buf_str(to, "nothing: no table is missing");
	schema_model_free(&live);
	return rc;
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

int
schema_install(struct ctl *c)
{
	bool		dry_run = c->args.dry_run;
	struct buf	names = { 0 };
	struct err	e;
	unsigned	n;
	int		rc, status = CTL_DONE;

	if (list_missing(c, &names, &n, &e) < 0) {
		buf_free(&names);
		return ctl_fail(c, &e);
	}
	if (c->args.trigger) {
		buf_printf(&names, "%s the trigger on %s",
		    n > 0 ? "," : ", but", store_table_name(c->store,
		    T_EVENTS));
		n++;
	}

	rc = create_all(c, &e);
	if (rc == 0 && !dry_run && c->args.trigger)
		rc = trigger_install(c, &e);
	if (rc == 0 && !dry_run && (rc = learn_and_note(c, n, &e)) == 0)
		rc = fan_out_register(c, &e);

	if (rc == 0)
		print_done(c, n, "%s %s.",
		    dry_run ? "Would create" : "Created", names.data);
	else if (strstr(e.text, "(1054)") == NULL)
		status = ctl_fail(c, &e);
	else	/* the text expects columns of this version */
		status = ctl_refuse("outboxctl schema upgrade adds what these "
		    "older tables lack; then repeat this command", "%s",
		    e.text);
	buf_free(&names);
	return status;
}

static const char *const levels[] = { "note", "warn", "fail" };
#define NLEVELS	((int)(sizeof(levels) / sizeof(levels[0])))

/*
 * The statement that is tried first; the caller frees.  The one that makes a
 * table is long; what follows it is not.
 */
static char *
remedy_of(const struct schema_finding *f, bool whole)
{
	const char	*rest = strchr(f->sql.data, ';');

	if (whole || strncasecmp(f->sql.data, "CREATE TABLE ", 13) != 0)
		return xasprintf("%s%s", f->sql.data, schema_ways[f->way]);
	return xasprintf("outboxctl schema upgrade, which shows the CREATE "
	    "TABLE with --dry-run%s", rest == NULL ? "" : rest);
}

/* What upgrade does with a finding, as bits: a list has several kinds. */
enum kind {
	DOES = 1,
	LEAVES = 2,	/* without it the daemon cannot run, or loses rows */
	IGNORES = 4,
	ALL = DOES | LEAVES | IGNORES
};

static enum kind
kind_of(const struct schema_finding *f)
{
	if (f->by != BY_HAND)
		return DOES;
	return f->level == SCHEMA_FAIL && f->sql.len > 0 &&
	    strncmp(f->sql.data, "GRANT ", 6) != 0 ? LEAVES : IGNORES;
}

static void
print_findings(const struct schema_report *r, unsigned kinds, bool whole)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct schema_finding	*f = &r->findings[i];
		char				*remedy;

		if ((kind_of(f) & kinds) == 0)
			continue;
		remedy = remedy_of(f, whole);
		display_print(stdout, "%s: %s: %s%s%s\n", levels[f->level],
		    f->what.data, f->cost.data,
		    remedy[0] == '\0' ? "" : "; remedy: ", remedy);
		free(remedy);
	}
}

static json_t *
findings_json(const struct schema_report *r, unsigned kinds)
{
	json_t	*rows = json_array();

	for (size_t i = 0; i < r->n; i++) {
		const struct schema_finding	*f = &r->findings[i];
		char				*remedy;

		if ((kind_of(f) & kinds) == 0)
			continue;
		remedy = remedy_of(f, true);
		json_array_append_new(rows, json_pack(
		    "{s:s, s:s, s:s, s:s, s:b}", "level", levels[f->level],
		    "what", f->what.data, "cost", f->cost.data, "remedy",
		    remedy, "upgrade", kind_of(f) == DOES));
		free(remedy);
	}
	return rows;
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
		done += kind_of(&r->findings[i]) == DOES;
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
	if (c->args.json)
		print_object(c, findings_json(&r, ALL));
	else {
		print_summary(c, &r);
		print_findings(&r, ALL, false);
	}
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

	if (f->by == BY_TRIGGER)
		return trigger_install(c, e);
	if (f->by == BY_PROCEDURES)
		return create_all(c, e);
	if (f->by == BY_REGISTRY)
		return store_learn(c->store, e) < 0 ? -1 :
		    fan_out_register(c, e);
	for (enum schema_way way = f->way; rc < 0 && way < NWAYS; way++) {
		if (way == ALTER_PLAIN && f->way != ALTER_PLAIN)
			display_print(stderr, "outboxctl: %s: the table has to be "
			    "locked for it: %s\n", f->what.data, e->text);
		sql = xasprintf("%s%s", f->sql.data, schema_ways[way]);
		rc = schema_run_all(c, sql, e);
		free(sql);
		if (rc < 0 && store_fault(c->store) != DB_WRONG)
			break;
	}
	if (rc < 0 && f->undo.len > 0)
		(void)schema_run_all(c, f->undo.data, &other);
	return rc;
}

/*
 * Make the changes; *n: how many of them.  While something is left that the
 * daemon cannot run without, reading the schema again may fail.
 */
static int
apply_and_note(struct ctl *c, const struct schema_report *r, unsigned left,
    unsigned *n, struct err *e)
{
	struct err	other;
	int		rc = 0;

	for (size_t i = 0; rc == 0 && i < r->n; i++)
		if (kind_of(&r->findings[i]) == DOES &&
		    (rc = apply_fix(c, &r->findings[i], e)) == 0)
			++*n;
	if (*n == 0)
		return rc;
	if (rc < 0 || left > 0) {
		store_learn(c->store, &other);
		return audit_note(c, *n, rc < 0 ? &other : e) < 0 ? -1 : rc;
	}
	return learn_and_note(c, *n, e);
}

static int
upgrade(struct ctl *c, const struct schema_report *r)
{
	unsigned	planned = 0, left = 0, n = 0;
	uint64_t	nrows = 0;
	struct err	e;
	int		status;

	for (size_t i = 0; i < r->n; i++) {
		const struct schema_finding *f = &r->findings[i];

		left += kind_of(f) == LEAVES;
		planned += kind_of(f) == DOES;
		if (kind_of(f) == DOES && f->nrows > nrows)
			nrows = f->nrows;
	}
	status = left > 0 ? CTL_FAILED : CTL_DONE;
	if (c->args.dry_run && c->args.json) {
		print_object(c, findings_json(r, DOES | LEAVES));
		return status;
	}
	if (c->args.dry_run && planned + left > 0) {
		print_findings(r, DOES, true);
		if (left > 0) {
			display_print(stdout, "Left to the operator:\n");
			print_findings(r, LEAVES, true);
		}
		return status;
	}

	if (planned > 0 && nrows > CTL_MANY && !ctl_confirm_impact(c, "%s "
	    "would be made, to tables of up to %s", COUNTED(planned, "change"),
	    COUNTED(nrows, "row")))
		return CTL_FAILED;
	if (apply_and_note(c, r, left, &n, &e) < 0)
		return ctl_fail(c, &e);

	if (left == 0)
		print_done(c, n, n == 0 ? "Nothing to upgrade." :
		    "%u change%s made; reload the daemon, so that it uses "
		    "them.", n, n == 1 ? "" : "s");
	else if (c->args.json)
		print_object(c, json_pack("{s:I, s:b, s:o}", "changed",
		    (json_int_t)n, "dry_run", 0, "left",
		    findings_json(r, LEAVES)));
	else {
		display_print(stdout, "%u change%s made; left to the "
		    "operator:\n", n, n == 1 ? "" : "s");
		print_findings(r, LEAVES, true);
	}
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
