/* status_counts.c - print declared partition counts that are being changed */

#include <stdlib.h>

#include "ctl/state/state.h"
#include "ctl/status/status.h"

void
status_say_counts(const json_t *status, json_t *out)
{
	static const char	 how[] = "partitions sync --finish, when all "
				     "producers use the present count";
	const json_t	*counts = json_object_get(status, "counts"), *f;
	struct counts	 k = { .count = (unsigned)member_number(counts,
			    "present") };
	const char	*since = member_text(counts, "since");
	const char	*at = member_text(counts, "sent_at");
	const char	*here = member_text(counts, "sent_here_at");
	json_int_t	 left = member_number(counts, "finish_ms");
	char		*text_of;
	json_t		*span;
	size_t		 i;

	if (!json_is_object(counts))
		return;
	json_array_foreach(json_object_get(counts, "former"), i, f)
		k.former[k.nformer++] = (unsigned)json_integer_value(f);
	text_of = state_counts_text(&k);
	json_object_set_new(out, "counts", json_sprintf("%s; changed: %s",
	    text_of, since == NULL ? "never" : since));
	free(text_of);
	json_object_set_new(out, "former", json_sprintf("this host sent %lld "
	    "messages under labels of other counts, the last: %s; the last of "
	    "any host: %s", member_number(counts, "sent_here"),
	    here == NULL ? "never" : here, at == NULL ? "never" : at));
	span = span_json(left);
	json_object_set_new(out, "to do", left > 0 ?
	    json_sprintf("in %s at the earliest: %s", json_string_value(span),
	    how) : json_string(how));
	json_decref(span);
}
