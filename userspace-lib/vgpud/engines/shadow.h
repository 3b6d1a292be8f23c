/* SPDX-License-Identifier: MIT */
/* Shadows of engines. */
#ifndef VGPUD_SHADOW_H
#define VGPUD_SHADOW_H

#include <stdint.h>
#include <sys/types.h>

/* Set the file of /dev/userfaultfd that shadows get. */
void engine_shadows_init(int faults);
/* Make the file of a new shadow; see hostdev_shadow(). */
int engine_shadow(uint32_t peer, uint64_t session, unsigned int nr_sessions);
/* Start a shadow. @shadow_fd is the shadow's end of its connection to the engine. */
int engine_spawn_shadow(uint32_t peer, const char *comm, int shadow_fd, pid_t *pid,
			int *lanes_fd);
/* Handle the end of a child of vgpud, which may be a shadow of engine_spawn_shadow(). */
void engine_shadow_ended(pid_t pid);

#endif /* VGPUD_SHADOW_H */
