/*
 * monitor_requests.c - the monitor's HTTP server: what it takes for a request,
 * and clients that read nothing
 *
 * Clients are socket pairs; no outboxctl runs.
 */
#include "unit/monitor_test.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "monitor/monitor_impl.h"
#include "util/clock.h"

static struct conf	conf;
static struct monitor	m;

static void
write_secret(const char *path, const char *text)
{
	write_file(path, text, strlen(text));
	ck_assert_int_eq(chmod(path, 0600), 0);
}

/* monitor.token_file has this token. */
static void
read_people(const char *token)
{
	static char		nobody[] = "";
	static struct path	file;

	file = in_dir("token");
	conf.mysql.operator.user = nobody;
	conf.monitor.token_file = file.text;
	write_secret(file.text, token);
	guard_read_tokens(&m);
}

static void
begin_server(void)
{
	static char			 empty[] = "";
	static struct scoreboard_line	 line;
	static struct question		 nobody;
	static struct monitor_args	 a = { .conf = &conf, .line = &line };
	struct err			 e;

	signal(SIGPIPE, SIG_IGN);
	conf.monitor.listen = conf.monitor.user_header = empty;
	m = (struct monitor){ .a = &a, .host = "own", .now = clock_ms() };
	read_people("0123456789abcdef");
	questions_init(&m.questions, &(struct starter){ .program = "/nowhere" },
	    -1);
	for (int i = 0; i < QUESTION_KINDS; i++)
		m.questions.current[i] = &nobody;	/* none is started */
	ck_assert_int_eq(server_start(&m, &e), 0);
}

static void
end_server(void)
{
	MHD_stop_daemon(m.http);
	ck_assert_uint_eq(m.clients.n, 0);
	free_questions(&m.questions);
}

/* The other end of a client by the Unix socket. */
static int
join(void)
{
	int	fds[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
	    fds), 0);
	server_add(&m, fds[0]);
	return fds[1];
}

static void
send_text(int fd, const char *text)
{
	ck_assert_int_eq(write(fd, text, strlen(text)), (int)strlen(text));
}

/* What the server has said to it so far; *open: it may say more. */
static const char *
hear(int fd, bool *open)
{
	static char	text[64 * 1024];
	size_t		len = 0;
	ssize_t		n = -1;

	for (int i = 0; i < 20 && n != 0; i++) {
		MHD_run(m.http);
		while ((n = recv(fd, text + len, sizeof(text) - 1 - len,
		    MSG_DONTWAIT)) > 0)
			len += (size_t)n;
	}
	text[len] = '\0';
	*open = n != 0;
	return text;
}

/*
 * What two programs may read in two ways
 */

#define GET	"GET /api/session HTTP/1.1\r\nHost: x\r\n"
#define POST	"POST /api/actions/none HTTP/1.1\r\nHost: x\r\n"
#define NEXT	"GET /api/session HTTP/1.1\r\nHost: next\r\n\r\n"
#define CHUNKS	"3\r\nabc\r\n0\r\n\r\n"

