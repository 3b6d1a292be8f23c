/* SPDX-License-Identifier: GPL-2.0-only */
/* Units: mappings that share pages, and so move together. */
#ifndef VGPU_MOVE_UNIT_H
#define VGPU_MOVE_UNIT_H

#include <linux/list.h>

struct vgpu_host;
struct vgpu_space;

/**
 * struct vgpu_move_unit - mappings that move together
 * @host: host of the mappings
 * @space: space of the mappings, whose pages they share
 * @mappings: list of struct vgpu_mapping, with a reference of each
 * @first: offset of their first page in @space, in pages
 * @last: offset of their last page, in pages
 * @flush_wait: time in jiffies to wait for a shadow that takes no bytes; 0 for the rest of a round
 *	in which such a wait has timed out
 */
struct vgpu_move_unit {
	struct vgpu_host *host;
	struct vgpu_space *space;
	struct list_head mappings;
	unsigned long first;
	unsigned long last;
	unsigned long flush_wait;
};

/**
 * vgpu_unit_collect - add all mappings that share pages with a unit
 * @unit: the unit; the caller holds host->lock
 * @unseen: true to add also mappings in mode MOVING, which no program has seen yet
 *
 * Return: true if a mapping was added.
 */
bool vgpu_unit_collect(struct vgpu_move_unit *unit, bool unseen);

/**
 * vgpu_unit_next - collect the next unit that this round has not looked at
 * @unit: unit of which only @unit->host and @unit->flush_wait have a meaning
 *
 * Context: the worker. Takes host->lock.
 * Return: true, and vgpu_unit_put() has to be called; false if there is no such unit.
 */
bool vgpu_unit_next(struct vgpu_move_unit *unit);
/* Drop the references of the mappings. */
void vgpu_unit_put(struct vgpu_move_unit *unit);

#endif /* VGPU_MOVE_UNIT_H */
