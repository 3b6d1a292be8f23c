/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fences of the work that a call has given to a device.
 */
#ifndef _VGPU_HOST_FENCES_H
#define _VGPU_HOST_FENCES_H

struct file;
struct vgpuh_fences;
struct vgpuh_object;
struct vgpuh_submission;

#ifdef CONFIG_DMA_SHARED_BUFFER
/* Add the fence of a sync_file that the driver has returned. */
void vgpuh_fences_add_sync_file(struct vgpuh_fences *fences, const struct file *file);
/*
 * Add fences of buffers of a DRM file: all, if other guests use the device as well; or the first
 * one that is new. Other files have none.
 */
void vgpuh_fences_add_buffers(struct vgpuh_fences *fences, struct vgpuh_object *object,
			      const struct vgpuh_submission *submission);
#else
static inline void vgpuh_fences_add_sync_file(struct vgpuh_fences *fences, const struct file *file)
{
}

static inline void vgpuh_fences_add_buffers(struct vgpuh_fences *fences,
					    struct vgpuh_object *object,
					    const struct vgpuh_submission *submission)
{
}
#endif

#endif /* _VGPU_HOST_FENCES_H */
