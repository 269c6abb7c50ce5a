/* fuzz_conf.c - the configuration file: what is taken is dumped and read back */

#include "fuzz/fuzz.h"

#include <stdio.h>
#include <unistd.h>

#include <sys/mman.h>

#include "conf/conf.h"

/* A file in memory; its path is in path. */
static int
memory_file(const void *data, size_t size, char path[40])
{
	int	fd = memfd_create("outbox.yml", MFD_CLOEXEC);

	MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, 40, "/proc/self/fd/%d", fd);
	return fd;
}

static struct conf *
load(const void *data, size_t size, struct err *e)
{
	char		 path[40];
	int		 fd = memory_file(data, size, path);
	struct conf	*conf = conf_load(path, NULL, e);

	MUST(conf != NULL || strncmp(e->text, path, strlen(path)) == 0);
	conf_free(conf_load_host(path, false));
	close(fd);
	return conf;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err	 e;
	struct conf	*conf = load(data, size, &e), *again;
	char		*dump = NULL;
	size_t		 len = 0, i = 0;
	FILE		*f;

	if (conf == NULL)
		return 0;
	f = open_memstream(&dump, &len);
	conf_dump(conf, f);
	fclose(f);
	again = load(dump, len, &e);
	/* What a dump hides is no value. */
	MUST(again == NULL ? strstr(dump, CONF_HIDDEN) != NULL :
	    conf_changed_restart(conf, again, &i) == NULL);
	conf_free(again);
	conf_free(conf);
	free(dump);
	return 0;
}
