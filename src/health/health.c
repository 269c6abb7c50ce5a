/* health.c - see health.h */

#include "health/health_impl.h"

#include <string.h>

#include "common/exits.h"

/* In the order of kinds, which is by severity. */
static json_t *
sorted(json_t *problems)
{
	json_t	*out = json_array(), *p;
	size_t	 i;

	for (size_t k = 0; k < NHEALTH; k++)
		json_array_foreach(problems, i, p)
			if (strcmp(health_text(p, "id"), health_table[k].id) == 0)
				json_array_append(out, p);
	json_decref(problems);
	return out;
}

json_t *
health_judge(const struct conf *conf, const json_t *state)
{
	struct health	h = { .conf = conf, .state = state,
			    .problems = json_array() };

	health_judge_fleet(&h);
	health_judge_broker(&h);
	health_judge_host(&h);
	health_judge_backlog(&h);
	return sorted(h.problems);
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
		if (strcmp(health_text(p, "severity"),
		    health_severities[HEALTH_INFO]) != 0)
			status = 1;
	}
	return status;
}
