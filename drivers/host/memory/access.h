/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls that read and write pages of device mappings.
 */
#ifndef _VGPU_HOST_ACCESS_H
#define _VGPU_HOST_ACCESS_H

#include <linux/types.h>

struct vgpuh_call;

s64 vgpuh_mapping_read_pages(struct vgpuh_call *call);
s64 vgpuh_mapping_write_pages(struct vgpuh_call *call);

#endif /* _VGPU_HOST_ACCESS_H */
