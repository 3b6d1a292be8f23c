/* SPDX-License-Identifier: MIT */
/* Start of vgpud with user-space engines. Also a limit of mappings, for shadows of both engines. */
#ifndef VGPUD_INIT_H
#define VGPUD_INIT_H

#include <stdint.h>

struct host_events;

/*
 * Check that the host has all that engines need, and prepare for them. @handlers stays the
 * caller's. Return: 0, or a negative errno; the log then names what is missing.
 */
int engine_init(const struct host_events *handlers);

/*
 * Return the most mappings of a guest's memory that a shadow may have at the same time: half of
 * vm.max_map_count. The other half is for its mappings that do not show the guest's memory.
 */
uint32_t engine_pieces_max(void);

#endif /* VGPUD_INIT_H */
