/* SPDX-License-Identifier: MIT */
/*
 * Paces: how fast guests begin sessions, and connect.
 *
 * Each session costs vgpud a process with namespaces of its own, and each connection a thread of
 * the module's or an engine, and vgpud serves all guests one after the other. A connection counts
 * as a session. So a guest may begin PACE_BURST_S seconds' worth of them at once, and then
 * settings.session_rate a second. What it has used up is remembered when it disconnects, or it
 * would only have to connect again.
 */
#ifndef VGPUD_PACE_H
#define VGPUD_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define PACE_BURST_S	4

/* The guest begins a session or a connection, if it may now. */
bool pace_take(uint32_t cid, uint32_t port);
/* How long it takes until a guest that may not may begin one, at most. */
unsigned int pace_wait_ms(void);

#endif /* VGPUD_PACE_H */
