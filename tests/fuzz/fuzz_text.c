/* fuzz_text.c - bytes of rows as text for headers, logs and terminals */

#include "fuzz/fuzz.h"

#include "util/buf.h"
#include "util/display.h"
#include "util/err.h"
#include "util/printable.h"
#include "util/utf8.h"

/* Bytes printed as hex are found again. */
static void
round_trip(const char *data, size_t len)
{
	struct buf	text = { 0 }, bytes = { 0 };
	char		cut[PRINTABLE_SIZE];

	printable_put(&text, data, len);
	MUST(printable_is(text.data == NULL ? "" : text.data, text.len));
	buf_clear(&text);
	printable_put_hex(&text, data, len);
	buf_str(&text, "");
	MUST(printable_parse_hex(&bytes, text.data));
	MUST(bytes.len == len && (len == 0 ||
	    memcmp(bytes.data, data, len) == 0));
	printable_text(cut, data, len);
	MUST(printable_is(cut, strlen(cut)));
	buf_free(&text);
	buf_free(&bytes);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input	 in = { data, size };
	size_t		 len;
	char		*field = take_field(&in, &len), *text;
	struct buf	 shown = { 0 };
	struct err	 e;

	round_trip(field, len);
	text = xstrndup(field, len);
	display_clean(text);
	buf_str(&shown, "");
	display_cut(&shown, text, 40);
	MUST(display_width(shown.data) <= 40);
	MUST(text[0] == '\0' || text[0] == ' ' || display_line(text, 40) > 0);
	buf_free(&shown);
	err_set(&e, "%s", text);
	err_in(&e, "%.500s", text);
	free(text);
	free(field);
	return 0;
}
