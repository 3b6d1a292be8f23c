// SPDX-License-Identifier: GPL-2.0-only
/* Peers: one guest each, with its limits, counters and control connection. */
#include <linux/jiffies.h>
#include <linux/memcontrol.h>
#include <linux/slab.h>

#include "base/trace.h"
#include "peer/agent.h"
#include "peer/guest.h"
#include "peer/peer.h"
#include "peer/share.h"
#include "peer/tally.h"
#include "policy.h"

struct vgpu_peer *vgpu_peer_alloc(struct vgpu_agent *agent,
				  const struct vgpu_host_peer_add *args)
{
	struct vgpu_peer *peer;
	int ret = -ENOMEM;

	peer = kzalloc(sizeof(*peer), GFP_KERNEL_ACCOUNT);
	if (!peer)
		return ERR_PTR(-ENOMEM);
	peer->gone = kzalloc(sizeof(*peer->gone), GFP_KERNEL_ACCOUNT);
	if (!peer->gone)
		goto err_free_peer;
	peer->unbinds.ring = kvcalloc(VGPU_PEER_UNBINDS, sizeof(*peer->unbinds.ring),
				      GFP_KERNEL_ACCOUNT);
	if (!peer->unbinds.ring)
		goto err_free_event;
	peer->guest = vgpu_guest_get(agent, args->cid, args->port);
	if (!peer->guest)
		goto err_free_unbinds;
	ret = vgpu_conn_attach_fd(&peer->control.conn, args->sock_fd);
	if (ret)
		goto err_put_guest;

	kref_init(&peer->ref);
	kref_get(&agent->ref);
	peer->agent = agent;
	vgpu_limits_fill(&peer->limits, &args->limits, &peer->wire);
	peer->bounds.mappings_ever = peer->limits.mappings;
	peer->bounds.terms.weight = VGPU_HOST_WEIGHT_DEFAULT;
	peer->bounds.terms.cap = 100;
	peer->wire.features = args->features;
	mutex_init(&peer->control.tx_lock);
	mutex_init(&peer->lock);
	INIT_LIST_HEAD(&peer->grants.list);
	mutex_init(&peer->objects.lock);
	xa_init_flags(&peer->objects.table, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	xa_init_flags(&peer->objects.files, XA_FLAGS_ACCOUNT);
	xa_init_flags(&peer->objects.spaces, XA_FLAGS_ACCOUNT);
	ida_init(&peer->objects.fds);
	peer->kept.tree = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&peer->kept.releases);
	spin_lock_init(&peer->tgids_lock);
	spin_lock_init(&peer->closes.lock);
	peer->closes.waits = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&peer->closes.list);
	init_waitqueue_head(&peer->wait);
	spin_lock_init(&peer->events.lock);
	INIT_LIST_HEAD(&peer->events.fired);
	INIT_LIST_HEAD(&peer->events.ready);
	INIT_LIST_HEAD(&peer->offer.bad);
	spin_lock_init(&peer->unbinds.lock);
	return peer;

err_put_guest:
	vgpu_guest_put(agent, peer->guest);
err_free_unbinds:
	kvfree(peer->unbinds.ring);
err_free_event:
	kfree(peer->gone);
err_free_peer:
	kfree(peer);
	return ERR_PTR(ret);
}

static void peer_free(struct kref *ref)
{
	struct vgpu_peer *peer = container_of(ref, struct vgpu_peer, ref);

	vgpu_conn_fini(&peer->control.conn);
	if (peer->control.thread)
		put_task_struct(peer->control.thread);
	mem_cgroup_put(peer->control.memcg);
	xa_destroy(&peer->objects.table);
	xa_destroy(&peer->objects.files);
	xa_destroy(&peer->objects.spaces);
	ida_destroy(&peer->objects.fds);
	vgpu_guest_put(peer->agent, peer->guest);
	vgpu_agent_put(peer->agent);
	kvfree(peer->unbinds.ring);
	kfree(peer->gone);
	kfree(peer);
}

void vgpu_peer_get(struct vgpu_peer *peer)
{
	kref_get(&peer->ref);
}

void vgpu_peer_put(struct vgpu_peer *peer)
{
	kref_put(&peer->ref, peer_free);
}

