/*
 * verdict.c - the one table of JetStream error codes
 *
 * The codes are the server's (server/errors.json of nats-server); what each
 * looks like on the wire was seen on 2.9, 2.10 and 2.15.
 */

#include "verdict.h"

#include <stddef.h>

static const struct {
	int		code;
	enum verdict	verdict;
} codes[] = {
	{ 10054, VERDICT_MESSAGE },	/* message size exceeds maximum */
	{ 10070, VERDICT_MESSAGE },	/* wrong last msg id */
	{ 10071, VERDICT_MESSAGE },	/* wrong last sequence */
	{ 10111, VERDICT_MESSAGE },	/* rollup not permitted */
	{ 10166, VERDICT_MESSAGE },	/* per-message TTL is disabled */
	{ 10158, VERDICT_TRANSIENT },	/* duplicate id is in process: not stored */
	{ 10167, VERDICT_TRANSIENT },	/* too many requests */
};

enum verdict
verdict_of(int err_code)
{
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i].code == err_code)
			return codes[i].verdict;
	return VERDICT_DESTINATION;
}
