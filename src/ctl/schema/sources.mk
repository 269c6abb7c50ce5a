outboxctl_SOURCES += \
	sql/wanted.c \
	src/ctl/schema/fan_out.c \
	src/ctl/schema/fan_out_rights.c \
	src/ctl/schema/schema.c src/ctl/schema/schema.h \
	src/ctl/schema/schema_check.c \
	src/ctl/schema/schema_columns.c \
	src/ctl/schema/schema_foreign.c \
	src/ctl/schema/schema_grants.c \
	src/ctl/schema/schema_impl.h \
	src/ctl/schema/schema_indexes.c \
	src/ctl/schema/schema_model.c \
	src/ctl/schema/schema_report.c \
	src/ctl/schema/schema_rights.c \
	src/ctl/schema/schema_run.c \
	src/ctl/schema/schema_text.c \
	src/ctl/schema/schema_unstable.c \
	src/ctl/schema/trigger.c
EXTRA_DIST += src/ctl/schema/README.md

# What sql/ says is compiled in.  What a server makes of it is in sql/wanted.c,
# by sql/make_wanted.sh.

schema_texts = sql/schema.sql sql/grants.sql sql/operator.sql sql/trigger.sql \
	sql/inline.sql sql/inline_trigger.sql src/ctl/schema/facts.sql
EXTRA_DIST += sql/make_wanted.sh src/ctl/schema/facts.sql
nodist_outboxctl_SOURCES += schema_files.c
CLEANFILES += schema_files.c
schema_files.c: $(schema_texts:%=$(srcdir)/%) Makefile
	$(AM_V_GEN){ echo '#include "ctl/schema/schema.h"'; \
	for f in $(schema_texts); do \
	    echo "const char schema_file_`basename $$f .sql`[] ="; \
	    $(SED) -e 's/[\\"]/\\&/g' -e 's/.*/"&\\n"/' $(srcdir)/$$f; \
	    echo ';'; \
	done; } > $@.tmp && mv $@.tmp $@
