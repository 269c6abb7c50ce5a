/* health_fleet.c - problems that the tables show */

#include "health/health_impl.h"

#include <stdio.h>
#include <string.h>

#include "common/command_file.h"
#include "util/clock.h"
#include "util/display.h"
#include "util/duration.h"

/* Workers take over a lease that has expired within a few seconds. */
#define EXPIRED_MS	15000

/* Part of the error of a message in doubt, before the reason: in_doubt.c. */
#define CANNOT_SEARCH	"cannot be searched for it: "

/* So begins the error of a message that is held: RELAY_HELD. */
#define HELD	"held: "

/* What the error is about: the server, its writes, or one of the tables. */
static const char *
what_is_not_known(const char *error)
{
	if (strstr(error, "read-only") != NULL ||
	    strstr(error, "read only") != NULL)
		return "the database takes no changes, so the daemon cannot "
		    "use it, and the state of the fleet is not shown";
	if (strncmp(error, "mysql ", 6) == 0 || strstr(error, "onnect") != NULL ||
	    strstr(error, "gone") != NULL)
		return "the database cannot be read, so the state of the fleet "
		    "is not known";
	return "a table of the database cannot be read, so the state of the "
	    "fleet is not known";
}

static void
judge_database(struct health *h)
{
	const json_t	*db = json_object_get(h->state, "database");
	const char	*error = health_text(db, "error");
	struct buf	 remedy = { 0 };

	if (!json_is_object(db))
		return;
	health_database_remedy(h, error, &remedy);
	health_add(h, HEALTH_DATABASE, (struct health_about){ 0 }, remedy.data,
	    "%s: %s", what_is_not_known(error), error);
	buf_free(&remedy);
}

/* Newer tables may mean something else, so no worker touches them. */
static void
judge_schema(struct health *h)
{
	const json_t	*schema = json_object_get(h->state, "schema");
	long long	 newest = health_number(schema, "newest");

	if (newest > 0)
		health_add(h, HEALTH_SCHEMA_NEWER, (struct health_about){ 0 },
		    "install a newer outbox-master on this host, and start it "
		    "again",
		    "the tables have schema version %s, and this program knows "
		    "%lld at most: it sends no message",
		    health_text(schema, "version"), newest);
}

/* What to do if none is alive. */
static void
put_workers_remedy(const struct health *h, struct buf *b)
{
	const json_t	*here = json_object_get(h->state, "this_host");

	if (json_array_size(json_object_get(here, "workers")) > 0) {
		buf_str(b, "correct what the workers of this host wait for, "
		    "which another problem or outboxctl logs tells");
		return;
	}
	command_file_start(b, h->conf->path);
	buf_str(b, health_number(h->state, "daemon_died") > 0 ?
	    "; outboxctl logs tells why it ended" :
	    "; if nobody has stopped it, outboxctl logs tells why it ended");
}

/* Without leases workers do not register. */
static void
judge_workers(struct health *h)
{
	const json_t	*workers = json_object_get(h->state, "workers");
	const json_t	*backlog = json_object_get(h->state, "backlog");
	int64_t		 n = later(1, health_number(backlog, "waiting"));
	long long	 pid = health_number(h->state, "daemon_died");
	char		 number[DISPLAY_SIZE], died[80] = "";
	struct buf	 remedy = { 0 };

	if (!json_is_object(workers) || !h->conf->worker.leasing ||
	    health_number(workers, "live") > 0 ||
	    health_has(h, HEALTH_SCHEMA_NEWER))
		return;
	put_workers_remedy(h, &remedy);
	if (pid > 0)
		snprintf(died, sizeof(died), "; the daemon of this host has "
		    "died (pid %lld)", pid);
	if (json_is_object(json_object_get(h->state, "oldest")))
		health_add(h, HEALTH_NO_WORKER, (struct health_about){ 0 },
		    remedy.data, "no worker is alive and %s%s %s%s",
		    json_is_false(json_object_get(backlog, "exact")) ?
		    "about " : "", display_number(number, n), n == 1 ?
		    "row waits" : "rows wait", died);
	else
		health_add(h, HEALTH_NO_WORKER, (struct health_about){ 0 },
		    remedy.data, "no worker is alive%s", died);
	buf_free(&remedy);
}

