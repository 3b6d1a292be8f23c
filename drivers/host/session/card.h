/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files of NVIDIA's cards, which that driver looks for in the fd table.
 */
#ifndef _VGPU_HOST_CARD_H
#define _VGPU_HOST_CARD_H

#include <linux/atomic.h>
#include <linux/types.h>
#include <linux/xarray.h>

struct vgpuh_call;
struct vgpuh_object;
struct vgpuh_session;

/**
 * struct vgpu_cards - files of cards that a session's process has open
 * @table: numbers of cards by the numbers of the objects that are the files
 * @nr: number of entries of @table
 */
struct vgpu_cards {
	struct xarray table;
	atomic_t nr;
};

/* Return the number of the card that @object is a file of, or -1. */
int vgpu_card_of(const struct vgpuh_object *object);
/* Note that the session's process has @object open. Return: 0 or -ENOMEM. */
int vgpu_card_add(struct vgpuh_session *session, const struct vgpuh_object *object);
/* Forget object @id, which the session's process has closed; any object may be given. */
void vgpu_card_forget(struct vgpuh_session *session, u32 id);
/*
 * Install one file of each card that the session's process has open in the fd table.
 * Return: 0 or a negative errno.
 */
int vgpu_card_place(struct vgpuh_call *call);
void vgpu_card_remove(struct vgpuh_call *call);

#endif /* _VGPU_HOST_CARD_H */
