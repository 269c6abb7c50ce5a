/*
 * enqueue.c - write events from a file with a line of JSON each
 *
 * A transaction begins after a whole batch was read, so none is open while the
 * program waits for input.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl/base/ctl.h"
#include "mysql/db.h"
#include "ctl/messages/event.h"
#include "util/display.h"
#include "util/xalloc.h"

#define BATCH_BYTES	(16 * 1024 * 1024)
#define RENUMBER	50	/* attempts to number an event */
#define PAUSE_MS	50	/* longest pause between them */
#define NONE		SIZE_MAX

struct line {
	char		*text;
	uint64_t	 number;
	struct event	 event;
	bool		 bad;
};

struct feed {
	struct ctl	*c;
	FILE		*in;
	uint64_t	 size, bytes;	/* of the file (0: unknown); read */
	uint64_t	 number;	/* of the last line read */
	char		*procedure;	/* its name; NULL: INSERTs instead */
	struct counts	 counts;

	struct line	*lines;		/* the batch */
	size_t		 n;
	size_t		 refused;	/* the server refused this line */

	uint64_t	 good, skipped;
	uint64_t	 last;		/* last line that is done */
	bool		 stopped;	/* at a bad line */
	struct progress	 bar;
};

/*
 * Set what the procedure sets: our trigger makes no rows then, those of other
 * outboxes do.  If another outbox is filled by the procedure alone, refuse.
 */
static int
do_without_procedure(struct feed *f, const char *name, struct err *e)
{
	struct store	*s = f->c->store;
	uint64_t	 fan_out = 0;

	if (!store_is_pillar(s)) {
		store_sql(s, "SELECT fan_out FROM {settings} WHERE id = 1");
		if (store_query_number(s, "enqueue", &fan_out, e) < 0)
			return -1;
	}
	if (fan_out != 0)
		return err_set(e, "procedure %s is missing, or may not be "
		    "executed, and without it other outboxes over the same "
		    "events get no rows: sql/operator.sql grants it", name);
	if (store_check_partition_by(s, e) < 0)
		return -1;
	store_sql(s, "SET @outbox_enqueuing = 1, @outbox_filled = :outbox",
	    SQL_TEXT("outbox", store_table_name(s, T_OUTBOX)));
	return store_exec(s, "enqueue", NULL, e);
}

/* Use the procedure if it exists and knows our tables. */
static int
find_procedure(struct feed *f, struct err *e)
{
	struct store	*s = f->c->store;
	const char	*outbox = store_table_name(s, T_OUTBOX);
	char		*name;
	bool		 there = false;
	int		 rc;

	if (store_is_inline(s))		/* one INSERT is all */
		return 0;
	name = xasprintf("%s_enqueue", outbox);
	store_sql(s, "SELECT 1 FROM information_schema.routines "
	    "WHERE routine_schema = DATABASE() "
	    "AND routine_type = 'PROCEDURE' AND routine_name = :name",
	    SQL_TEXT("name", name));
	rc = store_query_any(s, "enqueue", &there, e);
	/*
	 * schema install makes it for the tables of the configuration.  Before
	 * it was so, outbox_enqueue knew only the default names.
	 */
	if (rc == 0 && there && !store_is_pillar(s) &&
	    (strcmp(outbox, "outbox") != 0 ||
	    (strcmp(store_table_name(s, T_EVENTS), "events") == 0 &&
	    strcmp(store_table_name(s, T_SETTINGS), "outbox_settings") == 0))) {
		f->procedure = name;
		return 0;
	}
	if (rc == 0)
		rc = do_without_procedure(f, name, e);
	free(name);
	return rc;
}

/* The arguments that both ways share: from the type to the payload. */
static void
put_rest(struct store *s, const struct event *ev, struct sql no_version)
{
	store_put(s, ":type, :version, :correlation, :metadata, :payload",
	    SQL_TEXT("type", ev->type),
	    SQL_PART("version", ev->version == 0 ? no_version : SQL(":number")),
	    SQL_NUMBER("number", ev->version),
	    SQL_TEXT("correlation", ev->correlation),
	    SQL_BYTES("metadata", ev->metadata, ev->metadata_len),
	    SQL_EITHER("payload", ev->base64, "FROM_BASE64(:bytes)", ":bytes"),
	    SQL_BYTES("bytes", ev->payload, ev->payload_len));
}

