// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sessions: one process of a guest, with the shadow that stands for it.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/pid.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "anon.h"
#include "base/work.h"
#include "cover.h"
#include "object/tgid.h"
#include "peer/control.h"
#include "peer/grant.h"
#include "peer/limit.h"
#include "peer/peer.h"
#include "peer/tally.h"
#include "session/lane.h"
#include "session/session.h"
#include "session/unmap.h"

/* Memory that calls of a session may have at once, in messages of the greatest length. */
#define SESSION_BUDGET_CALLS	4

/* Time that a closed session waits for its lanes, and time between two checks for them. */
#define SESSION_CLOSE_WAIT	HZ
#define SESSION_CLOSE_POLL	max(HZ / 100, 1)

static void session_free(struct kref *ref)
{
	struct vgpuh_session *session = container_of(ref, struct vgpuh_session, ref);

	/* Unmaps are dropped here: the control connection queued them while it had a reference. */
	vgpu_unmap_drop_all(session);
	xa_destroy(&session->lanes.tasks);
	xa_destroy(&session->cards.table);
	xa_destroy(&session->grants);
	put_pid(session->process.pid);
	if (session->process.mm)
		mmdrop(session->process.mm);
	iput(session->inode);
	kfree(session->gone);
	kfree(session->close.event);
	free_percpu(session->sums);
	vgpu_tgid_free(session->tgid);
	vgpu_peer_put(session->peer);
	kfree(session);
}

void vgpuh_session_put(struct vgpuh_session *session)
{
	kref_put(&session->ref, session_free);
}

static void session_close_work(struct work_struct *work);

struct vgpuh_session *vgpuh_session_alloc(struct vgpu_peer *peer, u64 number)
{
	struct vgpuh_session *session;
	struct inode *inode;

	session = kzalloc(sizeof(*session), GFP_KERNEL_ACCOUNT);
	if (!session)
		return ERR_PTR(-ENOMEM);
	session->gone = kzalloc(sizeof(*session->gone), GFP_KERNEL_ACCOUNT);
	session->close.event = kzalloc(sizeof(*session->close.event), GFP_KERNEL_ACCOUNT);
	session->tgid = vgpu_tgid_new(peer, number);
	session->sums = alloc_percpu_gfp(struct vgpu_sums, GFP_KERNEL_ACCOUNT);
	if (!session->gone || !session->close.event || !session->tgid || !session->sums)
		goto err_free;
	inode = vgpu_anon_inode_alloc();
	if (IS_ERR(inode))
		goto err_free;

	kref_init(&session->ref);
	vgpu_peer_get(peer);
	session->peer = peer;
	session->number = number;
	session->inode = inode;
	spin_lock_init(&session->process.lock);
	mutex_init(&session->lanes.lock);
	INIT_LIST_HEAD(&session->lanes.list);
	/*
	 * The guest decides how many lanes and objects there are, so its control group is
	 * charged.
	 */
	xa_init_flags(&session->lanes.tasks, XA_FLAGS_ACCOUNT);
	xa_init_flags(&session->cards.table, XA_FLAGS_ACCOUNT);
	xa_init_flags(&session->grants, XA_FLAGS_ACCOUNT);
	mutex_init(&session->map_lock);
	session->mappings = RB_ROOT_CACHED;
	spin_lock_init(&session->unmaps.lock);
	INIT_LIST_HEAD(&session->unmaps.list);
	init_waitqueue_head(&session->unmaps.wait);
	INIT_DELAYED_WORK(&session->close.work, session_close_work);
	init_waitqueue_head(&session->rooms.wait);
	return session;

err_free:
	free_percpu(session->sums);
	vgpu_tgid_free(session->tgid);
	kfree(session->gone);
	kfree(session->close.event);
	kfree(session);
	return ERR_PTR(-ENOMEM);
}

static struct vgpuh_session *session_find_locked(struct vgpu_peer *peer, u64 number)
{
	struct vgpuh_session *session;

	lockdep_assert_held(&peer->lock);
	list_for_each_entry(session, &peer->sessions.list, node)
		if (session->number == number)
			return session;
	return NULL;
}

int vgpuh_session_publish(struct vgpuh_session *session)
{
	struct vgpu_peer *peer = session->peer;
	int ret = 0;

	mutex_lock(&peer->lock);
	if (peer->closing)
		ret = -ENODEV;
	else if (peer->sessions.nr >= READ_ONCE(peer->limits.sessions))
		ret = -EMFILE;
	else if (session_find_locked(peer, session->number))
		ret = -EEXIST;
	if (!ret) {
		list_add_tail(&session->node, &peer->sessions.list);
		peer->sessions.nr++;
		vgpuh_use_most(&peer->bounds.most.sessions, peer->sessions.nr);
	}
	mutex_unlock(&peer->lock);
	if (ret == -EMFILE)
		atomic64_inc(&peer->counters.refused);
	if (!ret)
		vgpuh_control_due(peer);
	return ret;
}

