/* SPDX-License-Identifier: MIT */
/* LANE: a session of a guest gets a connection for its calls. */
#ifndef VGPUD_LANE_H
#define VGPUD_LANE_H

#include <stdbool.h>

struct handshake;
struct peer;

/* Handle a LANE that is complete. */
void handshake_lane(struct handshake *handshake);
/* Return the peer whose secret the LANE repeats, or NULL. */
struct peer *lane_peer(const struct handshake *handshake);
/* Check whether the LANE would begin a session. */
bool lane_is_first(const struct handshake *handshake, const struct peer *peer);
/* Give the connection to its session. @handshake is freed. */
void lane_take(struct handshake *handshake);

#endif /* VGPUD_LANE_H */
