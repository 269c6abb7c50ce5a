/* stream.c - see stream.h; no I/O, parses text */

#include "nats/stream.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "driver/route.h"
#include "nats/nats_verdict.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/display.h"
#include "util/duration.h"

#define STREAM_NOT_FOUND	10059
#define SILENT_MS		3000	/* a replica that is not heard */

static void
unfit(struct stream_report *r, enum error_class class, const char *text)
{
	if (!r->unfit) {
		err_set(&r->why, "%s", text);
		r->class = class;
	}
	r->unfit = true;
}

static void
add(struct stream_findings *f, const char *text)
{
	if (f->n < STREAM_FINDINGS)
		err_set(&f->list[f->n++], "%s", text);
}

bool
stream_may_cover(const char *pattern, const char *template)
{
	for (;;) {
		size_t p = strcspn(pattern, "."), t = strcspn(template, ".");

		/* From the first placeholder on every token is possible. */
		if (memchr(template, '{', t) != NULL)
			return true;
		if (p == 1 && pattern[0] == '>')
			return true;
		if (!(p == 1 && pattern[0] == '*') &&
		    (p != t || memcmp(pattern, template, p) != 0))
			return false;
		if (pattern[p] == '\0' || template[t] == '\0')
			return pattern[p] == template[t];
		pattern += p + 1;
		template += t + 1;
	}
}

static bool
config_is(json_t *config, const char *key, const char *word)
{
	const char	*value = json_string_value(json_object_get(config,
			    key));

	return value != NULL && strcmp(value, word) == 0;
}

