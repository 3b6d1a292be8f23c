/* SPDX-License-Identifier: MIT */
/*
 * Handshakes: connections whose first message, HELLO or LANE, is not complete, or has to wait. Any
 * process of a guest can open one, so each takes little memory and has a deadline, and their number
 * is limited for each guest.
 */
#ifndef VGPUD_HANDSHAKE_H
#define VGPUD_HANDSHAKE_H

#include <stdint.h>

/* Take over @fd, a connection to local port @port from port @remote_port of guest @cid. */
void handshake_start(int fd, uint32_t cid, uint32_t remote_port, uint32_t port);

#endif /* VGPUD_HANDSHAKE_H */
