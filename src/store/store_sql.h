/*
 * store_sql.h - build statements that store.h does not have
 *
 * A statement is one text, from its first word to its last.  Words in braces
 * stand for what differs by database; a name behind a colon stands for the
 * argument of that name:
 *
 *	store_sql(s, "DELETE FROM {outbox} WHERE {global_sequence} IN (:rows) "
 *	    "AND {published_at} <= :until:limit",
 *	    SQL_LIST("rows", list, n), SQL_TEXT("until", until),
 *	    SQL_IF("limit", careful, " LIMIT :max"), SQL_NUMBER("max", max));
 *	if (store_exec(s, "prune", &deleted, e) < 0)
 */
#ifndef OUTBOX_STORE_SQL_H
#define OUTBOX_STORE_SQL_H

#include "store/store.h"

/*
 * store_fit.c: our columns that hold values of rows.  A value becomes a literal
 * that its column accepts: as it is if it fits, else cut, with "..." at its
 * end, or as "0x" and hex if the column cannot hold such bytes.
 */
enum store_fit {
	FIT_LABEL, FIT_ERROR, FIT_DEAD_LABEL, FIT_DEAD_KEY, FIT_DEAD_TYPE,
	FIT_DEAD_ERROR, FIT_BLOCKED_KEY, NFITS
};

/* A text of SQL, with words and names: of literals alone. */
struct sql {
	const char	*text;
};

#define SQL(text)	((struct sql){ "" text })

/*
 * The arguments of a template.  The compiler checks their types; a name that
 * the template has and no argument is a bug and ends the process.
 *
 * SQL_TEXT	a literal, or NULL
 * SQL_BYTES	the same with its length: there may be NUL in it
 * SQL_FIT	bytes made to fit a column of ours, see enum store_fit
 * SQL_ERROR	the same for the text of an error, or NULL
 * SQL_PATTERN	a pattern such as "order.*", for LIKE
 * SQL_NUMBER	a whole number, not below 0
 * SQL_MS	milliseconds, as microseconds: {now} + INTERVAL :ttl MICROSECOND
 * SQL_LIST	numbers: 1,2,3.  Like the labels, it continues a list that was
 *		begun, with a comma unless it stands behind "(" or a blank.
 * SQL_LABELS	texts: 'a','b', and NULL for one without text
 * SQL_LIST_OF, SQL_LABELS_OF	the same of a member of structs
 * SQL_EPOCHS	labels of ranges, and their epochs: ('a',1),('b',2)
 * SQL_NAME	`name`: one from information_schema may have any characters
 * SQL_PART	a part of the statement.  In its text the arguments of the
 *		whole one count.
 * SQL_IF	a part that is there if the condition holds
 * SQL_EITHER	this part if the condition holds, else that one
 * SQL_PUT	a part that a call of a store_put_*() appends
 * SQL_PUT_IF	the same if the condition holds
 * SQL_RAW	a text that the program has made, as it stands
 */
struct sql_arg {
	const char	*name;
	enum { SQL_IS_TEXT, SQL_IS_BYTES, SQL_IS_FIT, SQL_IS_ERROR,
	    SQL_IS_PATTERN, SQL_IS_NUMBER, SQL_IS_MS, SQL_IS_LIST,
	    SQL_IS_LABELS, SQL_IS_EPOCHS, SQL_IS_NAME, SQL_IS_PART,
	    SQL_IS_RAW, SQL_IS_MADE } kind;
	union {
		const char		*text;
		const void		*list;
		const uint64_t		*numbers;
		const char *const	*labels;
		const struct range	*ranges;
		uint64_t		 number;
		int64_t			 ms;
		char			*made;
	};
	size_t		 n;
	size_t		 stride;	/* from an item to the next one */
	enum store_fit	 fit;
};

