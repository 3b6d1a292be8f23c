/* SPDX-License-Identifier: MIT */
/* The list of keepers, and what is known of them. */
#ifndef VGPUD_KEEPER_LIST_H
#define VGPUD_KEEPER_LIST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "process/sandbox.h"
#include "shared/loop.h"

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
 * @hypervisor: process ID of the last peer that connected to the socket; 0: not known
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
	pid_t hypervisor;
	int agent_fd;
	int state_fd;
};

LIST_HEAD(keeper_list, keeper);
extern struct keeper_list keepers;

/* Compare the guest of a keeper with another one, for the order of the list. */
int keeper_compare(const struct keeper *keeper, uint32_t cid, uint32_t port);
/* Find the keeper of a guest's window; a window that was destroyed is not found. */
struct keeper *keeper_find(uint32_t cid, uint32_t port);

/**
 * keeper_has_window - check whether a guest has a window
 * @cid: the guest's context ID
 * @port: the port by which the guest connects
 *
 * Return: true if the guest has a window, whether or not a hypervisor is connected.
 */
bool keeper_has_window(uint32_t cid, uint32_t port);

/**
 * keeper_is_connected - check whether the hypervisor of a guest is connected to its window
 * @cid: the guest's context ID
 * @port: the port by which the guest connects
 *
 * Return: true if the hypervisor is connected, and so may report where the guest's memory is.
 */
bool keeper_is_connected(uint32_t cid, uint32_t port);

/**
 * keeper_memory_is_huge - check whether all memory of a guest is in hugetlbfs
 * @cid: the guest's context ID
 * @port: the port by which the guest connects
 *
 * Devices can keep hardly any such memory: hugetlbfs maps only whole large pages.
 *
 * Return: true if the hypervisor has reported memory in hugetlbfs and no other.
 */
bool keeper_memory_is_huge(uint32_t cid, uint32_t port);

/**
 * keeper_memory_is_giant - check whether a guest has memory in pages too large for devices to
 * keep
 * @cid: the guest's context ID
 * @port: the port by which the guest connects
 *
 * Return: true if the hypervisor has reported such memory, alone or with other memory.
 */
bool keeper_memory_is_giant(uint32_t cid, uint32_t port);

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

#endif /* VGPUD_KEEPER_LIST_H */
