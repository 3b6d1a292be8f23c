/* SPDX-License-Identifier: MIT */
/*
 * Paces: how fast guests may begin sessions and connections. Handshakes of a guest that is faster
 * wait for their turn.
 *
 * Each session costs vgpud a process with namespaces, each connection costs a thread of the
 * module or an engine, and vgpud serves all guests one after the other. A connection counts as
 * a session. A guest may begin PACE_BURST_S seconds' worth of both at once, and then as many a
 * second as its limit session-rate says. A guest's pace is kept when it disconnects, so that it
 * gains nothing by connecting again.
 */
#ifndef VGPUD_PACE_H
#define VGPUD_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct handshake;

/* Charge the guest for a session or a connection. Return: false if it may not begin one now. */
bool pace_take(uint32_t cid, uint32_t port);
/* Make a handshake wait because its guest has used up its pace. */
void handshake_wait_turn(struct handshake *handshake);

#endif /* VGPUD_PACE_H */
