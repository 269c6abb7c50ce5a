/*
 * check_galera.c - claims on two nodes of a Galera cluster
 *
 * Row locks hold on their own node.  So the shared lock of a lease, which is
 * the fence of a claim, does not keep another node from giving the lease away.
 * What keeps two claims apart there is that both write the same rows, the first
 * of each key among them, and certification lets one commit.
 */
#include "lib/frame.h"

#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS	40

static void
start_galera(void)
{
	const char	*top = getenv("srcdir");

	server = "galera/n1";
	if (servers_runs(server))
		return;
	servers_run("%s/tools/sandbox cluster galera %s 2 >/dev/null",
	    top != NULL ? top : ".", servers_path("galera"));
	sql_open(server);
	sql_load(server, "app");
	sql_close();
}

/*
 * A worker in a process of its own: gets ready, waits for the pipe to close,
 * and claims the row.  Exits with the number claimed; one that certification
 * ended has failed, as in a deadlock.
 */
static pid_t
claim_on(const char *node, const char *id, bool leases, unsigned epoch,
    int go[2], int ready[2])
{
	struct range	 r = range("p00", epoch);
	uint64_t	 row = 1, claimed = 0;
	struct batch	 mine = { 0 };
	struct store	*s;
	pid_t		 pid = fork();
	char		 c;

	ck_assert_int_ge(pid, 0);
	if (pid > 0)
		return pid;
	close(go[1]);
	server = node;
	sql_open(node);
	/* It has what was written on the first node. */
	sql("USE app; SET SESSION wsrep_sync_wait = 7; "
	    "DO (SELECT COUNT(*) FROM outbox)");
	conf = conf_for("app");
	conf->worker.leasing = leases;
	s = store_of(conf, id);
	ck_assert_int_eq(write(ready[1], "r", 1), 1);
	ck_assert_int_eq(read(go[0], &c, 1), 0);
	if (epoch > 1)
		sql("UPDATE outbox_partitions SET lease_owner = '%s', "
		    "lease_epoch = %u", id, epoch);
	if (store_claim(s, &(struct claim_set){ &r, 1, &row, 1 }, &mine,
	    &claimed, &e) < 0)
		claimed = 0;
	_exit((int)claimed);
}

/*
 * Without leases (0) both may claim; with them (1) the worker on the second
 * node takes the lease over at the same moment.
 */
START_TEST(one_of_two_nodes_claims_a_row)
{
	int	go[2], ready[2], status, sum;
	pid_t	pids[2];
	char	c;

	for (int round = 0; round < ROUNDS; round++) {
		sql("DELETE FROM outbox; DELETE FROM events; "
		    "DELETE FROM outbox_partitions");
		own_rows(1);
		ck_assert_int_eq(pipe(go), 0);
		ck_assert_int_eq(pipe(ready), 0);
		pids[0] = claim_on("galera/n1", ME, _i == 1, 1, go, ready);
		pids[1] = claim_on("galera/n2", OTHER, _i == 1, 1 + _i, go,
		    ready);
		for (int i = 0; i < 2; i++)
			ck_assert_int_eq(read(ready[0], &c, 1), 1);
		close(go[1]);
		sum = 0;
		for (int i = 0; i < 2; i++) {
			ck_assert_int_eq(waitpid(pids[i], &status, 0), pids[i]);
			ck_assert(WIFEXITED(status));
			sum += WEXITSTATUS(status);
		}
		ck_assert_msg(sum == 1, "round %d: %d have claimed the row",
		    round, sum);
		close(go[0]);
		close(ready[0]);
		close(ready[1]);
	}
}
END_TEST

int
main(void)
{
	Suite		*s = suite_create("galera");
	const char	*form = getenv("OUTBOX_CHECK");
	TCase		*tc;

	if ((form != NULL && strcmp(form, "short") == 0) ||
	    access("/usr/lib/galera/libgalera_smm.so", F_OK) < 0) {
		puts("1..0 # SKIP a long test, of galera-4");
		return EXIT_SUCCESS;
	}
	tc = server_case(s, "galera", start_galera, begin, end);
	tcase_add_loop_test(tc, one_of_two_nodes_claims_a_row, 0, 2);
	return servers_test(s);
}
