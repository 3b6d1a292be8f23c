/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files of NVIDIA's cards, which that driver looks for in the fd table.
 */
#ifndef _VGPU_HOST_CARD_H
#define _VGPU_HOST_CARD_H

#include <linux/types.h>

struct vgpu_hcall;
struct vgpu_object;
struct vgpu_session;

/* Return the number of the card that @object is a file of, or -1. */
int vgpu_card_of(const struct vgpu_object *object);
/* Note that the session's process has @object open. Return: 0 or -ENOMEM. */
int vgpu_card_add(struct vgpu_session *session, const struct vgpu_object *object);
/* Forget object @id, which the session's process has closed; any object may be given. */
void vgpu_card_forget(struct vgpu_session *session, u32 id);
/*
 * Install one file of each card that the session's process has open in the fd table.
 * Return: 0 or a negative errno.
 */
int vgpu_card_place(struct vgpu_hcall *call);
void vgpu_card_remove(struct vgpu_hcall *call);

#endif /* _VGPU_HOST_CARD_H */