void vgpu_peer_malformed(struct vgpu_peer *peer, u32 type)
{
	atomic64_inc(&peer->counters.malformed);
	trace_vgpu_host_malformed(peer->id, type);
}

void vgpu_peer_stat(struct vgpu_peer *peer, struct vgpu_host_peer_stat *stat)
{
	struct vgpu_counters *c = &peer->counters;

	stat->out_sessions = READ_ONCE(peer->sessions.nr);
	stat->out_lanes = atomic_read(&peer->sessions.nr_lanes);
	stat->out_objects = READ_ONCE(peer->objects.nr);
	stat->out_mappings = atomic_read(&peer->memory.nr_mappings);
	stat->out_calls = atomic64_read(&c->calls);
	stat->out_round_trips = atomic64_read(&c->calls) + atomic64_read(&c->upcalls);
	stat->out_bytes_in = atomic64_read(&c->bytes_in);
	stat->out_bytes_out = atomic64_read(&c->bytes_out);
	stat->out_fetched_pages = atomic64_read(&c->fetched_pages);
	stat->out_written_pages = atomic64_read(&c->written_pages);
	stat->out_fetch_timeouts = atomic64_read(&c->fetch_timeouts);
	stat->out_refused = atomic64_read(&c->refused);
	stat->out_malformed = atomic64_read(&c->malformed);
	stat->out_stray_fds = atomic64_read(&c->stray_fds);
	stat->out_cancels = atomic64_read(&c->cancels);
	stat->out_kept_bytes = READ_ONCE(peer->kept.bytes);
	vgpu_guest_stat(peer->guest, stat);
}

/* Add the peer's counters to @sum. */
static void peer_add(struct vgpu_peer *peer, struct vgpu_host_guest_stat *sum)
{
	struct vgpu_counters *c = &peer->counters;

	sum->out_calls += atomic64_read(&c->calls);
	sum->out_round_trips += atomic64_read(&c->calls) + atomic64_read(&c->upcalls);
	sum->out_bytes_in += atomic64_read(&c->bytes_in);
	sum->out_bytes_out += atomic64_read(&c->bytes_out);
	sum->out_fetched_pages += atomic64_read(&c->fetched_pages);
	sum->out_written_pages += atomic64_read(&c->written_pages);
	sum->out_fetch_timeouts += atomic64_read(&c->fetch_timeouts);
	sum->out_refused += atomic64_read(&c->refused);
	sum->out_malformed += atomic64_read(&c->malformed);
	sum->out_stray_fds += atomic64_read(&c->stray_fds);
	sum->out_cancels += atomic64_read(&c->cancels);
	sum->out_delayed += atomic64_read(&c->delayed);
	sum->out_queued += atomic64_read(&c->queued);
}

void vgpu_peer_leave(struct vgpu_peer *peer)
{
	lockdep_assert_held(&peer->agent->lock);
	peer_add(peer, &peer->guest->past);
}

int vgpu_peers_guest_stat(struct vgpu_agent *agent, struct vgpu_host_guest_stat *stat,
			  struct vgpu_host_tally *tallies, u32 nr)
{
	struct vgpu_host_guest_stat sum;
	struct vgpu_guest *guest;
	struct vgpu_peer *peer;
	unsigned long id;

	lockdep_assert_held(&agent->lock);
	mutex_lock(&agent->guests_lock);
	guest = vgpu_guest_find_locked(agent, stat->cid, stat->port,
				       stat->flags & VGPU_HOST_GUEST_NEXT);
	if (!guest) {
		mutex_unlock(&agent->guests_lock);
		return -ENOENT;
	}
	sum = guest->past;
	sum.size = stat->size;
	sum.flags = stat->flags;
	sum.cid = stat->cid;
	sum.port = stat->port;
	sum.nr = stat->nr;
	sum.tallies = stat->tallies;
	sum.out_cid = guest->cid;
	sum.out_port = guest->port;
	sum.out_connections = guest->connections;
	sum.out_nr = vgpu_tallies_copy(guest, tallies, nr);
	xa_for_each(&agent->peers, id, peer) {
		if (peer->guest != guest)
			continue;
		peer_add(peer, &sum);
		sum.out_peer = peer->id;
	}
	mutex_unlock(&agent->guests_lock);
	sum.out_device_ns = vgpuh_shares_used(sum.out_cid, sum.out_port);
	*stat = sum;
	return 0;
}
