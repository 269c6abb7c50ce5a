/*
 * main.c - options, then hand over
 *
 * Errors of a start are found here, before the process detaches, and reported
 * by one line and the exit status.
 */

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bsd/stdlib.h>
#include <bsd/unistd.h>

#include "common/exits.h"
#include "conf/conf.h"
#include "drivers/drivers.h"
#include "drivers/traits/traits.h"
#include "ipc/daemon.h"
#include "ipc/scoreboard.h"
#include "util/display.h"
#include "util/environment.h"
#include "util/line_output.h"
#include "util/log.h"
#include "master/descriptors.h"
#include "master/log_head.h"
#include "master/master.h"
#include "master/view.h"
#include "ipc/people.h"
#include "util/sig.h"
#include "worker/worker.h"
#include "util/xalloc.h"

struct options {
	const char		*conf_path;
	struct conf_override	 override;
	struct report_form	 report;
	int64_t			 interval_ms;
	bool			 test, dump, detach, once, no_view;
};

enum {
	OPT_ONCE = 256, OPT_JSON, OPT_SILENT, OPT_INTERVAL, OPT_WINDOW,
	OPT_NO_LEASING, OPT_WORKERS, OPT_NO_VIEW
};

static const struct option longopts[] = {
	{ "config", required_argument, NULL, 'c' },
	{ "test", no_argument, NULL, 't' },
	{ "dump", no_argument, NULL, 'T' },
	{ "foreground", no_argument, NULL, 'f' },
	{ "daemon", no_argument, NULL, 'd' },
	{ "pidfile", required_argument, NULL, 'p' },
	{ "version", no_argument, NULL, 'V' },
	{ "help", no_argument, NULL, 'h' },
	{ "once", no_argument, NULL, OPT_ONCE },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "silent", no_argument, NULL, OPT_SILENT },
	{ "interval-ms", required_argument, NULL, OPT_INTERVAL },
	{ "window", required_argument, NULL, OPT_WINDOW },
	{ "no-leasing", no_argument, NULL, OPT_NO_LEASING },
	{ "workers", required_argument, NULL, OPT_WORKERS },
	{ "no-view", no_argument, NULL, OPT_NO_VIEW },
	{ NULL, 0, NULL, 0 }
};

static const char usage_text[] =
"usage: outbox-master [-c FILE] [-tTfd] [-p PIDFILE] [option ...]\n"
"\n"
"  -c, --config FILE     configuration (" DEFAULT_CONF ")\n"
"  -t, --test            check the configuration and exit\n"
"  -T, --dump            print the effective configuration and exit\n"
"  -f, --foreground      stay in the foreground (default)\n"
"  -d, --daemon          detach; log lines for stderr go to syslog\n"
"  -p, --pidfile FILE    in place of master.pidfile\n"
"      --workers N       in place of master.workers\n"
"      --no-leasing      the same as worker.leasing: false\n"
"      --once            one worker relays one batch and exits; 0: no failure\n"
"      --json            report each tick as one JSON object\n"
"      --silent          do not report ticks\n"
"      --interval-ms N   pause N ms between ticks\n"
"      --window N        report totals every N seconds, not each tick\n"
"      --no-view         on a terminal, print lines, and not outboxctl top\n"
"  -V, --version         print the version and exit\n"
"  -h, --help            print this text and exit\n";

static void
print_usage(FILE *to, int status)
{
	fputs(usage_text, to);
	exit(status);
}

static int64_t
parse_number(const char *option, const char *text, int64_t min, int64_t max)
{
	const char	*error;
	int64_t		 n = strtonum(text, min, max, &error);

	if (error == NULL)
		return n;
	display_print(stderr, "outbox-master: %s: \"%s\" is not a number from %lld "
	    "to %lld\n", option, text, (long long)min, (long long)max);
	exit(EXIT_USAGE);
}

