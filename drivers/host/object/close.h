/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Objects whose last reference came back by a CLOSE message.
 */
#ifndef _VGPU_HOST_CLOSE_H
#define _VGPU_HOST_CLOSE_H

#include <linux/types.h>

struct vgpuh_object;
struct vgpu_peer;

void vgpu_close_init(struct vgpu_peer *peer);
/* Queue @object for CLOSE message @seq, which has taken the guest's last reference of it. */
void vgpu_close_queue(struct vgpuh_object *object, u64 seq);
/*
 * Check whether the control messages up to @seq have come, and all of their closes are applied.
 * peer->wait is woken at a change.
 */
bool vgpu_close_applied(struct vgpu_peer *peer, u64 seq);
/* Check whether all closes that came are applied. peer->wait is woken at a change. */
bool vgpu_close_all_over(struct vgpu_peer *peer);

#endif /* _VGPU_HOST_CLOSE_H */
