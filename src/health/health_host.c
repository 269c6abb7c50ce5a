/* health_host.c - problems of the daemon on this host, by its scoreboard */

#include "health/health_impl.h"

#include <stdio.h>
#include <string.h>

#include "common/command_file.h"
#include "util/display.h"
#include "util/duration.h"

/*
 * A worker gives a sign of life at least once a second, unless a statement or a
 * batch takes longer.
 */
#define SILENT_MS	6000

#define TOKEN	"monitor.token"	/* of monitor.tokens, monitor.token_file */
#define LOCKED	"another session has locked"	/* see STORE_LOCKED */
#define PAUSED	"publishing paused"	/* how a worker's text begins */

static void
judge_silence(struct health *h, const json_t *worker)
{
	long long	ms = health_number(worker, "silent_ms");
	long long	pid = health_number(worker, "pid");
	const char	*stopped = strcmp(health_text(worker, "kernel_state"),
			    "T") == 0 ? ", stopped by a signal," : ",";
	char		remedy[128];

	if (ms <= SILENT_MS)
		return;
	if (stopped[1] != '\0')
		snprintf(remedy, sizeof(remedy), "kill -CONT %lld", pid);
	else
		snprintf(remedy, sizeof(remedy), "ps -o stat,wchan -p %lld "
		    "shows what it waits for; D is a disk", pid);
	health_add(h, HEALTH_SILENT_WORKER, (struct health_about){ NULL,
	    json_pack("{s:O}", "worker", json_object_get(worker, "id")) },
	    remedy, "worker %s, pid %lld%s has been silent for %s",
	    health_text(worker, "id"), pid, stopped, duration_words(ms).text);
}

/* What to do about a process that waits, by its state. */
static void
put_remedy(const struct health *h, const char *state, const char *why,
    struct buf *b)
{
	if (strcmp(state, "no broker") == 0)
		health_broker_remedy(h->conf, why, b);
	else if (strcmp(state, "no database") == 0)
		health_database_remedy(h, why, b);
	else if (strcmp(state, "paused") == 0 &&
	    !traits_of(h->conf, NULL)->has_stream)
		health_broker_remedy(h->conf, why, b);
	else if (strcmp(state, "paused") == 0)
		buf_str(b, health_refusal_remedy(why) != NULL ?
		    health_refusal_remedy(why) : "correct the stream or the "
		    "broker; outboxctl stream info shows it");
	else if (strcmp(state, "refused") == 0 && strstr(why, "binlog") != NULL)
		buf_str(b, "outboxctl setup --no-event --follow-binlog grants "
		    "what it lacks, or set wake.binlog: false; then outboxctl "
		    "reload");
	else
		health_database_remedy(h, why, b);
}

/* Does another problem tell this reason already? */
static bool
is_told(const struct health *h, const char *why)
{
	json_t	*p;
	size_t	 i;

	json_array_foreach(h->problems, i, p)
		if (strstr(health_text(p, "why"), why) != NULL)
			return true;
	return false;
}

/* A worker with its connections waits for a statement. */
static bool
works(const char *state)
{
	return strcmp(state, "running") == 0 || strcmp(state, "standby") == 0;
}

/* Is what it waits for a problem already? */
static bool
is_explained(const struct health *h, const char *state)
{
	if (strcmp(state, "no broker") == 0)
		return health_has(h, HEALTH_BROKER);
	if (strcmp(state, "no database") == 0 || works(state))
		return health_has(h, HEALTH_DATABASE) ||
		    health_has(h, HEALTH_SCHEMA_NEWER);
	return strcmp(state, "paused") == 0 &&
	    (health_has(h, HEALTH_STREAM_UNFIT) ||
	    health_has(h, HEALTH_STREAM_FULL));
}

/* Workers of a host often wait for the same reason: it is told once. */
static void
judge_waits(struct health *h, const json_t *worker, json_t *told)
{
	const char	*why = health_text(worker, "why");
	const char	*state = health_text(worker, "state");
	bool		 paused = strcmp(state, "paused") == 0;
	bool		 says_so = strncmp(why, PAUSED, strlen(PAUSED)) == 0;
	struct buf	 remedy = { 0 };

	if (why[0] == '\0' || json_object_get(told, why) != NULL ||
	    is_explained(h, state) || is_told(h, why))
		return;
	json_object_set_new(told, why, json_true());
	put_remedy(h, state, why, &remedy);
	health_add(h, paused ? HEALTH_PAUSED_PUBLISHING : HEALTH_WAITING_WORKER,
	    (struct health_about){ health_member(worker, "why_since"),
	    json_pack("{s:O}", "worker", json_object_get(worker, "id")) },
	    remedy.data, "%s%s%s", says_so ? "" : works(state) ?
	    "a statement waits" : state, says_so ? "" : ": ", why);
	buf_free(&remedy);
}

