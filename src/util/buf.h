/* buf.h - a text that grows: statements, JSON lines */
#ifndef OUTBOX_BUF_H
#define OUTBOX_BUF_H

#include <stddef.h>
#include <stdint.h>

/* A zeroed struct buf is empty and ready.  data is NUL-terminated once set. */
struct buf {
	char	*data;
	size_t	 len;
	size_t	 size;
};

void	buf_clear(struct buf *);	/* keeps the memory */
void	buf_free(struct buf *);
char	*buf_reserve(struct buf *, size_t);	/* n free bytes at data + len */
void	buf_add(struct buf *, const void *, size_t);
void	buf_str(struct buf *, const char *);

/* Decimal, and 8 hex digits; no printf, for code run for each message. */
void	buf_u64(struct buf *, uint64_t);
void	buf_hex32(struct buf *, uint32_t);

void	buf_printf(struct buf *, const char *, ...)
	    __attribute__((format(printf, 2, 3)));

/* Remove the last n bytes, such as a trailing comma; n <= len. */
void	buf_chop(struct buf *, size_t n);

#endif
