// SPDX-License-Identifier: GPL-2.0-only
/* Announcements: see window_announce.h. */
#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "link/host.h"
#include "memory/move_queue.h"
#include "memory/state.h"
#include "memory/window.h"
#include "memory/window_announce.h"
#include "memory/window_range.h"

/* Protects the list of hosts that have announced a window, their announcements, and providers. */
static DEFINE_MUTEX(window_hosts_lock);
static LIST_HEAD(window_hosts);

/* Providers in the order in which a window looks for one; vgpu_window_found() sets the last. */
static const struct vgpu_window_provider *window_providers[] = {
#ifdef VGPU_TESTING
	&vgpu_window_loopback,
#endif
	NULL,
};

static void window_go(struct vgpu_host *host)
{
	struct vgpu_window *window;

	spin_lock(&host->lock);
	window = host->memory->window.now;
	WRITE_ONCE(host->memory->window.now, NULL);
	spin_unlock(&host->lock);
	if (window)
		vgpu_window_end(window);
}

void vgpu_window_abort(struct vgpu_host *host)
{
	mutex_lock(&window_hosts_lock);
	list_del_init(&host->memory->window.entry);
	window_go(host);
	mutex_unlock(&window_hosts_lock);
}

/*
 * Allocates a window without provider and map: the size is unchecked until a provider has
 * opened it.
 */
static struct vgpu_window *window_alloc(struct vgpu_host *host, const struct vgpu_window_info *info)
{
	struct vgpu_window *window = kzalloc(sizeof(*window), GFP_KERNEL);

	if (!window)
		return NULL;
	kref_init(&window->ref);
	window->host = host;
	window->id = le64_to_cpu(info->window);
	window->size = le64_to_cpu(info->size);
	window->drain = le32_to_cpu(info->flags) & VGPU_WINDOW_DRAIN;
	init_rwsem(&window->use);
	mutex_init(&window->lock);
	window->ranges = RB_ROOT_CACHED;
	return window;
}

/* Return: true if a provider reaches all of the window; else all mappings go by copy. */
static bool window_open(struct vgpu_window *window)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(window_providers); i++) {
		if (!window_providers[i] || window_providers[i]->open(window))
			continue;
		window->provider = window_providers[i];
		return true;
	}
	return false;
}

/* Applies the announced flags if the window is there already. Return: false if it is not. */
static bool window_change(struct vgpu_host *host)
{
	const struct vgpu_window_info *info = &host->memory->window.info;
	struct vgpu_window *window = vgpu_window_named(host, info->window);

	if (!window)
		return false;
	WRITE_ONCE(window->drain, le32_to_cpu(info->flags) & VGPU_WINDOW_DRAIN);
	vgpu_window_put(window);
	return true;
}

/* Ends the window if there is one, as a host has one at a time, and opens the announced one. */
static void window_renew(struct vgpu_host *host)
{
	struct vgpu_window *window;
	unsigned long nr;

	window_go(host);
	if (!host->memory->window.info.size)
		return;
	window = window_alloc(host, &host->memory->window.info);
	if (!window)
		return;
	if (!window_open(window)) {
		kfree(window);
		return;
	}
	nr = window->size >> PAGE_SHIFT;
	window->map = kvcalloc(BITS_TO_LONGS(nr), sizeof(long), GFP_KERNEL | __GFP_NOWARN);
	if (!window->map) {
		vgpu_window_put(window);
		return;
	}
	/* The header is claimed from the beginning. */
	bitmap_set(window->map, 0, 1);
	spin_lock(&host->lock);
	WRITE_ONCE(host->memory->window.now, window);
	spin_unlock(&host->lock);
}

void vgpu_window_announce(struct vgpu_host *host, const struct vgpu_window_info *info)
{
	mutex_lock(&window_hosts_lock);
	host->memory->window.info = *info;
	if (list_empty(&host->memory->window.entry))
		list_add_tail(&host->memory->window.entry, &window_hosts);
	if (!info->size || !window_change(host))
		window_renew(host);
	mutex_unlock(&window_hosts_lock);
	vgpu_move_later(host);
}

void vgpu_window_found(const struct vgpu_window_provider *provider)
{
	struct vgpu_memory_host *memory;

	mutex_lock(&window_hosts_lock);
	window_providers[ARRAY_SIZE(window_providers) - 1] = provider;
	list_for_each_entry(memory, &window_hosts, window.entry)
		vgpu_move_later(memory->host);
	mutex_unlock(&window_hosts_lock);
}

void vgpu_window_settle(struct vgpu_host *host)
{
	struct vgpu_window *window;
	bool over = true;

	mutex_lock(&window_hosts_lock);
	/* The window changes under window_hosts_lock only. */
	window = host->memory->window.now;
	if (window) {
		mutex_lock(&window->lock);
		over = vgpu_window_is_over(window);
		mutex_unlock(&window->lock);
	}
	if (over && !list_empty(&host->memory->window.entry))
		window_renew(host);
	mutex_unlock(&window_hosts_lock);
}
