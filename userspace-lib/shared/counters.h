/* SPDX-License-Identifier: MIT */
/* Counters of engines and their shadows, which vgpud reads. */
#ifndef VGPU_SHARED_COUNTERS_H
#define VGPU_SHARED_COUNTERS_H

#include <linux/types.h>

#include <linux/vgpu_host.h>

/**
 * struct engine_counters - counters of an engine or a shadow; see struct vgpu_host_peer_stat
 *
 * The engine has one, and each shadow has one of its own. vgpud reads all of them. So no process
 * can spoil what another one has counted. Shadows count in @device_ns what vgpud does not charge:
 * the time that calls take which give devices work without a turn.
 */
struct engine_counters {
	__u64 calls;
	__u64 upcalls;
	__u64 bytes_in;
	__u64 bytes_out;
	__u64 fetched_pages;
	__u64 written_pages;
	__u64 fetch_timeouts;
	__u64 refused;
	__u64 malformed;
	__u64 stray_fds;
	__u64 cancels;
	__u64 device_ns;
};

/* Number of exports that a shadow counts one by one. */
#define ENGINE_TALLIES_MAX	32

/**
 * struct engine_tally - counts of a shadow's calls on files of an export
 * @export: vgpud's number of the export; 0: calls of all kinds
 * @reserved: 0
 * @calls: see struct vgpu_host_tally, like the members below
 * @errors: see @calls
 * @bytes_in: see @calls
 * @bytes_out: see @calls
 * @ns: see @calls
 * @buckets: see @calls
 */
struct engine_tally {
	__u32 export;
	__u32 reserved;
	__u64 calls;
	__u64 errors;
	__u64 bytes_in;
	__u64 bytes_out;
	__u64 ns;
	__u64 buckets[VGPU_HOST_BUCKETS];
};

/* Number of denied ioctls that a shadow counts one by one, and of its other counts. */
#define ENGINE_DENIALS_MAX	48
#define ENGINE_OTHERS_MAX	16

/**
 * struct engine_denial - how often a shadow's program made an ioctl that is denied
 * @export: vgpud's number of the export that the file is of or came from
 * @ioctl: see struct vgpu_host_denial; VGPU_HOST_IOCTL_NONE: all further ioctls of the export
 * @what: see struct vgpu_host_denial
 * @reserved: 0
 * @denied: see struct vgpu_host_denial
 * @audited: see struct vgpu_host_denial
 */
struct engine_denial {
	__u32 export;
	__u32 ioctl;
	__u32 what;
	__u32 reserved;
	__u64 denied;
	__u64 audited;
};

/**
 * struct eshadow_use - what a shadow uses, in numbers for people
 * @lanes: number of lanes
 * @pages: number of pages of the guest's process
 * @mappings: number of mappings
 * @most_lanes: largest @lanes so far
 * @most_pages: largest @pages so far
 * @most_mappings: largest @mappings so far
 * @delayed: number of calls that had to wait for a rate; 32 bits, which may wrap around
 * @counted_pages: number of pages that the shadow has in engine_patience.nr_pages
 */
struct eshadow_use {
	__u32 lanes;
	__u32 pages;
	__u32 mappings;
	__u32 most_lanes;
	__u32 most_pages;
	__u32 most_mappings;
	__u32 delayed;
	__u32 counted_pages;
};

/**
 * struct engine_counts - counters of a shadow, and the ioctls that were denied to its program
 * @counters: counters
 * @use: what the shadow uses
 * @nr_denials: number of entries of @denials; those with VGPU_HOST_IOCTL_NONE may be the last
 *	ENGINE_OTHERS_MAX
 * @nr_tallies: number of entries of @tallies
 * @denials: array of counts, of which none is removed
 * @all: tally of all calls
 * @tallies: array of tallies of exports, of which none is removed
 *
 * The shadow writes, and vgpud reads. Entries are complete before @nr_denials or @nr_tallies counts
 * them.
 */
struct engine_counts {
	struct engine_counters counters;
	struct eshadow_use use;
	__u32 nr_denials;
	__u32 nr_tallies;
	struct engine_denial denials[ENGINE_DENIALS_MAX + ENGINE_OTHERS_MAX];
	struct engine_tally all;
	struct engine_tally tallies[ENGINE_TALLIES_MAX];
};

/* Length in bytes of the memory that has a struct engine_counts: whole pages. */
#define ENGINE_COUNTS_LEN	((sizeof(struct engine_counts) + 4095) / 4096 * 4096)

#endif /* VGPU_SHARED_COUNTERS_H */
