/*
 * servers.c - real servers for the contract tests
 *
 * tools/sandbox starts them.  A keeper process waits for the end of this one
 * and stops them, so a killed test program leaves no server behind.
 */
#include "lib/servers.h"

#include <mysql.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "util/clock.h"

#define PATIENCE_MS	10000
#define POLL_MS		5
#define NTEXTS		16		/* results kept */
#define MAX_LINES	16		/* of configuration, for a server */

static char	 root[64];		/* the private directory */
static pid_t	 keeper;
static int	 alive[2] = { -1, -1 };	/* keeper waits for its EOF */
static MYSQL	*mysql;

static const char *
sandbox(void)
{
	static char	 path[256];
	const char	*top = getenv("srcdir");

	snprintf(path, sizeof(path), "%s/tools/sandbox",
	    top != NULL ? top : ".");
	return path;
}

static void
keep(void)
{
	char	c;
	int	null = open("/dev/null", O_RDWR);

	setsid();
	close(alive[1]);
	/* A reader of the test's output must not wait for the keeper. */
	for (int fd = 0; fd <= 2; fd++)
		dup2(null, fd);
	while (read(alive[0], &c, 1) < 0 && errno == EINTR)
		;
	execl("/bin/sh", "sh", "-c", "for d in \"$1\"/*/; do "
	    "[ ! -d \"$d\" ] || \"$0\" kill \"$d\"; done; rm -rf -- \"$1\"",
	    sandbox(), root, (char *)NULL);
	_exit(127);
}

void
servers_begin(void)
{
	const char	*tmp = getenv("TMPDIR");

	/* Paths of sockets must be short. */
	snprintf(root, sizeof(root), "%s/outbox-check.XXXXXX",
	    tmp != NULL && strlen(tmp) < 32 ? tmp : "/tmp");
	if (mkdtemp(root) == NULL || pipe2(alive, O_CLOEXEC) < 0 ||
	    (keeper = fork()) < 0)
		abort();
	if (keeper == 0)
		keep();
	close(alive[0]);
	setenv("OUTBOX_PW", OUTBOX_PASSWORD, 1);
}

