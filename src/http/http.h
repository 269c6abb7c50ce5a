/*
 * http.h - an HTTP endpoint as a publisher
 *
 * Only this room uses libcurl, which starts threads to resolve names: create it
 * only in a process that will not fork any more.
 */
#ifndef OUTBOX_HTTP_H
#define OUTBOX_HTTP_H

#include "conf/conf.h"
#include "driver/pub.h"

/* conf is borrowed; name is not used. */
struct pub	http_new(const struct conf *, const char *name);

#endif
