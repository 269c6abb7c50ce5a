/* setup_step.c - report what a step has done */

#include <stdarg.h>
#include <stdio.h>

#include "common/command_file.h"
#include "ctl/setup/setup.h"
#include "util/display.h"

void
setup_step(struct setup *s, const char *what, const char *fmt, ...)
{
	char		text[1024];
	struct buf	line = { 0 };
	va_list		ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	command_file_put(&line, text, s->ctl->path);
	if (!s->ctl->args.json) {
		display_print(stdout, "%-9s %s\n", what, line.data);
		fflush(stdout);
	}
	json_array_append_new(s->steps, json_pack("{s:s, s:s}", "step", what,
	    "text", line.data));
	buf_free(&line);
}
