/* doctor_say.c - print a line of the report */

#include "ctl/doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/command_file.h"
#include "ctl/base/screen.h"
#include "util/display.h"
#include "util/utf8.h"
#include "util/xalloc.h"

#define INDENT	8	/* of the text, behind the level */

static const char *const words[] = { "ok", "advice", "warn", "fail" };

/* "fail  what: text"; on a terminal with colour, broken into lines. */
static void
print_line(const struct doctor *d, enum doctor_level level, const char *what,
    const char *text)
{
	const char	*word = words[level];
	char		*line = xasprintf("%s: %s", what, text);

	display_clean(line);
	screen_put(screen_colour_of(word), word);
	display_print(screen_out(), "%*s", INDENT - display_width(word), "");
	screen_put_lines(d->ctl, INDENT, line);
	free(line);
}

static void
add_line(struct doctor *d, enum doctor_level level, const char *what,
    const char *text)
{
	if (level > d->worst)
		d->worst = level;
	json_array_append_new(d->lines, json_pack("{s:s, s:s, s:s}",
	    "level", words[level], "check", what, "text", text));
}

void
doctor_say(struct doctor *d, enum doctor_level level, const char *what,
    const char *fmt, ...)
{
	struct buf	 line = { 0 };
	char		*text;
	va_list		 ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = xstrdup(fmt);
	va_end(ap);
	command_file_put(&line, text, d->ctl->path);
	utf8_clean(line.data);	/* names of files may be any bytes */
	add_line(d, level, what, line.data);
	if (!d->ctl->args.json)
		print_line(d, level, what, line.data);
	fflush(stdout);
	buf_free(&line);
	free(text);
}

void
doctor_say_problem(struct doctor *d, enum doctor_level level,
    const json_t *problem)
{
	const char	*what = member_text(problem, "id");
	const char	*text = member_text(problem, "text");
	const char	*remedy = member_text(problem, "remedy");
	char		*copy;

	add_line(d, level, what, text);
	if (d->ctl->args.json)
		return;
	if (screen_width(d->ctl) == 0 || remedy[0] == '\0') {
		print_line(d, level, what, text);
	} else {
		print_line(d, level, what, member_text(problem, "why"));
		/* In one line on a terminal, too: it is there to be copied. */
		copy = xstrdup(remedy);
		display_clean(copy);
		display_print(screen_out(), "%*sremedy: %s\n", INDENT, "",
		    copy);
		free(copy);
	}
}
