/*
 * monitor_requests.c - the monitor's HTTP server: what it takes for a request
 *
 * Clients are socket pairs; no outboxctl runs.
 */
#include "unit/monitor_test.h"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "monitor/monitor_impl.h"
#include "util/clock.h"

static struct conf	conf;
static struct monitor	m;

static void
begin_server(void)
{
	static char			 empty[] = "", token[] =
					    "0123456789abcdef";
	static struct scoreboard_line	 line;
	static struct question		 nobody;
	static struct monitor_args	 a = { .conf = &conf, .line = &line };
	struct err			 e;

	signal(SIGPIPE, SIG_IGN);
	conf.monitor.listen = conf.monitor.token_file = empty;
	m = (struct monitor){ .a = &a, .host = "own", .token = token,
	    .now = clock_ms() };
	questions_init(&m.questions, "/nowhere", "/nowhere", "/nowhere");
	for (int i = 0; i < QUESTION_KINDS; i++)
		m.questions.current[i] = &nobody;	/* none is started */
	ck_assert_int_eq(server_start(&m, &e), 0);
}

static void
end_server(void)
{
	MHD_stop_daemon(m.http);
	ck_assert_uint_eq(m.clients.n, 0);
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
};

/* Refused, and the bytes after it are no other request. */
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
	    strncmp(said, "HTTP/1.1 413 ", 13) == 0) && !open &&
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

void
add_requests(Suite *s)
{
	TCase	*tc = add_case(s, "requests");

	tcase_add_loop_test(tc, doubtful_is_refused, 0, NROWS(doubtful));
	tcase_add_loop_test(tc, clear_is_taken, 0, NROWS(clear));
}
