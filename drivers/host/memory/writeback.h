/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pages that drivers have written, on their way to the guest.
 */
#ifndef _VGPU_HOST_WRITEBACK_H
#define _VGPU_HOST_WRITEBACK_H

#include <linux/types.h>

struct vgpuh_lane;
struct vgpuh_page;

/* Send all dirty pages to the guest. */
int vgpu_writeback_all(struct vgpuh_lane *lane);
/* Send one page, which the caller has claimed, and end the claim. */
int vgpu_writeback_page(struct vgpuh_lane *lane, struct vgpuh_page *page);

#endif /* _VGPU_HOST_WRITEBACK_H */
