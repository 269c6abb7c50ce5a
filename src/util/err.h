/* err.h - an error text, built by the failing function and its callers */
#ifndef OUTBOX_ERR_H
#define OUTBOX_ERR_H

/*
 * One line of text.  The function that fails says what is wrong, each caller
 * may put "where: " before it, and the caller that handles the error logs it
 * once.  A zeroed struct err is empty.  A text that does not fit is cut after
 * a whole character; each byte that is not UTF-8 becomes a question mark, and a
 * line break a blank: servers quote what they were sent.
 */
struct err {
	char	text[512];
};

/* Set the text.  Returns -1, for "return err_set(...)". */
int	err_set(struct err *, const char *, ...)
	    __attribute__((format(printf, 2, 3)));

/* Put "where: " before the text.  Returns -1. */
int	err_in(struct err *, const char *, ...)
	    __attribute__((format(printf, 2, 3)));

#endif
