/*
 * stream_audit_scrub.c - what was checked once is checked again, and what may
 * have been removed on purpose is told and not sent
 */

#include "recovery/stream_audit_test.h"
#include "recovery/scrub.h"
#include "store/store_sql.h"

#define HOLES	"SELECT missing, holes, accepted FROM outbox_streams"
#define ALL_ROUND	100		/* steps; more than a round takes */

static struct scrub	scrub;

/*
 * What a state says of the one before
 */

static const struct {
	const char	*leader;	/* it was n1 */
	bool		 checked, has_gaps, forgets;
	uint64_t	 gaps, damage;	/* they were 3 and 100 */
	enum suspicion	 suspicion;
} signs[] = {
	{ "n1", true, true, false, 3, 100, SUSPECT_NOTHING },
	{ "", true, true, false, 3, 100, SUSPECT_NOTHING },
	{ "n1", true, true, false, 2, 0, SUSPECT_NOTHING },
	{ "n1", true, true, false, 4, 100, SUSPECT_LOOK },
	{ "n1", true, true, true, 4, 100, SUSPECT_NOTHING },
	{ "n1", true, true, false, 4, 101, SUSPECT_LOST },
	{ "n1", true, true, true, 3, 101, SUSPECT_LOST },
	{ "n2", true, true, false, 3, 100, SUSPECT_CHANGE },
	{ "n2", true, true, false, 4, 100, SUSPECT_LOST },
	{ "n2", true, true, false, 2, 100, SUSPECT_LOST },
	{ "n2", true, true, false, 0, 0, SUSPECT_CHANGE },
	{ "n1", false, true, false, 3, 100, SUSPECT_CHANGE },
	{ "n1", false, true, false, 4, 100, SUSPECT_LOST },
	{ "n1", true, false, false, 4, 101, SUSPECT_NOTHING },
	{ "n1", false, false, false, 4, 101, SUSPECT_CHANGE },
};

START_TEST(state_is_compared)
{
	struct stream_row	row = { .checked = signs[_i].checked,
				    .has_gaps = signs[_i].has_gaps,
				    .leader = "n1", .gaps = 3, .damage = 100 };
	struct stream_state	state = { .forgets = signs[_i].forgets,
				    .gaps = signs[_i].gaps,
				    .damage = signs[_i].damage };

	strlcpy(state.leader, signs[_i].leader, sizeof(state.leader));
	ck_assert_int_eq(stream_audit_suspect(&row, &state),
	    signs[_i].suspicion);
}
END_TEST

/*
 * Holes
 */

/* Rows 1 to 9 were delivered an hour ago, and a check has seen all of them. */
static void
checked_history(void)
{
	know("S1", 20);
	deliver(1, 9, "'p00'", 3600);
	ck_assert(look());
	ck_sql("0 0 NULL", "SELECT gaps, damage, suspicion "
	    "FROM outbox_streams");
}

/* The stream has not these any more, and says so; listed: deleted. */
static void
lose(uint64_t first, uint64_t last, bool listed)
{
	forget(first, last);
	if (listed)
		sequence_set_add(&fake.deleted, first, last);
	fake.state.gaps += last - first + 1;
	fake.state.deleted = sequence_set_count(&fake.deleted);
	fake.state.messages -= last - first + 1;
}

static enum keep
go_on(void *arg)
{
	(void)arg;
	return KEEP_ON;
}

/* Another janitor, with nothing in its memory. */
static void
new_scrub(void)
{
	uint64_t	recovered = scrub.recovered;

	scrub_init(&scrub, conf, st, relay.pubs[DRIVER_NATS], go_on, NULL, NULL);
	scrub.recovered = recovered;
	strlcpy(scrub.me, "one", sizeof(scrub.me));
	sql("UPDATE outbox_settings SET outbox_id = 'shop'");
	ck_ok(store_settings(st, &(unsigned){ 8 }, &e));
}

static void
check_again(void)
{
	rec.at = 0;
	ck_assert(look());
}

