/*
 * fan_out.c - several outboxes over the same events
 *
 * Each has its row in the registry.  The procedures of schema.sql read from
 * there which tables get a row for an event, and from the settings of each
 * which types it takes and what its partitions are computed of.  So they stay
 * as they are when an outbox is added, by whichever configuration.
 */

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include "ctl/schema/schema_impl.h"
#include "util/xalloc.h"

#define TYPES_MAX	4000	/* characters of settings.types */

/*
 * The patterns, such as "order.*", as one regular expression; both servers read
 * a backslash as we do.  "." is any character, also a line feed, and the whole
 * text has to match.
 */
static int
put_types(const struct conf_list *types, struct buf *to, struct err *e)
{
	for (size_t i = 0; i < types->n; i++) {
		buf_str(to, i == 0 ? "(?s)\\A(" : "|");
		for (const char *p = types->items[i]; *p != '\0'; p++) {
			if (*p == '*')
				buf_str(to, ".");
			else if (ispunct((unsigned char)*p))
				buf_str(to, "\\");
			buf_add(to, p, 1);
		}
	}
	buf_str(to, types->n == 0 ? "" : ")\\z");
	return to->len <= TYPES_MAX ? 0 : err_set(e, "publish.types: as a "
	    "regular expression they are longer than %d characters: take "
	    "fewer patterns", TYPES_MAX);
}

/* Outboxes over the same events, the configured one among them or not. */
struct peers {
	char	(*names)[DB_NAME_SIZE], (*settings)[DB_NAME_SIZE];
	size_t	  n;
	bool	  listed;	/* the configured one is among them */
	bool	  right;	/* and its row is as it should be */
};

static void
free_peers(struct peers *p)
{
	free(p->names);
	free(p->settings);
}

static int
read_peers(struct ctl *c, struct peers *p, struct err *e)
{
	struct store	*s = c->store;
	char		 destination[CONF_DESTINATION];
	struct db_rows	*rows;

	*p = (struct peers){ 0 };
	store_sql(s, "SELECT name, settings, destination "
	    "FROM {registry} WHERE source = :events ORDER BY name",
	    SQL_TEXT("events", store_table_name(s, T_EVENTS)));
	if ((rows = store_query(s, c->command->words, e)) == NULL)
		return -1;
	p->names = xcalloc(db_nrows(rows) + 1, sizeof(*p->names));
	p->settings = xcalloc(db_nrows(rows) + 1, sizeof(*p->settings));
	for (; db_next(rows); p->n++) {
		strlcpy(p->names[p->n], db_text(rows, 0), DB_NAME_SIZE);
		strlcpy(p->settings[p->n], db_text(rows, 1), DB_NAME_SIZE);
		if (strcmp(p->names[p->n], store_table_name(s, T_OUTBOX)) != 0)
			continue;
		p->listed = true;
		p->right = strcmp(db_text(rows, 1),
		    store_table_name(s, T_SETTINGS)) == 0 &&
		    strcmp(db_text(rows, 2),
		    conf_destination(c->conf, destination)) == 0;
	}
	db_rows_free(rows);
	return 0;
}

/*
 * What is registered
 */

/* As the procedure reads it; "": the key. */
static const char *
wanted_by(const struct conf *conf)
{
	return conf_partitions_by_key(conf) ? "" :
	    conf_column(conf, conf->outbox.partition_by);
}

static int
put_settings(struct ctl *c, void *arg, struct err *e)
{
	struct buf	types = { 0 };
	int		rc = put_types(&c->conf->publish.types, &types, e);

	(void)arg;
	if (rc == 0) {
		store_sql(c->store, "UPDATE {settings} "
		    "SET types = NULLIF(:types, ''), "
		    "partition_by = NULLIF(:by, '') WHERE id = 1",
		    SQL_TEXT("types", types.data),
		    SQL_TEXT("by", wanted_by(c->conf)));
		rc = store_exec(c->store, c->command->words, NULL, e);
	}
	buf_free(&types);
	return rc;
}

/*
 * With one partition every value makes the same label.  With several the rows
 * that wait, and those of transactions that are open, would be of another
 * partition than the next ones of their keys.
 */
static int
refuse_other_value(struct ctl *c, struct err *e)
{
	const char	*by = wanted_by(c->conf);
	bool		 differs, used = true;

	store_sql(c->store, "SELECT 1 FROM {settings} WHERE id = 1 AND "
	    "COALESCE(partition_by, '') <> :by "
	    "AND (COALESCE(partition_count, 1) > 1 "
	    "OR former_counts IS NOT NULL)", SQL_TEXT("by", by));
	if (store_query_any(c->store, c->command->words, &differs, e) < 0)
		return -1;
	if (!differs)
		return 0;
	store_sql(c->store, "SELECT 1 FROM {outbox} LIMIT 1");
	if (store_query_any(c->store, c->command->words, &used, e) < 0)
		return -1;
	return !used ? 0 : err_set(e, "outbox.partition_by is not what the rows "
	    "of %s have their labels of, and keys would lose their order: "
	    "change to one partition first, and finish that: see PARTITIONS "
	    "BY ANOTHER VALUE in outboxctl(1)",
	    store_table_name(c->store, T_OUTBOX));
}

