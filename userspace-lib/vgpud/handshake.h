/* SPDX-License-Identifier: MIT */
/*
 * Connections that have not said yet what they are. Everything that comes from
 * them is from anybody in a guest: little memory each, a deadline, a limit a
 * guest.
 */
#ifndef VGPUD_HANDSHAKE_H
#define VGPUD_HANDSHAKE_H

#include <stdint.h>

/* Takes over fd, accepted on local @port from @cid, @remote_port. */
void handshake_start(int fd, uint32_t cid, uint32_t remote_port, uint32_t port);

/* The guest's old connection is gone: a new one may be waiting for that. */
void handshake_peer_gone(uint32_t cid, uint32_t port);

#endif /* VGPUD_HANDSHAKE_H */
