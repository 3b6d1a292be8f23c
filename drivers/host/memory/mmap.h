/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls that make device mappings, bind them in the guest's window and make them writable.
 */
#ifndef _VGPU_HOST_MMAP_H
#define _VGPU_HOST_MMAP_H

#include <linux/types.h>

struct vgpuh_call;

/* Check whether the range overlaps the arguments or environment of the shadow, as exec put them. */
bool vgpuh_mapping_over_args(u64 addr, u64 end);
s64 vgpuh_mapping_mmap(struct vgpuh_call *call);
s64 vgpuh_mapping_bind(struct vgpuh_call *call);
s64 vgpuh_mapping_protect(struct vgpuh_call *call);

#endif /* _VGPU_HOST_MMAP_H */
