// SPDX-License-Identifier: MIT
/* Pages of memory that vgpud shares with engines and shadows. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engines/page.h"

int page_make(int *fd, void **memory)
{
	int ret;

	*fd = memfd_create("vgpu-engine", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0)
		return -errno;
	if (!fchmod(*fd, 0600) && !ftruncate(*fd, PAGE) &&
	    !fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
		*memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
		if (*memory != MAP_FAILED)
			return 0;
	}
	ret = -errno;
	close(*fd);
	*fd = -1;
	return ret;
}
