/*
 * schema_grants.c - the GRANTs of sql/grants.sql and sql/operator.sql, for the
 * configured tables and mode
 */

#include "ctl/schema/schema_impl.h"

#include <stdlib.h>
#include <string.h>

#include "util/xalloc.h"

/* Of an outbox row a producer may only write these. */
static const char	pointer_columns[] = "(global_sequence, partition_key)";
static const char	inline_columns[] = "(message_id, topic, order_key, "
			    "partition_key, headers, payload, content_type, "
			    "scheduled_at)";

/* With outbox.mode: inline there is no table of events; is this one there? */
static bool
has_object(const struct conf *conf, const char *sql)
{
	if (conf->outbox.mode != MODE_INLINE)
		return true;
	if (strstr(sql, "outbox_registry") != NULL ||
	    strstr(sql, "outbox_put") != NULL)
		return false;
	/* The columns of an application's own table are its own matter. */
	if (strstr(sql, " ON PROCEDURE outbox_enqueue ") != NULL ||
	    strstr(sql, pointer_columns) != NULL)
		return conf->outbox.columns.n == 0;
	return strstr(sql, " ON PROCEDURE ") == NULL &&
	    strstr(sql, " ON events ") == NULL &&
	    strstr(sql, " ON events\n") == NULL;
}

/* Columns of the events and the outbox, as the tables call them. */
static void
put_mapped_columns(const struct conf *conf, const char *text, struct buf *to)
{
	bool	mapped = conf->outbox.columns.n > 0 &&
		    (strstr(text, " ON events") != NULL ||
		    strstr(text, " ON outbox\n") != NULL ||
		    strstr(text, " ON outbox ") != NULL);
	bool	inside = false;
	char	*word;
	size_t	n;

	for (; *text != '\0'; text += n) {
		n = strcspn(text, "(), \n");
		word = xstrndup(text, n);
		if (inside && mapped && strcmp(conf_column(conf, word),
		    word) != 0)
			db_name(to, conf_column(conf, word));
		else
			buf_str(to, word);
		free(word);
		text += n;
		inside = *text == '(' || (inside && *text != ')');
		n = *text != '\0';
		buf_add(to, text, n);
	}
}

int
schema_put_grants(const struct conf *conf, const struct schema_grants *g,
    struct buf *to, struct err *e)
{
	struct schema_walk	 walk = { .at = g->file, .delimiter = ";" };
	struct buf		 sql = { 0 };
	char			*account, *at;
	int			 rc = 0;

	while (rc == 0 && schema_next(&walk, &sql)) {
		struct buf	rights = { 0 };

		account = strstr(sql.data, g->shipped);
		if (account == NULL || !has_object(conf, sql.data))
			continue;
		*account = '\0';
		at = conf->outbox.mode != MODE_INLINE ? NULL :
		    strstr(sql.data, pointer_columns);
		if (at != NULL)
			buf_printf(&rights, "%.*s%s%s", (int)(at - sql.data),
			    sql.data, inline_columns,
			    at + strlen(pointer_columns));
		else
			put_mapped_columns(conf, sql.data, &rights);
		rc = schema_put_text(conf, rights.data, to, e);
		buf_printf(to, "%s%s;\n", g->account,
		    account + strlen(g->shipped));
		buf_free(&rights);
	}
	buf_free(&sql);
	return rc;
}

static int
put_shipped(const struct conf *conf, const char *file, const char *account,
    struct buf *to, struct err *e)
{
	const struct schema_grants	g = { file, account, account };

	return schema_put_grants(conf, &g, to, e);
}

/*
 * The producer's come last: where an application has other accounts, a client
 * that stops at the first error has run the others by then.
 */
int
schema_put_all_grants(const struct conf *conf, struct buf *to, struct err *e)
{
	if (put_shipped(conf, schema_file_grants, "'outbox'@'localhost'", to,
	    e) < 0 || put_shipped(conf, schema_file_operator,
	    "'outbox_operator'@'localhost'", to, e) < 0)
		return -1;
	buf_str(to, "-- The producer: name the accounts of your application "
	    "in its place, and leave\n-- these out if there is none.\n");
	return put_shipped(conf, schema_file_grants,
	    "'outbox_producer'@'localhost'", to, e);
}
