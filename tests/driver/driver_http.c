/* driver_http.c - the receiver as a destination, see driver_test.h */

#include "driver/driver_test.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/clock.h"

static pid_t	receiver;
static char	dir[300], port[16];

static const char *
in_dir(const char *file)
{
	static char	path[400];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	return path;
}

static void
run_receiver(void)
{
	FILE	*f = NULL;

	unlink(in_dir("port"));
	if ((receiver = fork()) == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl("./receiver", "receiver", dir, port[0] == '\0' ? NULL :
		    port, NULL);
		_exit(1);
	}
	for (int64_t until = patience(); f == NULL; f = fopen(in_dir("port"),
	    "r"))
		wait_more(&until, "the receiver");
	ck_assert(fscanf(f, "%15s", port) == 1);
	fclose(f);
}

static void
kill_receiver(void)
{
	if (receiver > 0) {
		kill(receiver, SIGKILL);
		waitpid(receiver, NULL, 0);
	}
	receiver = 0;
}

static void
order(const char *text)
{
	char	 path[400];
	FILE	*f;

	snprintf(path, sizeof(path), "%s", in_dir("orders.new"));
	f = fopen(path, "w");
	fputs(text, f);
	fclose(f);
	rename(path, in_dir("orders"));
}

static struct conf *
begin(void)
{
	snprintf(dir, sizeof(dir), "%s",
	    servers_path("receiver"));
	snprintf(dir + strlen(dir), 20, ".%d", (int)getpid());
	ck_assert(mkdir(dir, 0700) == 0);
	port[0] = '\0';
	run_receiver();
	return servers_conf("mysql: {database: app}\n"
	    "publish: {driver: http, timeout_ms: 600}\n"
	    "http: {endpoint: \"http://127.0.0.1:%s/e\", concurrency: 8}\n",
	    port);
}

static void
feel(enum mood mood)
{
	static const char *const	orders[MOODS] = {
		[REFUSES_ONE] = "/e/bad 0 400\n",
		[REFUSES_ALL] = "/e 0 401\n",
		[CUTS] = "/e 0 cut\n",
	};

	order(orders[mood] == NULL ? "" : orders[mood]);
	if (mood == AWAY)
		kill_receiver();
	else if (receiver == 0)
		run_receiver();
	else
		kill(receiver, mood == SILENT ? SIGSTOP : SIGCONT);
}

static size_t
list(uint64_t *sequences, size_t max)
{
	FILE		*f = fopen(in_dir("log"), "r");
	char		 status[40], rest[400], line[800];
	unsigned long long sequence;
	size_t		 n = 0;

	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		ck_has_not(line, "overlap");
		ck_assert_int_eq(sscanf(line, "%39s %*s %*s %399s %llu",
		    status, rest, &sequence), 3);
		if (strcmp(status, "200") == 0 && n < max)
			sequences[n++] = sequence;
	}
	if (f != NULL)
		fclose(f);
	return n;
}

const struct destination	to_http = {
	.name = "http", .driver = "http", .begin = begin,
	.end = kill_receiver, .feel = feel, .list = list,
};
