/* message_id.c - see message_id.h; pure */

#include "common/message_id.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/msg.h"

#define HASH_DIGITS	16
#define OLD_DIGITS	8	/* of a CRC32, of no use any more */
#define HEX_DIGITS	"0123456789abcdef"

/* Days from 1970-01-01 to a day of the proleptic Gregorian calendar. */
static int64_t
days_since_1970(int64_t year, int64_t month, int64_t day)
{
	int64_t	y = year - (month <= 2);	/* years begin in March */
	int64_t	era = y / 400, of_era = y - era * 400;
	int64_t	of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 +
		    day - 1;

	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 +
	    of_year - 719468;
}

static int
two_digits(const char *text)
{
	return (text[0] - '0') * 10 + text[1] - '0';
}

/* Is it "2026-01-31 12:00:00", with a fraction or without? */
static bool
is_moment(struct bytes time)
{
	static const char	form[] = "0000-00-00 00:00:00.";

	if (time.data == NULL || time.len < sizeof(form) - 2)
		return false;
	for (size_t i = 0; i < time.len; i++) {
		int want = i < sizeof(form) - 1 ? form[i] : '0';

		if (want == '0' ? time.data[i] < '0' || time.data[i] > '9' :
		    time.data[i] != want)
			return false;
	}
	return true;
}

static void
add_bytes(XXH3_state_t *state, struct bytes b)
{
	uint64_t	len = htole64(b.data == NULL ? UINT64_MAX : b.len);

	XXH3_64bits_update(state, &len, sizeof(len));
	if (b.data != NULL)
		XXH3_64bits_update(state, b.data, b.len);
}

bool
message_time_read(struct bytes time, int64_t *us)
{
	const char	*t = time.data;
	int64_t		 unit = 100000;

	if (!is_moment(time))
		return false;
	*us = days_since_1970(two_digits(t) * 100 + two_digits(t + 2),
	    two_digits(t + 5), two_digits(t + 8));
	*us = *us * 86400 + two_digits(t + 11) * 3600 +
	    two_digits(t + 14) * 60 + two_digits(t + 17);
	*us *= 1000000;
	/* Up to six digits, as the column keeps: ".5" is 500,000. */
	for (size_t i = 20; i < time.len && unit > 0; i++, unit /= 10)
		*us += (t[i] - '0') * unit;
	return true;
}

/* In microseconds since 1970; a text that is not a time is hashed as it is. */
static void
add_moment(XXH3_state_t *state, struct bytes time)
{
	int64_t	micros;

	if (message_time_read(time, &micros)) {
		micros = (int64_t)htole64((uint64_t)micros);
		time = (struct bytes){ (const char *)&micros, sizeof(micros) };
	}
	add_bytes(state, time);
}

/* What is left out is NULL. */
static struct bytes
part(const struct msg *m, unsigned which, struct bytes b)
{
	return m->left_out & which ? (struct bytes){ NULL, 0 } : b;
}

uint64_t
message_hash(const struct msg *m)
{
	XXH3_state_t	state;

	XXH3_INITSTATE(&state);
	XXH3_64bits_reset(&state);
	add_bytes(&state, part(m, MSG_KEY, m->key));
	add_bytes(&state, part(m, MSG_STREAM_SEQUENCE, m->stream_sequence));
	add_bytes(&state, part(m, MSG_TYPE, m->type));
	add_moment(&state, part(m, MSG_TIME, m->time));
	add_bytes(&state, part(m, MSG_PAYLOAD, m->payload));
	return XXH3_64bits_digest(&state);
}

void
message_id_put(struct buf *b, const char *prefix, const struct message_id *id)
{
	buf_str(b, prefix);
	buf_str(b, "-");
	buf_u64(b, id->sequence);
	buf_str(b, "-");
	buf_hex32(b, (uint32_t)(id->hash >> 32));
	buf_hex32(b, (uint32_t)id->hash);
	if (id->replay > 0)
		buf_printf(b, "-r%u", id->replay);
}

bool
message_id_read(struct message_id *id, const char *prefix, const char *text)
{
	size_t	 n = strlen(prefix), digits;
	char	*end;

	if (strncmp(text, prefix, n) != 0 || text[n] != '-' ||
	    text[n + 1] < '0' || text[n + 1] > '9')
		return false;
	id->sequence = strtoull(text + n + 1, &end, 10);
	if (*end != '-')
		return false;
	text = end + 1;
	digits = strspn(text, HEX_DIGITS);
	if (digits != HASH_DIGITS && digits != OLD_DIGITS)
		return false;
	id->hashed = digits == HASH_DIGITS;
	id->hash = id->hashed ? strtoull(text, NULL, 16) : 0;
	/* "-r2" or nothing, then the end of the line. */
	text += digits;
	id->replay = 0;
	if (strncmp(text, "-r", 2) == 0 && text[2] >= '0' && text[2] <= '9') {
		id->replay = (unsigned)strtoul(text + 2, &end, 10);
		text = end;
	}
	return *text == '\0' || *text == '\r' || *text == '\n';
}

bool
message_id_is(const struct message_id *wanted, const struct message_id *found)
{
	return wanted->sequence == found->sequence &&
	    wanted->replay == found->replay && (!wanted->hashed ||
	    (found->hashed && wanted->hash == found->hash));
}
