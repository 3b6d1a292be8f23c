// SPDX-License-Identifier: MIT
/* Identities of files, by which reports of the hypervisor are recognized. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "engine/keeper/file.h"

int file_id_get(int fd, struct file_id *file)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &st))
		return -errno;
	file->dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	file->ino = st.stx_ino;
	return 0;
}