static int
refuse_no_column(struct ctl *c, struct err *e)
{
	const char	*by = wanted_by(c->conf);
	bool		 there;

	if (by[0] == '\0' || strncmp(by, "$.", 2) == 0)
		return 0;
	store_sql(c->store, "SELECT 1 FROM information_schema.columns "
	    "WHERE table_schema = DATABASE() AND table_name = :events "
	    "AND column_name = :by",
	    SQL_TEXT("events", store_table_name(c->store, T_EVENTS)),
	    SQL_TEXT("by", by));
	if (store_query_any(c->store, c->command->words, &there, e) < 0)
		return -1;
	return there ? 0 : err_set(e, "outbox.partition_by: %s has no column "
	    "%s", store_table_name(c->store, T_EVENTS), by);
}

static int
write_registry(struct ctl *c, void *arg, struct err *e)
{
	struct store	*s = c->store;
	char		 destination[CONF_DESTINATION];
	struct peers	 p;
	int		 rc = 0;

	(void)arg;
	store_sql(s, "REPLACE INTO {registry} (name, source, settings, "
	    "destination) VALUES (:outbox, :events, :settings, :destination)",
	    SQL_TEXT("outbox", store_table_name(s, T_OUTBOX)),
	    SQL_TEXT("events", store_table_name(s, T_EVENTS)),
	    SQL_TEXT("settings", store_table_name(s, T_SETTINGS)),
	    SQL_TEXT("destination", conf_destination(c->conf, destination)));
	if (store_exec(s, c->command->words, NULL, e) < 0 ||
	    put_settings(c, NULL, e) < 0 || read_peers(c, &p, e) < 0)
		return -1;
	for (size_t i = 0; rc == 0 && i < p.n; i++) {
		store_sql(s, "UPDATE :settings SET fan_out = :flag "
		    "WHERE id = 1", SQL_NAME("settings", p.settings[i]),
		    SQL_NUMBER("flag", p.n > 1));
		rc = store_exec(s, c->command->words, NULL, e);
	}
	free_peers(&p);
	return rc;
}

int
fan_out_register(struct ctl *c, struct err *e)
{
	unsigned	count = (unsigned)c->conf->outbox.partition_count;
	struct peers	p;
	bool		joins;

	if (store_is_pillar(c->store))
		return 0;
	if (refuse_no_column(c, e) < 0 || refuse_other_value(c, e) < 0)
		return -1;
	if (store_is_inline(c->store))
		return ctl_transaction(c, put_settings, NULL, e);
	if (read_peers(c, &p, e) < 0)
		return -1;
	joins = !p.listed && p.n > 0;
	free_peers(&p);
	/* From now on producers need its partition count. */
	if (joins && (fan_out_refuse(c, e) < 0 ||
	    store_settings(c->store, &count, e) < 0))
		return -1;
	return ctl_transaction(c, write_registry, NULL, e);
}

/*
 * What is to be corrected
 */

/* With "outbox" as a name: its procedure is older, or its trigger is there. */
static void
put_routine_names(struct store *s, const struct peers *p, const char *suffix)
{
	for (size_t i = 0; i < p->n; i++) {
		char *name = xasprintf("%s%s", p->names[i], suffix);

		store_put_comma(s);
		store_put(s, ":name", SQL_TEXT("name", name));
		free(name);
	}
}

/* Procedures that fill only their own outbox, as far as they can be seen. */
static int
check_procedures(struct check *k, const struct peers *p, struct err *e)
{
	struct store	*s = k->ctl->store;
	struct db_rows	*rows;
	char		*about;

	store_sql(s, "SELECT routine_name FROM information_schema.routines "
	    "WHERE routine_schema = DATABASE() "
	    "AND routine_definition NOT LIKE '%outbox_filled%' "
	    "AND routine_name IN (:names)",
	    SQL_PUT("names", s, put_routine_names(s, p, "_enqueue")));
	if ((rows = store_query(s, k->ctl->command->words, e)) == NULL)
		return -1;
	while (db_next(rows)) {
		about = xasprintf("procedure %s", db_text(rows, 0));
		schema_find_about(k, T_OUTBOX, about, SCHEMA_FAIL,
		    "events that it enqueues get a row in its own outbox only; "
		    "outboxctl schema install with the configuration of that "
		    "one replaces it; on MySQL DROP PROCEDURE first, and load "
		    "its grants afterwards",
		    "it is older than the registry");
		free(about);
	}
	db_rows_free(rows);
	return 0;
}

