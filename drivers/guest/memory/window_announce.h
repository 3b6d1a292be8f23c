/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Announcements of windows: a host says which window it has. The window is opened once a provider
 * reaches its memory.
 */
#ifndef VGPU_WINDOW_ANNOUNCE_H
#define VGPU_WINDOW_ANNOUNCE_H

#include <linux/list.h>
#include <linux/types.h>

#include "uapi/linux/vgpu_wire.h"

struct vgpu_host;
struct vgpu_window;
struct vgpu_window_provider;

/**
 * struct vgpu_window_state - window that a host has announced
 * @now: window of the host, or NULL; written under window_hosts_lock and host->lock
 * @missed: true once a message was logged that a program needed a window (host->lock)
 * @entry: entry in the list of hosts that have announced a window (window_hosts_lock)
 * @info: last announcement of the window (window_hosts_lock)
 */
struct vgpu_window_state {
	struct vgpu_window *now;
	bool missed;
	struct list_head entry;
	struct vgpu_window_info info;
};

/*
 * Retry to open the windows of all hosts, because memory has appeared that may be a window.
 * @provider reaches this memory, and is asked for each window from now on.
 */
void vgpu_window_found(const struct vgpu_window_provider *provider);

/*
 * Open the window that the host has announced if its memory was missing or lost before. A lost
 * window is opened anew only after the host has confirmed that nothing is bound in it, because
 * the host does not know of the loss. Process context, no locks.
 */
void vgpu_window_settle(struct vgpu_host *host);

/* Handle the message WINDOW of the host. */
void vgpu_window_announce(struct vgpu_host *host, const struct vgpu_window_info *info);

/* End the window of a host whose connection is lost. */
void vgpu_window_abort(struct vgpu_host *host);

#endif /* VGPU_WINDOW_ANNOUNCE_H */