static int64_t
stream_number(json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static bool
covers(json_t *config, const char *template)
{
	json_t	*s;
	size_t	 i;

	json_array_foreach(json_object_get(config, "subjects"), i, s)
		if (json_is_string(s) &&
		    stream_may_cover(json_string_value(s), template))
			return true;
	return false;
}

static void
list_subjects(struct stream_report *r, json_t *config)
{
	struct buf	 b = { 0 };
	json_t		*s;
	size_t		 i;

	json_array_foreach(json_object_get(config, "subjects"), i, s)
		if (json_is_string(s))
			buf_printf(&b, "%s%s", i == 0 ? "" : ", ",
			    json_string_value(s));
	err_set(&r->subjects, "%s", b.data == NULL ? "" : b.data);
	buf_free(&b);
}

static void
judge_fitness(struct stream_report *r, const struct conf *c, json_t *config)
{
	char	text[sizeof(struct err) * 2];

	if (json_object_get(config, "mirror") != NULL)
		unfit(r, CLASS_UNFIT, "is a mirror and takes no messages: use "
		    "its origin");
	if (json_is_true(json_object_get(config, "sealed")))
		unfit(r, CLASS_SEALED, "is sealed and takes no messages: use "
		    "another stream");
	if (json_is_true(json_object_get(config, "no_ack")))
		unfit(r, CLASS_UNFIT, "has no_ack: it acknowledges no message; "
		    "create it without no_ack");
	if (!covers(config, c->nats.subject)) {
		snprintf(text, sizeof(text), "has no subject that matches "
		    "nats.subject \"%s\": add one; it has %s",
		    c->nats.subject, r->subjects.text);
		unfit(r, CLASS_NO_STREAM, text);
	}
}

/* The time to notice a silent broker and to connect again. */
#define CONNECTION_MS	40000

/*
 * The longest time in ms until a message in doubt is sent again: its claim
 * expires, its retry is due, or the connection is restored.
 */
static int64_t
longest_repeat_ms(const struct conf *c)
{
	int64_t	retry = (int64_t)((double)route_longest_backoff(c) *
		    (1 + c->retry.jitter));

	return later(later(retry, c->worker.claim_ttl), CONNECTION_MS) +
	    c->publish.timeout_ms;
}

/* So much of a limit in use is full in bytes: a message needs some of them. */
#define FULL_PERCENT	99

/* "20 of 20 messages" */
static void
tell_full(struct stream_report *r, int64_t n, int64_t limit, const char *unit)
{
	char	used[DISPLAY_SIZE], all[DISPLAY_SIZE];

	r->full = true;
	err_set(&r->how_full, "is full, %s of %s %s, and refuses new messages "
	    "(discard: new)", display_number(used, n),
	    display_number(all, limit), unit);
}

/* A stream with discard: old makes room by itself. */
static void
judge_room(struct stream_report *r, json_t *info, json_t *config)
{
	json_t	*state = json_object_get(info, "state");
	int64_t	 messages = stream_number(state, "messages");
	int64_t	 bytes = stream_number(state, "bytes");
	int64_t	 most = stream_number(config, "max_msgs");
	int64_t	 most_bytes = stream_number(config, "max_bytes");

	if (!config_is(config, "discard", "new"))
		return;
	if (most > 0 && messages >= most)
		tell_full(r, messages, most, "messages");
	else if (most_bytes > 0 && bytes >= most_bytes / 100 * FULL_PERCENT)
		tell_full(r, bytes, most_bytes, "bytes");
}

/* A consumer that is away for so long is nothing unusual. */
#define SHORT_AGE_MS	(60 * 60 * 1000)

/*
 * Limits that drop or refuse messages; -1 and 0: no limit.  They are what the
 * operator wants until they hurt: a stream that refuses is full, and a message
 * that it refuses is a dead letter, which are problems.
 */
static void
judge_limits(struct stream_report *r, json_t *config)
{
	int64_t	size = stream_number(config, "max_msg_size");
	int64_t	each = stream_number(config, "max_msgs_per_subject");
	int64_t	age_ms = stream_number(config, "max_age") / 1000000;
	char	text[256];

	if (each > 0 && !json_is_true(json_object_get(config,
	    "discard_new_per_subject"))) {
		snprintf(text, sizeof(text), "keeps the last %lld messages of "
		    "a subject, and drops others, whether they were read or "
		    "not; unset max_msgs_per_subject", (long long)each);
		add(&r->advice, text);
	}
	if (age_ms > 0 && age_ms < SHORT_AGE_MS) {
		snprintf(text, sizeof(text), "drops messages after %s, whether "
		    "they were read or not; make max_age longer than the "
		    "outages of consumers", duration_words(age_ms).text);
		add(&r->advice, text);
	}
	if ((stream_number(config, "max_msgs") > 0 ||
	    stream_number(config, "max_bytes") > 0) &&
	    !config_is(config, "discard", "new"))
		add(&r->advice, "drops its oldest messages when it is full, "
		    "whether they were read or not; set discard: new, which "
		    "pauses publishing instead");
	if (size > 0) {
		snprintf(text, sizeof(text), "takes messages of %lld bytes at "
		    "most: larger ones become dead letters; unset "
		    "max_msg_size if the server's max_payload is enough",
		    (long long)size);
		add(&r->advice, text);
	}
}

/*
 * A message in doubt for longer than the window is looked up before it is sent
 * again, see recovery/in_doubt.h, so that a short window costs reads.
 */
static void
judge_window(struct stream_report *r, const struct conf *c, json_t *config)
{
	int64_t	dedup_window_ms = stream_number(config, "duplicate_window") /
		    1000000;
	char	text[512];

	if (dedup_window_ms >= longest_repeat_ms(c))
		return;
	snprintf(text, sizeof(text), "has a duplicate window of %s, and a "
	    "message may be sent again after %s: %s; make the window longer, "
	    "or retry.max_backoff shorter",
	    duration_words(dedup_window_ms).text,
	    duration_words(longest_repeat_ms(c)).text,
	    c->nats.recover == RECOVER_OFF ? "it may then be stored twice, as "
	    "nats.recover is off" : config_is(config, "retention",
	    "workqueue") || config_is(config, "retention", "interest") ?
	    "what consumers have removed by then is stored again" :
	    "the stream is then searched for it first, which takes time");
	add(&r->advice, text);
}

/* Replicas answer the leader each second. */
static bool
is_heard(json_t *replica)
{
	return !json_is_true(json_object_get(replica, "offline")) &&
	    stream_number(replica, "active") / 1000000 < SILENT_MS;
}

/* A server that is no member of a cluster has a leader, or no such section. */
static bool
is_leaderless(json_t *cluster)
{
	const char	*leader = json_string_value(json_object_get(cluster,
			    "leader"));

	return (leader == NULL || leader[0] == '\0') &&
	    (json_array_size(json_object_get(cluster, "replicas")) > 0 ||
	    json_object_get(cluster, "name") != NULL);
}

/* A leaf node without a cluster calls itself one of that name. */
static bool
is_in_cluster(json_t *cluster)
{
	json_t	*name = json_object_get(cluster, "name");

	return name != NULL && !json_equal(name, json_object_get(cluster,
	    "leader"));
}

/* A replica so far behind has a lot to learn before it can lead. */
#define FAR_BEHIND	10000

/* As the leader sees them.  Servers before 2.10 do not tell their time (ts). */
static void
judge_replicas(struct stream_report *r, json_t *info)
{
	json_t		*cluster = json_object_get(info, "cluster"), *one;
	json_t		*replicas = json_object_get(cluster, "replicas");
	struct buf	 b = { 0 };
	char		 text[300], number[DISPLAY_SIZE];
	size_t		 i;

	if (json_array_size(replicas) == 0 || is_leaderless(cluster))
		return;
	buf_printf(&b, "%s leads", json_string_value(json_object_get(cluster,
	    "leader")));
	json_array_foreach(replicas, i, one) {
		const char *name = json_string_value(json_object_get(one,
		    "name"));
		int64_t lag = stream_number(one, "lag");
		bool	heard = is_heard(one);

		if (name == NULL)
			name = "?";
		display_number(number, lag);
		buf_printf(&b, ", %s %s", name, heard ? "follows" : "is away");
		if (lag > 0)
			buf_printf(&b, " (%s behind)", number);
		text[0] = '\0';
		if (!heard)
			snprintf(text, sizeof(text), "has a replica that is "
			    "away, on server %.100s: start it", name);
		else if (lag >= FAR_BEHIND)
			snprintf(text, sizeof(text), "has a replica that is %s "
			    "messages behind, on server %.100s: see its log",
			    number, name);
		if (text[0] != '\0')
			add(&r->advice, text);
	}
	err_set(&r->replicas, "%s", b.data);
	buf_free(&b);
	if (json_object_get(info, "ts") == NULL)
		add(&r->advice, "has replicas on a nats-server before 2.10, "
		    "where they were seen to differ after the leader had stood "
		    "still; use a newer one");
}

/* All of this works; what it risks is another fault. */
static void
judge_safety(struct stream_report *r, const struct conf *c, json_t *info,
    json_t *config)
{
	json_t	*cluster = json_object_get(info, "cluster");
	json_t	*consumers = json_object_get(json_object_get(info, "state"),
		    "consumer_count");
	bool	interest = config_is(config, "retention", "interest");

	judge_window(r, c, config);
	if (config_is(config, "storage", "memory"))
		add(&r->advice, "is kept in memory: a restart of the server "
		    "loses acknowledged messages; use file storage");
	if (is_in_cluster(cluster) &&
	    stream_number(config, "num_replicas") < 2)
		add(&r->advice, "has one replica in a cluster: it is down "
		    "whenever that server is; use 3 replicas");
	judge_replicas(r, info);
	judge_limits(r, config);
	/*
	 * With retention: interest a message without a consumer is acknowledged
	 * and dropped.  Which subjects the consumers take is not looked at.
	 */
	if (interest && json_is_integer(consumers) &&
	    json_integer_value(consumers) == 0)
		err_set(&r->unheard, "has no consumer, and with retention: "
		    "interest it acknowledges each message and drops it at "
		    "once");
	else if (interest)
		add(&r->advice, "drops a message that no consumer wants "
		    "(retention: interest): one that is made later never gets "
		    "it; retention: limits keeps it");
	if (config_is(config, "persist_mode", "async"))
		add(&r->advice, "acknowledges messages before it has written "
		    "them (persist_mode: async): a crash of the server loses "
		    "them");
}

void
stream_judge(struct stream_report *r, const struct conf *c, const char *body,
    size_t len)
{
	json_t		*info = json_loadb(body, len, 0, NULL);
	json_t		*error = json_object_get(info, "error");
	json_t		*config = json_object_get(info, "config");
	const char	*text;
	enum error_class class;
	int		 code;
	char		 line[300];

	memset(r, 0, sizeof(*r));
	if (error != NULL) {
		text = json_string_value(json_object_get(error, "description"));
		code = (int)stream_number(error, "err_code");
		if (text == NULL)
			text = "error";
		class = nats_verdict_class(code, text);
		snprintf(line, sizeof(line), class == CLASS_OFFLINE ?
		    "has no leader: %s (%d)" : "cannot be used: %s (%d); create "
		    "it with outboxctl stream add, or correct nats.stream",
		    text, code);
		unfit(r, class, line);
	} else if (config == NULL)
		add(&r->warnings, "was not checked: the answer to STREAM.INFO "
		    "has no configuration");
	else {
		list_subjects(r, config);
		if (is_leaderless(json_object_get(info, "cluster")))
			unfit(r, CLASS_OFFLINE, "has no leader");
		judge_fitness(r, c, config);
		judge_safety(r, c, info, config);
		judge_room(r, info, config);
	}
	json_decref(info);
}

int64_t
stream_time(const char *text)
{
	struct tm	 tm = { 0 };
	int64_t		 s;

	if (text == NULL || strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) == NULL)
		return 0;
	s = timegm(&tm);
	return s > 0 ? s * 1000 : 0;
}

