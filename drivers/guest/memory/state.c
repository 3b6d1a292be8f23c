// SPDX-License-Identifier: GPL-2.0-only
/* State of device memory: see state.h. It is made and freed with its host or session. */
#include <linux/errno.h>
#include <linux/slab.h>

#include "link/host.h"
#include "link/session.h"
#include "memory/dirty.h"
#include "memory/space_sync.h"
#include "memory/state.h"

static void space_set_init(struct vgpu_space_set *set)
{
	mutex_init(&set->drop_lock);
	spin_lock_init(&set->lock);
	hash_init(set->spaces);
	INIT_LIST_HEAD(&set->active);
	INIT_LIST_HEAD(&set->flushes);
	init_waitqueue_head(&set->wait);
	INIT_DELAYED_WORK(&set->expire, vgpu_space_expire);
}

/**
 * vgpu_host_memory_init - make the state of a new host
 * @host: the host
 *
 * Return: 0 or -ENOMEM.
 */
int vgpu_host_memory_init(struct vgpu_host *host)
{
	struct vgpu_memory_host *memory = kzalloc(sizeof(*memory), GFP_KERNEL);

	if (!memory)
		return -ENOMEM;
	memory->host = host;
	space_set_init(&memory->spaces);
	vgpu_keep_set_init(&memory->keeps);
	INIT_LIST_HEAD(&memory->window.entry);
	INIT_LIST_HEAD(&memory->moves.mappings);
	INIT_LIST_HEAD(&memory->moves.todo);
	init_waitqueue_head(&memory->moves.wait);
	INIT_DELAYED_WORK(&memory->moves.work, vgpu_move_work);
	host->memory = memory;
	return 0;
}

/**
 * vgpu_host_memory_fini - free the state of a host
 * @host: a host without references
 */
void vgpu_host_memory_fini(struct vgpu_host *host)
{
	vgpu_keep_groups_fini(&host->memory->keeps.groups);
	kfree(host->memory);
}

/**
 * vgpu_session_memory_init - make the state of a new session
 * @session: the session
 *
 * Return: 0 or -ENOMEM.
 */
int vgpu_session_memory_init(struct vgpu_session *session)
{
	struct vgpu_session_memory *memory = kzalloc(sizeof(*memory), GFP_KERNEL);

	if (!memory)
		return -ENOMEM;
	memory->keep = vgpu_keep_group_alloc();
	if (!memory->keep) {
		kfree(memory);
		return -ENOMEM;
	}
	memory->session = session;
	vgpu_flush_init(&memory->flush);
	vgpu_keep_claims_init(&memory->claims);
	session->memory = memory;
	return 0;
}

/**
 * vgpu_session_memory_fini - free the state of a session
 * @session: a session without references
 */
void vgpu_session_memory_fini(struct vgpu_session *session)
{
	vgpu_keep_member_fini(session);
	kfree(session->memory);
}

/**
 * vgpu_space_set_abort - end all spaces of a host, as the connection is lost
 * @set: spaces of the host
 *
 * Every mapping gives SIGBUS from now on, and bytes not yet sent are lost. The set is empty
 * afterwards.
 *
 * Context: process; does not wait for the host.
 */
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
	while (!hlist_empty(&all)) {
		space = hlist_entry(all.first, struct vgpu_space, node);
		hlist_del_init(&space->node);
		spin_unlock(&set->lock);

		mutex_lock(&space->lock);
		space->dead = true;
		mutex_unlock(&space->lock);
		vgpu_flush_discard(space);
		vgpu_space_drop_range(space, 0, ULONG_MAX, false);
		vgpu_space_put(space);
		spin_lock(&set->lock);
	}
	spin_unlock(&set->lock);
	vgpu_flush_abort(set);
}