static void
take_option(struct options *o, int opt)
{
	switch (opt) {
	case 'c':
		o->conf_path = optarg;
		break;
	case 't':
		o->test = true;
		break;
	case 'T':
		o->dump = true;
		break;
	case 'f':
		o->detach = false;
		break;
	case 'd':
		o->detach = true;
		break;
	case 'p':
		o->override.pidfile = optarg;
		break;
	case OPT_ONCE:
		o->once = true;
		break;
	case OPT_JSON:
		o->report.json = true;
		break;
	case OPT_SILENT:
		o->report.silent = true;
		break;
	case OPT_INTERVAL:
		o->interval_ms = parse_number("--interval-ms", optarg, 0,
		    3600000);
		break;
	case OPT_WINDOW:
		o->report.interval_ms = 1000 *
		    parse_number("--window", optarg, 0, 86400);
		break;
	case OPT_NO_LEASING:
		o->override.no_leasing = true;
		break;
	case OPT_WORKERS:
		o->override.workers = parse_number("--workers", optarg, 1,
		    CONF_MAX_WORKERS);
		break;
	case OPT_NO_VIEW:
		o->no_view = true;
		break;
	case 'V':
		display_print(stdout, "%s\n", PACKAGE_STRING);
		exit(0);
	case 'h':
		print_usage(stdout, 0);
		break;
	default:
		print_usage(stderr, EXIT_USAGE);
	}
}

/*
 * Change to master.user, and check that it can read the secrets.  Returns the
 * exit status with an error, or 0.
 */
static int
become_user(const struct conf *conf, struct err *e)
{
	if (daemon_check_user(conf->master.user, e) < 0)
		return EXIT_CONFIG;
	if (daemon_drop_root(conf->master.user, e) < 0)
		return EXIT_FAILED;
	return conf_check_secrets(conf, e) < 0 ||
	    drivers_check(conf, e) < 0 ? EXIT_CONFIG : 0;
}

/* --once: this process is the worker, beside any daemon that runs. */
static int
run_once(const struct options *o, const struct conf *conf)
{
	struct worker_args	a = { .conf = conf, .report = o->report,
				    .once = true };
	char			host[256] = "";
	struct err		e;
	int			status;

	log_role("once");
	if (log_open("stderr", (enum log_level)conf->log.level,
	    conf->log.format == FORMAT_JSON, &e) < 0)
		fatal(EXIT_FAILED, "%s", e.text);
	if ((status = become_user(conf, &e)) != 0)
		fatal(status, "%s", e.text);
	log_head_warn(conf);
	gethostname(host, sizeof(host) - 1);
	ident_new(a.id, host, 0);
	a.report.fd = STDOUT_FILENO;
	a.report.waits = true;
	a.report.interval_ms = 0;
	a.report.silent = o->report.silent ||
	    traits_take_stdout(conf);
	return worker_main(&a);
}

/* Exit after the pid file was made: remove it first. */
static void
give_up_start(const struct err *e)
{
	daemon_unlock();
	fatal(EXIT_FAILED, "%s", e->text);
}

/*
 * A daemon whose pid file was removed keeps the lock on a file that has no name
 * any more.  It has its scoreboard locked, too.
 */
static int
find_other(const char *pidfile, struct err *e)
{
	char			*prefix = daemon_run_prefix(pidfile);
	char			*path = xasprintf("%s.scoreboard", prefix);
	struct scoreboard	*b;
	bool			 alive;
	pid_t			 pid;

	b = scoreboard_find(path, &alive, &pid, e);
	scoreboard_close(b);
	free(path);
	free(prefix);
	return !alive ? 0 : err_set(e, "%s was removed, but its outbox-master "
	    "still runs%s: stop it first: kill %d", pidfile, pid == 0 ?
	    " in another container" : "", (int)pid);
}

static void
become_service(const struct options *o, const struct conf *conf)
{
	const char	*pidfile = conf->master.pidfile;
	struct err	 e;
	int		 status;

	if (descriptors_allow(&e) < 0)
		fatal(EXIT_FAILED, "%s", e.text);
	if (!o->detach)
		log_keep_stderr();
	if (daemon_check_user(conf->master.user, &e) < 0)
		fatal(EXIT_CONFIG, "%s", e.text);
	if (daemon_make_rundir(pidfile, conf->master.user, &e) < 0)
		fatal(EXIT_FAILED, "%s", e.text);
	if ((status = become_user(conf, &e)) != 0)
		fatal(status, "%s", e.text);
	if (daemon_lock(pidfile, &e) < 0)
		fatal(EXIT_FAILED, "%s", e.text);
	if (find_other(pidfile, &e) < 0)
		give_up_start(&e);
	if (log_head_open(conf, o->detach, &e) < 0)
		give_up_start(&e);
}

/* A daemon without its view goes on with lines. */
static bool
show_view(const struct options *o, const struct conf *conf,
    struct master_args *a, struct view *v)
{
	struct err	e;

