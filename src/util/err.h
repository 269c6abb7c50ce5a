/* err.h - a message on its way up to whoever can act on it */
#ifndef OUTBOX_ERR_H
#define OUTBOX_ERR_H

/*
 * One line of text, built from the inside out: the leaf says what is wrong,
 * each caller may put "where: " before it, and whoever can act logs it once.
 * A zeroed struct err is an empty message.  Texts that do not fit are cut at
 * a character, and what is not UTF-8 becomes a question mark.
 */
struct err {
	char	text[512];
};

/* Start the text anew.  Returns -1, so that "return err_set(...)" reads. */
int	err_set(struct err *, const char *, ...)
	    __attribute__((format(printf, 2, 3)));

/* Put "where: " before the text.  Returns -1. */
int	err_in(struct err *, const char *, ...)
	    __attribute__((format(printf, 2, 3)));

#endif
