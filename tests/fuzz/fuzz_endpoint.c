/*
 * fuzz_endpoint.c - what an HTTP endpoint may answer
 *
 * A field of the input is what comes over a connection before it ends; a
 * redirect makes another one.  All hosts are reached over a socket pair.  Only
 * the endpoint ever gets a secret.
 */

#include "fuzz/fuzz.h"

#include <ctype.h>
#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/http_impl.h"
#include "util/clock.h"

#define HOST		"fuzz.example"
#define TURNS		300
#define CONNECTIONS	(HTTP_REDIRECTS_MAX + 1)

static struct conf	conf;
static struct pub	pub;
static struct input	answers;
static int		peers[CONNECTIONS];
static size_t		npeers;

static void
begin(void)
{
	static char			 empty[] = "", env[] = "FUZZ_TOKEN",
					    endpoint[] = "http://" HOST "/e",
					    name[] = "X-Mine",
					    value[] = "sesame-2";
	static struct conf_header	 header;
	struct err			 e;

	if (pub.ops != NULL)
		return;
	signal(SIGPIPE, SIG_IGN);
	setenv(env, "sesame-1", 1);
	header = (struct conf_header){ 1, name, value, empty };
	conf.publish.timeout_ms = 1000;
	conf.http.endpoint = endpoint;
	conf.http.concurrency = 2;
	conf.http.headers = (struct conf_records){ &header, 1 };
	conf.http.token_env = env;
	conf.http.follow_redirects = conf.http.allow_private = true;
	conf.http.proxy = conf.http.token_file = conf.http.tls.ca =
	    conf.http.tls.cert = conf.http.tls.key = empty;
	conf.http.tls.verify = true;
	pub = http_new(&conf, "");
	MUST(pub.ops->open(pub.arg, &e) == 0);
}

/* The library gets an end of a pair; all that comes is there at once. */
static curl_socket_t
make_connection(void *arg, curlsocktype purpose, struct curl_sockaddr *a)
{
	int	 fds[2];
	size_t	 len;
	char	*field;

	(void)arg;
	(void)purpose;
	(void)a;
	if (npeers == CONNECTIONS || socketpair(AF_UNIX, SOCK_STREAM |
	    SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) < 0)
		return CURL_SOCKET_BAD;
	field = take_field(&answers, &len);
	(void)!write(fds[1], field, len);
	shutdown(fds[1], SHUT_WR);
	free(field);
	peers[npeers++] = fds[1];
	return fds[0];
}

/* In place of that of libc, for libcurl: the pair is connected. */
int
connect(int fd, const struct sockaddr *to, socklen_t len)
{
	(void)fd;
	(void)to;
	(void)len;
	return 0;
}

/* No name is asked of a server, and no connection is used twice. */
CURLMcode
curl_multi_add_handle(CURLM *multi, CURL *c)
{
	static CURLMcode	 (*add)(CURLM *, CURL *);
	static struct curl_slist *to;

	if (add == NULL) {
		*(void **)&add = dlsym(RTLD_NEXT, "curl_multi_add_handle");
		to = curl_slist_append(NULL, "::127.0.0.1:9");
	}
	curl_easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, make_connection);
	curl_easy_setopt(c, CURLOPT_CONNECT_TO, to);
	curl_easy_setopt(c, CURLOPT_FORBID_REUSE, 1L);
	curl_easy_setopt(c, CURLOPT_FRESH_CONNECT, 1L);
	return add(multi, c);
}

static bool
run(struct pub_answer *a)
{
	struct pub_polls	p = { .timeout_ms = 0 };
	bool			done = false;

	for (int i = 0; i < TURNS && !done; i++) {
		p.n = 0;
		p.timeout_ms = 2;
		pub.ops->prepare(pub.arg, &p);
		poll(p.fds, p.n, (int)p.timeout_ms);
		pub.ops->proceed(pub.arg, p.fds, p.n);
		done = pub.ops->answer(pub.arg, a);
	}
	free(p.fds);
	return done;
}

static bool
has(const char *text, size_t len, const char *part)
{
	return memmem(text, len, part, strlen(part)) != NULL;
}

/*
 * What the other end of a connection has got: our secrets only if they are for it,
 * unless an answer named them itself, as a part of a Location.
 */
static void
check_sent(int fd, bool named)
{
	static char	text[1 << 16];
	ssize_t		n = recv(fd, text, sizeof(text), MSG_DONTWAIT);
	size_t		len = n < 0 ? 0 : (size_t)n;

	MUST(len == 0 || text[0] == 0x16 ||		/* TLS */
	    memcmp(text, "POST /", 6) == 0);
	if (!named && !has(text, len, "\r\nHost: " HOST "\r\n"))
		MUST(!has(text, len, "sesame"));
	close(fd);
}

/* Is there a status line from 200 to 299? */
static bool
has_success(const char *text, size_t len)
{
	for (size_t i = 0; i + 11 < len; i++) {
		const char	*p = text + i + 5;

		if (memcmp(text + i, "HTTP/", 5) != 0)
			continue;
		p += p[1] == '.' ? 3 : 1;
		if (p + 4 <= text + len && memcmp(p, " 2", 2) == 0 &&
		    isdigit((unsigned char)p[2]) &&
		    isdigit((unsigned char)p[3]) &&
		    (p + 4 == text + len || !isdigit((unsigned char)p[4])))
			return true;
	}
	return false;
}

static void
check_answer(const struct pub_answer *a, const char *data, size_t size)
{
	MUST(memchr(a->text, '\0', sizeof(a->text)) != NULL);
	for (const char *p = a->text; *p != '\0'; p++)
		MUST((unsigned char)*p >= ' ' && *p != 0x7f);
	MUST(a->retry_after_ms >= 0 && a->retry_after_ms <= 86400000);
	MUST(a->verdict != VERDICT_STORED || has_success(data, size));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct envelope		 v = { .payload = { "{}", 2 },
				    .driver = DRIVER_HTTP };
	struct pub_answer	 a = { .index = 0 };
	struct err		 e;

	begin();
	answers = (struct input){ data, size };
	npeers = 0;
	v.endpoint = conf.http.endpoint;
	buf_str(&v.text, "t");
	pub.ops->begin(pub.arg, clock_ms() + 10000);
	MUST(pub.ops->send(pub.arg, &v, 0, &e) == PUB_SENT);
	if (run(&a))
		check_answer(&a, (const char *)data, size);
	pub.ops->begin(pub.arg, clock_ms());
	while (npeers > 0)
		check_sent(peers[--npeers], has((const char *)data, size,
		    "sesame"));
	buf_free(&v.text);
	return 0;
}
