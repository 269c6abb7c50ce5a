/*
 * paths.c - the table of paths, and what is asked of outboxctl for each
 *
 * A value from a request becomes the value of an option that is known here, or
 * is a number, so none of them is taken for an option or a word.
 */

#include "monitor/monitor_impl.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bsd/stdlib.h>

#include "monitor/metrics.h"
#include "monitor/page.h"
#include "monitor/throughput.h"
#include "util/utf8.h"

#define WORDS_MAX		4
#define VALUE_MAX		1024	/* bytes */
#define LIMIT_MAX		1000	/* rows of a list */

#define FILTERS		"key", "type", "partition", "since", "until"

static void	answer_status(struct request *);
static void	answer_problems(struct request *);
static void	answer_session(struct request *);
static void	answer_throughput(struct request *);
static void	answer_metrics(struct request *);

/* Each has words, or a function of its own. */
static const struct path {
	const char	*path;
	void		(*answer)(struct request *);
	bool		 has_state;	/* answer is called with a state */
	const char	*words[WORDS_MAX + 1];
	const char	*other;		/* first word with state=dead */
	const char	*query[10];
} paths[] = {
	{ "/healthz", .answer = probe_health },
	{ "/readyz", .answer = probe_ready, .query = { "severity" } },
	{ "/api/status", .answer = answer_status, .has_state = true },
	{ "/api/problems", .answer = answer_problems, .has_state = true },
	{ "/api/events", .answer = events_begin },
	{ "/api/session", .answer = answer_session },
	{ "/api/throughput", .answer = answer_throughput },
	{ "/metrics", .answer = answer_metrics, .has_state = true },
	{ "/api/workers", .words = { "workers" } },
	{ "/api/partitions", .words = { "partitions", "list" } },
	{ "/api/messages", .words = { "messages", "list" }, .other = "dead",
	  .query = { "state", FILTERS, "after", "limit" } },
	{ "/api/dead/groups", .words = { "dead", "groups" },
	  .query = { FILTERS, "limit" } },
	{ "/api/dead", .words = { "dead", "list" },
	  .query = { FILTERS, "group", "after", "limit" } },
	{ "/api/keys", .words = { "keys", "blocked" },
	  .query = { "after", "limit" } },
	{ "/api/audit", .words = { "audit", "list" },
	  .query = { "command", "user", "since", "until", "after", "limit" } },
};

/* --- the state -------------------------------------------------------------- */

/* The document, or NULL with an answer that tells why there is none. */
static json_t *
state_of(struct request *r)
{
	const struct snapshot	*s = &r->monitor->questions.state;

	if (snapshot_is_fresh(s, r->monitor->now, SNAPSHOT_OLD_MS))
		return s->document;
	answer_error(r, MHD_HTTP_SERVICE_UNAVAILABLE, s->why.text[0] == '\0' ?
	    "outboxctl gives no answer" : s->why.text,
	    "see the log of the daemon");
	return NULL;
}

static void
answer_status(struct request *r)
{
	struct monitor	*m = r->monitor;
	struct snapshot	*s = &m->questions.state;
	const json_t	*state = state_of(r);

	if (state == NULL)
		return;
	if (s->text == NULL)
		s->text = shared_text_json(&m->state_texts, state);
	answer_shared(r, MHD_HTTP_OK, "application/json", s->text == NULL ?
	    NULL : shared_text_hold(s->text));
}

static void
answer_problems(struct request *r)
{
	json_t	*state = state_of(r);

	if (state != NULL)
		answer_value(r, MHD_HTTP_OK, json_object_get(state,
		    "problems"));
}

