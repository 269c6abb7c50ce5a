/*
 * setup_event.c - one event, from the table to the stream
 *
 * A running daemon sends it; if none runs, one batch of outbox-master --once
 * does.
 */

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctl/schema/schema.h"
#include "ctl/setup/setup.h"
#include "ctl/stream/broker.h"
#include "util/clock.h"
#include "util/environment.h"
#include "util/xalloc.h"

#define KEY		"outbox-setup"
#define SENT_MS		20000	/* for the event to be sent */
#define POLL_MS		100

/* A route led to another destination, which gives no sequence. */
#define ELSEWHERE	UINT64_MAX

struct event {
	uint64_t	sequence;
	uint64_t	ack_sequence;	/* in the stream; 0: not sent yet;
					   or ELSEWHERE */
};

/* The label of the key, as every producer computes it. */
static int
insert_message(struct setup *s, struct err *e)
{
	struct store	*st = s->admin.store;
	bool		 has_key = store_has_word(st, "stream_id");
	bool		 has_id = store_has_word(st, "message_id");
	struct counts	 c;

	if (store_read_counts(st, &c, e) < 0)
		return -1;
	store_sql(st, "INSERT INTO {outbox} ({event_type}, {partition_key}, "
	    "{event_data}:key:id) SELECT '" SETUP_TYPE "', :label, :data:name:uuid "
	    "FROM (SELECT '" KEY "' AS name) AS x",
	    SQL_IF("key", has_key, ", {stream_id}"),
	    SQL_IF("name", has_key, ", x.name"),
	    SQL_IF("id", has_id, ", {message_id}"),
	    SQL_IF("uuid", has_id, ", UUID()"),
	    SQL_PUT("label", st, store_put_label(st, &c, "x",
	    SQL("x.name"))),
	    SQL_TEXT("data", "{\"sent by\": \"outboxctl setup\"}"));
	return store_exec(st, "setup", NULL, e);
}

static int
enqueue_event(struct setup *s, struct event *ev, struct err *e)
{
	struct store	*st = s->admin.store;
	bool		 is_inline = store_is_inline(st);
	struct buf	 call = { 0 };
	int		 rc;

	if (store_begin(st, e) < 0)
		return -1;
	if (is_inline) {
		rc = insert_message(s, e);
	} else {
		rc = schema_put_text(s->ctl->conf, "CALL outbox_enqueue(",
		    &call, e);
		buf_str(&call, "'" KEY "', NULL, '" SETUP_TYPE "', 1, NULL, NULL, "
		    "'{\"sent by\": \"outboxctl setup\"}')");
		store_sql(st, ":call", SQL_RAW("call", call.data));
		if (rc == 0)
			rc = store_exec(st, "setup", NULL, e);
		buf_free(&call);
	}
	if (store_end(st, rc, e) < 0)
		return -1;
	store_sql(st, ":query", SQL_EITHER("query", is_inline,
	    "SELECT LAST_INSERT_ID()", "SELECT MAX({sequence}) FROM {events} "
	    "WHERE {stream_id} = '" KEY "'"));
	return store_query_number(st, "setup", &ev->sequence, e);
}

int
setup_has_daemon(struct setup *s, bool *runs, struct err *e)
{
	store_sql(s->admin.store, "SELECT 1 FROM {workers} "
	    "WHERE heartbeat_until > NOW(6)");
	return store_query_any(s->admin.store, "setup", runs, e);
}

/* outbox-master beside this program, or in sbin beside its bin. */
static char *
path_of_master(void)
{
	char	self[PATH_MAX] = "", *dir, *path;
	ssize_t	n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n <= 0)
		return NULL;
	dir = dirname(self);
	path = xasprintf("%s/outbox-master", dir);
	if (access(path, X_OK) == 0)
		return path;
	free(path);
	return xasprintf("%s/../sbin/outbox-master", dir);
}

/* Run one batch; its report is not ours, its errors are. */
static int
relay_once(const struct ctl *c)
{
	posix_spawn_file_actions_t	 files;
	char				*path = path_of_master();
	char				*argv[] = { path, "--once", "--silent",
					    "-c", xstrdup(c->path), NULL };
	pid_t				 pid;
	int				 error, fd, status = 0;
	char			       **variables;

	if ((variables = environment_hand_over(&fd)) == NULL) {
		free(path);
		free(argv[4]);
		return ctl_error("memfd_create: %s", strerror(errno));
	}
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, fd, fd);	/* stays */
	posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null",
	    O_WRONLY, 0);
	error = path == NULL ? ENOENT :
	    posix_spawn(&pid, path, &files, NULL, argv, variables);
	posix_spawn_file_actions_destroy(&files);
	close(fd);
	free(variables);
	if (error == 0 && waitpid(pid, &status, 0) < 0)
		error = errno;
	free(argv[4]);
	if (error == 0 && status != 0)
		ctl_error("%s --once failed; its error is above", path);
	else if (error != 0)
		ctl_error("%s: %s", path == NULL ? "outbox-master" : path,
		    strerror(error));
	free(path);
	return error == 0 && status == 0 ? CTL_DONE : CTL_FAILED;
}

