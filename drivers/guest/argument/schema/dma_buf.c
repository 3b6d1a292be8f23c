// SPDX-License-Identifier: GPL-2.0-only
/* Schemas of dma-bufs, and of the devices that make them. */
#include "argument/schema/tables.h"
#include "argument/schema_macros.h"
#include "argument/schema_uapi.h"

static const struct vgpu_schema_ioctl dma_buf_ioctls[] = {
	{ VGPU_IOCTL(DMA_BUF_IOCTL_SYNC) },
	/* The command has the size of a number, but the argument is a string. */
	{ .cmd = DMA_BUF_SET_NAME_B, .name = "DMA_BUF_SET_NAME", .arg = VGPU_ARG_STRING,
	  .size = DMA_BUF_NAME_LEN, BOOKS },
	{ VGPU_IOCTL_ONE(DMA_BUF_IOCTL_EXPORT_SYNC_FILE,
			 { VGPU_FD_OUT(struct dma_buf_export_sync_file, fd) }), BOOKS },
	{ VGPU_IOCTL_ONE(DMA_BUF_IOCTL_IMPORT_SYNC_FILE,
			 { VGPU_FD_IN(struct dma_buf_import_sync_file, fd) }), BOOKS },
};

const struct vgpu_schema vgpu_schema_dma_buf = {
	.name = "dma-buf",
	VGPU_IOCTLS(dma_buf_ioctls),
};

static const struct vgpu_schema_ioctl dma_heap_ioctls[] = {
	{ VGPU_IOCTL_ONE(DMA_HEAP_IOCTL_ALLOC,
			 { VGPU_FD_OUT(struct dma_heap_allocation_data, fd) }), BOOKS },
};

const struct vgpu_schema vgpu_schema_dma_heap = {
	.name = "dma-heap",
	VGPU_IOCTLS(dma_heap_ioctls),
};

/* The device would keep memory of the guest: fail as for a file of the wrong kind. */
static const struct vgpu_schema_ioctl udmabuf_ioctls[] = {
	{ VGPU_IOCTL_REFUSE(UDMABUF_CREATE, EINVAL) },
	{ VGPU_IOCTL_REFUSE(UDMABUF_CREATE_LIST, EINVAL) },
};

const struct vgpu_schema vgpu_schema_udmabuf = {
	.name = "udmabuf",
	VGPU_IOCTLS(udmabuf_ioctls),
};
