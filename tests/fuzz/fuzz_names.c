/*
 * fuzz_names.c - errors of outboxctl in words of the API
 *
 * What is quoted came from a client, and stays as it is; elsewhere no option is
 * left.
 */

#include "fuzz/fuzz.h"

#include "monitor/monitor_impl.h"
#include "util/utf8.h"

/* What the text quotes, one after the other. */
static void
add_quoted(struct buf *b, const char *text, size_t len)
{
	bool	quoted = false;

	for (size_t i = 0; i < len; i++)
		if (text[i] == '"')
			quoted = !quoted;
		else if (quoted)
			buf_add(b, text + i, 1);
	buf_str(b, "");
}

/* The length of the text without how the command is called. */
static size_t
length_of(const char *text)
{
	static const char	usage[] = "; usage: ";
	bool			quoted = false;
	size_t			i = 0;

	for (; text[i] != '\0' && (quoted || strncmp(text + i, usage,
	    sizeof(usage) - 1) != 0); i++)
		quoted ^= text[i] == '"';
	return i;
}

static void
check_options(const char *text)
{
	bool	quoted = false;

	for (const char *p = text; *p != '\0'; p++) {
		quoted ^= *p == '"';
		MUST(quoted || strncmp(p, " --", 3) != 0 || p[3] < 'a' ||
		    p[3] > 'z');
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input	 in = { data, size };
	char		*text = take_text(&in);
	size_t		 len = length_of(text);
	struct buf	 names = { 0 }, before = { 0 }, after = { 0 };

	buf_str(&names, "");
	api_names(&names, text);
	MUST(names.len == strlen(names.data) && names.len <= len);
	MUST(!utf8_is_valid(text, len) ||
	    utf8_is_valid(names.data, names.len));
	add_quoted(&before, text, len);
	add_quoted(&after, names.data, names.len);
	MUST(strcmp(before.data, after.data) == 0);
	check_options(names.data);
	buf_free(&names);
	buf_free(&before);
	buf_free(&after);
	free(text);
	return 0;
}
