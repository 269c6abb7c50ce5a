/* printer.h - the child that writes the workers' reports to standard output */
#ifndef OUTBOX_PRINTER_H
#define OUTBOX_PRINTER_H

/*
 * Copy datagrams from the socket to standard output, one line each, until all
 * writers have closed it; blocks.  A slow reader stalls only this process.
 * After the reader has gone, lines are read and dropped.  Returns 0.
 */
int	printer_main(int fd);

#endif
