/* printer.h - the child that writes the workers' reports to standard output */
#ifndef OUTBOX_PRINTER_H
#define OUTBOX_PRINTER_H

/*
 * Copy datagrams from the socket to standard output, or what stands for it, one
 * line each, until all
 * writers have closed it; blocks.  A slow reader stalls only this process.
 * Lines that cannot be written, for example to a full disk, are dropped whole,
 * which is logged.  After the reader has gone, all are dropped.  SIGUSR1 opens
 * the log again.  Returns 0.
 */
int	printer_main(int fd, int to);

#endif