/* Does a worker of this host wait, or is it this row that it cannot write? */
static bool
is_refused_here(const struct health *h, json_int_t sequence)
{
	const json_t	*here = json_object_get(h->state, "this_host");
	json_t		*w, *row;
	size_t		 i, k;

	json_array_foreach(json_object_get(here, "workers"), i, w) {
		if (health_text(w, "why")[0] != '\0')
			return true;
		json_array_foreach(json_object_get(w, "rows"), k, row)
			if (health_number(row, "sequence") == sequence)
				return true;
	}
	return false;
}

/* Does another problem say why nothing, or not this message, is sent? */
static bool
is_wait_explained(const struct health *h, const json_t *oldest)
{
	static const enum health_id	causes[] = { HEALTH_NO_WORKER,
					    HEALTH_SCHEMA_NEWER, HEALTH_BROKER,
					    HEALTH_STREAM_UNFIT,
					    HEALTH_STREAM_FULL,
					    HEALTH_PAUSED_PUBLISHING };

	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		if (health_has(h, causes[i]))
			return true;
	return json_is_true(json_object_get(oldest, "paused")) ||
	    is_refused_here(h, health_number(oldest, "sequence"));
}

static void
judge_oldest(struct health *h)
{
	const json_t	*oldest = json_object_get(h->state, "oldest");
	json_int_t	 sequence = health_number(oldest, "sequence");
	json_int_t	 age_ms = health_number(oldest, "age_ms");
	json_int_t	 drained_ms = health_number(json_object_get(h->state,
			    "backlog"), "drained_in_ms");
	char		 remedy[64], drained[100] = "";

	if (age_ms <= h->conf->health.max_age || is_wait_explained(h, oldest))
		return;
	if (drained_ms > 0)
		snprintf(drained, sizeof(drained), "; the backlog shrinks, at "
		    "this rate empty in %s", duration_words(drained_ms).text);
	snprintf(remedy, sizeof(remedy), "outboxctl messages show %lld",
	    (long long)sequence);
	health_add(h, HEALTH_OLDEST, (struct health_about){
	    NULL, json_pack("{s:I, s:O, s:O}", "sequence", sequence,
	    "partition", json_object_get(oldest, "partition"),
	    "at", json_object_get(oldest, "at")) }, remedy,
	    "the oldest waiting message has waited for %s (health.max_age: "
	    "%s)%s", duration_words(age_ms).text,
	    duration_words(h->conf->health.max_age).text, drained);
}

static void
judge_growth(struct health *h)
{
	const json_t	*backlog = json_object_get(h->state, "backlog");
	json_int_t	 growing_ms = health_number(backlog, "growing_for_ms");
	bool		 exact = !json_is_false(json_object_get(backlog,
			    "exact"));
	char		 waiting[DISPLAY_SIZE], rate[DISPLAY_SIZE];

	if (growing_ms > 0)
		health_add(h, HEALTH_BACKLOG_GROWING, (struct health_about){
		    health_member(backlog, "growing_since"), json_pack(
		    "{s:O}", "waiting", json_object_get(backlog, "waiting")) },
		    "correct the other problems first; if there are none, "
		    "raise master.workers, then outboxctl reload",
		    "the backlog has grown for %s, since %s: %s%s rows wait, "
		    "and about %s more each second",
		    duration_words(growing_ms).text,
		    health_text(backlog, "growing_since"), exact ? "" :
		    "about ", display_number(waiting, health_number(backlog,
		    "waiting")), display_number(rate, health_number(backlog,
		    "growth_per_second")));
}