/* What the page may show and do. */
static void
answer_session(struct request *r)
{
	const struct monitor	*m = r->monitor;
	const char		*user = r->who.name[0] == '\0' ||
				    strcmp(r->who.name, CONF_NOBODY) == 0 ?
				    NULL : r->who.name;
	json_t			*may = json_array(), *v;

	for (int i = 0; i < CONF_ACTIONS; i++)
		if ((r->who.may & 1U << i) != 0)
			json_array_append_new(may,
			    json_string(conf_actions[i]));
	v = json_pack("{s:s, s:s, s:b, s:b, s:b, s:s?, s:b, s:o}",
	    "version", PACKAGE_VERSION, "host", m->host, "token_required",
	    m->a->conf->monitor.require_token, "actions", guard_may_change(m),
	    "authorized", r->is_known, "user", user,
	    "by_proxy", r->by_proxy, "may", may);
	answer_value(r, MHD_HTTP_OK, v);
	json_decref(v);
}

static void
answer_throughput(struct request *r)
{
	json_t	*v = throughput_json(r->monitor->a->scoreboard, time(NULL));

	answer_value(r, MHD_HTTP_OK, v);
	json_decref(v);
}

/* With the state that is there, whatever its age. */
static void
write_metrics(struct request *r, const json_t *partitions)
{
	const struct monitor	*m = r->monitor;
	const struct snapshot	*s = &m->questions.state;
	struct metrics_from	 from = { .scoreboard = m->a->scoreboard,
				    .up = probe_is_alive(m, NULL),
				    .ready = probe_is_ready(m),
				    .state = s->document,
				    .state_age_ms = m->now - s->at,
				    .partitions = partitions };
	struct buf		 b = { 0 };

	metrics_write(&b, &from);
	answer_text(r, MHD_HTTP_OK, METRICS_TYPE, b.data, b.len);
	buf_free(&b);
}

static void
answer_partition_metrics(struct request *r)
{
	const struct question	*q = r->question;

	write_metrics(r, q != NULL && q->exit == 0 ? q->result : NULL);
}

static void
answer_metrics(struct request *r)
{
	if (snapshot_is_fresh(&r->monitor->questions.state, r->monitor->now,
	    SNAPSHOT_OLD_MS))
		ask_outboxctl(r, QUESTION_QUERY, json_pack("[s, s]",
		    "partitions", "list"), answer_partition_metrics);
	else
		write_metrics(r, NULL);
}

/* --- the query -------------------------------------------------------------- */

/* Only parameters of the table, each once, and no value too long. */
static bool
is_query_fine(struct request *r, const struct path *p)
{
	for (size_t i = 0; i < r->nquery; i++) {
		const char		*name = r->names[i];
		const char		*value = r->values[i];
		const char *const	*known = p->query;

		while (*known != NULL && strcmp(*known, name) != 0)
			known++;
		if (*known == NULL)
			return answer_misuse(r, "unknown", name,
			    "unknown parameter");
		if (!utf8_is_valid(value, strlen(value)))
			return answer_misuse(r, "value", name, "no UTF-8");
		if (strlen(value) > VALUE_MAX)
			return answer_misuse(r, "value", name,
			    "longer than %d bytes", VALUE_MAX);
		/* Without a bound a list would be as large as the table. */
		if (strcmp(name, "limit") == 0 && *value != '\0' &&
		    strtonum(value, 1, LIMIT_MAX, NULL) == 0)
			return answer_misuse(r, "value", name,
			    "not a number from 1 to %d", LIMIT_MAX);
		for (size_t k = 0; k < i; k++)
			if (strcmp(r->names[k], name) == 0)
				return answer_misuse(r, "choice", name,
				    "given twice");
	}
	return true;
}

/* --key=VALUE for each parameter; an empty one is none. */
static json_t *
words_of(const struct request *r, const struct path *p)
{
	bool	 other = false;
	json_t	*words = json_array();

	for (size_t i = 0; i < r->nquery && p->other != NULL; i++)
		other = other || (strcmp(r->names[i], "state") == 0 &&
		    strcmp(r->values[i], p->other) == 0);
	for (const char *const *w = p->words; *w != NULL; w++)
		json_array_append_new(words, json_string(other &&
		    w == p->words ? p->other : *w));
	for (size_t i = 0; i < r->nquery; i++) {
		if (r->values[i][0] == '\0' ||
		    (other && strcmp(r->names[i], "state") == 0))
			continue;
		json_array_append_new(words, json_sprintf("--%s=%s",
		    r->names[i], r->values[i]));
	}
	return words;
}

