/* SPDX-License-Identifier: MIT */
/*
 * Processes that make DRM masters (userspace-lib/engine/master). There is one for each guest of
 * a user-space engine and each card whose export lets programs of that guest become master.
 */
#ifndef VGPUD_MASTER_H
#define VGPUD_MASTER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct engine;
struct offer;

/**
 * master_start - start the process that makes an export's files DRM masters
 * @engine: the guest's engine
 * @offer: export; the process accepts only files of the export's device
 *
 * Return: the engine's end of the connection to the process, or a negative errno.
 */
int master_start(const struct engine *engine, const struct offer *offer);
/* Kill the processes of a guest and an export; 0: of all exports. */
void masters_end(uint32_t peer, uint32_t export);

/**
 * master_has_uid - check whether a process that makes masters runs as a user
 * @uid: the user's ID
 *
 * Return: true if one does, so that no guest may get this user.
 */
bool master_has_uid(unsigned int uid);

/**
 * master_reaped - handle the end of a child of vgpud, which may be such a process
 * @pid: the child's process ID
 * @status: the child's status, from waitpid()
 *
 * Return: true if it was such a process, for which the end of its guest may have waited.
 */
bool master_reaped(pid_t pid, int status);

#endif /* VGPUD_MASTER_H */
