// SPDX-License-Identifier: MIT
/* Guests that the host module, or the holder, keeps for the next vgpud. */
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/vgpu_host.h>

#include "host/left.h"
#include "process/held.h"

bool guests_are_left(void)
{
	struct vgpu_host_agent ask = { .size = sizeof(ask), .flags = VGPU_HOST_AGENT_ASK };
	int fd = open(VGPU_HOST_DEVICE, O_RDWR | O_CLOEXEC);
	bool are;

	if (held_is_there()) {
		if (fd >= 0)
			close(fd);
		return true;
	}
	if (fd < 0)
		return false;
	/* -EBUSY: a vgpud that runs elsewhere, such as one started by hand, has them by now. */
	are = !ioctl(fd, VGPU_HOST_AGENT, &ask) || errno == EBUSY;
	close(fd);
	return are;
}
