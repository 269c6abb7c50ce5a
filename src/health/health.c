/* health.c - see health.h */

#include "health/health_impl.h"

#include <string.h>

#include "common/exits.h"

/* Those that are advice, or are not, in the order of kinds: by severity. */
static json_t *
sorted(const json_t *found, bool advice)
{
	json_t	*out = json_array(), *p;
	size_t	 i;

	for (size_t k = 0; k < NHEALTH; k++)
		json_array_foreach(found, i, p)
			if (strcmp(health_text(p, "id"),
			    health_table[k].id) == 0 && advice ==
			    (health_table[k].severity == HEALTH_ADVICE))
				json_array_append(out, p);
	return out;
}

void
health_judge(const struct conf *conf, json_t *state)
{
	struct health	h = { .conf = conf, .state = state,
			    .problems = json_array() };

	health_judge_database(&h);
	health_judge_cluster(&h);
	health_judge_fleet(&h);
	health_judge_broker(&h);
	health_judge_keys(&h);
	health_judge_host(&h);
	health_judge_backlog(&h);
	json_object_set_new(state, "problems", sorted(h.problems, false));
	json_object_set_new(state, "advice", sorted(h.problems, true));
	json_decref(h.problems);
}

int
health_exit(const json_t *problems)
{
	json_t	*p;
	size_t	 i;
	int	 status = 0;

	json_array_foreach(problems, i, p) {
		const char *id = health_text(p, "id");

		if (strcmp(id, health_table[HEALTH_CONFIGURATION].id) == 0 ||
		    strcmp(id, health_table[HEALTH_WRONG_FILE].id) == 0)
			return EXIT_CONFIG;
		if (strcmp(id, health_table[HEALTH_DATABASE].id) == 0)
			return 3;
		status = 1;
	}
	return status;
}
