/* SPDX-License-Identifier: MIT */
/* Limits of guests that are connected. */
#ifndef VGPUD_GUEST_LIMIT_H
#define VGPUD_GUEST_LIMIT_H

struct peer;

/*
 * Tell the host module, or the guest's engine, of the guest's limits (config/guests.h), which may
 * have changed. A failure is logged.
 */
void peer_limit(struct peer *peer);

#endif /* VGPUD_GUEST_LIMIT_H */
