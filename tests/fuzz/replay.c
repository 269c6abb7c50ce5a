/*
 * replay.c - run a target once for each file of its corpus, without libFuzzer
 *
 *	fuzz_NAME DIRECTORY...
 */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz/fuzz.h"

#define INPUT_MAX	(1024 * 1024)

static void
replay(const char *dir, const char *name)
{
	char	*path = xasprintf("%s/%s", dir, name);
	uint8_t	*data = xcalloc(INPUT_MAX, 1);
	FILE	*f = fopen(path, "re");
	size_t	 n;

	MUST(f != NULL);
	n = fread(data, 1, INPUT_MAX, f);
	fclose(f);
	LLVMFuzzerTestOneInput(data, n);
	free(data);
	free(path);
}

int
main(int argc, char **argv)
{
	struct dirent	*d;
	unsigned	 n = 0;
	DIR		*dir;

	for (int i = 1; i < argc; i++) {
		if ((dir = opendir(argv[i])) == NULL) {
			perror(argv[i]);
			return 1;
		}
		while ((d = readdir(dir)) != NULL)
			if (d->d_name[0] != '.') {
				replay(argv[i], d->d_name);
				n++;
			}
		closedir(dir);
	}
	printf("%u inputs\n", n);
	return n == 0;
}
