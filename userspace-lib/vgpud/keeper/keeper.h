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

#include "shared/proto.h"

struct keeper;

/* Directory of the sockets. */
#define KEEPER_DIR	"/run/vgpu"

/* Advice for an error -EPERM of nested_check() or of the module's windows. */
#define NESTED_ADVICE	"before Linux 6.13 kvm_intel must be loaded with nested=0 " \
			"(put 'options kvm_intel nested=0' in /etc/modprobe.d, then reload kvm_intel)"

/* Find the keeper of a guest's window; a window that was destroyed is not found. */
struct keeper *keeper_find(uint32_t cid, uint32_t port);
/*
 * Find the keeper of a window to which the hypervisor is connected, so that it may report where the
 * guest's memory is.
 */
struct keeper *keeper_connected(uint32_t cid, uint32_t port);

/**
 * nested_check - check whether a hypervisor may show device memory to a guest
 *
 * The module makes the same check, see drivers/host/window/nested.c for the reason.
 *
 * Return: 0; -EPERM: KVM's nested VMX could keep pages that are taken away, or this is not
 * known.
 */
int nested_check(void);

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

/**
 * keeper_memory_has - check the pages of a guest's memory
 * @cid: the guest's context ID
 * @port: the port by which the guest connects
 * @states: KEEPER_STATE_HUGE: all memory is in hugetlbfs, of which devices can keep hardly any, as
 *	hugetlbfs maps only whole large pages; KEEPER_STATE_GIANT: some memory is in pages too large
 *	for devices to keep
 *
 * Return: true if the hypervisor has reported memory for which one of @states holds.
 */
bool keeper_memory_has(uint32_t cid, uint32_t port, uint8_t states);

/**
 * keeper_hypervisor - get the process that is connected to a guest's window
 * @cid: the guest's context ID
 * @port: the port by which the guest connects
 *
 * Return: the process ID of the hypervisor; 0 if none is connected, or its ID is not known.
 */
pid_t keeper_hypervisor(uint32_t cid, uint32_t port);

/**
 * keeper_memory_path - get the socket by which a hypervisor reports a guest's memory
 * @cid: the guest's context ID
 * @port: the port by which the guest connects
 *
 * Return: the path of the socket, or NULL if there is none.
 */
const char *keeper_memory_path(uint32_t cid, uint32_t port);

/**
 * keeper_memory_give - have the keeper tell the host module where a guest's memory is
 * @cid: the guest's context ID
 * @port: the port by which the guest connects
 * @fd: file of the module that receives the memory; the caller keeps its own reference
 */
void keeper_memory_give(uint32_t cid, uint32_t port, int fd);

/**
 * keeper_connect - connect an engine to its guest's keeper
 * @cid: the guest's context ID
 * @port: the port by which the guest connects
 *
 * Return: the engine's end of the connection, or a negative number if there is no keeper.
 */
int keeper_connect(uint32_t cid, uint32_t port);

/**
 * keeper_reaped - handle the end of a child of vgpud, which may be a keeper
 * @pid: the child's process ID
 * @status: the child's status, from waitpid()
 */
void keeper_reaped(pid_t pid, int status);

#endif /* VGPUD_KEEPER_H */