static void
judge_partitions(struct health *h)
{
	const json_t	*p = json_object_get(h->state, "partitions");
	json_int_t	 paused = health_number(p, "paused");
	const char	*names = health_text(p, "paused_names");

	if (paused > 0)
		health_add(h, HEALTH_PAUSED_PARTITIONS, (struct health_about){
		    NULL, json_pack("{s:s}", "partitions", names) },
		    "outboxctl audit list tells who has paused them; outboxctl "
		    "partitions resume --all sends from all again",
		    "paused partitions: %lld (%s): nothing is sent from them",
		    (long long)paused, names);
	if (health_number(p, "expired_ms") > EXPIRED_MS && health_number(
	    json_object_get(h->state, "workers"), "live") > 0)
		health_add(h, HEALTH_UNOWNED_PARTITIONS,
		    (struct health_about){ 0 }, "outboxctl workers names the "
		    "hosts; there outboxctl logs tells what holds their "
		    "workers up",
		    "partitions have no worker: %lld, for up to %s",
		    (long long)health_number(p, "expired"),
		    duration_words(health_number(p, "expired_ms")).text);
}

/* Their rows wait for ever. */
static void
judge_strays(struct health *h)
{
	const json_t	*strays = json_object_get(h->state, "strays");
	long long	 n = health_number(strays, "labels");
	char		 more[80] = "";
	struct buf	 remedy = { 0 };

	if (n == 0)
		return;
	if (n > 1)
		snprintf(more, sizeof(more), "; so do rows under %lld more "
		    "such labels", n - 1);
	buf_printf(&remedy, "correct the labels that the producer writes; this "
	    "gives the rows the label of their key: %s",
	    health_text(strays, "sql"));
	health_add(h, HEALTH_STRAY_LABELS, (struct health_about){
	    NULL, json_pack("{s:O}", "partition",
	    json_object_get(strays, "first")) }, remedy.data,
	    "rows wait under the label %s, which no worker can lease: %s%s",
	    health_text(strays, "first"), health_text(strays, "why"), more);
	buf_free(&remedy);
}

/* Did the message die of itself?  Then it does so again. */
static bool
is_wrong(const char *reason)
{
	return strcmp(reason, "message") == 0;
}

/* What to do about one dead letter; release: an option of its purge. */
static void
put_letter_remedy(struct buf *b, long long sequence, bool wrong,
    const char *release)
{
	if (wrong)
		buf_printf(b, "outboxctl dead show %lld tells what is wrong "
		    "with it; enqueue it anew without that, and outboxctl dead "
		    "purge %lld%s gives it up; outboxctl dead retry %lld helps "
		    "only if a limit or setting was wrong, and is corrected",
		    sequence, sequence, release, sequence);
	else
		buf_printf(b, "outboxctl dead show %lld tells why; then "
		    "outboxctl dead retry %lld sends it again, or outboxctl "
		    "dead purge %lld%s gives it up", sequence, sequence,
		    sequence, release);
}

/* Of several keys one stands for all.  A key may not be recorded. */
static void
judge_halted(struct health *h, const json_t *b)
{
	const char	*key = health_text(b, "key");
	long long	 keys = health_number(b, "keys");
	long long	 head = health_number(b, "head");
	char		 more[80] = "";
	struct buf	 remedy = { 0 };

	if (!json_is_true(json_object_get(b, "purged"))) {
		put_letter_remedy(&remedy, head, is_wrong(health_text(b,
		    "died_of")), " --release");
	} else if (key[0] != '\0') {
		buf_str(&remedy, "outboxctl keys release ");
		display_put_operand(&remedy, key);
	} else {
		buf_str(&remedy, "outboxctl keys blocked names its first "
		    "message; outboxctl keys release KEY lets it go on");
	}
	if (keys > 1)
		snprintf(more, sizeof(more), "; %lld more, see outboxctl keys "
		    "blocked", keys - 1);
	health_add(h, HEALTH_HALTED_KEYS, (struct health_about){
	    health_member(b, "since"), json_pack("{s:s, s:I}", "key", key,
	    "sequence", (json_int_t)head) }, remedy.data,
	    "%s %s is halted behind dead letter %lld%s", key[0] == '\0' ?
	    "a key" : "key", key[0] == '\0' ? "that is not known" : key, head,
	    more);
	buf_free(&remedy);
}

