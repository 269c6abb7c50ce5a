liboutbox_a_SOURCES += \
	src/worker/absence.c src/worker/absence.h \
	src/worker/backlog.c src/worker/backlog.h \
	src/worker/candidates.c src/worker/candidates.h \
	src/worker/candidates_glance.c \
	src/worker/candidates_impl.h \
	src/worker/candidates_ranges.c \
	src/worker/claim.c src/worker/claim.h \
	src/worker/fleet.c src/worker/fleet.h \
	src/worker/fleet_classes.c \
	src/worker/fleet_duties.c \
	src/worker/fleet_impl.h \
	src/worker/lanes.c src/worker/lanes.h \
	src/worker/parked.c src/worker/parked.h \
	src/worker/parked_impl.h \
	src/worker/parked_read.c \
	src/worker/parts.c src/worker/parts.h \
	src/worker/poll_interval.c src/worker/poll_interval.h \
	src/worker/report.c src/worker/report.h \
	src/worker/tick.c src/worker/tick.h \
	src/worker/worker.c src/worker/worker.h \
	src/worker/worker_database.c \
	src/worker/worker_impl.h \
	src/worker/worker_reach.c \
	src/worker/worker_reconnect.c \
	src/worker/worker_server.c \
	src/worker/worker_stream.c \
	src/worker/worker_tick.c \
	src/worker/worker_wakeup.c
EXTRA_DIST += src/worker/README.md
