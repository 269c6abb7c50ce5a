/* sync_say.c - the output of partitions sync */

#include <stdio.h>
#include <stdlib.h>

#include "ctl/partitions/leases.h"
#include "ctl/state/state.h"
#include "ctl/partitions/sync.h"
#include "util/display.h"

/* Anybody may have made a lease of any name. */
static void
say_label(const char *lead, const json_t *label)
{
	struct buf	b = { 0 };

	buf_str(&b, json_string_value(label));
	display_clean(b.data);
	display_print(stdout, "%s \"%s\"", lead, b.data);
	buf_free(&b);
}

void
sync_say_labels(const char *what, const json_t *labels)
{
	const json_t	*l;
	size_t		 i;

	if (json_array_size(labels) == 0)
		return;
	display_print(stdout, "%s %s:", what,
	    COUNTED(json_array_size(labels), "lease"));
	json_array_foreach(labels, i, l) {
		if (i == 5 && json_array_size(labels) > 6) {
			l = json_array_get(labels, json_array_size(labels) - 1);
			say_label(" ...", l);
			break;
		}
		say_label("", l);
	}
	putchar('\n');
}

/* Print the counts after the change and the size of their classes. */
void
sync_say_plan(const struct sync *y)
{
	char	*text;

	if (!y->change.changed || y->c->args.json)
		return;
	text = state_counts_text(&y->counts);
	display_print(stdout, "partition count %s from %u to %u\n"
	    "declared after it, until partitions sync --finish: %s\n",
	    y->c->args.dry_run ? "would change" : "is to change",
	    y->change.before.count, y->counts.count, text);
	fflush(stdout);
	free(text);
}

static void
say_obsolete(const struct sync *y)
{
	static const char *const	 shown[] = { "partition", "state",
	    "waiting", "blocked", NULL };
	json_t				*left = json_array(), *o, *n;
	size_t				 i, empty = json_array_size(
					    y->obsolete);

	json_array_foreach(y->obsolete, i, o) {
		if (leases_is_empty(o))
			continue;
		n = json_object_get(o, "waiting");
		if (json_is_false(json_object_get(o, "exact")))
			json_object_set_new(o, "waiting", json_sprintf("%s+",
			    DISPLAY_NUMBER(json_integer_value(n))));
		json_array_append(left, o);
	}
	empty -= json_array_size(left);
	if (empty > json_array_size(y->removed))
		display_print(stdout, "obsolete and empty leases: %zu; "
		    "--prune removes them\n",
		    empty - json_array_size(y->removed));
	if (json_array_size(left) > 0)
		display_print(stdout, "obsolete leases that are kept, as "
		    "their rows are still sent:\n");
	print_rows(y->c, shown, left);
}

void
sync_report(const struct sync *y)
{
	bool		 dry = y->c->args.dry_run;
	char		*text;
	json_int_t	 n = (json_int_t)(json_array_size(y->added) +
			    json_array_size(y->removed)) + y->change.changed;

	if (y->c->args.json) {
		print_object(y->c, json_pack("{s:I, s:b, s:i, s:o, s:i, s:i, "
		    "s:O, s:O, s:O}", "changed", n, "dry_run", dry,
		    "count", (int)y->counts.count,
		    "former", state_former_json(&y->counts),
		    "classes", (int)counts_gcd(&y->counts),
		    "class_size", (int)counts_class_size(&y->counts),
		    "added", y->added, "obsolete", y->obsolete,
		    "removed", y->removed));
		return;
	}
	sync_say_labels(dry ? "would add" : "added", y->added);
	sync_say_labels(dry ? "would remove" : "removed", y->removed);
	/* The change made, or one that is still open from earlier. */
	if (y->change.changed && !dry)
		display_print(stdout, "partition count changed from %u to %u\n",
		    y->change.before.count, y->counts.count);
	if (!y->change.changed && y->counts.nformer > 0) {
		text = state_counts_text(&y->counts);
		display_print(stdout, "declared until partitions sync "
		    "--finish: %s\n", text);
		free(text);
	}
	say_obsolete(y);
	if (n == 0)
		display_print(stdout, "Nothing to do: the leases are as "
		    "configured.\n");
}
