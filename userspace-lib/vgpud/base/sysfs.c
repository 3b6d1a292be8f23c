// SPDX-License-Identifier: MIT
/* Files and links of sysfs, and files of /proc/sys. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sysfs.h"

void sysfs_link_name(const char *dir, const char *link, char *name, size_t size)
{
	char path[PATH_MAX], target[PATH_MAX];
	const char *slash;
	ssize_t len;

	name[0] = '\0';
	if (snprintf(path, sizeof(path), "%s/%s", dir, link) >= (int)sizeof(path))
		return;
	len = readlink(path, target, sizeof(target) - 1);
	if (len <= 0)
		return;
	target[len] = '\0';
	slash = strrchr(target, '/');
	snprintf(name, size, "%s", slash ? slash + 1 : target);
}

void sysfs_dir_name(const char *dir, char *name, size_t size)
{
	char *real = realpath(dir, NULL);

	name[0] = '\0';
	if (real)
		snprintf(name, size, "%s", strrchr(real, '/') + 1);
	free(real);
}

size_t sysfs_read(const char *dir, const char *name, void *data, size_t size)
{
	char path[PATH_MAX];
	ssize_t len;
	int fd;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	len = read(fd, data, size);
	close(fd);
	return len > 0 ? len : 0;
}

bool sysctl_read(const char *path, unsigned long long *value)
{
	FILE *file = fopen(path, "re");
	bool is_read = file && fscanf(file, "%llu", value) == 1;

	if (file)
		fclose(file);
	return is_read;
}
