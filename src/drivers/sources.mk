liboutbox_a_SOURCES += \
	src/drivers/drivers.c src/drivers/drivers.h
EXTRA_DIST += src/drivers/README.md