static int
call(const struct feed *f, const struct event *ev, struct err *e)
{
	struct store	*s = f->c->store;

	store_sql(s, "CALL :procedure(:key, :stream_sequence, :rest)",
	    SQL_NAME("procedure", f->procedure), SQL_TEXT("key", ev->key),
	    SQL_EITHER("stream_sequence", ev->stream_sequence == 0, "NULL",
	    ":number"), SQL_NUMBER("number", ev->stream_sequence),
	    SQL_PUT("rest", s, put_rest(s, ev, SQL("NULL"))));
	return store_exec(s, "enqueue", NULL, e);
}

/*
 * With the next number of its stream, if none was given.  INSERT ... SELECT
 * would block all other writers of the sequence.
 */
static int
insert_event(struct ctl *c, const struct event *ev, struct err *e)
{
	struct store	*s = c->store;
	uint64_t	 number = ev->stream_sequence;

	if (number == 0) {
		store_sql(s, "SELECT COALESCE(MAX({stream_sequence}), 0) + 1 "
		    "FROM {events} WHERE {stream_id} = :key",
		    SQL_TEXT("key", ev->key));
		if (store_query_number(s, "enqueue", &number, e) < 0)
			return -1;
	}
	store_sql(s, "INSERT INTO {events} ({stream_id}, {stream_sequence}, "
	    "{event_type}, {event_version}, {correlation_id}, {metadata}, "
	    "{event_data}) VALUES (:key, :number, :rest)",
	    SQL_TEXT("key", ev->key), SQL_NUMBER("number", number),
	    SQL_PUT("rest", s, put_rest(s, ev, SQL("1"))));
	return store_exec(s, "enqueue", NULL, e);
}

/* Has the table the column, for this alone?  Two names may stand for one. */
static bool
has_own(const struct store *s, const char *word)
{
	return store_has_word(s, word) && strcasecmp(store_column_name(s,
	    word), store_column_name(s, "event_type")) != 0;
}

/*
 * With outbox.mode: inline: the row of a message, with the label of its key, or
 * of its id if it has no key.  Columns that the table lacks are left out.
 */
static int
insert_message(struct store *s, const struct event *ev,
    const struct counts *c, struct err *e)
{
	bool	key = has_own(s, "stream_id");
	bool	headers = has_own(s, "metadata");
	bool	content_type = has_own(s, "content_type");
	bool	time = has_own(s, "scheduled_at");
	bool	id = has_own(s, "message_id");

	/*
	 * The label of a message without a key is that of its id.  One without
	 * an id gets one: consumers and retries can tell it by that.
	 */
	store_sql(s, "INSERT INTO {outbox} ({event_type}, {event_data}"
	    ":stream_id:metadata:content_type:scheduled_at:message_id, "
	    "{partition_key}) SELECT :event_type, :event_data:key_value"
	    ":headers_value:content_type_value:time_value:id_value, :label "
	    "FROM (SELECT :names) AS x",
	    SQL_TEXT("event_type", ev->type),
	    SQL_EITHER("event_data", ev->base64, "FROM_BASE64(:payload)",
	    ":payload"),
	    SQL_BYTES("payload", ev->payload, ev->payload_len),
	    SQL_IF("stream_id", key, ", {stream_id}"),
	    SQL_IF("key_value", key, ", :key"), SQL_TEXT("key", ev->key),
	    SQL_IF("metadata", headers, ", {metadata}"),
	    SQL_IF("headers_value", headers, ", :headers"),
	    SQL_BYTES("headers", ev->metadata, ev->metadata_len),
	    SQL_IF("content_type", content_type, ", {content_type}"),
	    SQL_IF("content_type_value", content_type, ", :type"),
	    SQL_TEXT("type", ev->content_type),
	    SQL_IF("scheduled_at", time, ", {scheduled_at}"),
	    SQL_IF("time_value", time, ", :time"),
	    SQL_TEXT("time", ev->scheduled_at),
	    SQL_IF("message_id", id, ", {message_id}"),
	    SQL_IF("id_value", id, ", x.id"),
	    SQL_PUT("label", s, store_put_label(s, c, "x", SQL("x.name"))),
	    SQL_EITHER("names", ev->key != NULL, ":id AS id, :key AS name",
	    "y.id, y.id AS name FROM (SELECT :id AS id) AS y"),
	    SQL_EITHER("id", ev->id != NULL, ":own_id", "CAST(UUID() AS CHAR)"),
	    SQL_TEXT("own_id", ev->id));
	return store_exec(s, "enqueue", NULL, e);
}