/* Others flow: the row and its key wait. */
static void
judge_rows(struct health *h, const json_t *here)
{
	const json_t	*first = NULL;
	json_t		*w, *row;
	size_t		 i, k, n = 0;
	long long	 sequence;
	struct buf	 remedy = { 0 };
	char		 more[60] = "";

	json_array_foreach(json_object_get(here, "workers"), i, w)
		json_array_foreach(json_object_get(w, "rows"), k, row) {
			if (first == NULL || health_number(row, "sequence") <
			    health_number(first, "sequence"))
				first = row;
			n++;
		}
	if (n == 0 || health_has(h, HEALTH_DATABASE))
		return;
	sequence = health_number(first, "sequence");
	if (strstr(health_text(first, "why"), LOCKED) != NULL)
		health_database_remedy(h, health_text(first, "why"), &remedy);
	else
		buf_printf(&remedy, "repair the row or the table (outboxctl "
		    "schema check), or give it up: outboxctl messages discard "
		    "%lld", sequence);
	if (n > 1)
		snprintf(more, sizeof(more), "; more such rows: %zu", n - 1);
	health_add(h, HEALTH_REFUSED_ROW, (struct health_about){
	    health_member(first, "since"), json_pack("{s:I}", "sequence",
	    (json_int_t)sequence) }, remedy.data, "message %lld %s%s; it and "
	    "its key wait", sequence, health_text(first, "why"), more);
	buf_free(&remedy);
}

/*
 * Messages are sent without the listener and the janitor, too.  They try again
 * after some seconds.  Without a binlog the listener waits for nothing that is
 * needed.
 */
#define HELPER_MS	10000

static void
judge_helper(struct health *h, const char *role, const json_t *process,
    const json_t *told)
{
	const char	*why = health_text(process, "why");
	const char	*state = health_text(process, "state");
	struct buf	 remedy = { 0 };

	if (why[0] == '\0' || strcmp(state, "no binlog") == 0 ||
	    json_object_get(told, why) != NULL ||
	    health_number(process, "state_ms") < HELPER_MS ||
	    is_explained(h, state) || is_told(h, why) ||
	    health_topic_is_told(h, why) || (strstr(why, "may not read") !=
	    NULL && is_told(h, "may not be read")))
		return;
	/* Of brokers only those of Kafka are waited for. */
	if (strcmp(state, "no broker") == 0)
		traits_kafka.put_remedy(h->conf, NULL, why, &remedy);
	else
		put_remedy(h, state, why, &remedy);
	health_add(h, HEALTH_WAITING_WORKER, (struct health_about){ NULL,
	    json_pack("{s:s}", "process", role) }, remedy.data, "%s: %s: %s",
	    role, state, why);
	buf_free(&remedy);
}

/* The file itself, not a secret that this user cannot read. */
static bool
is_file_wrong(const struct health *h)
{
	const json_t	*file = json_object_get(h->state, "configuration");

	return json_is_object(file) &&
	    !json_is_true(json_object_get(file, "secret"));
}

static void
judge_file(struct health *h)
{
	const json_t	*file = json_object_get(h->state, "configuration");
	const json_t	*here = json_object_get(h->state, "this_host");
	const json_t	*workers = json_object_get(here, "workers");
	const char	*error = health_text(file, "error");
	bool		 work = json_array_size(workers) > 0;
	json_t		*w;
	size_t		 i;

	if (!json_is_object(file))
		return;
	if (!is_file_wrong(h)) {
		health_add(h, HEALTH_CONFIGURATION, (struct health_about){ 0 },
		    strstr(error, "chmod o= ") != NULL ?
		    "run that chmod; outbox-master -t checks it" :
		    strstr(error, "outboxctl setup") != NULL ?
		    "outboxctl setup --no-event, with --new-password if the "
		    "account exists, or correct mysql.password_file" :
		    "run this command as the daemon's user and with its "
		    "environment, or correct the configuration; outbox-master "
		    "-t checks it",
		    "this command cannot read a secret, so the state of the "
		    "fleet is not known: %s", error);
		return;
	}
	/* By the scoreboard: with such a file nothing else can be asked. */
	json_array_foreach(workers, i, w)
		if (health_text(w, "why")[0] != '\0' ||
		    health_number(w, "silent_ms") > SILENT_MS)
			work = false;
	health_add(h, work ? HEALTH_WRONG_FILE : HEALTH_CONFIGURATION,
	    (struct health_about){ 0 }, json_is_object(here) ?
	    "correct it, then outboxctl reload" :
	    "correct it; outbox-master -t checks it",
	    "the configuration is in error, %s: %s", json_is_object(here) ?
	    "and the daemon of this host goes on with its former one" :
	    "so that no daemon can start", error);
}

