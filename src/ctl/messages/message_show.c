/* message_show.c - messages show: all details of one message */

#include <stdlib.h>
#include <string.h>

#include "common/command_file.h"
#include "common/figures.h"
#include "common/message_id.h"
#include "ctl/base/filter.h"
#include "ctl/messages/dead.h"
#include "ctl/messages/destination.h"
#include "ctl/messages/history.h"
#include "ctl/messages/messages.h"
#include "driver/route.h"
#include "util/display.h"

static const struct rows_column about[] = {
	{ "sequence", ROWS_NUMBER }, { "state", ROWS_TEXT },
	{ "waits_for", ROWS_TEXT }, { "message_id", ROWS_TEXT },
	{ "key", ROWS_BYTES }, { "stream_sequence", ROWS_NUMBER },
	{ "type", ROWS_BYTES }, { "version", ROWS_NUMBER },
	{ "correlation_id", ROWS_BYTES }, { "occurred_at", ROWS_TIME },
	{ "metadata_bytes", ROWS_NUMBER }, { "payload_bytes", ROWS_NUMBER },
	{ "partition", ROWS_BYTES }, { "parked", ROWS_BOOL },
	{ "attempts", ROWS_NUMBER }, { "replay_no", ROWS_NUMBER },
	{ "error", ROWS_TEXT },
	{ "created_at", ROWS_TIME }, { "available_at", ROWS_TIME },
	{ "scheduled_at", ROWS_TIME }, { "due_in_ms", ROWS_NUMBER },
	{ "published_at", ROWS_TIME },
	{ "ack_sequence", ROWS_NUMBER }, { "in_doubt_since", ROWS_TIME },
	{ "claimed_by", ROWS_TEXT }, { "claim_token", ROWS_TEXT },
	{ "lease_owner", ROWS_TEXT }, { "lease_host", ROWS_TEXT },
	{ "lease_pid", ROWS_NUMBER }, { "lease_until", ROWS_TIME },
	{ "lease_live", ROWS_BOOL }, { "lease_epoch", ROWS_NUMBER },
};

static void
put_about(struct ctl *c, uint64_t sequence)
{
	struct store	*s = c->store;

	store_sql(s, "SELECT {e.sequence}, CASE "
	    "WHEN {o.global_sequence} IS NULL THEN 'missing' "
	    "WHEN {o.published_at} IS NOT NULL THEN 'delivered' "
	    "WHEN {o.claim_token} IS NOT NULL AND {o.available_at} > NOW(6) "
	    "THEN 'delivering' ELSE 'pending' END, NULL, :outbox_id, "
	    "{e.stream_id}, {e.stream_sequence}, {e.event_type}, "
	    "{e.event_version}, {e.correlation_id}, {e.occurred_at}, "
	    "OCTET_LENGTH({e.metadata}), OCTET_LENGTH({e.event_data}), "
	    ":partition, " PARKED_IS("{o.partition_key}") ", {o.attempts}, "
	    ":replay_no, {o.last_error}, {o.created_at}, {o.available_at}, "
	    "{o.scheduled_at}, IF({o.published_at} IS NULL, "
	    "GREATEST(0, TIMESTAMPDIFF(MICROSECOND, NOW(6), "
	    "GREATEST({o.available_at}, COALESCE({o.scheduled_at}, "
	    "{o.available_at}))) + 999) DIV 1000, NULL), {o.published_at}, "
	    "{o.ack_sequence}, {o.in_doubt_since}, "
	    /* A token begins with the last 16 characters of a worker's id. */
	    "(SELECT c.id FROM {workers} AS c WHERE "
	    "RIGHT(c.id, 16) = LEFT({o.claim_token}, 16) LIMIT 1), "
	    "{o.claim_token}, p.lease_owner, w.hostname, w.pid, p.lease_until, "
	    "p.lease_until > NOW(6) AND p.lease_owner <> '" STORE_PAUSED "', "
	    "p.lease_epoch FROM (SELECT :sequence AS sequence) AS n "
	    "LEFT JOIN {outbox} AS o ON {o.global_sequence} = n.sequence "
	    "LEFT JOIN {events} AS e ON {e.sequence} = n.sequence:parked "
	    "LEFT JOIN {partitions} AS p "
	    "ON p.partition_key = COALESCE(:partition, '') "
	    "LEFT JOIN {workers} AS w ON w.id = p.lease_owner WHERE "
	    "{o.global_sequence} IS NOT NULL OR {e.sequence} IS NOT NULL",
	    SQL_EITHER("outbox_id", store_is_pillar(s), "NULL",
	    "(SELECT outbox_id FROM {settings} WHERE id = 1)"),
	    MESSAGE_PARTS(s),
	    /* Of a row or of a dead letter. */
	    SQL_EITHER("replay_no", store_is_pillar(s), "{o.replay_no}",
	    "COALESCE({o.replay_no}, (SELECT d.replay_no FROM {dead} AS d "
	    "WHERE d.global_sequence = n.sequence))"),
	    SQL_NUMBER("sequence", sequence));
}

