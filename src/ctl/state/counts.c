/*
 * counts.c - declared partition counts, and whether a producer still
 * uses a former one
 */

#include <stdlib.h>
#include <string.h>

#include "ctl/state/state_impl.h"

/* Messages that workers of this host have sent under former labels. */
static void
put_sent_here(const json_t *state, json_t *counts)
{
	const json_t	*last = NULL, *at;
	json_int_t	 n = 0;
	json_t		*w;
	size_t		 i;

	json_array_foreach(json_object_get(json_object_get(state, "this_host"),
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
put_declared(json_t *state, const struct counts *k,
    const struct former_use *u)
{
	json_t	*counts = json_pack("{s:i, s:o, s:i, s:i, s:o, s:o, s:o}",
	    "present", (int)k->count, "former", state_former_json(k),
	    "classes", (int)counts_gcd(k),
	    "class_size", (int)counts_class_size(k),
	    "since", moment(u->since), "sent_at", moment(u->last),
	    "finish_ms", u->noted ? json_integer(u->wait_ms) : json_null());

	put_sent_here(state, counts);
	json_object_set_new(state, "counts", counts);
}

int
state_put_counts(struct ctl *c, json_t *state, struct err *e)
{
	struct counts		 k;
	struct former_use	 u;
	char			*straggler;

	if (state_counts(c, &k, e) < 0 || state_former_use(c, &u, e) < 0 ||
	    state_straggler(c, &k, &u, &straggler, e) < 0)
		return -1;
	json_object_set_new(state, "undeclared", straggler == NULL ?
	    json_null() : json_string(straggler));
	free(straggler);
	if (k.nformer > 0)
		put_declared(state, &k, &u);
	else
		json_object_set_new(state, "counts", json_null());
	return 0;
}
