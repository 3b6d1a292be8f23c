// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bindings: ranges of a window that show ranges of a shadow's mappings.
 *
 * A worker may be stuck in a driver for ever. Everything but its own reference of the binding
 * ends without it.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "peer/control.h"
#include "peer/peer.h"
#include "window/binding.h"
#include "window/touch.h"
#include "window/window.h"

static void binding_release(struct kref *ref)
{
	struct vgpu_binding *binding = container_of(ref, struct vgpu_binding, ref);
	struct vgpu_touch *touch, *next;

	/* Neither a worker nor a waiting thread is left. */
	list_for_each_entry_safe(touch, next, &binding->touches, node)
		vgpu_touch_put(touch);
	vgpuh_window_put(binding->window);
	vgpu_peer_put(binding->peer);
	mmdrop(binding->mm);
	kfree(binding);
}

void vgpu_binding_get(struct vgpu_binding *binding)
{
	kref_get(&binding->ref);
}

void vgpu_binding_put(struct vgpu_binding *binding)
{
	kref_put(&binding->ref, binding_release);
}

bool vgpu_binding_shows(const struct vgpu_binding *binding, const struct vm_area_struct *vma,
			u64 addr)
{
	pgoff_t pgoff = vma->vm_pgoff + ((addr - vma->vm_start) >> PAGE_SHIFT);

	return vma->vm_file == binding->file &&
	       pgoff == binding->pgoff + ((addr - binding->addr) >> PAGE_SHIFT) &&
	       (vma->vm_flags & VM_SHARED) &&
	       (!binding->writable || (vma->vm_flags & VM_WRITE));
}

void vgpu_binding_fail(struct vgpu_binding *binding, u64 offset, u64 len)
{
	struct vgpu_peer *peer = binding->peer;
	unsigned long flags;

	spin_lock_irqsave(&peer->events.lock, flags);
	if (binding->bad_first == binding->bad_end) {
		binding->bad_first = offset;
		binding->bad_end = offset + len;
	} else {
		binding->bad_first = min(binding->bad_first, offset);
		binding->bad_end = max(binding->bad_end, offset + len);
	}
	if (list_empty(&binding->bad_node)) {
		vgpu_binding_get(binding);
		list_add_tail(&binding->bad_node, &peer->offer.bad);
	}
	spin_unlock_irqrestore(&peer->events.lock, flags);
	vgpuh_control_kick(peer);
}