/* What makes the broker tell, and the decision of an operator. */
static void
put_doubt_remedy(const struct health *h, struct buf *b, long long head,
    const char *why)
{
	const char	*stream = h->conf->nats.stream;

	if (why == NULL)
		buf_printf(b, "outboxctl messages show %lld tells why; it goes "
		    "on by itself when the broker tells what is in the stream",
		    head);
	else if (strstr(why, "ermissions Violation") != NULL)
		buf_printf(b, "allow the user in the section nats to publish "
		    "to $JS.API.STREAM.INFO.%s and $JS.API.STREAM.MSG.GET.%s; "
		    "it goes on by itself then", stream, stream);
	else if (strstr(why, "left the stream") == NULL) {
		health_broker_remedy(h->conf, why, b);
		buf_str(b, "; it goes on by itself then");
	}
	buf_printf(b, "%sif you know whether it is in the stream, outboxctl "
	    "messages resolve --sent %lld, or --unsent %lld", b->len > 0 ?
	    "; " : "", head, head);
}

/* Until the stream shows it, or an operator says so, they wait. */
static void
judge_doubt(struct health *h, const json_t *b)
{
	long long	 keys = health_number(b, "keys");
	long long	 head = health_number(b, "head");
	json_int_t	 age_ms = health_number(b, "doubt_ms");
	const char	*why = strstr(health_text(b, "error"), CANNOT_SEARCH);
	char		 age[80] = "", more[80] = "";
	struct buf	 remedy = { 0 };

	if (why != NULL)
		why += strlen(CANNOT_SEARCH);
	if (age_ms > 0)
		snprintf(age, sizeof(age), " for %s",
		    duration_words(age_ms).text);
	if (keys > 1)
		snprintf(more, sizeof(more), "; %lld more keys, see outboxctl "
		    "keys blocked", keys - 1);
	put_doubt_remedy(h, &remedy, head, why);
	health_add(h, HEALTH_IN_DOUBT, (struct health_about){
	    health_member(b, "since"), json_pack("{s:I}", "sequence",
	    (json_int_t)head) }, remedy.data, "message %lld may be in the "
	    "stream already, and the stream does not show whether it is: it "
	    "has been in doubt%s, and its key waits%s%s%s", head, age, more,
	    why == NULL ? "" : ": ", why == NULL ? "" : why);
	buf_free(&remedy);
}

/* Then what is refused is told, and why: by the subject, or by the pause. */
static bool
is_told_here(const struct health *h)
{
	const json_t	*here = json_object_get(h->state, "this_host");
	json_t		*w;
	size_t		 i;

	json_array_foreach(json_object_get(here, "workers"), i, w)
		if (strcmp(health_text(w, "state"), "paused") == 0)
			return true;
	return json_array_size(json_object_get(here, "refused")) > 0;
}

static void
judge_refused(struct health *h, const json_t *b)
{
	const char	*error = health_text(b, "error");
	long long	 keys = health_number(b, "keys");
	const char	*remedy = h->conf->publish.driver == DRIVER_NATS ?
			    health_refusal_remedy(error) : NULL;
	struct health_about about = { .since = health_member(b, "since") };

	if (error[0] == '\0' || strstr(error, "no stream takes") != NULL)
		health_add(h, HEALTH_REFUSED_SUBJECT, about, "outboxctl keys "
		    "blocked names them; add their subjects to a stream",
		    "keys whose subject no stream takes: %lld", keys);
	else
		health_add(h, HEALTH_REFUSED_SUBJECT, about, remedy != NULL ?
		    remedy : "outboxctl keys blocked names them, and "
		    "outboxctl messages show tells why", "keys whose first "
		    "message the destination refuses: %lld: %s", keys, error);
}

