/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls that make device mappings writable.
 */
#ifndef _VGPU_HOST_PROTECT_H
#define _VGPU_HOST_PROTECT_H

#include <linux/types.h>

struct vgpu_hcall;

s64 vgpu_mapping_protect(struct vgpu_hcall *call);

#endif /* _VGPU_HOST_PROTECT_H */
