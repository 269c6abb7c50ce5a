/*
 * lanes_slot.c - the slot of a child: its signals, deadlines and restarts
 *
 * Time is a number that the test passes in.  The children are real: they
 * report each signal they are sent.
 */
#include "unit/lanes_test.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <bsd/string.h>

#include "common/exits.h"
#include "master/slot.h"

#define ID		"host:03:0123456789abcdef"
#define NEVER		INT64_MAX

static struct scoreboard_line	line;
static struct slot		slot;
static int			reports = -1;

/* It reports each signal that it gets, and lives until it is killed. */
static void __attribute__((noreturn))
be_a_child(int fd, const sigset_t *set)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		int signo;

		if (sigwait(set, &signo) == 0 &&
		    write(fd, &signo, sizeof(signo)) < 0)
			_exit(1);
	}
}

static void
start_child(int64_t now)
{
	sigset_t	set, old;
	int		fds[2];
	pid_t		pid;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, &old);
	ck_assert_int_eq(pipe(fds), 0);
	pid = fork();
	if (pid == 0)
		be_a_child(fds[1], &set);
	sigprocmask(SIG_SETMASK, &old, NULL);
	close(fds[1]);
	reports = fds[0];
	line.alive_at = now;
	slot_started(&slot, pid, 1, now);
	strlcpy(slot.id, ID, sizeof(slot.id));
}

/* The next signal that the child reports; 0 when it is gone. */
static int
next_signal(void)
{
	struct pollfd	p = { reports, POLLIN, 0 };
	int		signo = 0;

	ck_assert_int_eq(poll(&p, 1, 3000), 1);
	ck_assert_int_ge(read(reports, &signo, sizeof(signo)), 0);
	return signo;
}

/* The kernel delivers lower numbers first, so that this signal is the last. */
static void
no_signal(void)
{
	ck_assert_int_eq(kill(slot.pid, SIGRTMIN), 0);
	ck_assert_int_eq(next_signal(), SIGRTMIN);
}

/* Wait for the end of a child that was killed. */
static int
reap(void)
{
	int	status;

	ck_assert_int_eq(next_signal(), 0);
	ck_assert_int_eq(waitpid(slot.pid, &status, 0), slot.pid);
	close(reports);
	reports = -1;
	return status;
}

/* The child is killed at this time, and not before. */
static void
ck_killed(int64_t timeout_ms, int64_t at)
{
	int	status;

	slot_check(&slot, timeout_ms, at - 1);
	no_signal();
	slot_check(&slot, timeout_ms, at);
	status = reap();
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), SIGKILL);
}

/* Ask the child, which gets this signal; 0: none. */
static void
ask(enum slot_ask what, int64_t kill_at, int signo)
{
	slot_ask(&slot, what, kill_at);
	if (signo == 0)
		no_signal();
	else
		ck_assert_int_eq(next_signal(), signo);
}

static void
slot_setup(void)
{
	log_to_file(LOG_LVL_INFO, false);
	memset(&line, 0, sizeof(line));
	line.state = SCOREBOARD_STARTING;
	slot_init(&slot, 3, "worker", &line);
}

static void
slot_teardown(void)
{
	if (reports < 0)
		return;
	kill(slot.pid, SIGKILL);
	reap();
}

START_TEST(asked_to_go_once)
{
	enum slot_ask	what = _i == 0 ? ASK_LEAVE : ASK_HANDOVER;

	start_child(1000);
	ask(what, 5000, _i == 0 ? SIGTERM : SIGUSR2);
	ask(what, 5000, 0);
	ask(what, 6000, 0);
	ck_assert_int_eq(slot.kill_at, 5000);
	ck_assert_int_eq(slot_deadline(&slot, 0), 5000);
	ck_assert(slot.asked == what);
}
END_TEST

START_TEST(leaving_overrules_handing_over)
{
	start_child(1000);
	ask(ASK_HANDOVER, 5000, SIGUSR2);
	ask(ASK_LEAVE, 9000, SIGTERM);
	ck_assert_int_eq(slot.kill_at, 5000);
	ask(ASK_HANDOVER, 9000, 0);
	ck_assert(slot.asked == ASK_LEAVE);
}
END_TEST

/* The second SIGTERM tells a worker to hurry. */
START_TEST(nearer_deadline_is_news)
{
	start_child(1000);
	ask(ASK_LEAVE, 9000, SIGTERM);
	ask(ASK_LEAVE, 5000, SIGTERM);
	ck_assert_int_eq(slot.kill_at, 5000);
	no_signal();
}
END_TEST

