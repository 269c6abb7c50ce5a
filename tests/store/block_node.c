/*
 * block_node.c - workers without a broker: their clock, and what goes wrong
 *
 * A node is the fleet, the tick and the store of one worker; its publisher is
 * a fake that answers at once, and checks each message that it is given.  Calls
 * of the client library pass here, to fail or to have something happen first.
 */
#include "store/block_test.h"

#include <dlfcn.h>
#include <mysql.h>
#include <sys/socket.h>
#include <time.h>

#include "driver/pub_lacks.h"
#include "util/clock.h"

struct node	nodes[2];
struct story	story;
int64_t		skew_ms;

/* Instead of the library's. */
int64_t
clock_us(void)
{
	struct timespec	ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000 +
	    skew_ms * 1000;
}

int64_t
clock_ms(void)
{
	return clock_us() / 1000;
}

static void
hang_up(MYSQL *mysql)
{
#ifdef LIBMARIADB
	shutdown((int)mysql_get_socket(mysql), SHUT_RDWR);
#else
	shutdown((int)mysql->net.fd, SHUT_RDWR);
#endif
}

unsigned
dice(unsigned n)
{
	return (unsigned)rand() % n;
}

void
happen(void)
{
	story.inside = true;
	story.event();
	story.event = NULL;
	story.inside = false;
}

/*
 * What was claimed is read: a row that is put back now is behind it, whatever
 * their order was.
 */
static bool
is_claimed(const char *sql)
{
	return strstr(sql, "AND o.claim_token = '") != NULL;
}

/* The library's, but a connection breaks before or after a statement. */
int STDCALL
mysql_send_query(MYSQL *mysql, const char *text, unsigned long len)
{
	static int	(*real)(MYSQL *, const char *, unsigned long);
	int		  rc;

	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "mysql_send_query");
	if (story.inside)
		return real(mysql, text, len);
	if (story.event != NULL && strstr(text, story.event_at) != NULL &&
	    !is_claimed(text))
		happen();
	story.scans += strstr(text, "ORDER BY global_sequence LIMIT") != NULL ||
	    strstr(text, "published_at IS NULL LIMIT") != NULL;
	if (story.before != NULL && strstr(text, story.before) != NULL) {
		story.before = NULL;
		sql("%s", story.meanwhile);
	}
	if (story.breaks_at == 0 || strcmp(mysql->user, "outbox") != 0 ||
	    --story.breaks_at > 0)
		return real(mysql, text, len);
	if (rand() % 2 == 0 && (rc = real(mysql, text, len)) == 0) {
		if (mysql_read_query_result(mysql) != 0)
			return 1;
		mysql_free_result(mysql_store_result(mysql));
		hang_up(mysql);
		return rc;
	}
	hang_up(mysql);
	return real(mysql, text, len);
}

static bool
node_is_open(void *arg)
{
	(void)arg;
	return true;
}

static int64_t
node_max_payload(void *arg)
{
	(void)arg;
	return 1024 * 1024;
}

static int64_t
node_unread(void *arg)
{
	(void)arg;
	return 0;
}

static void
node_begin(void *arg, int64_t until)
{
	struct node	*n = arg;

	(void)until;
	n->nslots = n->answered = 0;
}

static void
ck_may_be_sent(const struct msg *m)
{
	char	*list = xstrdup(sql_text("SELECT COALESCE(GROUP_CONCAT("
		    "global_sequence), '') FROM outbox JOIN events ON sequence"
		    " = global_sequence WHERE stream_id = '%.*s' AND "
		    "published_at IS NULL AND global_sequence < %llu",
		    (int)m->key.len, m->key.data,
		    (unsigned long long)m->sequence)), *at = list, *one;

	while ((one = strsep(&at, ",")) != NULL && one[0] != '\0')
		ck_assert_msg(story.acked[strtoull(one, NULL, 10)],
		    "%llu of %.*s goes before %s, which waits",
		    (unsigned long long)m->sequence, (int)m->key.len,
		    m->key.data, one);
	free(list);
	ck_sql("0", "SELECT COUNT(*) FROM outbox_blocked_keys WHERE order_key "
	    "= '%.*s' AND reason = 'halted' AND head_sequence < %llu",
	    (int)m->key.len, m->key.data, (unsigned long long)m->sequence);
}