/* In place of dead letters: a person has to decide. */
static void
judge_held(struct health *h)
{
	const json_t	*held = json_object_get(h->state, "held");
	const char	*error = health_text(held, "error");
	long long	 first = health_number(held, "first");

	if (health_number(held, "messages") == 0)
		return;
	if (strncmp(error, HELD, strlen(HELD)) == 0)
		error += strlen(HELD);
	health_add(h, HEALTH_HELD, (struct health_about){
	    health_member(held, "since"), json_pack("{s:I}", "sequence",
	    (json_int_t)first) }, "correct what refuses them, then outboxctl "
	    "keys retry --all tries them again; outboxctl keys bury --all "
	    "makes them dead letters, and their keys go on", "messages that "
	    "are held, with their keys, and were to be dead letters: %lld; "
	    "the first is %lld: %s", (long long)health_number(held,
	    "messages"), first, error);
}

static void
judge_blocked(struct health *h)
{
	bool	 told = is_told_here(h);
	json_t	*b;
	size_t	 i;

	json_array_foreach(json_object_get(h->state, "blocked"), i, b) {
		const char	*reason = health_text(b, "reason");

		if (strcmp(reason, "halted") == 0)
			judge_halted(h, b);
		else if (strcmp(reason, "in doubt") == 0)
			judge_doubt(h, b);
		else if (strcmp(reason, "refused") == 0 && !told)
			judge_refused(h, b);
	}
}

/* Of the new dead letters, those that halt a key. */
static json_int_t
count_halting(const struct health *h)
{
	json_int_t	 n = 0;
	json_t		*b;
	size_t		 i;

	json_array_foreach(json_object_get(h->state, "blocked"), i, b)
		n += health_number(b, "new");
	return n;
}

/* Some may be wrong themselves, and others not. */
static void
put_letters_remedy(struct buf *b, const json_t *dead)
{
	json_int_t	 last = health_number(dead, "last");
	json_int_t	 wrong = health_number(dead, "new_wrong");

	if (health_number(dead, "new") == 1)
		put_letter_remedy(b, last, wrong > 0, "");
	else if (wrong > 0)
		buf_str(b, "outboxctl dead groups tells why; enqueue those "
		    "anew that are wrong themselves, and outboxctl dead purge "
		    "--all --group ID gives them up; correct what the others "
		    "died of, then outboxctl dead retry --all --group ID");
	else
		buf_str(b, "outboxctl dead list tells why; then outboxctl "
		    "dead retry --all sends them again, or outboxctl dead "
		    "purge --all gives them up");
}

/* Not those that halt a key: the key is told. */
static void
judge_dead(struct health *h)
{
	const json_t	*dead = json_object_get(h->state, "dead");
	json_int_t	 n = health_number(dead, "new");
	char		 number[DISPLAY_SIZE];
	struct buf	 remedy = { 0 };

	if (n <= count_halting(h))
		return;
	put_letters_remedy(&remedy, dead);
	health_add(h, HEALTH_DEAD_LETTERS, (struct health_about){ 0 },
	    remedy.data, "new dead letters: %s%s",
	    json_is_false(json_object_get(dead, "exact")) ? "at least " : "",
	    display_number(number, n));
	buf_free(&remedy);
}

