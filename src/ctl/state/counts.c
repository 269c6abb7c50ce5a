/*
 * counts.c - declared partition counts, and whether a producer still
 * uses a former one
 */

#include <stdlib.h>
#include <string.h>

#include "ctl/state/state_impl.h"

static json_t *
moment(const char *text)
{
	return text[0] == '\0' ? json_null() : json_string(text);
}

int
state_put_counts(struct ctl *c, json_t *state, struct err *e)
{
	const json_t		*here = json_object_get(state, "this_host");
	struct counts		 k;
	struct former_use	 u;
	char			*straggler;
	const char		*last = "", *at;
	json_int_t		 sent = 0;
	json_t			*w;
	size_t			 i;

	if (state_counts(c, &k, e) < 0 || state_former_use(c, &u, e) < 0 ||
	    state_straggler(c, &k, &u, &straggler, e) < 0)
		return -1;
	json_object_set_new(state, "undeclared", straggler == NULL ?
	    json_null() : json_string(straggler));
	free(straggler);
	if (k.nformer == 0)
		return json_object_set_new(state, "counts", json_null());

	/* Messages that workers of this host have sent under former labels. */
	json_array_foreach(json_object_get(here, "workers"), i, w) {
		sent += member_number(w, "former_labels");
		at = member_text(w, "former_label_at");
		if (at != NULL && strcmp(at, last) > 0)
			last = at;
	}
	json_object_set_new(state, "counts", json_pack(
	    "{s:i, s:o, s:i, s:i, s:o, s:o, s:o, s:I, s:o}",
	    "present", (int)k.count, "former", state_former_json(&k),
	    "classes", (int)counts_gcd(&k),
	    "class_size", (int)counts_class_size(&k),
	    "since", moment(u.since), "sent_at", moment(u.last),
	    "finish_ms", u.noted ? json_integer(u.wait_ms) : json_null(),
	    "sent_here", sent, "sent_here_at", moment(last)));
	return 0;
}
