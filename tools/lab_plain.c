/*
 * lab_plain.c - a plain client, to measure the pauses of a cluster with
 *
 * It commits a row, or publishes a message and waits for the answer, again and
 * again.  After a failure it goes to the next server of its list at once, and
 * pauses between two rounds.  It prints the longest time between two successes:
 * what a failure costs a client that does nothing else.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lab.h"

#define CONNECT_S	2
#define ROUND_MS	100	/* pause between two rounds over the servers */
#define MAX_SERVERS	16

struct plain {
	const struct lab_opts	*o;
	char		*list, *servers[MAX_SERVERS];
	size_t		 nservers, at;		/* the one in use, or next */
	struct lab_opts	 one;			/* o for that one */
	MYSQL		*db;			/* one of these, or NULL */
	natsConnection	*nc;
	jsCtx		*js;
	uint64_t	 done, failed;
};

static int64_t
unix_ms(void)
{
	struct timespec	ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void
leave(struct plain *p)
{
	if (p->db != NULL)
		mysql_close(p->db);
	jsCtx_Destroy(p->js);
	natsConnection_Destroy(p->nc);
	p->db = NULL;
	p->js = NULL;
	p->nc = NULL;
	if (++p->at == p->nservers)
		p->at = 0;
}

static bool
join_nats(struct plain *p)
{
	natsOptions	*no = NULL;
	natsStatus	 s;

	if ((s = natsOptions_Create(&no)) == NATS_OK)
		s = natsOptions_SetURL(no, p->servers[p->at]);
	if (s == NATS_OK)
		s = natsOptions_SetTimeout(no, CONNECT_S * 1000);
	if (s == NATS_OK)
		s = natsOptions_SetAllowReconnect(no, false);
	if (s == NATS_OK)
		s = natsConnection_Connect(&p->nc, no);
	if (s == NATS_OK)
		s = natsConnection_JetStream(&p->js, p->nc, NULL);
	natsOptions_Destroy(no);
	return s == NATS_OK;
}

static bool
join(struct plain *p)
{
	char	why[256];

	if (p->o->nats != NULL)
		return p->nc != NULL || join_nats(p);
	if (p->db != NULL)
		return true;
	p->one.host = p->servers[p->at];
	p->db = lab_db_try(&p->one, why);
	return p->db != NULL && lab_db_takes_writes(p->db);
}

static bool
commit(struct plain *p)
{
	return mysql_query(p->db, "START TRANSACTION") == 0 &&
	    mysql_query(p->db, "INSERT INTO lab_plain () VALUES ()") == 0 &&
	    mysql_query(p->db, "COMMIT") == 0;
}

/* One that is sent again has its former id. */
static natsStatus
publish(struct plain *p)
{
	natsMsg		*m = NULL;
	jsPubAck	*ack = NULL;
	jsPubOptions	 po;
	jsErrCode	 code = 0;
	natsStatus	 s;
	char		 id[64];

	snprintf(id, sizeof(id), "lab-plain-%lld-%llu",
	    (long long)p->one.seq, (unsigned long long)p->done);
	jsPubOptions_Init(&po);
	po.MsgId = id;
	po.MaxWait = p->o->timeout * 1000;
	if ((s = natsMsg_Create(&m, p->o->subject, NULL, "x", 1)) == NATS_OK)
		s = js_PublishMsg(&ack, p->js, m, &po, &code);
	jsPubAck_Destroy(ack);
	natsMsg_Destroy(m);
	return s;
}

/*
 * One try.  Stays where it is if the server answers that it has no leader now,
 * or that rows are locked.
 */
static bool
attempt(struct plain *p)
{
	natsStatus	s;
	unsigned	error;

	if (!join(p)) {
		leave(p);
		if (p->at == 0)
			lab_pause(ROUND_MS);
		return false;
	}
	if (p->nc != NULL) {
		if ((s = publish(p)) == NATS_OK)
			return true;
		if (s == NATS_NO_RESPONDERS || s == NATS_ERR)
			lab_pause(20);
		else
			leave(p);
		return false;
	}
	if (commit(p))
		return true;
	error = mysql_errno(p->db);
	if ((error == 1205 || error == 1213 || error == 3101) &&
	    mysql_query(p->db, "ROLLBACK") == 0)
		return false;
	leave(p);
	return false;
}

static void
make_table(struct plain *p)
{
	MYSQL	*db = lab_db_open(p->o);

	if (mysql_query(db, "CREATE TABLE IF NOT EXISTS lab_plain (id BIGINT "
	    "UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, made TIMESTAMP(6) "
	    "NOT NULL DEFAULT CURRENT_TIMESTAMP(6))") != 0)
		errx(1, "database: lab_plain: %s", mysql_error(db));
	mysql_close(db);
}

static void
split(struct plain *p, const char *servers)
{
	char	*save = NULL, *each;

	p->list = lab_strdup(servers);
	for (each = strtok_r(p->list, ",", &save); each != NULL;
	    each = strtok_r(NULL, ",", &save)) {
		if (p->nservers == MAX_SERVERS)
			errx(1, "at most %d servers", MAX_SERVERS);
		p->servers[p->nservers++] = each;
	}
}

int
lab_plain(const struct lab_opts *o)
{
	struct plain	p = { .o = o, .one = *o };
	int64_t		last, now, end, longest = 0, longest_at;

	lab_catch_signals();
	p.one.seq = longest_at = unix_ms();
	if (o->nats != NULL) {
		nats_Open(-1);
		split(&p, o->nats);
	} else {
		make_table(&p);
		split(&p, o->host != NULL ? o->host : "localhost");
	}
	last = lab_now_ms();
	end = o->seconds > 0 ? last + o->seconds * 1000 : INT64_MAX;
	do {
		bool	good = attempt(&p);

		now = lab_now_ms();
		if (now - last > longest) {
			longest = now - last;
			longest_at = unix_ms() - longest;
		}
		if (good) {
			p.done++;
			last = now;
			lab_pause(o->every);
		} else {
			p.failed++;
		}
	} while (now < end && !lab_stopped);
	printf("done %llu failed %llu longest_ms %lld from %lld\n",
	    (unsigned long long)p.done, (unsigned long long)p.failed,
	    (long long)longest, (long long)longest_at);
	leave(&p);
	free(p.list);
	nats_Close();
	return 0;
}
