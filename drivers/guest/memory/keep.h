/* SPDX-License-Identifier: GPL-2.0-only */
/* Pins: program memory that devices of the host keep after a call, see keep.c. */
#ifndef VGPU_KEEP_H
#define VGPU_KEEP_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "memory/keep_group.h"

struct vgpu_host;
struct vgpu_keep_call;
struct vgpu_marshal_kept;
struct vgpu_object;

/**
 * struct vgpu_keep - a pin: the pinned pages of one KEPT field of a call
 * @entry: entry in one of the lists that the comment at the top of keep.c names; guarded by
 *	host->memory->keeps.lock, except on a call's own list
 * @unpin: work item that unpins the pages and frees this, queued when the pin is on no list
 * @release: preallocated RELEASE message of the pages, because a file may have too many pins
 *	for allocations during its close; NULL once the message is queued
 * @user: user to whom the pages and the pin's number are charged
 * @mm: address space to which the pages are charged (mm->pinned_vm), with a reference of the
 *	struct only (mmgrab()), as the process may end long before the device drops the pages
 * @number: number by which the host knows the pages, unique among all pins of this host
 * @nr_pages: number of pages, all of them charged
 * @write: true if the device may write to the pages; then they are dirtied when they are
 *	unpinned
 * @nr_runs: number of used entries of @runs
 * @max_runs: number of allocated entries of @runs
 * @most_runs: limit of @max_runs, the number that fits into a call to the host
 * @runs: physical addresses and lengths in bytes of @nr_pages pages, little-endian as on the
 *	wire. Constant after vgpu_keep_pin() has returned
 */
struct vgpu_keep {
	struct list_head entry;
	struct work_struct unpin;
	struct vgpu_control_msg *release;
	struct vgpu_keep_user *user;
	struct mm_struct *mm;
	u64 number;
	unsigned long nr_pages;
	bool write;
	u32 nr_runs;
	u32 max_runs;
	u32 most_runs;
	struct vgpu_run *runs;
};

/**
 * struct vgpu_keep_set - pins of memory that devices of one host keep
 * @lock: guards all fields below, and the groups of the host's objects and sessions
 * @last: number of the newest pin; the first pin has 1
 * @nr: number of pins that the host may know, at most VGPU_KEPT_NUMBERS; a pin counts from
 *	vgpu_keep_pin() until the answer to RELEASE
 * @groups: groups of files whose drivers pass memory among them
 * @releasing: list of struct vgpu_keep whose RELEASE the host has not answered
 */
struct vgpu_keep_set {
	struct mutex lock; /* guards all fields below, and the groups of objects and sessions */
	u64 last;
	u32 nr;
	struct vgpu_keep_groups groups;
	struct list_head releasing;
};

int vgpu_keep_global_init(void);
void vgpu_keep_global_exit(void);
void vgpu_keep_set_init(struct vgpu_keep_set *set);
void vgpu_keep_set_abort(struct vgpu_host *host);
bool vgpu_keep_may(const struct vgpu_object *object);
void vgpu_keep_close(struct vgpu_object *object);
void vgpu_keep_raw_end(struct vgpu_session *session, struct vgpu_object *object, bool over);
void vgpu_keep_call_init(struct vgpu_keep_call *call);
int vgpu_keep_pin(struct vgpu_object *object, struct vgpu_keep_call *call, u64 addr, u64 len,
		  bool write, struct vgpu_marshal_kept *kept);
void vgpu_keep_settle(struct vgpu_object *object, struct vgpu_keep_call *call, bool sent);
void vgpu_keep_released(struct vgpu_host *host, u64 number);

#endif /* VGPU_KEEP_H */