static void
judge_reload(struct health *h, const json_t *here)
{
	const json_t	*reload = json_object_get(here, "reload");
	const char	*why = health_text(reload, "why");
	struct buf	 remedy = { 0 };

	if (!json_is_false(json_object_get(reload, "accepted")) ||
	    is_file_wrong(h))
		return;
	if (strstr(why, "_env: ") == NULL)
		buf_str(&remedy, "correct the file if it is still in error, "
		    "then outboxctl reload");
	else {
		/* A process keeps the environment it was started with. */
		buf_printf(&remedy, "correct the file, then outboxctl reload; "
		    "or set the variable where the daemon is started, and "
		    "start it again: kill %lld, then ",
		    health_number(here, "pid"));
		command_file_start(&remedy, h->conf->path);
	}
	health_add(h, HEALTH_RELOAD_REFUSED, (struct health_about){
	    .since = health_member(reload, "at") }, remedy.data, "the last "
	    "reload was refused, and the daemon goes on with its former "
	    "configuration: %s", why);
	buf_free(&remedy);
}

/* Nothing is wrong any more, but somebody may have removed messages. */
static void
judge_sent_again(struct health *h, const json_t *here)
{
	json_int_t	 n = health_number(json_object_get(here, "janitor"),
			    "recovered");
	json_t		*w;
	size_t		 i;

	json_array_foreach(json_object_get(here, "workers"), i, w)
		n += health_number(w, "recovered");
	if (n > 0)
		health_add(h, HEALTH_SENT_AGAIN, (struct health_about){ 0 },
		    "outboxctl logs tells when; find out who removed them "
		    "(this line ends with the next reload)",
		    "messages that the stream had lost were sent again: %s",
		    DISPLAY_NUMBER(n));
}

static const char *
vanished_remedy(const struct health *h)
{
	return h->conf->outbox.mode == MODE_INLINE ?
	    "let the application leave the row in the table; "
	    "outboxctl prune or retention.days deletes it" :
	    "let the application leave the row in the table, "
	    "where outboxctl prune or retention.days deletes "
	    "it; then outboxctl reconcile makes the rows of "
	    "these events";
}

/* The listener reads both: a problem, if most of the last rows vanish. */
static void
judge_vanished_rows(struct health *h, const json_t *listener)
{
	json_int_t	 last = health_number(listener, "vanished_last");
	json_int_t	 rows = health_number(listener, "inserted_last");
	bool		 most = last * 2 > rows;

	health_add(h, most ? HEALTH_ROWS_VANISH : HEALTH_ROWS_UNSEEN,
	    (struct health_about){ 0 }, vanished_remedy(h), "%s of the outbox "
	    "are inserted and deleted in one transaction: %s, %lld of the "
	    "last %lld rows, the last one at %s: no worker can see "
	    "them, so their messages are not sent%s", most ? "rows" :
	    "some rows", DISPLAY_NUMBER(health_number(listener, "vanished")),
	    (long long)last, (long long)rows,
	    health_text(listener, "vanished_at"), most ? "" :
	    "; that is right for messages that the application takes back");
}

/* The janitor sees only numbers without a row: there are innocent reasons. */
static void
judge_vanished_numbers(struct health *h, const json_t *janitor)
{
	bool	inlined = h->conf->outbox.mode == MODE_INLINE;

	health_add(h, HEALTH_ROWS_UNSEEN, (struct health_about){
	    health_member(janitor, "vanished_at"), NULL }, vanished_remedy(h),
	    inlined ?
	    "%s numbers of the outbox were given since %s, and not one "
	    "row was to be seen: all is well if these were INSERT "
	    "IGNOREs of messages that exist, rollbacks, or rows that "
	    "another host delivers and the application deletes at "
	    "once; but rows that are deleted in the transaction that "
	    "inserts them are never sent, and then" :
	    "%s numbers of events were given since %s, and not one of "
	    "them has a row in the outbox to be seen: all is well if "
	    "these events have none by design, or rows that another "
	    "host delivers and the application deletes at once; but a "
	    "row that is not inserted, or deleted in the same "
	    "transaction, is never sent, and then",
	    DISPLAY_NUMBER(health_number(janitor, "vanished")),
	    health_text(janitor, "vanished_at"));
}

/* For so long after the last one, if no rows come that stay. */
#define VANISHED_MS	(10 * 60 * 1000)
#define VANISHED_FEW	20	/* of the last 100 rows: taken back on purpose */

/* The master starts it again at once, and later if it dies soon. */
#define MONITOR_GONE_MS	3000

