outboxctl_SOURCES += \
	src/ctl/serve/serve.c src/ctl/serve/serve.h \
	src/ctl/serve/serve_asker.c \
	src/ctl/serve/serve_child.c \
	src/ctl/serve/serve_here.c \
	src/ctl/serve/serve_lines.c
EXTRA_DIST += src/ctl/serve/README.md
