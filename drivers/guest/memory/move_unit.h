/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Units: mappings that share pages, and so move together. Mappings of a space that may move are in
 * trees by the pages that they show. Those that share pages are in the same mode, or move.
 */
#ifndef VGPU_MOVE_UNIT_H
#define VGPU_MOVE_UNIT_H

#include "memory/move.h"

struct vgpu_mapping;
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

/**
 * vgpu_move_is_apart - check whether mappings that share pages are in different modes
 * @space: the space; the caller holds host->lock
 * @first: offset of the first page, in pages
 * @last: offset of the last page
 * @mode: mode that the mappings should have
 *
 * Takes a time that does not depend on the number of mappings.
 *
 * Return: true if a mapping that has pages from @first to @last is in another mode than @mode.
 */
bool vgpu_move_is_apart(struct vgpu_space *space, pgoff_t first, pgoff_t last,
			enum vgpu_mapping_mode mode);

/*
 * Add a new mapping that may move, and that no program can access yet. @asked: result of
 * vgpu_move_asked() from before the call that placed the mapping. The mapping begins in mode MOVING
 * if a mapping in another mode shows pages of it.
 */
void vgpu_move_add(struct vgpu_mapping *mapping, u64 asked);

/*
 * Set the mode. Readers need only one of mapping->mode_lock, which the caller holds for writing,
 * and host->lock, which is taken here.
 */
void vgpu_move_set_mode(struct vgpu_mapping *mapping, enum vgpu_mapping_mode mode);

/* Note that no program shows any part of the mapping any more: it shares pages with none. */
void vgpu_move_alone(struct vgpu_mapping *mapping);

/* Take a mapping that is freed off all lists and trees. */
void vgpu_move_forget(struct vgpu_mapping *mapping);

#endif /* VGPU_MOVE_UNIT_H */