static const char *const doubtful[] = {
	GET "Host: y\r\n\r\n",
	GET "HOST:x\r\n\r\n",
	POST "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
	POST "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
	POST "Content-Length: 0\r\nContent-Length: 3\r\n\r\nabc",
	POST "Content-Length: 3, 3\r\n\r\nabc",
	POST "Content-Length: +3\r\n\r\nabc",
	POST "Content-Length: -3\r\n\r\nabc",
	POST "Content-Length: 0x3\r\n\r\nabc",
	POST "Content-Length: 3a\r\n\r\nabc",
	POST "Content-Length:\r\n\r\nabc",
	POST "Content-Length: 99999999999999999999999\r\n\r\nabc",
	POST "Content-Length : 3\r\n\r\nabc",
	POST "Content-Length\t: 3\r\n\r\nabc",
	POST "Content-Length:\r\n 3\r\n\r\nabc",
	POST "Content-Length: 3\r\n X\r\n\r\nabc",
	POST "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" CHUNKS,
	POST "Transfer-Encoding: chunked\r\nContent-Length: 13\r\n\r\n" CHUNKS,
	POST "Transfer-Encoding: identity\r\nContent-Length: 3\r\n\r\nabc",
	POST "Transfer-Encoding: chunked, identity\r\n\r\n" CHUNKS,
	POST "Transfer-Encoding: identity, chunked\r\n\r\n" CHUNKS,
	POST "Transfer-Encoding: chunked, chunked\r\n\r\n" CHUNKS,
	POST "Transfer-Encoding: identity\r\n\r\n" CHUNKS,
	POST "Transfer-Encoding: xchunked\r\n\r\n" CHUNKS,
	POST "Transfer-Encoding: \"chunked\"\r\n\r\n" CHUNKS,
	POST "Transfer-Encoding: \013chunked\r\n\r\n" CHUNKS,
	POST "Transfer-Encoding: chunked;x=1\r\n\r\n" CHUNKS,
	POST "Transfer-Encoding:\r\n\r\n" CHUNKS,
	POST "Transfer-Encoding : chunked\r\n\r\n" CHUNKS,
	POST "Transfer-Encoding:\r\n chunked\r\n\r\n" CHUNKS,
	POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"
	    CHUNKS,
	POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"
	    "\r\n" CHUNKS,
	"POST /api/actions/none HTTP/1.0\r\nHost: x\r\nConnection: keep-alive"
	    "\r\nTransfer-Encoding: chunked\r\n\r\n" CHUNKS,
	POST "Transfer-Encoding: chunked\r\n\r\n+3\r\nabc\r\n0\r\n\r\n",
	POST "Transfer-Encoding: chunked\r\n\r\n0x3\r\nabc\r\n0\r\n\r\n",
	POST "Transfer-Encoding: chunked\r\n\r\n3 \r\nabc\r\n0\r\n\r\n",
	GET "X: a\n\r\n",
	GET "X: a\nY: b\r\n\r\n",
	"GET /api/session HTTP/1.1\nHost: x\r\n\r\n",
	"GET /api/session HTTP/1.1\nHost: x\n\n",
	GET "X: a\r\n\n",
	GET "X: a\rY: b\r\n\r\n",
	GET "X: a\r\r\n\r\n",
	GET "X: a\r\n b\r\n\r\n",
	GET "X: a\r\n\tb\r\n\r\n",
	GET "X: a\r\n \r\n\r\n",
	GET " X: a\r\n\r\n",
	"GET /api/session HTTP/1.1\r\n Host: x\r\n\r\n",
	GET "X : a\r\n\r\n",
	GET "X y: a\r\n\r\n",
	GET "X\001: a\r\n\r\n",
	GET "X\377: a\r\n\r\n",
	GET "X: a\001\r\n\r\n",
	GET ": a\r\n\r\n",
	GET "X\r\n\r\n",
	GET "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n",
	GET "Origin: http://x\r\nOrigin: http://y\r\n\r\n",
	POST "Content-Type: text/plain\r\nContent-Type: application/json\r\n"
	    "\r\n",
	"GET /api/session HTTP/1.1\r\n\r\n",
	"GET http://y/api/session HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET http://x/api/session HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET api/session HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET x:80 HTTP/1.1\r\nHost: x\r\n\r\n",
	"CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n",
	"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /api/session http/1.1\r\nHost: x\r\n\r\n",
	"GET /api/session\r\n\r\n",
	"GET  /api/session HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET\t/api/session HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /api/session HTTP/1.1 \r\nHost: x\r\n\r\n",
	"GET /api/session HTTP/1.1\r\r\nHost: x\r\n\r\n",
	GET "hOsT: y\r\n\r\n",
	POST "Content-Length: 3 4\r\n\r\nabc",
	POST "Content-Length: 3;4\r\n\r\nabc",
	POST "Content-Length: 3\v\r\n\r\nabc",
	POST "Content-Length: 18446744073709551619\r\n\r\nabc",
	POST "Transfer-Encoding: chunked\r\n\r\n-3\r\nabc\r\n0\r\n\r\n",
	POST "Transfer-Encoding: chunked\r\n\r\n3\r\nabcX0\r\n\r\n",
	POST "Transfer-Encoding: chunked\r\n\r\n10000000000000003\r\nabc\r\n",
};

