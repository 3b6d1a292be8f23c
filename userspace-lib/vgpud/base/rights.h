/* SPDX-License-Identifier: MIT */
/*
 * Another user's rights to files, and to end processes, for a moment. In a directory of a user's a
 * name can lead to any file, so vgpud acts there with that user's rights. It may do so by
 * CAP_SETUID and CAP_SETGID, and needs no capability that overrides rights.
 */
#ifndef VGPUD_RIGHTS_H
#define VGPUD_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Take a user's rights to files, in this thread. rights_return() has to follow in any case. Return:
 * false if that failed.
 */
bool rights_take(uint32_t uid, uint32_t gid);
/* Return to root's rights. */
void rights_return(void);

/**
 * process_end - kill a process of a guest, which runs as a user or is about to
 * @pid: process ID of a child of vgpud, which was not reaped
 * @pidfd: pidfd of the process; -1: it is a child of vgpud
 * @uid: user of the process
 *
 * Return: 0 or a negative errno.
 */
int process_end(pid_t pid, int pidfd, uint32_t uid);
/* Check whether a process lives, and is one of a user who is not root. */
bool process_is_of(int pidfd, uint32_t uid);

#endif /* VGPUD_RIGHTS_H */
