/* SPDX-License-Identifier: MIT */
/*
 * Processes that make DRM masters (userspace-lib/engine/master): one for each guest of a user-space
 * engine and each card whose export lets that guest's programs become master.
 */
#ifndef VGPUD_MASTER_H
#define VGPUD_MASTER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * master_start - start the process that makes masters of an export's files
 * @peer: number of the guest, which is its engine's as well
 * @export: number of the export
 * @node_fd: the export's node: the process makes masters of this device's files alone
 *
 * Return: the engine's end of the connection to it, or a negative errno.
 */
int master_start(uint32_t peer, uint32_t export, int node_fd);
/* Kills that of a guest and an export; 0: those of all exports. */
void masters_end(uint32_t peer, uint32_t export);

/**
 * master_has_uid - whether such a process runs as a user
 * @uid: the user's ID
 *
 * Return: true if one does, so that no guest may.
 */
bool master_has_uid(unsigned int uid);

/**
 * master_reaped - a child of vgpud, perhaps such a process, has ended
 * @pid: its process ID
 * @status: what waitpid() says of it
 */
void master_reaped(pid_t pid, int status);

#endif /* VGPUD_MASTER_H */
