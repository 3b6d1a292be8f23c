// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes of bindings.
 *
 * A guest should not write to memory that the window cannot show. So the host itself makes the
 * first touch of a binding, its *probe*, which inserts nothing into the window.
 */
#include <linux/mm.h>

#include "peer/agent.h"
#include "peer/peer.h"
#include "window/binding.h"
#include "window/probe.h"
#include "window/touch.h"
#include "window/window.h"

/*
 * Find the entry of window->probes that is @mm, or a free one if @mm is NULL.
 * Return: the entry, or NULL.
 */
static struct mm_struct **probe_find(struct vgpuh_window *window, const struct mm_struct *mm)
{
	unsigned int i;

	lockdep_assert_held(&window->lock);
	for (i = 0; i < VGPU_WINDOW_PROBES; i++)
		if (window->probes[i] == mm)
			return &window->probes[i];
	return NULL;
}

static void probe_work(struct work_struct *work)
{
	struct vgpu_touch *touch = container_of(work, struct vgpu_touch, work);
	struct vgpu_binding *binding = touch->binding;
	struct vgpuh_window *window = binding->window;
	int ret;

	ret = vgpu_touch_resolve(touch);
	mutex_lock(&window->lock);
	touch->error = ret;
	touch->done = true;
	*probe_find(window, binding->mm) = NULL;
	complete_all(&touch->over);
	mutex_unlock(&window->lock);
	vgpu_touch_put(touch);
	vgpu_binding_put(binding);
}

/*
 * Start a probe, unless a driver is stuck with another one of the same shadow. So a program is
 * delayed once, and a guest with many programs keeps few workers. Return: true if it was
 * started.
 */
static bool probe_start(struct vgpu_touch *touch)
{
	struct vgpu_binding *binding = touch->binding;
	struct vgpuh_window *window = binding->window;
	struct mm_struct **place = NULL;

	mutex_lock(&window->lock);
	if (!probe_find(window, binding->mm))
		place = probe_find(window, NULL);
	if (place) {
		*place = binding->mm;
		touch->probe = true;
		/* A guest in this kernel can be shown any page. */
		touch->kvm = window->mapped;
		/* The worker holds these references. */
		kref_get(&touch->ref);
		vgpu_binding_get(binding);
		queue_work(window->wq, &touch->work);
	}
	mutex_unlock(&window->lock);
	return place;
}

int vgpu_binding_probe(struct vgpu_binding *binding, unsigned long time)
{
	struct vgpuh_window *window = binding->window;
	struct vgpu_touch *touch;
	int ret;

	time = min(time, msecs_to_jiffies(binding->peer->agent->fetch_timeout_ms) / 2);
	touch = vgpu_touch_alloc(binding, binding->offset, binding->offset, 1, time, probe_work);
	if (touch && probe_start(touch))
		wait_for_completion_interruptible_timeout(&touch->over, time);
	mutex_lock(&window->lock);
	/* A driver that refuses now, or is slow, may provide the page when a program wants it. */
	ret = touch && touch->done ? touch->error : -EAGAIN;
	if (!ret)
		binding->prot = touch->prot;
	ret = ret == -EEXIST || ret == -EOPNOTSUPP ? -EOPNOTSUPP : 0;
	/* The guest did not know of the binding when it ended, so the reply has to say so. */
	if (window->gone || window->id != binding->window_id)
		ret = -ENODEV;
	else if (binding->gone)
		ret = -EBUSY;
	mutex_unlock(&window->lock);
	if (touch)
		vgpu_touch_put(touch);
	return ret;
}
