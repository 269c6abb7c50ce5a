/* messages.c - messages list: rows of the outbox by state */

#include <assert.h>
#include <string.h>

#include "ctl/base/filter.h"
#include "ctl/base/listing.h"
#include "ctl/messages/messages.h"

void
message_put_filter(struct ctl *c, struct sql time)
{
	const struct filter	f = { .key = SQL("{e.stream_id}"),
	    .type = SQL("{e.event_type}"), .time = time };

	filter_put(c, &f);
	if (c->args.partition != NULL)
		store_put(c->store, " AND COALESCE(:partition, '') "
		    "IN (:labels)", MESSAGE_PARTS(c->store),
		    SQL_PUT("labels", c->store,
		    filter_put_label(c->store, c->args.partition)));
}

bool
message_put_epochs(struct ctl *c, const uint64_t *list, size_t n)
{
	store_sql(c->store, "SELECT DISTINCT COALESCE(:partition, '')"
	    MESSAGE_FROM " WHERE {o.global_sequence} IN (:rows)",
	    MESSAGE_PARTS(c->store), SQL_LIST("rows", list, n));
	return true;
}

static const struct state {
	const char	*name;
	enum cursor_by	 cursor;
	struct sql	 rows;		/* condition for its rows */
	struct sql	 time;		/* --since and --until */
} states[] = {
	{ "pending", CURSOR_WAITING, { MESSAGE_FREE }, { "{e.occurred_at}" } },
	{ "delivering", CURSOR_WAITING, { "{o.published_at} IS NULL AND "
	  "{o.claim_token} IS NOT NULL AND {o.available_at} > NOW(6)" },
	  { "{e.occurred_at}" } },
	{ "delivered", CURSOR_DELIVERED, { "{o.published_at} IS NOT NULL" },
	  { "{o.published_at}" } },
};

/* The first one, if no name is given; NULL: no state of rows has this name. */
static const struct state *
state_of(const char *name)
{
	if (name == NULL)
		return &states[0];
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (strcmp(name, states[i].name) == 0)
			return &states[i];
	return NULL;
}

static const struct rows_column columns[] = {
	{ "sequence", ROWS_NUMBER }, { "state", ROWS_TEXT },
	{ "partition", ROWS_BYTES }, { "key", ROWS_BYTES },
	{ "type", ROWS_BYTES }, { "attempts", ROWS_NUMBER },
	{ "parked", ROWS_BOOL }, { "occurred_at", ROWS_TIME },
	{ "available_at", ROWS_TIME }, { "published_at", ROWS_TIME },
	{ "error", ROWS_TEXT },
};

static const char *const shown[] = { "sequence", "partition", "key", "type",
	"attempts", "parked", "available_at", "error", NULL };
static const char *const shown_delivered[] = { "sequence", "partition", "key",
	"type", "attempts", "published_at", NULL };

static void
select_rows(struct ctl *c, const uint64_t *list, size_t n, struct sql order)
{
	const struct state	*state = state_of(c->args.state);

	assert(state != NULL);	/* messages_list() has refused others */
	store_sql(c->store, "SELECT {o.global_sequence}, :state, :partition, "
	    "{e.stream_id}, {e.event_type}, {o.attempts}, "
	    "COALESCE(" PARKED_IS("{o.partition_key}") ", 0), "
	    "{e.occurred_at}, {o.available_at}, {o.published_at}, "
	    "{o.last_error}" MESSAGE_FROM
	    " WHERE {o.global_sequence} IN (:rows) AND :in_state:filter "
	    "ORDER BY :order", MESSAGE_PARTS(c->store),
	    SQL_TEXT("state", state->name), SQL_LIST("rows", list, n),
	    SQL_PART("in_state", state->rows),
	    SQL_PUT("filter", c->store, message_put_filter(c, state->time)),
	    SQL_PART("order", order));
}

int
messages_list(struct ctl *c)
{
	const struct state	*state = state_of(c->args.state);
	struct listing		 l = { columns,
	    sizeof(columns) / sizeof(columns[0]), shown, select_rows, NULL };
	struct err		 e;
	enum cursor_by		 by;

	if (c->args.state != NULL && strcmp(c->args.state, "dead") == 0)
		return dead_list(c);
	if (state == NULL)
		return ctl_misuse_value("state", "\"%s\" is not pending, "
		    "delivering, delivered or dead", c->args.state);
	by = c->args.key != NULL ? CURSOR_KEY : state->cursor;
	if (state->cursor == CURSOR_DELIVERED)
		l.shown = shown_delivered;
	return listing_print(c, cursor_new(c, by, &e), &l, &e);
}
