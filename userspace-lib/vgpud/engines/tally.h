/* SPDX-License-Identifier: MIT */
/* Tallies: counters of guests over all of their connections, and counts and times of calls. */
#ifndef VGPUD_TALLY_H
#define VGPUD_TALLY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/proto.h"

struct engine;

/**
 * struct guest_tally - tally of a guest and an export
 * @name: name of the export
 * @past: sums over shadows that have ended; its @export is vgpud's number of the export
 */
struct guest_tally {
	char name[32];
	struct engine_tally past;
};

/**
 * struct guest_totals - what is remembered of engines of a guest that have ended
 * @connections: number of the guest's engines so far, with the present one
 * @counters: sums of their counters, which saturate
 * @delayed: number of calls that had to wait for a rate
 * @queued: number of calls that had to wait for other guests
 * @device_ns: time of devices in nanoseconds that the last engine's guest was charged for turns
 * @nr: number of entries of @tallies
 * @tallies: array of the tallies of exports, of which none is removed
 */
struct guest_totals {
	uint64_t connections;
	struct engine_counters counters;
	uint64_t delayed;
	uint64_t queued;
	uint64_t device_ns;
	size_t nr;
	struct guest_tally tallies[VGPU_HOST_TALLIES_MAX];
};

/*
 * Note the name of an export that a guest gets. An earlier export of that name goes on in its
 * tally. If there is no room, the calls of this export are not counted.
 */
void tallies_name(struct guest_totals *totals, uint32_t export, const char *name);
/* Add the tallies of a shadow that has ended. */
void tallies_add(struct guest_totals *totals, const struct engine_counts *counts);
/* Fill in the tallies of a guest; @engine: its engine, or NULL. Return: number of tallies. */
size_t tallies_fill(const struct guest_totals *totals, const struct engine *engine,
		    struct vgpu_host_tally *to, size_t nr);
/* Fill in the sums of the session whose shadow is @pid. Return: 0, or -ENOENT. */
int tallies_session(const struct engine *engine, pid_t pid, struct vgpu_host_session_stat *stat);

#endif /* VGPUD_TALLY_H */
