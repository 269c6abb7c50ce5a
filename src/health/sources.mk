liboutbox_a_SOURCES += \
	src/health/health.c src/health/health.h \
	src/health/health_broker.c \
	src/health/health_cluster.c \
	src/health/health_database.c \
	src/health/health_destination.c \
	src/health/health_fleet.c \
	src/health/health_host.c \
	src/health/health_impl.h \
	src/health/health_keys.c \
	src/health/health_problem.c \
	src/health/health_remedy.c
EXTRA_DIST += src/health/README.md
