/* SPDX-License-Identifier: GPL-2.0-only */
/* Conversion of times of the host's clocks to this machine's clocks. */
#ifndef VGPU_CLOCK_CONVERT_H
#define VGPU_CLOCK_CONVERT_H

#include <linux/types.h>

struct vgpu_clock_file;
struct vgpu_host;
struct vgpu_reply;

void vgpu_clock_convert(struct vgpu_host *host, struct vgpu_clock_file *times,
			const struct vgpu_reply *reply, u32 clock, s64 *time);

#endif /* VGPU_CLOCK_CONVERT_H */
