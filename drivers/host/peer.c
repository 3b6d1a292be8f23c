// SPDX-License-Identifier: GPL-2.0-only
/*
 * Peers: one guest each, with its limits and counters.
 */
#include <linux/slab.h>

#include "host.h"
#include "trace.h"

/* Limits of a peer for which the agent sets none. */
#define PEER_SESSIONS		256
#define PEER_LANES		64
#define PEER_OBJECTS		4096
#define PEER_FDS_PER_CALL	16
#define PEER_CALL_BYTES		(16U << 20)
#define PEER_PAGES		16384
#define PEER_MAPPINGS		1024
#define PEER_MAPPED_BYTES	(16ULL << 30)

static void peer_set_limits(struct vgpu_peer *peer, const struct vgpu_host_limits *args)
{
	struct vgpu_host_limits *limits = &peer->limits;

	limits->sessions = args->sessions ?: PEER_SESSIONS;
	limits->lanes = args->lanes ?: PEER_LANES;
	limits->objects = args->objects ?: PEER_OBJECTS;
	limits->fds_per_call = min_t(u32, args->fds_per_call ?: PEER_FDS_PER_CALL, VGPU_FDS_MAX);
	limits->call_bytes = min_t(u32, args->call_bytes ?: PEER_CALL_BYTES,
				   VGPU_CALL_BYTES_MAX);
	limits->pages = args->pages ?: PEER_PAGES;
	limits->mappings = args->mappings ?: PEER_MAPPINGS;
	limits->mapped_bytes = args->mapped_bytes ?: PEER_MAPPED_BYTES;

	peer->wire.call_bytes = limits->call_bytes;
	peer->wire.segs = VGPU_SEGS_MAX;
	peer->wire.fixups = VGPU_FIXUPS_MAX;
}

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
	peer->unbinds = kvcalloc(VGPU_PEER_UNBINDS, sizeof(*peer->unbinds), GFP_KERNEL_ACCOUNT);
	if (!peer->unbinds)
		goto err_free_event;
	ret = vgpu_conn_attach_fd(&peer->conn, args->sock_fd);
	if (ret)
		goto err_free_unbinds;

	kref_init(&peer->ref);
	vgpu_agent_get(agent);
	peer->agent = agent;
	peer->cid = args->cid;
	peer->port = args->port;
	peer_set_limits(peer, &args->limits);
	peer->wire.features = args->features;
	mutex_init(&peer->tx_lock);
	mutex_init(&peer->lock);
	INIT_LIST_HEAD(&peer->grants);
	INIT_LIST_HEAD(&peer->sessions);
	mutex_init(&peer->objects_lock);
	xa_init_flags(&peer->objects, XA_FLAGS_ALLOC1);
	xa_init(&peer->files);
	xa_init(&peer->spaces);
	spin_lock_init(&peer->closes_lock);
	INIT_LIST_HEAD(&peer->closes);
	init_waitqueue_head(&peer->wait);
	spin_lock_init(&peer->events_lock);
	INIT_LIST_HEAD(&peer->fired);
	INIT_LIST_HEAD(&peer->events);
	INIT_LIST_HEAD(&peer->bad_bindings);
	spin_lock_init(&peer->unbinds_lock);
	vgpu_control_init(peer);
	return peer;

err_free_unbinds:
	kvfree(peer->unbinds);
err_free_event:
	kfree(peer->gone);
err_free_peer:
	kfree(peer);
	return ERR_PTR(ret);
}

static void peer_free(struct kref *ref)
{
	struct vgpu_peer *peer = container_of(ref, struct vgpu_peer, ref);

	vgpu_conn_fini(&peer->conn);
	xa_destroy(&peer->objects);
	xa_destroy(&peer->files);
	xa_destroy(&peer->spaces);
	vgpu_agent_put(peer->agent);
	kvfree(peer->unbinds);
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

void vgpu_peer_end(struct vgpu_peer *peer)
{
	vgpu_conn_shutdown(&peer->conn);
}

void vgpu_peer_malformed(struct vgpu_peer *peer, u32 type)
{
	atomic64_inc(&peer->counters.malformed);
	trace_vgpu_host_malformed(peer->id, type);
}

void vgpu_peer_stat(struct vgpu_peer *peer, struct vgpu_host_peer_stat *stat)
{
	struct vgpu_counters *c = &peer->counters;

	stat->out_sessions = READ_ONCE(peer->nr_sessions);
	stat->out_lanes = atomic_read(&peer->nr_lanes);
	stat->out_objects = READ_ONCE(peer->nr_objects);
	stat->out_mappings = atomic_read(&peer->nr_mappings);
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
}