	if (o->no_view || o->detach || o->report.silent || o->report.json ||
	    traits_take_stdout(conf) || !view_is_possible())
		return false;
	if (view_begin(v, o->conf_path, o->report.interval_ms, &e) < 0) {
		log_warn("the view cannot be shown: %s", e.text);
		return false;
	}
	a->report.fd = v->reports;
	if (log_head_open(conf, false, &e) < 0)
		log_error("%s", e.text);
	return true;
}

static int
run_service(const struct options *o, struct conf *conf)
{
	struct master_args	 a = { .conf_path = o->conf_path,
				     .override = &o->override,
				     .report = o->report,
				     .interval_ms = o->interval_ms,
				     .log_to_syslog = o->detach };
	char			*prefix = daemon_run_prefix(
				    conf->master.pidfile);
	struct master		*m;
	struct view		 v;
	struct err		 e;
	bool			 shown;
	int			 status;

	/* A detached process has no standard output for reports. */
	a.report.silent = a.report.silent || o->detach;
	/*
	 * Before root is given up: then a pipe of root cannot be opened.  A
	 * detached process must not keep the pipe of who starts it open.
	 */
	a.report.fd = o->detach ? STDOUT_FILENO :
	    line_output_own(STDOUT_FILENO);
	a.run_prefix = prefix;
	become_service(o, conf);
	log_role("master");
	if ((m = master_new(&a, conf, &e)) == NULL)
		give_up_start(&e);
	if (o->detach && daemon(0, 0) < 0)
		fatal(EXIT_FAILED, "cannot detach: %s", strerror(errno));
	if (daemon_write_pid(&e) < 0)
		give_up_start(&e);
	shown = show_view(o, conf, &a, &v);
	status = master_run(m);
	daemon_unlock();
	if (shown)
		view_end(&v);
	free(prefix);
	return status;
}

static void
print_warning(void *arg, const char *key, const char *text)
{
	const struct options	*o = arg;

	display_print(stderr, "outbox-master: warning: %s: %s: %s\n",
	    o->conf_path, key, text);
}

/* -t, once the configuration is loaded: could the daemon start here? */
static int
test(struct options *o, const struct conf *conf)
{
	struct err	e;
	struct people	people;
	int		status = become_user(conf, &e);

	/* The daemon would start, with a monitor that changes nothing. */
	if (status == 0 && people_read(&people, conf, &e) < 0) {
		err_in(&e, "%s", conf->path);
		status = EXIT_CONFIG;
	}
	if (status == 0) {
		conf_warn(conf, print_warning, o);
		display_print(stdout, "%s: the configuration is fine\n",
		    o->conf_path);
		status = descriptors_allow(&e) < 0 ? EXIT_FAILED : 0;
	}
	if (status != 0)
		display_print(stderr, "outbox-master: %s\n", e.text);
	return status;
}

int
main(int argc, char **argv, char **envp)
{
	struct options	 o = { .conf_path = DEFAULT_CONF };
	struct conf	*conf;
	struct err	 e;
	char		 cwd[4096];
	int		 opt, status;

	setproctitle_init(argc, argv, envp);
	environment_take();
	while ((opt = getopt_long(argc, argv, "c:tTfdp:Vh", longopts,
	    NULL)) != -1)
		take_option(&o, opt);
	if (optind < argc) {
		display_print(stderr, "outbox-master: %s: unexpected argument\n",
		    argv[optind]);
		print_usage(stderr, EXIT_USAGE);
	}
	conf = conf_load(o.conf_path, &o.override, &e);
	if (conf == NULL) {
		display_print(stderr, "outbox-master: %s\n", e.text);
		return EXIT_CONFIG;
	}
	/* The file may be a descriptor of the caller, so not before. */
	if (daemon_isolate(&e) < 0)
		fatal(EXIT_FAILED, "%s", e.text);
	if (o.dump)
		conf_dump(conf, stdout);
	if (o.dump || o.test) {
		status = o.dump ? 0 : test(&o, conf);
		conf_free(conf);
		if (fflush(stdout) != EOF && !ferror(stdout))
			return status;
		fputs("outbox-master: standard output cannot be written\n",
		    stderr);
		return status == 0 ? EXIT_FAILED : status;
	}
	sig_init();
	if (o.once) {
		status = run_once(&o, conf);
		conf_free(conf);
		return status;
	}
	/* A detached process changes its directory; a reload reads the file. */
	if (o.conf_path[0] != '/' && getcwd(cwd, sizeof(cwd)) != NULL)
		o.conf_path = xasprintf("%s/%s", cwd, o.conf_path);
	return run_service(&o, conf);
}
