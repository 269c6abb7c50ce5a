/* driver_local.c - standard output and nowhere, see driver_test.h */

#include "driver/driver_test.h"

#include <fcntl.h>
#include <unistd.h>

static int	saved = -1, reader = -1;
static char	path[300];

static void
become(int fd)
{
	ck_assert(fd >= 0);
	fflush(stdout);
	if (saved < 0)
		saved = dup(STDOUT_FILENO);
	dup2(fd, STDOUT_FILENO);
	close(fd);
}

int
saved_stdout(void)
{
	return saved;
}

static struct conf *
begin_stdout(void)
{
	snprintf(path, sizeof(path), "%s.%d", servers_path("stdout"),
	    (int)getpid());
	become(open(path, O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0600));
	return servers_conf("mysql: {database: app}\n"
	    "publish: {driver: stdout, timeout_ms: 600}\n");
}

static void
end_stdout(void)
{
	dup2(saved, STDOUT_FILENO);
	close(saved);
	saved = -1;
	if (reader >= 0)
		close(reader);
	reader = -1;
}

/* A pipe that nobody reads and that is full. */
static void
fill_a_pipe(void)
{
	int	fds[2];
	char	block[4096] = "";

	ck_assert(pipe(fds) == 0);
	reader = fds[0];
	fcntl(fds[1], F_SETFL, O_NONBLOCK);
	while (write(fds[1], block, sizeof(block)) > 0)
		;
	fcntl(fds[1], F_SETFL, 0);
	become(fds[1]);
}

static void
feel_stdout(enum mood mood)
{
	int	fds[2];

	switch (mood) {
	case REFUSES_ALL:
		become(open("/dev/full", O_WRONLY));
		break;
	case SILENT:
		fill_a_pipe();
		break;
	case AWAY:
		ck_assert(pipe(fds) == 0);
		close(fds[0]);
		become(fds[1]);
		break;
	default:
		become(open(path, O_WRONLY | O_APPEND));
	}
}

static size_t
list_stdout(uint64_t *sequences, size_t max)
{
	static char		 line[100000];
	static const char	 name[] = "\"Outbox-Sequence\":\"";
	FILE			*f = fopen(path, "r");
	size_t			 n = 0;

	while (fgets(line, sizeof(line), f) != NULL && n < max) {
		ck_has(line, name);
		ck_has(line, "}\n");
		sequences[n++] = strtoull(strstr(line, name) + strlen(name),
		    NULL, 10);
	}
	fclose(f);
	return n;
}

const struct destination	to_stdout = {
	.name = "stdout", .driver = "stdout", .begin = begin_stdout,
	.end = end_stdout, .feel = feel_stdout, .list = list_stdout,
	.cannot = {
		[REFUSES_ONE] = "it takes any bytes",
		[CUTS] = "it gives no answers",
	},
};

static struct conf *
begin_discard(void)
{
	return servers_conf("mysql: {database: app}\n"
	    "publish: {driver: discard}\n");
}

static void
nothing(void)
{
}

static void
feel_discard(enum mood mood)
{
	ck_assert(mood == FINE);
}

#define NO_FAULT	"it has no faults"

const struct destination	to_discard = {
	.name = "discard", .driver = "discard", .begin = begin_discard,
	.end = nothing, .feel = feel_discard,
	.cannot = {
		[REFUSES_ONE] = NO_FAULT, [REFUSES_ALL] = NO_FAULT,
		[SILENT] = NO_FAULT, [CUTS] = NO_FAULT, [AWAY] = NO_FAULT,
	},
};
