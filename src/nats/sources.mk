liboutbox_a_SOURCES += \
	src/nats/bus.c src/nats/bus.h \
	src/nats/bus_answer.c \
	src/nats/bus_connect.c \
	src/nats/bus_core.c \
	src/nats/bus_impl.h \
	src/nats/bus_loop.c \
	src/nats/bus_spent.c \
	src/nats/bus_stream_info.c \
	src/nats/bus_tls.c \
	src/nats/bus_wake.c \
	src/nats/nats_verdict.c src/nats/nats_verdict.h \
	src/nats/new_stream.c src/nats/new_stream.h \
	src/nats/stored_message.c src/nats/stored_message.h \
	src/nats/stream.c src/nats/stream.h
EXTRA_DIST += src/nats/README.md
