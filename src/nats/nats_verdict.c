/*
 * nats_verdict.c - the table that maps errors to verdicts
 *
 * Statuses are those of nats.c, codes those of the server (server/errors.json
 * of nats-server).  tests/nats/check_verdict.c makes a real server return each
 * of them, or says why it cannot.  The first row that matches counts, so a row
 * with a text stands before the other rows of its code.  Rows with the default
 * verdict document their code.
 */

#include "nats/nats_verdict.h"

#include <string.h>

#include <nats/status.h>

static const struct nats_verdict_row rows[] = {
	{ .status = NATS_MAX_PAYLOAD, .verdict = VERDICT_MESSAGE,
	  .what = "larger than the server's max_payload" },
	{ .status = NATS_INVALID_SUBJECT, .verdict = VERDICT_MESSAGE,
	  .what = "invalid subject" },
	{ .status = NATS_INVALID_ARG, .verdict = VERDICT_MESSAGE,
	  .what = "invalid argument" },
	{ .status = NATS_NO_RESPONDERS, .verdict = VERDICT_ABSENT,
	  .what = "no responders" },
	{ .status = NATS_CONNECTION_CLOSED, .verdict = VERDICT_LOST,
	  .what = "connection closed" },

	/* The stream's limit, which may have been lowered by mistake. */
	{ .code = 10054, .verdict = VERDICT_TOO_LARGE,
	  .class = CLASS_TOO_LARGE,
	  .what = "message size exceeds maximum allowed" },
	{ .code = 10097, .verdict = VERDICT_MESSAGE,
	  .what = "header size exceeds maximum allowed of 64k" },
	{ .code = 10077, .text = "message too large",
	  .verdict = VERDICT_TOO_LARGE, .class = CLASS_TOO_LARGE,
	  .what = "message too large" },

	/* Only by headers that no row can have: see envelope.c. */
	{ .code = 10070, .verdict = VERDICT_MESSAGE,
	  .what = "wrong last msg ID" },
	{ .code = 10071, .verdict = VERDICT_MESSAGE,
	  .what = "wrong last sequence: N" },
	{ .code = 10164, .verdict = VERDICT_MESSAGE,
	  .what = "wrong last sequence" },
	{ .code = 10111, .verdict = VERDICT_MESSAGE,
	  .what = "rollup not permitted" },
	{ .code = 10165, .verdict = VERDICT_MESSAGE,
	  .what = "invalid per-message TTL" },
	{ .code = 10166, .verdict = VERDICT_MESSAGE,
	  .what = "per-message TTL is disabled" },

	/* Another copy is being stored: the next try is a duplicate. */
	{ .code = 10158, .verdict = VERDICT_PENDING,
	  .what = "duplicate message id is in process" },

	/* Its subject is full; others may not be. */
	{ .code = 10077, .text = "per subject",
	  .verdict = VERDICT_DESTINATION, .class = CLASS_FULL,
	  .what = "maximum messages per subject exceeded" },
	{ .code = 10077, .verdict = VERDICT_DESTINATION,
	  .class = CLASS_FULL,
	  .what = "maximum messages exceeded, maximum bytes exceeded" },
	{ .code = 10023, .verdict = VERDICT_DESTINATION,
	  .class = CLASS_FULL,
	  .what = "insufficient resources" },
	{ .code = 10002, .verdict = VERDICT_DESTINATION,
	  .class = CLASS_FULL,
	  .what = "resource limits exceeded for account" },
	{ .code = 10047, .verdict = VERDICT_DESTINATION,
	  .class = CLASS_FULL,
	  .what = "insufficient storage resources available" },
	{ .code = 10060, .verdict = VERDICT_DESTINATION,
	  .class = CLASS_WRONG_STREAM,
	  .what = "expected stream does not match" },
	{ .code = 10109, .verdict = VERDICT_DESTINATION,
	  .class = CLASS_SEALED,
	  .what = "invalid operation on sealed stream" },
	/* The stream is overloaded; more tries of the message may succeed. */
	{ .code = 10167, .verdict = VERDICT_DESTINATION,
	  .class = CLASS_OVERLOAD,
	  .what = "too many requests" },
	{ .code = 10169, .verdict = VERDICT_DESTINATION,
	  .class = CLASS_UNFIT,
	  .what = "message counter increment is missing" },
	{ .code = 10059, .verdict = VERDICT_DESTINATION,
	  .class = CLASS_NO_STREAM,
	  .what = "stream not found" },
	{ .code = 10039, .verdict = VERDICT_DESTINATION,
	  .class = CLASS_NO_STREAM,
	  .what = "JetStream not enabled for account" },
	{ .code = 10076, .verdict = VERDICT_DESTINATION,
	  .class = CLASS_NO_STREAM,
	  .what = "JetStream not enabled" },
	{ .code = 10008, .verdict = VERDICT_DESTINATION,
	  .class = CLASS_OFFLINE,
	  .what = "JetStream system temporarily unavailable" },
	{ .code = 10118, .verdict = VERDICT_DESTINATION,
	  .class = CLASS_OFFLINE,
	  .what = "stream is offline" },
};

#define NROWS	(sizeof(rows) / sizeof(rows[0]))

const struct nats_verdict_row *
nats_verdict_table(size_t *n)
{
	*n = NROWS;
	return rows;
}

enum verdict
nats_verdict_of_status(int status)
{
	for (size_t i = 0; i < NROWS; i++)
		if (rows[i].status != 0 && rows[i].status == status)
			return rows[i].verdict;
	return VERDICT_LOST;
}

/* NULL: the code is not in the table. */
static const struct nats_verdict_row *
find_row(int code, const char *text)
{
	for (size_t i = 0; i < NROWS; i++)
		if (rows[i].code != 0 && rows[i].code == code &&
		    (rows[i].text == NULL || strstr(text, rows[i].text)))
			return &rows[i];
	return NULL;
}

enum verdict
nats_verdict_of_error(int code, const char *text)
{
	const struct nats_verdict_row	*row = find_row(code, text);

	return row == NULL ? VERDICT_DESTINATION : row->verdict;
}

enum error_class
nats_verdict_class(int code, const char *text)
{
	const struct nats_verdict_row	*row = find_row(code, text);

	return row == NULL || row->class == CLASS_NONE ? CLASS_OTHER :
	    row->class;
}

/* The server's words; the library's status is the same for other errors. */
enum error_class
nats_verdict_class_of_complaint(const char *text)
{
	return strcasestr(text, "permissions violation") != NULL ?
	    CLASS_PERMISSION : CLASS_OTHER;
}
