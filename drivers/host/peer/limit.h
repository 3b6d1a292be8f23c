/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Limits of peers, which can be changed while the peers live, and what peers use of them.
 */
#ifndef _VGPU_HOST_LIMIT_H
#define _VGPU_HOST_LIMIT_H

#include <linux/compiler.h>
#include <linux/types.h>

#include <uapi/linux/vgpu_host.h>

struct vgpu_peer;

/*
 * Note the use of something. @most: a member of peer->bounds.most. Two threads may do so at the
 * same time, and the smaller number may remain: administrators read these numbers, and nothing
 * depends on them.
 */
static inline void vgpuh_use_most(__u32 *most, u32 now)
{
	if (now > READ_ONCE(*most))
		WRITE_ONCE(*most, now);
}

/* Do the same for a number of bytes. */
static inline void vgpuh_use_most_bytes(__u64 *most, u64 now)
{
	if (now > READ_ONCE(*most))
		WRITE_ONCE(*most, now);
}

/* Change the limits of a peer. Return: 0 or a negative errno. */
int vgpuh_limits_change(struct vgpu_peer *peer, const struct vgpu_host_peer_limit *args);
/* Get a copy of the peer's rates. */
struct vgpu_host_rates vgpuh_limits_rates(const struct vgpu_peer *peer);
/* Fill in the use by all sessions together, and the largest use of each kind. */
void vgpuh_limits_use(struct vgpu_peer *peer, struct vgpu_host_peer_use *use);

#endif /* _VGPU_HOST_LIMIT_H */
