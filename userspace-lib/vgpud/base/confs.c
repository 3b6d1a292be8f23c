// SPDX-License-Identifier: MIT
/* Directories of files of settings: exports.d and guests.d. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/confs.h"

static int is_conf(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return entry->d_name[0] != '.' && len > 5 && !strcmp(entry->d_name + len - 5, ".conf");
}

static int call(const char *dir, const char *name, int (*fn)(void *data, const char *path),
		void *data)
{
	char *path;
	int ret;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		return -ENOMEM;
	ret = fn(data, path);
	free(path);
	return ret;
}

int confs_each(const char *dir, int (*fn)(void *data, const char *path), void *data)
{
	struct dirent **entries = NULL;
	int i, nr, ret = 0;

	nr = scandir(dir, &entries, is_conf, alphasort);
	if (nr < 0)
		return -errno;
	for (i = 0; i < nr; i++) {
		if (!ret)
			ret = call(dir, entries[i]->d_name, fn, data);
		free(entries[i]);
	}
	free(entries);
	return ret;
}
