/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control connection of a peer.
 */
#ifndef _VGPU_HOST_CONTROL_H
#define _VGPU_HOST_CONTROL_H

#include <linux/types.h>

struct vgpu_peer;

/* Queue the peer's sender, as there is something to send: changed grants, ready objects, ... */
void vgpuh_control_kick(struct vgpu_peer *peer);
/*
 * Have the sender look for a change of the peer's window. vgpuh_control_kick() alone does not
 * cause that.
 */
void vgpuh_control_kick_window(struct vgpu_peer *peer);
int vgpuh_control_send(struct vgpu_peer *peer, void *msg, size_t len);
/*
 * Have the peer's thread run in the control groups of current, a shadow of the guest, and have the
 * guest's messages charged there. Only the first call for a peer has an effect. The caller holds a
 * session of the peer, so the thread has not left its groups yet (vgpuh_control_leave()), and no
 * lock.
 */
void vgpuh_control_adopt(struct vgpu_peer *peer);
/*
 * Leave the guest's control groups, so that they can be removed. The caller is the peer's thread,
 * and no session is left.
 */
void vgpuh_control_leave(struct vgpu_peer *peer);
/*
 * Let the guest report one more end without delay. The guest will report the end of each session
 * and mapping that it has made, and of each range of its window that it has named. It will release
 * memory that it has named in a call that was refused. It may also repeat a CLOSE call by a message
 * if the call's reply does not come.
 */
void vgpuh_control_due(struct vgpu_peer *peer);
/*
 * Account for the report of an end, or for an end that will not be reported. @idle: true if the
 * message is idle, which means that it leads to nothing but a reply. Then the caller must be the
 * peer's thread, which is delayed if the guest has reported more ends than vgpuh_control_due() has
 * counted.
 */
void vgpuh_control_settle(struct vgpu_peer *peer, bool idle);
/*
 * Delay the peer's thread after an idle message. Further messages wait in the guest's socket
 * meanwhile.
 */
void vgpuh_control_idle(struct vgpu_peer *peer);

#endif /* _VGPU_HOST_CONTROL_H */
