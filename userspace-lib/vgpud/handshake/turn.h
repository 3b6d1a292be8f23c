/* SPDX-License-Identifier: MIT */
/* Turns of handshakes that wait for the pace of their guests. */
#ifndef VGPUD_TURN_H
#define VGPUD_TURN_H

struct timer;

/* Let the oldest handshake that can go on do so. */
void turn_come(struct timer *timer);

#endif /* VGPUD_TURN_H */
