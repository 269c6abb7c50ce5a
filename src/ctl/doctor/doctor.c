/*
 * doctor.c - check everything that the daemon needs to work
 *
 * Connects as the daemon would and prints at least one line per check.  A check
 * that depends on a failed one is skipped.
 */

#include "ctl/doctor/doctor.h"

#include "drivers/drivers.h"
#include "common/ident.h"

static const struct check {
	void	(*run)(struct doctor *);
	bool	 connected, learned;	/* required before it */
} checks[] = {
	{ doctor_secrets, false, false },
	{ doctor_run_directory, false, false },
	{ doctor_sandbox, false, false },
	{ doctor_connect, false, false },
	{ doctor_cluster, true, false },
	{ doctor_hosts, false, false },
	{ doctor_server, true, false },
	{ doctor_binlog, true, false },
	{ doctor_clock, true, false },
	{ doctor_tables, true, false },
	{ doctor_settings, true, true },
	{ doctor_order, true, true },
	{ doctor_types, true, true },
	{ doctor_plans, true, true },
	{ doctor_broker, false, false },
	{ doctor_problems, false, false },
};

int
doctor_run(struct ctl *c)
{
	struct doctor	d = { .ctl = c, .lines = json_array() };
	bool		bad = c->bad_file.text[0] != '\0';
	char		id[IDENT_SIZE];

	if (!bad)
		doctor_say(&d, DOCTOR_OK, "configuration", "valid; leases, "
		    "claims and timeouts fit together");
	/* The library of NATS must be first, see drivers.h. */
	d.bus = drivers_new_first(c->conf, "outboxctl");
	ident_new(id, "doctor", 0);
	c->store = store_new(c->conf, id, c->conf->worker.lease_renew);
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		const struct check *k = &checks[i];

		/* A file in error tells nothing of servers and settings. */
		if (bad ? k->run == doctor_problems :
		    (d.connected || !k->connected) &&
		    (d.learned || !k->learned))
			k->run(&d);
	}
	pub_free(&d.bus);
	if (c->args.json)
		print_object(c, d.lines);
	else
		json_decref(d.lines);
	return d.status == CTL_DONE && d.worst == DOCTOR_FAIL ? CTL_FAILED :
	    d.status;
}
