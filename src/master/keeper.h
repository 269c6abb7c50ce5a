/* keeper.h - the process that runs the view, see view.h */
#ifndef OUTBOX_KEEPER_H
#define OUTBOX_KEEPER_H

#include <stdint.h>

struct keeper {
	int		 life;		/* its end: the daemon has stopped */
	int		 reports, log;	/* lines of the daemon; log may be -1 */
	const char	*conf_path;
	int64_t		 window_ms;
};

/* Runs until the daemon has stopped; returns an exit status. */
int	keeper_main(const struct keeper *);

#endif
