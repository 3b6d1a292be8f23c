/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The host's clocks. What a driver says of when something happened is brought to this
 * machine's clocks before a program sees it.
 */
#ifndef VGPU_CLOCK_H
#define VGPU_CLOCK_H

#include <linux/seqlock.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "clock_bounds.h"

struct vgpu_object;
struct vgpu_reply;

/**
 * struct vgpu_clock - a host's CLOCK_MONOTONIC
 * @lock: guards @bounds; written by any thread whose call has ended
 * @bounds: how far this machine's CLOCK_MONOTONIC is ahead of it
 * @ask_at: jiffies before which the host is not asked again; written by any thread
 */
struct vgpu_clock {
	seqlock_t lock;
	struct vgpu_clock_bounds bounds;
	unsigned long ask_at;
};

/**
 * struct vgpu_clock_file - times that were told of one file
 * @lock: guards what follows, and is held inside of no other
 * @host: latest time that was brought over, of the host's CLOCK_MONOTONIC in nanoseconds
 * @here: time that it became
 * @clock: enum vgpu_schema_clock: which one the driver uses for this file, where a program
 *	may choose; read anywhere
 */
struct vgpu_clock_file {
	spinlock_t lock;
	u64 host;
	u64 here;
	u32 clock;
};

void vgpu_clock_init(struct vgpu_clock *clock);
void vgpu_clock_add(struct vgpu_clock *clock, const struct vgpu_clock_sample *sample);

void vgpu_clock_file_init(struct vgpu_clock_file *times);
void vgpu_clock_convert(struct vgpu_object *object, const struct vgpu_reply *reply, u32 clock,
			s64 *time);
void vgpu_clock_events(struct vgpu_object *object, const struct vgpu_reply *reply, u8 *data,
		       u32 len);

#endif /* VGPU_CLOCK_H */
