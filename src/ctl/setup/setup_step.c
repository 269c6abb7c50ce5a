/* setup_step.c - report what a step has done */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

int
setup_judge(struct setup *s, const char *what, const char *name,
    const json_t *findings)
{
	json_t	*f;
	size_t	 i;
	int	 status = CTL_DONE;

	setup_step(s, what, "%s exists", name);
	json_array_foreach(findings, i, f)
		if (strcmp(member_text(f, "level"), "fail") == 0)
			status = ctl_error("%s %s %s", what, name,
			    member_text(f, "text"));
		else
			setup_step(s, what, "%s: it %s",
			    member_text(f, "level"), member_text(f, "text"));
	return status;
}
