/* SPDX-License-Identifier: MIT */
/* Start of vgpud with user-space engines. */
#ifndef VGPUD_INIT_H
#define VGPUD_INIT_H

struct host_events;

/*
 * Check that the host has all that engines need, and prepare for them. @handlers stays the
 * caller's. Return: 0, or a negative errno; the log then names what is missing.
 */
int engine_init(const struct host_events *handlers);

#endif /* VGPUD_INIT_H */