START_TEST(nobody_is_asked)
{
	/* kill(0, ...) would be the whole process group. */
	slot_ask(&slot, ASK_LEAVE, 0);
	slot_ask(&slot, ASK_HANDOVER, 0);
	slot_check(&slot, 1, 1000000);
	ck_assert(slot.asked == ASK_NONE);
	ck_assert_int_eq(slot_deadline(&slot, 1), NEVER);
	ck_assert_int_eq(nlogged(), 0);
}
END_TEST

START_TEST(killed_at_its_deadline)
{
	start_child(1000);
	slot_check(&slot, 0, 1000000);
	no_signal();
	ask(ASK_LEAVE, 5000, SIGTERM);
	ck_killed(0, 5000);
	holds(logged(), "worker 3: pid ");
	holds(logged(), "did not stop within master.stop_timeout: killed");
	slot_exited(&slot, SIGKILL, 5001);
	ck_assert_uint_eq(slot.npredecessors, 1);
}
END_TEST

START_TEST(killed_when_it_hangs)
{
	start_child(1000);
	ck_assert_int_eq(slot_deadline(&slot, 0), NEVER);
	ck_assert_int_eq(slot_deadline(&slot, 60000), 61000);
	line.alive_at = 2000;
	ck_assert_int_eq(slot_deadline(&slot, 60000), 62000);
	slot_check(&slot, 0, 1000000);
	ck_killed(60000, 62000);
	holds(logged(), " error ");
	holds(logged(), "no sign of life for 1 min: killed");
}
END_TEST

START_TEST(sooner_of_two_deadlines_counts)
{
	start_child(1000);
	ask(ASK_LEAVE, 5000, SIGTERM);
	ck_assert_int_eq(slot_deadline(&slot, 60000), 5000);
	ck_assert_int_eq(slot_deadline(&slot, 2000), 3000);
	ck_killed(2000, 3000);
}
END_TEST

/* The master asks and checks in every round; the end may take a while. */
START_TEST(kill_is_told_once)
{
	start_child(1000);
	ask(ASK_LEAVE, 5000, SIGTERM);
	for (int64_t now = 5000; now < 5300; now += 100) {
		slot_ask(&slot, ASK_LEAVE, 5000);
		slot_check(&slot, 1000, now);
	}
	reap();
	ck_assert_int_eq(nlogged(), 1);
}
END_TEST

/*
 * One life after the other
 */

/* A life without a process: no signal is sent. */
static void
live(int64_t born, int64_t died, enum scoreboard_state state,
    enum slot_ask asked, int status)
{
	slot_started(&slot, 1 << 30, 2, born);
	strlcpy(slot.id, ID, sizeof(slot.id));
	line.state = state;
	slot.asked = asked;
	if (asked != ASK_NONE)
		slot.kill_at = died + 1000;
	slot_exited(&slot, status, died);
}

#define EXIT(code)	((code) << 8)

static void
near(int64_t value, int64_t middle)
{
	ck_assert_int_ge(value, middle - middle / 5);
	ck_assert_int_le(value, middle + middle / 5);
}

START_TEST(empty_slot_is_due)
{
	ck_assert(slot_is_due(&slot, 0));
	ck_assert(!slot_is_ready(&slot));
	slot_started(&slot, 1 << 30, 7, 1000);
	ck_assert(!slot_is_due(&slot, 1000000));
	ck_assert_uint_eq(slot.gen, 7);
	ck_assert_int_eq(slot.started_at, 1000);
	ck_assert(slot.asked == ASK_NONE);
	ck_assert_int_eq(slot_deadline(&slot, 0), NEVER);
}
END_TEST

/* Each death doubles the pause, from 100 ms to a minute. */
static void
ck_slows_down(void (*die)(int64_t now), int64_t lived_ms)
{
	int64_t	now = 1000, expected = 100;

	for (int i = 0; i < 12; i++) {
		die(now);
		ck_assert_int_eq(slot.pid, 0);
		near(slot.start_at - now - lived_ms, expected);
		ck_assert(!slot_is_due(&slot, slot.start_at - 1));
		ck_assert(slot_is_due(&slot, slot.start_at));
		now = slot.start_at;
		expected = expected * 2 > 60000 ? 60000 : expected * 2;
	}
}

static void
fail_to_fork(int64_t now)
{
	slot_started(&slot, -1, 1, now);
}

static void
crash(int64_t now)
{
	live(now, now + 50, SCOREBOARD_STARTING, ASK_NONE, SIGSEGV);
}

START_TEST(fork_that_fails_is_a_death)
{
	ck_slows_down(fail_to_fork, 0);
	ck_assert_uint_eq(slot.npredecessors, 0);
}
END_TEST

