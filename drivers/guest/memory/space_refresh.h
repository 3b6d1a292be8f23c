/* SPDX-License-Identifier: GPL-2.0-only */
/* Refresh: fetches pages that are written to all the time, so that they are never dropped. */
#ifndef VGPU_SPACE_REFRESH_H
#define VGPU_SPACE_REFRESH_H

#include <linux/types.h>

struct vgpu_session;
struct vgpu_space_set;

/**
 * vgpu_space_refresh - fetch pages again that stayed dirty, but for bytes that programs wrote
 * @set: spaces of a host
 * @own: session of the calling process, or NULL: none. The pages of other sessions are left as
 *	they are if the shadow does not answer for VGPU_FLUSH_LATE
 * @drops: value of set->drops: pages that were fetched since are left as they are
 *
 * Context: process, no locks; waits killably.
 */
void vgpu_space_refresh(struct vgpu_space_set *set, struct vgpu_session *own, s64 drops);

#endif /* VGPU_SPACE_REFRESH_H */
