/*
 * lab_check.c - check that the stream, or the topics, have every committed event
 * once, in order
 *
 * The events are read first; then every message of the stream is compared with
 * them.  The daemon's own record (published_at) is no evidence; it is only
 * shown for missing events.
 *
 * A database that lost commits (a fail-over to a lagging replica, an older
 * dump) assigns their numbers again.  The stream then has phantoms: messages of
 * events that the database does not have.  A message belongs to an event if
 * number, key, type and payload are equal; any other message with a number is a
 * phantom.  Delivery and order are checked without phantoms.
 */
#include <err.h>
#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <libdeflate.h>
#include <librdkafka/rdkafka.h>

#include "lab.h"

#define EXAMPLES	10	/* printed for each kind of fault */
#define QUIET_MS	3000	/* without a new message: delivery has ended */
#define BOUND		"1000000"

/*
 * Messages of a key that were sent after the same losses: a bit for each loss
 * that had the event.  Among these there is an order; of Kafka in a partition.
 */
struct lane {
	unsigned	 after;
	const struct key *topic;	/* NULL: a stream */
	int32_t		 partition;
	uint64_t	 last;		/* the highest sequence seen */
};

struct key {
	char		*name;
	struct lane	*lanes;
	size_t		 nlanes;
};

struct event {
	uint64_t	 seq;
	struct key	*key, *type;
	uint32_t	 crc, len;
	bool		 seen;
	unsigned	 losses;	/* that had it: a bit for each */
	unsigned	 in_doubt;	/* of these, without an answer then */
	uint8_t		 nlosses;	/* copies that may be there besides */
	unsigned	 gone;		/* the topic that it was seen in */
};

/* Hash set of the message ids seen; 0: empty. */
struct idset {
	uint64_t	*at;
	size_t		 n, size;
};

struct check {
	const struct lab_opts	*o;
	MYSQL		*db;
	struct lab_bus	 bus;
	struct event	*events;
	size_t		 nevents, room;
	void		*names;		/* tree of struct key */
	struct idset	 ids;
	uint64_t	 above[LAB_MAX_LOSSES];	/* of each loss: what is sent
						   again is above it */
	int64_t		*times;		/* of each message, ns */
	size_t		 ntimes, times_room;
	uint64_t	 delivered, lost, duplicated, disorder, foreign;
	uint64_t	 damaged, dead, phantom, others, recovered, gone, sent_again;
};

static int
key_cmp(const void *a, const void *b)
{
	return strcmp(((const struct key *)a)->name,
	    ((const struct key *)b)->name);
}

/* The one struct key of this name; makes it if needed. */
static struct key *
intern(struct check *c, const char *name)
{
	struct key	 probe = { .name = (char *)(uintptr_t)name }, *k;
	void		*node;

	if ((node = tfind(&probe, &c->names, key_cmp)) != NULL)
		return *(struct key **)node;
	k = lab_realloc(NULL, 1, sizeof(*k));
	*k = (struct key){ .name = lab_strdup(name) };
	if (tsearch(k, &c->names, key_cmp) == NULL)
		err(1, NULL);
	return k;
}

static void
free_names(struct check *c)
{
	struct key	*k;

	while (c->names != NULL) {
		k = *(struct key **)c->names;
		tdelete(k, &c->names, key_cmp);
		free(k->name);
		free(k->lanes);
		free(k);
	}
}

/* Length of the UTF-8 character with this first byte; 0: not valid. */
static size_t
utf8_length(unsigned char c)
{
	return c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 :
	    c < 0xf5 ? 4 : 0;
}

/*
 * The form of headers: text as it is, other bytes as 0x and hex digits.
 * Overlong forms of three and four bytes are taken for text.
 */
