/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls of a driver's ->flush.
 */
#ifndef _VGPU_HOST_FLUSH_H
#define _VGPU_HOST_FLUSH_H

struct vgpuh_object;

/*
 * Return the deadline in jiffies for the ->flush of files that a kernel thread closes from now
 * on.
 */
unsigned long vgpuh_object_flush_by(void);
/*
 * Call the driver's ->flush once, before the guest's last reference of @object is put. A lane's
 * thread calls ->flush itself, and can be killed meanwhile. A kernel thread has another thread
 * call it, and kills that thread at @by or when the peer ends. Context: the caller holds the
 * guest's last reference.
 */
void vgpuh_object_flush(struct vgpuh_object *object, unsigned long by);

#endif /* _VGPU_HOST_FLUSH_H */
