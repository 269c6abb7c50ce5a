/* exits.h - what the exit status of a child tells the master */
#ifndef OUTBOX_EXITS_H
#define OUTBOX_EXITS_H

/* The child handed its work over to a successor. */
#define EXIT_HANDED_OVER	10

/* The same, and there is no work left: the master does not start it again. */
#define EXIT_FINISHED		11

#endif
