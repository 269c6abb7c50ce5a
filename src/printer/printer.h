/* printer.h - the child that writes the workers' reports to standard output */
#ifndef OUTBOX_PRINTER_H
#define OUTBOX_PRINTER_H

/*
 * Copy datagrams from the socket to standard output, one whole line each,
 * until every writer is gone.  A reader that is slow stalls only this
 * process; one that went away ends the printing, not the relay.
 */
int	printer_main(int fd);

#endif
