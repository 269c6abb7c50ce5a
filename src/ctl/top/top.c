/* top.c - the state of the fleet, live on a terminal */

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bsd/stdlib.h>

#include "ctl/base/ctl.h"
#include "ctl/top/draw.h"
#include "ctl/top/feed.h"
#include "ctl/top/guard.h"
#include "ctl/top/terminal.h"
#include "util/clock.h"
#include "util/sig.h"

#define SECONDS_MAX	3600
#define TICK_MS		1000	/* of the clock in the picture */

struct view {
	struct feed	feed;
	struct pipe_lines	log;	/* of the daemon that shows us */
	struct model	model;
	struct ui	ui;
	struct canvas	canvas;
};

static volatile sig_atomic_t	got_resize, got_stop, got_continue;

static void
on_terminal(int signo)
{
	if (signo == SIGWINCH)
		got_resize = 1;
	else if (signo == SIGTSTP)
		got_stop = 1;
	else
		got_continue = 1;
}

/* As those of sig.h: blocked but in sig_wait(). */
static void
take_signals(void)
{
	static const int	 list[] = { SIGWINCH, SIGTSTP, SIGCONT };
	struct sigaction	 sa = { .sa_handler = on_terminal };
	sigset_t		 set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		sigaction(list[i], &sa, NULL);
		sigaddset(&set, list[i]);
	}
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGTTOU, SIG_DFL);
}

static void
follow_signals(void)
{
	if (sig_took(&got_stop)) {
		terminal_end();
		raise(SIGSTOP);
		got_continue = 1;
	}
	if (sig_took(&got_continue))
		terminal_resume();
	else if (sig_took(&got_resize))
		terminal_again();
}

static void
take_rounds(struct view *v, int64_t now)
{
	char	*line;
	json_t	*round;

	feed_tend(&v->feed, now);
	while ((line = feed_line(&v->feed, now)) != NULL) {
		round = json_loads(line, 0, NULL);
		if (round == NULL)
			model_note(&v->model, "outboxctl", line);
		else if (v->ui.paused)
			json_decref(round);
		else
			model_take(&v->model, round, now);
		free(line);
	}
	if (!v->ui.paused)
		model_tick(&v->model, now);
}

static void
take_log(struct view *v)
{
	bool	 ended;
	char	*line;

	while ((line = pipe_lines_next(&v->log, &ended)) != NULL) {
		model_log(&v->model, line);
		free(line);
	}
}

/* The lines that outbox-master would print here; -1: it did not start us. */
static int
log_of_daemon(void)
{
	const char	*text = getenv("OUTBOX_TOP_LOG");
	int		 fd = text == NULL ? 0 : (int)strtonum(text, 3, 1024,
			    NULL);

	if (fd == 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		return -1;
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	return fd;
}

static void
show(struct view *v, int64_t now)
{
	int	rows, cols;

	terminal_size(&rows, &cols);
	canvas_reset(&v->canvas, rows, cols);
	draw(&v->canvas, &v->model, &v->ui, now);
	terminal_show(&v->canvas);
}

static void
take_keys(struct view *v)
{
	int	key;

	while (!v->ui.quit && (key = terminal_key()) != KEY_NONE)
		ui_key(&v->ui, key, draw_columns(&v->ui));
}

static void
look(struct view *v)
{
	struct pollfd	fds[3] = { { STDIN_FILENO, POLLIN, 0 } };

	while (!v->ui.quit && !sig_took(&got_term) && !sig_took(&got_hup)) {
		take_rounds(v, clock_ms());
		take_log(v);
		take_keys(v);
		show(v, clock_ms());
		fds[1] = (struct pollfd){ v->feed.pid == 0 ? -1 : v->feed.lines.fd,
		    POLLIN, 0 };
		fds[2] = (struct pollfd){ v->log.fd, POLLIN, 0 };
		sig_wait(fds, 3, TICK_MS);
		follow_signals();
	}
}

static int64_t
seconds_of(const struct args *a)
{
	return a->nrest == 0 ? 1 : strtonum(a->rest[0], 1, SECONDS_MAX, NULL);
}

/* The second process, see guard.h. */
static int
view(struct ctl *c)
{
	struct view	v = { .log.fd = log_of_daemon(), .feed = { .ctl = c,
			    .pause_ms = seconds_of(&c->args) * 1000 },
			    .model.window.length = c->args.window * 60000 };
	struct err	e;

	v.model.has_log = v.log.fd >= 0;
	/* The first round is under way while the picture is made. */
	take_rounds(&v, clock_ms());
	take_signals();
	if (terminal_begin(&e) < 0) {
		feed_end(&v.feed);
		return ctl_refuse("use outboxctl status --watch", "%s",
		    e.text);
	}
	ui_begin(&v.ui);
	look(&v);
	feed_end(&v.feed);
	signal(SIGTTOU, SIG_IGN);
	terminal_end();
	ui_end(&v.ui);
	model_free(&v.model);
	canvas_free(&v.canvas);
	pipe_lines_end(&v.log);
	return CTL_DONE;
}

int
top_show(struct ctl *c)
{
	struct err	e;

	if (seconds_of(&c->args) == 0)
		return ctl_misuse("%s: SECONDS are from 1 to %d",
		    c->args.rest[0], SECONDS_MAX);
	if (c->args.json || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return ctl_refuse("use outboxctl status --watch",
		    c->args.json ? "top shows a picture, not JSON" :
		    "top needs a terminal");
	sig_init();
	if (terminal_save(&e) < 0)
		return ctl_refuse("use outboxctl status --watch", "%s",
		    e.text);
	return guard_run(c, view);
}