/* Steps of the scrub up to the end of a round; a check comes in between. */
static void
whole_round(void)
{
	int64_t	delay_ms;
	bool	ended = false;

	sql("UPDATE outbox_streams SET scrub_ended = NULL");
	for (int i = 0; i < ALL_ROUND && !ended; i++) {
		scrub.next_at = 0;
		ck_ok(scrub_step(&scrub, &delay_ms, &e));
		check_again();
		ended = strcmp(sql_text("SELECT scrub_ended IS NOT NULL "
		    "FROM outbox_streams"), "1") == 0;
	}
	ck_assert(ended);
}

START_TEST(removed_messages_are_told)
{
	new_scrub();
	checked_history();
	deliver_elsewhere(101, 300, 3600);
	whole_round();
	ck_sql("0 NULL NULL", HOLES);
	ck_has_not(logged(), "acknowledged messages");
	lose(3, 4, true);
	lose(7, 7, true);
	check_again();
	ck_sql("look 3", "SELECT suspicion, gaps FROM outbox_streams");
	sql("UPDATE outbox_streams SET look_after = NULL");
	whole_round();
	ck_sql("3 3-4,7 NULL", HOLES);
	ck_sql("NULL", WAITING);
	ck_has(logged(), "lacks 3 acknowledged messages, sequences 3 to 7");
	servers_write("log", "");
	/* Once is enough, and a start of the server makes them no losses. */
	strlcpy(fake.state.server, "S2", sizeof(fake.state.server));
	sql("UPDATE outbox SET published_at = NOW(6)");
	whole_round();
	whole_round();
	ck_sql("3 3-4,7 NULL", HOLES);
	ck_sql("NULL", WAITING);
	ck_has_not(logged(), "lacks");
	ck_has_not(logged(), "sent again");
	/* The message is there after all, on another server. */
	fake.row[7] = 7;
	whole_round();
	ck_sql("2 3-4 NULL", HOLES);
	/* What is accepted is no problem any more, nor sent again. */
	ck_ok(store_begin(st, &e));
	ck_ok(store_end(st, store_holes_accept(st, "EVENTS", &e), &e));
	whole_round();
	ck_sql("0 NULL 3-4", HOLES);
}
END_TEST

START_TEST(accepted_holes_are_not_republished)
{
	struct stream_audit_rows	w = { .absent = true,
				    .unknown_below = UINT64_MAX };
	char				until[STORE_TIME];
	struct store_period		all = { "1970-01-01 00:00:01.000000",
					    until };

	checked_history();
	lose(3, 5, true);
	sql("UPDATE outbox_streams SET accepted = '3-4', holes = '5'");
	ck_ok(store_now(st, until, &e));
	ck_assert_int_eq(stream_audit_rows(&rec, &w, &all, &e), AUDIT_DONE);
	ck_sql("5", WAITING);
}
END_TEST

/* The latest message is erased: a check does not miss it as one that is lost */
START_TEST(latest_message_may_be_erased)
{
	new_scrub();
	checked_history();
	lose(9, 9, true);
	check_again();
	check_again();
	ck_sql("NULL", WAITING);
	whole_round();
	ck_sql("1 9 NULL", HOLES);
}
END_TEST

static const struct {
	const char	*what;
	const char	*server, *leader;
	bool		 listed, damaged, keeps, forgets;
	const char	*waiting;
} losses[] = {
	{ "removed", "S1", "", true, false, false, false, "NULL" },
	{ "removed from a work queue", "S1", "", true, false, false, true,
	  "NULL" },
	{ "nobody may remove it", "S1", "", true, false, true, false, "5" },
	{ "the store says so", "S1", "", true, true, false, false, "5" },
	{ "the same of a work queue", "S1", "", true, true, false, true, "5" },
	{ "a start of the server", "S2", "", true, false, false, false, "5" },
	{ "another leader", "S1", "n2", true, false, false, false, "5" },
	{ "the same of a work queue", "S1", "n2", true, false, false, true,
	  "NULL" },
};

