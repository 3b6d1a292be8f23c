/* SPDX-License-Identifier: MIT */
/*
 * Windows of guests. Each window has a socket for the guest's hypervisor and, while a
 * hypervisor is connected, a process: the keeper (userspace-lib/engine/keeper).
 *
 * User-space engines show device memory through the keeper's window. Guests that the host
 * module serves have their windows from the module instead: there, the keeper only tells the
 * module where the guest's memory is, and its own window stays empty.
 */
#ifndef VGPUD_KEEPER_H
#define VGPUD_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/vgpu_host.h>

/* Directory of the sockets. */
#define KEEPER_DIR	"/run/vgpu"

/**
 * keepers_init - prepare for windows
 * @engines: true if engines serve the guests, so that keepers show device memory
 * @on_connect: function that is called when a hypervisor has connected to a guest's window
 */
void keepers_init(bool engines, void (*on_connect)(uint32_t cid, uint32_t port));

/**
 * keeper_window_create - make a guest's window, and listen for its hypervisor
 * @arg: description of the window, see hostdev_window_create()
 *
 * Return: 0; -EEXIST if the guest has a window; or another negative errno.
 */
int keeper_window_create(struct vgpu_host_window_create *arg);

/**
 * keeper_window_destroy - destroy a guest's window
 * @cid: the guest's context ID
 * @port: the port by which the guest connects
 * @force: true to destroy the window of a connected hypervisor, which cannot get it back
 *
 * Return: 0; -ENOENT if the guest has no window; -EBUSY if a hypervisor is connected.
 */
int keeper_window_destroy(uint32_t cid, uint32_t port, bool force);

/**
 * keeper_window_next - describe the window after a guest's, in the order of guests
 * @cid: the guest's context ID
 * @port: the port by which the guest connects
 * @stat: filled in, except for the fields that engine_window_stat() fills in
 *
 * Return: 0, or -ENOENT if there is no further window.
 */
int keeper_window_next(uint32_t cid, uint32_t port, struct vgpu_host_window_stat *stat);

/**
 * keeper_memory_create - listen for a hypervisor that reports a guest's memory
 * @window: the guest's window, which the host module has made
 *
 * Return: 0, or a negative errno.
 */
int keeper_memory_create(const struct vgpu_host_window_create *window);


#endif /* VGPUD_KEEPER_H */
