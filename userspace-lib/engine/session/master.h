/* SPDX-License-Identifier: MIT */
/* DRM masters by CAP_SYS_ADMIN of a guest's program: see master.c. */
#ifndef ENGINE_MASTER_H
#define ENGINE_MASTER_H

#include <stdint.h>

struct eshadow_msg;
struct shadow;

/**
 * master_come - use the process that makes files of an export DRM masters, which vgpud has
 * started
 * @export: vgpud's number of the export
 * @fd: connection to the process, which becomes master.c's; -1: the connection was lost
 */
void master_come(uint32_t export, int fd);
/* Let the process of an export end, as the guest may no longer use the export. */
void master_leave(uint32_t export);
/* Give up the processes of all exports. */
void masters_leave(void);

/**
 * master_ask - have an ioctl made that needs CAP_SYS_ADMIN
 * @shadow: shadow whose lane waits for the answer
 * @msg: request of the lane: the object, and the ioctl
 */
void master_ask(struct shadow *shadow, const struct eshadow_msg *msg);
/* Forget the requests of a shadow that has ended and gets no answers any more. */
void master_shadow_gone(struct shadow *shadow);

#endif /* ENGINE_MASTER_H */
