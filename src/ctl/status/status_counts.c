/* status_counts.c - print declared partition counts that are being changed */

#include <stdlib.h>

#include "ctl/state/state.h"
#include "ctl/status/status.h"

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
