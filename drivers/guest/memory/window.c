// SPDX-License-Identifier: GPL-2.0-only
/*
 * Windows: see window.h. This file finds a host's window and counts references of it.
 * window_announce.c opens windows, and window_range.c ends them.
 */
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "link/export.h"
#include "link/host.h"
#include "memory/state.h"
#include "memory/window.h"

static void window_free(struct kref *ref)
{
	struct vgpu_window *window = container_of(ref, struct vgpu_window, ref);

	window->provider->close(window);
	kvfree(window->map);
	kfree(window);
}

void vgpu_window_put(struct vgpu_window *window)
{
	kref_put(&window->ref, window_free);
}

struct vgpu_window *vgpu_window_get(struct vgpu_host *host)
{
	struct vgpu_window *window;

	spin_lock(&host->lock);
	window = host->memory->window.now;
	if (window)
		kref_get(&window->ref);
	spin_unlock(&host->lock);
	return window;
}

bool vgpu_window_is_there(struct vgpu_host *host)
{
	struct vgpu_window *window = vgpu_window_get(host);
	bool open = window && vgpu_window_is_open(window);

	if (window)
		vgpu_window_put(window);
	return open;
}

void vgpu_window_missed(const struct vgpu_export *export)
{
	struct vgpu_host *host = export->host;
	struct vgpu_window_state *state = &host->memory->window;
	bool is_new;

	spin_lock(&host->lock);
	is_new = !state->now && !state->missed;
	if (is_new)
		state->missed = true;
	spin_unlock(&host->lock);
	if (is_new)
		pr_notice_ratelimited("%s cannot use memory of %s of host %s: this memory does not work as a copy, so this guest needs a window (on the host: vgpuctl window create; see Documentation/admin/window.rst)\n",
				      current->comm, export->name, host->name);
}

struct vgpu_window *vgpu_window_named(struct vgpu_host *host, __le64 id)
{
	struct vgpu_window *window = vgpu_window_get(host);

	if (window && window->id != le64_to_cpu(id)) {
		vgpu_window_put(window);
		window = NULL;
	}
	return window;
}

bool vgpu_window_is_open(const struct vgpu_window *window)
{
	return !READ_ONCE(window->gone) && !READ_ONCE(window->drain);
}
