// SPDX-License-Identifier: GPL-2.0-only
/*
 * Peers: one guest each, with its limits, counters and control connection. The functions of the
 * control connection send messages, and limit the rate at which messages of the guest are taken in.
 */
#include <linux/cgroup.h>
#include <linux/jiffies.h>
#include <linux/memcontrol.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "base/trace.h"
#include "base/work.h"
#include "peer/guest.h"
#include "peer/peer.h"
#include "policy.h"

/* A guest that does not read its control connection for this time loses it. */
#define CONTROL_SEND_TIMEOUT_MS	5000

/*
 * Idle messages lead to nothing but a reply. Beyond a burst they are taken in at this rate
 * only: the thread that reads them is the host's own. It is in the guest's control groups only
 * once the guest has a shadow, and if guests have such groups.
 */
#define CONTROL_IDLE_MS		10
#define CONTROL_IDLE_BURST_MS	1000

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
	peer->wire.features = args->features;
	mutex_init(&peer->control.tx_lock);
	mutex_init(&peer->lock);
	INIT_LIST_HEAD(&peer->grants.list);
	INIT_LIST_HEAD(&peer->sessions.list);
	mutex_init(&peer->objects.lock);
	xa_init_flags(&peer->objects.table, XA_FLAGS_ALLOC1);
	xa_init(&peer->objects.files);
	xa_init(&peer->objects.spaces);
	ida_init(&peer->objects.fds);
	peer->kept.tree = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&peer->kept.releases);
	spin_lock_init(&peer->tgids_lock);
	spin_lock_init(&peer->closes.lock);
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

/* --- control connection ---------------------------------------------------- */

int vgpuh_control_send(struct vgpu_peer *peer, void *msg, size_t len)
{
	struct kvec vec = { .iov_base = msg, .iov_len = len };
	int ret;

	mutex_lock(&peer->control.tx_lock);
	ret = vgpu_conn_send(&peer->control.conn, &vec, 1, len, CONTROL_SEND_TIMEOUT_MS);
	mutex_unlock(&peer->control.tx_lock);
	if (ret)
		vgpu_conn_shutdown(&peer->control.conn);
	return ret;
}

/*
 * vgpud has put the shadow into the guest's groups, and the shadow cannot leave them.
 *
 * The groups are taken from a living task, so none of them is being removed. If the thread cannot
 * be moved, it stays in the root groups, where the rate of idle messages is limited all the same.
 */
void vgpuh_control_adopt(struct vgpu_peer *peer)
{
	struct mem_cgroup *memcg;

	if (READ_ONCE(peer->control.memcg))
		return;
	memcg = get_mem_cgroup_from_mm(current->mm);
	if (!memcg)
		return;
	if (cmpxchg(&peer->control.memcg, NULL, memcg)) {
		mem_cgroup_put(memcg);
		return;
	}
	cgroup_attach_task_all(current, peer->control.thread);
}

void vgpuh_control_leave(struct vgpu_peer *peer)
{
	if (peer->control.memcg)
		cgroup_attach_task_all(&init_task, current);
}

void vgpuh_control_kick(struct vgpu_peer *peer)
{
	queue_work(vgpu_host_patient_wq, &peer->control.tx_work);
}

void vgpuh_control_kick_window(struct vgpu_peer *peer)
{
	WRITE_ONCE(peer->offer.changed, true);
	vgpuh_control_kick(peer);
}

void vgpuh_control_idle(struct vgpu_peer *peer)
{
	unsigned long burst = msecs_to_jiffies(CONTROL_IDLE_BURST_MS);

	if (time_before(peer->control.idle_until, jiffies))
		peer->control.idle_until = jiffies;
	peer->control.idle_until += max(msecs_to_jiffies(CONTROL_IDLE_MS), 1UL);
	while (time_after(peer->control.idle_until, jiffies + burst)) {
		/*
		 * Messages that are left of a guest that is gone need no delay: they are soon
		 * read.
		 */
		if (vgpu_conn_is_ending(&peer->control.conn))
			return;
		schedule_timeout_idle(1);
	}
}

/*
 * A guest reports once the end of each session and mapping that it has made, and of each range
 * of its window that it has named. The report causes no delay, even if the session, mapping or
 * range has ended by itself. A CLOSE that repeats a call whose reply the guest has not seen causes
 * no delay, either.
 */
void vgpuh_control_due(struct vgpu_peer *peer)
{
	/*
	 * A mapping has two ends, its own and that of its range in a window; its pieces have
	 * more.
	 */
	s64 most = 4LL * READ_ONCE(peer->bounds.mappings_ever) + READ_ONCE(peer->limits.sessions);

	if (atomic_read(&peer->control.dues) < min_t(s64, most, INT_MAX / 2))
		atomic_inc(&peer->control.dues);
}

void vgpuh_control_settle(struct vgpu_peer *peer, bool idle)
{
	if (atomic_dec_if_positive(&peer->control.dues) < 0 && idle)
		vgpuh_control_idle(peer);
}
