outboxctl_SOURCES += \
	src/ctl/stream/broker.c src/ctl/stream/broker.h \
	src/ctl/stream/losses.c src/ctl/stream/losses.h \
	src/ctl/stream/republish.c \
	src/ctl/stream/stream_add.c \
	src/ctl/stream/stream_info.c
EXTRA_DIST += src/ctl/stream/README.md
