// SPDX-License-Identifier: MIT
/* Fields of the ioctls of nouveau. The headers of Linux before 6.6 lack some. */
#include <drm/nouveau_drm.h>

#include "vgpuctl/trace/fields.h"

#define D(s, m)	TRACE_NUMBER(struct drm_nouveau_##s, m)
#define X(s, m)	TRACE_HEX(struct drm_nouveau_##s, m)

static const struct trace_field gem_new[] = {
	D(gem_new, info.handle), X(gem_new, info.domain), D(gem_new, info.size),
	X(gem_new, info.offset), D(gem_new, info.map_handle), D(gem_new, info.tile_mode),
	X(gem_new, info.tile_flags), D(gem_new, channel_hint), D(gem_new, align),
};

static const struct trace_field gem_pushbuf[] = {
	D(gem_pushbuf, channel), D(gem_pushbuf, nr_buffers), X(gem_pushbuf, buffers),
	D(gem_pushbuf, nr_relocs), D(gem_pushbuf, nr_push), X(gem_pushbuf, relocs),
	X(gem_pushbuf, push), D(gem_pushbuf, suffix0), D(gem_pushbuf, suffix1),
	D(gem_pushbuf, vram_available), D(gem_pushbuf, gart_available),
};

static const struct trace_field gem_cpu_prep[] = {
	D(gem_cpu_prep, handle), X(gem_cpu_prep, flags),
};

static const struct trace_field gem_cpu_fini[] = {
	D(gem_cpu_fini, handle),
};

static const struct trace_field gem_info[] = {
	D(gem_info, handle), X(gem_info, domain), D(gem_info, size), X(gem_info, offset),
	X(gem_info, map_handle), D(gem_info, tile_mode), X(gem_info, tile_flags),
};

#ifdef DRM_IOCTL_NOUVEAU_EXEC
static const struct trace_field getparam[] = {
	D(getparam, param), X(getparam, value),
};

static const struct trace_field channel_alloc[] = {
	D(channel_alloc, fb_ctxdma_handle), D(channel_alloc, tt_ctxdma_handle),
	D(channel_alloc, channel), X(channel_alloc, pushbuf_domains),
	D(channel_alloc, notifier_handle), D(channel_alloc, nr_subchan),
};

static const struct trace_field channel_free[] = {
	D(channel_free, channel),
};

static const struct trace_field vm_init[] = {
	X(vm_init, kernel_managed_addr), D(vm_init, kernel_managed_size),
};

static const struct trace_field vm_bind[] = {
	D(vm_bind, op_count), X(vm_bind, flags), D(vm_bind, wait_count), D(vm_bind, sig_count),
	X(vm_bind, wait_ptr), X(vm_bind, sig_ptr), X(vm_bind, op_ptr),
};

static const struct trace_field exec[] = {
	D(exec, channel), D(exec, push_count), D(exec, wait_count), D(exec, sig_count),
	X(exec, wait_ptr), X(exec, sig_ptr), X(exec, push_ptr),
};
#endif

const struct trace_fields trace_fields_nouveau[] = {
	TRACE_FIELDS(DRM_IOCTL_NOUVEAU_GEM_NEW, gem_new),
	TRACE_FIELDS(DRM_IOCTL_NOUVEAU_GEM_PUSHBUF, gem_pushbuf),
	TRACE_FIELDS(DRM_IOCTL_NOUVEAU_GEM_CPU_PREP, gem_cpu_prep),
	TRACE_FIELDS(DRM_IOCTL_NOUVEAU_GEM_CPU_FINI, gem_cpu_fini),
	TRACE_FIELDS(DRM_IOCTL_NOUVEAU_GEM_INFO, gem_info),
#ifdef DRM_IOCTL_NOUVEAU_EXEC
	TRACE_FIELDS(DRM_IOCTL_NOUVEAU_GETPARAM, getparam),
	TRACE_FIELDS(DRM_IOCTL_NOUVEAU_CHANNEL_ALLOC, channel_alloc),
	TRACE_FIELDS(DRM_IOCTL_NOUVEAU_CHANNEL_FREE, channel_free),
	TRACE_FIELDS(DRM_IOCTL_NOUVEAU_VM_INIT, vm_init),
	TRACE_FIELDS(DRM_IOCTL_NOUVEAU_VM_BIND, vm_bind),
	TRACE_FIELDS(DRM_IOCTL_NOUVEAU_EXEC, exec),
#endif
	{ NULL }
};