static int64_t
read_time(json_t *object, const char *key)
{
	return stream_time(json_string_value(json_object_get(object, key)));
}

/*
 * In a cluster all replicas answer while there is no leader, each with what it
 * has: then nobody knows what is in the stream.
 */
static int
fill_leader(struct stream_state *st, json_t *info, struct err *e)
{
	json_t		*cluster = json_object_get(info, "cluster");
	json_t		*replicas = json_object_get(cluster, "replicas");
	const char	*leader = json_string_value(json_object_get(cluster,
			    "leader"));
	const char	*since = json_string_value(json_object_get(cluster,
			    "leader_since"));
	size_t		 all = json_array_size(replicas) + 1, heard = 1, i;
	json_t		*r;

	if (leader == NULL)
		leader = "";
	st->replicated = all > 1;
	if (is_leaderless(cluster))
		return err_set(e, "the stream has no leader");
	/*
	 * If it does not hear most of them it may have taken messages that are
	 * not in its state yet.
	 */
	json_array_foreach(replicas, i, r)
		heard += is_heard(r);
	if (heard * 2 <= all)
		return err_set(e, "the leader of the stream does not hear most "
		    "of its replicas");
	snprintf(st->leader, sizeof(st->leader), "%s %s", leader,
	    since == NULL ? "" : since);
	return 0;
}

