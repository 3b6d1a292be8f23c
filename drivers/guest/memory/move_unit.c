// SPDX-License-Identifier: GPL-2.0-only
/* Units: see move_unit.h. */
#include <linux/minmax.h>

#include "link/host.h"
#include "memory/mapping.h"
#include "memory/move_unit.h"
#include "memory/space.h"
#include "memory/state.h"

static struct vgpu_mapping *mapping_of(struct interval_tree_node *node)
{
	return node ? container_of(node, struct vgpu_mapping, move.node) : NULL;
}

/*
 * Return: the first mapping of the space that has pages from @first to @last. The caller holds
 * host->lock.
 */
static struct vgpu_mapping *move_first(struct vgpu_space *space, pgoff_t first, pgoff_t last)
{
	lockdep_assert_held(&space->host->lock);
	return mapping_of(interval_tree_iter_first(&space->mappings, first, last));
}

/* Return: the mapping after @mapping in that range; @last may have grown in between. */
static struct vgpu_mapping *move_next(struct vgpu_mapping *mapping, pgoff_t first, pgoff_t last)
{
	return mapping_of(interval_tree_iter_next(&mapping->move.node, first, last));
}

static void unit_add(struct vgpu_move_unit *unit, struct vgpu_mapping *mapping)
{
	if (!list_empty(&mapping->move.unit) || !kref_get_unless_zero(&mapping->ref))
		return;
	/* A mapping that is unmapped counts as one that no program has seen. */
	mapping->move.before = mapping->move.shares ? mapping->mode : VGPU_MAPPING_MOVING;
	list_add_tail(&mapping->move.unit, &unit->mappings);
	/* The mapping counts as looked at in this round. */
	list_move_tail(&mapping->move.entry, &unit->host->memory->moves.mappings);
	unit->first = min(unit->first, mapping->move.node.start);
	unit->last = max(unit->last, mapping->move.node.last);
}

/*
 * Add all mappings that share pages with the unit, then those that share pages with these, and so
 * on. The first pass goes to the right as far as mappings overlap. Each further pass is confined to
 * the pages that the unit has gained on its left. So each mapping is met at most twice, as a
 * program may have made very many.
 */
bool vgpu_unit_collect(struct vgpu_move_unit *unit, bool unseen)
{
	struct list_head *newest = unit->mappings.prev;
	pgoff_t first, limit = ULONG_MAX;
	struct vgpu_mapping *mapping;

	do {
		first = unit->first;
		for (mapping = move_first(unit->space, first, min(unit->last, limit)); mapping;
		     mapping = move_next(mapping, first, min(unit->last, limit)))
			if (unseen || mapping->mode != VGPU_MAPPING_MOVING)
				unit_add(unit, mapping);
		limit = first - 1;
	} while (unit->first != first);
	return unit->mappings.prev != newest;
}

bool vgpu_unit_next(struct vgpu_move_unit *unit)
{
	struct vgpu_host *host = unit->host;
	struct vgpu_moves *moves = &host->memory->moves;
	struct vgpu_mapping *mapping;

	INIT_LIST_HEAD(&unit->mappings);
	spin_lock(&host->lock);
	while (!host->down && list_empty(&unit->mappings)) {
		mapping = list_first_entry_or_null(&moves->todo, struct vgpu_mapping, move.entry);
		if (!mapping)
			break;
		list_move_tail(&mapping->move.entry, &moves->mappings);
		unit->space = mapping->space;
		unit->first = mapping->move.node.start;
		unit->last = mapping->move.node.last;
		unit_add(unit, mapping);
		if (mapping->move.shares && !list_empty(&unit->mappings))
			vgpu_unit_collect(unit, true);
	}
	spin_unlock(&host->lock);
	return !list_empty(&unit->mappings);
}

void vgpu_unit_put(struct vgpu_move_unit *unit)
{
	struct vgpu_mapping *mapping, *next;

	list_for_each_entry_safe(mapping, next, &unit->mappings, move.unit) {
		list_del_init(&mapping->move.unit);
		vgpu_mapping_put(mapping);
	}
}
