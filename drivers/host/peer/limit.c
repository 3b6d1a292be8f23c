// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits of peers, which can be changed while the peers live, and what peers use of them.
 *
 * Nothing orders a change with the requests that are being checked against the old limit. A request
 * may be granted by the old limit just after the change, as if it had come just before.
 */
#include <linux/atomic.h>
#include <linux/errno.h>

#include "peer/agent.h"
#include "peer/guest.h"
#include "peer/limit.h"
#include "peer/peer.h"
#include "peer/share.h"
#include "policy.h"
#include "rate.h"

#define LIMIT_PATIENCE_MAX_MS	3600000

int vgpuh_limits_change(struct vgpu_peer *peer, const struct vgpu_host_peer_limit *args)
{
	struct vgpu_host_limits *limits = &peer->limits, new;
	struct vgpu_wire_limits wire;

	if ((args->flags & ~VGPU_HOST_LIMIT_FREEZE) || args->limits.reserved ||
	    args->reserved)
		return -EOPNOTSUPP;
	if (args->patience_ms > LIMIT_PATIENCE_MAX_MS ||
	    args->rates.calls > VGPU_HOST_RATE_MAX || args->rates.opens > VGPU_HOST_RATE_MAX ||
	    args->rates.bytes > VGPU_HOST_RATE_MAX || args->weight > VGPU_HOST_WEIGHT_MAX ||
	    args->cap > 100 || args->priority > VGPU_HOST_PRIORITY_MAX)
		return -EINVAL;
	vgpu_limits_fill(&new, &args->limits, &wire);
	/* Agents are serialized by agent->lock, so the largest value does not get lost. */
	lockdep_assert_held(&peer->agent->lock);
	if (new.mappings > peer->bounds.mappings_ever)
		WRITE_ONCE(peer->bounds.mappings_ever, new.mappings);
	WRITE_ONCE(limits->sessions, new.sessions);
	WRITE_ONCE(limits->lanes, new.lanes);
	WRITE_ONCE(limits->objects, new.objects);
	WRITE_ONCE(limits->fds_per_call, new.fds_per_call);
	WRITE_ONCE(limits->pages, new.pages);
	WRITE_ONCE(limits->mappings, new.mappings);
	WRITE_ONCE(limits->mapped_bytes, new.mapped_bytes);
	WRITE_ONCE(limits->kept_bytes, new.kept_bytes);
	WRITE_ONCE(peer->bounds.all_pages, args->all_pages);
	WRITE_ONCE(peer->bounds.all_mappings, args->all_mappings);
	WRITE_ONCE(peer->bounds.rates.calls, args->rates.calls);
	WRITE_ONCE(peer->bounds.rates.opens, args->rates.opens);
	WRITE_ONCE(peer->bounds.rates.bytes, args->rates.bytes);
	/* Grants that are added later take the terms from here, also under agent->lock. */
	peer->bounds.terms.weight = args->flags & VGPU_HOST_LIMIT_FREEZE ? 0 :
				    args->weight ?: VGPU_HOST_WEIGHT_DEFAULT;
	peer->bounds.terms.cap = args->cap ?: 100;
	peer->bounds.terms.priority = args->priority;
	vgpuh_shares_change(peer->guest->cid, peer->guest->port, &peer->bounds.terms);
	WRITE_ONCE(peer->bounds.rated, vgpu_rates_any(&args->rates));
	vgpu_guest_forget_rates(peer->guest, &args->rates);
	/* call_bytes stays: messages are checked against it, and buffers are charged by it. */
	vgpu_guest_set_patience(peer->guest, args->patience_ms ?: peer->agent->patience_ms);
	return 0;
}

struct vgpu_host_rates vgpuh_limits_rates(const struct vgpu_peer *peer)
{
	return (struct vgpu_host_rates) {
		.calls = READ_ONCE(peer->bounds.rates.calls),
		.opens = READ_ONCE(peer->bounds.rates.opens),
		.bytes = READ_ONCE(peer->bounds.rates.bytes),
	};
}

void vgpuh_limits_use(struct vgpu_peer *peer, struct vgpu_host_peer_use *use)
{
	struct vgpu_host_use *now = &use->out_now, *most = &use->out_most;

	use->out_delayed = atomic64_read(&peer->counters.delayed);
	use->out_queued = atomic64_read(&peer->counters.queued);
	use->out_device_ns = vgpuh_shares_used(peer->guest->cid, peer->guest->port);
	now->sessions = READ_ONCE(peer->sessions.nr);
	now->objects = READ_ONCE(peer->objects.nr);
	now->all_pages = atomic_read(&peer->memory.nr_pages);
	now->all_mappings = atomic_read(&peer->memory.nr_mappings);
	now->mapped_bytes = atomic64_read(&peer->memory.mapped_bytes);
	now->kept_bytes = READ_ONCE(peer->kept.bytes);

	most->sessions = READ_ONCE(peer->bounds.most.sessions);
	most->lanes = READ_ONCE(peer->bounds.most.lanes);
	most->objects = READ_ONCE(peer->bounds.most.objects);
	most->pages = READ_ONCE(peer->bounds.most.pages);
	most->mappings = READ_ONCE(peer->bounds.most.mappings);
	most->all_pages = READ_ONCE(peer->bounds.most.all_pages);
	most->all_mappings = READ_ONCE(peer->bounds.most.all_mappings);
	most->mapped_bytes = READ_ONCE(peer->bounds.most.mapped_bytes);
	most->kept_bytes = READ_ONCE(peer->bounds.most.kept_bytes);
}
