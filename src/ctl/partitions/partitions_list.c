/* partitions_list.c - partitions list: leases and their waiting rows */

#include <string.h>

#include "ctl/state/state.h"
#include "util/display.h"

/* Limit for counting rows of all labels; above it they are estimated. */
#define COUNT	2000

int
partitions_list(struct ctl *c)
{
	const char	*shown[] = { "partition", "state", "owner", "ttl_ms",
			    "epoch", "waiting", "oldest", "age_ms",
			    "obsolete", NULL, NULL };
	char		 number[DISPLAY_SIZE];
	struct err	 e;
	json_t		*rows = state_partitions(c, COUNT, &e), *row;
	size_t		 i;

	if (rows == NULL)
		return ctl_fail(c, &e);
	json_array_foreach(rows, i, row) {
		/* A label that shares its class with others. */
		if (json_is_string(json_object_get(row, "class")))
			shown[9] = "class";
		if (c->args.json)
			continue;
		/* For people: estimates as "~4,000", the oldest row's age. */
		display_number(number, member_number(row, "waiting"));
		if (json_is_false(json_object_get(row, "exact")))
			json_object_set_new(row, "waiting",
			    json_sprintf("~%s", number));
		/* A paused lease ends in years, which means never. */
		if (strcmp(member_text(row, "state"), "paused") == 0)
			json_object_set_new(row, "ttl_ms", json_null());
		json_object_set(row, "age_ms",
		    json_object_get(row, "oldest_ms"));
	}
	print_list(c, shown, rows);
	return CTL_DONE;
}
