/*
 * monitor.c - see monitor.h
 *
 * One thread and one loop: sockets, the library's clients, the pipes to
 * outboxctl, signals.  Nothing in it blocks.
 */

#include "monitor/monitor.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bsd/string.h>
#include <bsd/unistd.h>

#include "common/exits.h"
#include "monitor/monitor_impl.h"
#include "monitor/throughput.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/sig.h"
#include "util/xalloc.h"

#define TURN_MS		1000	/* longest pause between signs of life */
#define SAMPLE_MS	1000
#define NPIPES		(3 * QUESTION_KINDS)

/* What is wrong, for status: a token that cannot be used, or a closed door. */
static void
show_trouble(struct monitor *m)
{
	const struct err	*why = m->bad_operator.text[0] != '\0' ?
				    &m->bad_operator : &m->bad_token;

	for (int i = 0; i < NDOORS; i++)
		if (m->a->doors[i].why.text[0] != '\0')
			why = &m->a->doors[i].why;
	if (why->text[0] != '\0') {
		log_throttle_warn(&m->door_throttle, why->text, m->now);
		scoreboard_error(m->a->line, why->text);
		scoreboard_state(m->a->line, SCOREBOARD_REFUSED, m->now);
		return;
	}
	log_throttle_over(&m->door_throttle, "the monitor", m->now);
	scoreboard_state(m->a->line, SCOREBOARD_RUNNING, m->now);
}

static struct pollfd
input(int fd)
{
	return (struct pollfd){ .fd = fd, .events = POLLIN };
}

/* Wait until something is to be done; at has the latest time. */
static void
wait_until(struct monitor *m, int64_t at)
{
	struct pollfd	 fds[1 + NDOORS + NPIPES];
	nfds_t		 n = 0;

	fds[n++] = input(MHD_get_daemon_info(m->http,
	    MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd);
	for (int i = 0; i < NDOORS; i++)
		fds[n++] = input(m->is_full ? -1 : m->a->doors[i].fd);
	for (int i = 0; i < QUESTION_KINDS; i++) {
		const struct agent *a = &m->questions.agents[i];

		fds[n++] = input(a->out);
		fds[n++] = input(a->errors);
		fds[n++] = (struct pollfd){ .fd = a->command.len > 0 ? a->in :
		    -1, .events = POLLOUT };
	}
	sig_wait(fds, n, at > m->now ? at - m->now : 0);
}

/* Do what can be done now; returns when to come back at the latest. */
static int64_t
turn(struct monitor *m)
{
	int64_t			next = m->now + TURN_MS;
	MHD_UNSIGNED_LONG_LONG	ms;

	scoreboard_alive(m->a->line, m->now);
	if (m->now - m->sampled_at >= SAMPLE_MS) {
		throughput_sample(m->a->scoreboard, time(NULL));
		m->sampled_at = m->now;
	}
	next = sooner(next, server_accept(m));
	MHD_run(m->http);
	next = sooner(next, events_turn(m));
	if (questions_turn(&m->questions, m->now))
		next = m->now;
	next = sooner(next, questions_deadline(&m->questions));
	next = sooner(next, wait_turn(m));
	next = sooner(next, clients_check(&m->clients, m->now));
	/* What was resumed, is to be run. */
	if (MHD_get_timeout(m->http, &ms) == MHD_YES && ms <= TURN_MS)
		next = sooner(next, m->now + (int64_t)ms);
	return next;
}

static void
run(struct monitor *m)
{
	while (!got_term && !got_handover && !got_orphaned) {
		wait_until(m, turn(m));
		m->now = clock_ms();
		log_retry();
	}
	events_end(m);
	questions_stop(&m->questions);
	/* Clients that wait are cut off by the end of the process. */
}

int
monitor_main(const struct monitor_args *a)
{
	/* What it holds stays reachable until the process has ended. */
	static struct monitor m;
	struct err	 e;
	struct starter	 none = { .program = NULL };	/* but the master */
	int		 status = 0;

	setproctitle("-outbox-master: monitor");
	m = (struct monitor){ .a = a, .now = clock_ms() };
	gethostname(m.host, sizeof(m.host) - 1);
	questions_init(&m.questions, &none, a->channel);
	guard_read_tokens(&m);
	if (server_start(&m, &e) == 0) {
		monitor_confine(&m);
		show_trouble(&m);
		run(&m);
	} else {
		log_error("%s", e.text);
		status = EXIT_FAILED;
	}
	return status;
}
