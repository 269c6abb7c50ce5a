outboxctl_SOURCES += \
	src/ctl/complete.c src/ctl/complete.h \
	src/ctl/config_json.c src/ctl/config_json.h \
	src/ctl/help.c src/ctl/help.h \
	src/ctl/main.c \
	src/ctl/plan.c
EXTRA_DIST += src/ctl/README.md
