/*
 * goaway.c - a server of HTTP/2 that goes away; for tests
 *
 * usage: goaway DIRECTORY CERTIFICATE KEY
 *
 * Listens on 127.0.0.1 with TLS and writes its port to DIRECTORY/port.  Requests
 * are answered with 200, and each that is complete is a line of DIRECTORY/log:
 * its connection and stream, and "taken", or "dropped" if it gets no answer.
 *
 * DIRECTORY/orders is taken, and removed, by the next connection:
 *
 *	ANSWERED MORE LAST
 *
 * So many requests are answered, and so many more are not.  When these have
 * come, it sends a GOAWAY, which names the first LAST of all as processed, and
 * closes the connection.
 */
#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define PREFACE		24	/* bytes, before the client's first frame */
#define FRAME		9	/* of its head */
#define FRAME_MAX	16384

enum { DATA, HEADERS, SETTINGS = 4, PING = 6, GOAWAY, WINDOW_UPDATE };
enum { END_STREAM = 1, ACK = 1, END_HEADERS = 4 };

static SSL		*tls;
static unsigned		 answered, more, last;	/* the order; more 0: none */
static unsigned		 nrequests;
static uint32_t		 last_stream;
static int		 number;		/* of the connection */

/* TLS gives parts. */
static void
read_whole(unsigned char *to, size_t n)
{
	for (size_t done = 0, some; done < n; done += some)
		if (SSL_read_ex(tls, to + done, n - done, &some) != 1)
			exit(0);
}

static void
send_frame(int type, int flags, uint32_t stream, const void *data, size_t n)
{
	unsigned char	out[FRAME + 16] = { 0, 0, (unsigned char)n,
			    (unsigned char)type, (unsigned char)flags };

	stream = htonl(stream);
	memcpy(out + 5, &stream, sizeof(stream));
	if (n > 0)
		memcpy(out + FRAME, data, n);
	if (SSL_write(tls, out, (int)(FRAME + n)) <= 0)
		exit(0);
}

static void
note(uint32_t stream, const char *what)
{
	FILE	*f = fopen("log", "a");

	if (f == NULL)
		err(1, "log");
	fprintf(f, "%d %u %s\n", number, stream, what);
	fclose(f);
}

static void
take_order(void)
{
	FILE	*f = fopen("orders", "r");

	if (f == NULL)
		return;
	if (fscanf(f, "%u %u %u", &answered, &more, &last) != 3)
		errx(1, "orders: three numbers are wanted");
	fclose(f);
	unlink("orders");
}

static void
go_away(void)
{
	uint32_t	body[2] = { htonl(last_stream), 0 };

	send_frame(GOAWAY, 0, 0, body, sizeof(body));
	SSL_shutdown(tls);
	/* What is not read would make it a reset, which takes answers away. */
	shutdown(SSL_get_fd(tls), SHUT_WR);
	alarm(5);
	while (read(SSL_get_fd(tls), (char[1024]){ 0 }, 1024) > 0)
		;
	exit(0);
}

/* A request is complete. */
static void
take_request(uint32_t stream)
{
	static const unsigned char	status_200 = 0x88;
	bool				drop = more > 0 && nrequests >= answered;

	if (++nrequests <= last)
		last_stream = stream;
	note(stream, drop ? "dropped" : "taken");
	if (!drop)
		send_frame(HEADERS, END_HEADERS | END_STREAM, stream,
		    &status_200, 1);
	else if (nrequests == answered + more)
		go_away();
}

static void
take_frame(void)
{
	unsigned char	head[FRAME], body[FRAME_MAX];
	uint32_t	stream, n;

	read_whole(head, sizeof(head));
	n = (uint32_t)head[0] << 16 | (uint32_t)head[1] << 8 | head[2];
	memcpy(&stream, head + 5, sizeof(stream));
	stream = ntohl(stream) & INT32_MAX;
	if (n > sizeof(body))
		exit(1);
	read_whole(body, n);
	if (head[3] == SETTINGS && !(head[4] & ACK))
		send_frame(SETTINGS, ACK, 0, NULL, 0);
	if (head[3] == PING && !(head[4] & ACK))
		send_frame(PING, ACK, 0, body, 8);
	if (head[3] == DATA && n > 0) {
		n = htonl(n);
		send_frame(WINDOW_UPDATE, 0, 0, &n, sizeof(n));
	}
	if ((head[3] == DATA || head[3] == HEADERS) && head[4] & END_STREAM)
		take_request(stream);
}

static int
choose_h2(SSL *s, const unsigned char **out, unsigned char *n,
    const unsigned char *in, unsigned nin, void *arg)
{
	static const unsigned char	h2[] = { 2, 'h', '2' };

	(void)s;
	(void)arg;
	return SSL_select_next_proto((unsigned char **)(uintptr_t)out, n, h2,
	    sizeof(h2), in, nin) == OPENSSL_NPN_NEGOTIATED ?
	    SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static void
serve(SSL_CTX *context, int fd)
{
	unsigned char	preface[PREFACE];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	tls = SSL_new(context);
	SSL_set_fd(tls, fd);
	if (SSL_accept(tls) != 1)
		exit(0);
	take_order();
	read_whole(preface, sizeof(preface));
	send_frame(SETTINGS, 0, 0, NULL, 0);
	for (;;)
		take_frame();
}

static int
open_port(void)
{
	struct sockaddr_in	a = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t		n = sizeof(a);
	int			fd = socket(AF_INET, SOCK_STREAM, 0);
	FILE			*f;

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, n) < 0 ||
	    listen(fd, 64) < 0 || getsockname(fd, (struct sockaddr *)&a, &n) < 0)
		err(1, "socket");
	if ((f = fopen("port.new", "w")) == NULL)
		err(1, "port");
	fprintf(f, "%d\n", ntohs(a.sin_port));
	fclose(f);
	rename("port.new", "port");
	return fd;
}

int
main(int argc, char **argv)
{
	SSL_CTX	*context = SSL_CTX_new(TLS_server_method());
	int	 fd, one;

	if (argc != 4)
		errx(64, "usage: goaway DIRECTORY CERTIFICATE KEY");
	signal(SIGCHLD, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	if (SSL_CTX_use_certificate_file(context, argv[2],
	    SSL_FILETYPE_PEM) != 1 || SSL_CTX_use_PrivateKey_file(context,
	    argv[3], SSL_FILETYPE_PEM) != 1)
		errx(1, "%s, %s: cannot be used", argv[2], argv[3]);
	SSL_CTX_set_alpn_select_cb(context, choose_h2, NULL);
	if (chdir(argv[1]) < 0)
		err(1, "%s", argv[1]);
	for (fd = open_port(); (one = accept(fd, NULL, NULL)) >= 0;
	    close(one)) {
		number++;
		if (fork() == 0)
			serve(context, one);
	}
	err(1, "accept");
}
