/* pub_lacks.c - see pub_lacks.h */

#include "driver/pub_lacks.h"

static const char	keeps_none[] = "this destination keeps no messages "
			    "that could be looked up";

bool
pub_reaches(void *arg, const char *endpoint, struct err *e)
{
	(void)arg;
	(void)endpoint;
	(void)e;
	return true;
}

bool
pub_no_caution(void *arg, struct err *e)
{
	(void)arg;
	(void)e;
	return false;
}

bool
pub_no_check(void *arg, struct stream_report *r, struct err *e)
{
	(void)arg;
	(void)e;
	*r = (struct stream_report){ .unfit = false };
	return true;
}

bool
pub_no_state(void *arg, struct stream_state *st, struct err *e)
{
	(void)arg;
	*st = (struct stream_state){ .answer = STREAM_UNKNOWN };
	err_set(e, "%s", keeps_none);
	return false;
}

int
pub_no_stored(void *arg, const char *prefix, struct stored_message *m, size_t n,
    const struct pub_go_on *go_on, struct err *e)
{
	(void)arg;
	(void)prefix;
	(void)m;
	(void)n;
	(void)go_on;
	return err_set(e, "%s", keeps_none);
}

void
pub_no_find(void *arg, const char *prefix, struct pub_sought *x, size_t n,
    int64_t end, const struct pub_go_on *go_on)
{
	(void)arg;
	(void)prefix;
	(void)end;
	(void)go_on;
	for (size_t i = 0; i < n; i++) {
		x[i].found = FOUND_UNKNOWN;
		err_set(&x[i].why, "%s", keeps_none);
	}
}

bool
pub_no_removed(void *arg, struct stream_removed *r, struct err *e)
{
	*r = (struct stream_removed){ .deleted.n = 0 };
	return pub_no_state(arg, &r->state, e);
}

void
stream_removed_free(struct stream_removed *r)
{
	sequence_set_free(&r->deleted);
	sequence_set_free(&r->damaged);
}

int64_t
pub_no_limit(void *arg)
{
	(void)arg;
	return INT64_MAX;
}

int64_t
pub_none_unread(void *arg)
{
	(void)arg;
	return 0;
}

void
pub_no_proceed(void *arg, const struct pollfd *fds, size_t n)
{
	(void)arg;
	(void)fds;
	(void)n;
}

bool
pub_no_wakeup(void *arg)
{
	(void)arg;
	return false;
}

enum error_class
pub_no_complaint(void *arg, enum pub_about about, struct err *e)
{
	(void)arg;
	(void)about;
	(void)e;
	return CLASS_NONE;
}

void
pub_no_tell(void *arg, const char *subject, const char *text)
{
	(void)arg;
	(void)subject;
	(void)text;
}
