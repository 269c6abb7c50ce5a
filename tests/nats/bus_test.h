/*
 * bus_test.h - a bus at a real nats-server
 *
 * What the bus did is looked up with the library's own JetStream calls, on a
 * connection of the test's own.  Each test opens its bus itself, because the
 * library's threads do not survive the fork before a test.
 */
#ifndef TESTS_BUS_TEST_H
#define TESTS_BUS_TEST_H

#include <nats/nats.h>

#include "lib/servers.h"
#include "nats/bus.h"
#include "driver/envelope.h"
#include "nats/stored_message.h"
#include "nats/stream.h"
#include "util/clock.h"

#define SECRET		"hunter2-s3cret"

extern const char	*server;	/* name of the one that is used */
extern struct conf	*conf;
extern struct pub	 bus;
extern struct err	 e;
extern struct envelope	 letter;
extern natsConnection	*admin;
extern jsCtx		*js;

/* A configuration with these keys in its section nats; for the server. */
struct conf	*conf_with(const char *keys);
struct conf	*conf_of_server(const char *more);

int		 open_bus(struct pub *);
bool		 is_open(void);

/*
 * The server and its streams, on the connection admin
 */

void		 start_nats(void);
void		 admin_open(const char *url);
void		 admin_close(void);
void		 add_stream(jsStreamConfig *, const char *name,
		    const char *subject);
void		 plain_stream(const char *name, const char *subject);
uint64_t	 stored(const char *stream);

/* A bus that is connected, and the stream EVENTS for events.>. */
void		 begin(void);
void		 end(void);

/*
 * Messages and answers
 */

struct bytes	 bytes(const char *text);

/* The letter of a row with this sequence, type and payload. */
void		 write_letter(uint64_t sequence, const char *type,
		    struct bytes payload);
enum pub_sent	 send_letter(uint32_t index);
void		 send_row(uint64_t sequence, uint32_t index);

/* The next answer, if one comes in this time. */
bool		 answers(struct pub_answer *, int64_t ms);
void		 ck_answer(uint32_t index, enum verdict, const char *text);
void		 ck_no_answer(int64_t ms);
void		 ck_stored(uint32_t index, uint64_t sequence);

/* What the bus says of the stream, and of places in it. */
bool		 check(struct stream_report *);
extern unsigned	 asked;		/* how often whether to go on */
extern unsigned	 enough;	/* so often; 0: always */
int		 get_stored(struct stored_message *, size_t n);

/* Wake-ups: bus_wake.c. */
void		 listen_to(const char *subject, const char *login);
void		 is_subscribed(void);
bool		 is_woken(int64_t ms);
void		 ring(const char *subject, unsigned times);

/* The cases. */
void		 add_publishing(Suite *);
void		 add_wakes(Suite *);
void		 add_refusals(Suite *);
void		 add_looks(Suite *);
void		 add_logins(Suite *);
void		 add_encryption(Suite *);
void		 add_losses(Suite *);
void		 add_hostile(Suite *);

#endif