static void
judge_lost(struct health *h, const json_t *stream)
{
	if (health_number(stream, "lost") == 0)
		return;
	health_add(h, HEALTH_LOST_MESSAGES, (struct health_about){
	    health_member(stream, "lost_at"), json_pack("{s:O, s:O, s:O}",
	    "stream", json_object_get(stream, "name"),
	    "first", json_object_get(stream, "lost_first"),
	    "last", json_object_get(stream, "lost_last")) },
	    "outboxctl stream republish sends them again (--dry-run counts), "
	    "outboxctl stream forget accepts the loss", "stream %s has lost "
	    "%lld messages that it had acknowledged, sequences %lld to %lld, "
	    "and with nats.recover: report nothing is sent again",
	    health_text(stream, "name"),
	    (long long)health_number(stream, "lost"),
	    (long long)health_number(stream, "lost_first"),
	    (long long)health_number(stream, "lost_last"));
}

/* Who removed them on purpose has to say so: it may be damage, too. */
static void
judge_missing_messages(struct health *h, const json_t *stream)
{
	if (health_number(stream, "missing") == 0)
		return;
	health_add(h, HEALTH_MISSING_MESSAGES, (struct health_about){
	    health_member(stream, "missing_at"), json_pack("{s:O, s:O}",
	    "stream", json_object_get(stream, "name"),
	    "holes", json_object_get(stream, "holes")) },
	    "if they were removed on purpose, outboxctl stream forget accepts "
	    "that for good; if not, outboxctl stream republish sends them "
	    "again (--dry-run counts)", "stream %s lacks %lld messages that it "
	    "had acknowledged, sequences %s, and they are not sent again by "
	    "themselves", health_text(stream, "name"),
	    (long long)health_number(stream, "missing"),
	    health_text(stream, "holes"));
}

static void
judge_alarm(struct health *h, const json_t *stream)
{
	if (health_text(stream, "alarm")[0] != '\0')
		health_add(h, HEALTH_STREAM_ALARM, (struct health_about){
		    health_member(stream, "alarm_at"), json_pack("{s:O}",
		    "stream", json_object_get(stream, "name")) },
		    "outboxctl stream republish sends what it lacks "
		    "(--dry-run counts), outboxctl stream forget accepts "
		    "it",
		    "stream %s %s", health_text(stream, "name"),
		    health_text(stream, "alarm"));
}

static void
judge_streams(struct health *h)
{
	json_t	*s;
	size_t	 i;

	json_array_foreach(json_object_get(h->state, "streams"), i, s) {
		judge_lost(h, s);
		judge_missing_messages(h, s);
		judge_alarm(h, s);
		if (health_number(s, "phantoms") > 0)
			health_add(h, HEALTH_PHANTOMS, (struct health_about){
			    health_member(s, "phantom_at"), json_pack("{s:O}",
			    "stream", json_object_get(s, "name")) },
			    "restore the events from the former primary, or "
			    "inform the consumers and delete the messages; "
			    "then outboxctl phantoms forget",
			    "stream %s: %lld phantoms, messages whose events "
			    "this database has lost, by a failover, a restored "
			    "backup or a TRUNCATE, stream sequences %lld to "
			    "%lld", health_text(s, "name"),
			    (long long)health_number(s, "phantoms"),
			    (long long)health_number(s, "phantom_first"),
			    (long long)health_number(s, "phantom_last"));
	}
}

static void
judge_change(struct health *h, const json_t *counts)
{
	int64_t	wait_ms = health_number(counts, "finish_ms");
	char	remedy[160], in[80] = "";

	if (wait_ms > 0)
		snprintf(in, sizeof(in), "in %s at the earliest: ",
		    duration_words(wait_ms).text);
	snprintf(remedy, sizeof(remedy), "%soutboxctl partitions sync "
	    "--finish, when all producers use the new count", in);
	health_add(h, HEALTH_COUNT_CHANGE, (struct health_about){
	    .since = health_member(counts, "since") }, remedy,
	    "the partition count is changed to %lld, and labels of the former "
	    "count are still served", (long long)health_number(counts,
	    "present"));
}

