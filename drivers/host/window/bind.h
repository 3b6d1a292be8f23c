/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bindings of a window, by offset.
 */
#ifndef _VGPU_HOST_BIND_H
#define _VGPU_HOST_BIND_H

#include <linux/mm_types.h>
#include <linux/types.h>

struct file;
struct vgpu_binding;
struct vgpu_peer;
struct vgpu_unbind;
struct vgpuh_window;
struct work_struct;

/**
 * struct vgpu_binding_place - what is to be bound
 * @addr: address in the shadow, which is current
 * @len: number of bytes
 * @pgoff: page offset in the file at @addr
 * @file: file of the VMA
 * @writable: true if the VMA is writable
 * @prot: page protection of the VMA
 * @seq: number of the last control message that was sent before the call
 */
struct vgpu_binding_place {
	u64 addr;
	u64 len;
	pgoff_t pgoff;
	const struct file *file;
	bool writable;
	pgprot_t prot;
	u64 seq;
};

/*
 * Bind a range of current, at @offset of the window that the peer knows as @id.
 * Context: the mmap lock is not held.
 * Return: the binding with a reference, or ERR_PTR(): -ENODEV: no such window; -EBUSY:
 * something is bound there, or the guest has given the range back since the call; -ENOMEM.
 */
struct vgpu_binding *vgpu_binding_make(struct vgpu_peer *peer, u64 id, u64 offset,
				       const struct vgpu_binding_place *place);
/* Find the binding to be shown at @offset, or NULL. Context: window->lock is held. */
struct vgpu_binding *vgpu_binding_find_locked(struct vgpuh_window *window, u64 offset);
/*
 * End a binding: none of its pages is shown when the function returns, nor later. The caller
 * holds a reference. @tell: true if the guest is to be notified.
 */
void vgpu_binding_end(struct vgpu_binding *binding, bool tell);
/* Work function of a window's @end_work. */
void vgpu_binding_end_work(struct work_struct *work);
/* Make the binding writable, after the shadow's VMAs have become writable. */
void vgpu_binding_widen(struct vgpu_binding *binding);
/* Refuse calls that the peer made before it gave a range back: they do not bind there. */
void vgpu_binding_refuse(struct vgpu_peer *peer, const struct vgpu_unbind *unbind);
/*
 * End all bindings that overlap the range, are of @peer (NULL: any), and were made when the
 * window had the number @id (0: any).
 */
void vgpu_binding_end_range(struct vgpuh_window *window, const struct vgpu_peer *peer, u64 id,
			    u64 offset, u64 len, bool tell);

#endif /* _VGPU_HOST_BIND_H */
