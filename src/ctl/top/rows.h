/*
 * rows.h - workers, partitions and destinations as rows for grid.h
 *
 * A row also has "all", the objects it was made of, for a page of its own.
 */
#ifndef OUTBOXCTL_ROWS_H
#define OUTBOXCTL_ROWS_H

#include <jansson.h>

/* round is a document of feed.h, before the this_host of the one before. */
json_t	*rows_of_workers(const json_t *round, const json_t *before);
json_t	*rows_of_partitions(const json_t *round);

/* Of this_host, as status has it; NULL: no daemon runs here. */
json_t	*rows_of_destinations(const json_t *this_host);

/* "host:00" of a worker's id, whose random end is of no use to a reader. */
json_t	*rows_short_id(const char *id);

#endif
