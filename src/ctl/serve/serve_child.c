/*
 * serve_child.c - a command in a process of its own
 *
 * It logs in, locks, and ends on a signal just as it does without serve.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/wait.h>

#include "ctl/serve/serve.h"
#include "util/environment.h"
#include "util/xalloc.h"

#define PIECE	65536

/* Only calls that are safe in the child of a process with threads. */
static void __attribute__((noreturn))
become(char **argv, char **variables, int fd, int out, pid_t parent)
{
	static const char	failed[] = "outboxctl: cannot run itself\n";

	if (prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && getppid() == parent &&
	    dup2(out, STDOUT_FILENO) >= 0 && environment_keep(fd) == 0)
		execve("/proc/self/exe", argv, variables);
	if (write(STDERR_FILENO, failed, sizeof(failed) - 1) < 0)
		_exit(CTL_FAILED);
	_exit(CTL_FAILED);
}

/* As a shell reports it. */
static int
end_of(pid_t pid)
{
	int	status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return ctl_error("waitpid: %s", strerror(errno));
	if (WIFSIGNALED(status)) {
		ctl_error("ended by signal %d", WTERMSIG(status));
		return 128 + WTERMSIG(status);
	}
	return WEXITSTATUS(status);
}

/* "anna (monitor)", see audit.c. */
static int
add_person(int fd, const char *person)
{
	const char	*us = getenv("OUTBOXCTL_FOR");
	char		*variable = xasprintf("OUTBOXCTL_FOR=%s (%s)", person,
			    us == NULL ? "serve" : us);
	int		 rc = environment_add(fd, variable);

	free(variable);
	return rc;
}

static int
start_and_read(char **argv, const char *person, struct buf *text)
{
	int	 fds[2], fd, rc = 0;
	pid_t	 parent = getpid(), pid;
	char   **variables;
	ssize_t	 n;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return ctl_error("pipe: %s", strerror(errno));
	if ((variables = environment_hand_over(&fd)) == NULL) {
		close(fds[0]);
		close(fds[1]);
		return ctl_error("memfd_create: %s", strerror(errno));
	}
	if (person[0] != '\0')
		rc = add_person(fd, person);
	if ((pid = rc < 0 ? -1 : fork()) == 0)
		become(argv, variables, fd, fds[1], parent);
	close(fds[1]);
	close(fd);
	free(variables);
	do {
		n = pid < 0 ? 0 : read(fds[0], buf_reserve(text, PIECE), PIECE);
		if (n > 0)
			text->len += (size_t)n;
	} while (n > 0 || (n < 0 && errno == EINTR));
	close(fds[0]);
	return pid < 0 ? ctl_error("cannot run itself: %s", strerror(errno)) :
	    end_of(pid);
}

int
child_run(const char *conf_path, int nwords, char **words, const char *person,
    json_t **result)
{
	static char	 name[] = "outboxctl", config[] = "-c", json[] = "--json";
	char		*path = xstrdup(conf_path);
	char		**argv = xcalloc((size_t)nwords + 5, sizeof(*argv));
	struct buf	 text = { 0 };
	int		 status;

	argv[0] = name;
	argv[1] = config;
	argv[2] = path;
	argv[3] = json;
	memcpy(argv + 4, words, (size_t)nwords * sizeof(*argv));
	status = start_and_read(argv, person, &text);
	*result = text.len == 0 ? NULL : json_loadb(text.data, text.len,
	    JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	buf_free(&text);
	free(argv);
	free(path);
	return status;
}
