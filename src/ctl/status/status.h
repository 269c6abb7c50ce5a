/* status.h - shared by the files of status */
#ifndef OUTBOXCTL_STATUS_H
#define OUTBOXCTL_STATUS_H

#include "ctl/base/ctl.h"

/* Print it, as text or as JSON. */
void	status_say(const struct ctl *, json_t *status);

/*
 * status_counts.c: put "counts", null if there is no former one, and a problem
 * if a producer uses a count that is not declared.  -1: see err.
 */
int	status_counts(struct ctl *, json_t *status, struct err *);
void	status_say_counts(const json_t *status, json_t *out);

/* A member of an object; 0 or NULL if there is none. */
static inline json_int_t
status_number(const json_t *o, const char *name)
{
	return json_integer_value(json_object_get(o, name));
}

static inline const char *
status_text(const json_t *o, const char *name)
{
	return json_string_value(json_object_get(o, name));
}

#endif
