/*
 * check_driver.c - the contract that each driver keeps, at real servers
 *
 * The cases go through the relay, as in a worker: what becomes of a message,
 * and what the destination has at the end.
 */
#include "driver/driver_test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver/envelope.h"
#include "drivers/drivers.h"
#include "publish/relay.h"
#include "unit/batch.h"
#include "util/clock.h"

static const struct destination	*const all[] = {
	&to_nats, &to_nats_core, &to_http, &to_stdout, &to_discard, &to_kafka,
};

static const struct destination	*d;
static size_t			 driver;	/* of it */
static struct conf		*conf;
static struct relay		 relay;
static struct relay_result	 res;
static struct err		 e;
static enum keep		 wish;
static int64_t			 keep_until;

/* The driver's functions, with a count of what is out. */
static const struct pub_ops	*real;
static struct pub_ops		 counting;
static size_t			 out, most;

static enum pub_sent
counting_send(void *arg, const struct envelope *v, uint32_t i, struct err *err)
{
	enum pub_sent	sent = real->send(arg, v, i, err);

	out += sent == PUB_SENT;
	if (out > most)
		most = out;
	return sent;
}

static bool
counting_answer(void *arg, struct pub_answer *a)
{
	bool	is = real->answer(arg, a);

	out -= is;
	return is;
}

static enum keep
keep(void *arg)
{
	(void)arg;
	return clock_ms() >= keep_until ? wish : KEEP_ON;
}

static void
begin(const struct destination *to)
{
	signal(SIGPIPE, SIG_IGN);	/* as the daemon does */
	d = to;
	conf = to->begin();
	relay = (struct relay){ .conf = conf, .has_dead = true, .keep = keep,
	    .form = envelope_form_of(conf, "abc") };
	route_set_init(&relay.routes, conf, &relay.form);
	driver = (size_t)conf->publish.driver;
	relay.pubs[driver] = drivers_new_first(conf, "check");
	real = relay.pubs[driver].ops;
	counting = *real;
	counting.send = counting_send;
	counting.answer = counting_answer;
	relay.pubs[driver].ops = &counting;
	ck_assert_str_eq(real->name, to->driver);
	wish = KEEP_ON;
	keep_until = 0;
	ck_assert_msg(real->open(relay.pubs[driver].arg, &e) == 0, "%s",
	    e.text);
}

static void
free_errors(void)
{
	for (size_t i = 0; i < batch.n; i++)
		free(msgs[i].error);
	batch.n = 0;
}

/* The library of NATS ends with its last connection, ours. */
static void
end(void)
{
	d->end();
	pub_free(&relay.pubs[driver]);
	envelope_free(&relay.envelope);
	type_breaker_free(&relay.breaker);
	free_errors();
	conf_free(conf);
}

/* Publish a batch that was claimed just now; opens it again if need be. */
static void
publish(const char *keys)
{
	if (!real->is_open(relay.pubs[driver].arg))
		real->open(relay.pubs[driver].arg, &e);
	out = most = 0;
	free_errors();
	batch_of(keys);
	batch.claimed_at = clock_ms();
	for (size_t i = 0; i < batch.n; i++)
		msgs[i].in_doubt_ms = -1;
	relay_publish(&relay, &batch, &res);
}

/* A letter for each: Unsent Delivered Retry deFer X, and ? in doubt. */
static void
ck_outcomes(const char *wanted)
{
	static const char	letters[] = "UDRFX?";
	char			got[MANY + 1] = "";

	for (size_t i = 0; i < batch.n; i++)
		got[i] = letters[msgs[i].outcome];
	ck_assert_msg(strcmp(got, wanted) == 0, "%s: %s instead of %s: %s",
	    d->name, got, wanted, res.why.text);
}

/* The destination has these rows, 100 being "a", in an order of its own. */
static void
ck_has_rows(size_t n)
{
	uint64_t	rows[MANY];

	if (d->list != NULL)
		ck_assert_uint_eq(d->list(rows, MANY), n);
}

static bool
can(enum mood mood)
{
	return d->cannot[mood] == NULL;
}

