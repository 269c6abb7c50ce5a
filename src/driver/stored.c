/* stored.c - see stored.h; pure */

#include "driver/stored.h"

#include <string.h>

void
stored_read_time(struct stored_message *p, const char *text, size_t n)
{
	char	*between;

	p->time[0] = '\0';
	if (n == 0 || n > sizeof(p->time) || text[n - 1] != 'Z')
		return;
	memcpy(p->time, text, n - 1);
	p->time[n - 1] = '\0';
	if ((between = strchr(p->time, 'T')) != NULL)
		*between = ' ';
}