/* An answer that lacks one of these is none. */
static bool
fill_contents(struct stream_state *st, json_t *info)
{
	json_t		*state = json_object_get(info, "state");
	json_t		*first = json_object_get(state, "first_seq");
	json_t		*last = json_object_get(state, "last_seq");
	json_t		*messages = json_object_get(state, "messages");
	const char	*created = json_string_value(json_object_get(info,
			    "created"));

	if (created == NULL || created[0] == '\0' || !json_is_integer(first) ||
	    !json_is_integer(last) || !json_is_integer(messages))
		return false;
	snprintf(st->created, sizeof(st->created), "%s", created);
	st->first = (uint64_t)json_integer_value(first);
	st->last = (uint64_t)json_integer_value(last);
	st->messages = (uint64_t)json_integer_value(messages);
	st->now_at = read_time(info, "ts");
	st->first_at = read_time(state, "first_ts");
	st->last_at = read_time(state, "last_ts");
	return true;
}

/* Only one error says something of the stream: that there is none. */
static int
read_state_error(struct stream_state *st, json_t *error, struct err *e)
{
	const char	*text = json_string_value(json_object_get(error,
			    "description"));
	json_int_t	 code = stream_number(error, "err_code");

	if (code != STREAM_NOT_FOUND)
		return err_set(e, "the broker does not tell the state of the "
		    "stream: %.200s (%lld)", text == NULL ? "error" : text,
		    (long long)code);
	st->answer = STREAM_MISSING;
	return 0;
}

