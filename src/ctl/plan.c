/* plan.c - retry-plan and config, which need no database */

#include <stdio.h>

#include "util/backoff.h"
#include "ctl/base/ctl.h"
#include "ctl/base/screen.h"
#include "ctl/config_json.h"

int
plan_show(struct ctl *c)
{
	static const char *const	 columns[] =
	    { "attempt", "delay", "after", NULL };
	const struct conf		*conf = c->conf;
	json_t				*rows = json_array();
	int64_t				 sum = 0, delay = 0;
	char				 text[120];

	for (int64_t i = 1; i <= conf->retry.max_attempts; i++) {
		json_t *row = json_pack("{s:I, s:o, s:o}",
		    "attempt", (json_int_t)i, "delay", span_json(delay),
		    "after", span_json(sum));

		member_set(row, "delay_ms", delay);
		member_set(row, "after_ms", sum);
		json_array_append_new(rows, row);
		delay = backoff_retry(conf->retry.backoff,
		    conf->retry.max_backoff, 0, (unsigned)i);
		sum += delay;
	}
	print_rows(c, columns, rows);
	snprintf(text, sizeof(text), "After the last attempt the message "
	    "is a dead letter. A delay varies at random, by up to %g %%.",
	    conf->retry.jitter * 100);
	if (!c->args.json)
		screen_put_lines(c, 0, text);
	return CTL_DONE;
}

int
plan_config(struct ctl *c)
{
	if (!c->args.json)
		conf_dump(c->conf, stdout);
	else
		print_object(c, config_json(c->conf));
	return CTL_DONE;
}
