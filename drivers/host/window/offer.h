/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages about a guest's window.
 */
#ifndef _VGPU_HOST_OFFER_H
#define _VGPU_HOST_OFFER_H

struct vgpu_peer;

/* Send WINDOW and INVALIDATE messages that are due. Context: the peer's sender. */
int vgpu_offer_announce(struct vgpu_peer *peer);
/* Handle an UNBIND message. */
int vgpu_offer_unbind(struct vgpu_peer *peer, const void *msg);
/* End all bindings of @peer, which is closing. */
void vgpu_offer_end(struct vgpu_peer *peer);
/* Drop pending INVALIDATEs; the peer has no sender any more. */
void vgpu_offer_drop(struct vgpu_peer *peer);

#endif /* _VGPU_HOST_OFFER_H */
