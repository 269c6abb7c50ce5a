/* rows.c - see ctl.h */

#include <string.h>
#include <time.h>

#include "ctl/base/ctl.h"
#include "mysql/db.h"
#include "util/printable.h"
#include "util/utf8.h"

/* The text is like "2026-01-31 12:00:00.123456". */
void
rows_time(char to[ROWS_TIME_SIZE], const char *text)
{
	snprintf(to, ROWS_TIME_SIZE, "%.10sT%sZ", text,
	    strlen(text) > 11 ? text + 11 : "00:00:00");
}

int64_t
moment_age_ms(const char *at)
{
	struct tm	tm = { 0 };

	if (at == NULL || strptime(at, "%Y-%m-%dT%H:%M:%S", &tm) == NULL)
		return -1;
	return ((int64_t)time(NULL) - (int64_t)timegm(&tm)) * 1000;
}

json_t *
bytes_json(const char *data, size_t len)
{
	struct buf	 b = { 0 };
	json_t		*v;

	printable_put(&b, data, len);
	v = json_stringn(b.len == 0 ? "" : b.data, b.len);
	buf_free(&b);
	return v;
}

static json_t *
cell_json(struct db_rows *rows, unsigned i, enum rows_type type)
{
	const char	*text = db_nullable(rows, i);
	size_t		 len = db_length(rows, i);
	char		 moment[ROWS_TIME_SIZE];
	json_t		*v = NULL;

	if (text == NULL)
		return json_null();
	switch (type) {
	case ROWS_TEXT:
		v = utf8_is_valid(text, len) ? json_stringn(text, len) :
		    bytes_json(text, len);
		break;
	case ROWS_BYTES:
		v = bytes_json(text, len);
		break;
	case ROWS_NUMBER:
		v = json_integer((json_int_t)db_u64(rows, i));
		break;
	case ROWS_BOOL:
		v = json_boolean(db_u64(rows, i) != 0);
		break;
	case ROWS_TIME:
		rows_time(moment, text);
		v = json_string(moment);
		break;
	}
	return v;
}

json_t *
rows_json(struct db_rows *rows, const struct rows_column *columns, size_t n)
{
	json_t	*array = json_array();

	while (db_next(rows)) {
		json_t *row = json_object();

		for (unsigned i = 0; i < n; i++)
			json_object_set_new(row, columns[i].name,
			    cell_json(rows, i, columns[i].type));
		json_array_append_new(array, row);
	}
	db_rows_free(rows);
	return array;
}

int
rows_one(struct ctl *c, const char *what, const struct rows_column *columns,
    size_t n, json_t **o, struct err *e)
{
	struct db_rows	*rows = store_query(c->store, what, e);
	json_t		*list;

	*o = NULL;
	if (rows == NULL)
		return -1;
	list = rows_json(rows, columns, n);
	*o = json_incref(json_array_get(list, 0));
	json_decref(list);
	return 0;
}
