// SPDX-License-Identifier: GPL-2.0-only
/* Units: see move_unit.h. */
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/minmax.h>

#include "link/host.h"
#include "memory/mapping.h"
#include "memory/move_share.h"
#include "memory/move_unit.h"
#include "memory/space.h"

static void unit_add(struct vgpu_move_unit *unit, struct vgpu_mapping *mapping)
{
	if (!list_empty(&mapping->move.unit) || !kref_get_unless_zero(&mapping->ref))
		return;
	/* A mapping that is unmapped counts as one that no program has seen. */
	mapping->move.before = mapping->move.shares ? mapping->mode : VGPU_MAPPING_MOVING;
	list_add_tail(&mapping->move.unit, &unit->mappings);
	/* The mapping counts as looked at in this round. */
	list_move_tail(&mapping->move.entry, &unit->host->mappings);
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
		for (mapping = vgpu_move_first(unit->space, first, min(unit->last, limit)); mapping;
		     mapping = vgpu_move_next(mapping, first, min(unit->last, limit)))
			if (unseen || mapping->mode != VGPU_MAPPING_MOVING)
				unit_add(unit, mapping);
		limit = first - 1;
	} while (unit->first != first);
	return unit->mappings.prev != newest;
}

bool vgpu_unit_next(struct vgpu_move_unit *unit)
{
	struct vgpu_host *host = unit->host;
	struct vgpu_mapping *mapping;

	INIT_LIST_HEAD(&unit->mappings);
	spin_lock(&host->lock);
	while (!host->down && list_empty(&unit->mappings)) {
		mapping = list_first_entry_or_null(&host->move_todo, struct vgpu_mapping,
						   move.entry);
		if (!mapping)
			break;
		list_move_tail(&mapping->move.entry, &host->mappings);
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

pgoff_t vgpu_unit_pages(const struct vgpu_move_unit *unit)
{
	return unit->last - unit->first + 1;
}

void vgpu_unit_begin(struct vgpu_move_unit *unit)
{
	struct vgpu_mapping *mapping;

	list_for_each_entry(mapping, &unit->mappings, move.unit)
		if (mapping->mode != VGPU_MAPPING_MOVING)
			vgpu_mapping_move_begin(mapping);
}