static const char *
message_text(const json_t *o, const char *name)
{
	const char	*value = member_text(o, name);

	return value == NULL ? "" : value;
}

static bool
is_state(const json_t *o, const char *state)
{
	return strcmp(message_text(o, "state"), state) == 0;
}

static const struct rows_column of_record[] = {
	{ "blocked", ROWS_TEXT }, { "blocked_since", ROWS_TIME },
	{ "blocked_by", ROWS_NUMBER },
};

/* Add the record of its key; a halt comes first. */
static int
add_record(struct ctl *c, json_t *o, struct err *e)
{
	json_t	*record;

	if (store_is_pillar(c->store))
		return 0;
	store_sql(c->store, "SELECT b.reason, b.since, b.head_sequence FROM "
	    "{blocked} AS b LEFT JOIN {events} AS k "
	    "ON {k.sequence} = b.first_sequence WHERE:key "
	    "ORDER BY b.reason <> 'halted', b.first_sequence LIMIT 1",
	    SQL_PUT("key", c->store, filter_put_key(c->store,
	    SQL(STORE_KEY_OF("{k.stream_id}", "b.order_key")),
	    message_text(o, "key"))));
	if (rows_one(c, "show", of_record, 3, &record, e) < 0)
		return -1;
	if (record != NULL)
		json_object_update(o, record);
	json_decref(record);
	return 0;
}

/* Rows read to find an earlier row of the key. */
#define BEFORE	1000

static const struct rows_column before[] = {
	{ "behind", ROWS_NUMBER },
};

/* With outbox.mode: inline no index has keys: read rows of its partition. */
static int
add_earlier(struct ctl *c, json_t *o, struct err *e)
{
	struct store	*s = c->store;
	json_t		*earlier;

	if (store_is_inline(s)) {
		store_sql(s, "SELECT MIN({e.sequence}) FROM "
		    "(SELECT {sequence}, {stream_id} FROM {outbox} {index} "
		    "WHERE {published_at} IS NULL "
		    "AND {partition_key} IN (:label) "
		    "AND {global_sequence} < :sequence "
		    "ORDER BY {global_sequence} DESC LIMIT :max) AS e "
		    "WHERE:key", SQL_PUT("label", s, filter_put_label(s,
		    message_text(o, "partition"))),
		    SQL_NUMBER("sequence", member_number(o, "sequence")),
		    SQL_NUMBER("max", BEFORE),
		    SQL_PUT("key", s, filter_put_key(s,
		    SQL("{e.stream_id}"), message_text(o, "key"))));
	} else {
		store_sql(s, "SELECT MIN({o.global_sequence}) FROM "
		    "(SELECT {sequence} FROM {events} WHERE:key "
		    "AND {stream_sequence} < :sequence "
		    "ORDER BY {stream_sequence} DESC LIMIT :max) AS e "
		    "JOIN {outbox} AS o ON {o.global_sequence} = {e.sequence} "
		    "WHERE {o.published_at} IS NULL",
		    SQL_PUT("key", s, filter_put_key(s,
		    SQL("{stream_id}"), message_text(o, "key"))),
		    SQL_NUMBER("sequence", member_number(o,
		    "stream_sequence")), SQL_NUMBER("max", BEFORE));
	}
	if (rows_one(c, "show", before, 1, &earlier, e) < 0)
		return -1;
	if (earlier != NULL)
		json_object_update(o, earlier);
	json_decref(earlier);
	return 0;
}