START_TEST(crashes_slow_it_down)
{
	ck_slows_down(crash, 50);
}
END_TEST

static const struct {
	int64_t			lived_ms;
	enum scoreboard_state	state;
	bool			trusted;
} lives[] = {
	{ 1000, SCOREBOARD_RUNNING, true },
	{ 999, SCOREBOARD_RUNNING, false },
	{ 1000, SCOREBOARD_NO_DATABASE, true },	/* waits, does not crash */
	{ 1000, SCOREBOARD_NO_BROKER, true },
	{ 1000, SCOREBOARD_PAUSED, true },
	{ 3600000, SCOREBOARD_STARTING, false },
	{ 3600000, SCOREBOARD_FREE, false },
	{ 0, SCOREBOARD_RUNNING, false },
};

START_TEST(steady_life_is_trusted_again)
{
	int64_t	now = 1000;

	for (int i = 0; i < 4; i++)
		live(now, now, SCOREBOARD_STARTING, ASK_NONE, SIGSEGV);
	live(now, now + lives[_i].lived_ms, lives[_i].state, ASK_NONE,
	    SIGSEGV);
	near(slot.start_at - now - lives[_i].lived_ms,
	    lives[_i].trusted ? 100 : 1600);
}
END_TEST

static const int	statuses[] = {
	EXIT(0), EXIT(EXIT_HANDED_OVER), EXIT(1), SIGKILL
};

START_TEST(going_as_asked_costs_nothing)
{
	for (int i = 0; i < 5; i++)
		live(1000, 1000, SCOREBOARD_STARTING, ASK_NONE, SIGSEGV);
	live(1000, 2000, SCOREBOARD_STARTING, ASK_HANDOVER, statuses[_i]);
	ck_assert_int_eq(slot.start_at, 2000);
	ck_assert(slot_is_due(&slot, 2000));
	live(2000, 2000, SCOREBOARD_STARTING, ASK_NONE, SIGSEGV);
	near(slot.start_at - 2000, 100);
}
END_TEST

START_TEST(death_leaves_an_empty_slot)
{
	live(1000, 5000, SCOREBOARD_RUNNING, ASK_LEAVE, EXIT(0));
	ck_assert_int_eq(slot.pid, 0);
	ck_assert_str_eq(slot.id, "");
	ck_assert(slot.asked == ASK_NONE);
	ck_assert_int_eq(slot.kill_at, NEVER);
	ck_assert_uint_eq(line.state, SCOREBOARD_FREE);
	/* The next child inherits nothing of it. */
	slot_started(&slot, 1 << 30, 2, 6000);
	ck_assert_int_eq(slot_deadline(&slot, 0), NEVER);
}
END_TEST

static const struct {
	enum slot_ask	 asked;
	int		 status;
	bool		 has_predecessor;
	const char	*obituary;
} deaths[] = {
	{ ASK_NONE, SIGKILL, true, "was killed by signal 9 (Killed) after "
	  "4 s; next start in " },
	{ ASK_NONE, EXIT(1), true, "exited with status 1 after 4 s" },
	{ ASK_NONE, EXIT(0), false, "exited with status 0 after 4 s" },
	{ ASK_NONE, EXIT(EXIT_HANDED_OVER), true, "exited with status " },
	{ ASK_HANDOVER, EXIT(EXIT_HANDED_OVER), true, "successor after 4 s" },
	{ ASK_HANDOVER, EXIT(0), false, "left as asked after 4 s" },
	{ ASK_HANDOVER, EXIT(1), true, "exited with status 1" },
	{ ASK_HANDOVER, SIGSEGV, true, "was killed by signal 11" },
	{ ASK_LEAVE, EXIT(0), false, "left as asked after 4 s" },
	{ ASK_LEAVE, EXIT(EXIT_HANDED_OVER), true, "successor after 4 s" },
	{ ASK_LEAVE, EXIT(1), true, "exited with status 1" },
	{ ASK_LEAVE, SIGKILL, true, "signal 9 (Killed) after 4 s; it had been "
	  "asked to stop [worker=3 child_pid=1073741824 signal=9 " },
};

START_TEST(death_has_its_predecessor_and_obituary)
{
	live(1000, 5000, SCOREBOARD_RUNNING, deaths[_i].asked,
	    deaths[_i].status);
	ck_assert_uint_eq(slot.npredecessors, deaths[_i].has_predecessor);
	if (deaths[_i].has_predecessor) {
		ck_assert_str_eq(slot.predecessors[0].id, ID);
		ck_assert_int_eq(slot.predecessors[0].died_at, 5000);
	}
	ck_assert_int_eq(nlogged(), 1);
	holds(logged(), "worker 3: pid 1073741824 ");
	holds(logged(), deaths[_i].obituary);
	/* Only the end that was asked for is no error. */
	holds(logged(), strstr(logged(), "left as asked") != NULL ||
	    strstr(logged(), "handed over") != NULL ? " info " : " error ");
}
END_TEST