/* What a driver lacks it has functions for. */
START_TEST(everything_is_filled)
{
	const void *const	*p = (const void *const *)&counting.free;
	struct stream_report	 r;

	begin(all[_i]);
	for (; p <= (const void *const *)&counting.tell; p++)
		ck_assert_ptr_nonnull(*p);
	ck_assert_str_ne(real->peer, "");
	ck_assert_int_gt(real->max_payload(relay.pubs[driver].arg), 0);
	ck_assert_int_gt(real->capacity(relay.pubs[driver].arg), 0);
	ck_assert(real->check(relay.pubs[driver].arg, &r, &e) && !r.unfit);
	ck_assert(!real->woken(relay.pubs[driver].arg));
	ck_assert(real->complaint(relay.pubs[driver].arg, PUB_MESSAGES, &e) ==
	    CLASS_NONE);
	real->tell(relay.pubs[driver].arg, "advisory", "text");
	end();
}
END_TEST

START_TEST(messages_are_delivered)
{
	begin(all[_i]);
	publish("aabbc");
	ck_outcomes("DDDDD");
	ck_assert(!res.down);
	for (size_t i = 0; i < batch.n; i++)
		ck_assert(!real->can_ask || msgs[i].ack_sequence != 0);
	ck_has_rows(5);
	end();
}
END_TEST

START_TEST(order_of_a_key_is_kept)
{
	char		keys[301];
	uint64_t	rows[MANY], last[26] = { 0 };
	size_t		n = 0;

	begin(all[_i]);
	draw_keys(keys, 300, 5, 1000000);
	publish(keys);
	for (size_t i = 0; i < batch.n; i++)
		ck_assert_msg(msgs[i].outcome == OUT_DELIVERED, "%zu: %d: %s",
		    i, (int)msgs[i].outcome, res.why.text);
	if (d->list != NULL)
		n = d->list(rows, MANY);
	for (size_t i = 0; i < n; i++) {
		uint64_t	*before = &last[keys[rows[i] - 100] - 'a'];

		ck_assert_uint_gt(rows[i], *before);
		*before = rows[i];
	}
	end();
}
END_TEST

static char	big[5000];

START_TEST(message_is_refused_for_good)
{
	bool	is_known;

	begin(all[_i]);
	if (can(REFUSES_ONE)) {
		d->feel(REFUSES_ONE);
		if (!real->is_open(relay.pubs[driver].arg))
			real->open(relay.pubs[driver].arg, &e);
		out = most = 0;
		batch_of("aab");
		batch.claimed_at = clock_ms();
		/* Too long where the server has a limit. */
		msgs[0].type = (struct bytes){ "bad", 3 };
		is_known = real->max_payload(relay.pubs[driver].arg) <
		    INT64_MAX;
		if (is_known)
			msgs[0].payload = (struct bytes){ big, sizeof(big) };
		relay_publish(&relay, &batch, &res);
		/* What only an answer says has to be said again. */
		ck_outcomes(is_known ? "XDD" : "FUD");
		ck_assert(!res.down);
		ck_has_rows(is_known ? 2 : 1);
	}
	end();
}
END_TEST

START_TEST(destination_refuses_and_is_back)
{
	begin(all[_i]);
	if (can(REFUSES_ALL)) {
		d->feel(REFUSES_ALL);
		publish("abc");
		ck_assert(res.down);
		ck_assert_int_ne(res.class, CLASS_NONE);
		ck_assert_str_ne(res.why.text, "");
		ck_outcomes("FFF");
		ck_has_rows(0);
		d->feel(FINE);
		real->close(relay.pubs[driver].arg);
		publish("abc");
		ck_outcomes("DDD");
		ck_has_rows(3);
	}
	end();
}
END_TEST

/* No answer: they are in doubt, and no attempt is used. */
static void
stay_in_doubt(enum mood mood)
{
	int64_t	began;

	if (!can(mood))
		return;
	publish("abc");		/* or it may not even be written */
	ck_outcomes("DDD");
	d->feel(mood);
	began = clock_ms();
	publish("abc");
	ck_assert_int_lt(ms_since(began), 5000);
	ck_assert(res.down);
	ck_outcomes("FFF");
	for (size_t i = 0; i < batch.n; i++)
		ck_assert(msgs[i].in_doubt);
	d->feel(FINE);
	real->close(relay.pubs[driver].arg);
	publish("abc");
	ck_outcomes("DDD");
}

