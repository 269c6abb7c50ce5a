outboxctl_SOURCES += \
	src/ctl/state/backlog.c \
	src/ctl/state/broker.c \
	src/ctl/state/clock.c \
	src/ctl/state/cluster.c \
	src/ctl/state/counts.c \
	src/ctl/state/declared.c \
	src/ctl/state/destinations.c \
	src/ctl/state/gaps.c \
	src/ctl/state/hosts.c \
	src/ctl/state/outboxes.c \
	src/ctl/state/overview.c \
	src/ctl/state/partitions.c \
	src/ctl/state/rights.c \
	src/ctl/state/rounds.c \
	src/ctl/state/state.h \
	src/ctl/state/state_impl.h \
	src/ctl/state/this_host.c \
	src/ctl/state/values.c \
	src/ctl/state/topics.c \
	src/ctl/state/workers.c
EXTRA_DIST += src/ctl/state/README.md
