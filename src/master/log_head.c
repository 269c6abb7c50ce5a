/* log_head.c - see log_head.h */

#include "master/log_head.h"

#include <string.h>

#include "util/buf.h"
#include "util/log.h"

static void
put_list(struct buf *b, const struct conf_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		buf_printf(b, "%s%s", i == 0 ? "" : ",", l->items[i]);
}

void
log_head_write(const char *text, const struct conf *c, const char *path,
    uint32_t generation)
{
	struct buf	db = { 0 }, nats = { 0 };

	/* Addresses have neither users nor passwords: conf refuses those. */
	if (c->mysql.socket[0] != '\0')
		buf_str(&db, c->mysql.socket);
	else
		put_list(&db, &c->mysql.hosts);
	buf_printf(&db, "/%s", c->mysql.database);
	if (conf_uses_driver(c, DRIVER_NATS))
		put_list(&nats, &c->nats.servers);
	log_head(LOG_FIELDS(LOG_TEXT("version", PACKAGE_VERSION),
	    LOG_TEXT("config", path), LOG_NUMBER("generation", generation),
	    LOG_NUMBER("workers", c->master.workers),
	    LOG_TEXT("database", db.data), LOG_TEXT("nats", nats.data),
	    LOG_TEXT("stream", nats.data == NULL ? NULL : c->nats.stream),
	    LOG_TEXT("subject", nats.data == NULL ? NULL : c->nats.subject),
	    LOG_TEXT("endpoint", conf_uses_driver(c, DRIVER_HTTP) ?
	    c->http.endpoint : NULL),
	    LOG_NUMBER("partition_count", c->outbox.partition_count),
	    LOG_TEXT("leasing", c->worker.leasing ? NULL : "off")), "%s", text);
	buf_free(&db);
	buf_free(&nats);
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
