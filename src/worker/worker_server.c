/* worker_server.c - what the server is: a cluster changes now and then */

#include "worker/worker_impl.h"

#include <string.h>

#include <bsd/string.h>

#include "util/clock.h"
#include "util/log.h"

#define LOOK_MS		10000

int
worker_look_at_server(struct worker *w, struct err *e)
{
	struct server	s;
	char		text[SERVER_TEXT];

	if (store_cluster(w->store, &s, e) < 0)
		return -1;
	server_text(&s, text);
	if (strcmp(text, w->cluster) != 0 &&
	    (s.kind != SERVER_SINGLE || w->cluster[0] != '\0'))
		log_info("database: %s", text);
	strlcpy(w->cluster, text, sizeof(w->cluster));
	w->server_at = s.kind == SERVER_SINGLE ? INT64_MAX :
	    clock_ms() + LOOK_MS;
	return 0;
}