/*
 * Refused, and the bytes after it are no other request.  Since libmicrohttpd 1.0
 * a line that is none of HTTP/1 ends the connection without a word.
 */
START_TEST(doubtful_is_refused)
{
	int		 fd;
	bool		 open;
	const char	*said;

	begin_server();
	fd = join();
	send_text(fd, doubtful[_i]);
	send_text(fd, NEXT);
	said = hear(fd, &open);
	ck_assert_msg((strncmp(said, "HTTP/1.1 400 ", 13) == 0 ||
	    strncmp(said, "HTTP/1.1 413 ", 13) == 0 || *said == '\0') && !open &&
	    strstr(said, " 200 OK") == NULL && strstr(said, " 404 ") == NULL,
	    "%s: %s: %s", doubtful[_i], said, open ? "open" : "closed");
	close(fd);
	end_server();
}
END_TEST

static const struct {
	const char	*text;
	const char	*status;
	bool		 is_next_served;
} clear[] = {
	{ GET "\r\n", "200", true },
	{ "\r\n" GET "\r\n", "200", true },
	{ GET "X:a\r\nY: \t b c\r\nZ:\r\n\r\n", "200", true },
	{ GET "X: \303\251\r\nX: twice is well\r\n\r\n", "200", true },
	{ GET "Content-Length: 3\r\n\r\nabc", "200", true },
	{ GET "Cookie: a=b; c=d\r\nX: y\r\n\r\n", "200", true },
	{ "GET /?x=%20y HTTP/1.1\r\nHost:\r\n\r\n", "200", true },
	{ "HEAD /api/session HTTP/1.1\r\nHost: x\r\n\r\n", "200", true },
	{ POST "Content-Length: 3\r\n\r\nabc", "401", true },
	{ POST "Transfer-Encoding: chunked\r\n\r\n" CHUNKS, "401", false },
	{ POST "transfer-encoding: CHUNKED\r\n\r\n" CHUNKS, "401", false },
	{ POST "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nHost: y\r\n"
	  "Content-Length: 5\r\n\r\n", "401", false },
	{ GET "Transfer-Encoding: chunked\r\n\r\n" CHUNKS, "200", false },
	{ "GET /api/session HTTP/1.0\r\n\r\n", "200", false },
	{ "GET /api/session HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
	  "200", true },
	{ GET "Connection: close\r\n\r\n", "200", false },
};

START_TEST(clear_is_taken)
{
	int		 fd;
	bool		 open;
	const char	*said;

	begin_server();
	fd = join();
	send_text(fd, clear[_i].text);
	send_text(fd, NEXT);
	said = hear(fd, &open);
	ck_assert_msg(strncmp(said + 9, clear[_i].status, 3) == 0 &&
	    open == clear[_i].is_next_served, "%s: %s", clear[_i].text, said);
	close(fd);
	end_server();
}
END_TEST

/*
 * Clients that read nothing
 */

#define LARGE	1000000		/* bytes of a message, more than a socket has */
#define FIT	8		/* such answers may be in memory */
#define TOKEN	"Authorization: Bearer 0123456789abcdef\r\n"
#define POST_PAUSE	"POST /api/actions/pause HTTP/1.1\r\nHost: x\r\n" \
		TOKEN "Content-Type: application/json\r\n" \
		"Content-Length: 13\r\n\r\n{\"all\": true}"

static int	readers[CLIENTS_MAX];
static size_t	nreaders;

static void
run_server(void)
{
	for (int i = 0; i < 20; i++)
		MHD_run(m.http);
}

/* A client that asks for it, with more headers. */
static int
ask_for(const char *path, const char *more)
{
	char	text[300];

	snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n",
	    path, more);
	readers[nreaders] = join();
	send_text(readers[nreaders], text);
	return readers[nreaders++];
}

static void
ask_for_message(unsigned sequence)
{
	char	path[40];

	snprintf(path, sizeof(path), "/api/messages/%u", sequence);
	ask_for(path, "");
}

