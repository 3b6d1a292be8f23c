// SPDX-License-Identifier: GPL-2.0-only
/*
 * Window provider for a host module in the same kernel. The host module inserts the window's
 * pages directly into the page tables of programs, under its own locks and MMU notifiers.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "uapi/linux/vgpu_wire.h"

#include "compat.h"
#include "slot.h"
#include "window.h"
#include "window_local.h"

/**
 * struct loopback - private data of a window that is the host module's
 * @ops: operations of the host module, with a reference that keeps the module loaded
 * @there: window of the host module
 * @here: window of this module
 * @viewer: entry in the list of @there's viewers
 * @slots: bitmap of the slots in use, one bit for each; the host frees no slot in use
 */
struct loopback {
	const struct vgpu_window_local_ops *ops;
	struct vgpu_window *there;
	struct vgpu_window *here;
	struct vgpu_window_viewer viewer;
	DECLARE_BITMAP(slots, VGPU_ARENA_SLOTS_MAX);
};

/**
 * struct loopback_slot - private data of a slot that is the host module's
 * @there: slot of the host module, a reference
 * @id: address of the slot's id in the window's header
 */
struct loopback_slot {
	struct vgpu_slot *there;
	const __le64 *id;
};

static void loopback_zap(struct vgpu_window_viewer *viewer, u64 offset, u64 len)
{
	vgpu_window_zap(container_of(viewer, struct loopback, viewer)->here, offset, len);
}

static int loopback_open(struct vgpu_window *window)
{
	struct loopback *loopback;

	loopback = kzalloc(sizeof(*loopback), GFP_KERNEL);
	if (!loopback)
		return -ENOMEM;
	loopback->here = window;
	loopback->viewer.zap = loopback_zap;
	loopback->ops = symbol_get(vgpu_window_local_ops);
	if (!loopback->ops)
		goto err_free;
	loopback->there = loopback->ops->attach(window->id, window->size, &loopback->viewer);
	if (!loopback->there)
		goto err_put;
	window->data = loopback;
	return 0;

err_put:
	symbol_put(vgpu_window_local_ops);
err_free:
	kfree(loopback);
	return -ENODEV;
}

static void loopback_close(struct vgpu_window *window)
{
	struct loopback *loopback = window->data;

	loopback->ops->detach(loopback->there, &loopback->viewer);
	symbol_put(vgpu_window_local_ops);
	kfree(loopback);
}

/* @writable and @cache are not used: the host module knows both. */
static vm_fault_t loopback_insert(struct vgpu_window *window, struct vm_fault *vmf,
				  const struct vgpu_window_area *area, bool writable, u32 cache)
{
	struct loopback *loopback = window->data;

	return loopback->ops->insert(loopback->there, vmf, area->offset, area->first, area->end);
}

#ifdef VGPU_HAVE_HUGE
static vm_fault_t loopback_insert_huge(struct vgpu_window *window, struct vm_fault *vmf,
				       u64 offset, bool writable, u32 cache)
{
	struct loopback *loopback = window->data;

	return loopback->ops->insert_huge(loopback->there, vmf, offset);
}
#endif

static int loopback_resolve(struct vgpu_window *window, u64 offset)
{
	struct loopback *loopback = window->data;

	return loopback->ops->resolve(loopback->there, offset);
}

/* --- slots ---------------------------------------------------------------- */

static unsigned long *loopback_slots(struct vgpu_window *window)
{
	struct loopback *loopback = window->data;

	return loopback->slots;
}

static int loopback_slot_open(struct vgpu_slot *slot)
{
	struct loopback *loopback = slot->window->data;
	struct loopback_slot *data;

	data = kzalloc(sizeof(*data), GFP_KERNEL);
	if (!data)
		return -ENOMEM;
	data->there = loopback->ops->slot_get(loopback->there, slot->nr, slot->id, &slot->memory,
					      &data->id);
	if (!data->there) {
		kfree(data);
		return -ENODEV;
	}
	slot->data = data;
	return 0;
}

static void loopback_slot_close(struct vgpu_slot *slot)
{
	struct loopback *loopback = slot->window->data;
	struct loopback_slot *data = slot->data;

	loopback->ops->slot_put(data->there);
	kfree(data);
}

/* Always succeeds: the reference of the slot keeps its memory. */
static bool loopback_slot_enter(struct vgpu_slot *slot)
{
	return true;
}

static void loopback_slot_leave(struct vgpu_slot *slot)
{
}

static u64 loopback_slot_id(const struct vgpu_slot *slot)
{
	const struct loopback_slot *data = slot->data;

	return le64_to_cpu(READ_ONCE(*data->id));
}

const struct vgpu_window_provider vgpu_window_loopback = {
	.name = "loopback",
	.open = loopback_open,
	.close = loopback_close,
	.insert = loopback_insert,
#ifdef VGPU_HAVE_HUGE
	.insert_huge = loopback_insert_huge,
#endif
	.resolve = loopback_resolve,
	.slots = loopback_slots,
	.slot_open = loopback_slot_open,
	.slot_close = loopback_slot_close,
	.slot_enter = loopback_slot_enter,
	.slot_leave = loopback_slot_leave,
	.slot_id = loopback_slot_id,
};