START_TEST(hole_is_judged)
{
	new_scrub();
	strlcpy(fake.state.leader, "n1", sizeof(fake.state.leader));
	checked_history();
	lose(5, 5, losses[_i].listed);
	if (losses[_i].damaged) {
		sequence_set_add(&fake.damaged, 5, 5);
		fake.state.damage = 200;
	}
	fake.state.dedup_window_ms = 2 * 60 * 60 * 1000;
	fake.state.keeps = losses[_i].keeps;
	fake.state.forgets = losses[_i].forgets;
	strlcpy(fake.state.server, losses[_i].server,
	    sizeof(fake.state.server));
	if (losses[_i].leader[0] != '\0')
		strlcpy(fake.state.leader, losses[_i].leader,
		    sizeof(fake.state.leader));
	check_again();
	whole_round();
	whole_round();
	ck_assert_msg(strcmp(sql_text(WAITING), losses[_i].waiting) == 0,
	    "%s: %s", losses[_i].what, sql_text(WAITING));
	if (strcmp(losses[_i].waiting, "5") == 0) {
		ck_sql("0 NULL NULL", HOLES);
		ck_assert_uint_ge(scrub.recovered, 1);
		ck_sql("6", "SELECT lease_epoch FROM outbox_partitions "
		    "WHERE partition_key = 'p00'");
		/* The server may know the id of what it does not have. */
		ck_sql("1", "SELECT replay_no FROM outbox "
		    "WHERE global_sequence = 5");
	}
}
END_TEST

/*
 * A start of a server makes its memory of ids of the messages that it has.  A
 * replica is told later, by a leader that lacks some, to forget these, and
 * keeps their ids.
 */
START_TEST(replica_may_know_ids_of_lost_messages)
{
	new_scrub();
	strlcpy(fake.state.leader, "n1", sizeof(fake.state.leader));
	know("S1", 20);
	deliver(1, 9, "'p00'", 60);
	ck_assert(look());
	lose(5, 6, true);
	fake.state.dedup_window_ms = 2 * 60 * 1000;
	fake.state.replicated = _i == 1;
	strlcpy(fake.state.server, "S2", sizeof(fake.state.server));
	strlcpy(fake.state.leader, "n2", sizeof(fake.state.leader));
	check_again();
	ck_sql("5,6", WAITING);
	ck_sql(_i == 1 ? "1 1" : "0 0", "SELECT MIN(replay_no), "
	    "MAX(replay_no) FROM outbox WHERE published_at IS NULL");
}
END_TEST

/* It counts the message, and cannot read it: a bit has flipped. */
START_TEST(unreadable_message_is_lost)
{
	new_scrub();
	checked_history();
	if (_i == 1)	/* others are missing, and it lists none of them */
		fake.state.gaps = 7;
	check_again();
	whole_round();
	whole_round();
	forget(5, 5);
	whole_round();
	ck_sql("5", WAITING);
	ck_sql("0 NULL NULL", HOLES);
}
END_TEST

START_TEST(nothing_is_known_of_unlisted_holes)
{
	new_scrub();
	checked_history();
	fake.state.gaps = 7;
	forget(5, 5);
	check_again();
	whole_round();
	ck_sql("NULL", WAITING);
	ck_sql("1 5 NULL", HOLES);
}
END_TEST

START_TEST(report_tells_losses_as_holes)
{
	again_with("recover: report");
	new_scrub();
	checked_history();
	fake.row[4] = ALIEN;
	forget(5, 5);
	whole_round();
	whole_round();
	ck_sql("NULL", WAITING);
	ck_sql("2 4-5 NULL", HOLES);
	ck_sql("0", "SELECT lost FROM outbox_streams");
}
END_TEST

/*
 * Rounds
 */

/* Somebody erases messages all the time: that is not read for all the time. */
START_TEST(looks_take_turns)
{
	int64_t	delay_ms;

	new_scrub();
	conf->nats.scrub = 0;
	checked_history();
	lose(3, 3, true);
	check_again();
	whole_round();
	sql("UPDATE outbox_streams SET look_after = NOW(6) + "
	    "INTERVAL 1 MINUTE");
	lose(4, 4, true);
	check_again();
	for (int i = 0; i < 5; i++) {
		ck_ok(scrub_step(&scrub, &delay_ms, &e));
		ck_assert_int_gt(delay_ms, 1000);
	}
	ck_sql("look 1", "SELECT suspicion, missing FROM outbox_streams");
	/* Another leader has less: that is not put off. */
	strlcpy(fake.state.leader, "n2", sizeof(fake.state.leader));
	fake.state.damage = 7;
	check_again();
	ck_ok(scrub_step(&scrub, &delay_ms, &e));
	ck_sql("NULL lost", "SELECT suspicion, scrub_for FROM outbox_streams");
}
END_TEST

