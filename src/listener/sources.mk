liboutbox_a_SOURCES += \
	src/listener/confine.c \
	src/listener/listener.c src/listener/listener.h
EXTRA_DIST += src/listener/README.md
