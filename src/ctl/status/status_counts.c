/*
 * status_counts.c - declared partition counts, and whether a producer still
 * uses a former one
 */

#include <stdlib.h>
#include <string.h>

#include "ctl/state/state.h"
#include "ctl/status/status.h"

/* Messages that workers of this host have sent under former labels. */
static void
put_sent_here(const json_t *status, json_t *counts)
{
	const json_t	*last = NULL, *at;
	json_int_t	 n = 0;
	json_t		*w;
	size_t		 i;

	json_array_foreach(json_object_get(json_object_get(status, "this_host"),
	    "workers"), i, w) {
		at = json_object_get(w, "former_label_at");
		n += member_number(w, "former_labels");
		if (json_is_string(at) && (last == NULL || strcmp(
		    json_string_value(at), json_string_value(last)) > 0))
			last = at;
	}
	json_object_set_new(counts, "sent_here", json_integer(n));
	json_object_set_new(counts, "sent_here_at", last == NULL ?
	    json_null() : json_string(json_string_value(last)));
}

static json_t *
moment(const char *text)
{
	return text[0] == '\0' ? json_null() : json_string(text);
}

static void
put_status_counts(json_t *status, const struct counts *k,
    const struct former_use *u)
{
	json_t	*counts = json_pack("{s:i, s:o, s:i, s:i, s:o, s:o, s:o}",
	    "present", (int)k->count, "former", state_former_json(k),
	    "classes", (int)counts_gcd(k),
	    "class_size", (int)counts_class_size(k),
	    "since", moment(u->since), "sent_at", moment(u->last),
	    "finish_ms", u->noted ? json_integer(u->wait_ms) : json_null());

	put_sent_here(status, counts);
	json_object_set_new(status, "counts", counts);
}

int
status_counts(struct ctl *c, json_t *status, struct err *e)
{
	struct counts		 k;
	struct former_use	 u;
	char			*straggler;

	if (state_counts(c, &k, e) < 0 || state_former_use(c, &u, e) < 0 ||
	    state_straggler(c, &k, &u, &straggler, e) < 0)
		return -1;
	if (straggler != NULL)
		json_array_append_new(json_object_get(status, "problems"),
		    json_string(straggler));
	free(straggler);
	if (k.nformer > 0)
		put_status_counts(status, &k, &u);
	else
		json_object_set_new(status, "counts", json_null());
	return 0;
}

/* The same as text */

static void
say_use(const json_t *counts, json_t *out)
{
	const char	*at = member_text(counts, "sent_at");
	const char	*here = member_text(counts, "sent_here_at");

	json_object_set_new(out, "former", json_sprintf("this host sent %lld "
	    "messages under labels of other counts, the last: %s; the last of "
	    "any host: %s", member_number(counts, "sent_here"),
	    here == NULL ? "never" : here, at == NULL ? "never" : at));
}

static void
say_finish(const json_t *counts, json_t *out)
{
	static const char	 how[] = "partitions sync --finish, when all "
				     "producers use the present count";
	json_t			*left = span_json(member_number(counts,
				    "finish_ms"));

	json_object_set_new(out, "to do",
	    member_number(counts, "finish_ms") > 0 ?
	    json_sprintf("in %s at the earliest: %s", json_string_value(left),
	    how) : json_string(how));
	json_decref(left);
}

void
status_say_counts(const json_t *status, json_t *out)
{
	const json_t	*counts = json_object_get(status, "counts"), *f;
	struct counts	 k = { .count = (unsigned)member_number(counts,
			    "present") };
	char		*text_of;
	size_t		 i;

	if (!json_is_object(counts))
		return;
	json_array_foreach(json_object_get(counts, "former"), i, f)
		k.former[k.nformer++] = (unsigned)json_integer_value(f);
	text_of = state_counts_text(&k);
	json_object_set_new(out, "counts", json_sprintf("%s; changed: %s",
	    text_of, member_text(counts, "since") == NULL ? "never" :
	    member_text(counts, "since")));
	free(text_of);
	say_use(counts, out);
	say_finish(counts, out);
}
