// SPDX-License-Identifier: GPL-2.0-only
/*
 * Objects that the host takes from a guest that still has them open, as the guest has lost the
 * export from which they came: the grant is cut.
 */
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/xarray.h>

#include "object/close.h"
#include "object/object.h"
#include "peer/control.h"
#include "peer/peer.h"

/* Count the guest's references of an object. */
static u32 cut_references_locked(struct vgpuh_object *object)
{
	unsigned long reference;
	void *entry;
	u32 nr = 0;

	xa_for_each(&object->references.table, reference, entry)
		nr++;
	return nr;
}

/*
 * Take the object with number @id out of the tables if it came from the grant. The guest will
 * give each reference back nevertheless. These messages lead to nothing, but must not be delayed as
 * idle ones are (vgpuh_control_due()).
 */
static struct vgpuh_object *cut_one(struct vgpu_peer *peer, unsigned long id,
				    const struct vgpu_grant *origin)
{
	struct vgpuh_object *object;
	u32 nr = 0, i;

	mutex_lock(&peer->objects.lock);
	object = xa_load(&peer->objects.table, id);
	if (object && object->origin != origin)
		object = NULL;
	if (object) {
		nr = cut_references_locked(object);
		peer->objects.nr_repeated -= nr - 1;
		vgpuh_object_unlist_locked(peer, object);
	}
	mutex_unlock(&peer->objects.lock);
	for (i = 0; i < nr; i++)
		vgpuh_control_due(peer);
	return object;
}

void vgpuh_object_cut(struct vgpu_peer *peer, const struct vgpu_grant *origin)
{
	struct vgpuh_object *entry, *object;
	unsigned long id;

	lockdep_assert_held(&peer->lock);
	xa_for_each(&peer->objects.table, id, entry) {
		object = cut_one(peer, id, origin);
		/* Calls wait until these closes have begun, as for those by messages. */
		if (object)
			vgpu_close_queue(object, 0);
	}
}
