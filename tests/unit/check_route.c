/* check_route.c - which route a message takes */
#include "lib/check.h"

#include "driver/route.h"

static const struct {
	const char	*type_is, *topic_is, *header_is;	/* of the route */
	const char	*type;		/* NULL: SQL NULL */
	const char	*metadata;
	bool		 takes;
} cases[] = {
	{ "order.paid", "", "", "order.paid", NULL, true },
	{ "order.paid", "", "", "order.paid2", NULL, false },
	{ "order.paid", "", "", "order.pai", NULL, false },
	{ "order.paid", "", "", "Order.paid", NULL, false },
	{ "order.*", "", "", "order.", NULL, true },
	{ "order.*", "", "", "order", NULL, false },
	{ "*", "", "", "anything at all", NULL, true },
	{ "*", "", "", "", NULL, true },
	{ "*", "", "", NULL, NULL, true },
	{ "a*b*c", "", "", "abxbc", NULL, true },
	{ "a*b*c", "", "", "abbbbc", NULL, true },
	{ "a*b*c", "", "", "acb", NULL, false },
	{ "*a*a*a*a*b", "", "", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL,
	  false },
	{ "App\\Events\\*", "", "", "App\\Events\\Paid", NULL, true },
	{ "x[ab]?", "", "", "xa1", NULL, false },
	{ "", "order.*", "", "order.paid", NULL, true },
	{ "", "order.*", "", "user.new", NULL, false },
	{ "", "", "tenant=acme", "t", "{\"tenant\": \"acme\"}", true },
	{ "", "", "tenant=acme", "t", "{\"tenant\": \"acme2\"}", false },
	{ "", "", "tenant=acme", "t", "{\"other\": \"acme\"}", false },
	{ "", "", "tenant=acme", "t", NULL, false },
	{ "", "", "tenant=acme", "t", "[]", false },
	{ "", "", "tenant=acme", "t", "not json", false },
	{ "", "", "tenant=ac*", "t", "{\"tenant\": \"acme\"}", true },
	{ "", "", "n=17", "t", "{\"n\": 17}", true },
	{ "", "", "n=17", "t", "{\"n\": 170}", false },
	{ "", "", "n=true", "t", "{\"n\": true}", true },
	{ "", "", "n=*", "t", "{\"n\": {\"a\": 1}}", false },
	{ "", "", "n=*", "t", "{\"n\": null}", false },
	{ "", "", "n=a=b", "t", "{\"n\": \"a=b\"}", true },
	{ "a", "", "n=1", "a", "{\"n\": 1}", true },
	{ "a", "", "n=1", "b", "{\"n\": 1}", false },
	{ "a", "", "n=1", "a", "{\"n\": 2}", false },
};

static struct conf
conf_of(struct conf_route *routes, size_t n)
{
	return (struct conf){
		.retry = { .max_attempts = 25, .backoff = 1000,
		    .max_backoff = 300000 },
		.publish.routes = { routes, n } };
}

/* The rule of the message's route. */
static const struct conf_route *
rule_of(const struct conf *c, const struct msg *m)
{
	static struct route_set	set;
	struct envelope_form	form = { .subject = "s" };

	route_set_init(&set, c, &form);
	return route_of(&set, m)->rule;
}

static struct conf_route
route(const char *type, const char *topic, const char *header)
{
	return (struct conf_route){ .type = (char *)type,
	    .topic = (char *)topic, .header = (char *)header,
	    .name = "r", .subject = "", .endpoint = "", .path = "",
	    .max_attempts = CONF_INHERIT, .backoff = CONF_INHERIT,
	    .max_backoff = CONF_INHERIT };
}

START_TEST(route_matches)
{
	struct conf_route	r = route(cases[_i].type_is,
				    cases[_i].topic_is, cases[_i].header_is);
	struct conf		c = conf_of(&r, 1);
	struct msg		m = { .type = bytes_of(cases[_i].type),
				    .metadata = bytes_of(cases[_i].metadata) };

	ck_assert_ptr_eq(rule_of(&c, &m), cases[_i].takes ? &r : NULL);
}
END_TEST