static void
tell_refused(const struct line *l, const struct err *e)
{
	ctl_error("line %llu: %s", (unsigned long long)l->number, e->text);
}

static int
write_result_line(struct feed *f, size_t i, struct err *e)
{
	struct store	*s = f->c->store;
	struct line	*l = &f->lines[i];
	/* The procedure makes both rows, and a message is one row. */
	bool		 both = f->procedure != NULL || store_is_inline(s);
	int		 rc;

	rc = store_is_inline(s) ?
	    insert_message(s, &l->event, &f->counts, e) :
	    f->procedure != NULL ? call(f, &l->event, e) :
	    insert_event(f->c, &l->event, e);
	if (rc == 0 && !both) {
		store_sql(s, "INSERT INTO {outbox} ({global_sequence}, "
		    "{partition_key}) SELECT {e.sequence}, :label "
		    "FROM {events} AS e WHERE {e.sequence} = LAST_INSERT_ID()",
		    SQL_PUT("label", s, store_put_label(s, &f->counts, "e",
		    SQL("{e.stream_id}"))));
		return store_exec(s, "enqueue", NULL, e);
	}
	if (rc == 0)
		return 0;
	if (!db_refused_value(store_db(s)))
		return -1;
	/* A number made by us may be taken by another session: try again. */
	if (!f->c->args.skip_bad || l->event.stream_sequence == 0) {
		f->refused = i;
		return -1;
	}
	tell_refused(l, e);
	l->bad = true;
	return 0;
}

static uint64_t
count_good(const struct feed *f)
{
	uint64_t	n = 0;

	for (size_t i = 0; i < f->n; i++)
		n += !f->lines[i].bad;
	return n;
}

static int
write_lines(struct ctl *c, void *arg, struct err *e)
{
	struct feed	*f = arg;

	f->refused = NONE;
	if (store_read_counts(f->c->store, &f->counts, e) < 0)
		return -1;
	for (size_t i = 0; i < f->n; i++)
		if (!f->lines[i].bad && write_result_line(f, i, e) < 0)
			return -1;
	return audit_note(c, count_good(f), e);
}

/* Leave the first lines of the batch. */
static void
forget_behind(struct feed *f, size_t left)
{
	struct line	*l;

	while (f->n > left) {
		l = &f->lines[--f->n];
		event_free(&l->event);
		free(l->text);
		memset(l, 0, sizeof(*l));
	}
}

/* An event that cannot be enqueued: skip it, or stop before it. */
static void
refuse_line(struct feed *f, size_t i, const struct err *e)
{
	tell_refused(&f->lines[i], e);
	f->lines[i].bad = true;
	if (f->c->args.skip_bad)
		return;
	f->stopped = true;
	forget_behind(f, i);
}

static int
write_batch(struct feed *f, struct err *e)
{
	int	tries = 0;

	while (f->n > 0 && !f->c->args.dry_run &&
	    ctl_transaction(f->c, write_lines, f, e) < 0) {
		if (f->refused == NONE)
			return -1;
		if (f->lines[f->refused].event.stream_sequence == 0 &&
		    ++tries < RENUMBER) {
			ctl_sleep(1 + random() % PAUSE_MS);
			continue;
		}
		refuse_line(f, f->refused, e);
		tries = 0;
	}
	f->good += count_good(f);
	f->skipped += f->n - count_good(f);
	if (f->n > 0)
		f->last = f->lines[f->n - 1].number;
	return 0;
}

