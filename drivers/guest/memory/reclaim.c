// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reclaim: see reclaim.h. Freeing a clean page takes no call to the host: the page is fetched again
 * when a program accesses it again.
 */
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/shrinker.h>

#include "memory/reclaim.h"
#include "memory/space.h"

static unsigned long reclaim_count(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct vgpu_space_set *set = vgpu_shrinker_data(shrinker);
	int clean = atomic_read(&set->nr_cached) - atomic_read(&set->nr_dirty);

	return max(clean, 0);
}

struct vgpu_space *vgpu_reclaim_next(struct vgpu_space_set *set, u64 *round)
{
	struct vgpu_space *space, *found = NULL;

	spin_lock(&set->lock);
	if (!*round)
		*round = ++set->rounds;
	list_for_each_entry(space, &set->active, active) {
		/* This space and all behind it were moved or added since the round began. */
		if (space->round >= *round)
			break;
		if (!kref_get_unless_zero(&space->ref))
			continue;
		space->round = *round;
		list_move_tail(&space->active, &set->active);
		found = space;
		break;
	}
	spin_unlock(&set->lock);
	return found;
}

static unsigned long reclaim_scan(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct vgpu_space_set *set = vgpu_shrinker_data(shrinker);
	struct vgpu_space *space;
	unsigned long freed = 0;
	u64 round = 0;

	/* vgpu_space_put() may free the space with its inode, which needs __GFP_FS. */
	if (!(sc->gfp_mask & __GFP_FS))
		return SHRINK_STOP;
	while (freed < sc->nr_to_scan && (space = vgpu_reclaim_next(set, &round))) {
		freed += vgpu_space_reclaim(space, sc->nr_to_scan - freed);
		vgpu_space_put(space);
	}
	return freed ? freed : SHRINK_STOP;
}

int vgpu_reclaim_start(struct vgpu_space_set *set)
{
	return vgpu_shrinker_start(&set->shrinker, reclaim_count, reclaim_scan, set);
}

void vgpu_reclaim_stop(struct vgpu_space_set *set)
{
	vgpu_shrinker_stop(&set->shrinker);
}
