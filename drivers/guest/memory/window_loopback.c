// SPDX-License-Identifier: GPL-2.0-only
/*
 * Window provider for a host module in the same kernel. The host module inserts the window's
 * pages directly into the page tables of programs, under its own locks and MMU notifiers.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "uapi/linux/vgpu_wire.h"

#include "compat.h"
#include "memory/window.h"
#include "memory/window_range.h"
#include "window_local.h"

/**
 * struct loopback - private data of a window that is the host module's
 * @ops: operations of the host module, with a reference that keeps the module loaded
 * @there: window of the host module
 * @here: window of this module
 * @viewer: entry in the list of @there's viewers
 */
struct loopback {
	const struct vgpu_window_local_ops *ops;
	struct vgpuh_window *there;
	struct vgpu_window *here;
	struct vgpu_window_viewer viewer;
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

const struct vgpu_window_provider vgpu_window_loopback = {
	.open = loopback_open,
	.close = loopback_close,
	.insert = loopback_insert,
#ifdef VGPU_HAVE_HUGE
	.insert_huge = loopback_insert_huge,
#endif
	.resolve = loopback_resolve,
};
