/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The control connection of a peer.
 */
#ifndef _VGPU_HOST_CONTROL_H
#define _VGPU_HOST_CONTROL_H

#include <linux/types.h>

struct vgpu_peer;

/*
 * Deadline for a message's header once the first byte is there, and again for each further part
 * that is received. The connection ends if a deadline passes.
 */
#define VGPU_MSG_TIMEOUT_MS	10000

/* Queue the peer's sender, as there is something to send: changed grants, ready objects, ... */
void vgpuh_control_kick(struct vgpu_peer *peer);
/*
 * Have the sender look for a change of the peer's window. vgpuh_control_kick() alone does not
 * cause that.
 */
void vgpuh_control_kick_window(struct vgpu_peer *peer);
int vgpuh_control_send(struct vgpu_peer *peer, void *msg, size_t len);
/*
 * Let the guest report one more end without delay: it has made a session or a mapping, or has
 * named a range of its window, or memory in a call that was refused, and will report the end.
 * It may also repeat a CLOSE call by a message if the call's reply does not come.
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
