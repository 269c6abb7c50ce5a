outboxctl_SOURCES += \
	src/ctl/top/canvas.c src/ctl/top/canvas.h \
	src/ctl/top/draw.c src/ctl/top/draw.h \
	src/ctl/top/feed.c src/ctl/top/feed.h \
	src/ctl/top/grid.c src/ctl/top/grid.h \
	src/ctl/top/layout.c src/ctl/top/layout.h \
	src/ctl/top/master_lines.c src/ctl/top/master_lines.h \
	src/ctl/top/model.c src/ctl/top/model.h \
	src/ctl/top/panels.c src/ctl/top/panels.h \
	src/ctl/top/rows.c src/ctl/top/rows.h \
	src/ctl/top/terminal.c src/ctl/top/terminal.h \
	src/ctl/top/top.c \
	src/ctl/top/ui.c src/ctl/top/ui.h
EXTRA_DIST += src/ctl/top/README.md
