/* new_stream.c - see new_stream.h */

#include "nats/new_stream.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "util/buf.h"

#define MS_NS		INT64_C(1000000)
#define NOT_FOUND	10059		/* err_code of the server */

int
new_stream_subject(struct new_stream *n, const char *template, struct err *e)
{
	size_t	len = strcspn(template, "{");

	while (len > 0 && template[len] != '\0' && template[len - 1] != '.')
		len--;
	if (len == 0)
		return err_set(e, "nats.subject \"%s\" begins with a "
		    "placeholder, and no stream can take all subjects: put a "
		    "word in front of it, such as events.{event_type}",
		    template);
	if (len + 2 > sizeof(n->subject))
		return err_set(e, "nats.subject is too long");
	snprintf(n->subject, sizeof(n->subject), "%.*s%s", (int)len, template,
	    template[len] == '\0' ? "" : ">");
	return 0;
}

/* If it is full, the messages wait in the outbox: hence "discard". */
char *
new_stream_body(const struct new_stream *n, const char *name)
{
	json_t	*o = json_pack("{s:s, s:[s], s:s, s:s, s:s, s:I, s:I}",
		    "name", name, "subjects", n->subject,
		    "retention", "limits", "storage", "file",
		    "discard", "new", "num_replicas", (json_int_t)n->replicas,
		    "duplicate_window",
		    (json_int_t)(n->dedup_window_ms * MS_NS));
	char	*text = json_dumps(o, JSON_COMPACT | JSON_PRESERVE_ORDER);

	json_decref(o);
	return text;
}

/* Does the pattern match all subjects that the other one matches? */
static bool
includes(const char *pattern, const char *other)
{
	for (;;) {
		size_t	p = strcspn(pattern, "."), o = strcspn(other, ".");

		if (p == 1 && pattern[0] == '>')
			return true;
		if (o == 1 && other[0] == '>')
			return false;
		if (!(p == 1 && pattern[0] == '*') &&
		    (p != o || memcmp(pattern, other, p) != 0))
			return false;
		if (pattern[p] == '\0' || other[o] == '\0')
			return pattern[p] == other[o];
		pattern += p + 1;
		other += o + 1;
	}
}

static void
compare_word(struct buf *b, const json_t *config, const char *name,
    const char *wanted)
{
	const char	*is = json_string_value(json_object_get(config, name));

	if (is == NULL || strcmp(is, wanted) != 0)
		buf_printf(b, "%s is %s, not %s; ", name,
		    is == NULL ? "unknown" : is, wanted);
}

static void
compare_number(struct buf *b, const json_t *config, const char *name,
    int64_t unit, int64_t wanted, const char *suffix)
{
	int64_t	is = json_integer_value(json_object_get(config, name)) / unit;

	if (is != wanted)
		buf_printf(b, "%s is %lld%s, not %lld%s; ", name,
		    (long long)is, suffix, (long long)wanted, suffix);
}

static enum new_stream_found
compare_config(const struct new_stream *n, const json_t *config, struct err *e)
{
	struct buf	 b = { 0 };
	json_t		*s;
	size_t		 i;
	bool		 has = false;

	json_array_foreach(json_object_get(config, "subjects"), i, s)
		has = has || (json_is_string(s) &&
		    includes(json_string_value(s), n->subject));
	if (!has)
		buf_printf(&b, "subjects lacks \"%s\"; ", n->subject);
	compare_word(&b, config, "retention", "limits");
	compare_word(&b, config, "storage", "file");
	compare_number(&b, config, "num_replicas", 1, n->replicas, "");
	compare_number(&b, config, "duplicate_window", 1000 * MS_NS,
	    n->dedup_window_ms / 1000, " s");
	if (b.len == 0)
		return NEW_STREAM_SAME;
	buf_chop(&b, 2);
	err_set(e, "%s", b.data);
	buf_free(&b);
	return NEW_STREAM_OTHER;
}

enum new_stream_found
new_stream_compare(const struct new_stream *n, const char *body, size_t len,
    struct err *e)
{
	json_t			*info = json_loadb(body, len, 0, NULL);
	json_t			*error = json_object_get(info, "error");
	json_t			*config = json_object_get(info, "config");
	enum new_stream_found	 found = NEW_STREAM_REFUSED;
	const char		*text;
	json_int_t		 code;

	if (error != NULL) {
		text = json_string_value(json_object_get(error, "description"));
		code = json_integer_value(json_object_get(error, "err_code"));
		err_set(e, "%s (%lld)", text == NULL ? "error" : text,
		    (long long)code);
		if (code == NOT_FOUND)
			found = NEW_STREAM_ABSENT;
	} else if (config == NULL)
		err_set(e, "the answer of the broker has no configuration");
	else
		found = compare_config(n, config, e);
	json_decref(info);
	return found;
}
