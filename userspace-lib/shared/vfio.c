// SPDX-License-Identifier: MIT
/* Files of VFIO and iommufd: search for them among the open files of a process, by name. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/vfio.h"

/* Most files of a process that are checked. A hypervisor has some hundreds. */
#define FILES_MAX	4096

bool vfio_is_file(int dir, const char *number, const char *name)
{
	struct stat st;

	if (strncmp(name, "/dev/vfio/", strlen("/dev/vfio/")) && strcmp(name, "/dev/iommu") &&
	    strncmp(name, "anon_inode:[vfio", strlen("anon_inode:[vfio")) &&
	    strncmp(name, "anon_inode:[iommufd", strlen("anon_inode:[iommufd")))
		return false;
	return !fstatat(dir, number, &st, AT_SYMLINK_NOFOLLOW) && (st.st_mode & (S_IRUSR | S_IWUSR));
}

void vfio_name_copy(char to[VFIO_NAME], const char *name)
{
	snprintf(to, VFIO_NAME, "%s", name);
	/* Replace characters that a terminal could take for commands, or a log for new lines. */
	for (; *to; to++)
		if (!isgraph((unsigned char)*to))
			*to = '?';
}

bool vfio_of_process(pid_t pid, char name[VFIO_NAME])
{
	char path[32], file[256];
	struct dirent *entry;
	unsigned int i;
	bool has = false;
	ssize_t len;
	DIR *files;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	files = opendir(path);
	for (i = 0; files && !has && i < FILES_MAX && (entry = readdir(files)); i++) {
		len = readlinkat(dirfd(files), entry->d_name, file, sizeof(file) - 1);
		if (len <= 0)
			continue;
		file[len] = '\0';
		has = vfio_is_file(dirfd(files), entry->d_name, file);
	}
	if (has)
		vfio_name_copy(name, file);
	if (files)
		closedir(files);
	return has;
}
