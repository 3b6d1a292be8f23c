/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters of an export, shown in sysfs. */
#ifndef VGPU_STATS_H
#define VGPU_STATS_H

#include <linux/atomic.h>

/**
 * struct vgpu_stats - what went over the wire for one export
 * @calls: calls that were answered, polls by what the host had said before too, and
 *	closes of fences, for which nobody waits
 * @round_trips: calls for whose reply somebody waited, page fetches and write-backs
 * @bytes_in: received on lanes
 * @bytes_out: sent on lanes
 * @fetched_pages: pages that the host asked for
 * @window_mappings: mappings that are seen in the host's window, now
 * @copy_mappings: those that go by copy, now
 */
struct vgpu_stats {
	atomic64_t calls;
	atomic64_t round_trips;
	atomic64_t bytes_in;
	atomic64_t bytes_out;
	atomic64_t fetched_pages;
	atomic64_t window_mappings;
	atomic64_t copy_mappings;
};

#endif /* VGPU_STATS_H */
