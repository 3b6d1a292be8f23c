/* SPDX-License-Identifier: MIT */
/* Making shadows: fork, confine, exec. */
#ifndef VGPUD_SPAWN_H
#define VGPUD_SPAWN_H

#include <sys/types.h>

struct peer;

/* Opens the program. 0 or a negative errno. */
int spawn_init(void);

/*
 * Starts a shadow for a guest, with the file that the host module made for it.
 * @lanes_fd: where lanes are sent to. 0 or a negative errno; what fails in the
 * child shows in its exit status.
 */
int spawn_shadow(struct peer *peer, const char *comm, int shadow_fd, pid_t *pid, int *lanes_fd);

#endif /* VGPUD_SPAWN_H */
