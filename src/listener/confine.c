/*
 * confine.c - what the listener may still do once it talks to a server, see
 * listener.h
 *
 * It parses what a database server sends, with libraries whose calls change
 * from version to version: so a few calls are refused, and not all but a few.
 * It starts no program, writes no file and lets nobody read one, and opens only
 * what it connects with.
 * What is not checked: the address that it connects to, but for the port; Unix
 * sockets; UDP.
 */

#include "listener/listener.h"

#include <stdlib.h>
#include <sys/syscall.h>

#include "mysql/db.h"
#include "util/fault.h"
#include "util/log.h"
#include "util/sandbox.h"

#define DNS	53		/* over TCP, if an answer is long */
#define PORTS	64

static const int	refused[] = {
	/* Programs, and ways around a filter of calls. */
	SYS_execve, SYS_execveat, SYS_io_uring_setup, SYS_bpf, SYS_unshare,
	SYS_setns, SYS_mount,

	/* Other processes. */
	SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev,
	SYS_pidfd_open, SYS_pidfd_send_signal, SYS_kill, SYS_tkill,
	SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_perf_event_open,
	SYS_prlimit64,

	/* Modes and owners, of which Landlock knows nothing; ends, in older ones. */
	SYS_fchmod, SYS_fchmodat, SYS_fchown, SYS_fchownat, SYS_truncate,
	SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr,
#ifdef SYS_chmod		/* not on newer architectures */
	SYS_chmod, SYS_chown, SYS_lchown,
#endif
	452, 463	/* fchmodat2(), setxattrat(): not in older headers */
};

/* What no other program would miss: libraries, certificates, host names. */
static const char *const	libraries[] = {
	"/usr", "/lib", "/lib64", "/opt", "/nix/store", "/gnu/store",
	"/etc/ld.so.cache", "/etc/ssl", "/etc/pki", "/etc/ca-certificates",
	"/etc/crypto-policies", "/proc/sys/crypto", "/dev/urandom", "/dev/null"
};

#define NLIBRARIES	(sizeof(libraries) / sizeof(libraries[0]))

static const char *
variable(const char *name)
{
	const char	*value = getenv(name);

	return value == NULL ? "" : value;
}

size_t
listener_files(const struct conf *c, const char *files[FILE_STAMP_MAX])
{
	const char *const	list[] = {
		c->mysql.password_file, c->mysql.server_public_key,
		c->mysql.tls.ca, c->mysql.tls.cert, c->mysql.tls.key,
		variable("SSL_CERT_FILE"), variable("SSL_CERT_DIR"),
		"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf",
		"/etc/host.conf", "/etc/gai.conf", "/etc/services",
		"/etc/localtime"
	};
	size_t			n = sizeof(list) / sizeof(list[0]);

	for (size_t i = 0; i < n; i++)
		files[i] = list[i];
	return n;
}

void
listener_confine(const struct listener_args *a)
{
	const struct conf_list	*hosts = &a->conf->mysql.hosts;
	const char		*readable[FILE_STAMP_MAX + NLIBRARIES + 2];
	size_t			 n = listener_files(a->conf, readable);
	size_t			 nports = 0;
	uint16_t		 ports[PORTS];
	struct err		 e;

	if (fault_is_wanted())	/* a test's, which are files */
		return;
	for (size_t i = 0; i < NLIBRARIES; i++)
		readable[n++] = libraries[i];
	/* Where a client library looks for the plugin of a login. */
	readable[n++] = variable("LIBMYSQL_PLUGIN_DIR");
	readable[n++] = variable("MARIADB_PLUGIN_DIR");
	ports[nports++] = DNS;
	for (size_t i = 0; i < hosts->n && nports < PORTS; i++)
		ports[nports++] = (uint16_t)db_port(hosts->items[i]);
	log_connect();
	a->line->sandbox = 0;
	if (sandbox_files(readable, n, ports, nports, &a->line->sandbox,
	    &e) < 0)
		log_debug("%s: the listener may open all files", e.text);
	if (sandbox_deny_calls(refused, sizeof(refused) / sizeof(refused[0]),
	    &e) == 0)
		a->line->sandbox |= SANDBOX_CALLS;
	else
		log_debug("%s: the listener may make all calls", e.text);
}
