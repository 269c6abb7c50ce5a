/* utf8.h - texts that come from outside, made fit for logs and columns */
#ifndef OUTBOX_UTF8_H
#define OUTBOX_UTF8_H

/*
 * Replace each byte that is not part of well-formed UTF-8 by a question
 * mark.  A strict server refuses a whole write-back for one such byte.
 */
void	utf8_clean(char *);

#endif
