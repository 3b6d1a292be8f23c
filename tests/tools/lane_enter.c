// SPDX-License-Identifier: GPL-2.0-only
/*
 * lane_enter: has file 0, which must be a lane of the host module, serve calls on this thread.
 * The program that executed this one has served the lane before. Exit status: the errno, or 0.
 */
#include <errno.h>
#include <linux/vgpu_host.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* No failure takes longer. */
#define PATIENCE	20

int main(void)
{
	struct vgpu_lane_serve serve = { .size = sizeof(serve), .event_fd = -1 };

	/*
	 * The module looks at all files of the thread, and must not fail because of one of
	 * them.
	 */
	close_range(1, ~0U, 0);
	alarm(PATIENCE);
	return ioctl(0, VGPU_LANE_SERVE, &serve) < 0 ? errno : 0;
}
