/* SPDX-License-Identifier: MIT */
/*
 * vsock buffers of guests' connections.
 *
 * The kernel charges these buffers to no control group, so they are bounded here. A new connection
 * has a small buffer. A lane gets a large one as long as its guest and all guests together have not
 * used up what their settings allow. A lane with a small buffer works, but long messages take
 * longer.
 */
#ifndef VGPUD_BUFFER_H
#define VGPUD_BUFFER_H

#include <stdint.h>

/* Have the connections that @fd accepts begin with small buffers. */
void buffer_listen(int fd);
/* Enlarge the buffer of a control connection; each guest has one. */
void buffer_enlarge(int fd);
/*
 * Enlarge the buffer of a lane if there is enough left. @used: bytes of the guest's large buffers,
 * to which the new one is added. Return: the bytes of the new one; 0: the buffer stays small, or is
 * none of vsock.
 */
uint64_t buffer_take(int fd, uint64_t *used);
/* Give back @bytes of what buffer_take() has added to @used. */
void buffer_return(uint64_t bytes, uint64_t *used);

#endif /* VGPUD_BUFFER_H */