/* A worker has taken their places before it leaves. */
START_TEST(who_leaves_takes_the_predecessors_along)
{
	slot_inherit(&slot, "older", 500);
	slot_inherit(&slot, "old", 1000);
	live(2000, 3000, SCOREBOARD_RUNNING, ASK_NONE, SIGKILL);
	ck_assert_uint_eq(slot.npredecessors, 3);
	ck_assert_str_eq(slot.predecessors[0].id, "older");
	ck_assert_str_eq(slot.predecessors[2].id, ID);
	live(4000, 5000, SCOREBOARD_RUNNING, ASK_LEAVE, EXIT(0));
	ck_assert_uint_eq(slot.npredecessors, 0);
}
END_TEST

START_TEST(child_without_an_id_has_no_predecessor)
{
	slot_started(&slot, 1 << 30, 1, 1000);
	slot_exited(&slot, SIGKILL, 1001);
	ck_assert_uint_eq(slot.npredecessors, 0);
}
END_TEST

START_TEST(predecessors_are_pruned)
{
	slot_inherit(&slot, "old", 1000);
	slot_inherit(&slot, "older", 500);
	slot_inherit(&slot, "young", 2000);
	/* No worker has taken the place yet. */
	slot_prune_predecessors(&slot, 30000, 100000);
	ck_assert_uint_eq(slot.npredecessors, 3);
	slot_started(&slot, 1 << 30, 1, 3000);
	line.state = SCOREBOARD_STARTING;
	slot_prune_predecessors(&slot, 30000, 100000);
	ck_assert_uint_eq(slot.npredecessors, 3);
	line.state = SCOREBOARD_RUNNING;
	slot_prune_predecessors(&slot, 30000, 30499);
	ck_assert_uint_eq(slot.npredecessors, 3);
	slot_prune_predecessors(&slot, 30000, 31000);
	ck_assert_uint_eq(slot.npredecessors, 1);
	ck_assert_str_eq(slot.predecessors[0].id, "young");
	slot_prune_predecessors(&slot, 30000, 32000);
	ck_assert_uint_eq(slot.npredecessors, 0);
}
END_TEST

START_TEST(oldest_predecessor_makes_room)
{
	char	id[IDENT_SIZE];

	for (int i = 0; i < SLOT_PREDECESSORS + 2; i++) {
		snprintf(id, sizeof(id), "predecessor %d", i);
		slot_inherit(&slot, id, i);
	}
	ck_assert_uint_eq(slot.npredecessors, SLOT_PREDECESSORS);
	ck_assert_str_eq(slot.predecessors[0].id, "predecessor 2");
	ck_assert_int_eq(slot.predecessors[0].died_at, 2);
	ck_assert_str_eq(slot.predecessors[SLOT_PREDECESSORS - 1].id, id);
}
END_TEST

void
add_slots(Suite *s)
{
	TCase	*tc = add_case(s, "slot");

	tcase_add_checked_fixture(tc, slot_setup, slot_teardown);
	tcase_add_loop_test(tc, asked_to_go_once, 0, 2);
	tcase_add_test(tc, leaving_overrules_handing_over);
	tcase_add_test(tc, nearer_deadline_is_news);
	tcase_add_test(tc, nobody_is_asked);
	tcase_add_test(tc, killed_at_its_deadline);
	tcase_add_test(tc, killed_when_it_hangs);
	tcase_add_test(tc, sooner_of_two_deadlines_counts);
	tcase_add_test(tc, kill_is_told_once);
	tcase_add_test(tc, empty_slot_is_due);
	tcase_add_test(tc, fork_that_fails_is_a_death);
	tcase_add_test(tc, crashes_slow_it_down);
	tcase_add_loop_test(tc, steady_life_is_trusted_again, 0,
	    NROWS(lives));
	tcase_add_loop_test(tc, going_as_asked_costs_nothing, 0,
	    NROWS(statuses));
	tcase_add_test(tc, death_leaves_an_empty_slot);
	tcase_add_loop_test(tc, death_has_its_predecessor_and_obituary, 0,
	    NROWS(deaths));
	tcase_add_test(tc, who_leaves_takes_the_predecessors_along);
	tcase_add_test(tc, child_without_an_id_has_no_predecessor);
	tcase_add_test(tc, predecessors_are_pruned);
	tcase_add_test(tc, oldest_predecessor_makes_room);
}
