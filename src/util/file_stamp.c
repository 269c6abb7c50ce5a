/* file_stamp.c - see file_stamp.h */

#include "util/file_stamp.h"

#include <errno.h>
#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static uint64_t
add_file(uint64_t stamp, const char *path)
{
	struct stat	st = { 0 };
	uint64_t	error = stat(path, &st) < 0 ? (uint64_t)errno : 0;
	const uint64_t	seen[] = { error, st.st_dev, st.st_ino,
			    (uint64_t)st.st_size, st.st_mode, st.st_uid,
			    st.st_gid, (uint64_t)st.st_mtim.tv_sec,
			    (uint64_t)st.st_mtim.tv_nsec,
			    (uint64_t)st.st_ctim.tv_sec,
			    (uint64_t)st.st_ctim.tv_nsec };

	return XXH3_64bits_withSeed(seen, sizeof(seen), stamp);
}

uint64_t
file_stamp(const char *const *paths, size_t n)
{
	uint64_t	stamp = 0;

	for (size_t i = 0; i < n; i++)
		if (paths[i][0] != '\0')
			stamp = add_file(stamp, paths[i]);
	return stamp;
}
