/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fixups: the places of an ioctl's argument that mean something else on this side.
 */
#ifndef _VGPU_HOST_FIXUP_H
#define _VGPU_HOST_FIXUP_H

#include <linux/types.h>

struct vgpu_fd;
struct vgpuh_call;

/* Put pointers and fds into the placed segments. */
int vgpu_fixup_apply(struct vgpuh_call *call);
/* Install an fd of object @id in the fd table. Return: the fd, or a negative errno. */
int vgpu_fixup_install(struct vgpuh_call *call, u32 id, struct vgpu_fd *placed);
/* Restore the guest's own pointers and fds in the gathered reply. */
void vgpu_fixup_undo_all(struct vgpuh_call *call);
/* Remove call->fds.arg and the fds that vgpu_fixup_apply() installed, also after its failure. */
void vgpu_fixup_remove_fds(struct vgpuh_call *call);
/* Cancel the event of a call that failed. */
void vgpu_fixup_cancel_event(struct vgpuh_call *call);
/*
 * Turn the files that the driver left in the fd table into objects of the reply, or close them.
 * Return: the result of the call.
 */
s64 vgpu_fixup_settle_fds(struct vgpuh_call *call, s64 result);

#endif /* _VGPU_HOST_FIXUP_H */
