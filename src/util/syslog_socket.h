/* syslog_socket.h - the socket of the system's log; nothing here blocks */
#ifndef OUTBOX_SYSLOG_SOCKET_H
#define OUTBOX_SYSLOG_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Connect to it, usually /dev/log; the journal of systemd listens there, too.
 * *stream: each line must end with a NUL; else one write is one line.  Returns
 * a descriptor, or -1 with errno.
 */
int	syslog_socket_open(const char *path, bool *stream);

/*
 * The begin of a line of the facility daemon, as syslog(3) writes it (RFC
 * 3164): "<30>Nov 23 15:04:05 outbox-master[123]: ".  Returns its length.
 */
size_t	syslog_socket_head(char *, size_t, int priority);

#endif
