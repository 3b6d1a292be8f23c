// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bindings: ranges of a window that show ranges of a shadow's mappings; how they begin, change
 * and end.
 *
 * A worker may be stuck in a driver for ever. A binding ends all the same: only the worker's
 * reference of the binding stays.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "compat.h"
#include "peer/control.h"
#include "peer/peer.h"
#include "window/ahead.h"
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

static bool binding_invalidate(struct mmu_interval_notifier *notifier,
			       const struct mmu_notifier_range *range, unsigned long seq)
{
	struct vgpu_binding *binding = container_of(notifier, struct vgpu_binding, notifier);
	struct vgpuh_window *window = binding->window;
	u64 first, end;

	/* Zapping PTEs sleeps, so the OOM reaper has to get memory elsewhere. */
	if (!mmu_notifier_range_blockable(range))
		return false;
	mutex_lock(&window->lock);
	mmu_interval_set_seq(notifier, seq);
	mutex_unlock(&window->lock);

	first = max_t(u64, range->start, binding->addr);
	end = min_t(u64, range->end, binding->addr + binding->len);
	if (first >= end)
		return true;
	atomic64_inc(&window->stats.zaps);
	vgpuh_window_zap(window, binding->offset + (first - binding->addr), end - first);
	return true;
}

static const struct mmu_interval_notifier_ops binding_notifier_ops = {
	.invalidate = binding_invalidate,
};

/* Find the first binding that overlaps [first, last]. Return: the binding, or NULL. */
static struct vgpu_binding *binding_first(struct vgpuh_window *window, u64 first, u64 last)
{
	struct interval_tree_node *node;

	lockdep_assert_held(&window->lock);
	node = interval_tree_iter_first(&window->bindings.tree, first, last);
	return node ? container_of(node, struct vgpu_binding, node) : NULL;
}

struct vgpu_binding *vgpu_binding_find_locked(struct vgpuh_window *window, u64 offset)
{
	struct vgpu_binding *binding = binding_first(window, offset, offset);

	if (!binding || binding->gone || binding->window_id != window->id)
		return NULL;
	return binding;
}

/*
 * Remember a range that the guest has given back. A slow call that was made before may still
 * ask for that range, which the guest would then never give back. Only the last ranges are
 * remembered; a call that was made before a forgotten one was given back binds nothing.
 */
void vgpu_binding_refuse(struct vgpu_peer *peer, const struct vgpu_unbind *unbind)
{
	struct vgpu_unbind *oldest;

	spin_lock(&peer->unbinds.lock);
	oldest = &peer->unbinds.ring[peer->unbinds.nr++ % VGPU_PEER_UNBINDS];
	peer->unbinds.gone = oldest->seq;
	*oldest = *unbind;
	spin_unlock(&peer->unbinds.lock);
}

static bool binding_is_refused(const struct vgpu_binding *binding, u64 seq)
{
	struct vgpu_peer *peer = binding->peer;
	unsigned int i;
	bool refused;

	spin_lock(&peer->unbinds.lock);
	refused = seq < peer->unbinds.gone;
	for (i = 0; i < VGPU_PEER_UNBINDS; i++) {
		const struct vgpu_unbind *unbind = &peer->unbinds.ring[i];

		if (unbind->seq > seq && unbind->window == binding->window_id &&
		    unbind->offset < binding->offset + binding->len &&
		    binding->offset < unbind->offset + unbind->len)
			refused = true;
	}
	spin_unlock(&peer->unbinds.lock);
	return refused;
}

/*
 * Publish the binding in the window's tree. Return: 0; -ENODEV: the window takes no bindings of
 * the peer any more; -EBUSY: the range is not free.
 */
static int binding_list(struct vgpu_binding *binding, u64 seq)
{
	struct vgpuh_window *window = binding->window;
	u64 first = binding->offset, last = first + binding->len - 1;
	int ret = 0;

	mutex_lock(&window->lock);
	/*
	 * peer->closing is set before all bindings of the peer are ended under window->lock. So
	 * this binding is either refused here or ended with the others.
	 */
	if (window->gone || window->drain || window->id != binding->window_id ||
	    READ_ONCE(binding->peer->closing))
		ret = -ENODEV;
	if (!ret && binding_first(window, first, last))
		ret = -EBUSY;
	/* An UNBIND that comes later finds the binding listed: see vgpu_offer_unbind(). */
	if (!ret && binding_is_refused(binding, seq))
		ret = -EBUSY;
	if (ret)
		goto out_unlock;
	binding->node.start = first;
	binding->node.last = last;
	interval_tree_insert(&binding->node, &window->bindings.tree);
	window->bindings.nr++;
	atomic64_add(binding->len, &window->stats.bound_bytes);
	binding->listed = true;
	/* The tree holds this reference: another thread may find and end the binding at once. */
	vgpu_binding_get(binding);
out_unlock:
	mutex_unlock(&window->lock);
	return ret;
}

/*
 * Take the next binding that has ended off the window's list.
 * Return: the binding with the tree's reference, or NULL.
 */
static struct vgpu_binding *binding_next_ended(struct vgpuh_window *window)
{
	struct vgpu_binding *binding;

	mutex_lock(&window->lock);
	binding = list_first_entry_or_null(&window->bindings.ended, struct vgpu_binding,
					   ended_node);
	if (binding)
		list_del(&binding->ended_node);
	mutex_unlock(&window->lock);
	return binding;
}