void
servers_end(void)
{
	close(alive[1]);
	while (waitpid(keeper, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Exit so that automake's drivers count the test as skipped. */
static void
skip_all(const char *kind)
{
	bool	tap = getenv("CK_TAP_LOG_FILE_NAME") != NULL;

	if (tap)
		printf("1..0 # SKIP no %s server\n", kind);
	fflush(stdout);
	servers_end();
	_exit(tap ? 0 : 77);
}

const char *
servers_path(const char *file)
{
	static char	paths[NTEXTS][256];
	static unsigned	next;
	char		*path = paths[next++ % NTEXTS];

	snprintf(path, sizeof(paths[0]), "%s/%s", root, file);
	return path;
}

const char *
servers_write(const char *file, const char *text)
{
	const char	*path = servers_path(file);
	FILE		*f = fopen(path, "w");

	ck_assert_msg(f != NULL, "%s: %s", path, strerror(errno));
	fputs(text, f);
	fchmod(fileno(f), 0600);	/* it may be a secret */
	ck_assert_int_eq(fclose(f), 0);
	return path;
}

static int
spawn(char *const argv[])
{
	pid_t	pid = fork();
	int	status;

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		dup2(2, 1);	/* standard output is for TAP */
		execv(argv[0], argv);
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0)
		ck_assert_int_eq(errno, EINTR);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static char *
arg(const char *text)
{
	return (char *)(uintptr_t)text;
}

static int
control(const char *verb, const char *name)
{
	char	*argv[] = { arg(sandbox()), arg(verb),
		    arg(servers_path(name)), NULL };

	return spawn(argv);
}

bool
servers_runs(const char *name)
{
	char	command[512];

	snprintf(command, sizeof(command), "%s status %s >/dev/null 2>&1",
	    sandbox(), servers_path(name));
	return system(command) == 0;
}

void
servers_start(const char *name, const char *kind, const char *const *lines)
{
	char	*argv[MAX_LINES + 5] = { arg(sandbox()), arg("start"),
		    arg(kind), arg(servers_path(name)), NULL };
	int	 rc;

	if (servers_runs(name))
		return;
	for (int i = 0; lines != NULL && lines[i] != NULL; i++) {
		ck_assert_int_lt(i, MAX_LINES);
		argv[4 + i] = arg(lines[i]);
	}
	rc = spawn(argv);
	if (rc == 77)
		skip_all(kind);
	ck_assert_msg(rc == 0, "%s: %s did not start", name, kind);
}

bool
servers_have_kafka(void)
{
	const char	*form = getenv("OUTBOX_CHECK");
	char		 command[512];

	snprintf(command, sizeof(command), "%s kafka-tree >/dev/null 2>&1",
	    sandbox());
	return (form == NULL || strcmp(form, "short") != 0) &&
	    system(command) == 0;
}

void
servers_restart(const char *name)
{
	ck_assert_int_eq(control("restart", name), 0);
}

void
servers_kill(const char *name)
{
	ck_assert_int_eq(control("kill", name), 0);
}

const char *
servers_get(const char *name, const char *key)
{
	static char	 lines[NTEXTS][256];
	static unsigned	 next;
	char		*line = lines[next++ % NTEXTS], file[64];
	size_t		 n = strlen(key);
	FILE		*f;

	snprintf(file, sizeof(file), "%s/env", name);
	f = fopen(servers_path(file), "r");
	ck_assert_msg(f != NULL, "%s: was not started", name);
	while (fgets(line, sizeof(lines[0]), f) != NULL)
		if (strncmp(line, key, n) == 0 && line[n] == '=') {
			fclose(f);
			line[strcspn(line, "\n")] = '\0';
			return line + n + 1;
		}
	ck_abort_msg("%s: no %s", file, key);
}

/* Have all threads stopped?  They stop one by one. */
static bool
has_stopped(long pid)
{
	char	command[128];

	snprintf(command, sizeof(command),
	    "! cat /proc/%ld/task/*/stat 2>&1 | grep -v ') T ' >/dev/null",
	    pid);
	return system(command) == 0;
}

void
servers_signal(const char *name, int signo)
{
	FILE	*f = fopen(servers_get(name, "PIDFILE"), "r");
	long	 pid;

	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fscanf(f, "%ld", &pid), 1);
	fclose(f);
	ck_assert_int_eq(kill((pid_t)pid, signo), 0);
	for (int64_t until = patience(); signo == SIGSTOP &&
	    !has_stopped(pid); )
		wait_more(&until, "a server to stop");
}

void
servers_run(const char *fmt, ...)
{
	char	 command[4096];
	char	*argv[] = { arg("/bin/sh"), arg("-c"), command, NULL };
	va_list	 ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	ck_assert_msg(spawn(argv) == 0, "failed: %s", command);
}

void
servers_certificates(void)
{
	servers_run("cd %s && exec 2>openssl.log && "
	    "new='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes' && "
	    "for ca in ca other; do openssl req -x509 $new -days 30 "
	    "-subj \"/CN=$ca\" -addext keyUsage=critical,keyCertSign,cRLSign "
	    "-keyout $ca.key -out $ca.pem; done && "
	    "for who in server client; do "
	    "printf 'basicConstraints=CA:FALSE\\nextendedKeyUsage=%%sAuth\\n"
	    "subjectAltName=DNS:localhost,IP:127.0.0.1\\n' $who >$who.ext && "
	    "openssl req $new -subj /CN=localhost -keyout $who.key "
	    "-out $who.csr && "
	    "openssl x509 -req -in $who.csr -CA ca.pem -CAkey ca.key "
	    "-CAcreateserial -days 30 -extfile $who.ext -out $who.pem; "
	    "done; chmod 644 server.key", root);
}

struct conf *
servers_conf(const char *fmt, ...)
{
	struct conf	*c;
	struct err	 e;
	char		 text[4096], file[32];
	va_list		 ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(file, sizeof(file), "%ld.yml", (long)getpid());
	c = conf_load(servers_write(file, text), NULL, &e);
	ck_assert_msg(c != NULL, "%s\n%s", e.text, text);
	return c;
}

void
sql_open(const char *name)
{
	const char	*socket = servers_get(name, "SOCKET");

	mysql = mysql_init(NULL);
	ck_assert_ptr_nonnull(mysql);
	ck_assert_msg(mysql_real_connect(mysql, NULL, "root", "", NULL, 0,
	    socket, CLIENT_MULTI_STATEMENTS) != NULL, "%s: %s", socket,
	    mysql_error(mysql));
	/* Oracle's library may ask MariaDB for an unknown collation. */
	sql("SET NAMES utf8mb4; SET time_zone = '+00:00'");
}

void
sql_close(void)
{
	mysql_close(mysql);
	mysql = NULL;
}

static bool
run_sql(const char *fmt, va_list ap)
{
	char	*text;
	int	 n, rc;

	n = vasprintf(&text, fmt, ap);
	ck_assert_int_ge(n, 0);
	rc = mysql_real_query(mysql, text, (unsigned long)n);
	free(text);
	return rc == 0;
}

/* Run the statements after the first; only their success matters. */
static bool
drain(void)
{
	int	rc;

	do {
		mysql_free_result(mysql_store_result(mysql));
		if (mysql_errno(mysql) != 0)
			return false;
	} while ((rc = mysql_next_result(mysql)) == 0);
	return rc < 0;
}

bool
sql_works(const char *fmt, ...)
{
	bool	ok;
	va_list	ap;

	va_start(ap, fmt);
	ok = run_sql(fmt, ap) && drain();
	va_end(ap);
	return ok;
}

unsigned
sql_errno(void)
{
	return mysql_errno(mysql);
}

void
sql(const char *fmt, ...)
{
	bool	ok;
	va_list	ap;

	va_start(ap, fmt);
	ok = run_sql(fmt, ap) && drain();
	va_end(ap);
	ck_assert_msg(ok, "%s: %s", fmt, mysql_error(mysql));
}

static void
put_rows(FILE *f, MYSQL_RES *res, const char *column)
{
	unsigned	 n = mysql_num_fields(res);
	MYSQL_FIELD	*fields = mysql_fetch_fields(res);
	const char	*end = "";
	MYSQL_ROW	 row;

	for (; (row = mysql_fetch_row(res)) != NULL; end = "\n") {
		unsigned long *len = mysql_fetch_lengths(res);

		fputs(end, f);
		for (unsigned i = 0; i < n; i++) {
			if (column != NULL &&
			    strcasecmp(fields[i].name, column) != 0)
				continue;
			fputs(i == 0 || column != NULL ? "" : " ", f);
			if (row[i] == NULL)
				fputs("NULL", f);
			else
				fwrite(row[i], 1, len[i], f);
		}
	}
}

static const char *
result(const char *column, const char *fmt, va_list ap)
{
	static char	*texts[NTEXTS];
	static unsigned	 next;
	char		**text = &texts[next++ % NTEXTS];
	bool		 ok = run_sql(fmt, ap);
	MYSQL_RES	*res = ok ? mysql_store_result(mysql) : NULL;
	size_t		 size;
	FILE		*f;

	ck_assert_msg(res != NULL, "%s: %s", fmt, mysql_error(mysql));
	free(*text);
	f = open_memstream(text, &size);
	put_rows(f, res, column);
	fclose(f);
	mysql_free_result(res);
	return *text;
}

const char *
sql_text(const char *fmt, ...)
{
	const char	*text;
	va_list		 ap;

	va_start(ap, fmt);
	text = result(NULL, fmt, ap);
	va_end(ap);
	return text;
}

const char *
sql_column(const char *column, const char *fmt, ...)
{
	const char	*text;
	va_list		 ap;

	va_start(ap, fmt);
	text = result(column, fmt, ap);
	va_end(ap);
	return text;
}

/* Only the command-line client knows DELIMITER, which the schema uses. */
void
sql_load(const char *name, const char *database)
{
	const char	*top = getenv("srcdir");

	sql("DROP DATABASE IF EXISTS %s; CREATE DATABASE %s", database,
	    database);
	sql("CREATE USER IF NOT EXISTS 'outbox'@'localhost' IDENTIFIED BY '"
	    OUTBOX_PASSWORD "', 'outbox'@'127.0.0.1' IDENTIFIED BY '"
	    OUTBOX_PASSWORD "', 'outbox_producer'@'localhost', "
	    "'outbox_producer'@'127.0.0.1'");
	servers_run("cd %s/sql && { cat schema.sql grants.sql; "
	    "sed \"s/'localhost'/'127.0.0.1'/\" grants.sql; } | "
	    "../tools/sandbox sql %s %s", top != NULL ? top : ".",
	    servers_path(name), database);
}

int64_t
patience(void)
{
	const char	*slow = getenv("OUTBOX_SLOW");

	return clock_ms() + PATIENCE_MS * (slow != NULL ? atof(slow) : 1);
}

void
wait_more(int64_t *until, const char *what)
{
	struct timespec	ts = { 0, POLL_MS * 1000000 };

	ck_assert_msg(clock_ms() < *until, "waited in vain: %s", what);
	nanosleep(&ts, NULL);
}

int64_t
ms_since(int64_t start)
{
	return clock_ms() - start;
}

int
dumb_port(bool listens)
{
	struct sockaddr_in	sa = { .sin_family = AF_INET };
	socklen_t		len = sizeof(sa);
	int			fd = socket(AF_INET, SOCK_STREAM, 0);

	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&sa, len), 0);
	if (listens)
		ck_assert_int_eq(listen(fd, 5), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
	return ntohs(sa.sin_port);
}

TCase *
server_case(Suite *s, const char *name, void (*start)(void),
    void (*setup)(void), void (*teardown)(void))
{
	TCase	*tc = tcase_create(name);

	tcase_set_timeout(tc, 60);
	tcase_add_unchecked_fixture(tc, start, NULL);
	if (setup != NULL)
		tcase_add_checked_fixture(tc, setup, teardown);
	suite_add_tcase(s, tc);
	return tc;
}

int
servers_test(Suite *s)
{
	SRunner	*sr = srunner_create(s);
	int	 failed;

	servers_begin();
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	servers_end();
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
