/* SPDX-License-Identifier: GPL-2.0-only */
/* Flights: bytes of dirty pages on their way to one shadow, as one WRITE_PAGES call. */
#ifndef VGPU_FLIGHT_H
#define VGPU_FLIGHT_H

#include <linux/list.h>
#include <linux/types.h>

#include "wire.h"

struct vgpu_flush;
struct vgpu_mapping;
struct vgpu_session;

/* A page of a flight, and the mapping by which it goes, a reference. */
struct flight_owner {
	struct vgpu_mapping *mapping;
	pgoff_t index;
};

/**
 * struct vgpu_flight - dirty bytes of one session
 * @node: in flush->orphans
 * @session: whose shadow writes them, a reference
 * @diff: where they go, in the shadow, and they themselves
 * @nr_owners: entries of @owners
 * @max_owners: how many there is room for, and for as many pages in @diff
 * @owners: mappings whose references go with the flight, and whose pages are in
 *	space->flying until it is freed, or a younger flight did not wait for it any more
 */
struct vgpu_flight {
	struct list_head node;
	struct vgpu_session *session;
	struct vgpu_wire_diff diff;
	u32 nr_owners;
	u32 max_owners;
	struct flight_owner *owners;
};

/**
 * vgpu_flight_load - take dirty pages off their spaces
 * @flush: whose; the caller runs it
 * @stamp: number of the run: it takes pages that became dirty before it
 *
 * Context: process, no locks.
 * Return: a flight for the oldest of these pages, NULL if there are none, or
 * ERR_PTR(): -ENOMEM; -EINPROGRESS: a flight of another session has the oldest page, is not
 * late, and has to land first.
 */
struct vgpu_flight *vgpu_flight_load(struct vgpu_flush *flush, u64 stamp);
void vgpu_flight_free(struct vgpu_flight *flight);

#endif /* VGPU_FLIGHT_H */