/* The batch holds no more than its budget, and one message that exceeds it. */
static void
ck_fits(const struct batch *b)
{
	size_t	held = 0, large = 0;

	for (size_t i = 0; i < b->n; i++) {
		const struct msg *m = &b->msgs[i];

		held += m->away ? 0 : msg_size(m);
		if (!m->away && msg_size(m) > large)
			large = msg_size(m);
	}
	ck_assert_uint_le(held - large, (size_t)conf->worker.batch_bytes);
}

static enum pub_sent
node_send(void *arg, const struct envelope *v, uint32_t slot, struct err *err)
{
	struct node		*n = arg;
	const struct msg	*m = &n->tick.batch.msgs[slot];

	(void)err;
	ck_may_be_sent(m);
	story.sends[m->sequence]++;
	/* A message that is stored already is known to be in doubt. */
	ck_assert(!story.stored[m->sequence] || m->in_doubt_ms >= 0);
	ck_fits(&n->tick.batch);
	ck_assert_ptr_nonnull(v->payload.data);
	ck_sql("1", "SELECT LENGTH(event_data) = %zu FROM events "
	    "WHERE sequence = %llu", v->payload.len,
	    (unsigned long long)m->sequence);
	n->slots[n->nslots++] = slot;
	return PUB_SENT;
}

static void
node_prepare(void *arg, struct pub_polls *p)
{
	(void)arg;
	p->timeout_ms = 0;
}

static void
node_proceed(void *arg, const struct pollfd *fds, size_t n)
{
	(void)arg;
	(void)fds;
	(void)n;
}

static bool
node_answer(void *arg, struct pub_answer *a)
{
	struct node	*n = arg;
	uint64_t	 sequence;

	if (n->answered == n->nslots)
		return false;
	*a = (struct pub_answer){ .index = n->slots[n->answered++],
	    .verdict = dice(100) >= story.failures ? VERDICT_STORED :
	    dice(4) == 0 ? VERDICT_MESSAGE : VERDICT_TRANSIENT };
	sequence = n->tick.batch.msgs[a->index].sequence;
	if (a->verdict == VERDICT_STORED)
		story.stored[sequence] = true;
	/* A dead message does not hold its key up, unless it halts. */
	if (a->verdict == VERDICT_STORED || (a->verdict == VERDICT_MESSAGE &&
	    conf->retry.on_dead == DEAD_CONTINUE))
		story.acked[sequence] = true;
	return true;
}

/* It never forgets an id, so no message is looked up. */
static bool
node_state(void *arg, struct stream_state *state, struct err *err)
{
	(void)arg;
	(void)err;
	*state = (struct stream_state){ .answer = STREAM_THERE,
	    .dedup_window_ms = INT64_MAX / 2 };
	return true;
}

static enum error_class
node_complaint(void *arg, enum pub_about about, struct err *err)
{
	(void)arg;
	(void)about;
	(void)err;
	return CLASS_NONE;
}

static enum keep
node_keep(void *arg)
{
	(void)arg;
	return KEEP_ON;
}

struct node *
node_start(struct node *n)
{
	static const struct pub_ops	ops = {
		.in_order = true, .can_ask = true, .names_streams = true,
		.is_open = node_is_open,
		.max_payload = node_max_payload,
		.capacity = pub_no_limit,
		.unread = node_unread, .begin = node_begin,
		.send = node_send, .prepare = node_prepare,
		.proceed = node_proceed, .answer = node_answer,
		.complaint = node_complaint, .state = node_state,
	};

	memset(n, 0, sizeof(*n));
	snprintf(n->id, sizeof(n->id), "here:00:%016x", ++story.next_id);
	n->store = store_of(conf, n->id);
	fleet_init(&n->fleet, conf, n->store);
	n->fleet.purge_at = INT64_MAX;	/* it would find the lost */
	n->relay = (struct relay){ .conf = conf, .pubs = { { &ops, n } },
	    .form = { conf->nats.subject, "x", "" }, .has_dead = true,
	    .keep = node_keep };
	tick_init(&n->tick, conf, n->store, &n->fleet, &n->relay);
	n->tick.totals = &n->totals;
	ck_ok(store_register(n->store, &e));
	ck_ok(adopt_round(&n->fleet, &n->tick.backlog, clock_ms(), &e));
	return n;
}

