/*
 * check_monitor.c - the monitor's parts: hosts, clients, questions, sockets
 *
 * In place of outboxctl is a shell that runs the configuration file for each
 * command.  The whole process: tests/system/run_monitor.sh.
 */
#include "unit/monitor_test.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <bsd/string.h>

#include "monitor/client.h"
#include "monitor/door.h"
#include "monitor/question.h"
#include "monitor/request.h"
#include "util/clock.h"

#define LARGE	10000000	/* bytes of an answer */

/*
 * hosts
 */

static const struct {
	const char	*host;
	bool		 is_taken;
} hosts[] = {
	{ "127.0.0.1", true }, { "127.0.0.1:9180", true }, { "[::1]", true },
	{ "[::1]:9180", true }, { "192.0.2.1", true }, { "localhost", true },
	{ "LocalHost:1", true }, { "own", true }, { "Own:80", true },
	{ "proxy.example", true }, { "proxy.example:443", true },
	{ "localhost:", true },
	{ NULL, false }, { "", false }, { ":80", false }, { "[", false },
	{ "[]", false }, { "[]:1", false }, { "::1", false },
	{ "evil.example", false }, { "own.evil.example", false },
	{ "localhost.evil.example", false }, { "localhost:x", false },
	{ "[::1]x", false }, { "[::1", false }, { "127.0.0.1x", false },
	{ "127.0.0.1:80.evil", false }, { "127.1", false },
	{ "[1234567890123456789012345678901234567890123456789012345678901234567"
	  "890]", false },
};

START_TEST(host_is_ours)
{
	static char		 first[] = "a.example", second[] =
				    "proxy.example";
	static char		*names[] = { first, second };
	const struct conf_list	 list = { names, 2 };

	ck_assert_msg(guard_takes_host(hosts[_i].host, &list, "own") ==
	    hosts[_i].is_taken, "%s", hosts[_i].host);
}
END_TEST

/*
 * clients
 */

static struct clients	table;
static int		others[CLIENTS_MAX + CLIENTS_SPARE];
static size_t		nothers;