static char *
shown(const void *data, size_t len, char *text)
{
	const unsigned char	*p = data;
	bool			 plain;

	plain = len == 0 || (p[0] != ' ' && p[len - 1] != ' ');
	for (size_t i = 0, n; plain && i < len; i += n) {
		n = utf8_length(p[i]);
		/* U+D800 to U+DFFF are not valid. */
		if (p[i] == 0xed && i + 1 < len && p[i + 1] > 0x9f)
			n = 0;
		plain = n > 0 && n <= len - i && p[i] >= ' ' && p[i] != 0x7f;
		for (size_t k = 1; plain && k < n; k++)
			plain = (p[i + k] & 0xc0) == 0x80;
	}
	if (plain && len < 65536) {
		memcpy(text, data, len);
		text[len] = '\0';
		return text;
	}
	strcpy(text, "0x");
	for (size_t i = 0; i < len && i < 65536; i++)
		sprintf(text + 2 + 2 * i, "%02x", p[i]);
	return text;
}

static void
add_event(struct check *c, MYSQL_ROW row, const unsigned long *lengths)
{
	static char	 text[2 * 65536 + 3];
	struct event	*e;

	if (c->nevents == c->room) {
		c->room = c->room * 2 + 1024;
		c->events = lab_realloc(c->events, c->room, sizeof(*e));
	}
	e = &c->events[c->nevents++];
	e->seq = strtoull(row[0], NULL, 10);
	e->key = intern(c, shown(row[1], lengths[1], text));
	e->type = intern(c, shown(row[2], lengths[2], text));
	e->crc = (uint32_t)strtoul(row[3], NULL, 10);
	e->len = (uint32_t)strtoul(row[4], NULL, 10);
	e->seen = false;
	e->losses = e->in_doubt = e->nlosses = 0;
	e->gone = 0;
}

/* The server computes the checksums, so no payloads are transferred. */
static void
read_events(struct check *c)
{
	char		 sql[512], events[LAB_TABLE];
	MYSQL_RES	*res;
	MYSQL_ROW	 row;

	lab_events(c->o, events);
	snprintf(sql, sizeof(sql), "SELECT sequence, stream_id, event_type, "
	    "CRC32(event_data), LENGTH(event_data) FROM %s "
	    "WHERE sequence > %lld ORDER BY sequence", events,
	    (long long)c->o->since);
	res = lab_db_query(c->db, sql, true);
	while ((row = mysql_fetch_row(res)) != NULL)
		add_event(c, row, mysql_fetch_lengths(res));
	if (mysql_errno(c->db) != 0)
		errx(1, "reading events: %s", mysql_error(c->db));
	mysql_free_result(res);
}

static int
event_cmp(const void *a, const void *b)
{
	uint64_t	x = ((const struct event *)a)->seq;
	uint64_t	y = ((const struct event *)b)->seq;

	return (x > y) - (x < y);
}

static struct event *
find_event(struct check *c, uint64_t seq)
{
	struct event	probe = { .seq = seq };

	if (c->nevents == 0)
		return NULL;
	return bsearch(&probe, c->events, c->nevents, sizeof(probe),
	    event_cmp);
}

/* FNV-1a; a false match among a million ids has odds of one in 10^7. */
static uint64_t
hash(const char *s)
{
	uint64_t	h = 14695981039346656037u;

	for (; *s != '\0'; s++)
		h = (h ^ (unsigned char)*s) * 1099511628211u;
	return h != 0 ? h : 1;
}

static bool
idset_put(struct idset *set, uint64_t h)
{
	size_t	i = h & (set->size - 1);

	for (; set->at[i] != 0; i = (i + 1) & (set->size - 1))
		if (set->at[i] == h)
			return false;
	set->at[i] = h;
	set->n++;
	return true;
}

static void
idset_grow(struct idset *set)
{
	struct idset	old = *set;

	set->size = old.size == 0 ? 4096 : old.size * 2;
	set->n = 0;
	if ((set->at = calloc(set->size, sizeof(*set->at))) == NULL)
		err(1, NULL);
	for (size_t i = 0; i < old.size; i++)
		if (old.at[i] != 0)
			idset_put(set, old.at[i]);
	free(old.at);
}

/* Returns false if the id was in the set. */
static bool
idset_add(struct idset *set, const char *id)
{
	if (set->n * 2 >= set->size)
		idset_grow(set);
	return idset_put(set, hash(id));
}