/*
 * A leader that has another message in the place of one: no look is in its way,
 * neither one that was put off nor one under way.
 */
START_TEST(another_leader_is_looked_up_at_once)
{
	int64_t	delay_ms;

	new_scrub();
	conf->nats.scrub = 0;
	strlcpy(fake.state.leader, "n1", sizeof(fake.state.leader));
	checked_history();
	if (_i == 1) {
		lose(3, 3, true);
		check_again();
		ck_ok(scrub_step(&scrub, &delay_ms, &e));
		ck_sql("look", "SELECT scrub_for FROM outbox_streams");
		ck_assert(scrub.urgent);
		whole_round();
		ck_ok(scrub_step(&scrub, &delay_ms, &e));
		ck_assert(!scrub.urgent);
		lose(4, 4, true);
		check_again();
		ck_sql("look", "SELECT suspicion FROM outbox_streams");
	}
	sql("UPDATE outbox_streams SET look_after = NOW(6) + "
	    "INTERVAL 1 HOUR");
	strlcpy(fake.state.leader, "n2", sizeof(fake.state.leader));
	fake.row[7] = ALIEN;
	check_again();
	ck_sql("change", "SELECT suspicion FROM outbox_streams");
	/* A message that is removed meanwhile does not put it off. */
	lose(8, 8, true);
	check_again();
	ck_sql("change", "SELECT suspicion FROM outbox_streams");
	whole_round();
	ck_sql("7", WAITING);
}
END_TEST

/* All slices behind a message that is lacking: the stream is searched once. */
START_TEST(what_has_moved_is_searched_once)
{
	new_scrub();
	strlcpy(fake.state.leader, "n1", sizeof(fake.state.leader));
	know("S1", 20);
	for (unsigned i = 0; i < 3; i++)
		deliver(i * 1000 + 1, i * 1000 + 1000, "'p00'", 3600 - i);
	deliver(3001, 3001, "'p00'", 3000);
	ck_assert(look());
	strlcpy(fake.state.leader, "n2", sizeof(fake.state.leader));
	fake.state.replicated = true;
	for (uint64_t i = 4; i < 3000; i++)
		fake.row[i] = i + 1;
	fake.row[3000] = ALIEN;
	check_again();
	fake.nplaces = 0;
	whole_round();
	ck_sql("4", WAITING);
	ck_sql("2996", "SELECT COUNT(*) FROM outbox "
	    "WHERE ack_sequence = global_sequence - 1");
	ck_has(logged(), "messages are at other sequences");
	/* Each at its place and beside it, all in the search, and others. */
	ck_assert_uint_le(fake.nplaces, 3000 + 2000 + 3000 + 100);
}
END_TEST

/* Else the look would tell of losses as if somebody had removed them. */
START_TEST(loss_ends_a_look)
{
	int64_t	delay_ms;

	new_scrub();
	strlcpy(fake.state.leader, "n1", sizeof(fake.state.leader));
	checked_history();
	strlcpy(fake.state.leader, "n2", sizeof(fake.state.leader));
	check_again();
	ck_ok(scrub_step(&scrub, &delay_ms, &e));
	ck_sql("change", "SELECT scrub_for FROM outbox_streams");
	strlcpy(fake.state.leader, "n3", sizeof(fake.state.leader));
	lose(5, 6, true);
	check_again();
	whole_round();
	ck_sql("5,6", WAITING);
	ck_sql("0 NULL NULL", HOLES);
}
END_TEST

/* A worker has seen another leader with less; one, elsewhere, a start. */
START_TEST(audit_knows_of_a_loss)
{
	new_scrub();
	strlcpy(fake.state.leader, "n1", sizeof(fake.state.leader));
	know("S1", 20);
	deliver(1, 9, "'p00'", 60);
	ck_assert(look());
	strlcpy(fake.state.leader, "n2", sizeof(fake.state.leader));
	lose(5, 6, true);
	check_again();
	ck_sql("lost", "SELECT suspicion FROM outbox_streams");
	ck_sql("NULL", WAITING);
	strlcpy(fake.state.server, "S2", sizeof(fake.state.server));
	check_again();
	ck_sql("5,6", WAITING);
	ck_sql("0 NULL NULL", HOLES);
}
END_TEST