/* A trigger for one outbox only: events by INSERT go to that one alone. */
static int
check_triggers(struct check *k, const struct peers *p, struct err *e)
{
	struct store	*s = k->ctl->store;
	char		*own = xasprintf("%s_after_event",
			    schema_name(k, T_OUTBOX));
	char		 others[DB_NAME_SIZE];
	uint64_t	 mine = 0;
	int		 rc;

	store_sql(s, "SELECT MIN(trigger_name) "
	    "FROM information_schema.triggers WHERE trigger_schema = "
	    "DATABASE() AND trigger_name IN (:names)",
	    SQL_PUT("names", s, put_routine_names(s, p, "_after_event")));
	rc = store_query_text(s, k->ctl->command->words, others,
	    sizeof(others), e);
	store_sql(s, "SELECT COUNT(*) FROM information_schema.triggers "
	    "WHERE trigger_schema = DATABASE() AND trigger_name = :own",
	    SQL_TEXT("own", own));
	if (rc == 0)
		rc = store_query_number(s, k->ctl->command->words, &mine, e);
	if (rc == 0 && others[0] != '\0' && mine == 0)
		schema_find(k, T_EVENTS, SCHEMA_WARN, "events that are not "
		    "written by outbox_enqueue get a row there, and none "
		    "here; outboxctl schema install --trigger creates one",
		    "there is a trigger %s, and no %s", others, own);
	free(own);
	return rc;
}

static int
check_peers(struct check *k, const struct peers *p, struct err *e)
{
	struct ctl	*c = k->ctl;
	const char	*about = schema_name(k, T_OUTBOX);
	bool		 flagged = true, same_types = true;
	struct schema_finding *f = NULL;
	struct buf	 types = { 0 };
	struct db_rows	*rows;

	if (put_types(&c->conf->publish.types, &types, e) < 0) {
		buf_free(&types);
		return -1;
	}
	store_sql(c->store, "SELECT fan_out = 1, COALESCE(types, '') = :types "
	    "FROM {settings} WHERE id = 1", SQL_TEXT("types", types.data));
	buf_free(&types);
	if ((rows = store_query(c->store, c->command->words, e)) == NULL)
		return -1;
	if (db_next(rows)) {
		flagged = db_u64(rows, 0) != 0;
		same_types = db_u64(rows, 1) != 0;
	}
	db_rows_free(rows);

	if (!p->listed || !flagged)
		f = schema_find_about(k, T_REGISTRY, about, SCHEMA_FAIL,
		    "other outboxes take the same events, and this one gets no "
		    "rows from outbox_enqueue", "%s", !p->listed ?
		    "it is not in the registry" :
		    "fan_out of its settings is not 1");
	else if (!same_types)
		f = schema_find_about(k, T_REGISTRY, about, SCHEMA_WARN,
		    "outbox_enqueue makes rows for other types than "
		    "publish.types", "types of its settings differ");
	else if (!p->right)
		f = schema_find_about(k, T_REGISTRY, about, SCHEMA_WARN,
		    "status of the other outboxes shows what it was",
		    "its row of the registry differs");
	if (f != NULL)
		f->by = BY_REGISTRY;
	return check_procedures(k, p, e) < 0 ? -1 : check_triggers(k, p, e);
}

int
fan_out_check(struct check *k, struct err *e)
{
	const struct schema_table *settings = &k->live.tables[T_SETTINGS];
	struct ctl	*c = k->ctl;
	char		 by[256], other[DB_NAME_SIZE];
	struct peers	 p;
	int		 rc;

	if (!schema_has(k, T_SETTINGS) ||
	    schema_column_of(settings, "fan_out") == NULL ||
	    schema_column_of(settings, "partition_by") == NULL)
		return 0;
	/* Labels of the daemon and of producers must be of the same value. */
	store_sql(c->store, "SELECT COALESCE(partition_by, '') "
	    "FROM {settings} WHERE id = 1");
	if (store_query_text(c->store, c->command->words, by, sizeof(by),
	    e) < 0)
		return -1;
	if (strcmp(by, wanted_by(c->conf)) != 0)
		schema_find(k, T_SETTINGS, SCHEMA_FAIL, "the daemon refuses to "
		    "run; outboxctl schema install writes the one of the file",
		    "partition_by is \"%s\", and outbox.partition_by \"%s\"",
		    by, c->conf->outbox.partition_by);

	if (store_is_inline(c->store) || !schema_has(k, T_REGISTRY))
		return 0;
	if (read_peers(c, &p, e) < 0)
		return store_fault(c->store) == DB_WRONG ? 0 : -1;
	if (p.n - p.listed > 0) {
		rc = check_peers(k, &p, e);
		free_peers(&p);
		return rc;
	}
	free_peers(&p);
	/* Another outbox, from before the registry or by another file. */
	if (store_unregistered(c->store, other, e) < 0)
		return -1;
	if (other[0] != '\0')
		schema_find(k, T_REGISTRY, SCHEMA_WARN, "if it takes the same "
		    "events, enqueuing fills only one of the two; run "
		    "outboxctl schema install with the configuration of that "
		    "outbox", "the outbox of %s is not in it", other);
	return 0;
}