/* As if outboxctl had said it: a large message. */
static void
answer_questions(void)
{
	char	*payload = malloc(LARGE);

	run_server();
	memset(payload, 'x', LARGE);
	for (struct question *q = m.questions.list; q != NULL; q = q->next) {
		if (q->done)
			continue;
		q->asked = q->done = true;
		q->at = m.now;
		q->exit = 0;
		q->size = LARGE;
		q->result = json_pack("{s:i, s:s#}", "sequence", 1, "payload",
		    payload, LARGE);
	}
	free(payload);
	wait_turn(&m);
	run_server();
	questions_turn(&m.questions, m.now);
}

static bool
has_said(int fd, const char *start)
{
	char	text[32] = "";

	run_server();
	return recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT | MSG_PEEK) > 0 &&
	    strncmp(text + 9, start, strlen(start)) == 0;
}

static size_t
count_said(const char *start)
{
	size_t	n = 0;

	for (size_t i = 0; i < nreaders; i++)
		n += has_said(readers[i], start);
	return n;
}

/* A stream that waits for an event does not see that its client has gone. */
static void
end_readers(void)
{
	while (nreaders > 0)
		close(readers[--nreaders]);
	if (m.streams != NULL)
		events_end(&m);
	m.is_ending = false;
	run_server();
}

START_TEST(readers_share_an_answer)
{
	begin_server();
	for (int i = 0; i < 100; i++)
		ask_for_message(1);
	answer_questions();
	ask_for_message(1);
	ck_assert_uint_eq(count_said("200"), 101);
	ck_assert_uint_gt(m.texts.bytes, LARGE);
	ck_assert_uint_lt(m.texts.bytes, LARGE + 1000);
	m.now += QUESTION_FRESH_MS;
	questions_turn(&m.questions, m.now);
	ck_assert_ptr_null(m.questions.list);	/* only its text is left */
	end_readers();
	ck_assert_uint_eq(m.texts.bytes, 0);
	end_server();
}
END_TEST

START_TEST(answers_have_a_bound)
{
	bool	open;

	begin_server();
	m.texts.max = FIT * LARGE + 10000;
	for (unsigned i = 1; i <= FIT + 3; i++) {
		ask_for_message(i);
		answer_questions();
	}
	ck_assert_uint_eq(count_said("200"), FIT);
	ck_assert_uint_eq(count_said("503"), 3);
	ck_assert_uint_le(m.texts.bytes, m.texts.max);
	holds(hear(readers[FIT], &open), "Retry-After: 5");
	ck_assert(has_said(ask_for("/api/session", ""), "200"));
	/* What was changed is told. */
	send_text(readers[nreaders++] = join(), POST_PAUSE);
	answer_questions();
	ck_assert(has_said(readers[nreaders - 1], "200"));
	/* Who has had the time to read it, makes room. */
	m.now += CLIENT_PRESSED_MS;
	ask_for_message(98);
	answer_questions();
	ck_assert(has_said(readers[nreaders - 1], "503"));
	ask_for_message(99);
	answer_questions();
	ck_assert(has_said(readers[nreaders - 1], "200"));
	end_readers();
	end_server();
}
END_TEST

START_TEST(kept_answers_have_a_bound)
{
	size_t	n = 0;

	begin_server();
	for (unsigned i = 1; i <= 20; i++) {
		ask_for_message(i);
		answer_questions();
	}
	for (const struct question *q = m.questions.list; q != NULL;
	    q = q->next)
		n++;
	ck_assert_uint_eq(n, QUESTION_KEPT_MAX / LARGE);
	end_readers();
	end_server();
}
END_TEST

/*
 * Streams of events
 */

static size_t
count_streams(size_t n, const char *headers)
{
	size_t	said = 0;

	while (n-- > 0)
		said += has_said(ask_for("/api/events", headers), "200");
	return said;
}

START_TEST(token_has_its_streams)
{
	begin_server();
	ck_assert_uint_eq(count_streams(EVENTS_ANYONE + 9, ""), EVENTS_ANYONE);
	ck_assert_uint_eq(count_streams(EVENTS_MAX - EVENTS_ANYONE, TOKEN),
	    EVENTS_MAX - EVENTS_ANYONE);
	ck_assert_uint_eq(count_streams(1, ""), 0);
	/* With the token there is one for each, as long as others have some. */
	m.now++;
	ck_assert_uint_eq(count_streams(9, TOKEN), 9);
	ck_assert_ptr_nonnull(m.streams);
	end_readers();
	ck_assert_ptr_null(m.streams);
	end_server();
}
END_TEST

