/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls that make device mappings writable.
 */
#ifndef _VGPU_HOST_PROTECT_H
#define _VGPU_HOST_PROTECT_H

#include <linux/types.h>

struct vgpuh_call;

s64 vgpuh_mapping_protect(struct vgpuh_call *call);

#endif /* _VGPU_HOST_PROTECT_H */
