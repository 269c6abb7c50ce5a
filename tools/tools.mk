# The laboratory: an independent producer and checker.  Shares no code.

check_PROGRAMS += lab
lab_SOURCES = tools/lab.c tools/lab.h tools/lab_check.c tools/lab_conn.c \
	tools/lab_kafka.c tools/lab_label.c tools/lab_plain.c tools/lab_produce.c \
	tools/lab_read.c tools/lab_shape.c tools/lab_stream.c
lab_LDADD = $(MYSQL_LIBS) $(NATS_LIBS) $(RDKAFKA_LIBS) \
	$(DEFLATE_LIBS) -lpthread

# Which lines of src/ the tests run; tools/coverage.

.PHONY: coverage
coverage:
	$(srcdir)/tools/coverage coverage

# What other programs find in src/: nothing, or a reason in .clang-tidy or beside
# the line.

analyzed = $(filter %.c,$(liboutbox_a_SOURCES) \
	$(outbox_master_SOURCES) $(outboxctl_SOURCES))
changed = $(analyzed)		# or the files that are given by hand
analyzer_flags = $(DEFS) $(AM_CPPFLAGS) $(CPPFLAGS) -std=gnu11
.PHONY: tidy analyze $(analyzed:.c=.tidy) $(analyzed:.c=.analyze)
tidy: $(patsubst %.c,%.tidy,$(filter $(changed),$(analyzed)))
analyze: $(patsubst %.c,%.analyze,$(filter $(changed),$(analyzed)))

# Both lose sight of the table of a hash, which macros of uthash allocate and free;
# valgrind and the sanitizers see that it is freed, once.
hashes = src/publish/inflight src/publish/memory_budget src/worker/lanes
tidy_less = --checks=-clang-analyzer-core.NullDereference,-clang-analyzer-unix.Malloc
analyze_less = -Wno-analyzer-malloc-leak

$(analyzed:.c=.tidy): %.tidy:
	@found=`clang-tidy --quiet $(if $(filter $*,$(hashes)),$(tidy_less)) \
	    $(srcdir)/$*.c -- $(analyzer_flags) 2>&1` || \
	    { echo "$$found"; exit 1; }

$(analyzed:.c=.analyze): %.analyze:
	@gcc $(analyzer_flags) -O1 -fanalyzer -Werror \
	    $(if $(filter $*,$(hashes)),$(analyze_less)) -c $(srcdir)/$*.c \
	    -o /dev/null

EXTRA_DIST += tools/build.sh tools/check tools/cluster.sh tools/coverage \
	tools/due.sh tools/embed tools/kafka.sh tools/parts.sh tools/sandbox tools/slow \
	tools/test tools/top_pictures tools/wsrep_sst_copied
