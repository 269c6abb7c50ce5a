/* status.h - between status.c and status_say.c */
#ifndef OUTBOXCTL_STATUS_H
#define OUTBOXCTL_STATUS_H

#include "ctl.h"

/* Print it: to people, or as JSON. */
void	status_say(const struct ctl *, json_t *status);

/* Of an object; 0 and NULL where there is none. */
static inline json_int_t
number(const json_t *o, const char *name)
{
	return json_integer_value(json_object_get(o, name));
}

static inline const char *
text(const json_t *o, const char *name)
{
	return json_string_value(json_object_get(o, name));
}

#endif
