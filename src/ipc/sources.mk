liboutbox_a_SOURCES += \
	src/ipc/agent.c src/ipc/agent.h \
	src/ipc/backlog_ring.c src/ipc/backlog_ring.h \
	src/ipc/daemon.c src/ipc/daemon.h \
	src/ipc/daemon_find.c \
	src/ipc/destinations.c src/ipc/destinations.h \
	src/ipc/people.c src/ipc/people.h \
	src/ipc/predecessors.c src/ipc/predecessors.h \
	src/ipc/scoreboard.c src/ipc/scoreboard.h \
	src/ipc/starter.c src/ipc/starter.h \
	src/ipc/totals.c src/ipc/totals.h \
	src/ipc/usage.c src/ipc/usage.h \
	src/ipc/vanishing.c src/ipc/vanishing.h \
	src/ipc/wakeup.c src/ipc/wakeup.h
EXTRA_DIST += src/ipc/README.md
