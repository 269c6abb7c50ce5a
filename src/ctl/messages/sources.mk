outboxctl_SOURCES += \
	src/ctl/messages/dead.c src/ctl/messages/dead.h \
	src/ctl/messages/dead_group.c src/ctl/messages/dead_group.h \
	src/ctl/messages/dead_groups.c \
	src/ctl/messages/dead_list.c \
	src/ctl/messages/destination.c src/ctl/messages/destination.h \
	src/ctl/messages/enqueue.c \
	src/ctl/messages/event.c src/ctl/messages/event.h \
	src/ctl/messages/history.c src/ctl/messages/history.h \
	src/ctl/messages/impact.c src/ctl/messages/impact.h \
	src/ctl/messages/keys.c src/ctl/messages/keys.h \
	src/ctl/messages/message_envelope.c \
	src/ctl/messages/message_show.c \
	src/ctl/messages/messages.c src/ctl/messages/messages.h \
	src/ctl/messages/phantoms.c \
	src/ctl/messages/prune.c \
	src/ctl/messages/reconcile.c \
	src/ctl/messages/replay.c \
	src/ctl/messages/resolve.c \
	src/ctl/messages/waiting.c
EXTRA_DIST += src/ctl/messages/README.md