static void
judge_log(struct health *h, const json_t *here)
{
	static const char *const	 others[] = { "master", "listener",
					    "janitor", "monitor" };
	const char	*target = h->conf->log.target;
	const char	*error = health_text(json_object_get(here, "master"),
			    "last_error");
	long long	 lost = 0;	/* since each process has started */
	struct buf	 remedy = { 0 };
	json_t		*w;
	size_t		 i;

	json_array_foreach(json_object_get(here, "workers"), i, w)
		lost += health_number(w, "log_lost");
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		lost += health_number(json_object_get(here, others[i]),
		    "log_lost");
	if (lost == 0)
		return;
	/* The master keeps its last error, which may be of something else. */
	if (strstr(error, "log") == NULL)
		error = "";
	if (target != NULL && strncmp(target, "syslog", 6) == 0)
		buf_str(&remedy, "restart the syslog daemon, which takes no "
		    "lines");
	else if (target != NULL && target[0] == '/')
		buf_printf(&remedy, "make room for %s, or correct its rights "
		    "or what stands in its place, then outboxctl reload",
		    target);
	else
		buf_str(&remedy, "see why nobody reads standard error: "
		    "journald, or a full disk");
	health_add(h, HEALTH_LOG_LOST, (struct health_about){ 0 }, remedy.data,
	    "lines of the log are lost: %lld%s%s", lost,
	    error[0] == '\0' ? "" : "; ", error);
	buf_free(&remedy);
}

/* No daemon that lives has a scoreboard here. */
static void
judge_absence(struct health *h)
{
	long long	pid = health_number(h->state, "daemon_died");
	long long	lost = health_number(h->state, "files_lost");
	struct buf	start = { 0 };

	/* It runs, but its run directory was emptied. */
	if (lost > 0) {
		buf_printf(&start, "kill %lld, and when it has ended, ", lost);
		command_file_start(&start, h->conf->path);
		health_add(h, HEALTH_RUN_FILES, (struct health_about){ 0 },
		    start.data, "the daemon of this host runs (pid %lld), and "
		    "its files are gone, which were beside %s: nothing can be "
		    "told of it, nor does its monitor answer there", lost,
		    h->conf->master.pidfile);
		buf_free(&start);
		return;
	}
	if (pid > 0 && health_has(h, HEALTH_NO_WORKER))
		return;
	command_file_start(&start, h->conf->path);
	if (pid > 0) {
		buf_str(&start, "; outboxctl logs tells why it ended, unless "
		    "it was killed (kill -9, or dmesg: out of memory)");
		health_add(h, HEALTH_DAEMON_DIED, (struct health_about){ 0 },
		    start.data, "the daemon of this host has died (pid %lld)",
		    pid);
	} else if (health_number(json_object_get(h->state, "workers"),
	    "live") > 0) {
		buf_str(&start, ", if this host has to send");
		health_add(h, HEALTH_NO_DAEMON, (struct health_about){ 0 },
		    start.data, "no daemon runs on this host");
	}
	buf_free(&start);
}

void
health_judge_host(struct health *h)
{
	const json_t	*here = json_object_get(h->state, "this_host");
	json_t		*told = json_object(), *worker;
	size_t		 i;
	const json_t	*listener, *janitor;
	const char	*why;
	long long	 gone;

	judge_file(h);
	if (!json_is_object(here))
		judge_absence(h);
	json_array_foreach(json_object_get(here, "workers"), i, worker) {
		judge_silence(h, worker);
		judge_waits(h, worker, told);
	}
	judge_rows(h, here);
	judge_helper(h, "listener", json_object_get(here, "listener"), told);
	judge_helper(h, "janitor", json_object_get(here, "janitor"), told);
	why = health_text(json_object_get(here, "monitor"), "why");
	gone = health_number(here, "monitor_gone_ms");
	if (gone >= MONITOR_GONE_MS)
		health_add(h, HEALTH_MONITOR, (struct health_about){ 0 },
		    "outboxctl logs tells why", "the monitor has not run for "
		    "%s", duration_words(gone).text);
	else if (why[0] != '\0')
		health_add(h, HEALTH_MONITOR, (struct health_about){ 0 },
		    strncmp(why, TOKEN, strlen(TOKEN)) == 0 ?
		    "correct the file, then outboxctl reload" :
		    "end what uses the address (ss -lxtp), or change "
		    "monitor.socket or monitor.listen, then outboxctl reload",
		    "the monitor: %s",
		    why);
	judge_reload(h, here);
	health_judge_destinations(h, here);
	judge_sent_again(h, here);
	/* What the listener has seen is told, or else what the janitor
	   guesses. */
	listener = json_object_get(here, "listener");
	janitor = json_object_get(here, "janitor");
	if (health_number(listener, "vanished_last") >= VANISHED_FEW &&
	    health_number(listener, "vanished_ms") <= VANISHED_MS)
		judge_vanished_rows(h, listener);
	else if (health_number(janitor, "vanished") > 0)
		judge_vanished_numbers(h, janitor);
	judge_log(h, here);
	json_decref(told);
}