int vgpuh_session_stat(struct vgpu_peer *peer, struct vgpu_host_session_stat *stat)
{
	struct vgpuh_session *session = vgpuh_session_find(peer, stat->session);
	struct vgpu_sums total;

	if (!session)
		return -ENOENT;
	vgpu_sums_total(session->sums, &total);
	vgpuh_session_put(session);
	stat->out_calls = total.calls;
	stat->out_errors = total.errors;
	stat->out_bytes_in = total.bytes_in;
	stat->out_bytes_out = total.bytes_out;
	stat->out_ns = total.ns;
	return 0;
}

void vgpuh_sessions_use(struct vgpu_peer *peer, struct vgpu_host_use *use)
{
	struct vgpuh_session *session;

	mutex_lock(&peer->lock);
	list_for_each_entry(session, &peer->sessions.list, node) {
		use->lanes = max(use->lanes, READ_ONCE(session->lanes.nr));
		use->pages = max(use->pages, READ_ONCE(session->demand.nr_pages));
		use->mappings = max(use->mappings, READ_ONCE(session->nr_mappings));
	}
	mutex_unlock(&peer->lock);
}

void vgpuh_session_withdraw(struct vgpuh_session *session)
{
	struct vgpu_agent_event *gone = session->gone;
	struct vgpu_tgid *tgid = session->tgid;
	struct vgpu_peer *peer = session->peer;

	session->gone = NULL;
	session->tgid = NULL;
	mutex_lock(&peer->lock);
	list_del(&session->node);
	mutex_unlock(&peer->lock);
	/* The work item does not queue itself again without lanes, so no timer is left behind. */
	if (cancel_delayed_work_sync(&session->close.work))
		vgpuh_session_put(session);
	mutex_lock(&peer->lock);
	peer->sessions.nr--;
	mutex_unlock(&peer->lock);
	vgpu_agent_notify(peer->agent, gone, VGPU_HOST_EVENT_SESSION_GONE, peer->id,
			  session->number);
	vgpu_tgid_end(tgid);
	/* The peer's thread may wait for the last session. */
	wake_up_all(&peer->wait);
	vgpuh_session_put(session);
}

struct vgpuh_session *vgpuh_session_find(struct vgpu_peer *peer, u64 number)
{
	struct vgpuh_session *session;

	mutex_lock(&peer->lock);
	session = session_find_locked(peer, number);
	if (session)
		kref_get(&session->ref);
	mutex_unlock(&peer->lock);
	return session;
}

int vgpuh_session_uses(struct vgpuh_session *session, const struct vgpu_grant *origin)
{
	int ret = 0;

	if (!xa_load(&session->grants, origin->id))
		ret = xa_err(xa_store(&session->grants, origin->id, xa_mk_value(1),
				      GFP_KERNEL_ACCOUNT));
	if (ret)
		return ret;
	/* Pairs with grant_cut_locked(). Another thread may have made the mark just now. */
	smp_mb();
	return READ_ONCE(origin->cut) ? -ENODEV : 0;
}

void vgpuh_session_kill(struct vgpuh_session *session)
{
	spin_lock(&session->process.lock);
	WRITE_ONCE(session->ending, true);
	if (session->process.pid)
		kill_pid(session->process.pid, SIGKILL, 1);
	spin_unlock(&session->process.lock);
}

void vgpuh_session_end(struct vgpuh_session *session)
{
	struct vgpu_peer *peer = session->peer;

	vgpuh_session_kill(session);
	wake_up_all(&session->unmaps.wait);
	wake_up_all(&session->demand.wait);
	wake_up_all(&peer->wait);
	/* The work item holds this reference. */
	vgpu_peer_get(peer);
	if (!queue_work(vgpu_host_patient_wq, &peer->sessions.end_work))
		vgpu_peer_put(peer);
}

/*
 * Find a session that ends and whose lanes are not shut down yet.
 * Return: the session with a reference, or NULL.
 */
static struct vgpuh_session *session_next_ending(struct vgpu_peer *peer)
{
	struct vgpuh_session *session, *found = NULL;

	mutex_lock(&peer->lock);
	list_for_each_entry(session, &peer->sessions.list, node) {
		if (!READ_ONCE(session->ending) || session->lanes.shut)
			continue;
		session->lanes.shut = true;
		kref_get(&session->ref);
		found = session;
		break;
	}
	mutex_unlock(&peer->lock);
	return found;
}

/*
 * Shut down the lanes of sessions that end. This waits for the locks of the lanes' sockets. A
 * shadow that was taken over can hold such a lock in the kernel, for as long as it likes: it
 * receives bytes from the socket into memory of a driver that does not provide the page. So a work
 * item of the peer waits, without any lock that others need.
 */
