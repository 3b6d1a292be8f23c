// SPDX-License-Identifier: MIT
/* Files of VFIO and iommufd: search for them among the open files of a process, by name. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
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

/* Check whether a process exists, be it hidden from /proc or not. */
static bool process_exists(pid_t pid)
{
	return !kill(pid, 0) || errno != ESRCH;
}

int vfio_of_process(pid_t pid, char name[VFIO_NAME])
{
	char path[32], file[256];
	struct dirent *entry;
	unsigned int i;
	ssize_t len;
	int ret = 0;
	DIR *files;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	files = opendir(path);
	if (!files)
		return process_exists(pid) ? -EACCES : 0;
	for (i = 0; !ret && i < FILES_MAX && (entry = readdir(files)); i++) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		len = readlinkat(dirfd(files), entry->d_name, file, sizeof(file) - 1);
		if (len < 0 && (errno == EACCES || errno == EPERM))
			ret = -EACCES;
		if (len <= 0)
			continue;
		file[len] = '\0';
		ret = vfio_is_file(dirfd(files), entry->d_name, file);
	}
	if (ret > 0)
		vfio_name_copy(name, file);
	closedir(files);
	return ret;
}
