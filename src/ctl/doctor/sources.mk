outboxctl_SOURCES += \
	src/ctl/doctor/doctor.c src/ctl/doctor/doctor.h \
	src/ctl/doctor/doctor_binlog.c \
	src/ctl/doctor/doctor_bus.c \
	src/ctl/doctor/doctor_db.c \
	src/ctl/doctor/doctor_hosts.c \
	src/ctl/doctor/doctor_kafka.c \
	src/ctl/doctor/doctor_local.c \
	src/ctl/doctor/doctor_plans.c \
	src/ctl/doctor/doctor_problems.c \
	src/ctl/doctor/doctor_say.c \
	src/ctl/doctor/doctor_settings.c \
	src/ctl/doctor/doctor_store.c \
	src/ctl/doctor/doctor_types.c
EXTRA_DIST += src/ctl/doctor/README.md
