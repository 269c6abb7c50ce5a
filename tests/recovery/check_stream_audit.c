/*
 * check_stream_audit.c - what the stream lost, found on real tables
 *
 * Here is what the tests share, see stream_audit_test.h.
 */
#include "recovery/stream_audit_test.h"

#include "util/log.h"

struct fake		fake;
struct relay		relay;
struct stream_audit	rec;
enum keep		kept;
unsigned		nkept;

static bool
fake_is_open(void *arg)
{
	(void)arg;
	return !fake.closed;
}

static int
fake_open(void *arg, struct err *err)
{
	(void)arg;
	return fake.closed ? err_set(err, "the fake is closed") : 0;
}

static void
fake_close(void *arg)
{
	(void)arg;
}

static bool
fake_state(void *arg, struct stream_state *state, struct err *err)
{
	(void)arg;
	*state = (struct stream_state){ .answer = STREAM_UNKNOWN };
	if (fake.before_state != NULL)
		fake.before_state();
	if (++fake.asked == fake.error_at || fake.closed || fake.mute) {
		err_set(err, "the fake is silent");
		return false;
	}
	if (fake.gone)
		state->answer = STREAM_MISSING;
	else
		*state = fake.state;
	return true;
}

static void
fill_stored(struct stored_message *p)
{
	uint64_t	row = fake.row[p->sequence];

	ck_assert_uint_lt(p->sequence, PLACES);
	p->id = (struct message_id){ .sequence = row,
	    .replay = fake.replay[p->sequence],
	    .hash = fake.hash[p->sequence],
	    .hashed = fake.hash[p->sequence] != 0 };
	snprintf(p->time, sizeof(p->time), "%s", fake.time[p->sequence] == NULL ?
	    "" : fake.time[p->sequence]);
	snprintf(p->origin, sizeof(p->origin), "%s",
	    fake.origin[p->sequence] == NULL ? "" : fake.origin[p->sequence]);
	p->at = row == 0 || fake.began_at == 0 ? 0 :
	    fake.began_at + (int64_t)p->sequence * 1000;
	p->what = row == 0 || p->sequence > fake.state.last ? STORED_EMPTY :
	    row == ALIEN ? STORED_OTHER : STORED_OURS;
}

static int
fake_get_stored(void *arg, const char *prefix, struct stored_message *stored,
    size_t n, const struct pub_go_on *go_on, struct err *err)
{
	(void)arg;
	ck_assert_str_eq(prefix, "shop");
	if (++fake.asked == fake.error_at || !go_on->ask(go_on->arg) ||
	    fake.closed || fake.mute)
		return err_set(err, "the fake breaks off");
	for (size_t i = 0; i < n && !(fake.cut && i > 5); i++)
		fill_stored(&stored[i]);
	fake.nplaces += n;
	if (fake.during != NULL)
		fake.during();
	return 0;
}

/* The broker's list; it does not list what it only lost. */
static bool
fake_removed(void *arg, struct stream_removed *r, struct err *err)
{
	memset(r, 0, sizeof(*r));
	fake.nlists++;
	if (!fake_state(arg, &r->state, err))
		return false;
	sequence_set_add_all(&r->deleted, &fake.deleted);
	sequence_set_add_all(&r->damaged, &fake.damaged);
	return true;
}

static enum error_class
fake_complaint(void *arg, enum pub_about about, struct err *err)
{
	(void)arg;
	err_set(err, "the fake has no ear");
	return fake.mute && !fake.silent &&
	    about == (fake.nobody ? PUB_NOBODY : PUB_FORBIDDEN) ?
	    CLASS_OTHER : CLASS_NONE;
}

static const struct pub_ops fake_ops = {
	.can_ask = true,
	.open = fake_open,
	.close = fake_close,
	.is_open = fake_is_open,
	.state = fake_state,
	.get_stored = fake_get_stored,
	.removed = fake_removed,
	.complaint = fake_complaint,
};

static enum keep
keep(void *arg)
{
	(void)arg;
	nkept++;
	return kept;
}

static void
open_with(const char *nats)
{
	conf = servers_conf("mysql: {socket: \"%s\", user: outbox, "
	    "password_env: OUTBOX_PW, database: app}\nnats: {%s}\n",
	    servers_get(server, "SOCKET"), nats);
	st = store_of(conf, ME);
	ck_ok(store_register(st, &e));
	relay = (struct relay){ .conf = conf, .pubs = { { &fake_ops, NULL } },
	    .form = { "s", "shop", "EVENTS" }, .keep = keep };
	stream_audit_init(&rec, conf, st, &relay);
	stream_audit_connected(&rec);
}

void
recover_begin(void)
{
	begin();
	conf_free(conf);
	sql("DELETE FROM outbox_streams; "
	    "INSERT INTO outbox_partitions (partition_key, lease_epoch) "
	    "VALUES ('p00', 5), ('p01', 5), ('', 5)");
	sequence_set_free(&fake.deleted);
	sequence_set_free(&fake.damaged);
	memset(&fake, 0, sizeof(fake));
	fake.state.answer = STREAM_THERE;
	fake.state.first = 1;
	strlcpy(fake.state.created, CREATED, sizeof(fake.state.created));
	strlcpy(fake.state.server, "S1", sizeof(fake.state.server));
	kept = KEEP_ON;
	nkept = 0;
	open_with("");
}

