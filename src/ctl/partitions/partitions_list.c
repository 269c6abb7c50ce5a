/* partitions_list.c - partitions list: leases and their waiting rows */

#include "ctl/state/state.h"

/* Limit for counting rows of all labels; above it they are estimated. */
#define COUNT	2000

/* Print estimates as "~4000". */
static void
mark_estimates(json_t *rows)
{
	json_t	*row, *n;
	size_t	 i;

	json_array_foreach(rows, i, row) {
		n = json_object_get(row, "waiting");
		if (json_is_false(json_object_get(row, "exact")))
			json_object_set_new(row, "waiting", json_sprintf(
			    "~%lld", (long long)json_integer_value(n)));
	}
}

/* Does any label share its class with others? */
static bool
have_classes(const json_t *rows)
{
	json_t	*row;
	size_t	 i;

	json_array_foreach(rows, i, row)
		if (json_is_string(json_object_get(row, "class")))
			return true;
	return false;
}

int
partitions_list(struct ctl *c)
{
	const char	*shown[] = { "partition", "state", "owner", "ttl_ms",
			    "epoch", "waiting", "oldest", "oldest_at",
			    "obsolete", NULL, NULL };
	struct err	 e;
	json_t		*rows = state_partitions(c, COUNT, &e);

	if (rows == NULL)
		return ctl_fail(c, &e);
	if (!c->args.json)
		mark_estimates(rows);
	if (have_classes(rows))
		shown[9] = "class";
	print_rows(c, shown, rows);
	return CTL_DONE;
}
