// SPDX-License-Identifier: GPL-2.0-only
/*
 * Resolving pages of bindings for faults, which wait for a touch.
 */
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "window/ahead.h"
#include "window/binding.h"
#include "window/resolve.h"
#include "window/touch.h"
#include "window/window.h"

/* Maximum of workers of one window that are in drivers and for which no fault waits. */
#define BINDING_LEFT_MAX	64

/* Publish the result @ret of a touch that began at @start. Consumes a reference of the touch. */
static void touch_over(struct vgpu_touch *touch, unsigned long start, int ret)
{
	struct vgpu_binding *binding = touch->binding;
	struct vgpuh_window *window = binding->window;
	bool unlist;

	mutex_lock(&window->lock);
	touch->slow = time_after(jiffies, start + VGPU_AHEAD_TIME);
	window->nr_left -= touch->left;
	touch->left = false;
	touch->error = ret;
	touch->done = true;
	touch->done_at = jiffies;
	/* No fault will use the result. */
	unlist = touch->late || touch->covered || binding->gone;
	if (unlist)
		list_del_init(&touch->node);
	/* The lock is held, as the touch may begin anew after that. */
	complete_all(&touch->over);
	mutex_unlock(&window->lock);
	atomic64_inc(&window->stats.resolved);
	if (unlist)
		vgpu_touch_put(touch);
	vgpu_touch_put(touch);
}

static void touch_work(struct work_struct *work)
{
	struct vgpu_touch *touch = container_of(work, struct vgpu_touch, work);
	struct vgpu_binding *binding = touch->binding;
	unsigned long start = jiffies;
	int ret;

	ret = vgpu_touch_resolve(touch);
	touch_over(touch, start, ret);
	vgpu_binding_put(binding);
}

/* Queue the worker of a touch, unless too many are stuck. */
static void touch_queue(struct vgpu_touch *touch)
{
	struct vgpuh_window *window = touch->binding->window;

	lockdep_assert_held(&window->lock);
	if (window->nr_left < BINDING_LEFT_MAX) {
		/* The worker holds these references. */
		kref_get(&touch->ref);
		vgpu_binding_get(touch->binding);
		queue_work(window->wq, &touch->work);
	} else {
		/* Another fault that waited for the touch may have been killed meanwhile. */
		window->nr_left -= touch->left;
		touch->left = false;
		touch->done = true;
		touch->done_at = jiffies;
		touch->error = -EBUSY;
		complete_all(&touch->over);
	}
}

void vgpu_touch_again(struct vgpu_touch *touch)
{
	touch->done = false;
	touch->covered = false;
	reinit_completion(&touch->over);
	touch_queue(touch);
}

/*
 * Choose the pages that are looked at with @offset: @nr is their number.
 * Return: offset of the first one.
 */
static u64 touch_range(struct vgpu_binding *binding, u64 offset, unsigned int *nr)
{
	lockdep_assert_held(&binding->window->lock);
	if (offset == binding->ahead.next && binding->ahead.step) {
		*nr = binding->ahead.step >> PAGE_SHIFT;
		return offset;
	}
	*nr = VGPU_TOUCH_AROUND >> PAGE_SHIFT;
	return round_down(offset, VGPU_TOUCH_AROUND);
}

/*
 * Find or make a touch of the page. A new one (*@new_one is true) has to be resolved by the
 * caller.
 * Return: the touch with a reference and this thread among its waiters, or NULL.
 */
static struct vgpu_touch *touch_get(struct vgpu_binding *binding, u64 offset, bool *new_one)
{
	struct vgpuh_window *window = binding->window;
	struct vgpu_touch *touch, *new;
	unsigned int nr;
	u64 first;

	mutex_lock(&window->lock);
	first = touch_range(binding, offset, &nr);
	mutex_unlock(&window->lock);
	new = vgpu_touch_alloc(binding, offset, first, nr, VGPU_WINDOW_TIMEOUT, touch_work);
	if (!new)
		return NULL;
	mutex_lock(&window->lock);
	touch = vgpu_touch_find(binding, offset);
	*new_one = !touch && !binding->gone;
	if (*new_one) {
		touch = new;
		new = NULL;
		list_add(&touch->node, &binding->touches);
	}
	if (touch) {
		kref_get(&touch->ref);
		touch->waiters++;
		window->nr_left -= touch->left;
		touch->left = false;
	}
	mutex_unlock(&window->lock);
	kfree(new);
	return touch;
}

/* Resolve a new touch, from the page tables if the page was prepared, else by a worker. */
static void touch_begin(struct vgpu_touch *touch)
{
	struct vgpu_binding *binding = touch->binding;
	struct vgpuh_window *window = binding->window;

	vgpuh_ahead_wait(binding, touch->offset);
	if (vgpu_touch_at_once(touch)) {
		kref_get(&touch->ref);
		touch_over(touch, jiffies, 0);
		return;
	}
	mutex_lock(&window->lock);
	touch_queue(touch);
	mutex_unlock(&window->lock);
}

int vgpu_binding_resolve(struct vgpu_binding *binding, u64 offset, unsigned long timeout)
{
	struct vgpuh_window *window = binding->window;
	struct vgpu_touch *touch;
	bool new_one, busy;
	long ret;

	touch = touch_get(binding, offset, &new_one);
	/* The binding is gone, or there is no memory: the next fault finds out. */
	if (!touch)
		return schedule_timeout_killable(1) && fatal_signal_pending(current) ? -EINTR : 0;
	if (new_one)
		touch_begin(touch);
	ret = wait_for_completion_killable_timeout(&touch->over, timeout);
	mutex_lock(&window->lock);
	busy = touch->done && (touch->error == -EBUSY || touch->error == -EAGAIN);
	touch->waiters--;
	if (ret <= 0 && !touch->done && !touch->waiters) {
		window->nr_left += !touch->left;
		touch->left = true;
	}
	if (!ret && !touch->done) {
		touch->late = true;
		atomic64_inc(&window->stats.timeouts);
	}
	mutex_unlock(&window->lock);
	vgpu_touch_put(touch);
	/*
	 * The next fault tries again after this pause, if it does not get the window's own page
	 * (vgpu_binding_insert_locked()).
	 */
	if (busy)
		schedule_timeout_killable(HZ / 50);
	return ret < 0 ? -EINTR : 0;
}