/*
 * Unregister the notifiers of bindings that have ended, one after another. Each removal waits
 * for tasks that are changing the shadow's page tables at that moment. Such a task may wait for
 * locks of those who end bindings, or may be stuck in a driver's notifier. So a window has one
 * such work item, on its own workqueue: its guest keeps one worker however many bindings it
 * ends, and no other guest waits.
 *
 * Lifetimes: a binding in the list has the tree's reference and holds the window. The work item
 * has a reference of the window each time it is queued, so the reference of the last binding is
 * never the window's last one. The work item's own may be: then other work, which waits until
 * this function has returned, destroys the window's workqueue. The module's exit waits until
 * all windows are freed.
 */
void vgpu_binding_end_work(struct work_struct *work)
{
	struct vgpuh_window *window = container_of(work, struct vgpuh_window, bindings.work);
	struct vgpu_binding *binding;

	while ((binding = binding_next_ended(window))) {
		mmu_interval_notifier_remove(&binding->notifier);
		vgpu_binding_put(binding);
		cond_resched();
	}
	vgpuh_window_put(window);
}

struct vgpu_binding *vgpu_binding_make(struct vgpu_peer *peer, u64 id, u64 offset,
				       const struct vgpu_binding_place *place)
{
	struct vgpuh_window *window = vgpuh_window_find(peer);
	struct vgpu_binding *binding;
	int ret = -ENODEV;

	if (!window)
		return ERR_PTR(-ENODEV);
	if (offset >= window->size || place->len > window->size - offset)
		goto err_window;
	ret = -ENOMEM;
	binding = kzalloc(sizeof(*binding), GFP_KERNEL_ACCOUNT);
	if (!binding)
		goto err_window;
	kref_init(&binding->ref);
	binding->window = window;
	binding->window_id = id;
	vgpu_peer_get(peer);
	binding->peer = peer;
	/* A worker may use the mm after the notifier has dropped its reference. */
	mmgrab(current->mm);
	binding->mm = current->mm;
	binding->offset = offset;
	binding->addr = place->addr;
	binding->len = place->len;
	binding->pgoff = place->pgoff;
	binding->file = place->file;
	binding->writable = place->writable;
	binding->prot = place->prot;
	binding->users = 1;
	INIT_LIST_HEAD(&binding->touches);
	INIT_LIST_HEAD(&binding->bad_node);
	INIT_WORK(&binding->ahead.work, vgpuh_ahead_work);
	init_completion(&binding->ahead.over);
	ret = mmu_interval_notifier_insert(&binding->notifier, binding->mm, binding->addr,
					   binding->len, &binding_notifier_ops);
	if (ret)
		goto err_binding;
	ret = binding_list(binding, place->seq);
	if (ret)
		goto err_notifier;
	/* Zap what was shown in the range before it was bound. */
	vgpuh_window_zap(window, binding->offset, binding->len);
	return binding;

err_notifier:
	mmu_interval_notifier_remove(&binding->notifier);
err_binding:
	vgpu_binding_put(binding);
	return ERR_PTR(ret);
err_window:
	vgpuh_window_put(window);
	return ERR_PTR(ret);
}

void vgpu_binding_end(struct vgpu_binding *binding, bool tell)
{
	struct vgpuh_window *window = binding->window;
	bool last;

	mutex_lock(&window->lock);
	binding->gone = true;
	mutex_unlock(&window->lock);
	/* A second caller zaps as well: for both nothing is shown after the return. */
	vgpuh_window_zap(window, binding->offset, binding->len);
	mutex_lock(&window->lock);
	last = binding->listed;
	if (last) {
		interval_tree_remove(&binding->node, &window->bindings.tree);
		window->bindings.nr--;
		atomic64_sub(binding->len, &window->stats.bound_bytes);
		binding->listed = false;
		/* The tree's reference moves to the list. */
		list_add_tail(&binding->ended_node, &window->bindings.ended);
	}
	mutex_unlock(&window->lock);
	if (!last)
		return;
	if (tell)
		vgpu_binding_fail(binding, binding->offset, binding->len);
	/* The work item holds this reference of the window and puts it when it has run. */
	vgpuh_window_get(window);
	if (!queue_work(window->workers.wq, &window->bindings.work))
		vgpuh_window_put(window);
}

void vgpu_binding_widen(struct vgpu_binding *binding)
{
	struct vgpuh_window *window = binding->window;
	bool changed;

	mutex_lock(&window->lock);
	changed = !binding->writable && !binding->gone;
	if (changed)
		WRITE_ONCE(binding->writable, true);
	mutex_unlock(&window->lock);
	/* The driver was asked for reading until now. */
	if (changed)
		vgpuh_window_zap(window, binding->offset, binding->len);
}

void vgpu_binding_end_range(struct vgpuh_window *window, const struct vgpu_peer *peer, u64 id,
			    u64 offset, u64 len)
{
	u64 end = offset + len;
	struct vgpu_binding *binding;

	while (offset < end) {
		mutex_lock(&window->lock);
		binding = binding_first(window, offset, end - 1);
		if (binding)
			vgpu_binding_get(binding);
		mutex_unlock(&window->lock);
		if (!binding)
			return;
		offset = binding->offset + binding->len;
		if ((!peer || binding->peer == peer) && (!id || binding->window_id == id))
			vgpu_binding_end(binding, false);
		vgpu_binding_put(binding);
	}
}
