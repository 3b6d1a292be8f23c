// SPDX-License-Identifier: GPL-2.0-only
/*
 * Control connection of a peer: sends messages, and limits the rate at which messages of the guest
 * are taken in.
 */
#include <linux/cgroup.h>
#include <linux/jiffies.h>
#include <linux/memcontrol.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>

#include "base/work.h"
#include "peer/control.h"
#include "peer/peer.h"

/* A guest that does not read its control connection for this time loses it. */
#define CONTROL_SEND_TIMEOUT_MS	5000

/*
 * Idle messages lead to nothing but a reply. Beyond a burst they are taken in at this rate
 * only: the thread that reads them is the host's own. It is in the guest's control groups only
 * once the guest has a shadow, and if guests have such groups.
 */
#define CONTROL_IDLE_MS		10
#define CONTROL_IDLE_BURST_MS	1000

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
