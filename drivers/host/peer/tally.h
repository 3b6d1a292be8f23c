/* SPDX-License-Identifier: GPL-2.0-only */
/* Tallies: counts of calls, and of the times that they took, of a guest and an export. */
#ifndef _VGPU_HOST_TALLY_H
#define _VGPU_HOST_TALLY_H

#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/types.h>

#include <uapi/linux/vgpu_host.h>

struct vgpu_guest;

/**
 * struct vgpu_sums - sums over calls; lanes add to those of the CPU that they run on
 * @calls: number of calls
 * @errors: number of these that failed
 * @bytes_in: length of their messages in bytes
 * @bytes_out: length of their replies in bytes
 * @ns: time that they took in nanoseconds
 */
struct vgpu_sums {
	u64 calls;
	u64 errors;
	u64 bytes_in;
	u64 bytes_out;
	u64 ns;
};

struct vgpu_tally_counts {
	struct vgpu_sums sums;
	u64 buckets[VGPU_HOST_BUCKETS];
};

/**
 * struct vgpu_tally - counts of a guest and an export; they last as long as the guest is remembered
 * @node: entry of guest->tallies, which is protected by agent->lock
 * @counts: counts for each CPU
 * @name: name of the export, NUL-terminated
 */
struct vgpu_tally {
	struct list_head node;
	struct vgpu_tally_counts __percpu *counts;
	char name[32];
};

/**
 * struct vgpu_tally_call - what is counted of a call
 * @bytes_in: length of the message in bytes
 * @bytes_out: length of the reply in bytes
 * @ns: time from the arrival of the message to the reply, in nanoseconds
 * @failed: true if the result is an error
 */
struct vgpu_tally_call {
	u32 bytes_in;
	u32 bytes_out;
	u64 ns;
	bool failed;
};

/**
 * vgpu_tally_get - find the tally of a guest and an export, or make it
 * @guest: guest that is connected
 * @name: name of the export
 * @found: out: the tally, which is the guest's; NULL: the guest has VGPU_HOST_TALLIES_MAX others
 *
 * Context: agent->lock is held. Return: 0 or -ENOMEM.
 */
int vgpu_tally_get(struct vgpu_guest *guest, const char *name, struct vgpu_tally **found);
/* Count a call. Context: any task; nothing is shared with other CPUs. */
void vgpu_tally_count(struct vgpu_tally *tally, const struct vgpu_tally_call *call);
/* Add a call to the sums of this CPU. */
void vgpu_sums_count(struct vgpu_sums __percpu *sums, const struct vgpu_tally_call *call);
/* Add up the sums of all CPUs. */
void vgpu_sums_total(const struct vgpu_sums __percpu *sums, struct vgpu_sums *total);
/*
 * Copy the first @nr tallies of the guest. Context: agent->lock and agent->guests_lock are held.
 * Return: the number of tallies that the guest has.
 */
u32 vgpu_tallies_copy(const struct vgpu_guest *guest, struct vgpu_host_tally *to, u32 nr);
void vgpu_tallies_free(struct vgpu_guest *guest);

#endif /* _VGPU_HOST_TALLY_H */
