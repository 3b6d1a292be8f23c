/* SPDX-License-Identifier: MIT */
/*
 * Windows of guests that user-space engines serve. Each has a socket for the guest's hypervisor
 * and, while that is connected, a process, the keeper (userspace-lib/engine/keeper).
 */
#ifndef VGPUD_KEEPER_H
#define VGPUD_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/vgpu_host.h>

/* Where the sockets are. */
#define KEEPER_DIR	"/run/vgpu"

/**
 * keeper_window_create - make a guest's window, and listen for its hypervisor
 * @arg: see hostdev_window_create(), which calls this where the settings choose such engines
 *
 * Return: 0; -EEXIST: the guest has one; or another negative errno.
 */
int keeper_window_create(struct vgpu_host_window_create *arg);

/**
 * keeper_window_destroy - destroy a guest's window
 * @cid: the guest's context ID
 * @port: the port by which the guest connects
 * @force: even if a hypervisor is connected, which does not get it back
 *
 * Return: 0; -ENOENT; or -EBUSY: a hypervisor is connected.
 */
int keeper_window_destroy(uint32_t cid, uint32_t port, bool force);

/**
 * keeper_window_next - describe the window after a guest's, in the order of guests
 * @cid: the guest's context ID
 * @port: the port by which the guest connects
 * @stat: filled in, but for what the guest has in the window (see engine_window_stat())
 *
 * Return: 0, or -ENOENT: there are no more.
 */
int keeper_window_next(uint32_t cid, uint32_t port, struct vgpu_host_window_stat *stat);

/**
 * keeper_has_window - whether a guest has a window
 * @cid: the guest's context ID
 * @port: the port by which the guest connects
 *
 * Return: true if it has one, with a hypervisor or without.
 */
bool keeper_has_window(uint32_t cid, uint32_t port);

/**
 * keeper_has_uid - whether a keeper runs as a user
 * @uid: the user's ID
 *
 * Return: true if one does, so that no guest may.
 */
bool keeper_has_uid(unsigned int uid);

/**
 * keeper_connect - connect an engine to its guest's keeper
 * @cid: the guest's context ID
 * @port: the port by which the guest connects
 *
 * Return: the engine's end of the connection, or -1: there is no keeper.
 */
int keeper_connect(uint32_t cid, uint32_t port);

/**
 * keeper_reaped - a child of vgpud, perhaps a keeper, has ended
 * @pid: its process ID
 * @status: what waitpid() says of it
 */
void keeper_reaped(pid_t pid, int status);

#endif /* VGPUD_KEEPER_H */