/* ack_sequence stays 0 while the event waits.  -1: or it cannot be sent. */
static int
look_for_ack(struct setup *s, struct event *ev, struct err *e)
{
	struct store	*st = s->admin.store;
	char		 why[1024];

	/* Without a stream a delivered row has none. */
	store_sql(st, "SELECT :ack FROM {outbox} "
	    "WHERE {published_at} IS NOT NULL AND {global_sequence} = :row",
	    SQL_EITHER("ack", conf_goes_to_stream(s->ctl->conf),
	    "COALESCE({ack_sequence}, :elsewhere)", "(1)"),
	    SQL_NUMBER("elsewhere", ELSEWHERE),
	    SQL_NUMBER("row", ev->sequence));
	if (store_query_number(st, "setup", &ev->ack_sequence, e) < 0)
		return -1;
	if (ev->ack_sequence != 0)
		return 0;
	store_sql(st, "SELECT last_error FROM {dead} "
	    "WHERE global_sequence = :row", SQL_NUMBER("row", ev->sequence));
	if (store_query_text(st, "setup", why, sizeof(why), e) < 0)
		return -1;
	return why[0] == '\0' ? 0 : err_set(e, "event %llu became a dead "
	    "letter: %s", (unsigned long long)ev->sequence, why);
}

static int
wait_for_ack(struct setup *s, struct event *ev)
{
	int64_t		until = clock_ms() + SENT_MS;
	struct err	e;

	for (;;) {
		if (look_for_ack(s, ev, &e) < 0)
			return ctl_fail(&s->admin, &e);
		if (ev->ack_sequence != 0)
			return CTL_DONE;
		if (clock_ms() >= until)
			break;
		ctl_sleep(POLL_MS);
	}
	return ctl_refuse("outboxctl status says why it waits",
	    "event %llu was not sent within %d s",
	    (unsigned long long)ev->sequence, SENT_MS / 1000);
}

/* Read the message back from the stream. */
static int
see(struct setup *s, const struct event *ev)
{
	char		*body = xasprintf("{\"seq\":%llu}",
			    (unsigned long long)ev->ack_sequence);
	struct buf	 answer = { 0 };
	json_t		*o, *m;
	int		 status = broker_ask(&s->bus, "MSG.GET", body, &answer);

	free(body);
	if (status != CTL_DONE)
		return status;
	o = json_loadb(answer.data, answer.len, 0, NULL);
	m = json_object_get(o, "message");
	if (json_is_object(m))
		setup_step(s, "event", "seen: stream %s has it as message "
		    "%llu, subject %s", s->ctl->conf->nats.stream,
		    (unsigned long long)ev->ack_sequence,
		    member_text(m, "subject"));
	else
		status = ctl_error("stream %s does not return message %llu",
		    s->ctl->conf->nats.stream,
		    (unsigned long long)ev->ack_sequence);
	json_decref(o);
	buf_free(&answer);
	return status;
}

int
setup_event(struct setup *s)
{
	struct event	ev = { 0 };
	struct err	e;
	bool		runs;
	int		status = CTL_DONE;

	if (s->admin.store == NULL) {
		setup_step(s, "event", "not sent: the daemon's account may "
		    "not enqueue; use your application, or outboxctl enqueue "
		    "with an operator's account");
		return CTL_DONE;
	}
	if (enqueue_event(s, &ev, &e) < 0 || setup_has_daemon(s, &runs, &e) < 0)
		return ctl_fail(&s->admin, &e);
	setup_step(s, "event", "%llu enqueued, type " SETUP_TYPE ", key " KEY,
	    (unsigned long long)ev.sequence);
	if (!runs)
		status = relay_once(s->ctl);
	if (status == CTL_DONE)
		status = wait_for_ack(s, &ev);
	if (status != CTL_DONE)
		return status;
	if (ev.ack_sequence == ELSEWHERE) {
		setup_step(s, "event", "delivered, to a destination of "
		    "publish.routes");
		return CTL_DONE;
	}
	if (conf_stream(s->ctl->conf)[0] != '\0')
		return see(s, &ev);
	if (!conf_goes_to_stream(s->ctl->conf)) {
		setup_step(s, "event", "delivered%s%s", s->topic == NULL ? "" :
		    ", to topic ", s->topic == NULL ? "" : s->topic);
		return CTL_DONE;
	}
	setup_step(s, "event", "acknowledged as message %llu of its stream",
	    (unsigned long long)ev.ack_sequence);
	return CTL_DONE;
}