static void
fill_settings(struct stream_state *st, json_t *config)
{
	st->dedup_window_ms = stream_number(config, "duplicate_window") /
	    1000000;
	st->expires = stream_number(config, "max_age") > 0;
	st->forgets = !config_is(config, "retention", "limits") ||
	    stream_number(config, "max_msgs_per_subject") > 0 ||
	    json_is_true(json_object_get(config, "allow_rollup_hdrs")) ||
	    json_is_true(json_object_get(config, "allow_msg_ttl"));
	st->limited = st->forgets || st->expires ||
	    stream_number(config, "max_msgs") > 0 ||
	    stream_number(config, "max_bytes") > 0;
	st->keeps = json_is_true(json_object_get(config, "deny_delete")) &&
	    json_is_true(json_object_get(config, "deny_purge"));
}

/*
 * The gaps are counted here: servers before 2.10 leave out some deleted ones,
 * later ones count sequences that are not used yet when a block is damaged.
 */
static void
fill_losses(struct stream_state *st, json_t *state)
{
	uint64_t	places = st->last < st->first ? 0 :
			    st->last - st->first + 1;

	st->gaps = places > st->messages && st->messages > 0 ?
	    places - st->messages : 0;
	st->deleted = (uint64_t)stream_number(state, "num_deleted");
	st->damage = (uint64_t)stream_number(json_object_get(state, "lost"),
	    "bytes");
}

int
stream_read_state(struct stream_state *st, const char *body, size_t len,
    struct err *e)
{
	json_t	*info = json_loadb(body, len, 0, NULL);
	json_t	*error = json_object_get(info, "error");
	json_t	*config = json_object_get(info, "config");
	int	 rc;

	memset(st, 0, sizeof(*st));
	if (error != NULL)
		rc = read_state_error(st, error, e);
	else if (!json_is_object(config) || !fill_contents(st, info))
		rc = err_set(e, "the answer to STREAM.INFO is not complete");
	else if ((rc = fill_leader(st, info, e)) == 0) {
		fill_settings(st, config);
		fill_losses(st, json_object_get(info, "state"));
		st->answer = STREAM_THERE;
	}
	json_decref(info);
	return rc;
}

static void
read_sequences(struct sequence_set *s, json_t *list)
{
	json_t	*o;
	size_t	 i;

	json_array_foreach(list, i, o)
		sequence_set_add(s, (uint64_t)json_integer_value(o),
		    (uint64_t)json_integer_value(o));
}

int
stream_read_removed(struct stream_removed *r, const char *body, size_t len,
    struct err *e)
{
	json_t	*info = json_loadb(body, len, 0, NULL);
	json_t	*state = json_object_get(info, "state");
	int	 rc;

	memset(r, 0, sizeof(*r));
	rc = stream_read_state(&r->state, body, len, e);
	read_sequences(&r->deleted, json_object_get(state, "deleted"));
	read_sequences(&r->damaged, json_object_get(json_object_get(state,
	    "lost"), "msgs"));
	json_decref(info);
	return rc;
}