START_TEST(rounds_are_those_of_a_fleet)
{
	int64_t		delay_ms;
	struct scrub	other;

	new_scrub();
	conf->nats.scrub = 1;		/* ten rows at a time */
	know("S1", 20);
	for (unsigned i = 0; i < 30; i++)
		deliver(i + 1, i + 1, "'p00'", 3600 - i);
	ck_assert(look());
	for (int i = 0; i < 2; i++) {
		ck_ok(scrub_step(&scrub, &delay_ms, &e));
		check_again();
	}
	while (strcmp(sql_text("SELECT scrub_rows FROM outbox_streams"),
	    "10") != 0) {
		scrub.next_at = 0;
		ck_ok(scrub_step(&scrub, &delay_ms, &e));
		check_again();
	}
	ck_assert_int_gt(scrub.next_at, clock_ms() + 8000);
	/* Another janitor waits, until this one is gone. */
	scrub_init(&other, conf, st, relay.pubs[DRIVER_NATS], go_on, NULL, NULL);
	ck_ok(scrub_step(&other, &delay_ms, &e));
	ck_sql("one", "SELECT scrubber FROM outbox_streams");
	sql("UPDATE outbox_streams SET scrubber_until = NOW(6) - INTERVAL 1 "
	    "SECOND");
	for (int i = 0; i < 3; i++) {
		ck_ok(scrub_step(&other, &delay_ms, &e));
		check_again();
	}
	ck_sql("20", "SELECT scrub_rows FROM outbox_streams");
}
END_TEST

/* Nothing is judged by what no check has seen yet. */
START_TEST(scrub_waits_for_a_check)
{
	int64_t	delay_ms;

	new_scrub();
	checked_history();
	fake.nplaces = 0;
	for (int i = 0; i < 5; i++)
		ck_ok(scrub_step(&scrub, &delay_ms, &e));
	ck_assert_uint_eq(fake.nplaces, 0);
	check_again();
	fake.nplaces = 0;
	ck_ok(scrub_step(&scrub, &delay_ms, &e));
	ck_assert_uint_eq(fake.nplaces, 9);
	/* Another leader that no check knows */
	strlcpy(fake.state.leader, "n2", sizeof(fake.state.leader));
	sql("UPDATE outbox_streams SET scrub_at = known_since");
	fake.nplaces = 0;
	scrub.next_at = 0;
	ck_ok(scrub_step(&scrub, &delay_ms, &e));
	ck_assert_uint_eq(fake.nplaces, 0);
}
END_TEST

void
add_scrubs(Suite *s, const struct kind *k)
{
	TCase	*tc;

	if (strcmp(k->name, "mariadb") == 0) {
		tc = tcase_create("signs");
		tcase_add_loop_test(tc, state_is_compared, 0, NROWS(signs));
		suite_add_tcase(s, tc);
	}
	tc = add_case(s, "scrub", k, k->start, recover_begin, end_store);
	tcase_add_test(tc, removed_messages_are_told);
	tcase_add_test(tc, accepted_holes_are_not_republished);
	tcase_add_test(tc, latest_message_may_be_erased);
	tcase_add_loop_test(tc, hole_is_judged, 0, NROWS(losses));
	tcase_add_loop_test(tc, unreadable_message_is_lost, 0, 2);
	tcase_add_loop_test(tc, replica_may_know_ids_of_lost_messages, 0, 2);
	tcase_add_test(tc, nothing_is_known_of_unlisted_holes);
	tcase_add_test(tc, report_tells_losses_as_holes);
	tcase_add_test(tc, looks_take_turns);
	tcase_add_loop_test(tc, another_leader_is_looked_up_at_once, 0, 2);
	tcase_add_test(tc, what_has_moved_is_searched_once);
	tcase_add_test(tc, loss_ends_a_look);
	tcase_add_test(tc, audit_knows_of_a_loss);
	tcase_add_test(tc, rounds_are_those_of_a_fleet);
	tcase_add_test(tc, scrub_waits_for_a_check);
}
