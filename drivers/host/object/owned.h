/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which memory files of NVIDIA's driver map.
 */
#ifndef _VGPU_HOST_OWNED_H
#define _VGPU_HOST_OWNED_H

#include <linux/path.h>
#include <linux/types.h>

#include "nvidia_rm.h"

struct vgpuh_object;

/**
 * struct vgpu_owned - memory that a file maps
 * @control: path of the control file whose client has the memory
 * @map: RM's answer to the request to map the memory
 */
struct vgpu_owned {
	struct path control;
	struct rm_map map;
};

/*
 * Set what @object maps; NULL: unknown. Consumes @owned, which the caller has allocated, with a
 * reference of its path.
 */
void vgpu_owned_set(struct vgpuh_object *object, struct vgpu_owned *owned);
/* Copy what @object maps, with a reference of its path. Return: true if it is known. */
bool vgpu_owned_get(struct vgpuh_object *object, struct vgpu_owned *owned);
/* Free what is known of the memory of @object, which is being freed. */
void vgpu_owned_forget(struct vgpuh_object *object);

#endif /* _VGPU_HOST_OWNED_H */
