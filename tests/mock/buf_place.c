// SPDX-License-Identifier: GPL-2.0-only
/* ioctls that map a buffer as i915's do: one gives an offset for mmap(), one maps by itself. */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/mman.h>

#include "mock.h"

long vgpu_mock_buf_place(struct vgpu_mock_call *call)
{
	struct vgpu_mock_buf_place *args = call->data;
	struct vgpu_mock_buf *buf;

	if (args->pad || args->extensions ||
	    (args->flags != VGPU_MOCK_PLACE_WC && args->flags != VGPU_MOCK_PLACE_CACHED))
		return -EINVAL;
	buf = vgpu_mock_buf_find(call->file, args->id);
	if (!buf)
		return -ENOENT;
	args->out_offset = (u64)buf->id << VGPU_MOCK_BUF_SHIFT;
	vgpu_mock_buf_put(buf);
	return 0;
}

long vgpu_mock_buf_map(struct vgpu_mock_call *call)
{
	struct vgpu_mock_buf_map *args = call->data;
	unsigned long addr = -EINVAL;
	struct vgpu_mock_buf *buf;

	if (args->flags & ~(u64)VGPU_MOCK_MAP_WC)
		return -EINVAL;
	buf = vgpu_mock_buf_find(call->file, args->id);
	if (!buf)
		return -ENOENT;
	if (buf->flavour == VGPU_MOCK_BUF_VMALLOC)
		addr = -EOPNOTSUPP;
	else if (args->offset < buf->size && args->size <= buf->size - args->offset)
		addr = vm_mmap(call->filp, 0, args->size, PROT_READ | PROT_WRITE, MAP_SHARED,
			       ((u64)buf->id << VGPU_MOCK_BUF_SHIFT) + args->offset);
	vgpu_mock_buf_put(buf);
	if (IS_ERR_VALUE(addr))
		return (long)addr;
	args->out_addr = addr;
	return 0;
}
