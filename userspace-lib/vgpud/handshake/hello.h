/* SPDX-License-Identifier: MIT */
/* HELLO, by which a guest connects, and LANE, by which one of its sessions gets a connection. */
#ifndef VGPUD_HELLO_H
#define VGPUD_HELLO_H

#include <stdbool.h>

struct handshake;

/* Handle a HELLO or a LANE that is complete. */
void handshake_hello(struct handshake *handshake);
void handshake_lane(struct handshake *handshake);
/*
 * Check whether the handshake is a waiting LANE that is not charged to its guest's pace any more:
 * its peer is gone, or another lane has begun its session.
 */
bool lane_is_free(const struct handshake *handshake);
/* Resume a HELLO or a LANE that has waited for its guest's pace. @handshake is freed. */
void handshake_take(struct handshake *handshake);

/* Take over the guests of an earlier vgpud. */
void hello_adopt(void);

#endif /* VGPUD_HELLO_H */
