/*
 * fuzz_http.c - what a client may send to the monitor
 *
 * The first byte says by which socket, the rest is what it sends.  No outboxctl
 * runs: what would be asked of it is checked, and then its time is over.
 */

#include "fuzz/fuzz.h"

#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "monitor/monitor_impl.h"

#define TURNS	200		/* of the server, for one input */
/* The SHA-256 of 0123456789abcdef, which the corpus sends. */
#define FUZZ_TOKEN	{ 0x9f, 0x9f, 0x51, 0x11, 0xf7, 0xb2, 0x7a, 0x78, 0x1f, 0x1f, \
	0x1d, 0xdd, 0xe5, 0xeb, 0xc2, 0xdd, 0x2b, 0x79, 0x6b, 0xfc, \
	0x73, 0x65, 0xc9, 0xc2, 0x8b, 0x54, 0x8e, 0x56, 0x41, 0x76, \
	0x92, 0x9f }
#define LATER	3600000		/* ms: nobody waits for longer */

static struct conf	conf;
static struct monitor	m;

static void
begin(void)
{
	static char			 empty[] = "";
	static struct scoreboard_line	 line;
	static struct monitor_args	 a = { .conf = &conf, .line = &line };
	static struct question		 nobody;
	struct err			 e;

	if (m.http != NULL)
		return;
	signal(SIGPIPE, SIG_IGN);
	conf.monitor.listen = conf.monitor.user_header = empty;
	a.scoreboard = xcalloc(1, sizeof(*a.scoreboard));
	m = (struct monitor){ .a = &a, .host = "fuzz", .now = 1, .people = {
	    .list = { { .name = "anna", .has_token = 1, .may = ~0U,
	    .hash = FUZZ_TOKEN } }, .n = 1 } };
	questions_init(&m.questions, &(struct starter){ .program = "/nowhere" },
	    -1);
	/* As if each agent was busy for ever: none is started. */
	for (int i = 0; i < QUESTION_KINDS; i++)
		m.questions.current[i] = &nobody;
	MUST(server_start(&m, &e) == 0);
}

/*
 * Two words of ours, or one; then options and numbers; then any texts.  For a
 * change they stand beside the token of who wants it.
 */
static void
check_words(const struct question *q)
{
	json_t		*line = json_loads(q->words, 0, NULL), *words = line;
	const char	*word, *token;
	size_t		 i;

	if (q->kind == QUESTION_ACTION) {
		token = json_string_value(json_object_get(line, "token"));
		MUST(token != NULL && strcmp(token, "0123456789abcdef") == 0);
		words = json_object_get(line, "words");
	}
	MUST(json_is_array(words) && json_array_size(words) > 0);
	for (i = 0; i < json_array_size(words); i++) {
		word = json_string_value(json_array_get(words, i));
		MUST(word != NULL);
		if (strcmp(word, "--") == 0)
			break;
		MUST(i < 2 || strncmp(word, "--", 2) == 0 ||
		    word[strspn(word, "0123456789")] == '\0');
		MUST(i != 0 || word[strspn(word,
		    "abcdefghijklmnopqrstuvwxyz")] == '\0');
	}
	json_decref(line);
}

static void
check_questions(void)
{
	for (const struct question *q = m.questions.list; q != NULL;
	    q = q->next)
		check_words(q);
}

/* Read what has come; the first bytes are those of an answer. */
static void
check_answer(int fd, size_t *got)
{
	static char	text[1 << 16];
	ssize_t		n;

	while ((n = recv(fd, text, sizeof(text), MSG_DONTWAIT)) > 0) {
		if (*got == 0)
			MUST(n >= 9 && memcmp(text, "HTTP/1.", 7) == 0);
		*got += (size_t)n;
	}
}

static void
run(int fd, size_t *got)
{
	for (int i = 0; i < TURNS && m.clients.n > 0; i++) {
		MHD_run(m.http);
		check_questions();
		check_answer(fd, got);
		m.now += LATER;
		wait_turn(&m);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int	fds[2];
	size_t	got = 0;

	begin();
	if (size == 0 || size > 100000)
		return 0;
	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0);
	server_add(&m, fds[0]);
	MUST(m.clients.n == 1);
	m.clients.list[0]->is_local = data[0] & 1;
	(void)!write(fds[1], data + 1, size - 1);
	shutdown(fds[1], SHUT_WR);
	run(fds[1], &got);
	close(fds[1]);
	if (m.streams != NULL)
		events_end(&m);
	m.is_ending = false;
	run(-1, &got);
	questions_turn(&m.questions, m.now);
	MUST(m.clients.n == 0 && m.waiting == NULL &&
	    m.questions.list == NULL);
	return 0;
}
