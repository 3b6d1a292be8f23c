/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls that make device mappings and bind them in the guest's window.
 */
#ifndef _VGPU_HOST_MMAP_H
#define _VGPU_HOST_MMAP_H

#include <linux/types.h>

struct vgpu_hcall;

s64 vgpu_mapping_mmap(struct vgpu_hcall *call);
s64 vgpu_mapping_bind(struct vgpu_hcall *call);

#endif /* _VGPU_HOST_MMAP_H */
