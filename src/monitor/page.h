/* page.h - the files of the dashboard, compiled in from page/ */
#ifndef OUTBOX_MONITOR_PAGE_H
#define OUTBOX_MONITOR_PAGE_H

#include <stddef.h>

struct page_file {
	const char		*path;	/* "/app.js" */
	const char		*type;	/* its Content-Type */
	const unsigned char	*data;
	size_t			 len;
};

/* Until one whose path is NULL. */
extern const struct page_file	page_files[];

#endif
