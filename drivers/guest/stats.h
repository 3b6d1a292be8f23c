/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters of an export, shown in sysfs. */
#ifndef VGPU_STATS_H
#define VGPU_STATS_H

#include <linux/atomic.h>
#include <linux/spinlock.h>
#include <linux/types.h>

/* Ioctls without a schema, and classes and commands that one does not know: counted apart. */
#define VGPU_STATS_UNKNOWN	16

/**
 * struct vgpu_unknown - an ioctl that no schema describes, or describes but for a part
 * @cmd: its number
 * @class: class of which the schema knows nothing; 0: that is not the part
 * @command: command inside of the ioctl, likewise; both 0: the ioctl has no schema
 * @calls: ioctls with it, since it was last new; 0: this one is free
 */
struct vgpu_unknown {
	u32 cmd;
	u32 class;
	u32 command;
	u64 calls;
};

/**
 * struct vgpu_stats - what went over the wire for one export
 * @calls: calls that were answered, polls by what the host had said before too, and
 *	closes of fences, for which nobody waits
 * @round_trips: calls for whose reply somebody waited, page fetches and write-backs
 * @bytes_in: received on lanes
 * @bytes_out: sent on lanes
 * @fetched_pages: pages that the host asked for
 * @window_mappings: mappings that are seen in the host's window, now
 * @window_binds: how often the host has bound a mapping to it, since the export was made; those
 *	that are not seen there any more, or were not in the end, had an unbind each
 * @copy_mappings: those that go by copy, now
 * @unknown_lock: guards what follows
 * @unknown: ioctls, classes and commands that no schema describes
 * @unknown_others: calls of those that are not among @unknown any more
 */
struct vgpu_stats {
	atomic64_t calls;
	atomic64_t round_trips;
	atomic64_t bytes_in;
	atomic64_t bytes_out;
	atomic64_t fetched_pages;
	atomic64_t window_mappings;
	atomic64_t window_binds;
	atomic64_t copy_mappings;
	spinlock_t unknown_lock;
	struct vgpu_unknown unknown[VGPU_STATS_UNKNOWN];
	u64 unknown_others;
};

void vgpu_stats_init(struct vgpu_stats *stats);
void vgpu_stats_unknown(struct vgpu_stats *stats, u32 cmd, u32 class, u32 command);
ssize_t vgpu_stats_show_unknown(struct vgpu_stats *stats, char *buf);

#endif /* VGPU_STATS_H */