static struct client *
new_client(int64_t now)
{
	struct client	*c;
	int		 fds[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	others[nothers++] = fds[1];
	ck_assert_ptr_nonnull(c = clients_add(&table, fds[0], true, now));
	return c;
}

static void
end_clients(void)
{
	while (table.n > 0) {
		close(table.list[0]->fd);
		clients_remove(&table, table.list[0]);
	}
	while (nothers > 0)
		close(others[--nothers]);
}

static size_t
count_cut(void)
{
	size_t	n = 0;

	for (size_t i = 0; i < table.n; i++)
		n += table.list[i]->cut;
	return n;
}

START_TEST(client_has_its_time)
{
	struct client	*c = new_client(1000), *d = new_client(1000);
	struct pollfd	 p = { .fd = others[0], .events = POLLIN };

	ck_assert_int_eq(clients_check(&table, 2000),
	    1000 + CLIENT_REQUEST_MS);
	clients_phase(d, CLIENT_WAITS, 2000);
	clients_check(&table, 1000 + CLIENT_REQUEST_MS);
	ck_assert(c->cut && !d->cut);
	ck_assert_int_eq(poll(&p, 1, 0), 1);
	ck_assert_int_eq(clients_check(&table, INT64_MAX - 1), INT64_MAX);
	clients_phase(d, CLIENT_READS, 3000);
	ck_assert_int_eq(clients_check(&table, 3000), 3000 + CLIENT_ANSWER_MS);
	clients_check(&table, 3000 + CLIENT_ANSWER_MS);
	ck_assert(d->cut);
	end_clients();
}
END_TEST

/* First those that send nothing, then those that read nothing. */
START_TEST(oldest_makes_room)
{
	struct client	*c[3];
	int64_t		 now = 1000 + CLIENT_GRACE_MS;

	for (size_t i = 0; i < 3; i++)
		c[i] = new_client(1000 - (int64_t)i);
	clients_phase(c[0], CLIENT_READS, 1);
	clients_make_room(&table, now);
	ck_assert_uint_eq(count_cut(), 0);
	while (table.n < CLIENTS_MAX)
		clients_phase(new_client(0), CLIENT_WAITS, 0);
	clients_make_room(&table, now);
	ck_assert(c[2]->cut && count_cut() == 1);
	clients_make_room(&table, now);
	ck_assert_uint_eq(count_cut(), 1);	/* it has made the room */
	clients_phase(new_client(0), CLIENT_WAITS, 0);
	clients_make_room(&table, now);
	ck_assert(c[1]->cut && !c[0]->cut);
	clients_phase(new_client(0), CLIENT_WAITS, 0);
	clients_make_room(&table, now);
	ck_assert(c[0]->cut);
	end_clients();
}
END_TEST

/* A request takes a moment to arrive: a flood cuts off nobody at once. */
START_TEST(new_client_is_spared)
{
	while (!clients_are_full(&table)) {
		clients_make_room(&table, 1000 + CLIENT_GRACE_MS - 1);
		new_client(1000);
	}
	ck_assert_uint_eq(count_cut(), 0);
	ck_assert_ptr_null(clients_add(&table, -1, true, 0));
	clients_make_room(&table, 1000 + CLIENT_GRACE_MS);
	ck_assert_uint_eq(count_cut(), CLIENTS_SPARE + 1);
	end_clients();
}
END_TEST

/*
 * questions
 */

static struct questions	asked;

/* A program that runs this for each line that it is asked. */
static void
begin_questions(const char *script)
{
	static struct path program, conf;
	static const char text[] = "#!/bin/sh\nwhile read -r line; do\n"
			    "echo \"$line\" >> \"$2.asked\"\n. \"$2\"\ndone\n";

	signal(SIGPIPE, SIG_IGN);
	dir_make();
	program = in_dir("program");
	conf = in_dir("conf");
	write_file(program.text, text, strlen(text));
	chmod(program.text, 0700);
	write_file(conf.text, script, strlen(script));
	questions_init(&asked, &(struct starter){ program.text, conf.text,
	    "/none.pid" }, -1);
}

static void
change_script(const char *script)
{
	write_file(in_dir("conf").text, script, strlen(script));
}

void
free_questions(struct questions *t)
{
	for (struct question *q = t->list; q != NULL; q = q->next) {
		q->waiting = 0;
		q->asked = q->done = true;
	}
	questions_turn(t, INT64_MAX);
	json_decref(t->state.document);
}

static void
end_questions(void)
{
	questions_stop(&asked);
	free_questions(&asked);
	dir_remove();
}

static struct question *
ask(enum question_kind kind, const char *word)
{
	return question_ask(&asked, kind, json_pack("[s]", word), clock_ms());
}

static void
wait_until_done(const struct question *q)
{
	int64_t	until = clock_ms() + 20000;

	while (!q->done && clock_ms() < until) {
		questions_turn(&asked, clock_ms());
		poll(NULL, 0, 1);
	}
	ck_assert(q->done);
}

static int
ncommands(void)
{
	return count_lines(read_file(in_dir("conf.asked").text));
}

/* The program waits until the test calls go_on(). */
#define WAIT	"until [ -e \"$2.go\" ]; do :; done\n"

static void
go_on(void)
{
	write_file(in_dir("conf.go").text, "", 0);
}

#define GOOD	"echo '{\"exit\": 0, \"result\": [7]}'\n"

START_TEST(same_question_is_asked_once)
{
	struct question	*a, *b, *c;

	begin_questions(GOOD);
	a = ask(QUESTION_QUERY, "x");
	b = ask(QUESTION_QUERY, "x");
	ck_assert_ptr_eq(a, b);
	c = ask(QUESTION_QUERY, "y");
	ck_assert_ptr_ne(a, c);
	wait_until_done(a);
	wait_until_done(c);
	ck_assert_int_eq(a->exit, 0);
	ck_assert_int_eq(json_integer_value(json_array_get(a->result, 0)), 7);
	ck_assert_ptr_eq(question_ask(&asked, QUESTION_QUERY, json_pack("[s]",
	    "x"), a->at + QUESTION_FRESH_MS - 1), a);
	b = question_ask(&asked, QUESTION_QUERY, json_pack("[s]", "x"),
	    a->at + QUESTION_FRESH_MS);
	ck_assert_ptr_ne(a, b);
	wait_until_done(b);
	ck_assert_int_eq(ncommands(), 3);
	end_questions();
}
END_TEST

START_TEST(action_is_asked_each_time)
{
	struct question	*a, *b;

	begin_questions(GOOD);
	a = ask(QUESTION_ACTION, "x");
	b = ask(QUESTION_ACTION, "x");
	ck_assert_ptr_ne(a, b);
	wait_until_done(a);
	/* The token of the other one waits for its turn. */
	ck_assert_str_eq(a->words, "");
	wait_until_done(b);
	ck_assert_str_eq(b->words, "");
	ck_assert_int_eq(ncommands(), 2);
	end_questions();
}
END_TEST

/* What it may do instead of an answer, and what is said of it. */
static const struct {
	const char	*script, *why;
} faults[] = {
	{ "echo nonsense\n", "an answer that cannot be read" },
	{ "echo '[]'\n", "an answer that cannot be read" },
	{ "echo '{\"exit\": \"0\"}'\n", "an answer that cannot be read" },
	{ "echo\n", "an answer that cannot be read" },
	{ "printf '{\"exit\": 0}'; exit\n", "ended without an answer" },
	{ "echo first >&2; echo alas >&2; exit 3\n",
	  "ended without an answer: alas" },
	{ "kill -KILL $$\n", "ended without an answer" },
	{ "kill -STOP $$\n", "gave no answer in time" },
};

START_TEST(fault_is_told_and_over)
{
	struct question	*q;

	begin_questions(faults[_i].script);
	asked.agents[QUESTION_QUERY].patience_ms = 500;
	q = ask(QUESTION_QUERY, "x");
	wait_until_done(q);
	ck_assert_int_eq(q->exit, -1);
	holds(q->why.text, faults[_i].why);
	change_script(GOOD);
	q = ask(QUESTION_QUERY, "y");
	wait_until_done(q);
	ck_assert_int_eq(q->exit, 0);
	end_questions();
}
END_TEST

START_TEST(missing_program_is_told)
{
	struct question	*q;

	begin_questions("");
	questions_init(&asked, &(struct starter){ "/nowhere/outboxctl",
	    "/none", "/none.pid" }, -1);
	q = ask(QUESTION_QUERY, "x");
	wait_until_done(q);
	holds(q->why.text, "cannot run /nowhere/outboxctl: No such file");
	end_questions();
}
END_TEST

START_TEST(answer_comes_in_pieces)
{
	const struct agent	*a = &asked.agents[QUESTION_QUERY];
	struct question		*q;
	int64_t			 until = clock_ms() + 20000;

	begin_questions("printf '{\"exit\": 0, '\n" WAIT
	    "echo '\"result\": 5}'\n");
	q = ask(QUESTION_QUERY, "x");
	while (a->answer.len == 0 && clock_ms() < until) {
		questions_turn(&asked, clock_ms());
		poll(NULL, 0, 1);
	}
	ck_assert(!q->done);
	go_on();
	wait_until_done(q);
	ck_assert_int_eq(q->exit, 0);
	ck_assert_int_eq(json_integer_value(q->result), 5);
	end_questions();
}
END_TEST

START_TEST(answer_is_large)
{
	struct question	*q;

	begin_questions("printf '{\"exit\": 0, \"result\": \"'\n"
	    "head -c 10000000 /dev/zero | tr '\\0' x; echo '\"}'\n");
	q = ask(QUESTION_QUERY, "x");
	wait_until_done(q);
	ck_assert_uint_eq(json_string_length(q->result), LARGE);
	end_questions();
}
END_TEST

/* An answer that nobody asked for is not taken for that to the next one. */
START_TEST(answer_too_many_is_dropped)
{
	struct question	*q;
	int64_t		 until = clock_ms() + 20000;

	begin_questions(GOOD WAIT "echo '{\"exit\": 9}'\n");
	q = ask(QUESTION_QUERY, "x");
	wait_until_done(q);
	ck_assert_int_eq(q->exit, 0);
	go_on();
	while (asked.agents[QUESTION_QUERY].runs && clock_ms() < until) {
		questions_turn(&asked, clock_ms());
		poll(NULL, 0, 1);
	}
	change_script(GOOD);
	q = ask(QUESTION_QUERY, "y");
	wait_until_done(q);
	ck_assert_int_eq(q->exit, 0);
	end_questions();
}
END_TEST

START_TEST(queue_has_an_end)
{
	char	word[8];

	begin_questions(GOOD);
	for (int i = 0; i < QUESTIONS_MAX; i++) {
		snprintf(word, sizeof(word), "%d", i);
		ck_assert_ptr_nonnull(ask(QUESTION_QUERY, word));
	}
	ck_assert_ptr_null(ask(QUESTION_QUERY, "one more"));
	ck_assert_ptr_nonnull(ask(QUESTION_QUERY, "0"));
	ck_assert_ptr_nonnull(ask(QUESTION_STATE, "status"));
	end_questions();
}
END_TEST

START_TEST(idle_program_is_let_go)
{
	struct question	*q;

	begin_questions(GOOD);
	q = ask(QUESTION_QUERY, "x");
	wait_until_done(q);
	ck_assert(asked.agents[QUESTION_QUERY].runs);
	questions_turn(&asked, questions_deadline(&asked));
	ck_assert(!asked.agents[QUESTION_QUERY].runs);
	ck_assert_int_eq(questions_deadline(&asked), INT64_MAX);
	end_questions();
}
END_TEST

START_TEST(last_state_is_kept)
{
	const struct snapshot	*s = &asked.state;

	begin_questions("echo '{\"exit\": 1, \"result\": {\"problems\": "
	    "[]}}'\n");
	wait_until_done(ask(QUESTION_STATE, "status"));
	ck_assert_uint_eq(s->version, 1);
	ck_assert(snapshot_is_fresh(s, s->at + 9, 10));
	ck_assert(!snapshot_is_fresh(s, s->at + 10, 10));
	change_script("echo '{\"exit\": 1, \"result\": {}}'\n");
	wait_until_done(ask(QUESTION_STATE, "other"));
	ck_assert_uint_eq(s->version, 1);
	holds(s->why.text, "gave no status");
	ck_assert_ptr_nonnull(s->document);
	end_questions();
}
END_TEST

/*
 * sockets
 */

static bool
can_connect(const char *path)
{
	struct sockaddr_un	to = { .sun_family = AF_UNIX };
	int			fd = socket(AF_UNIX, SOCK_STREAM, 0);
	bool			ok;

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	ok = connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0;
	close(fd);
	return ok;
}

static void
set_name(struct door *d, const char *name)
{
	strlcpy(d->name, name, sizeof(d->name));
}

START_TEST(socket_is_opened_and_removed)
{
	struct door	d = { .fd = -1 };
	struct path	path;
	struct stat	st;
	int		fd;

	dir_make();
	path = in_dir("s");
	set_name(&d, path.text);
	ck_assert(door_open(&d, 0));
	ck_assert(!door_open(&d, 0));
	ck_assert_int_eq(stat(path.text, &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0660);
	ck_assert_int_eq(door_accept(&d), -1);
	ck_assert(can_connect(path.text));
	ck_assert_int_ge(fd = door_accept(&d), 0);
	close(fd);
	door_close(&d);
	ck_assert_int_eq(stat(path.text, &st), -1);
	dir_remove();
}
END_TEST

START_TEST(stale_socket_is_replaced)
{
	struct door	old = { .fd = -1 }, d = { .fd = -1 };
	struct path	path;

	dir_make();
	path = in_dir("s");
	set_name(&old, path.text);
	set_name(&d, path.text);
	ck_assert(door_open(&old, 0));
	ck_assert(door_open(&d, 0));
	ck_assert_int_lt(d.fd, 0);
	holds(d.why.text, "another process listens");
	close(old.fd);		/* killed: the file stays */
	ck_assert(!door_open(&d, DOOR_RETRY_MS - 1));
	ck_assert(door_open(&d, DOOR_RETRY_MS));
	ck_assert_str_eq(d.why.text, "");
	ck_assert(can_connect(path.text));
	door_close(&d);
	dir_remove();
}
END_TEST

START_TEST(other_file_is_left_alone)
{
	struct door	d = { .fd = -1 };
	struct path	path;

	dir_make();
	path = in_dir("s");
	set_name(&d, path.text);
	write_file(path.text, "x", 1);
	ck_assert(door_open(&d, 0));
	holds(d.why.text, "it exists and is no socket");
	ck_assert(!door_open(&d, DOOR_RETRY_MS));	/* known already */
	door_close(&d);
	ck_assert_str_eq(read_file(path.text), "x");
	dir_remove();
}
END_TEST

static const char *const	loopbacks[] = { "127.0.0.1", "[::1]",
				    "localhost" };

START_TEST(port_is_opened)
{
	struct door		 d = { .is_tcp = true, .fd = -1 }, other = d;
	struct sockaddr_storage	 at = { 0 };
	socklen_t		 len = sizeof(at);
	char			 any[40], address[40];

	snprintf(any, sizeof(any), "%s:0", loopbacks[_i]);
	set_name(&d, any);
	ck_assert(door_open(&d, 0));
	if (d.fd < 0 && _i == 1)
		return;		/* a host without IPv6 */
	ck_assert_int_ge(d.fd, 0);
	getsockname(d.fd, (struct sockaddr *)&at, &len);
	snprintf(address, sizeof(address), "%s:%d", loopbacks[_i],
	    ntohs(((struct sockaddr_in *)&at)->sin_port));
	set_name(&other, address);
	ck_assert(door_open(&other, 0));
	holds(other.why.text, "Address already in use");
	door_close(&d);
	ck_assert(door_open(&other, DOOR_RETRY_MS));
	ck_assert_int_ge(other.fd, 0);
	door_close(&other);
}
END_TEST

START_TEST(no_address_is_no_door)
{
	struct door	d = { .is_tcp = true, .fd = -1 };

	ck_assert(!door_open(&d, 0));
	ck_assert_str_eq(d.why.text, "");
	ck_assert_int_eq(door_accept(&d), -1);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("monitor");
	TCase	*tc;

	tc = add_case(s, "hosts");
	tcase_add_loop_test(tc, host_is_ours, 0, NROWS(hosts));

	tc = add_case(s, "clients");
	tcase_add_test(tc, client_has_its_time);
	tcase_add_test(tc, oldest_makes_room);
	tcase_add_test(tc, new_client_is_spared);

	tc = add_case(s, "questions");
	tcase_add_test(tc, same_question_is_asked_once);
	tcase_add_test(tc, action_is_asked_each_time);
	tcase_add_loop_test(tc, fault_is_told_and_over, 0, NROWS(faults));
	tcase_add_test(tc, missing_program_is_told);
	tcase_add_test(tc, answer_comes_in_pieces);
	tcase_add_test(tc, answer_is_large);
	tcase_add_test(tc, answer_too_many_is_dropped);
	tcase_add_test(tc, queue_has_an_end);
	tcase_add_test(tc, idle_program_is_let_go);
	tcase_add_test(tc, last_state_is_kept);

	tc = add_case(s, "sockets");
	tcase_add_test(tc, socket_is_opened_and_removed);
	tcase_add_test(tc, stale_socket_is_replaced);
	tcase_add_test(tc, other_file_is_left_alone);
	tcase_add_loop_test(tc, port_is_opened, 0, NROWS(loopbacks));
	tcase_add_test(tc, no_address_is_no_door);
	add_requests(s);
	return run_suite(s);
}
