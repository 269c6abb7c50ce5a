/* hosts.c - hosts that stand back, and hosts that vanished, by their workers */

#include <stdlib.h>
#include <string.h>

#include "common/away.h"
#include "ctl/state/state_impl.h"
#include "util/xalloc.h"

static bool
is_live(const json_t *worker)
{
	return member_true(worker, "live");
}

/* The object of this host in the list; a new one counts no workers yet. */
static json_t *
host_of(json_t *list, const char *host)
{
	json_t	*o = state_find(list, "host", host);

	if (o == NULL) {
		o = json_pack("{s:s, s:i}", "host", host, "workers", 0);
		json_array_append_new(list, o);
	}
	return o;
}

static void
count_one(json_t *host)
{
	member_add(host, "workers", 1);
}

/* What is away for the worker, "NATS, hook", and not in doubt. */
static json_t *
away_json(const char *list)
{
	struct buf	 b = { 0 };
	const char	*name;
	size_t		 len;
	json_t		*text;

	buf_str(&b, "");
	while ((name = away_next(&list, &len)) != NULL)
		buf_printf(&b, "%s%.*s", b.len > 0 ? ", " : "", (int)len, name);
	text = json_string(b.data);
	buf_free(&b);
	return text;
}

json_t *
state_hosts_back(const json_t *workers)
{
	size_t		  n = 0, k = 0, i;
	const char	**lists = xcalloc(json_array_size(workers) + 1,
			    sizeof(*lists));
	bool		 *back = xcalloc(json_array_size(workers) + 1,
			    sizeof(*back));
	json_t		 *list = json_array(), *w, *host;

	json_array_foreach(workers, i, w)
		if (is_live(w))
			lists[n++] = member_text(w, "away");
	away_judge(lists, n, back);
	json_array_foreach(workers, i, w) {
		if (!is_live(w) || !back[k++])
			continue;
		host = host_of(list, member_text(w, "host"));
		count_one(host);
		json_object_set_new(host, "away",
		    away_json(member_text(w, "away")));
	}
	free(lists);
	free(back);
	return list;
}

json_t *
state_hosts_vanished(const json_t *workers)
{
	json_t		*list = json_array(), *live = json_object(), *w, *host;
	const char	*name, *until;
	size_t		 i;

	json_array_foreach(workers, i, w)
		if (is_live(w) && member_text(w, "host") != NULL)
			json_object_set_new(live, member_text(w, "host"),
			    json_true());
	json_array_foreach(workers, i, w) {
		name = member_text(w, "host");
		if (name == NULL || json_object_get(live, name) != NULL)
			continue;
		host = host_of(list, name);
		count_one(host);
		/* Times as text are sorted as times. */
		until = member_text(w, "heartbeat_until");
		if (member_text(host, "since") == NULL ||
		    strcmp(member_text(host, "since"), until) < 0)
			json_object_set_new(host, "since", json_string(until));
	}
	json_decref(live);
	return list;
}
