/* doctor_say.c - print a line of the report */

#include "ctl/doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>

void
doctor_say(struct doctor *d, enum doctor_level level, const char *what,
    const char *fmt, ...)
{
	static const char *const	 words[] = { "ok", "warn", "fail" };
	json_t				*text;
	va_list				 ap;

	va_start(ap, fmt);
	text = json_vsprintf(fmt, ap);
	va_end(ap);
	if (text == NULL)
		text = json_string("(not UTF-8)");
	if (level > d->worst)
		d->worst = level;
	if (!d->ctl->args.json)
		printf("%-4s  %s: %s\n", words[level], what,
		    json_string_value(text));
	fflush(stdout);
	json_array_append_new(d->lines, json_pack("{s:s, s:s, s:o}",
	    "level", words[level], "check", what, "text", text));
}