START_TEST(first_route_wins)
{
	struct conf_route	r[] = { route("order.paid", "", ""),
				    route("order.*", "", "") };
	struct conf		c = conf_of(r, 2);
	struct msg		m = { .type = bytes_of("order.paid") };

	ck_assert_ptr_eq(rule_of(&c, &m), &r[0]);
	m.type = bytes_of("order.sent");
	ck_assert_ptr_eq(rule_of(&c, &m), &r[1]);
	m.type = bytes_of("user.new");
	ck_assert_ptr_null(rule_of(&c, &m));
	c.publish.routes.n = 0;
	ck_assert_ptr_null(rule_of(&c, &m));
}
END_TEST

/*
 * Routes to NATS are one destination, all others are one each; only with
 * several is a fault told by route.
 */
static const struct {
	int		 rest;		/* publish.driver */
	int		 drivers[2];	/* of the routes; -1: none */
	bool		 several;
	const char	*groups[3];
} sets[] = {
	{ DRIVER_NATS, { -1, -1 }, false, { "" } },
	{ DRIVER_HTTP, { -1, -1 }, false, { "" } },
	{ DRIVER_NATS, { DRIVER_NATS, DRIVER_NATS }, false, { "", "", "" } },
	{ DRIVER_NATS, { DRIVER_HTTP, -1 }, true, { "route r", "" } },
	{ DRIVER_HTTP, { DRIVER_NATS, -1 }, true, { "", "publish.driver" } },
	{ DRIVER_HTTP, { DRIVER_HTTP, -1 }, true,
	  { "route r", "publish.driver" } },
	{ DRIVER_NATS, { DRIVER_NATS, DRIVER_HTTP }, true,
	  { "", "route r", "" } },
};

START_TEST(routes_are_destinations)
{
	struct conf_route	 r[] = { route("a", "", ""),
				     route("b", "", "") };
	size_t			 n = 0;
	struct conf		 c;
	struct envelope_form	 form = { .subject = "s" };
	static struct route_set	 set;

	for (; n < 2 && sets[_i].drivers[n] >= 0; n++)
		r[n].driver = sets[_i].drivers[n];
	c = conf_of(r, n);
	c.publish.driver = sets[_i].rest;
	route_set_init(&set, &c, &form);
	ck_assert_int_eq(set.several, sets[_i].several);
	for (size_t i = 0; i <= n; i++)
		ck_assert_str_eq(set.routes[i].group, sets[_i].groups[i]);
}
END_TEST

START_TEST(route_has_a_retry_policy)
{
	struct conf_route	r = route("a", "", "");
	struct conf		c = conf_of(&r, 1);

	ck_assert_int_eq(route_max_attempts(&c, NULL), 25);
	ck_assert_int_eq(route_max_attempts(&c, &r), 25);
	ck_assert_int_eq(route_backoff(&c, &r), 1000);
	ck_assert_int_eq(route_max_backoff(&c, &r), 300000);
	r.max_attempts = 3;
	r.backoff = 7000;
	r.max_backoff = 9000;
	ck_assert_int_eq(route_max_attempts(&c, &r), 3);
	ck_assert_int_eq(route_backoff(&c, &r), 7000);
	ck_assert_int_eq(route_max_backoff(&c, &r), 9000);
	ck_assert_int_eq(route_longest_backoff(&c), 300000);
	r.max_backoff = 900000;
	ck_assert_int_eq(route_longest_backoff(&c), 900000);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("route");
	TCase	*t = add_case(s, "route");

	tcase_add_loop_test(t, route_matches, 0, NROWS(cases));
	tcase_add_test(t, first_route_wins);
	tcase_add_loop_test(t, routes_are_destinations, 0, NROWS(sets));
	tcase_add_test(t, route_has_a_retry_policy);
	return run_suite(s);
}