/* Read lines until the batch is full.  *more is false at the end of file. */
static int
read_batch(struct feed *f, bool *more, struct err *e)
{
	uint64_t	 start = f->bytes;
	struct line	*l;
	struct err	 bad;
	char		*text = NULL;
	size_t		 size = 0;
	ssize_t		 len = 0;

	errno = 0;
	while (!f->stopped && f->n < (size_t)f->c->args.batch &&
	    f->bytes - start < BATCH_BYTES &&
	    (len = getline(&text, &size, f->in)) >= 0) {
		f->number++;
		f->bytes += (uint64_t)len;
		if (text[strspn(text, " \t\r\n")] == '\0' &&
		    strlen(text) == (size_t)len)
			continue;
		l = &f->lines[f->n++];
		*l = (struct line){ .text = text, .number = f->number };
		if (event_parse(&l->event, text, (size_t)len,
		    store_is_inline(f->c->store), &bad) < 0)
			refuse_line(f, f->n - 1, &bad);
		text = NULL;
		size = 0;
	}
	free(text);
	*more = len >= 0 && !f->stopped;
	return ferror(f->in) == 0 ? 0 :
	    err_set(e, "line %llu: %s", (unsigned long long)f->number + 1,
	    strerror(errno));
}

static int
feed(struct feed *f, struct err *e)
{
	bool	more = true;

	while (more) {
		int read = read_batch(f, &more, e);

		if (write_batch(f, e) < 0 || read < 0)
			return -1;
		forget_behind(f, 0);
		progress_show(&f->bar, f->size == 0 ? f->good : f->bytes,
		    f->size);
		more = more && !f->stopped;
	}
	return 0;
}

/* Print the last line that is done, so that a later call can continue. */
static void
tell_end(const struct feed *f)
{
	struct buf	text = { 0 };

	if (f->last == 0)
		buf_str(&text, "nothing was enqueued");
	else
		buf_printf(&text, "lines 1 to %llu are %s",
		    (unsigned long long)f->last,
		    f->c->args.dry_run ? "valid" : "enqueued");
	if (f->c->in_doubt && f->n > 0)
		buf_printf(&text, "; lines %llu to %llu are in doubt",
		    (unsigned long long)f->lines[0].number,
		    (unsigned long long)f->lines[f->n - 1].number);
	ctl_error("%s", text.data);
	buf_free(&text);
}

int
enqueue(struct ctl *c)
{
	const struct args	*a = &c->args;
	struct feed		 f = { .c = c, .bar.what = "enqueue" };
	const char		*name = a->nrest > 0 ? a->rest[0] : "-";
	const char		*done = a->dry_run ? "Would enqueue" :
				    "Enqueued";
	struct stat		 st;
	struct err		 e;
	int			 rc, status = CTL_DONE;

	f.in = strcmp(name, "-") == 0 ? stdin : fopen(name, "r");
	if (f.in == NULL)
		return ctl_error("%s: %s", name, strerror(errno));
	if (fstat(fileno(f.in), &st) == 0 && S_ISREG(st.st_mode))
		f.size = (uint64_t)st.st_size;
	srandom((unsigned)getpid());
	f.lines = xcalloc((size_t)a->batch, sizeof(*f.lines));
	rc = find_procedure(&f, &e) < 0 ? -1 : feed(&f, &e);
	progress_end(&f.bar);
	if (rc < 0)
		status = ctl_fail(c, &e);
	else if (f.stopped)
		status = CTL_FAILED;
	if (status != CTL_DONE)
		tell_end(&f);
	if (a->json)
		print_object(c, json_pack("{s:I, s:I, s:I, s:b}",
		    "changed", (json_int_t)f.good,
		    "skipped", (json_int_t)f.skipped,
		    "last_line", (json_int_t)f.last, "dry_run", a->dry_run));
	else if (status == CTL_DONE && a->skip_bad)
		display_print(stdout, "%s %s, skipped %s.\n", done,
		    COUNTED(f.good, "event"), COUNTED(f.skipped, "bad line"));
	else if (status == CTL_DONE)
		display_print(stdout, "%s %s.\n", done,
		    COUNTED(f.good, "event"));
	forget_behind(&f, 0);
	free(f.procedure);
	free(f.lines);
	if (f.in != stdin)
		fclose(f.in);
	return status;
}
