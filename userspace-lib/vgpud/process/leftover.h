/* SPDX-License-Identifier: MIT */
/*
 * Processes that have outlived the vgpud that made them. Where vgpud lacks CAP_KILL, the kernel
 * does not send them their parent death signals; and with settings.lasting shadows have none.
 */
#ifndef VGPUD_LEFTOVER_H
#define VGPUD_LEFTOVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct sandbox;

/*
 * Kill all processes that are left in the groups of vgpud.service, and wait for their ends, 10 s at
 * most. @keep: true if guests wait for the next vgpud, so that the groups of guests stay. Only for
 * the unit's ExecStopPost=, when no vgpud is in these groups. Return: 0 or a negative errno, and
 * the reason was logged.
 */
int leftover_clear(bool keep);

/**
 * leftover_each - find the groups that are left of an earlier vgpud
 * @found: called for each group that has processes, with the guest and the user of its processes (0: unknown) in
 *	@left, and the group's file, which stays the caller's
 * @data: passed to @found
 *
 * Finds none if another vgpud has the same group of all guests, and from then on no other vgpud
 * finds any. A group without processes is not found.
 */
void leftover_each(void (*found)(const struct sandbox *left, int fd, void *data), void *data);

/* Check whether a group, or one below it, has a process that has not ended. */
bool group_has_processes(int fd);
/* Open a file that says so, and for which poll() returns POLLPRI after a change. */
int group_events(int fd);
/* Check by that file whether there is a process, and have poll() report the next change. */
bool group_is_populated(int events_fd);
/* Kill all processes of a group; they may end later. */
void group_kill(int fd);
/*
 * Kill the processes of a group that are not to be kept. @uid: user that they are, unless they are
 * root; @keeps: tells which are kept; NULL: none are. Return: number of processes.
 */
unsigned int group_kill_some(int fd, uint32_t uid, bool (*keeps)(pid_t pid, const void *data),
			     const void *data);

#endif /* VGPUD_LEFTOVER_H */