START_TEST(stream_gives_way)
{
	bool	open;

	begin_server();
	ck_assert_uint_eq(count_streams(EVENTS_ANYONE, ""), EVENTS_ANYONE);
	m.now += EVENTS_TURN_MS - 1;
	ck_assert_uint_eq(count_streams(1, ""), 0);
	m.now++;
	ck_assert_uint_eq(count_streams(1, ""), 1);
	hear(readers[0], &open);
	ck_assert(!open);
	hear(readers[1], &open);
	ck_assert(open);
	end_readers();
	/* Without a token in the configuration all are for anyone. */
	m.people.n = 0;
	ck_assert_uint_eq(count_streams(EVENTS_MAX + 1, ""), EVENTS_MAX);
	end_readers();
	end_server();
}
END_TEST

/*
 * People
 */

static struct path	files[3];

/* The name of the person whose token it is; "": nobody's. */
static const char *
found(const struct people *t, const char *token)
{
	const struct person	*p = people_find(t, token);

	return p == NULL ? "" : p->name;
}

#define ANNA	"the token of anna"
#define BEN	"the token of ben."

START_TEST(people_have_tokens)
{
	static char		 anna[] = "anna", ben[] = "ben", none[] = "",
				 read[] = "read", pause[] = "pause",
				*may[] = { read, pause };
	struct conf_person	 list[] = {
		{ .name = anna, .file = files[0].text, .may = { may, 1 } },
		{ .name = ben, .file = files[1].text, .may = { may, 2 } },
	};
	struct people		 t;
	struct err		 e;

	for (int i = 0; i < NROWS(files); i++)
		files[i] = in_dir((const char *[]){ "a", "b", "c" }[i]);
	conf.monitor.token_file = conf.monitor.user_header = none;
	conf.monitor.tokens = (struct conf_records){ list, 2 };
	write_secret(files[0].text, ANNA "\n");
	write_secret(files[1].text, BEN);
	ck_assert_int_eq(people_read(&t, &conf, &e), 0);
	ck_assert_uint_eq(t.n, 2);
	ck_assert_str_eq(found(&t, ANNA), "anna");
	ck_assert_str_eq(found(&t, BEN), "ben");
	ck_assert_str_eq(found(&t, ""), "");
	ck_assert_str_eq(found(&t, "the token of ben"), "");
	ck_assert_uint_eq(t.list[0].may, 0);
	ck_assert_uint_eq(t.list[1].may, 1U << ACTION_PAUSE);
	ck_assert(people_may_act(&t));
	/* Nobody could tell whose it is. */
	conf.monitor.token_file = files[2].text;
	write_secret(files[2].text, BEN "\n");
	ck_assert_int_lt(people_read(&t, &conf, &e), 0);
	ck_assert_str_eq(e.text, "monitor.tokens: ben has the same token as "
	    "monitor");
	ck_assert_str_eq(found(&t, BEN), "");
	ck_assert_str_eq(found(&t, ANNA), "anna");
	ck_assert(!people_may_act(&t));
	/* A file that is gone takes nothing from others. */
	ck_assert_int_eq(unlink(files[0].text), 0);
	write_secret(files[2].text, "the token of all");
	ck_assert_int_lt(people_read(&t, &conf, &e), 0);
	starts(e.text, "monitor.tokens: anna: ");
	ck_assert_str_eq(found(&t, ANNA), "");
	ck_assert_str_eq(found(&t, BEN), "ben");
	ck_assert_str_eq(found(&t, "the token of all"), CONF_NOBODY);
	write_secret(files[1].text, "short");
	ck_assert_int_lt(people_read(&t, &conf, &e), 0);
	ck_assert_str_eq(found(&t, "short"), "");
	conf.monitor.tokens.n = 0;
}
END_TEST