static void
judge_counts(struct health *h)
{
	const json_t	*counts = json_object_get(h->state, "counts");
	const char	*undeclared = health_text(h->state, "undeclared");

	if (undeclared[0] != '\0')
		health_add(h, HEALTH_UNDECLARED_COUNT,
		    (struct health_about){ 0 }, "correct the producer, or "
		    "declare its count: outboxctl partitions sync with that "
		    "count, then with the present one", "%s", undeclared);
	if (json_is_object(counts))
		judge_change(h, counts);
}

static void
judge_rights(struct health *h)
{
	json_t	*r;
	size_t	 i;

	json_array_foreach(json_object_get(h->state, "rights"), i, r)
		health_add(h, json_is_false(json_object_get(r, "needed")) ?
		    HEALTH_OPTIONAL_RIGHTS : HEALTH_RIGHTS,
		    (struct health_about){ 0 },
		    health_text(r, "sql"), "%s: %s", health_text(r, "what"),
		    health_text(r, "cost"));
}

static void
judge_missing(struct health *h)
{
	json_t	*t;
	size_t	 i;

	json_array_foreach(json_object_get(h->state, "missing"), i, t)
		health_add(h, HEALTH_MISSING_TABLE, (struct health_about){
		    NULL, json_pack("{s:O}", "table",
		    json_object_get(t, "table")) },
		    "outboxctl setup --no-event creates it, then outboxctl "
		    "reload", "the table %s is missing, or this account may "
		    "not see it: %s", health_text(t, "table"),
		    health_text(t, "cost"));
}

/* Moments that were written before the clock was put back. */
static void
judge_clock(struct health *h)
{
	const json_t	*clock = json_object_get(h->state, "clock");
	long long	 rows = health_number(clock, "rows");
	long long	 first = health_number(clock, "first");
	long long	 leases = health_number(clock, "leases");
	char		 remedy[160] = "it ends by itself";

	if (rows == 0 && leases == 0)
		return;
	if (rows > 0)
		snprintf(remedy, sizeof(remedy), "correct the clock (NTP), or "
		    "wait; outboxctl messages retry %lld sends one that has "
		    "no claim at once, outboxctl messages retry --all all of "
		    "them", first);
	health_add(h, HEALTH_CLOCK_BACK, (struct health_about){ NULL,
	    json_pack("{s:I}", "sequence", (json_int_t)first) }, remedy,
	    "the clock of the database was put back, or a failover went to a "
	    "server whose clock is behind: messages that wait for a moment "
	    "written before: %lld, for up to %s; leases: %lld", rows,
	    duration_words(health_number(clock, "ahead_ms")).text, leases);
}

/* It was dropped, or an application's table never had it. */
static void
judge_index(struct health *h)
{
	if (json_is_null(json_object_get(h->state, "backlog")) &&
	    !health_has(h, HEALTH_DATABASE))
		health_add(h, HEALTH_MISSING_INDEX, (struct health_about){ 0 },
		    "as an administrator, outboxctl schema upgrade --admin "
		    "root adds it", "the table %s has no index that begins with "
		    "published_at: each claim sorts all that waits, which is "
		    "not counted", conf_outbox_table(h->conf));
}

/* Connections of the daemon set it for themselves; those of others do not. */
#define WAIT_TIMEOUT_S	60

static void
judge_server(struct health *h)
{
	long long	s = health_number(json_object_get(h->state, "server"),
			    "wait_timeout");

	if (s > 0 && s < WAIT_TIMEOUT_S)
		health_add(h, HEALTH_WAIT_TIMEOUT, (struct health_about){ 0 },
		    "SET GLOBAL wait_timeout = 28800, and in my.cnf", "the "
		    "server closes connections that are idle for %lld s "
		    "(wait_timeout): those of the daemon set it higher, but "
		    "a proxy or a pool of producers may lose theirs", s);
}

