/* exits.h - what the exit status of a child tells the master */
#ifndef OUTBOX_EXITS_H
#define OUTBOX_EXITS_H

/* The child left its place to a successor. */
#define EXIT_HANDED_OVER	10

/* The same of one that has nothing left to do: it is not started again. */
#define EXIT_FINISHED		11

#endif
