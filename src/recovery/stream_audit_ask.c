/* stream_audit_ask.c - asks the broker what is in the stream */

#include "recovery/stream_audit_impl.h"

#include "util/clock.h"

bool
stream_audit_state(struct stream_audit *r, struct stream_state *st,
    struct err *e)
{
	const struct pub	*p = relay_stream(r->relay);

	r->gone = false;
	if (!p->ops->state(p->arg, st, e))
		return false;
	r->gone = st->answer != STREAM_THERE;
	st->first_known = r->first_known;
	if (r->gone)
		err_set(e, "no such stream");
	return !r->gone;
}

enum fate
stream_audit_judge(const struct stream_state *st, const struct acked *row,
    const struct stored_message *p)
{
	if (st->answer != STREAM_THERE || (p->sequence != 0 &&
	    p->what == STORED_UNKNOWN))
		return FATE_UNKNOWN;
	if (p->sequence == 0 || p->sequence > st->last)
		return FATE_LOST;
	if (p->what == STORED_OURS && message_id_is(&row->id, &p->id))
		return FATE_THERE;
	if (p->what != STORED_EMPTY)	/* the sequence was used again */
		return FATE_LOST;
	if (p->sequence >= st->first)
		return FATE_HOLE;
	return !st->forgets && st->first_known != 0 &&
	    p->sequence >= st->first_known ? FATE_LOST : FATE_REMOVED;
}

bool
stream_audit_go_on(void *arg)
{
	struct stream_audit	*r = arg;
	int64_t			 now = clock_ms();
	struct err		 e;

	if (r->relay->keep(r->relay->keep_arg) != KEEP_ON)
		return false;
	if (now >= r->renew_at) {
		r->renew_at = now + r->conf->worker.lease_renew;
		store_check_renew(r->store, r->conf->nats.stream, &e);
	}
	return true;
}

int
stream_audit_get_stored(struct stream_audit *r, struct stored_message *stored,
    size_t n, struct err *e)
{
	const struct pub	*p = relay_stream(r->relay);
	const struct pub_go_on	 keep_on = { stream_audit_go_on, r };

	return p->ops->get_stored(p->arg, r->relay->form.id_prefix, stored, n,
	    &keep_on, e);
}
