/* SPDX-License-Identifier: MIT */
/*
 * vsock buffers of guests' connections.
 *
 * The kernel charges these buffers to no control group, so they are bounded here. A new connection
 * has a small buffer, and sockets.h bounds the number of connections. A lane gets a large buffer as
 * long as its guest and all guests together have not used up what their settings allow. A lane with
 * a small buffer works, but long messages take longer.
 */
#ifndef VGPUD_BUFFER_H
#define VGPUD_BUFFER_H

struct sockets;

/* Have the connections that @fd accepts begin with small buffers. */
void buffer_listen(int fd);
/* Enlarge the buffer of a control connection; each guest has one. */
void buffer_enlarge(int fd);
/* Enlarge the buffer of a lane, which is in its guest's @sockets, if there is enough left. */
void buffer_take(int fd, struct sockets *sockets);

#endif /* VGPUD_BUFFER_H */
