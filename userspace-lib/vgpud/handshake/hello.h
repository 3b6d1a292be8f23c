/* SPDX-License-Identifier: MIT */
/* HELLO, by which a guest connects, and LANE, by which one of its sessions gets a connection. */
#ifndef VGPUD_HELLO_H
#define VGPUD_HELLO_H

#include <stdbool.h>

struct handshake;
struct peer;

/* Handle a HELLO that is complete. */
void handshake_hello(struct handshake *handshake);
/*
 * Check a HELLO. Return: true if it is acceptable; false: it was refused, and @handshake is
 * freed.
 */
bool hello_is_welcome(struct handshake *handshake);
/* Send WELCOME, and hand the connection over. @handshake is freed. */
void handshake_welcome(struct handshake *handshake);

/* Handle a LANE that is complete. */
void handshake_lane(struct handshake *handshake);
/* Return the peer whose secret the LANE repeats, or NULL. */
struct peer *lane_peer(const struct handshake *handshake);
/* Check whether the LANE would begin a session. */
bool lane_is_first(const struct handshake *handshake, const struct peer *peer);
/* Give the connection to its session. @handshake is freed. */
void lane_take(struct handshake *handshake);

#endif /* VGPUD_HELLO_H */
