// SPDX-License-Identifier: GPL-2.0-only
/* Mappings that share pages: see move_share.h. */
#include <linux/interval_tree.h>
#include <linux/list.h>

#include "link/host.h"
#include "link/session.h"
#include "memory/mapping.h"
#include "memory/move_queue.h"
#include "memory/move_share.h"
#include "memory/space.h"

static struct vgpu_mapping *mapping_of(struct interval_tree_node *node)
{
	return node ? container_of(node, struct vgpu_mapping, move.node) : NULL;
}

struct vgpu_mapping *vgpu_move_first(struct vgpu_space *space, pgoff_t first, pgoff_t last)
{
	lockdep_assert_held(&space->host->lock);
	return mapping_of(interval_tree_iter_first(&space->mappings, first, last));
}

struct vgpu_mapping *vgpu_move_next(struct vgpu_mapping *mapping, pgoff_t first, pgoff_t last)
{
	return mapping_of(interval_tree_iter_next(&mapping->move.node, first, last));
}

bool vgpu_move_is_apart(struct vgpu_space *space, pgoff_t first, pgoff_t last,
			enum vgpu_mapping_mode mode)
{
	unsigned int other;

	lockdep_assert_held(&space->host->lock);
	for (other = 0; other < VGPU_MAPPING_MODES; other++)
		if (other != mode && interval_tree_iter_first(&space->by_mode[other], first, last))
			return true;
	return false;
}

void vgpu_move_set_mode_locked(struct vgpu_mapping *mapping, enum vgpu_mapping_mode mode)
{
	struct rb_root_cached *by_mode = mapping->space->by_mode;

	lockdep_assert_held(&mapping->space->host->lock);
	if (mapping->move.shares)
		interval_tree_remove(&mapping->move.mode_node, &by_mode[mapping->mode]);
	WRITE_ONCE(mapping->mode, mode);
	if (mapping->move.shares)
		interval_tree_insert(&mapping->move.mode_node, &by_mode[mode]);
}

void vgpu_move_add(struct vgpu_mapping *mapping, u64 asked)
{
	pgoff_t first = mapping->pgoff, last = first + mapping->nr - 1;
	struct vgpu_host *host = mapping->session->host;
	struct vgpu_space *space = mapping->space;

	if (mapping->live)
		return;
	mapping->move.node.start = first;
	mapping->move.node.last = last;
	mapping->move.mode_node.start = first;
	mapping->move.mode_node.last = last;
	spin_lock(&host->lock);
	/* If a mapping in another mode shares pages, the unit has to be brought to one mode. */
	if (vgpu_move_is_apart(space, first, last, mapping->mode)) {
		/* No program has seen the mapping yet, so its mode changes without a move. */
		mapping->mode = VGPU_MAPPING_MOVING;
		host->move_asked++;
	}
	list_add_tail(&mapping->move.entry, &host->mappings);
	interval_tree_insert(&mapping->move.node, &space->mappings);
	interval_tree_insert(&mapping->move.mode_node, &space->by_mode[mapping->mode]);
	mapping->move.shares = true;
	/* A round may have ended before this mapping was in the list. */
	if (host->move_asked != asked)
		vgpu_move_queue_locked(host, 0);
	spin_unlock(&host->lock);
}

static void mapping_alone_locked(struct vgpu_mapping *mapping)
{
	struct vgpu_space *space = mapping->space;

	if (mapping->move.shares) {
		interval_tree_remove(&mapping->move.node, &space->mappings);
		interval_tree_remove(&mapping->move.mode_node, &space->by_mode[mapping->mode]);
	}
	mapping->move.shares = false;
}

void vgpu_move_alone(struct vgpu_mapping *mapping)
{
	struct vgpu_host *host = mapping->session->host;

	spin_lock(&host->lock);
	mapping_alone_locked(mapping);
	/* The others of the unit may find room in the window without this mapping. */
	if (mapping->move.crowded)
		vgpu_move_queue_locked(host, 0);
	spin_unlock(&host->lock);
}

void vgpu_move_forget(struct vgpu_mapping *mapping)
{
	struct vgpu_host *host = mapping->session->host;

	spin_lock(&host->lock);
	mapping_alone_locked(mapping);
	list_del_init(&mapping->move.entry);
	spin_unlock(&host->lock);
}
