/* log_head.c - see log_head.h */

#include "master/log_head.h"

#include <string.h>

#include "drivers/traits/traits.h"
#include "util/buf.h"
#include "util/log.h"

#define OF_ALL	8	/* fields that do not depend on drivers, and the end */

/* Add what is told of a driver; returns the place of the next field. */
static struct log_field *
add_driver(struct log_field *f, const struct conf *c,
    const struct driver_traits *t, struct buf *list)
{
	for (const struct traits_setting *s = t->head; s->name != NULL; s++) {
		const void *at = (const char *)c + s->at;

		if (s->is_list)
			conf_put_list(list, at, ",");
		*f++ = (struct log_field)LOG_TEXT(s->name, s->is_list ?
		    list->data : *(char *const *)at);
	}
	return f;
}

void
log_head_write(const char *text, const struct conf *c, const char *path,
    uint32_t generation)
{
	struct log_field	 fields[OF_ALL + CONF_DRIVERS * TRAITS_HEAD] = {
		LOG_TEXT("version", PACKAGE_VERSION), LOG_TEXT("config", path),
		LOG_NUMBER("generation", generation),
		LOG_NUMBER("workers", c->master.workers) };
	struct log_field	*f = &fields[4];
	struct buf		 db = { 0 }, lists[CONF_DRIVERS] = { { 0 } };

	/* Addresses have neither users nor passwords: conf refuses those. */
	if (c->mysql.socket[0] != '\0')
		buf_str(&db, c->mysql.socket);
	else
		conf_put_list(&db, &c->mysql.hosts, ",");
	buf_printf(&db, "/%s", c->mysql.database);
	*f++ = (struct log_field)LOG_TEXT("database", db.data);
	for (size_t i = 0; i < CONF_DRIVERS; i++)
		if (conf_uses_driver(c, (enum conf_driver)i))
			f = add_driver(f, c, traits[i], &lists[i]);
	*f++ = (struct log_field)LOG_NUMBER("partition_count",
	    c->outbox.partition_count);
	*f = (struct log_field)LOG_TEXT("leasing",
	    c->worker.leasing ? NULL : "off");
	log_head(fields, "%s", text);
	for (size_t i = 0; i < CONF_DRIVERS; i++)
		buf_free(&lists[i]);
	buf_free(&db);
}

static void
log_warning(void *arg, const char *key, const char *text)
{
	(void)arg;
	log_warn("%s: %s", key, text);
}

void
log_head_warn(const struct conf *c)
{
	conf_warn(c, log_warning, NULL);
}

int
log_head_open(const struct conf *conf, bool to_syslog, struct err *e)
{
	const char	*target = conf->log.target;

	if (to_syslog && strcmp(target, "stderr") == 0)
		target = "syslog";
	return log_open(target, (enum log_level)conf->log.level,
	    conf->log.format == FORMAT_JSON, e);
}
