// SPDX-License-Identifier: GPL-2.0-only
/*
 * Windows: their list, and what all files that know windows need. See window.h.
 */
#include <linux/random.h>
#include <linux/string.h>

#include "fault.h"
#include "peer/peer.h"
#include "window/window.h"
#include "wire.h"

/* Mutex that protects vgpu_windows. */
DEFINE_MUTEX(vgpu_windows_lock);
LIST_HEAD(vgpu_windows);
DECLARE_WAIT_QUEUE_HEAD(vgpu_windows_closed);

void vgpuh_window_get(struct vgpuh_window *window)
{
	get_device(&window->dev);
}

void vgpuh_window_put(struct vgpuh_window *window)
{
	put_device(&window->dev);
}

void vgpuh_window_zap(struct vgpuh_window *window, u64 offset, u64 len)
{
	struct vgpu_window_viewer *viewer;

	vgpu_unmap_nested(window->inode->i_mapping, offset >> PAGE_SHIFT, len >> PAGE_SHIFT);
	down_read(&window->viewers_lock);
	list_for_each_entry(viewer, &window->viewers, node)
		viewer->zap(viewer, offset, len);
	up_read(&window->viewers_lock);
}

void vgpuh_window_renew(struct vgpuh_window *window)
{
	struct vgpu_window_header *header = page_address(window->header);

	lockdep_assert_held(&window->lock);
	window->id = get_random_u64() ?: 1;
	window->mapped = false;
	header->window = cpu_to_le64(window->id);
	memset(page_address(window->dummy), 0, PAGE_SIZE);
}

int vgpuh_window_compare(const struct vgpuh_window *window, u32 cid, u32 port)
{
	if (window->cid != cid)
		return window->cid < cid ? -1 : 1;
	return window->port == port ? 0 : window->port < port ? -1 : 1;
}

struct vgpuh_window *vgpuh_window_find_locked(u32 cid, u32 port)
{
	struct vgpuh_window *window;

	lockdep_assert_held(&vgpu_windows_lock);
	list_for_each_entry(window, &vgpu_windows, node)
		if (!vgpuh_window_compare(window, cid, port))
			return window;
	return NULL;
}

struct vgpuh_window *vgpuh_window_find(const struct vgpu_peer *peer)
{
	struct vgpuh_window *window;

	mutex_lock(&vgpu_windows_lock);
	window = vgpuh_window_find_locked(peer->cid, peer->port);
	if (window)
		vgpuh_window_get(window);
	mutex_unlock(&vgpu_windows_lock);
	return window;
}
