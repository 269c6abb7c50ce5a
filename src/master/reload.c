/* reload.c - a new configuration: read, taken or refused, and told */

#include "master/master_impl.h"

#include <string.h>
#include <time.h>

#include <bsd/string.h>

#include "drivers/drivers.h"
#include "master/log_head.h"
#include "util/clock.h"
#include "util/duration.h"
#include "util/log.h"

/* Log the changed keys that need a restart, and list them in *why. */
static void
warn_restart_keys(const struct conf *born, const struct conf *fresh,
    struct err *why)
{
	const char	*name;
	size_t		 i = 0, size = sizeof(why->text);

	why->text[0] = '\0';
	while ((name = conf_changed_restart(born, fresh, &i)) != NULL) {
		log_warn("reload: %s has changed, but needs a restart to take "
		    "effect", name);
		strlcat(why->text, why->text[0] == '\0' ?
		    "needs a restart to take effect: " : ", ", size);
		strlcat(why->text, name, size);
	}
}

/*
 * Without a settings table the file declares the partition counts of producers.
 * Rows with labels of a count that it does not name would get out of order.
 */
static int
check_reload_counts(const struct master *m, const struct conf *fresh,
    struct err *e)
{
	int64_t		was = m->conf->outbox.partition_count;
	bool		in_table = false, in_file = false;
	bool		strangers = false;	/* workers of another program */
	struct counts	c;

	/* What the workers report about the tables: only a hint. */
	for (unsigned i = 0; i < CONF_MAX_WORKERS; i++) {
		const struct scoreboard_line *l = m->slots[i].line;

		if (m->slots[i].pid == 0)
			continue;
		in_table = in_table || l->counts_in == SCOREBOARD_COUNTS_TABLE;
		in_file = in_file || l->counts_in == SCOREBOARD_COUNTS_FILE;
		strangers = strangers || l->strangers > 0;
	}
	/* No worker has seen the tables: none has used the former count. */
	if (fresh->outbox.partition_count == was || in_table || !in_file)
		return 0;
	if (strangers)
		return err_set(e, "outbox.partition_count: a worker of another "
		    "program shares the tables, and under two counts it would "
		    "break the order of keys: stop it first");
	conf_counts(fresh, &c);
	if (counts_have(&c, (unsigned)was))
		return 0;
	return err_set(e, "outbox.partition_count: without a settings table "
	    "the file must name the count that producers still use: add "
	    "outbox.former_counts: [%lld]", (long long)was);
}

/* The number of processes that are not of this configuration yet. */
static unsigned
count_outdated(const struct master *m)
{
	unsigned	n = 0;

	for (unsigned i = 0; i < NCHILDREN; i++) {
		const struct slot *s = &m->slots[i];

		if (s->gen != m->gen &&
		    (s->pid != 0 || i < m->conf->master.workers))
			n++;
	}
	return n;
}

/* Show it on the scoreboard; renew_ms: until all processes are new. */
static void
show_reload(struct master *m, enum scoreboard_reload_result result,
    const struct err *why, int64_t began_at, int64_t renew_ms)
{
	struct scoreboard_reload	*r = &m->scoreboard->reload;
	int64_t				 now = time(NULL);

	r->result = result;
	r->at = now;
	r->began_at = began_at;
	if (result == SCOREBOARD_RELOAD_ACCEPTED) {
		m->reloaded_at = began_at;
		r->renew_by = now + (renew_ms + 999) / 1000;
		r->renewed_at = 0;
	}
	strlcpy(r->why, why->text, sizeof(r->why));
	__atomic_add_fetch(&r->count, 1, __ATOMIC_RELEASE);
}

/* Is the last reload that was accepted complete now?  Then say so, once. */
void
reload_note_renewed(struct master *m)
{
	struct scoreboard_reload	*r = &m->scoreboard->reload;

	if (r->renew_by == 0 || r->renewed_at != 0 || count_outdated(m) > 0)
		return;
	r->renewed_ms = clock_ms() - m->reloaded_at;
	__atomic_store_n(&r->renewed_at, (int64_t)time(NULL),
	    __ATOMIC_RELEASE);
	log_info("reload: all workers are of generation %u after %s", m->gen,
	    duration_words(r->renewed_ms).text);
}

static void
refuse_reload(struct master *m, enum scoreboard_reload_result result,
    int64_t began_at, struct err *e)
{
	show_reload(m, result, e, began_at, 0);
	err_in(e, "reload");
	scoreboard_error(m->line, e->text);
	log_event(LOG_LVL_ERROR, LOG_FIELDS(LOG_NUMBER("generation", m->gen),
	    LOG_TEXT("error_class", "configuration")), "%s; keeping the old "
	    "configuration (generation %u)", e->text, m->gen);
}

/* The new configuration, if it can be used; NULL: it was refused. */
static struct conf *
load_again(struct master *m, int64_t began_at)
{
	struct err	 e;
	struct conf	*fresh = conf_load(m->a->conf_path, m->a->override, &e);

	if (fresh == NULL || conf_check_secrets(fresh, &e) < 0 ||
	    drivers_check(fresh, &e) < 0) {
		refuse_reload(m, SCOREBOARD_RELOAD_WRONG, began_at, &e);
		conf_free(fresh);
		return NULL;
	}
	if (check_reload_counts(m, fresh, &e) < 0 ||
	    log_head_open(fresh, m->a->log_to_syslog, &e) < 0) {
		refuse_reload(m, SCOREBOARD_RELOAD_REFUSED, began_at, &e);
		conf_free(fresh);
		return NULL;
	}
	/* A log file that is new begins with the settings, as the first did. */
	if (fresh->log.target[0] == '/' &&
	    strcmp(fresh->log.target, m->conf->log.target) != 0)
		log_head_write("the log goes on here", fresh, m->a->conf_path,
		    m->gen + 1);
	return fresh;
}

void
reload_now(struct master *m)
{
	int64_t		 began_at = clock_ms();
	struct conf	*fresh = load_again(m, began_at);
	struct err	 e;

	if (fresh == NULL)
		return;
	warn_restart_keys(m->born, fresh, &e);
	if (fresh->outbox.partition_count != m->conf->outbox.partition_count)
		m->repartition = true;
	if (m->conf != m->born)
		conf_free(m->conf);
	m->conf = fresh;
	m->gen++;
	m->scoreboard->generation = m->line->generation = m->gen;
	/* Children that crashed may work with the new configuration. */
	for (unsigned i = 0; i < NCHILDREN; i++)
		m->slots[i].start_at = 0;
	/* Workers are replaced one at a time: one leaves, one gets ready. */
	show_reload(m, SCOREBOARD_RELOAD_ACCEPTED, &e, began_at,
	    count_outdated(m) * (m->conf->master.stop_timeout +
	    REPLACE_WAIT_MS));
	log_event(LOG_LVL_INFO, LOG_FIELDS(LOG_NUMBER("generation", m->gen),
	    LOG_NUMBER("workers", fresh->master.workers)),
	    "reload: generation %u, %lld workers, replaced one at a time",
	    m->gen, (long long)fresh->master.workers);
	log_head_warn(fresh);
}