void
again_with(const char *nats)
{
	store_free(st);
	conf_free(conf);
	ck_ok(log_open(servers_write("log", ""), LOG_LVL_DEBUG, false, &e));
	open_with(nats);
}

void
deliver(uint64_t first, uint64_t last, const char *label, unsigned age_s)
{
	for (uint64_t i = first; i <= last; i++) {
		sql("INSERT INTO outbox (global_sequence, partition_key, "
		    "published_at, ack_sequence) VALUES (%llu, %s, "
		    "NOW(6) - INTERVAL %u SECOND, %llu)",
		    (unsigned long long)i, label, age_s,
		    (unsigned long long)i);
		fake.row[i] = i;
	}
	if (last > fake.state.last)
		fake.state.last = last;
	fake.state.messages = fake.state.last;
}

void
deliver_elsewhere(uint64_t first, uint64_t last, unsigned age_s)
{
	sql("INSERT INTO outbox (global_sequence, partition_key, published_at) "
	    "WITH RECURSIVE r AS (SELECT %llu AS n UNION ALL SELECT n + 1 "
	    "FROM r WHERE n < %llu) SELECT n, 'p00', "
	    "NOW(6) - INTERVAL %u SECOND FROM r", (unsigned long long)first,
	    (unsigned long long)last, age_s);
}

void
know(const char *servers, unsigned age_s)
{
	sql("REPLACE INTO outbox_streams (name, created, prefix, servers, "
	    "known_since, checked_at) VALUES ('EVENTS', '" CREATED "', 'shop', "
	    "'%s', NOW(6) - INTERVAL 1 DAY, NOW(6) - INTERVAL %u SECOND)",
	    servers, age_s);
}

void
forget(uint64_t first, uint64_t last)
{
	memset(&fake.row[first], 0, (last - first + 1) * sizeof(fake.row[0]));
}

bool
look(void)
{
	ck_ok(stream_audit_round(&rec, true, &e));
	return stream_audit_is_ready(&rec);
}

static const struct {
	uint64_t		sequence;
	enum stored_what	what;
	uint64_t		row;
	bool			forgets;
	enum fate		fate;
} fates[] = {		/* of row 7, in a stream of 10 to 20 */
	{ 15, STORED_OURS, 7, false, FATE_THERE },
	{ 15, STORED_OURS, 8, false, FATE_LOST },
	{ 15, STORED_OTHER, 0, false, FATE_LOST },
	{ 15, STORED_OTHER, 0, true, FATE_LOST },
	{ 15, STORED_EMPTY, 0, false, FATE_HOLE },
	{ 15, STORED_EMPTY, 0, true, FATE_HOLE },
	{ 10, STORED_EMPTY, 0, false, FATE_HOLE },
	{ 9, STORED_EMPTY, 0, false, FATE_REMOVED },
	{ 9, STORED_EMPTY, 0, true, FATE_REMOVED },
	{ 20, STORED_EMPTY, 0, false, FATE_HOLE },
	{ 21, STORED_EMPTY, 0, false, FATE_LOST },
	{ 21, STORED_EMPTY, 0, true, FATE_LOST },
	{ 21, STORED_OURS, 7, false, FATE_LOST },
	{ 0, STORED_EMPTY, 0, true, FATE_LOST },
};

START_TEST(fate_is_judged)
{
	struct stream_state	state = { .answer = STREAM_THERE, .first = 10,
				    .last = 20, .forgets = fates[_i].forgets };
	struct stored_message	p = { .sequence = fates[_i].sequence,
				    .what = fates[_i].what,
				    .id = { .sequence = fates[_i].row } };
	struct acked		row = { { .sequence = 7 }, 15 };

	ck_assert_int_eq(stream_audit_judge(&state, &row, &p), fates[_i].fate);
	/* What it was before it was replayed is somebody else's. */
	row.id.replay = 2;
	ck_assert_int_ne(stream_audit_judge(&state, &row, &p), FATE_THERE);
	p.id.replay = 2;
	ck_assert_int_eq(stream_audit_judge(&state, &row, &p), fates[_i].fate);
	/* And so is another event that had its number. */
	row.id.hashed = true;
	row.id.hash = 5;
	ck_assert_int_ne(stream_audit_judge(&state, &row, &p), FATE_THERE);
	p.id.hashed = true;
	p.id.hash = 5;
	ck_assert_int_eq(stream_audit_judge(&state, &row, &p), fates[_i].fate);
	/* What was not answered tells nothing. */
	memset(&state, 0, sizeof(state));
	ck_assert_int_eq(stream_audit_judge(&state, &row, &p), FATE_UNKNOWN);
}
END_TEST

static void
add_all(Suite *s, const struct kind *k)
{
	/* Needs no server, and is there once. */
	if (strcmp(k->name, "mariadb") == 0) {
		TCase *tc = tcase_create("fate");

		tcase_add_loop_test(tc, fate_is_judged, 0, NROWS(fates));
		suite_add_tcase(s, tc);
	}
	add_streams(s, k);
	add_tails(s, k);
	add_doubts(s, k);
	add_rivals(s, k);
	add_scrubs(s, k);
}

int
main(void)
{
	return frame_run("recover", add_all);
}