/* Kafka adds a NUL to what it has of a header. */
const char *
lab_header(const struct lab_msg *m, const char *name)
{
	const char	*value = NULL;
	const void	*bytes;
	size_t		 size;

	if (m->is_record)
		return m->kafka != NULL && rd_kafka_header_get_last(m->kafka,
		    name, &bytes, &size) == RD_KAFKA_RESP_ERR_NO_ERROR ?
		    bytes : NULL;
	if (natsMsgHeader_Get(m->nats, name, &value) != NATS_OK)
		return NULL;
	return value;
}

/* Count a fault, and print the first few. */
static void __attribute__((format(printf, 3, 4)))
trouble(uint64_t *count, const char *kind, const char *fmt, ...)
{
	va_list	ap;

	if ((*count)++ >= EXAMPLES)
		return;
	fprintf(stderr, "%s: ", kind);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

/* Has the header this value?  An empty column has no header. */
static bool
header_is(const struct lab_msg *m, const char *name, const char *want)
{
	const char	*value = lab_header(m, name);

	return strcmp(value != NULL ? value : "", want) == 0;
}

/* The first difference between message and event; NULL: none. */
static const char *
difference(const struct event *e, const struct lab_msg *m)
{
	static char	text[2 * 65536 + 3];

	if ((uint32_t)m->len != e->len ||
	    libdeflate_crc32(0, m->data, m->len) != e->crc)
		return "payload";
	if (m->is_record && (m->key == NULL || strcmp(e->key->name,
	    shown(m->key, m->key_len, text)) != 0))
		return "key";
	if (!header_is(m, "Outbox-Key", e->key->name))
		return "Outbox-Key";
	if (!header_is(m, "Outbox-Type", e->type->name))
		return "Outbox-Type";
	return NULL;
}

static struct lane *
lane_of(struct key *k, unsigned after, const struct key *topic,
    int32_t partition)
{
	for (size_t i = 0; i < k->nlanes; i++)
		if (k->lanes[i].after == after &&
		    k->lanes[i].topic == topic &&
		    k->lanes[i].partition == partition)
			return &k->lanes[i];
	k->lanes = lab_realloc(k->lanes, k->nlanes + 1, sizeof(*k->lanes));
	k->lanes[k->nlanes] = (struct lane){ after, topic, partition, 0 };
	return &k->lanes[k->nlanes++];
}

/* Who reads a key has an order only if it stays in one partition of a topic. */
static void
judge_partition(struct check *c, const struct key *k, const struct key *topic,
    const struct lab_msg *m)
{
	const struct lane	*other = NULL;

	for (size_t i = 0; i < k->nlanes; i++) {
		if (k->lanes[i].topic != topic)
			continue;
		if (k->lanes[i].partition == m->partition)
			return;
		other = &k->lanes[i];
	}
	if (other != NULL && !c->o->moved)
		trouble(&c->disorder, "out of order", "key %s: is in %s, and "
		    "in partition %d", k->name, m->where,
		    (int)other->partition);
}

/*
 * place: where the stream had it that may have lost messages.  One that was in
 * doubt when it was lost comes in its turn, or with the other lost ones, if the
 * daemon had its answer before it was lost.
 */
static void
judge_order(struct check *c, const struct event *e, const struct lab_msg *m,
    uint64_t place)
{
	unsigned	 after = e->losses;
	const struct key *topic = NULL;
	struct lane	*lane;

	if (m->is_record) {
		topic = intern(c, m->subject);
		judge_partition(c, e->key, topic, m);
	}
	for (unsigned i = 0; i < LAB_MAX_LOSSES; i++)
		if (place <= c->above[i])
			after &= ~(1u << i);
	if (e->seq >= lane_of(e->key, after & ~e->in_doubt, topic,
	    m->partition)->last)
		after &= ~e->in_doubt;
	lane = lane_of(e->key, after, topic, m->partition);
	if (e->seq < lane->last)
		trouble(&c->disorder, "out of order", "key %s: sequence %llu "
		    "after %llu (%s)", e->key->name,
		    (unsigned long long)e->seq, (unsigned long long)lane->last,
		    m->where);
	else
		lane->last = e->seq;
}

/* Was the event committed after the table was read? */
static bool
is_newer(struct check *c, uint64_t seq)
{
	char	sql[512], events[LAB_TABLE];

	lab_events(c->o, events);
	snprintf(sql, sizeof(sql), "SELECT COUNT(*) FROM %s "
	    "WHERE sequence = %llu", events, (unsigned long long)seq);
	return lab_db_number(c->db, sql) > 0;
}

static uint64_t
sequence_of(const struct lab_msg *m)
{
	const char	*text = lab_header(m, "Outbox-Sequence");
	char		*end;
	uint64_t	 n;

	if (text == NULL || *text < '0' || *text > '9')
		return 0;
	n = strtoull(text, &end, 10);
	return *end == '\0' ? n : 0;
}

/* The daemon's message id; a copy has the origin's sequence before it. */
static const char *
id_of(const struct lab_msg *m)
{
	const char	*id;
	size_t		 digits;

	id = lab_header(m, m->is_record ? "Outbox-Id" : "Nats-Msg-Id");
	if (id == NULL || m->is_record)
		return id;
	digits = strspn(id, "0123456789");
	return digits > 0 && id[digits] == ' ' ? id + digits + 1 : id;
}

/* Where the message was in the stream from which it was copied. */
static uint64_t
place_of(const struct lab_msg *m)
{
	const char	*id = lab_header(m, "Nats-Msg-Id");

	return id != NULL && id_of(m) != id ? strtoull(id, NULL, 10) :
	    m->number;
}

/* Does the message belong to the outbox that is checked? */
static bool
is_ours(struct check *c, const char *id)
{
	const char	*own = c->o->outbox_id;

	if (own == NULL)
		return true;
	return id != NULL && strncmp(id, own, strlen(own)) == 0 &&
	    id[strlen(own)] == '-';
}

static void
judge_delivered(struct check *c, struct event *e, const struct lab_msg *m,
    bool again)
{
	const char	*id = id_of(m);

	/* A topic that is gone had it. */
	if (e->seen && m->gone != e->gone) {
		e->gone = m->gone;
		c->sent_again++;
		return;
	}
	/* A replica may have it all the time. */
	if (e->seen && e->nlosses > 0) {
		e->nlosses--;
		c->recovered++;
		return;
	}
	if (e->seen || again)
		trouble(&c->duplicated, "duplicated", "sequence %llu "
		    "(%s, id %s)", (unsigned long long)e->seq, m->where,
		    id != NULL ? id : "none");
	if (e->seen)
		return;
	e->seen = true;
	e->gone = m->gone;
	c->delivered++;
	judge_order(c, e, m, place_of(m));
	if (id == NULL)
		trouble(&c->damaged, "damaged", "sequence %llu (%s) has no %s",
		    (unsigned long long)e->seq, m->where,
		    m->is_record ? "Outbox-Id" : "Nats-Msg-Id");
}

static void
judge_phantom(struct check *c, const struct lab_msg *m, uint64_t seq,
    const char *what, bool again)
{
	const char	*id = id_of(m);

	trouble(again ? &c->duplicated : &c->phantom,
	    again ? "duplicated" : "phantom", "%s, sequence %llu, "
	    "subject %s, id %s: %s%s", m->where,
	    (unsigned long long)seq, m->subject,
	    id != NULL ? id : "none", what != NULL ?
	    "the event has another " : "no such event",
	    what != NULL ? what : "");
}

static void
judge_foreign(struct check *c, const struct lab_msg *m)
{
	trouble(&c->foreign, "foreign", "%s, subject %s: has no sequence",
	    m->where, m->subject);
}

static void
judge(struct check *c, const struct lab_msg *m)
{
	uint64_t	 seq = sequence_of(m);
	const char	*id = id_of(m), *what = NULL;
	struct event	*e;
	bool		 again;

	if (!is_ours(c, c->o->shape != NULL ? lab_header(m, "Outbox-Id") : id)) {
		c->others++;
		return;
	}
	if (seq == 0) {
		judge_foreign(c, m);
		return;
	}
	if (seq <= (uint64_t)c->o->since)
		return;
	again = id != NULL && !idset_add(&c->ids, id);
	e = find_event(c, seq);
	if (e != NULL && (what = difference(e, m)) == NULL)
		judge_delivered(c, e, m, again);
	else if (e != NULL || !is_newer(c, seq))
		judge_phantom(c, m, seq, what, again);
}

static void
add_time(struct check *c, int64_t when)
{
	if (c->ntimes == c->times_room) {
		c->times_room = c->times_room * 2 + 1024;
		c->times = lab_realloc(c->times, c->times_room,
		    sizeof(*c->times));
	}
	c->times[c->ntimes++] = when;
}

static void
on_message(void *arg, natsMsg *nats, uint64_t seq, int64_t when)
{
	struct check	*c = arg;
	struct lab_msg	 m = { .nats = nats, .number = seq, .when = when,
	    .subject = natsMsg_GetSubject(nats), .data = natsMsg_GetData(nats),
	    .len = (size_t)natsMsg_GetDataLength(nats) };

	snprintf(m.where, sizeof(m.where), "message %llu",
	    (unsigned long long)seq);
	add_time(c, when);
	judge(c, &m);
}

/* The time of a record is that of its event: not when it was stored. */
static void
on_record(void *arg, const struct lab_msg *m)
{
	struct check	*c = arg;

	c->gone += m->gone > 0;
	judge(c, m);
}

/* Each loss has a number from 1 on. */
static void
note_loss(struct check *c, uint64_t seq, unsigned n, uint64_t above,
    bool in_doubt)
{
	struct event	*e = find_event(c, seq);

	if (n == 0 || n > LAB_MAX_LOSSES)
		errx(1, "%s: no loss has number %u", c->o->recovered, n);
	c->above[n - 1] = above;
	if (e == NULL)
		return;
	e->losses |= 1u << (n - 1);
	if (in_doubt)
		e->in_doubt |= 1u << (n - 1);
	e->nlosses++;
}

static void
read_losses(struct check *c)
{
	FILE			*f;
	unsigned long long	 seq, above;
	unsigned		 n, in_doubt;
	int			 got;

	if (c->o->recovered == NULL)
		return;
	if ((f = fopen(c->o->recovered, "r")) == NULL)
		err(1, "%s", c->o->recovered);
	while ((got = fscanf(f, "%llu %u %llu %u", &seq, &n, &above,
	    &in_doubt)) == 4)
		note_loss(c, seq, n, above, in_doubt != 0);
	if (got != EOF)
		errx(1, "%s: not four numbers in a line", c->o->recovered);
	fclose(f);
}

static bool
rows_wait(struct check *c)
{
	char	sql[512], outbox[LAB_TABLE];

	lab_outbox(c->o, outbox);
	snprintf(sql, sizeof(sql), "SELECT 1 FROM %s WHERE published_at IS "
	    "NULL LIMIT 1", outbox);
	return lab_db_number(c->db, sql) != 0;
}

/*
 * Wait until the stream seems complete, or no more messages are expected.
 * While rows wait in the outbox only the deadline ends the wait, because a
 * daemon may pause and go on.
 */
static void
wait_for_stream(struct check *c)
{
	int64_t		end = lab_now_ms() + c->o->wait * 1000, now;
	int64_t		quiet = 0;
	uint64_t	have, before = 0, dead;

	dead = c->o->expect_dead < 0 ? 0 : (uint64_t)c->o->expect_dead;

	for (;;) {
		now = lab_now_ms();
		have = c->o->kafka != NULL ? lab_topic_count(c->o) :
		    lab_stream_state(&c->bus, c->o->stream, NULL);
		if (have != before || quiet == 0)
			quiet = now + QUIET_MS;
		before = have;
		if (now >= end || lab_stopped)
			return;
		if (have + dead >= c->nevents && (!rows_wait(c) || now >= quiet))
			return;
		if (now >= quiet && !rows_wait(c))
			return;
		lab_pause(50);
	}
}

static void
say_lost(struct check *c, const struct event *e)
{
	char		 sql[512], outbox[LAB_TABLE];
	MYSQL_RES	*res;
	MYSQL_ROW	 row;

	lab_outbox(c->o, outbox);
	snprintf(sql, sizeof(sql), "SELECT IF(published_at IS NULL, "
	    "'waits', 'is marked as published'), attempts, "
	    "COALESCE(last_error, '') FROM %s WHERE global_sequence = "
	    "%llu", outbox, (unsigned long long)e->seq);
	res = lab_db_query(c->db, sql, false);
	row = mysql_fetch_row(res);
	trouble(&c->lost, "lost", "sequence %llu, key %s: %s%s%s%s%s",
	    (unsigned long long)e->seq, e->key->name,
	    row != NULL ? row[0] : "has no outbox row",
	    row != NULL ? ", attempts " : "", row != NULL ? row[1] : "",
	    row != NULL && *row[2] != '\0' ? ", " : "",
	    row != NULL ? row[2] : "");
	mysql_free_result(res);
}

static void
find_lost(struct check *c)
{
	for (size_t i = 0; i < c->nevents; i++) {
		if (c->events[i].seen)
			continue;
		if (c->lost < EXAMPLES)
			say_lost(c, &c->events[i]);
		else
			c->lost++;
	}
}

/* Read the dead letters; with --expect-dead they do not count as lost. */
static void
read_dead(struct check *c)
{
	char		 sql[256];
	MYSQL_RES	*res;
	MYSQL_ROW	 row;
	struct event	*e;

	if (!lab_db_has(c->db, "outbox_dead_letters"))
		return;
	snprintf(sql, sizeof(sql), "SELECT global_sequence, reason, attempts,"
	    " COALESCE(last_error, '') FROM outbox_dead_letters WHERE "
	    "global_sequence > %lld ORDER BY 1", (long long)c->o->since);
	res = lab_db_query(c->db, sql, false);
	while ((row = mysql_fetch_row(res)) != NULL) {
		e = find_event(c, strtoull(row[0], NULL, 10));
		trouble(&c->dead, "dead", "sequence %s, %s, attempts %s: %s%s",
		    row[0], row[1], row[2], row[3], e != NULL && e->seen ?
		    " (yet it is in the stream)" : "");
		if (e != NULL && c->o->expect_dead >= 0)
			e->seen = true;
	}
	mysql_free_result(res);
}

/* Messages per second from the i-th to the j-th, by the stream's clock. */
static double
rate(const struct check *c, size_t i, size_t j)
{
	if (j <= i || c->times[j] <= c->times[i])
		return 0;
	return (double)(j - i) * 1e9 / (double)(c->times[j] - c->times[i]);
}

static bool
is_good(const struct check *c)
{
	uint64_t	expected = c->o->expect_dead < 0 ? 0 :
			    (uint64_t)c->o->expect_dead;

	return c->lost == 0 && c->duplicated == 0 && c->disorder == 0 &&
	    c->foreign == 0 && c->damaged == 0 && c->dead == expected &&
	    (c->o->allow_phantoms ||
	    c->phantom <= (uint64_t)c->o->max_phantoms);
}

static void
print_row(const char *name, uint64_t n)
{
	printf("%-14s%12llu\n", name, (unsigned long long)n);
}

static void
print_table(const struct check *c)
{
	size_t	last = c->ntimes > 0 ? c->ntimes - 1 : 0;

	print_row("committed", c->nevents);
	print_row("delivered", c->delivered);
	print_row("lost", c->lost);
	print_row("duplicated", c->duplicated);
	print_row("out of order", c->disorder);
	print_row("foreign", c->foreign);
	print_row("damaged", c->damaged);
	if (c->dead > 0 || c->o->expect_dead >= 0)
		print_row("dead", c->dead);
	print_row("phantom", c->phantom);
	if (c->gone > 0)
		print_row("sent again", c->sent_again);
	if (c->o->outbox_id != NULL)
		print_row("others", c->others);
	print_row("msg/s", (uint64_t)rate(c, 0, last));
	puts(is_good(c) ? "OK" : "NOT OK");
}

static void
print_json(const struct check *c)
{
	size_t	last = c->ntimes > 0 ? c->ntimes - 1 : 0;

	printf("{\"ok\":%s,\"committed\":%zu,\"delivered\":%llu,"
	    "\"lost\":%llu,\"duplicated\":%llu,\"out_of_order\":%llu,"
	    "\"foreign\":%llu,\"damaged\":%llu,\"dead\":%llu,"
	    "\"phantom\":%llu,\"others\":%llu,\"gone\":%llu,"
	    "\"sent_again\":%llu,"
	    "\"messages\":%zu,\"rate\":%.0f,\"rate_first_quarter\":%.0f,"
	    "\"rate_last_quarter\":%.0f}\n", is_good(c) ? "true" : "false",
	    c->nevents, (unsigned long long)c->delivered,
	    (unsigned long long)c->lost, (unsigned long long)c->duplicated,
	    (unsigned long long)c->disorder, (unsigned long long)c->foreign,
	    (unsigned long long)c->damaged, (unsigned long long)c->dead,
	    (unsigned long long)c->phantom, (unsigned long long)c->others,
	    (unsigned long long)c->gone, (unsigned long long)c->sent_again,
	    c->ntimes, rate(c, 0, last), rate(c, 0, last / 4),
	    rate(c, last - last / 4, last));
}

static void
check_free(struct check *c)
{
	free_names(c);
	free(c->events);
	free(c->ids.at);
	free(c->times);
	mysql_close(c->db);
	mysql_library_end();
	if (c->o->kafka == NULL)
		lab_bus_close(&c->bus);
}

int
lab_check(const struct lab_opts *o)
{
	struct check	c = { .o = o };
	bool		good;

	lab_catch_signals();
	c.db = lab_db_open(o);
	if (o->kafka == NULL)
		lab_bus_open(o, &c.bus);
	read_events(&c);
	read_losses(&c);
	if (o->wait > 0)
		wait_for_stream(&c);
	if (o->kafka != NULL)
		lab_read_topics(o, on_record, &c);
	else
		lab_read_stream(&c.bus, o->stream, on_message, &c);
	read_dead(&c);
	find_lost(&c);
	if (o->json)
		print_json(&c);
	else
		print_table(&c);
	good = is_good(&c);
	check_free(&c);
	return good ? 0 : 1;
}

/* Called often, so its queries are bounded. */
int
lab_count(const struct lab_opts *o)
{
	MYSQL		*db = lab_db_open(o);
	struct lab_bus	 bus;
	char		 sql[512], events[LAB_TABLE], outbox[LAB_TABLE];
	uint64_t	 committed, waiting;

	if (o->kafka == NULL)
		lab_bus_open(o, &bus);
	lab_events(o, events);
	lab_outbox(o, outbox);
	snprintf(sql, sizeof(sql), "SELECT COUNT(*) FROM (SELECT 1 FROM "
	    "%s WHERE sequence > %lld LIMIT " BOUND ") AS some",
	    events, (long long)o->since);
	committed = lab_db_number(db, sql);
	snprintf(sql, sizeof(sql), "SELECT COUNT(*) FROM (SELECT 1 FROM %s "
	    "WHERE published_at IS NULL LIMIT " BOUND ") AS some",
	    outbox);
	waiting = lab_db_number(db, sql);
	printf("committed %llu waiting %llu messages %llu\n",
	    (unsigned long long)committed, (unsigned long long)waiting,
	    (unsigned long long)(o->kafka != NULL ? lab_topic_count(o) :
	    lab_stream_state(&bus, o->stream, NULL)));
	mysql_close(db);
	mysql_library_end();
	if (o->kafka == NULL)
		lab_bus_close(&bus);
	return 0;
}
