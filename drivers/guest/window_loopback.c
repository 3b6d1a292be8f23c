// SPDX-License-Identifier: GPL-2.0-only
/*
 * The window of a host module in the same kernel: its pages themselves go into the
 * page tables of programs, under its own lock and notifiers.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "window.h"
#include "window_local.h"

/**
 * struct loopback - a window of the host module
 * @ops: of the host module, which stays loaded for them
 * @there: its window
 * @here: ours
 * @viewer: in its list
 */
struct loopback {
	const struct vgpu_window_local_ops *ops;
	struct vgpu_window *there;
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
	loopback->there = loopback->ops->attach(window->id, &loopback->viewer);
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

/* The host module knows by itself what is writable and how it is cached. */
static vm_fault_t loopback_insert(struct vgpu_window *window, struct vm_fault *vmf, u64 offset,
				  bool writable, u32 cache)
{
	struct loopback *loopback = window->data;

	return loopback->ops->insert(loopback->there, vmf, offset);
}

static int loopback_resolve(struct vgpu_window *window, u64 offset)
{
	struct loopback *loopback = window->data;

	return loopback->ops->resolve(loopback->there, offset);
}

const struct vgpu_window_provider vgpu_window_loopback = {
	.name = "loopback",
	.open = loopback_open,
	.close = loopback_close,
	.insert = loopback_insert,
	.resolve = loopback_resolve,
};
