// SPDX-License-Identifier: GPL-2.0-only
/* Spaces of a host: see space_set.h. */
#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "memory/flush.h"
#include "memory/flush_dirty.h"
#include "memory/space.h"
#include "memory/space_set.h"
#include "memory/space_sync.h"

void vgpu_space_set_init(struct vgpu_space_set *set)
{
	mutex_init(&set->drop_lock);
	spin_lock_init(&set->lock);
	hash_init(set->spaces);
	INIT_LIST_HEAD(&set->active);
	INIT_LIST_HEAD(&set->flushes);
	init_waitqueue_head(&set->wait);
	INIT_DELAYED_WORK(&set->expire, vgpu_space_expire);
	set->expire_doubled = 0;
}

void vgpu_space_set_abort(struct vgpu_space_set *set)
{
	struct vgpu_space *space;
	struct hlist_node *tmp;
	HLIST_HEAD(all);
	int bucket;

	spin_lock(&set->lock);
	hash_for_each_safe(set->spaces, bucket, tmp, space, node) {
		hash_del(&space->node);
		if (kref_get_unless_zero(&space->ref))
			hlist_add_head(&space->node, &all);
	}
	spin_unlock(&set->lock);

	for (;;) {
		spin_lock(&set->lock);
		if (hlist_empty(&all)) {
			spin_unlock(&set->lock);
			break;
		}
		space = hlist_entry(all.first, struct vgpu_space, node);
		hlist_del_init(&space->node);
		spin_unlock(&set->lock);

		mutex_lock(&space->lock);
		space->dead = true;
		mutex_unlock(&space->lock);
		vgpu_flush_discard(space);
		vgpu_space_drop_clean(space);
		vgpu_space_put(space);
	}
	vgpu_flush_abort(set);
}