START_TEST(silence_leaves_them_in_doubt)
{
	begin(all[_i]);
	stay_in_doubt(SILENT);
	end();
}
END_TEST

START_TEST(answer_that_breaks_off_leaves_them_in_doubt)
{
	begin(all[_i]);
	stay_in_doubt(CUTS);
	end();
}
END_TEST

/* It goes between two batches: nothing is at fault, and nothing is lost. */
START_TEST(it_goes_and_comes_back)
{
	begin(all[_i]);
	publish("abc");
	ck_outcomes("DDD");
	if (can(AWAY)) {
		d->feel(AWAY);
		publish("abc");
		ck_assert(res.down);
		for (size_t i = 0; i < batch.n; i++)
			ck_assert(msgs[i].outcome == OUT_UNSENT ||
			    msgs[i].outcome == OUT_DEFER);
		d->feel(FINE);
		if (d == &to_stdout)	/* it is another one now */
			real->close(relay.pubs[driver].arg);
		for (int64_t until = patience(); res.delivered < 3; ) {
			wait_more(&until, "the destination");
			publish("abc");
		}
		ck_outcomes("DDD");
	}
	end();
}
END_TEST

START_TEST(no_more_are_out_than_allowed)
{
	begin(all[_i]);
	conf->publish.window = 3;
	publish("abcdefghijklmnopqrst");
	ck_assert_uint_eq(res.delivered, 20);
	ck_assert_uint_le(most, 3);
	ck_assert_uint_ge(most, 2);
	conf->publish.window = 10000;
	publish("abcdefghijklmnopqrst");
	ck_assert_int_le((int64_t)most, real->capacity(relay.pubs[driver].arg));
	ck_assert_uint_gt(most, 3);
	end();
}
END_TEST

/* The time is over before the message is written. */
START_TEST(nothing_is_written_too_late)
{
	struct pub_answer	a;
	struct pub		p;

	begin(all[_i]);
	p = relay.pubs[driver];
	batch_of("a");
	ck_assert(envelope_fill(&relay.envelope, &relay.form, &msgs[0], &e) ==
	    0);
	real->begin(p.arg, clock_ms());
	if (d != &to_discard)
		real->send(p.arg, &relay.envelope, 0, &e);
	for (int64_t until = clock_ms() + 300; clock_ms() < until; ) {
		pub_wait(&p, 1, -1, 20);
		while (real->answer(p.arg, &a))
			ck_assert_int_eq(a.verdict, VERDICT_DESTINATION);
	}
	ck_has_rows(0);
	end();
}
END_TEST

/*
 * The batch is given up, and the next one has begun: an answer to the first
 * would count for whatever has its index now.  0: it comes too late; 1: nobody
 * has taken it.
 */
START_TEST(answer_of_an_older_batch_is_not_told)
{
	struct pub_answer	a;
	struct pub		p;

	begin(all[_i / 2]);
	conf->publish.timeout_ms = 20000;
	p = relay.pubs[driver];
	batch_of("ab");
	if (_i % 2 == 0 && can(SILENT))
		d->feel(SILENT);
	for (uint32_t i = 0; i < 2; i++) {
		ck_assert(envelope_fill(&relay.envelope, &relay.form, &msgs[i],
		    &e) == 0);
		real->begin(p.arg, clock_ms() + 20000);
		ck_assert(real->send(p.arg, &relay.envelope, i, &e) ==
		    PUB_SENT);
		for (int k = 0; k < 4; k++)
			pub_wait(&p, 1, -1, 20);
	}
	d->feel(FINE);
	for (int64_t until = patience(); !real->answer(p.arg, &a); ) {
		wait_more(&until, "the answer");
		pub_wait(&p, 1, -1, 20);
	}
	ck_assert_uint_eq(a.index, 1);
	ck_assert_int_eq(a.verdict, VERDICT_STORED);
	pub_wait(&p, 1, -1, 20);
	ck_assert(!real->answer(p.arg, &a));
	end();
}
END_TEST