/* Rows that a destination does not take are made due again after a second. */
#define SOON_MS	10000

/* A producer has written the label, and an operator may paste the line. */
static json_t *
wait_of_paused(const char *label)
{
	struct buf	 word = { 0 };
	json_t		*text;

	display_put_operand(&word, label);
	text = json_sprintf("its partition, which is paused: outboxctl "
	    "partitions resume %s", word.data);
	buf_free(&word);
	return text;
}

/* The main reason why it is not being sent now, and the remedy. */
static json_t *
waits_for(const struct ctl *c, const json_t *o)
{
	json_int_t	 sequence = member_number(o, "sequence");
	json_int_t	 behind = member_number(o, "behind");
	json_t		*destination;

	if (is_state(o, "missing"))
		return json_string("nothing: it has no row in the outbox; see "
		    "outboxctl reconcile --dry-run");
	if (is_state(o, "delivering"))
		return *message_text(o, "claimed_by") == '\0' ?
		    json_string("the end of its claim: its worker is gone") :
		    json_sprintf("the answer of the broker to %s",
		    message_text(o, "claimed_by"));
	/* A message that was wrong itself would only die again. */
	if (is_state(o, "dead"))
		return strcmp(message_text(o, "reason"), "message") == 0 ?
		    json_sprintf("an operator: enqueue it anew without its "
		    "error, and outboxctl dead purge %lld --release gives it "
		    "up; outboxctl dead retry %lld helps only if a limit or "
		    "setting was wrong, and is corrected", sequence, sequence) :
		    json_sprintf("an operator: outboxctl dead retry %lld sends "
		    "it again, outboxctl dead purge %lld --release gives it up",
		    sequence, sequence);
	if (!is_state(o, "pending"))
		return json_null();
	if (json_is_null(json_object_get(o, "available_at")))
		return json_sprintf("nothing: its %s is NULL",
		    store_column_name(c->store, "available_at"));
	if (strcmp(message_text(o, "blocked"), STORE_HALTED) == 0 &&
	    member_number(o, "blocked_by") != sequence)
		return json_sprintf("its key, halted by message %lld: see "
		    "outboxctl keys blocked", member_number(o, "blocked_by"));
	if (behind != 0 && c->conf->outbox.ordering == ORDER_KEY)
		return json_sprintf("message %lld, an earlier one of its key",
		    (long long)behind);
	if (strcmp(message_text(o, "lease_owner"), STORE_PAUSED) == 0)
		return wait_of_paused(message_text(o, "partition"));
	if (member_number(o, "due_in_ms") <= SOON_MS &&
	    (destination = destination_waits(c, o)) != NULL)
		return destination;
	if (member_number(o, "due_in_ms") > 0)
		return json_string(member_number(o, "attempts") > 0 ?
		    "its next attempt, at available_at" :
		    store_has_word(c->store, "scheduled_at") ?
		    "available_at or scheduled_at" : "available_at");
	if (c->conf->worker.leasing && !member_true(o, "lease_live"))
		return json_string("a worker: none owns its partition");
	return json_string("its turn in the partition");
}

/* Compute the message id from the outbox id and the event. */
static int
add_message_id(struct ctl *c, json_t *o, struct err *e)
{
	struct message_id	id = { .hashed = true };
	struct buf		text_of = { 0 };
	bool			exists;

	id.sequence = (uint64_t)member_number(o, "sequence");
	id.replay = (unsigned)member_number(o, "replay_no");
	if (store_event_hash(c->store, id.sequence, &exists, &id.hash, e) < 0)
		return -1;
	if (exists)
		message_id_put(&text_of, conf_id_prefix(c->conf,
		    message_text(o, "message_id")), &id);
	json_object_set_new(o, "message_id", exists ?
	    json_string(text_of.data) : json_null());
	buf_free(&text_of);
	return 0;
}

/*
 * With outbox.mode: inline the id is what the author gave, if anything; the one
 * that the daemon makes stands beside it.  A dead letter has the message, too.
 */
