# The fuzzers' targets; tests/fuzz/README.md.  By default they only replay the
# corpus; FUZZ_ENGINE=-fsanitize=fuzzer makes fuzzers of them.

FUZZ_ENGINE = libreplay.a
FUZZ_SECONDS = 3600
.PHONY: fuzz
fuzz:
	$(srcdir)/tests/fuzz/run --seconds $(FUZZ_SECONDS) --keep
fuzzers = fuzz_answer fuzz_binlog fuzz_conf fuzz_endpoint fuzz_envelope \
	fuzz_event fuzz_http fuzz_serve fuzz_text
check_LIBRARIES += libreplay.a
libreplay_a_SOURCES = tests/fuzz/replay.c tests/fuzz/fuzz.h
check_PROGRAMS += $(fuzzers)

# The engine may be an option, which nothing can depend on.
fuzz_libs = $(FUZZ_ENGINE) $(outbox_libs)
fuzz_needs = liboutbox.a libreplay.a

fuzz_answer_SOURCES = tests/fuzz/fuzz_answer.c tests/fuzz/fuzz.h
fuzz_answer_LDADD = $(fuzz_libs)
fuzz_answer_DEPENDENCIES = $(fuzz_needs)
fuzz_binlog_SOURCES = tests/fuzz/fuzz_binlog.c tests/fuzz/fuzz.h
fuzz_binlog_LDADD = $(fuzz_libs)
fuzz_binlog_DEPENDENCIES = $(fuzz_needs)
fuzz_conf_SOURCES = tests/fuzz/fuzz_conf.c tests/fuzz/fuzz.h
fuzz_conf_LDADD = $(fuzz_libs)
fuzz_conf_DEPENDENCIES = $(fuzz_needs)
fuzz_endpoint_SOURCES = tests/fuzz/fuzz_endpoint.c tests/fuzz/fuzz.h
fuzz_endpoint_LDADD = $(fuzz_libs)
fuzz_endpoint_DEPENDENCIES = $(fuzz_needs)
fuzz_envelope_SOURCES = tests/fuzz/fuzz_envelope.c tests/fuzz/fuzz.h
fuzz_envelope_LDADD = $(fuzz_libs)
fuzz_envelope_DEPENDENCIES = $(fuzz_needs)
fuzz_event_SOURCES = tests/fuzz/fuzz_event.c tests/fuzz/fuzz.h \
	src/ctl/messages/event.c
fuzz_event_LDADD = $(fuzz_libs)
fuzz_event_DEPENDENCIES = $(fuzz_needs)
fuzz_http_SOURCES = tests/fuzz/fuzz_http.c tests/fuzz/fuzz.h
fuzz_http_LDADD = $(fuzz_libs)
fuzz_http_DEPENDENCIES = $(fuzz_needs)
fuzz_serve_SOURCES = tests/fuzz/fuzz_serve.c tests/fuzz/fuzz.h \
	src/ctl/serve/serve.c src/ctl/serve/serve_lines.c \
	src/ctl/base/admin.c src/ctl/base/args.c src/ctl/base/command.c \
	src/ctl/base/outcome.c src/ctl/base/ctl.c \
	src/ctl/base/print.c src/ctl/base/screen.c src/ctl/base/version.c
fuzz_serve_LDADD = $(fuzz_libs)
fuzz_serve_DEPENDENCIES = $(fuzz_needs)
fuzz_text_SOURCES = tests/fuzz/fuzz_text.c tests/fuzz/fuzz.h
fuzz_text_LDADD = $(fuzz_libs)
fuzz_text_DEPENDENCIES = $(fuzz_needs)

EXTRA_DIST += tests/fuzz/README.md tests/fuzz/corpus tests/fuzz/run
