/* fake_mysql.c - see fake_mysql.h */

#include "lib/fake_mysql.h"

#include <check.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/buf.h"

#define COM_QUIT		1
#define COM_QUERY		3
#define COM_SET_OPTION		27

/*
 * PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH, CONNECT_WITH_DB, LOCAL_FILES,
 * TRANSACTIONS, FOUND_ROWS, MULTI_STATEMENTS, MULTI_RESULTS; no SSL.
 */
#define CAPABILITIES		0x000ba28bu

/* A key of the attacker: whatever is encrypted with it, is lost. */
static const char	public_key[] =
    "\1-----BEGIN PUBLIC KEY-----\n"
    "MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDCxZTqYc3n1Jl1jZ7zcnlbFzmk\n"
    "l+qT/cyR3c97puusoWhapO8/r1pawYQTzzD3xnLoCJgAulmk01rUm6VCEo4Vi4Cc\n"
    "OEV4/uF71l2rL/59rnpjWmqE3u4wxgq+Nc++AJNXnhEhhUAirpbtdHWSf0xEOMau\n"
    "qROvArCSZVLb4S/HAwIDAQAB\n"
    "-----END PUBLIC KEY-----\n";

#define SCRAMBLE		"abcdefghijklmnopqrst"

static void
put_int(struct buf *b, uint32_t n, unsigned bytes)
{
	for (; bytes > 0; bytes--, n >>= 8)
		buf_add(b, &(char){ (char)(n & 0xff) }, 1);
}

/* Send the packet and empty the buffer. */
static bool
send_packet(int fd, unsigned char *seq, struct buf *b)
{
	struct buf	all = { 0 };
	bool		ok;

	put_int(&all, (uint32_t)b->len, 3);
	put_int(&all, (*seq)++, 1);
	buf_add(&all, b->data, b->len);
	ok = send(fd, all.data, all.len, MSG_NOSIGNAL) == (ssize_t)all.len;
	buf_free(&all);
	buf_clear(b);
	return ok;
}

static bool
read_all(struct fake *f, int fd, char *to, size_t n)
{
	size_t	left;

	if (recv(fd, to, n, MSG_WAITALL) != (ssize_t)n)
		return false;
	pthread_mutex_lock(&f->lock);
	left = sizeof(f->seen) - f->nseen;
	memcpy(f->seen + f->nseen, to, n < left ? n : left);
	f->nseen += n < left ? n : left;
	pthread_mutex_unlock(&f->lock);
	return true;
}

/* The packet, with a NUL after it; false: the client has gone. */
static bool
read_packet(struct fake *f, int fd, unsigned char *seq, struct buf *b)
{
	unsigned char	head[4];
	size_t		n;
	char		*to;

	buf_clear(b);
	if (!read_all(f, fd, (char *)head, sizeof(head)))
		return false;
	n = head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16;
	*seq = (unsigned char)(head[3] + 1);
	to = buf_reserve(b, n + 1);
	if (n > 0 && !read_all(f, fd, to, n))
		return false;
	b->len = n;
	to[n] = '\0';
	return true;
}

static bool
greet_client(const struct fake *f, int fd, unsigned char *seq)
{
	const char	*version = f->greeting != NULL ? f->greeting :
			    "5.5.5-10.11.0-MariaDB";
	struct buf	b = { 0 };
	bool		ok;

	put_int(&b, 10, 1);
	buf_add(&b, version, strlen(version) + 1);
	put_int(&b, 7, 4);
	buf_add(&b, SCRAMBLE, 8);
	put_int(&b, 0, 1);
	put_int(&b, CAPABILITIES & 0xffff, 2);
	put_int(&b, 45, 1);
	put_int(&b, 2, 2);
	put_int(&b, CAPABILITIES >> 16, 2);
	put_int(&b, 21, 1);
	buf_add(&b, "\0\0\0\0\0\0\0\0\0\0", 10);
	buf_add(&b, SCRAMBLE + 8, 13);
	buf_add(&b, "mysql_native_password", 22);
	ok = send_packet(fd, seq, &b);
	buf_free(&b);
	return ok;
}

static bool
send_ok(int fd, unsigned char *seq)
{
	struct buf	b = { 0 };
	bool		ok;

	buf_add(&b, "\0\0\0\2\0\0\0", 7);
	ok = send_packet(fd, seq, &b);
	buf_free(&b);
	return ok;
}

static bool
send_end(int fd, unsigned char *seq)
{
	struct buf	b = { 0 };
	bool		ok;

	buf_add(&b, "\xfe\0\0\2\0", 5);
	ok = send_packet(fd, seq, &b);
	buf_free(&b);
	return ok;
}

/* Ask for another method, and whatever it takes to get at the password. */
static bool
ask_for_password(struct fake *f, int fd, unsigned char *seq, struct buf *b)
{
	buf_clear(b);
	put_int(b, 0xfe, 1);
	buf_add(b, f->plugin, strlen(f->plugin) + 1);
	if (strcmp(f->plugin, "dialog") == 0)
		buf_str(b, "\4Password: ");	/* a question, hidden input */
	else
		buf_add(b, SCRAMBLE, 21);
	if (!send_packet(fd, seq, b) || !read_packet(f, fd, seq, b))
		return false;
	if (strcmp(f->plugin, "caching_sha2_password") == 0) {
		buf_clear(b);
		buf_add(b, "\1\4", 2);	/* not cached: say all of it */
		if (!send_packet(fd, seq, b) || !read_packet(f, fd, seq, b))
			return false;
	}
	if (b->len != 1)
		return true;
	buf_clear(b);			/* it asks for the key */
	buf_str(b, public_key);
	return send_packet(fd, seq, b) && read_packet(f, fd, seq, b);
}

