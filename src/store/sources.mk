liboutbox_a_SOURCES += \
	src/store/partition_by.c src/store/partition_by.h \
	src/store/prune.c src/store/prune.h \
	src/store/reconcile.c src/store/reconcile.h \
	src/store/store.c src/store/store.h \
	src/store/store_backlog.c \
	src/store/store_block.c \
	src/store/store_candidates.c \
	src/store/store_claim.c \
	src/store/store_columns.c \
	src/store/store_counts.c \
	src/store/store_fit.c \
	src/store/store_impl.h \
	src/store/store_index.c \
	src/store/store_lease.c \
	src/store/store_msg.c \
	src/store/store_newest.c \
	src/store/store_parked.c \
	src/store/store_peek.c \
	src/store/store_registry.c \
	src/store/store_repartition.c \
	src/store/store_scheduled.c \
	src/store/store_schema.c \
	src/store/store_scrub.c \
	src/store/store_settings.c \
	src/store/store_settle.c \
	src/store/store_silent.c \
	src/store/store_sql.c src/store/store_sql.h \
	src/store/store_strays.c \
	src/store/store_stream_audit.c \
	src/store/store_timeline.c \
	src/store/store_topics.c \
	src/store/store_unstable.c \
	src/store/store_whole.c \
	src/store/watermark.c src/store/watermark.h
EXTRA_DIST += src/store/README.md

# The version of the schema is compiled in.

nodist_liboutbox_a_SOURCES += schema_version.c
CLEANFILES += schema_version.c
schema_version.c: $(srcdir)/sql/schema.sql Makefile
	$(AM_V_GEN){ echo '#include "store/store.h"'; \
	$(SED) -n 's/^ *VALUES (1, \([0-9]*\), @outbox_id, .*$$/const unsigned store_schema_version = \1;/p' \
	    $(srcdir)/sql/schema.sql; } > $@.tmp && mv $@.tmp $@
