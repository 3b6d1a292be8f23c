/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls that read and write pages of device mappings.
 */
#ifndef _VGPU_HOST_ACCESS_H
#define _VGPU_HOST_ACCESS_H

#include <linux/types.h>

struct vgpu_hcall;

s64 vgpu_mapping_read_pages(struct vgpu_hcall *call);
s64 vgpu_mapping_write_pages(struct vgpu_hcall *call);

#endif /* _VGPU_HOST_ACCESS_H */
