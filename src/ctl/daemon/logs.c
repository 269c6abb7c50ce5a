/* logs.c - logs: the end of the log, or where it is */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl/base/outcome.h"
#include "ctl/base/screen.h"
#include "ctl/daemon/master.h"
#include "ctl/daemon/tail.h"
#include "util/display.h"
#include "util/sig.h"
#include "util/xalloc.h"

#define FOLLOW_MS	200
#define PLAIN		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" \
			"0123456789/._-"

struct logs {
	const struct ctl	*ctl;
	json_t			*lines;	/* NULL: print them */
};

static void
take_line(void *arg, char *text)
{
	struct logs	*l = arg;

	if (l->lines != NULL)
		json_array_append_new(l->lines, json_string(text));
	else if (l->ctl->args.json)
		outcome_put(json_pack("{s:s}", "line", text));
	else {
		display_clean_but(text, "\t");
		display_print(stdout, "%s\n", text);
	}
}

static int
show_file(const struct ctl *c, const char *path)
{
	bool		whole = c->args.json && !c->args.follow;
	struct logs	l = { c, whole ? json_array() : NULL };
	struct log_tail	t;
	struct err	e;

	if (tail_open(&t, path, c->args.lines, take_line, &l, &e) < 0) {
		json_decref(l.lines);
		return ctl_error("log.target: %s", e.text);
	}
	if (c->args.follow) {
		outcome_stream();
		sig_init();
	}
	tail_read(&t);
	/* Until a signal, or until nobody reads the output any more. */
	while (c->args.follow && outcome_is_written() &&
	    outcome_has_reader() && !sig_took(&got_term) &&
	    !sig_took(&got_hup)) {
		sig_wait(NULL, 0, FOLLOW_MS);
		tail_rotate(&t);
		tail_read(&t);
	}
	if (!c->args.follow)
		tail_read_rest(&t);
	tail_close(&t);
	if (whole)
		print_object(c, json_pack("{s:s, s:s, s:[], s:o}", "target",
		    c->conf->log.target, "file", path, "commands", "lines",
		    l.lines));
	return CTL_DONE;
}

/* The file that is the standard error of the master; the caller frees it. */
static char *
file_of_stderr(const struct ctl *c)
{
	struct master_here	 m;
	char			*proc, path[4096];
	struct stat		 st;
	ssize_t			 n;

	master_find(c, &m);
	master_release(&m);
	if (m.pid == 0)
		return NULL;
	proc = xasprintf("/proc/%d/fd/2", (int)m.pid);
	n = readlink(proc, path, sizeof(path) - 1);
	free(proc);
	if (n <= 0)
		return NULL;
	path[n] = '\0';
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? xstrdup(path) :
	    NULL;
}

/*
 * Where standard error went of a daemon that has ended.  The daemon's user may
 * write anything there, and a command is for a shell: only a plain path counts.
 */
static void
name_former_file(const struct ctl *c, json_t *list)
{
	struct master_here	 m;
	const char		*file;
	size_t			 n;

	master_find(c, &m);
	if (m.pid == 0 && !m.elsewhere && m.board != NULL) {
		file = m.board->stderr_file;
		n = strnlen(file, sizeof(m.board->stderr_file));
		if (n > 0 && n < sizeof(m.board->stderr_file) &&
		    file[0] == '/' && strspn(file, PLAIN) == n)
			json_array_append_new(list, json_sprintf(
			    "tail -n %d%s %s", (int)c->args.lines,
			    c->args.follow ? " -f" : "", file));
	}
	master_release(&m);
}

/* The lines are elsewhere: print the commands that show them. */
static int
name_commands(const struct ctl *c)
{
	const char	*target = c->conf->log.target;
	const char	*more = c->args.follow ? " -f" : "";
	int		 n = (int)c->args.lines;
	bool		 to_stderr = strcmp(target, "stderr") == 0;
	json_t		*list = json_array();
	json_t		*command;
	char		*where;
	size_t		 i;

	if (to_stderr) {
		name_former_file(c, list);
		json_array_append_new(list, json_sprintf(
		    "journalctl -u 'outbox-master*' -n %d%s", n, more));
	}
	json_array_append_new(list, json_sprintf(
	    "journalctl -t outbox-master -n %d%s", n, more));
	json_array_append_new(list, json_string(
	    "grep outbox-master /var/log/syslog"));
	if (c->args.json) {
		print_object(c, json_pack("{s:s, s:n, s:o, s:[]}", "target",
		    target, "file", "commands", list, "lines"));
		return CTL_DONE;
	}
	where = xasprintf("log.target is %s, which is no file. The log "
	    "is where %s:", target, to_stderr ?
	    "the daemon was started, for example by systemd; with -d "
	    "it is in syslog" : "syslog or the journal writes it");
	screen_put_lines(c, 0, where);
	free(where);
	json_array_foreach(list, i, command)
		display_print(stdout, "    %s\n", json_string_value(command));
	json_decref(list);
	return CTL_DONE;
}

int
logs_show(struct ctl *c)
{
	const char	*target = c->conf->log.target;
	char		*path = NULL;
	int		 status;

	if (c->bad_file.text[0] != '\0')
		ctl_error("%s", c->bad_file.text);
	if (target[0] == '/')
		return show_file(c, target);
	if (strcmp(target, "stderr") == 0)
		path = file_of_stderr(c);
	status = path == NULL ? name_commands(c) : show_file(c, path);
	free(path);
	return status;
}