/* What a client is told of itself, with these headers, if this is the proxy. */
static const char *
session_of(const char *proxy, const char *headers)
{
	static char	text[4096];
	char		item[32], *items[] = { item };
	bool		open;

	snprintf(item, sizeof(item), "%s", proxy);
	conf.monitor.proxies = (struct conf_list){ items, 1 };
	snprintf(text, sizeof(text), "%s", hear(ask_for("/api/session",
	    headers), &open));
	conf.monitor.proxies.n = 0;
	return text;
}

START_TEST(proxy_names_people)
{
	static char		 header[] = "X-User", anna[] = "anna",
				 any[] = "*", none[] = "", act[] = "act",
				 pause[] = "pause", *may[] = { act, pause };
	struct conf_person	 list[] = {
		{ .name = anna, .file = none, .may = { may, 1 } },
		{ .name = any, .file = none, .may = { may + 1, 1 } },
	};
	char			 us[32], other[32];

	begin_server();
	snprintf(us, sizeof(us), "uid:%u", (unsigned)getuid());
	snprintf(other, sizeof(other), "uid:%u", (unsigned)getuid() + 1);
	conf.monitor.user_header = header;
	conf.monitor.tokens = (struct conf_records){ list, 1 };
	guard_read_tokens(&m);
	holds(session_of(us, "x-user: anna\r\n"), "\"user\":\"anna\","
	    "\"by_proxy\":true,\"may\":[\"retry\",");
	holds(session_of(us, "X-User: ben\r\n"), "\"authorized\":false,"
	    "\"user\":\"ben\",\"by_proxy\":true,\"may\":[]");
	holds(session_of(us, "X-User: \r\n"), "\"user\":null");
	holds(session_of(us, TOKEN "X-User: \r\n"), "\"authorized\":true");
	holds(session_of(us, "Authorization: Basic YTpi\r\nX-User: anna\r\n"),
	    "\"user\":\"anna\"");
	/* Not of anybody else. */
	holds(session_of(other, "X-User: anna\r\n"), "\"user\":null");
	holds(session_of("127.0.0.1", "X-User: anna\r\n"), "\"user\":null");
	holds(session_of(other, TOKEN "X-User: anna\r\n"),
	    "\"authorized\":true,\"user\":null");
	/* Two answers, or none. */
	holds(session_of(us, TOKEN "X-User: anna\r\n"), "who is it?");
	holds(session_of(us, "X-User: anna\r\nX-User: ben\r\n"),
	    "X-User is given twice");
	holds(session_of(us, "X-User: a b\r\n"), "is not possible");
	holds(session_of(us, "X-User: monitor\r\n"), "is not possible");
	holds(session_of(us, "X-User: *\r\n"), "is not possible");
	holds(session_of(us, "X-User: an\xc3\xa9\r\n"), "is not possible");
	holds(session_of(us, "X-User: 1234567890123456789012345678901234567890"
	    "123456789012345678901234\r\n"), "is not possible");
	/* A row for all others. */
	conf.monitor.tokens.n = 2;
	guard_read_tokens(&m);
	holds(session_of(us, "X-User: ben\r\n"), "\"authorized\":true,"
	    "\"user\":\"ben\",\"by_proxy\":true,\"may\":[\"pause\"]");
	end_readers();
	conf.monitor.tokens.n = 0;
	end_server();
}
END_TEST

void
add_requests(Suite *s)
{
	TCase	*tc = add_case(s, "requests");

	tcase_add_loop_test(tc, doubtful_is_refused, 0, NROWS(doubtful));
	tcase_add_loop_test(tc, clear_is_taken, 0, NROWS(clear));

	tc = add_case(s, "people");
	tcase_add_test(tc, people_have_tokens);
	tcase_add_test(tc, proxy_names_people);

	tc = add_case(s, "readers");
	tcase_set_timeout(tc, 60);	/* some hundred MB of answers */
	tcase_add_test(tc, readers_share_an_answer);
	tcase_add_test(tc, answers_have_a_bound);
	tcase_add_test(tc, kept_answers_have_a_bound);
	tcase_add_test(tc, token_has_its_streams);
	tcase_add_test(tc, stream_gives_way);
}
