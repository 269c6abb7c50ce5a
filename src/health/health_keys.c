/* health_keys.c - messages that are dead or held, and keys that wait */

#include "health/health_impl.h"

#include <stdio.h>
#include <string.h>

#include "util/display.h"
#include "util/duration.h"

/* Part of the error of a message in doubt, before the reason: in_doubt.c. */
#define CANNOT_SEARCH	"cannot be searched for it: "

/* So begins the error of a message that is held: RELAY_HELD. */
#define HELD	"held: "

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
		/* What died of itself does so again. */
		put_letter_remedy(&remedy, head, strcmp(health_text(b,
		    "died_of"), "message") == 0, " --release");
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

/* Until the stream shows it, or an operator says so, they wait. */
static void
judge_doubt(struct health *h, const json_t *b)
{
	long long	 keys = health_number(b, "keys");
	long long	 head = health_number(b, "head");
	json_int_t	 age_ms = health_number(b, "doubt_ms");
	const char	*error = health_text(b, "error");
	const char	*why = strstr(error, CANNOT_SEARCH);
	bool		 topic = strstr(error, "topic " CANNOT_SEARCH) != NULL;
	const char	*place = topic ? "topic" : "stream";
	char		 age[80] = "", more[80] = "";
	char		 info[CONF_API], get[CONF_API];
	struct buf	 remedy = { 0 };

	if (why != NULL)
		why += strlen(CANNOT_SEARCH);
	if (age_ms > 0)
		snprintf(age, sizeof(age), " for %s",
		    duration_words(age_ms).text);
	if (keys > 1)
		snprintf(more, sizeof(more), "; %lld more keys, see outboxctl "
		    "keys blocked", keys - 1);
	if (why == NULL)
		buf_printf(&remedy, "outboxctl messages show %lld tells why; "
		    "it goes on by itself when the broker tells what is in the "
		    "%s", head, place);
	else if (strstr(why, "ermissions Violation") != NULL)
		buf_printf(&remedy, "allow the user in the section nats to "
		    "publish to %s and %s; it goes on by itself then",
		    conf_api(h->conf, "STREAM.INFO.", h->conf->nats.stream,
		    info), conf_api(h->conf, "STREAM.MSG.GET.",
		    h->conf->nats.stream, get));
	else if (strstr(why, "could be read") == NULL &&
	    topic != traits_of(h->conf, NULL)->has_stream) {
		health_broker_remedy(h->conf, why, &remedy);
		buf_str(&remedy, "; it goes on by itself then");
	}
	buf_printf(&remedy, "%sif you know whether it is in the %s, "
	    "outboxctl messages resolve --sent %lld, or --unsent %lld",
	    remedy.len > 0 ? "; " : "", place, head, head);
	health_add(h, HEALTH_IN_DOUBT, (struct health_about){
	    health_member(b, "since"), json_pack("{s:I}", "sequence",
	    (json_int_t)head) }, remedy.data, "message %lld may be in the "
	    "%s already, and that does not show whether it is: it has been in "
	    "doubt%s, and its key waits%s%s%s", head, place, age, more,
	    why == NULL ? "" : ": ", why == NULL ? "" : why);
	buf_free(&remedy);
}

static void
judge_refused(struct health *h, const json_t *b)
{
	const char	*error = health_text(b, "error");
	long long	 keys = health_number(b, "keys");
	const struct driver_traits *to = traits_of(h->conf, NULL);
	const char	*remedy = to->has_stream ?
			    health_refusal_remedy(error) : NULL;
	struct health_about about = { .since = health_member(b, "since") };
	struct buf	 own = { 0 };

	if (health_topic_is_told(h, error)) {
		json_decref(about.since);
		return;
	}
	if (to->has_topics && error[0] != '\0') {
		to->put_remedy(h->conf, NULL, error, &own);
		remedy = own.data;
	}
	if (error[0] == '\0' || strstr(error, "no stream takes") != NULL)
		health_add(h, HEALTH_REFUSED_SUBJECT, about, "outboxctl keys "
		    "blocked names them; add their subjects to a stream",
		    "keys whose subject no stream takes: %lld", keys);
	else
		health_add(h, HEALTH_REFUSED_SUBJECT, about, remedy != NULL ?
		    remedy : "outboxctl keys blocked names them, and "
		    "outboxctl messages show tells why", "keys whose first "
		    "message the destination refuses: %lld: %s", keys, error);
	buf_free(&own);
}

/* New dead letters; one that halts a key is told with its key instead. */
static void
judge_dead(struct health *h)
{
	const json_t	*dead = json_object_get(h->state, "dead");
	json_int_t	 n = health_number(dead, "new"), halting = 0;
	json_int_t	 wrong = health_number(dead, "new_wrong");
	struct buf	 remedy = { 0 };
	json_t		*b;
	size_t		 i;

	json_array_foreach(json_object_get(h->state, "blocked"), i, b)
		halting += health_number(b, "new");
	if (n <= halting)
		return;
	if (n == 1)
		put_letter_remedy(&remedy, health_number(dead, "last"),
		    wrong > 0, "");
	else if (wrong > 0)
		buf_str(&remedy, "outboxctl dead groups tells why; enqueue "
		    "those anew that are wrong themselves, and outboxctl dead "
		    "purge --all --group ID gives them up; correct what the "
		    "others died of, then outboxctl dead retry --all --group "
		    "ID");
	else
		buf_str(&remedy, "outboxctl dead list tells why; then "
		    "outboxctl dead retry --all sends them again, or outboxctl "
		    "dead purge --all gives them up");
	health_add(h, HEALTH_DEAD_LETTERS, (struct health_about){ 0 },
	    remedy.data, "new dead letters: %s%s",
	    json_is_false(json_object_get(dead, "exact")) ? "at least " : "",
	    DISPLAY_NUMBER(n));
	buf_free(&remedy);
}

void
health_judge_keys(struct health *h)
{
	const json_t	*here = json_object_get(h->state, "this_host");
	bool		 told = json_array_size(json_object_get(here,
			    "refused")) > 0;
	json_t		*w, *b;
	size_t		 i;
	const json_t	*held;
	const char	*error;
	long long	 first;

	/* Then a refusal is told, and why: by its subject, or by the pause. */
	json_array_foreach(json_object_get(here, "workers"), i, w)
		told = told || strcmp(health_text(w, "state"), "paused") == 0;
	json_array_foreach(json_object_get(h->state, "blocked"), i, b) {
		const char	*reason = health_text(b, "reason");

		if (strcmp(reason, "halted") == 0)
			judge_halted(h, b);
		else if (strcmp(reason, "in doubt") == 0)
			judge_doubt(h, b);
		else if (strcmp(reason, "refused") == 0 && !told)
			judge_refused(h, b);
	}
	/* In place of dead letters: a person has to decide. */
	held = json_object_get(h->state, "held");
	error = health_text(held, "error");
	first = health_number(held, "first");
	if (health_number(held, "messages") != 0) {
		if (strncmp(error, HELD, strlen(HELD)) == 0)
			error += strlen(HELD);
		health_add(h, HEALTH_HELD, (struct health_about){
		    health_member(held, "since"), json_pack("{s:I}", "sequence",
		    (json_int_t)first) }, "correct what refuses them, then "
		    "outboxctl keys retry --all tries them again; outboxctl "
		    "keys bury --all makes them dead letters, and their keys "
		    "go on", "messages that are held, with their keys, and "
		    "were to be dead letters: %lld; the first is %lld: %s",
		    health_number(held, "messages"), first, error);
	}
	judge_dead(h);
}
