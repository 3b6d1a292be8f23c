/* SPDX-License-Identifier: MIT */
/* Keepers: the processes, one for each hypervisor that is connected. */
#ifndef VGPUD_PROCESS_H
#define VGPUD_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct keeper;
struct ucred;

/* True if keepers show device memory: engines serve the guests. */
extern bool keepers_show;

/* Start the process for a hypervisor, whose connection is @qemu_fd. Return: 0 or -errno. */
int keeper_start(struct keeper *keeper, int qemu_fd);
/* End the process. keeper_reaped() is called later. */
void keeper_end(struct keeper *keeper);
/* Free a keeper without a process. */
void keeper_free(struct keeper *keeper);
/*
 * Check whether the hypervisor has a device of VFIO open, and log it. Such a device keeps access to
 * what was mapped once, even if the driver takes the memory away. vgpud looks with the rights of
 * the hypervisor's user. A hypervisor whose files vgpud cannot see is treated as one with such a
 * device.
 *
 * SO_PEERCRED gives the process: if it has ended, another process may have its number and is
 * checked instead. Linux 6.5 has pidfds of peers, which would avoid this race. The check finds
 * mistakes of a setup; a hypervisor that hides its file is not stopped.
 */
bool keeper_beside_vfio(const struct keeper *keeper, const struct ucred *hypervisor);

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
 * Return: the engine's end of the connection, or a negative number if there is no keeper to which
 * the engine can be connected.
 */
int keeper_connect(uint32_t cid, uint32_t port);

/**
 * keeper_reaped - handle the end of a child of vgpud, which may be a keeper
 * @pid: the child's process ID
 * @status: the child's status, from waitpid()
 */
void keeper_reaped(pid_t pid, int status);

#endif /* VGPUD_PROCESS_H */
