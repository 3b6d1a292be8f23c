/* SPDX-License-Identifier: MIT */
/*
 * Windows of guests that user-space engines serve. Each has a socket for the guest's hypervisor
 * and, while that is connected, a process, the keeper (userspace-lib/engine/keeper).
 *
 * Guests that the host module serves have their windows from that. A keeper then only tells the
 * module where the guest's memory is, and the window that it has shows nothing.
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
 * keeper_is_connected - whether the hypervisor of a guest is connected to its window
 * @cid: the guest's context ID
 * @port: the port by which the guest connects
 *
 * Return: true if it is, so that it may tell where the guest's memory is.
 */
bool keeper_is_connected(uint32_t cid, uint32_t port);

/**
 * keeper_memory_is_huge - whether a guest has memory in hugetlbfs alone
 * @cid: its CID
 * @port: its port
 *
 * Of such memory hardly anything can be kept: a part is mapped in whole large pages or not at all.
 *
 * Return: true if its hypervisor has told of such memory and of no other.
 */
bool keeper_memory_is_huge(uint32_t cid, uint32_t port);

/**
 * keeper_memory_is_giant - whether a guest has memory in pages too large to be kept
 * @cid: its CID
 * @port: its port
 *
 * Return: true if its hypervisor has told of such memory, too.
 */
bool keeper_memory_is_giant(uint32_t cid, uint32_t port);

/**
 * keeper_hypervisor - which process is connected to a guest's window
 * @cid: the guest's context ID
 * @port: the port by which the guest connects
 *
 * Return: the process ID of who connected; 0: nobody is connected, or it is not known.
 */
pid_t keeper_hypervisor(uint32_t cid, uint32_t port);

/**
 * keeper_memory_path - where a hypervisor may tell of a guest's memory
 * @cid: the guest's context ID
 * @port: the port by which the guest connects
 *
 * Return: the path of the socket, or NULL: there is none.
 */
const char *keeper_memory_path(uint32_t cid, uint32_t port);

/**
 * keeper_memory_create - listen for a hypervisor that tells of a guest's memory
 * @window: the guest's window, which the host module has made
 *
 * Return: 0, or a negative errno.
 */
int keeper_memory_create(const struct vgpu_host_window_create *window);

/**
 * keeper_memory_give - have the host module told where a guest's memory is
 * @cid: the guest's context ID
 * @port: the port by which the guest connects
 * @fd: the module's file for that, which stays the caller's
 */
void keeper_memory_give(uint32_t cid, uint32_t port, int fd);

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
