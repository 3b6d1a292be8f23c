/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters of an export, shown in sysfs. */
#ifndef VGPU_STATS_H
#define VGPU_STATS_H

#include <linux/atomic.h>
#include <linux/spinlock.h>
#include <linux/types.h>

/* Number of unknown ioctls, classes and commands that are counted one by one. */
#define VGPU_STATS_UNKNOWN	16

/**
 * struct vgpu_unknown - an ioctl without a schema, or a class or command that its schema lacks
 * @cmd: number of the ioctl
 * @class: class that the schema lacks; 0: none
 * @command: command in the ioctl that the schema lacks; 0: none. Both 0: the ioctl has no
 *	schema
 * @calls: number of ioctls since the entry was taken; 0: the entry is free
 */
struct vgpu_unknown {
	u32 cmd;
	u32 class;
	u32 command;
	u64 calls;
};

/**
 * struct vgpu_stats - counters of one export
 * @calls: number of calls with a reply, of polls and reads that were answered without a call, and
 *	of closes that wait for no reply
 * @round_trips: number of calls whose reply was awaited, of page fetches and of write-backs
 * @bytes_in: number of bytes received on lanes
 * @bytes_out: number of bytes sent on lanes
 * @fetched_pages: number of program pages that the host has fetched
 * @window_mappings: current number of mappings in the host's window
 * @window_binds: number of times the host has bound a mapping in its window since the export was
 *	made. The number does not shrink when a mapping leaves the window, or is not put there
 *	after all
 * @copy_mappings: current number of mappings in copy mode
 * @unknown_lock: guards the fields below
 * @unknown: ioctls, classes and commands that no schema describes
 * @unknown_others: number of calls of entries that were dropped from @unknown
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

void vgpu_stats_unknown(struct vgpu_stats *stats, u32 cmd, u32 class, u32 command);
ssize_t vgpu_stats_show_unknown(struct vgpu_stats *stats, char *buf);

#endif /* VGPU_STATS_H */