void
node_stop(struct node *n)
{
	tick_free(&n->tick);
	fleet_free(&n->fleet);
	store_free(n->store);
	n->store = NULL;
	envelope_free(&n->relay.envelope);
	type_breaker_free(&n->relay.breaker);
}

void
node_dies(struct node *n)
{
	char	dead[IDENT_SIZE];

	memcpy(dead, n->id, sizeof(dead));
	node_stop(n);
	node_start(n);
	ck_ok(store_take_over(n->store, dead, &e));
	store_note_dead(n->store, ident_nonce(dead));
	fleet_restart(&n->fleet);
	ck_ok(adopt_round(&n->fleet, &n->tick.backlog, clock_ms(), &e));
}

void
node_connects(struct node *n)
{
	ck_ok(store_open(n->store, &e));
	ck_ok(store_learn(n->store, &e));
	ck_ok(store_register(n->store, &e));
	ck_ok(store_bump_own_epochs(n->store, &e));
	fleet_restart(&n->fleet);
}

/* Too much waited a moment ago, or a glance shows all. */
static void
choose_look(struct node *n)
{
	n->tick.backlog.candidates.crowded_until =
	    dice(100) < story.crowded ? INT64_MAX : 0;
}

/* A round as the worker does it; leases are read when they are due. */
static int
round_of(struct node *n)
{
	struct tick_result	res;

	if (tick_is_open(&n->tick) && tick_settle(&n->tick, &res, &e) < 0)
		return -1;
	if (adopt_round(&n->fleet, &n->tick.backlog, clock_ms(), &e) < 0)
		return -1;
	choose_look(n);
	return tick_run(&n->tick, (size_t)conf->worker.batch_size, &res, &e);
}

void
node_works(struct node *n)
{
	if (!store_is_open(n->store))
		node_connects(n);
	if (story.failures > 0 && dice(6) == 0)
		story.breaks_at = 1 + (int)dice(30);
	if (round_of(n) < 0)
		ck_assert_msg(!store_is_open(n->store) ||
		    store_fault(n->store) == DB_BUSY, "%s", e.text);
	story.breaks_at = 0;
	if (!store_is_open(n->store) && dice(3) == 0)
		node_dies(n);
}

void
time_passes(int64_t ms)
{
	skew_ms += ms;
	sql("UPDATE outbox SET available_at = available_at - INTERVAL %lld "
	    "MICROSECOND WHERE published_at IS NULL", (long long)ms * 1000);
}

void
random_begin(void)
{
	begin();
	conf->worker.batch_size = BATCH;
	conf->worker.batch_bytes = 1000;
	conf->worker.lease_ttl = conf->worker.heartbeat_ttl = 3600000;
	conf->worker.lease_renew = 2000;
	conf->retry.backoff = 5000;
	conf->retry.max_backoff = 20000;
	conf->retry.max_attempts = 3;
	conf->nats.recover = RECOVER_OFF;	/* there is no stream to ask */
	memset(&story, 0, sizeof(story));
	skew_ms = 0;
	sql("ALTER TABLE events AUTO_INCREMENT = 1; "
	    "INSERT INTO outbox_partitions (partition_key) "
	    "VALUES (''), ('p00'), ('p01')");
}

void
random_end(void)
{
	for (int i = 0; i < NROWS(nodes); i++)
		if (nodes[i].store != NULL)
			node_stop(&nodes[i]);
	end();
}
