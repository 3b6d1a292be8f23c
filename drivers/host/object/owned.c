// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which memory files of NVIDIA's driver map, as the driver was told by ioctls. See owner.c for
 * the reason why it is noted.
 */
#include <linux/mutex.h>
#include <linux/slab.h>

#include "object/object.h"
#include "object/owned.h"

static void owned_free(struct vgpu_owned *owned)
{
	if (!owned)
		return;
	path_put(&owned->control);
	kfree(owned);
}

void vgpu_owned_set(struct vgpuh_object *object, struct vgpu_owned *owned)
{
	mutex_lock(&object->peer->objects.lock);
	swap(object->owned, owned);
	mutex_unlock(&object->peer->objects.lock);
	owned_free(owned);
}

bool vgpu_owned_get(struct vgpuh_object *object, struct vgpu_owned *owned)
{
	bool known;

	mutex_lock(&object->peer->objects.lock);
	known = object->owned;
	if (known) {
		*owned = *object->owned;
		path_get(&owned->control);
	}
	mutex_unlock(&object->peer->objects.lock);
	return known;
}

void vgpu_owned_forget(struct vgpuh_object *object)
{
	owned_free(object->owned);
	object->owned = NULL;
}
