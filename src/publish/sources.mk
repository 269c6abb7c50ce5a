liboutbox_a_SOURCES += \
	src/publish/advisory.c src/publish/advisory.h \
	src/publish/inflight.c src/publish/inflight.h \
	src/publish/limit.c src/publish/limit.h \
	src/publish/memory_budget.c src/publish/memory_budget.h \
	src/publish/relay.c src/publish/relay.h \
	src/publish/relay_answer.c \
	src/publish/relay_impl.h \
	src/publish/relay_judge.c \
	src/publish/relay_lines.c \
	src/publish/relay_look.c \
	src/publish/relay_outcome.c \
	src/publish/relay_send.c \
	src/publish/relay_silence.c \
	src/publish/trial.c src/publish/trial.h \
	src/publish/type_breaker.c src/publish/type_breaker.h
EXTRA_DIST += src/publish/README.md
