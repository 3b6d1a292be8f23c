// SPDX-License-Identifier: GPL-2.0-only
/*
 * lane_enter: has file 0, which must be a lane of the host module's, serve calls on this thread, as
 * the program did that has executed this one. Exit status: the error; 0: none.
 */
#include <errno.h>
#include <linux/vgpu_host.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Longer than any refusal takes. */
#define PATIENCE	20

int main(void)
{
	struct vgpu_lane_serve serve = { .size = sizeof(serve), .event_fd = -1 };

	/* The module has a look at all files of the thread: they must not be what it refuses. */
	close_range(1, ~0U, 0);
	alarm(PATIENCE);
	return ioctl(0, VGPU_LANE_SERVE, &serve) < 0 ? errno : 0;
}
