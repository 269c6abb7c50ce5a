/*
 * sandbox.c - see sandbox.h
 *
 * Without libseccomp, whose tables are for programs that know their calls only
 * when they run: a filter that compares one number is a dozen lines.  Landlock
 * has no wrappers in libc, and its header may be older than the kernel, so what
 * is used of it stands here.
 */

#include "util/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef WITH_SANDBOX	/* configure --disable-sandbox, or with sanitizers */
#define ARCH	0
#elif defined(__x86_64__) && defined(__LP64__)
#define ARCH	AUDIT_ARCH_X86_64
#elif defined(__aarch64__) && defined(__AARCH64EL__)
#define ARCH	AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCH	AUDIT_ARCH_RISCV64
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#define ARCH	AUDIT_ARCH_PPC64LE
#else	/* s390x, 32 bits: libc makes all calls for sockets by one number */
#define ARCH	0
#endif

#define CALLS_MAX	200	/* a jump spans 255 instructions */
#define X32		0x40000000	/* of x86: calls by other numbers */

#define LOAD(field)							\
	(struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,		\
	    offsetof(struct seccomp_data, field))
#define JUMP(test, value, yes, no)					\
	(struct sock_filter)BPF_JUMP(BPF_JMP | (test) | BPF_K, value, yes, no)
#define RETURN(what)							\
	(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, what)

/*
 * Of fcntl() and ioctl(): for whom a descriptor's signals are, and which.  The
 * kernel would send SIGKILL to any process of the user.
 */
static const uint32_t	owners[] = {
	F_SETOWN, F_SETOWN_EX, F_SETSIG, FIOSETOWN, SIOCSPGRP
};

#define NOWNERS	(sizeof(owners) / sizeof(owners[0]))

/* Refuse these.  The number of the call is loaded, before and after. */
static size_t
refuse_owners(struct sock_filter *code, size_t at)
{
	code[at++] = JUMP(BPF_JEQ, SYS_fcntl, 1, 0);
	code[at++] = JUMP(BPF_JEQ, SYS_ioctl, 0, NOWNERS + 3);
	code[at++] = LOAD(args[1]);	/* its low half: little-endian, all */
	for (size_t i = 0; i < NOWNERS; i++)
		code[at++] = JUMP(BPF_JEQ, owners[i],
		    (uint8_t)(NOWNERS - 1 - i), i == NOWNERS - 1);
	code[at++] = RETURN(SECCOMP_RET_ERRNO | EPERM);
	code[at++] = LOAD(nr);
	return at;
}

/* Is the call one of these: listed; else: other. */
static int
filter(const int *calls, size_t n, uint32_t listed, uint32_t other,
    struct err *e)
{
	struct sock_filter	code[CALLS_MAX + NOWNERS + 13];
	size_t			at = 0;
	struct sock_fprog	program = { .filter = code };

	if (ARCH == 0 || n > CALLS_MAX)
		return err_set(e, "seccomp: not in this build");
	code[at++] = LOAD(arch);
	code[at++] = JUMP(BPF_JEQ, ARCH, 1, 0);
	code[at++] = RETURN(SECCOMP_RET_KILL_PROCESS);
	code[at++] = LOAD(nr);
	code[at++] = JUMP(BPF_JGE, X32, 0, 1);
	code[at++] = RETURN(SECCOMP_RET_ERRNO | EPERM);
	at = refuse_owners(code, at);
	for (size_t i = 0; i < n; i++)
		code[at++] = JUMP(BPF_JEQ, (uint32_t)calls[i],
		    (uint8_t)(n - i), 0);
	code[at++] = RETURN(other);
	code[at++] = RETURN(listed);
	program.len = (unsigned short)at;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 ? 0 :
	    err_set(e, "seccomp: %s", strerror(errno));
}

int
sandbox_allow_calls(const int *calls, size_t n, struct err *e)
{
	return filter(calls, n, SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO | EPERM,
	    e);
}

int
sandbox_deny_calls(const int *calls, size_t n, struct err *e)
{
	return filter(calls, n, SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_ALLOW,
	    e);
}

/* --- Landlock: linux/landlock.h, landlock(7) -------------------------------- */

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset	444
#define SYS_landlock_add_rule		445
#define SYS_landlock_restrict_self	446
#endif

#define ASK_VERSION	1U
#define READ_FILE	(1ULL << 2)
#define READ_DIR	(1ULL << 3)
#define BIND_TCP	(1ULL << 0)
#define CONNECT_TCP	(1ULL << 1)
#define ABI_TCP		4

enum rule_type { RULE_PATH = 1, RULE_PORT = 2 };

struct ruleset {
	uint64_t	files, ports;
};

struct path_rule {
	uint64_t	allowed;
	int32_t		fd;
} __attribute__((packed));

struct port_rule {
	uint64_t	allowed, port;
};

/* All rights about files that this version knows. */
static uint64_t
file_rights(long abi)
{
	static const unsigned	bits[] = { 0, 13, 14, 15, 15, 16 };
	size_t			n = sizeof(bits) / sizeof(bits[0]);

	return (1ULL << bits[(size_t)abi < n ? (size_t)abi : n - 1]) - 1;
}

static int
add_path(int rules, const char *path)
{
	struct path_rule	r = { .fd = open(path, O_PATH | O_CLOEXEC) };
	struct stat		st;
	long			rc = 0;

	if (r.fd < 0)	/* a path "", or none */
		return 0;
	r.allowed = READ_FILE | (fstat(r.fd, &st) == 0 &&
	    S_ISDIR(st.st_mode) ? READ_DIR : 0);
	rc = syscall(SYS_landlock_add_rule, rules, RULE_PATH, &r, 0);
	close(r.fd);
	return (int)rc;
}

int
sandbox_files(const char *const *readable, size_t n, const uint16_t *ports,
    size_t nports, uint32_t *flags, struct err *e)
{
	long		abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
			    ASK_VERSION);
	bool		has_ports = abi >= ABI_TCP;
	struct ruleset	set = { 0 };
	int		fd, rc = 0;

	if (ARCH == 0 || abi < 1)
		return err_set(e, "Landlock: %s", ARCH == 0 ?
		    "not in this build" : strerror(errno));
	set.files = file_rights(abi);
	set.ports = has_ports ? BIND_TCP | CONNECT_TCP : 0;
	fd = (int)syscall(SYS_landlock_create_ruleset, &set, has_ports ?
	    sizeof(set) : sizeof(set.files), 0);
	for (size_t i = 0; i < n && fd >= 0 && rc == 0; i++)
		rc = add_path(fd, readable[i]);
	for (size_t i = 0; i < nports && fd >= 0 && rc == 0 && has_ports; i++)
		rc = (int)syscall(SYS_landlock_add_rule, fd, RULE_PORT,
		    &(struct port_rule){ CONNECT_TCP, ports[i] }, 0);
	if (fd < 0 || rc < 0 ||
	    syscall(SYS_landlock_restrict_self, fd, 0) < 0)
		rc = err_set(e, "Landlock: %s", strerror(errno));
	else
		*flags |= SANDBOX_FILES | (has_ports ? SANDBOX_PORTS : 0);
	if (fd >= 0)
		close(fd);
	return rc;
}
