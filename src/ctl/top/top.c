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
#include "ctl/top/master_lines.h"
#include "ctl/top/terminal.h"
#include "util/clock.h"
#include "util/sig.h"

#define SECONDS_MAX	3600
#define TICK_MS		1000	/* of the clock in the picture */

struct view {
	struct feed	feed;
	struct master_lines	lines;
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
take_rounds(struct view *v, int64_t now)
{
	struct err	 e = { "" };
	json_t		*round = feed_round(&v->feed, now, &e);

	if (e.text[0] != '\0')
		model_note(&v->model, "outboxctl", e.text);
	if (round != NULL && !v->ui.paused)
		model_take(&v->model, round, now);
	else
		json_decref(round);
	if (!v->ui.paused)
		model_tick(&v->model, now);
}

/* Until something is to be drawn: that is not for each report. */
static void
wait_for_news(struct view *v)
{
	struct pollfd	fds[] = { { v->lines.reports, POLLIN, 0 },
			    { STDIN_FILENO, POLLIN, 0 },
			    { v->feed.agent.out, POLLIN, 0 },
			    { v->lines.log, POLLIN, 0 } };
	int64_t		until = clock_ms() + TICK_MS, left = TICK_MS;

	while (sig_wait(fds, 4, left) == 1 && fds[0].revents != 0 && left > 0) {
		master_lines_drop_reports(&v->lines);
		fds[0].fd = v->lines.reports;
		left = later(until - clock_ms(), 0);
	}
}

static int64_t
seconds_of(const struct args *a)
{
	return a->nrest == 0 ? 1 : strtonum(a->rest[0], 1, SECONDS_MAX, NULL);
}

static int
view(struct ctl *c, struct view *v)
{
	struct err	 e;
	char		*line;
	int		 key, rows, cols;

	feed_begin(&v->feed, c, seconds_of(&c->args) * 1000);
	/* The first round is under way while the picture is made. */
	take_rounds(v, clock_ms());
	take_signals();
	if (terminal_begin(&e) < 0) {
		feed_end(&v->feed);
		return ctl_refuse("use outboxctl status --watch", "%s",
		    e.text);
	}
	ui_begin(&v->ui);
	while (!v->ui.quit && got_term == 0 && got_hup == 0) {
		take_rounds(v, clock_ms());
		while ((line = master_lines_next(&v->lines)) != NULL) {
			model_log(&v->model, line);
			free(line);
		}
		while (!v->ui.quit && (key = terminal_key()) != KEY_NONE)
			ui_key(&v->ui, key, draw_columns(&v->ui));
		terminal_size(&rows, &cols);
		canvas_reset(&v->canvas, rows, cols);
		draw(&v->canvas, &v->model, &v->ui, clock_ms());
		terminal_show(&v->canvas);
		wait_for_news(v);
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
	feed_end(&v->feed);
	signal(SIGTTOU, SIG_IGN);
	terminal_end();
	ui_end(&v->ui);
	model_free(&v->model);
	canvas_free(&v->canvas);
	return CTL_DONE;
}

int
top_show(struct ctl *c)
{
	struct view	v = { 0 };
	bool		shown;
	int		status;

	if (seconds_of(&c->args) == 0)
		return ctl_misuse("%s: SECONDS are from 1 to %d",
		    c->args.rest[0], SECONDS_MAX);
	if (c->args.json || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return ctl_refuse("use outboxctl status --watch",
		    c->args.json ? "top shows a picture, not JSON" :
		    "top needs a terminal");
	shown = master_lines_take(&v.lines);
	v.model.has_log = v.lines.log >= 0;
	v.model.window.length = c->args.window * 60000;
	sig_init();
	if (shown)
		signal(SIGINT, SIG_IGN);
	status = view(c, &v);
	if (shown)
		master_lines_print(&v.lines);
	return status;
}
