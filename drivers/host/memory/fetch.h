/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fetches of pages from the guest.
 */
#ifndef _VGPU_HOST_FETCH_H
#define _VGPU_HOST_FETCH_H

#include <linux/types.h>

struct vgpuh_lane;
struct vgpuh_session;

/*
 * Make the page at @addr usable, if possible, and perhaps some more up to @end.
 * Context: the mmap lock is not held. Return: 0: look again; -ENOBUFS: the limit of pages or
 * time is reached; -ENOMEM; another errno: the address is bad, or the task or the lane ends.
 */
int vgpu_fetch_page(struct vgpuh_session *session, struct vgpuh_lane *lane, u64 addr, u64 end);

#endif /* _VGPU_HOST_FETCH_H */