/* Events with a row in other outboxes, and none in this. */
static void
judge_filling(struct health *h, const json_t *o)
{
	const char	*name = health_text(o, "name");
	long long	 n = health_number(o, "unfilled");

	if (json_is_false(json_object_get(o, "registered")))
		health_add(h, HEALTH_NOT_FILLED, (struct health_about){ 0 },
		    "as an administrator, outboxctl schema install --admin "
		    "root registers it; then outboxctl reconcile for the "
		    "events until then",
		    "other outboxes take the events of %s, and outbox_enqueue "
		    "makes no rows in %s: it is not registered",
		    health_text(o, "events"), name);
	else if (n > 0)
		health_add(h, HEALTH_NOT_FILLED, (struct health_about){
		    NULL, json_pack("{s:O}", "sequence",
		    json_object_get(o, "unfilled_first")) },
		    "outboxctl schema check tells whether the procedure or a "
		    "trigger is missing, and outboxctl schema install --admin "
		    "root makes it, as an administrator; then outboxctl "
		    "reconcile makes the rows",
		    "newest events without a row in %s: %lld, the first is "
		    "%lld: what writes them makes no row in this outbox", name,
		    n, (long long)health_number(o, "unfilled_first"));
}

/* Events that wait, and no worker can see them. */
static void
judge_unsent(struct health *h, const json_t *o)
{
	char	remedy[300];

	snprintf(remedy, sizeof(remedy), "outboxctl reconcile --since %s makes "
	    "the rows; leave them in the table, where outboxctl prune or "
	    "retention.days deletes those that were delivered",
	    health_text(o, "unfilled_since"));
	health_add(h, HEALTH_NOT_FILLED, (struct health_about){
	    NULL, json_pack("{s:O}", "sequence",
	    json_object_get(o, "unfilled_first")) }, remedy,
	    "newest events without a row in %s: %lld, the first is %lld: "
	    "their messages were not sent, and no worker can see them: the "
	    "rows were deleted, or never inserted", health_text(o, "name"),
	    (long long)health_number(o, "unfilled"),
	    (long long)health_number(o, "unfilled_first"));
}

/* Most likely delivered, but reconcile would make their rows again. */
static void
judge_gone(struct health *h, const json_t *o)
{
	char	remedy[400];

	snprintf(remedy, sizeof(remedy), "UPDATE %s SET reconcile_watermark = "
	    "%lld WHERE id = 1, if they were delivered or are not to be sent; "
	    "else outboxctl reconcile makes the rows",
	    health_text(o, "settings"),
	    (long long)health_number(o, "gone_last"));
	health_add(h, HEALTH_ROWS_GONE, (struct health_about){
	    NULL, json_pack("{s:O}", "sequence",
	    json_object_get(o, "gone_first")) }, remedy,
	    "newest events without a row in %s, whose messages were delivered, "
	    "or may have been: %lld, from %lld to %lld: the rows were "
	    "deleted, and reconcile would send them again",
	    health_text(o, "name"), (long long)health_number(o, "gone"),
	    (long long)health_number(o, "gone_first"),
	    (long long)health_number(o, "gone_last"));
}

static void
judge_rows(struct health *h)
{
	const json_t	*o = json_object_get(h->state, "outbox");

	/* It is known where the outbox is alone. */
	if (!json_is_integer(json_object_get(o, "gone"))) {
		judge_filling(h, o);
		return;
	}
	if (health_number(o, "unfilled") > 0)
		judge_unsent(h, o);
	if (health_number(o, "gone") > 0)
		judge_gone(h, o);
}

void
health_judge_fleet(struct health *h)
{
	judge_database(h);
	judge_schema(h);
	judge_workers(h);
	judge_partitions(h);
	judge_strays(h);
	judge_blocked(h);
	judge_held(h);
	judge_dead(h);
	judge_streams(h);
	judge_counts(h);
	judge_rights(h);
	judge_missing(h);
	judge_rows(h);
	judge_clock(h);
	judge_index(h);
	judge_server(h);
}

void
health_judge_backlog(struct health *h)
{
	judge_oldest(h);
	judge_growth(h);
}
