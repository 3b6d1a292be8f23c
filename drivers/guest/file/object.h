/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Objects of files: made from the host's replies, and closed with the last reference. struct
 * vgpu_object itself is in memory/object.h.
 */
#ifndef VGPU_FILE_OBJECT_H
#define VGPU_FILE_OBJECT_H

#include "memory/object.h"

struct vgpu_export;
struct vgpu_host;
struct vgpu_object_desc;
struct vgpu_poll_event;
struct vgpu_schema;
struct vgpu_session;

struct vgpu_object *vgpu_object_adopt(struct vgpu_export *export,
				      const struct vgpu_schema *schema,
				      const struct vgpu_object_desc *desc,
				      struct vgpu_session *session, struct vgpu_object *from);
void vgpu_object_put(struct vgpu_object *object);
void vgpu_object_release(struct vgpu_object *object);
void vgpu_object_hangup_all(struct vgpu_host *host);
void vgpu_object_poll_event(struct vgpu_host *host, const struct vgpu_poll_event *event);

#endif /* VGPU_FILE_OBJECT_H */
