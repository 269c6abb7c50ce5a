liboutbox_a_SOURCES += \
	src/drivers/traits/traits.c src/drivers/traits/traits.h \
	src/drivers/traits/traits_http.c \
	src/drivers/traits/traits_kafka.c \
	src/drivers/traits/traits_local.c \
	src/drivers/traits/traits_nats.c \
	src/drivers/traits/url_path.c src/drivers/traits/url_path.h
EXTRA_DIST += src/drivers/traits/README.md
