/*
 * store_sql.h - build statements that store.h does not have
 *
 * A statement is built from templates in the store's buffer and then sent:
 * store_sql(s, "SELECT ... FROM {outbox} WHERE global_sequence IN ("),
 * store_put_list(s, ...), store_put(s, ")"), store_query(s, "what", e).
 */
#ifndef OUTBOX_STORE_SQL_H
#define OUTBOX_STORE_SQL_H

#include "store/store.h"

/*
 * Append a template: {outbox} {events} {partitions} {workers} {settings}
 * {dead} {blocked} {streams} {audit} {registry} become quoted table names,
 * {now} the moment to write, {me} this worker's id, {index} the FORCE INDEX of
 * the claim, {primary} and {events_primary} that of a look-up by sequence.
 *
 * Columns of the outbox and of the events must be written as words too, because
 * their tables may be an application's own: {attempts}, {o.attempts},
 * {outbox.attempts}.  One that the table lacks becomes NULL.  Columns of the
 * other tables are written as they are.
 */
void	store_put(struct store *, const char *);

/*
 * Append `name`, or "WORD INDEX (`name`)".  A name from information_schema may
 * have any characters.
 */
void	store_put_name(struct store *, const char *name);
void	store_put_index(struct store *, const char *word, const char *name);

/* Append a text as it stands. */
void	store_put_raw(struct store *, const char *);

/* Start a new statement with this template. */
void	store_sql(struct store *, const char *);

/*
 * Append as printf does; the result is a template.  Nothing is quoted: for
 * numbers and words of templates only.
 */
void	store_putf(struct store *, const char *, ...)
	    __attribute__((format(printf, 2, 3)));

/* A text as a literal, or NULL. */
void	store_put_text(struct store *, const char *);

/* The same with its length: there may be NUL in it. */
void	store_put_bytes(struct store *, const char *, size_t);

/*
 * The bytes of a text or binary column, as SQL.  Keys are compared by these, so
 * their columns may have different character sets.
 */
#define STORE_BYTES(x)	"IF(CHARSET(" x ") = 'binary', " x \
			", CAST(CONVERT(" x " USING utf8mb4) AS BINARY))"

/* The key of a row: the event's, because ours may be cut; else ours. */
#define STORE_KEY_OF(event, ours) \
	"COALESCE(" STORE_BYTES(event) ", " STORE_BYTES(ours) ")"

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

/*
 * store_fit.c: our columns that hold values of rows.  A value becomes a literal
 * that its column accepts: as it is if it fits, else cut, with "..." at its
 * end, or as "0x" and hex if the column cannot hold such bytes.
 */
enum store_fit {
	FIT_LABEL, FIT_ERROR, FIT_DEAD_LABEL, FIT_DEAD_KEY, FIT_DEAD_TYPE,
	FIT_DEAD_ERROR, FIT_BLOCKED_KEY, NFITS
};

void	store_put_fit(struct store *, enum store_fit, const char *, size_t);

/* The same for an error, or NULL. */
void	store_put_error(struct store *, enum store_fit, const char *);

/* Does it fit as it is? */
bool	store_fits(const struct store *, enum store_fit, const char *,
	    size_t);

/*
 * Append what in_doubt_since of the outbox becomes if a row is in doubt no
 * more: NULL, or now.
 */
void	store_put_doubt_ended(struct store *);

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

/* " + INTERVAL ...": so many milliseconds, to add to a time. */
void	store_put_interval(struct store *, int64_t ms);

/*
 * Append the comma before an item of a list; none after "(" or a blank, where
 * the list begins.
 */
void	store_put_comma(struct store *);

/* "1,2,3"; like the labels, it continues a list that was begun. */
void	store_put_list(struct store *, const uint64_t *, size_t n);
void	store_put_item(struct store *, uint64_t);

/* "'a','b'", and NULL for one without text */
void	store_put_labels(struct store *, const char *const *, size_t n);

/* " FROM ... WHERE ...": the waiting rows of these partitions. */
void	store_put_rows_of(struct store *, const char *const *labels, size_t n);

/*
 * " FROM ... WHERE ...": rows delivered after from and up to until (NULL: no
 * end), by the claim index if that begins with the time.
 */
void	store_put_delivered(struct store *, const char *from,
	    const char *until);

/* A pattern such as "order.*", for LIKE. */
void	store_put_pattern(struct store *, const char *);

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

/* " LEFT JOIN ... AS e": letters d as if they were rows with the message. */
void	store_put_whole_join(struct store *, const char *on);

/*
 * store_scheduled.c: the label that a row has when its time comes, of a label
 * as SQL.
 */
void	store_put_home_label(struct store *, const char *label);

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
void	store_put_hash(struct store *, const char *event, const char *key);

/* The label under the present count; NULL without a count. */
void	store_put_label(struct store *, const struct counts *,
	    const char *event, const char *key);

/*
 * The same for a row that had this label and waits again.  It keeps a label of
 * the application's own, and any label if the count was never changed.
 */
void	store_put_relabel(struct store *, const struct counts *,
	    const char *label, const char *event, const char *key);

/*
 * Does a producer make this label (SQL) of a key and a count: "p" and two or
 * more digits, or no label while 1 is declared?
 */
void	store_put_is_counted(struct store *, const struct counts *,
	    const char *label);

/* The number of the last error, see db_last_code. */
unsigned store_code(const struct store *);

bool	store_is_mariadb(const struct store *);

/*
 * store_registry.c: the name of a table of settings that this account sees and
 * the registry does not have; "": there is none.  Its outbox may be over the
 * same events.
 */
int	store_unregistered(struct store *, char name[DB_NAME_SIZE],
	    struct err *);

/*
 * The cost of a missing table or column: "" if there is none, NULL if nothing
 * works without it.
 */
const char *store_cost_of_table(enum store_table);
const char *store_cost_of_column(const struct store *, enum store_table,
	    const char *name);

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

/*
 * Optional columns, see the table in store_schema.c.  Is one of them there; are
 * all from one to another?
 */
enum store_column {
	/* of the outbox */
	COL_CREATED_AT, COL_ACK_SEQUENCE, COL_MESSAGE_HASH, COL_REPLAY_NO,
	COL_IN_DOUBT_SINCE,
	/* of the leases */
	COL_LEASE_IN_DOUBT_SINCE, COL_LEASE_IN_DOUBT_UPTO,
	COL_LEASE_IN_DOUBT_EPOCH, COL_FORMER_LABEL_AT,
	/* of the streams: the last of those of the scrub */
	COL_SCRUB,
	/* of the settings */
	COL_PARTITION_BY, COL_FAN_OUT, COL_TYPES, NOPTIONAL
};

bool	store_has_column(const struct store *, enum store_column);
bool	store_has_columns(const struct store *, enum store_column from,
	    enum store_column upto);

/* The claim's index: waiting rows by label, or by time and label. */
enum store_index { INDEX_NONE, INDEX_BY_LABEL, INDEX_BY_TIME };
enum store_index store_index(const struct store *);

/* Its name, "" if there is none. */
const char *store_index_name(const struct store *);

#endif
