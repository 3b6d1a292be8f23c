// SPDX-License-Identifier: GPL-2.0-only
/*
 * Schema of nouveau: nouveau_drm.h; other ioctls are DRM core's.
 *
 * Headers before 6.6 lack the structs that VM_BIND and EXEC point to: a guest that is built
 * with such headers leaves them to demand paging.
 */
#include "argument/schema/tables.h"
#include "argument/schema_macros.h"
#include "argument/schema_uapi.h"

#define PUSHBUF	struct drm_nouveau_gem_pushbuf

/*
 * The driver corrects wrong presumed places of buffers in @buffers (INOUT). Only then does the
 * driver read @relocs; they are sent in any case, because programs pass few.
 */
static const struct vgpu_schema_field pushbuf[] = {
	FILLS(PUSHBUF, buffers, struct drm_nouveau_gem_pushbuf_bo, nr_buffers),
	READS(PUSHBUF, relocs, struct drm_nouveau_gem_pushbuf_reloc, nr_relocs),
	READS(PUSHBUF, push, struct drm_nouveau_gem_pushbuf_push, nr_push),
};

#ifdef DRM_IOCTL_NOUVEAU_EXEC
#define SYNCS(s) \
	READS(s, wait_ptr, struct drm_nouveau_sync, wait_count), \
	READS(s, sig_ptr, struct drm_nouveau_sync, sig_count)

static const struct vgpu_schema_field vm_bind[] = {
	SYNCS(struct drm_nouveau_vm_bind),
	READS(struct drm_nouveau_vm_bind, op_ptr, struct drm_nouveau_vm_bind_op, op_count),
};

static const struct vgpu_schema_field exec[] = {
	SYNCS(struct drm_nouveau_exec),
	READS(struct drm_nouveau_exec, push_ptr, struct drm_nouveau_exec_push, push_count),
};
#endif

static const struct vgpu_schema_ioctl nouveau_ioctls[] = {
	{ VGPU_IOCTL(DRM_IOCTL_NOUVEAU_GETPARAM), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_NOUVEAU_CHANNEL_ALLOC) },
	{ VGPU_IOCTL(DRM_IOCTL_NOUVEAU_CHANNEL_FREE) },
	{ VGPU_IOCTL(VGPU_NOUVEAU_GROBJ_ALLOC), BOOKS },
	{ VGPU_IOCTL(VGPU_NOUVEAU_NOTIFIEROBJ_ALLOC), BOOKS },
	{ VGPU_IOCTL(VGPU_NOUVEAU_GPUOBJ_FREE) },
	/* Messages have any length, which the command states, and contain no addresses. */
	{ VGPU_IOCTL(VGPU_NOUVEAU_NVIF) },
	/* The GPU would access all memory of the process: fail like a GPU without that support. */
	{ VGPU_IOCTL_REFUSE(DRM_IOCTL_NOUVEAU_SVM_INIT, ENOSYS) },
	{ VGPU_IOCTL_REFUSE(DRM_IOCTL_NOUVEAU_SVM_BIND, ENOSYS) },
#ifdef DRM_IOCTL_NOUVEAU_EXEC
	{ VGPU_IOCTL(DRM_IOCTL_NOUVEAU_VM_INIT), BOOKS },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_NOUVEAU_VM_BIND, vm_bind) },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_NOUVEAU_EXEC, exec) },
#endif
#ifdef DRM_IOCTL_NOUVEAU_GET_ZCULL_INFO
	{ VGPU_IOCTL(DRM_IOCTL_NOUVEAU_GET_ZCULL_INFO), BOOKS },
#endif
	/* BOOKS is missing: the buffer may get the mmap offset of a destroyed, still cached one. */
	{ VGPU_IOCTL(DRM_IOCTL_NOUVEAU_GEM_NEW) },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_NOUVEAU_GEM_PUSHBUF, pushbuf) },
	/* Programs poll with these ioctls: when the device is done, memory has changed. */
	{ VGPU_IOCTL(DRM_IOCTL_NOUVEAU_GEM_CPU_PREP) },
	{ VGPU_IOCTL(DRM_IOCTL_NOUVEAU_GEM_CPU_FINI) },
	{ VGPU_IOCTL(DRM_IOCTL_NOUVEAU_GEM_INFO), BOOKS },
};

const struct vgpu_schema vgpu_schema_nouveau = {
	.name = "nouveau",
	VGPU_IOCTLS(nouveau_ioctls),
	.base = &vgpu_schema_drm,
};