static void
put_text(struct buf *b, const char *text)
{
	if (text == NULL) {
		put_int(b, 0xfb, 1);
		return;
	}
	ck_assert_uint_lt(strlen(text), 0xfb);
	put_int(b, (uint32_t)strlen(text), 1);
	buf_str(b, text);
}

static bool
send_result(const struct fake_answer *a, int fd, unsigned char *seq)
{
	static const char *const about[] = { "def", "", "t", "t", "c", "c" };
	struct buf	b = { 0 };
	bool		ok;

	put_int(&b, a->ncols, 1);
	ok = send_packet(fd, seq, &b);
	for (unsigned i = 0; ok && i < a->ncols; i++) {
		for (size_t j = 0; j < sizeof(about) / sizeof(about[0]); j++)
			put_text(&b, about[j]);
		buf_add(&b, "\x0c\x2d\0\0\1\0\0\xfd\0\0\0\0\0", 13);
		ok = send_packet(fd, seq, &b);
	}
	ok = ok && send_end(fd, seq);
	for (unsigned i = 0; ok && i < a->nrows; i++) {
		for (unsigned j = 0; j < a->ncols; j++)
			put_text(&b, a->cells[i * a->ncols + j]);
		ok = send_packet(fd, seq, &b);
	}
	buf_free(&b);
	return ok && send_end(fd, seq);
}

static bool
send_error(unsigned code, int fd, unsigned char *seq)
{
	struct buf	b = { 0 };
	bool		ok;

	put_int(&b, 0xff, 1);
	put_int(&b, code, 2);
	buf_str(&b, "#HY000as asked");
	ok = send_packet(fd, seq, &b);
	buf_free(&b);
	return ok;
}

/* The client sends packets, up to an empty one, or says that it does not. */
static bool
ask_for_file(struct fake *f, const char *file, int fd, unsigned char *seq)
{
	struct buf	b = { 0 };
	bool		ok;

	put_int(&b, 0xfb, 1);
	buf_str(&b, file);
	ok = send_packet(fd, seq, &b);
	while (ok && (ok = read_packet(f, fd, seq, &b)) && b.len > 0)
		;
	buf_free(&b);
	return ok && send_ok(fd, seq);
}

static bool
answer(struct fake *f, const char *sql, int fd, unsigned char *seq)
{
	for (size_t i = 0; i < f->nanswers; i++) {
		const struct fake_answer *a = &f->answers[i];

		if (strstr(sql, a->match) == NULL)
			continue;
		if (a->error != 0)
			return send_error(a->error, fd, seq);
		if (a->file != NULL)
			return ask_for_file(f, a->file, fd, seq);
		return a->ncols == 0 ? send_ok(fd, seq) :
		    send_result(a, fd, seq);
	}
	return send_ok(fd, seq);
}

static void
serve(struct fake *f, int fd)
{
	struct buf	b = { 0 };
	unsigned char	seq = 0;
	bool		ok;

	ok = greet_client(f, fd, &seq) && read_packet(f, fd, &seq, &b) &&
	    (f->plugin == NULL || ask_for_password(f, fd, &seq, &b)) &&
	    send_ok(fd, &seq);
	if (ok) {
		pthread_mutex_lock(&f->lock);
		f->nlogins++;
		pthread_mutex_unlock(&f->lock);
	}
	while (ok && read_packet(f, fd, &seq, &b) && b.len > 0 &&
	    b.data[0] != COM_QUIT)
		ok = b.data[0] == COM_QUERY ?
		    answer(f, b.data + 1, fd, &seq) :
		    b.data[0] == COM_SET_OPTION ? send_end(fd, &seq) :
		    send_ok(fd, &seq);
	buf_free(&b);
	close(fd);
}

static void *
run(void *arg)
{
	struct fake	*f = arg;
	int		 fd;

	while ((fd = accept(f->fd, NULL, NULL)) >= 0) {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 },
		    sizeof(int));
		serve(f, fd);
	}
	return NULL;
}

int
fake_start(struct fake *f)
{
	struct sockaddr_in	sa = { .sin_family = AF_INET };
	socklen_t		len = sizeof(sa);

	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	f->fd = socket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(f->fd, (struct sockaddr *)&sa, len), 0);
	ck_assert_int_eq(listen(f->fd, 5), 0);
	ck_assert_int_eq(getsockname(f->fd, (struct sockaddr *)&sa, &len), 0);
	pthread_mutex_init(&f->lock, NULL);
	ck_assert_int_eq(pthread_create(&f->thread, NULL, run, f), 0);
	return ntohs(sa.sin_port);
}

bool
fake_saw(struct fake *f, const char *text)
{
	bool	found;

	pthread_mutex_lock(&f->lock);
	found = memmem(f->seen, f->nseen, text, strlen(text)) != NULL;
	pthread_mutex_unlock(&f->lock);
	return found;
}

unsigned
fake_logins(struct fake *f)
{
	unsigned	n;

	pthread_mutex_lock(&f->lock);
	n = f->nlogins;
	pthread_mutex_unlock(&f->lock);
	return n;
}
