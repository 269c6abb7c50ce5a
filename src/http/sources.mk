liboutbox_a_SOURCES += \
	src/http/http.c src/http/http.h \
	src/http/http_headers.c \
	src/http/http_impl.h \
	src/http/http_loop.c \
	src/http/http_private.c \
	src/http/http_request.c \
	src/http/http_secrets.c \
	src/http/http_verdict.c
EXTRA_DIST += src/http/README.md
