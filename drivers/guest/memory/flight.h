/* SPDX-License-Identifier: GPL-2.0-only */
/* Flights: bytes of dirty pages that are sent to one shadow by one WRITE_PAGES call. */
#ifndef VGPU_FLIGHT_H
#define VGPU_FLIGHT_H

#include <linux/types.h>

#include "wire.h"

struct vgpu_flush;

/* A page of a flight, and the mapping by which its bytes are sent, with a reference. */
struct flight_owner {
	struct vgpu_mapping *mapping;
	pgoff_t index;
};

/**
 * struct vgpu_flight - bytes of dirty pages of one session
 * @node: list entry in flush->orphans
 * @session: session whose shadow writes the bytes, with a reference
 * @lost: number of attempts after which the host may lack the bytes although it got a message;
 *	written by the owner of flush->busy
 * @diff: addresses in the shadow, and the bytes that go there
 * @nr_owners: number of used entries of @owners
 * @max_owners: number of pages for which @owners and @diff have room
 * @owners: pages of the flight, each with a reference of its mapping; a page is in space->flying
 *	until the flight is freed, or its flush is late and another flight takes the entry
 */
struct vgpu_flight {
	struct list_head node;
	struct vgpu_session *session;
	u32 lost;
	struct vgpu_wire_diff diff;
	u32 nr_owners;
	u32 max_owners;
	struct flight_owner *owners;
};

/**
 * vgpu_flight_load - collect bytes of dirty pages in a flight
 * @flush: flush of a session, which the caller runs
 * @stamp: stamp of the run, which takes pages with an older stamp
 *
 * Context: process, no locks.
 * Return: a flight with the oldest of these pages, NULL if there are none, or an ERR_PTR():
 * -ENOMEM; -EINPROGRESS: a flight of another session has the oldest page and has to land first, as
 * that session's flush is not late.
 */
struct vgpu_flight *vgpu_flight_load(struct vgpu_flush *flush, u64 stamp);
void vgpu_flight_free(struct vgpu_flight *flight);

#endif /* VGPU_FLIGHT_H */
