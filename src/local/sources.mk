liboutbox_a_SOURCES += \
	src/local/discard.c \
	src/local/local.h \
	src/local/ndjson.c src/local/ndjson.h \
	src/local/stdout.c
EXTRA_DIST += src/local/README.md