static void sessions_end_work(struct work_struct *work)
{
	struct vgpu_peer *peer = container_of(work, struct vgpu_peer, sessions.end_work);
	struct vgpuh_session *session;
	struct vgpuh_lane *lane;

	vgpu_cover_start();
	while ((session = session_next_ending(peer))) {
		mutex_lock(&session->lanes.lock);
		list_for_each_entry(lane, &session->lanes.list, node)
			vgpu_conn_shutdown(&lane->conn);
		mutex_unlock(&session->lanes.lock);
		vgpuh_session_put(session);
	}
	vgpu_cover_stop();
	vgpu_peer_put(peer);
}

void vgpuh_sessions_init(struct vgpu_peer *peer)
{
	INIT_LIST_HEAD(&peer->sessions.list);
	INIT_WORK(&peer->sessions.end_work, sessions_end_work);
}

static void session_notify_closed(struct vgpuh_session *session)
{
	struct vgpu_peer *peer = session->peer;
	struct vgpu_agent_event *event = xchg(&session->close.event, NULL);

	if (event)
		vgpu_agent_notify(peer->agent, event, VGPU_HOST_EVENT_SESSION_CLOSE, peer->id,
				  session->number);
}

static bool session_has_no_lanes(struct vgpuh_session *session)
{
	return !READ_ONCE(session->lanes.nr) || vgpu_conn_is_down(&session->peer->control.conn);
}

/*
 * End a session that the guest has closed, once its lanes are read to their ends.
 *
 * Nothing orders messages of a lane with those of the control connection. A process that ends
 * has sent an ACK or a CLOSE call by its lane, then ended its lanes, then sent SESSION_CLOSE
 * and perhaps CLOSE for a file. If the shadow were killed at once, an object that the guest has
 * would be taken back, and one that the guest has closed would stay. So the shadow's threads
 * get time to read each lane to its end. A thread that is in a driver all that time has nothing
 * left to read.
 */
static void session_close_work(struct work_struct *work)
{
	struct vgpuh_session *session = container_of(to_delayed_work(work), struct vgpuh_session,
						     close.work);

	/*
	 * The work item polls and does not sleep: a guest may close many sessions, and others
	 * need workers.
	 */
	if (!session_has_no_lanes(session) && time_before(jiffies, session->close.by)) {
		queue_delayed_work(vgpu_host_wq, &session->close.work, SESSION_CLOSE_POLL);
		return;
	}
	vgpu_cover_start();
	vgpuh_session_end(session);
	session_notify_closed(session);
	vgpuh_session_put(session);
	vgpu_cover_stop();
}

void vgpuh_session_close_later(struct vgpuh_session *session)
{
	/* Only the peer's thread calls this function. */
	if (session->close.begun)
		return;
	session->close.begun = true;
	session->close.by = jiffies + SESSION_CLOSE_WAIT;
	kref_get(&session->ref);
	queue_delayed_work(vgpu_host_wq, &session->close.work, 0);
}

int vgpuh_session_bind(struct vgpuh_session *session)
{
	struct mm_struct *mm = current->mm;
	int ret = 0;

	spin_lock(&session->process.lock);
	if (!session->process.mm && mm) {
		mmgrab(mm);
		session->process.mm = mm;
		session->process.pid = get_task_pid(current, PIDTYPE_TGID);
	}
	if (!mm || session->process.mm != mm)
		ret = -EINVAL;
	else if (session->ending)
		ret = -ESHUTDOWN;
	spin_unlock(&session->process.lock);
	return ret;
}

/* The function is never inlined, so that a test can make it fail (mock_flush.c). */
noinline bool vgpuh_session_charge(struct vgpuh_session *session, u32 len)
{
	/*
	 * The limit allows one message and one reply of full length, with memory of the shadow
	 * for the arguments of both, or many short ones.
	 */
	const long most = SESSION_BUDGET_CALLS * (long)session->peer->limits.call_bytes;

	if (atomic_long_add_return(len, &session->budget) <= most)
		return true;
	atomic_long_sub(len, &session->budget);
	return false;
}

void vgpuh_session_uncharge(struct vgpuh_session *session, u32 len)
{
	atomic_long_sub(len, &session->budget);
}

/*
 * Get memory for a long message. If the control group of the guest has none left, that is the
 * matter of this call alone: with __GFP_RETRY_MAYFAIL the kernel kills no process of the group,
 * among which it could not find the one whose messages take the memory. Memory in one piece, which
 * is quicker to make, is not worth waiting for.
 */
static void *session_alloc_buf(u32 len)
{
	const gfp_t flags = GFP_KERNEL_ACCOUNT | __GFP_NOWARN;

	return kmalloc(len, flags | __GFP_NORETRY) ?: __vmalloc(len, flags | __GFP_RETRY_MAYFAIL);
}

void *vgpuh_session_get_buf(struct vgpuh_session *session, u32 len)
{
	void *buf;

	if (!vgpuh_session_charge(session, len))
		return NULL;
	buf = session_alloc_buf(len);
	if (!buf)
		vgpuh_session_uncharge(session, len);
	return buf;
}

void vgpuh_session_put_buf(struct vgpuh_session *session, void *buf, u32 len)
{
	kvfree(buf);
	vgpuh_session_uncharge(session, len);
}