static int
add_inline(struct ctl *c, json_t *o, struct err *e)
{
	uint64_t	sequence = (uint64_t)member_number(o, "sequence");
	char		prefix[STORE_PREFIX];
	struct buf	text = { 0 };
	struct batch	b = { 0 };
	struct message_id id;

	if (message_prefix(c, prefix, e) < 0 || store_peek(c->store, sequence,
	    is_state(o, "dead"), &b, e) < 0)
		return -1;
	if (b.n > 0 && b.msgs[0].has_event) {
		msg_put_id(&text, prefix, &b.msgs[0]);
		json_object_set_new(o, "message_id", bytes_json(text.data,
		    text.len));
		buf_clear(&text);
		id = msg_id(&b.msgs[0]);
		message_id_put(&text, prefix, &id);
		json_object_set_new(o, "outbox_id", json_string(text.data));
		json_object_set_new(o, "content_type",
		    b.msgs[0].content_type.data == NULL ? json_null() :
		    bytes_json(b.msgs[0].content_type.data,
		    b.msgs[0].content_type.len));
	}
	buf_free(&text);
	batch_free(&b);
	return 0;
}

/* By the configuration as it is now, as the daemon chooses. */
static int
add_route(struct ctl *c, json_t *o, struct err *e)
{
	struct envelope_form	form = envelope_form_of(c->conf, "");
	struct route_set	routes;
	struct batch		b = { 0 };
	const struct route	*route;

	if (c->conf->publish.routes.n == 0)
		return 0;
	if (store_peek(c->store, (uint64_t)member_number(o, "sequence"),
	    is_state(o, "dead"), &b, e) < 0)
		return -1;
	route_set_init(&routes, c->conf, &form);
	json_object_set_new(o, "route", json_null());
	if (b.n > 0 && b.msgs[0].has_event) {
		route = route_of(&routes, &b.msgs[0]);
		if (route->rule != NULL)
			json_object_set_new(o, "route",
			    json_string(route->rule->name));
		else if (c->conf->publish.unmatched == UNMATCHED_DEFAULT)
			json_object_set_new(o, "route",
			    json_string(FIGURES_REST));
	}
	batch_free(&b);
	return 0;
}

static int
complete(struct ctl *c, json_t *o, struct err *e)
{
	bool		 has_key = json_is_string(json_object_get(o, "key"));
	bool		 pending = is_state(o, "pending");
	struct buf	 text = { 0 };
	json_t		*waits;

	if ((store_is_inline(c->store) ? add_inline(c, o, e) :
	    add_message_id(c, o, e)) < 0)
		return -1;
	if (add_route(c, o, e) < 0)
		return -1;
	if (has_key && (pending || is_state(o, "dead")) &&
	    add_record(c, o, e) < 0)
		return -1;
	if (has_key && pending && add_earlier(c, o, e) < 0)
		return -1;
	waits = waits_for(c, o);
	if (json_is_string(waits)) {
		command_file_put(&text, json_string_value(waits), c->path);
		json_string_set(waits, text.data);
		buf_free(&text);
	}
	json_object_set_new(o, "waits_for", waits);
	/* Only some outboxes have this column. */
	if (json_is_null(json_object_get(o, "scheduled_at")))
		json_object_del(o, "scheduled_at");
	history_add(c, o);
	return 0;
}

int
messages_show(struct ctl *c)
{
	struct err	 e;
	uint64_t	*sequence = args_sequences(&c->args);
	json_t		*o;
	int		 rc;

	if (sequence == NULL)
		return CTL_USAGE;
	if (c->args.raw && (!c->args.payload || c->args.json)) {
		free(sequence);
		return ctl_misuse("--raw goes with --payload, and not with "
		    "--json");
	}
	put_about(c, *sequence);
	rc = rows_one(c, "show", about, sizeof(about) / sizeof(about[0]), &o,
	    &e);
	/* Dead letters have no row in the outbox. */
	if (rc == 0 && (o == NULL || is_state(o, "missing")))
		rc = dead_add(c, *sequence, &o, &e);
	if (rc == 0 && o != NULL) {
		member_set(o, "sequence", (json_int_t)*sequence);
		rc = complete(c, o, &e);
	}
	free(sequence);
	if (rc < 0) {
		json_decref(o);
		return ctl_fail(c, &e);
	}
	if (o == NULL)
		return ctl_error("%s: no such message", c->args.rest[0]);
	if (c->args.payload)
		return message_print_envelope(c, o);
	print_object(c, o);
	return CTL_DONE;
}
