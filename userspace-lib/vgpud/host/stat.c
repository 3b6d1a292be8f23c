// SPDX-License-Identifier: MIT
/* Counters of guests, which the host module or user-space engines have. */
#include <string.h>

#include "engines/denial.h"
#include "engines/engine.h"
#include "host/hostdev.h"

int hostdev_denials(struct vgpu_host_denials *arg)
{
	if (hostdev_is_engine())
		return engine_denials(arg);
	return hostdev_ioctl(VGPU_HOST_DENIALS, arg, sizeof(*arg));
}

int hostdev_peer_use(uint32_t peer, struct vgpu_host_peer_use *use)
{
	memset(use, 0, sizeof(*use));
	use->peer = peer;
	if (hostdev_is_engine())
		return engine_peer_use(use);
	return hostdev_ioctl(VGPU_HOST_PEER_USE, use, sizeof(*use));
}

int hostdev_peer_stat(uint32_t peer, struct vgpu_host_peer_stat *stat)
{
	memset(stat, 0, sizeof(*stat));
	stat->peer = peer;
	if (hostdev_is_engine())
		return engine_peer_stat(peer, stat);
	return hostdev_ioctl(VGPU_HOST_PEER_STAT, stat, sizeof(*stat));
}

int hostdev_guest_next(uint32_t cid, uint32_t port, struct vgpu_host_guest_stat *stat,
		       struct vgpu_host_tally *tallies)
{
	memset(stat, 0, sizeof(*stat));
	stat->flags = VGPU_HOST_GUEST_NEXT;
	stat->cid = cid;
	stat->port = port;
	stat->nr = VGPU_HOST_TALLIES_MAX;
	stat->tallies = (uintptr_t)tallies;
	if (hostdev_is_engine())
		return engine_guest_stat(stat);
	return hostdev_ioctl(VGPU_HOST_GUEST_STAT, stat, sizeof(*stat));
}

int hostdev_session_stat(uint32_t peer, uint64_t session, pid_t pid,
			 struct vgpu_host_session_stat *stat)
{
	memset(stat, 0, sizeof(*stat));
	stat->peer = peer;
	stat->session = session;
	if (hostdev_is_engine())
		return engine_session_stat(peer, pid, stat);
	return hostdev_ioctl(VGPU_HOST_SESSION_STAT, stat, sizeof(*stat));
}

uint64_t hostdev_owned_bytes(uint32_t peer)
{
	return hostdev_is_engine() ? engine_owned_bytes(peer) : 0;
}
