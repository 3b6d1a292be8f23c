// SPDX-License-Identifier: GPL-2.0-only
/*
 * Windows that a guest module in the same kernel shows to its programs.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/signal.h>

#include "compat.h"
#include "window/binding.h"
#include "window/resolve.h"
#include "window/window.h"
#include "window_local.h"

static struct vgpuh_window *window_attach(u64 id, u64 size, struct vgpu_window_viewer *viewer)
{
	struct vgpuh_window *window, *found = NULL;

	mutex_lock(&vgpu_windows_lock);
	list_for_each_entry(window, &vgpu_windows, node) {
		down_write(&window->viewers.lock);
		mutex_lock(&window->lock);
		if (window->id == id && window->size == size && !window->gone) {
			list_add(&viewer->node, &window->viewers.list);
			vgpuh_window_get(window);
			found = window;
		}
		mutex_unlock(&window->lock);
		up_write(&window->viewers.lock);
		if (found)
			break;
	}
	mutex_unlock(&vgpu_windows_lock);
	return found;
}

static void window_detach(struct vgpuh_window *window, struct vgpu_window_viewer *viewer)
{
	down_write(&window->viewers.lock);
	list_del(&viewer->node);
	up_write(&window->viewers.lock);
	vgpuh_window_put(window);
}

static vm_fault_t window_local_insert(struct vgpuh_window *window, struct vm_fault *vmf, u64 offset,
				      u64 first, u64 end)
{
	struct vgpu_binding *binding;
	vm_fault_t ret = VM_FAULT_SIGBUS;

	mutex_lock(&window->lock);
	binding = vgpu_binding_find_locked(window, offset);
	if (binding)
		ret = vgpu_binding_insert_locked(binding, vmf, offset, first, end, true);
	else if (window->gone)
		ret = VM_FAULT_RETRY;	/* The guest is notified of that in a moment. */
	mutex_unlock(&window->lock);
	return ret;
}

#ifdef VGPU_HAVE_HUGE
static vm_fault_t window_local_insert_huge(struct vgpuh_window *window, struct vm_fault *vmf,
					   u64 offset)
{
	return vgpuh_window_insert_huge(window, vmf, offset, true);
}
#endif

static int window_local_resolve(struct vgpuh_window *window, u64 offset)
{
	struct vgpu_binding *binding;
	int ret = 0;

	mutex_lock(&window->lock);
	binding = vgpu_binding_find_locked(window, offset);
	if (binding)
		vgpu_binding_get(binding);
	mutex_unlock(&window->lock);
	if (!binding)
		return schedule_timeout_killable(1) && fatal_signal_pending(current) ? -EINTR : 0;
	/* No deadline is needed: a program waits, and can be killed. */
	ret = vgpu_binding_resolve(binding, offset, MAX_SCHEDULE_TIMEOUT);
	vgpu_binding_put(binding);
	return ret;
}

const struct vgpu_window_local_ops vgpu_window_local_ops = {
	.attach = window_attach,
	.detach = window_detach,
	.insert = window_local_insert,
#ifdef VGPU_HAVE_HUGE
	.insert_huge = window_local_insert_huge,
#endif
	.resolve = window_local_resolve,
};
EXPORT_SYMBOL_GPL(vgpu_window_local_ops);
