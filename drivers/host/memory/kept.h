/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory of the guest that devices keep.
 */
#ifndef _VGPU_HOST_KEPT_H
#define _VGPU_HOST_KEPT_H

#include <linux/bits.h>
#include <linux/mm_types.h>

#include "session/room.h"

struct vgpuh_call;
struct vgpu_peer;
struct vgpuh_session;

/* Free all memory that devices may keep; the peer has no sender any more. */
void vgpu_kept_drop_all(struct vgpu_peer *peer);
/*
 * Carry out ->mmap() of the shadow's file at VGPU_KEPT_OFFSET: map the memory that
 * session->kept_map names in place of that file.
 */
int vgpu_kept_mmap(struct vgpuh_session *session, struct vm_area_struct *vma);
/*
 * Map, at the program's addresses, the memory that the driver may keep. The mapping has the
 * protection key of the call's room: where there are keys no other call can reach the memory.
 * Return: 0 or a negative errno.
 */
int vgpu_kept_show(struct vgpuh_call *call);
/* Unmap the segments that vgpu_kept_show() has mapped, all or some, after the driver's return. */
void vgpu_kept_hide(struct vgpuh_call *call);
/*
 * Account for the KEPT segments of a refused call. The guest has pinned their memory all the
 * same and will release it, also memory that vgpu_kept_show() did not reach: these RELEASEs
 * cause no delay for the guest.
 */
void vgpu_kept_refuse(struct vgpuh_call *call);
/*
 * Do the same for a call that could not be received completely. Of its segments, none of which
 * was checked, those count that are among the first call->msg_len bytes.
 */
void vgpu_kept_reject(struct vgpuh_call *call);
/* Handle a RELEASE message. */
int vgpu_kept_release(struct vgpu_peer *peer, const void *msg);
/* Send answers to RELEASE that are due. Context: the peer's sender. */
int vgpu_kept_announce(struct vgpu_peer *peer);

/* Offset of memory that drivers keep, which has the key of a room; see kept.c. */
#define VGPU_KEPT_OFFSET (VGPU_ROOM_OFFSET + BIT_ULL(61))

#endif /* _VGPU_HOST_KEPT_H */
