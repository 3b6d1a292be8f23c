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
#include <sys/queue.h>
#include <sys/types.h>

#include "process/sandbox.h"
#include "shared/keeper_proto.h"
#include "shared/loop.h"

/* Directory of the sockets. */
#define KEEPER_DIR	"/run/vgpu"

/* Advice for an error -EPERM of nested_check() or of the module's windows. */
#define NESTED_ADVICE	"before Linux 6.13 kvm_intel must be loaded with nested=0 " \
			"(put 'options kvm_intel nested=0' in /etc/modprobe.d, then reload kvm_intel)"

/**
 * struct keeper - the window of a guest
 * @node: entry of keepers, which is sorted by @cid and @port
 * @cid: the guest's context ID
 * @port: vsock port of vgpud by which the guest connects
 * @size: size of the window in bytes
 * @uid: user who may connect to the socket
 * @gid: group that the socket belongs to
 * @flags: VGPU_HOST_WINDOW_*
 * @path: path of the socket
 * @source: socket on which vgpud listens; its fd is -1 once the window was destroyed
 * @pause: timer during which connections wait; it keeps a hypervisor that connects again and
 *	again, or one that has to wait for free file numbers, from keeping vgpud busy
 * @sandbox: user, namespaces and control group of the keeper
 * @pid: process ID of the keeper until it is reaped; 0: there is none
 * @hypervisor: process and user of the last peer that connected to the socket; its process ID is 0
 *	if it is not known
 * @agent_fd: vgpud's end of the connection to the keeper; -1: none, or the keeper is to end
 * @state_fd: file of one byte, in which the keeper sets KEEPER_STATE_*; -1 if @agent_fd is -1
 */
struct keeper {
	LIST_ENTRY(keeper) node;
	uint32_t cid;
	uint32_t port;
	uint64_t size;
	uint32_t uid;
	uint32_t gid;
	uint32_t flags;
	char path[64];
	struct source source;
	struct timer pause;
	struct sandbox sandbox;
	pid_t pid;
	struct ucred hypervisor;
	int agent_fd;
	int state_fd;
};

LIST_HEAD(keeper_list, keeper);
extern struct keeper_list keepers;

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

#endif /* VGPUD_KEEPER_H */
