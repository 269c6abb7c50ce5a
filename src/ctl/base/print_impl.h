/* print_impl.h - how a member of an object is shown to people */
#ifndef OUTBOXCTL_PRINT_IMPL_H
#define OUTBOXCTL_PRINT_IMPL_H

#include "ctl/base/ctl.h"
#include "ctl/base/screen.h"

/* Is a member of this name a count? */
bool	print_is_count(const char *name);

/* Its value as text without control characters; the caller frees. */
char	*print_text(const char *name, const json_t *value);

/* Its name without the unit of a duration; the caller frees. */
char	*print_name(const char *name);

/* The colour of its text. */
enum screen_colour print_colour(const char *name, const char *text);

#endif
