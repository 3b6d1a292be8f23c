/* SPDX-License-Identifier: GPL-2.0-only */
/* Pins: pages of a program that a device may keep. */
#ifndef VGPU_KEEP_PIN_H
#define VGPU_KEEP_PIN_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct mm_struct;
struct vgpu_control_msg;
struct vgpu_keep_user;
struct vgpu_run;

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

#endif /* VGPU_KEEP_PIN_H */