/* The owner has to go while messages are out. */
START_TEST(owner_may_leave_at_once)
{
	int64_t	began;

	begin(all[_i]);
	if (can(SILENT)) {
		d->feel(SILENT);
		wish = KEEP_ABANDON;
		conf->publish.timeout_ms = 20000;
		conf->worker.claim_ttl = 60000;
		keep_until = clock_ms() + 100;
		began = clock_ms();
		publish("abc");
		ck_outcomes("???");
		pub_free(&relay.pubs[driver]);
		ck_assert_int_lt(ms_since(began), 3000);
		d->feel(FINE);
		relay.pubs[driver] = drivers_new_first(conf, "check");
	}
	end();
}
END_TEST

/* Several workers, a slow reader, and lines that a pipe takes in parts. */
START_TEST(lines_are_not_torn)
{
	static char	text[70000], line[100000];
	int		fds[2];
	FILE		*f;
	unsigned	n = 0;

	memset(text, 'x', sizeof(text));
	begin(&to_stdout);
	ck_assert(pipe(fds) == 0);
	dup2(fds[1], STDOUT_FILENO);
	for (int child = 0; child < 3; child++) {
		if (fork() != 0)
			continue;
		close(fds[0]);
		real->close(relay.pubs[driver].arg);
		real->open(relay.pubs[driver].arg, &e);
		out = 0;
		batch_of("abcdefghijklmnopqrst");
		batch.claimed_at = clock_ms();
		conf->publish.timeout_ms = 20000;
		conf->worker.claim_ttl = 60000;
		for (size_t i = 0; i < batch.n; i++)
			msgs[i].payload = (struct bytes){ text, i % 4 == 0 ?
			    60000 : 3000 * (i % 4) };
		relay_publish(&relay, &batch, &res);
		_exit(res.delivered == batch.n ? 0 : 1);
	}
	close(fds[1]);
	dup2(saved_stdout(), STDOUT_FILENO);
	f = fdopen(fds[0], "r");
	while (fgets(line, sizeof(line), f) != NULL) {
		ck_assert_msg(strncmp(line, "{\"id\":\"abc-", 11) == 0,
		    "line %u: %.80s", n, line);
		ck_assert(strcmp(line + strlen(line) - 3, "\"}\n") == 0);
		ck_assert_ptr_null(strchr(line + 1, '{') == NULL ? line :
		    strstr(line + 1, "{\"id\""));
		n++;
	}
	fclose(f);
	for (int child = 0, status; child < 3; child++) {
		ck_assert_int_gt(wait(&status), 0);
		ck_assert_int_eq(status, 0);
	}
	ck_assert_uint_eq(n, 60);
	end();
}
END_TEST

/* With those destinations of the table from the first to before the last. */
static void
add_cases(TCase *tc, int first, int n)
{
	tcase_add_loop_test(tc, everything_is_filled, first, n);
	tcase_add_loop_test(tc, messages_are_delivered, first, n);
	tcase_add_loop_test(tc, order_of_a_key_is_kept, first, n);
	tcase_add_loop_test(tc, message_is_refused_for_good, first, n);
	tcase_add_loop_test(tc, destination_refuses_and_is_back, first, n);
	tcase_add_loop_test(tc, silence_leaves_them_in_doubt, first, n);
	tcase_add_loop_test(tc, answer_that_breaks_off_leaves_them_in_doubt,
	    first, n);
	tcase_add_loop_test(tc, it_goes_and_comes_back, first, n);
	tcase_add_loop_test(tc, no_more_are_out_than_allowed, first, n);
	tcase_add_loop_test(tc, nothing_is_written_too_late, first, n);
	tcase_add_loop_test(tc, answer_of_an_older_batch_is_not_told, 2 * first,
	    2 * n);
	tcase_add_loop_test(tc, owner_may_leave_at_once, first, n);
}

int
main(void)
{
	Suite	*s = suite_create("driver");

	add_cases(server_case(s, "contract", start_nats, NULL, NULL), 0,
	    NROWS(all) - 1);
	if (servers_have_kafka())
		add_cases(server_case(s, "kafka", start_kafka, NULL, NULL),
		    NROWS(all) - 1, NROWS(all));
	tcase_add_test(server_case(s, "stdout", NULL, NULL, NULL),
	    lines_are_not_torn);
	return servers_test(s);
}
