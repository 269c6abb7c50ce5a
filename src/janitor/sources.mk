liboutbox_a_SOURCES += \
	src/janitor/janitor.c src/janitor/janitor.h \
	src/janitor/retention.c src/janitor/retention.h
EXTRA_DIST += src/janitor/README.md
