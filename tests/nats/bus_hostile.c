/*
 * bus_hostile.c - a broker that does what nats-server never does
 *
 * The fake is a child of the test and ends with it.  It writes all that it
 * receives into a file.
 */

#include "nats/bus_test.h"

#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* What the fake does. */
struct fake {
	const char	*info;		/* more members of INFO */
	const char	*subject;	/* of its answer to a message; a % in it
					   is our inbox, up to the last dot */
	const char	*body;
};

static char	inbox[200], sid[20];

static void
write_answer(const struct fake *f, FILE *to)
{
	const char	*mark = f->subject == NULL ? NULL :
			    strchr(f->subject, '%');

	if (f->subject == NULL)
		return;
	fprintf(to, "MSG %.*s%s%s %s %zu\r\n%s\r\n",
	    mark == NULL ? 0 : (int)(mark - f->subject), f->subject,
	    mark == NULL ? "" : inbox, mark == NULL ? f->subject : mark + 1,
	    sid, strlen(f->body), f->body);
}

static void
take_line(const struct fake *f, const char *line, FILE *to)
{
	if (strncmp(line, "PING", 4) == 0)
		fputs("PONG\r\n", to);
	else if (strncmp(line, "HPUB ", 5) == 0)
		write_answer(f, to);
	else if (sscanf(line, "SUB %199s %19s", inbox, sid) == 2)
		*strrchr(inbox, '.') = '\0';
	fflush(to);
}

static void
serve(int fd, const struct fake *f, FILE *record)
{
	FILE	*from = fdopen(fd, "r"), *to = fdopen(dup(fd), "w");
	char	 line[4096];

	fprintf(to, "INFO {\"server_id\":\"F\",\"version\":\"2.9.10\","
	    "\"proto\":1,\"headers\":true,\"max_payload\":1048576%s}\r\n",
	    f->info);
	fflush(to);
	while (fgets(line, sizeof(line), from) != NULL) {
		fputs(line, record);
		fflush(record);
		take_line(f, line, to);
	}
	fclose(from);
	fclose(to);
}

/* Start the fake on a port of 127.0.0.1. */
static int
start_fake(const struct fake *f)
{
	struct sockaddr_in	sa = { .sin_family = AF_INET };
	socklen_t		len = sizeof(sa);
	int			fd = socket(AF_INET, SOCK_STREAM, 0);
	FILE			*record;

	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&sa, len), 0);
	ck_assert_int_eq(listen(fd, 5), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
	record = fopen(servers_write("received", ""), "w");
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int c; (c = accept(fd, NULL, NULL)) >= 0; )
			serve(c, f, record);
		_exit(0);
	}
	close(fd);
	fclose(record);
	return ntohs(sa.sin_port);
}

static void
open_fake(const struct fake *f)
{
	char	keys[200];

	snprintf(keys, sizeof(keys), "servers: [\"nats://127.0.0.1:%d\"]",
	    start_fake(f));
	conf = conf_with(keys);
	bus = bus_new(conf, "check");
	ck_assert_msg(open_bus(&bus) == 0, "%s", e.text);
	bus.ops->begin(bus.arg, INT64_MAX);
}

static void
close_fake(void)
{
	pub_free(&bus);
	envelope_free(&letter);
	conf_free(conf);
}

#define ZEROS	"00000000000000000000000000000000000000000000000000"
#define ACK	"{\"n\":\"" ZEROS "1_00000006\",\"stream\":\"EVENTS\",\"seq\":9}"

/*
 * The library stores a message's payload behind its subject: an index that was
 * read beyond the end of a short subject would be the payload's.
 */
static const struct fake	strays[] = {
	{ "", "x", ACK },
	{ "", "_INBOX.x", ACK },
	{ "", "%", ACK },
	{ "", "%.", ACK },
	{ "", "%x00000001_00000006", ACK },
	{ "", "_INBOX.0123456789012345678901.00000001_00000006", ACK },
	{ "", "_INBOX.outbox.01234567890123456789012345678901."
	    "00000001_00000006", ACK },
};

START_TEST(stray_answer_is_dropped)
{
	open_fake(&strays[_i]);
	send_row(1, 6);
	ck_no_answer(200);
	ck_assert(is_open());
	close_fake();
}
END_TEST

START_TEST(answer_of_the_fake_is_taken)
{
	struct fake	f = { "", "%.00000001_00000006", ACK };

	open_fake(&f);
	send_row(1, 6);
	ck_stored(6, 9);
	close_fake();
}
END_TEST

/* To a host that offers no TLS, 0.0.0.0, nothing is sent: not even a name. */
static const char *const	secrets[] = {
	"user: relay, password_env: SECRET", "token_env: SECRET",
	"user: relay",
};

START_TEST(no_secret_goes_out_in_clear)
{
	struct fake	f = { .info = "" };
	char		keys[300];
	int		port = start_fake(&f);

	setenv("SECRET", SECRET, 1);
	snprintf(keys, sizeof(keys), "servers: [\"nats://127.0.0.1:%d\"], %s",
	    port, secrets[_i]);
	conf = conf_with(keys);
	bus = bus_new(conf, "check");
	ck_assert_msg(open_bus(&bus) == 0, "%s", e.text);
	servers_run("grep -q '\"user\":\\|auth_token' %s",
	    servers_path("received"));
	close_fake();

	port = start_fake(&f);
	snprintf(keys, sizeof(keys), "servers: [\"nats://0.0.0.0:%d\"], %s",
	    port, secrets[_i]);
	conf = conf_with(keys);
	bus = bus_new(conf, "check");
	ck_assert_int_eq(open_bus(&bus), -1);
	ck_has(e.text, "offers no TLS");
	close_fake();
	servers_run("! grep -a . %s", servers_path("received"));
}
END_TEST

static void
start_nothing(void)
{
}

void
add_hostile(Suite *s)
{
	TCase	*tc = server_case(s, "hostile", start_nothing, NULL, NULL);

	tcase_add_test(tc, answer_of_the_fake_is_taken);
	tcase_add_loop_test(tc, stray_answer_is_dropped, 0, NROWS(strays));
	tcase_add_loop_test(tc, no_secret_goes_out_in_clear, 0,
	    NROWS(secrets));
}