/* --- one message ------------------------------------------------------------ */

static json_t *
show_words(const char *group, const char *sequence)
{
	return json_pack("[s, s, s, s]", group, "show", "--payload", sequence);
}

/* Of a message that can never be sent the exit status is 1, too. */
static bool
has_details(const struct request *r)
{
	return r->question != NULL &&
	    json_object_get(r->question->result, "sequence") != NULL;
}

static void
answer_letter(struct request *r)
{
	const struct question	*q = r->question;

	if (has_details(r))
		answer_question(r, MHD_HTTP_OK);
	else if (q != NULL && q->exit == 1)
		answer_error(r, MHD_HTTP_NOT_FOUND, "there is no such message, "
		    "nor a dead letter", NULL);
	else
		ask_answer(r);
}

/* It is no message of the outbox: a dead letter has the same sequence. */
static void
answer_message(struct request *r)
{
	const char	*sequence = strrchr(r->path, '/') + 1;

	if (has_details(r) || r->question == NULL || r->question->exit != 1)
		answer_letter(r);
	else
		ask_outboxctl(r, QUESTION_QUERY, show_words("dead", sequence),
		    answer_letter);
}

static void
show_message(struct request *r, const char *sequence)
{
	const char	*error;

	strtonum(sequence, 1, INT64_MAX, &error);
	if (error == NULL && r->nquery == 0 &&
	    strspn(sequence, "0123456789") == strlen(sequence))
		ask_outboxctl(r, QUESTION_QUERY, show_words("messages",
		    sequence), answer_message);
	else
		answer_error(r, MHD_HTTP_BAD_REQUEST, "this is no sequence",
		    NULL);
}

/* --- all of them ------------------------------------------------------------ */

/* The rest of the path behind a start; NULL: it has another one. */
static const char *
after(const char *path, const char *start)
{
	size_t	n = strlen(start);

	return strncmp(path, start, n) == 0 ? path + n : NULL;
}

void
paths_route(struct request *r)
{
	const struct path	*p = paths;
	const struct path	*end = p + sizeof(paths) / sizeof(*p);
	const char		*rest, *page;

	if (strcmp(r->method, "POST") == 0) {
		if ((rest = after(r->path, "/api/actions/")) != NULL)
			actions_route(r, rest);
		else
			answer_error_header(r, MHD_HTTP_METHOD_NOT_ALLOWED,
			    "this path is only read", NULL, "Allow",
			    "GET, HEAD");
		return;
	}
	while (p < end && strcmp(r->path, p->path) != 0)
		p++;
	if (p < end) {
		if (!is_query_fine(r, p))
			return;
		if (p->has_state)
			wait_for_state(r, p->answer);
		else if (p->answer != NULL)
			p->answer(r);
		else
			ask_outboxctl(r, QUESTION_QUERY, words_of(r, p),
			    ask_answer);
		return;
	}
	if ((rest = after(r->path, "/api/messages/")) != NULL) {
		show_message(r, rest);
		return;
	}
	if (after(r->path, "/api/actions/") != NULL) {
		answer_error_header(r, MHD_HTTP_METHOD_NOT_ALLOWED,
		    "an action is posted", NULL, "Allow", "POST");
		return;
	}
	page = strcmp(r->path, "/") == 0 ? "/index.html" : r->path;
	for (const struct page_file *f = page_files; f->path != NULL; f++)
		if (strcmp(f->path, page) == 0) {
			answer_static(r, f->type, f->data, f->len);
			return;
		}
	answer_error(r, MHD_HTTP_NOT_FOUND, "there is no such path",
	    "see /openapi.json");
}