#define SQL_OF(name_, kind_, ...)					\
	{ .name = (name_), .kind = SQL_IS_##kind_, __VA_ARGS__ }
#define SQL_TEXT(name, t)	SQL_OF(name, TEXT, .text = (t))
#define SQL_BYTES(name, b, len)	SQL_OF(name, BYTES, .text = (b), .n = (len))
#define SQL_FIT(name, column, b)					\
	SQL_OF(name, FIT, .text = (b).data, .n = (b).len, .fit = (column))
#define SQL_ERROR(name, column, t)					\
	SQL_OF(name, ERROR, .text = (t), .fit = (column))
#define SQL_PATTERN(name, t)	SQL_OF(name, PATTERN, .text = (t))
#define SQL_NUMBER(name, x)	SQL_OF(name, NUMBER, .number = (x))
#define SQL_MS(name, x)		SQL_OF(name, MS, .ms = (x))
#define SQL_LIST(name, list, len)					\
	SQL_OF(name, LIST, .numbers = (list), .n = (len),		\
	    .stride = sizeof(uint64_t))
#define SQL_LABELS(name, list, len)					\
	SQL_OF(name, LABELS, .labels = (list), .n = (len),		\
	    .stride = sizeof(char *))
#define SQL_LIST_OF(name, structs, len, member)				\
	SQL_OF(name, LIST, .numbers = &(structs)->member, .n = (len),	\
	    .stride = sizeof(*(structs)))
#define SQL_LABELS_OF(name, structs, len, member)			\
	SQL_OF(name, LABELS, .labels = &(structs)->member, .n = (len),	\
	    .stride = sizeof(*(structs)))
#define SQL_EPOCHS(name, list, len)					\
	SQL_OF(name, EPOCHS, .ranges = (list), .n = (len))
#define SQL_NAME(name, t)	SQL_OF(name, NAME, .text = (t))
#define SQL_PART(name, sql)	SQL_OF(name, PART, .text = (sql).text)
#define SQL_IF(name, condition, t)	SQL_EITHER(name, condition, t, "")
#define SQL_EITHER(name, condition, t, otherwise)			\
	SQL_OF(name, PART, .text = (condition) ? "" t : "" otherwise)
#define SQL_PUT(name, s, call)	SQL_PUT_IF(name, true, s, call)
#define SQL_PUT_IF(name, condition, s, call)				\
	SQL_OF(name, MADE, .made = (condition) ? (store_begin_part(s),	\
	    (call), store_end_part(s)) : NULL)
#define SQL_RAW(name, t)	SQL_OF(name, RAW, .text = (t))

/* For SQL_PUT: what is appended from here to there is a text apart. */
void	store_begin_part(struct store *);
char	*store_end_part(struct store *);

/*
 * Start a new statement; append to it.  Words of a template:
 *
 * {outbox} {events} {partitions} {workers} {settings} {dead} {blocked} {streams}
 * {audit} {registry} are quoted table names, {now} the moment to write, {me}
 * this worker's id, {index} the FORCE INDEX of the claim, {primary} and
 * {events_primary} that of a look-up by sequence.
 *
 * Columns of the outbox and of the events must be written as words too, because
 * their tables may be an application's own: {attempts}, {o.attempts},
 * {outbox.attempts}.  One that the table lacks becomes NULL, {as attempts} is
 * "AS" and its name whether it is there or not, and {clear o.attempts} is
 * ", o.attempts = NULL" of an UPDATE, or nothing if the table lacks it.  Columns
 * of the other tables are written as they are.
 */
#define store_sql(s, template, ...)					\
	store_sql_template((s), "" template "", SQL_ARGS(__VA_ARGS__))
#define store_put(s, template, ...)					\
	store_put_template((s), "" template "", SQL_ARGS(__VA_ARGS__))
/* There may be none; then the one in front takes no comma. */
#define SQL_ARGS(...)							\
	((const struct sql_arg[]){ { .name = "" }, ##__VA_ARGS__,	\
	    { .name = NULL } } + 1)

void	store_sql_template(struct store *, const char *,
	    const struct sql_arg *);
void	store_put_template(struct store *, const char *,
	    const struct sql_arg *);

/*
 * The bytes of a text or binary column, as SQL.  Keys are compared by these, so
 * their columns may have different character sets.
 */
#define STORE_BYTES(x)	"IF(CHARSET(" x ") = 'binary', " x \
			", CAST(CONVERT(" x " USING utf8mb4) AS BINARY))"

/*
 * The key of a record, as SQL: its event's, because ours may be cut, or in hex.
 * If ours is whole and another one, sequences were used again since.
 */
#define STORE_KEY_OF(event, ours) \
	"IF(" STORE_BYTES(ours) " NOT IN (" STORE_BYTES(event) ", " \
	"CONCAT('0x', LOWER(HEX(" STORE_BYTES(event) ")))) AND " \
	"RIGHT(" STORE_BYTES(ours) ", 3) <> '...', " STORE_BYTES(ours) ", " \
	"COALESCE(" STORE_BYTES(event) ", " STORE_BYTES(ours) "))"

/*
 * Ends the INSERT of a dead letter.  A row that was brought back by hand may die
 * again, and so may another message under a sequence that is used again.
 */
#define STORE_OTHER_LETTER " ON DUPLICATE KEY UPDATE " \
	"partition_key = VALUES(partition_key), " \
	"order_key = VALUES(order_key), event_type = VALUES(event_type), " \
	"attempts = VALUES(attempts), reason = VALUES(reason), " \
	"last_error = VALUES(last_error), created_at = VALUES(created_at), " \
	"died_at = VALUES(died_at), replay_no = VALUES(replay_no)"

/*
 * store_parked.c, in SQL: the label of a record's parked rows; is a label one
 * of those; its record, or NULL; and an index range that has all of them.
 */
#define PARKED_LABEL(first)	"CONCAT('!', " first ")"
#define PARKED_IS(label) \
	"CONVERT(" label " USING utf8mb4) REGEXP '^!(0|[1-9][0-9]*)$'"
#define PARKED_UNDER(label)	"IF(" PARKED_IS(label) ", CAST(SUBSTRING(" \
	label ", 2) AS UNSIGNED), NULL)"
#define PARKED_RANGE(label)	"(" label " > '!' AND " label " < '!a')"

/* Does it fit as it is? */
bool	store_fits(const struct store *, enum store_fit, const char *,
	    size_t);

/*
 * Row o, which has no claim, is not put off; and in how many milliseconds it is
 * due.  A time that the server gave with the INSERT is no wish: such a row is
 * due although its time lies ahead, as when the clock was put back.  So is one
 * that was made ahead and put off unsent, if it waits for longer than we ever
 * put one off: store_put_off_ms().
 */
void	store_put_is_due(struct store *);
void	store_put_due_ms(struct store *);
int64_t	store_put_off_ms(const struct store *);

/* Does the server write created_at and available_at with an INSERT? */
bool	store_stamps_rows(const struct store *);

/*
 * Append an available_at, of a statement about {outbox} alone, with which a row
 * is due, now and after the clock was put back.
 */
void	store_put_at_once(struct store *);

/*
 * Append the comma before an item of a list; none after "(" or a blank, where
 * the list begins.
 */
void	store_put_comma(struct store *);

/* " FROM ... WHERE ...": the waiting rows of these partitions. */
void	store_put_rows_of(struct store *, const char *const *labels, size_t n);

/*
 * " FROM ... WHERE ...": rows delivered after from and up to until (NULL: no
 * end), by the claim index if that begins with the time.
 */
void	store_put_delivered(struct store *, const char *from,
	    const char *until);

/*
 * When the last of the first max rows of the period was delivered; until, if
 * there are fewer.
 */
int	store_delivered_end(struct store *, const struct store_period *,
	    size_t max, char end[STORE_TIME], struct err *);

/* Send it; what names it in an error. *matched may be NULL, see db_exec. */
int	store_exec(struct store *, const char *what, uint64_t *matched,
	    struct err *);

/* All rows that the SELECT has, or an error: see limit_select() in store.c. */
struct db_rows *store_query(struct store *, const char *what, struct err *);

/*
 * The first column of the first row: as text, or as a number; without a row, or
 * with NULL there, "" and 0.  And: is there a row?
 */
int	store_query_text(struct store *, const char *what, char *text,
	    size_t size, struct err *);
int	store_query_number(struct store *, const char *what, uint64_t *,
	    struct err *);
int	store_query_any(struct store *, const char *what, bool *,
	    struct err *);

/*
 * From now on EXPLAIN each statement instead of running it: nothing is read,
 * locked or changed, store_exec matches no row, store_query fails.  The
 * function gets the plan, or NULL and the error.  Transactions are skipped,
 * and so is all that follows one that has waited for a lock, as it would, too.
 * NULL for the function ends it.
 */
void	store_explain(struct store *, void (*)(void *arg, const char *what,
	    struct db_rows *plan, const struct err *), void *arg);

/*
 * A transaction: store_begin, its statements, and store_end with their result.
 * That commits if rc is 0.  Otherwise, or if the COMMIT fails, it rolls back
 * and returns -1, with the fault and the error of the failure.
 *
 * If the COMMIT failed with DB_LOST, its outcome is not known.  A transaction
 * either may be repeated (it changes only rows that are as it read them), or
 * leaves a trace to look for, as ctl_transaction() does.  After any other fault
 * nothing was done.
 */
int	store_begin(struct store *, struct err *);
int	store_end(struct store *, int rc, struct err *);

/*
 * store_whole.c: with outbox.mode: inline, copy the messages of these rows into
 * their dead letters, in the transaction that makes the letters and deletes the
 * rows; and, in an INSERT ... SELECT that puts letters d back, the columns and
 * the values of the message, each with a comma before it.
 */
int	store_keep_whole(struct store *, const uint64_t *sequences, size_t n,
	    struct err *);
void	store_put_whole_columns(struct store *);
void	store_put_whole_values(struct store *);

/* "(SELECT ...) AS e": letters d as if they were rows with the message. */
void	store_put_whole(struct store *);

/*
 * store_scheduled.c: the label that a row has when its time comes, of a label
 * as SQL.
 */
void	store_put_home_label(struct store *, struct sql label);

/* The SET of an UPDATE of leases for a new epoch; nothing else raises one. */
#define STORE_NEW_EPOCH	"lease_epoch = lease_epoch + 1, updated_at = {now}"

/*
 * Raise the epochs of these partitions: their owners then scan from the first
 * row and read the blocked keys again.  what names it in an error.
 */
int	store_bump_epochs(struct store *, const char *what,
	    const char *const *labels, size_t n, struct err *);

/* The same for the partitions that the statement in the buffer selects. */
int	store_bump_selected(struct store *, const char *what, struct err *);

/*
 * Read the counts and lock them, shared, until the transaction ends.  To be
 * called first in a transaction that sets labels or raises epochs.
 */
int	store_hold_counts(struct store *, struct counts *, struct err *);

/* The same with an exclusive lock, to change them. */
int	store_lock_counts(struct store *, struct counts *, struct err *);

/*
 * Declare these counts, insert the missing leases of their labels, and raise
 * all epochs: in a transaction that has locked the counts.
 */
int	store_write_counts(struct store *, const struct counts *,
	    struct err *);

/*
 * Do producers compute labels of outbox.partition_by, too?  They do by the
 * settings; -1 with an error that says what to do.
 */
int	store_check_partition_by(struct store *, struct err *);

/* Wait for locks for a second at most (true), or as long as before. */
int	store_hurry(struct store *, bool, struct err *);

/*
 * A transaction whose statements wait for a lock for a second at most.  Then it
 * ends with -1 and store_fault() DB_BUSY.
 */
int	store_begin_in_a_hurry(struct store *, struct err *);
int	store_end_in_a_hurry(struct store *, int rc, struct err *);

/*
 * The number that a label is made of: see partition_by.h.  event is the alias
 * of the event, key its key as SQL, which counts if there is no event.
 */
void	store_put_hash(struct store *, const char *event, struct sql key);

/* The label under the present count; NULL without a count. */
void	store_put_label(struct store *, const struct counts *,
	    const char *event, struct sql key);

/*
 * The same for a row that had this label and waits again.  It keeps a label of
 * the application's own, and any label if the count was never changed.
 */
void	store_put_relabel(struct store *, const struct counts *,
	    struct sql label, const char *event, struct sql key);

/*
 * Does a producer make this label (SQL) of a key and a count: "p" and two or
 * more digits, or no label while 1 is declared?
 */
void	store_put_is_counted(struct store *, const struct counts *,
	    struct sql label);

/*
 * store_registry.c: the name of a table of settings that this account sees and
 * the registry does not have; "": there is none.  Its outbox may be over the
 * same events.
 */
int	store_unregistered(struct store *, char name[DB_NAME_SIZE],
	    struct err *);

/*
 * The cost of a missing table or column where the tables are (pillar) or are
 * not those of Pillar alone: "" if there is none, NULL if nothing works without
 * it.
 */
const char *store_cost_of_table(enum store_table, bool pillar);
const char *store_cost_of_column(const struct store *, enum store_table,
	    const char *name, bool pillar);

/* Can a claim read rows in order by an index of these columns, "a,b"? */
bool	store_is_claim_index(const struct store *, const char *columns);

/* Append the ALTER TABLE that makes it. */
void	store_put_claim_index(const struct store *, struct buf *);

/* The name in the database of a column of the outbox or the events. */
const char *store_column_name(const struct store *, const char *word);

/* The other way round; a name that is none of them stays. */
const char *store_column_word(const struct store *, enum store_table,
	    const char *name);

/* Is this column there, as of store_learn? */
bool	store_has_word(const struct store *, const char *word);

/* outbox.mode: inline: the outbox and the events are one table. */
bool	store_is_inline(const struct store *);

const char *store_table_name(const struct store *, enum store_table);

/* The claim's index: waiting rows by label, or by time and label. */
enum store_index { INDEX_NONE, INDEX_BY_LABEL, INDEX_BY_TIME };
enum store_index store_index(const struct store *);

/* Its name, "" if there is none. */
const char *store_index_name(const struct store *);

#endif
