// SPDX-License-Identifier: GPL-2.0-only
/*
 * Closes of objects whose last reference came back by a CLOSE message.
 *
 * A work item of the peer closes such objects in the order of the messages, as a driver's
 * ->release may take long. Calls and the peer's end wait for closes.
 */
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "base/work.h"
#include "cover.h"
#include "object/close.h"
#include "object/flush.h"
#include "object/leave.h"
#include "object/object.h"
#include "object/poll.h"
#include "peer/peer.h"

/* Take the next object to be closed; closes.seq keeps its place in the order. */
static struct vgpuh_object *close_next(struct vgpu_peer *peer)
{
	struct vgpuh_object *object;

	spin_lock(&peer->closes.lock);
	object = list_first_entry_or_null(&peer->closes.list, struct vgpuh_object, close.node);
	if (object)
		list_del_init(&object->close.node);
	peer->closes.seq = object ? object->close.seq : 0;
	spin_unlock(&peer->closes.lock);
	/* The close before this one is applied now. */
	vgpuh_close_wake(peer);
	/* The peer's end waits for all closes. */
	if (!object)
		wake_up_all(&peer->wait);
	return object;
}

static void close_work(struct work_struct *work)
{
	struct vgpu_peer *peer = container_of(work, struct vgpu_peer, closes.work);
	/*
	 * The deadline is common to all objects that are found here, as later calls wait for
	 * all of them.
	 */
	unsigned long flush_by = vgpuh_object_flush_by();
	struct vgpuh_object *object;
	struct vgpu_leave_wait wait;
	unsigned long flushed;
	bool leaves;

	vgpu_cover_start();
	while ((object = close_next(peer))) {
		leaves = object->leave.number;
		/* A close without a number is not the guest's: the host has cut the grant. */
		if (!object->close.seq)
			vgpu_poll_hang_up(object);
		vgpuh_object_flush(object, flush_by);
		flushed = jiffies;
		if (leaves)
			vgpu_leave_expect(object, &wait);
		vgpuh_object_put(object);
		/* The time of the driver's ->release does not count for the next object. */
		flush_by += jiffies - flushed;
		/* Another work item puts the file, and calls may wait for that. */
		if (leaves)
			vgpu_leave_wait(peer, object, &wait, TASK_IDLE);
	}
	vgpu_cover_stop();
}

void vgpu_close_queue(struct vgpuh_object *object, u64 seq)
{
	struct vgpu_peer *peer = object->peer;

	object->close.seq = seq;
	spin_lock(&peer->closes.lock);
	list_add_tail(&object->close.node, &peer->closes.list);
	spin_unlock(&peer->closes.lock);
	queue_work(vgpu_host_patient_wq, &peer->closes.work);
}

/* --- calls that wait for control messages ------------------------------------ */

/*
 * A call of the guest that waits. A guest may have many lanes, and say in each call that the call
 * follows a message which never comes. So the calls wait in a tree in the order of the messages,
 * where each message costs no more than the calls that it lets go on.
 */
struct close_wait {
	struct rb_node node;
	u64 seq;
	struct task_struct *task;
};

/* Return the number of the first control message that has not come or is not applied. */
static u64 close_next_seq_locked(struct vgpu_peer *peer)
{
	const struct vgpuh_object *object;
	u64 next = READ_ONCE(peer->control.seq) + 1;

	lockdep_assert_held(&peer->closes.lock);
	object = list_first_entry_or_null(&peer->closes.list, struct vgpuh_object, close.node);
	if (object)
		next = min(next, object->close.seq);
	if (peer->closes.seq)
		next = min(next, peer->closes.seq);
	return next;
}

bool vgpu_close_applied(struct vgpu_peer *peer, u64 seq)
{
	bool applied;

	spin_lock(&peer->closes.lock);
	applied = seq < close_next_seq_locked(peer);
	spin_unlock(&peer->closes.lock);
	return applied;
}

static bool close_wait_less(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct close_wait, node)->seq <
		rb_entry(b, struct close_wait, node)->seq;
}

/* Put the call into the tree, unless it may go on. Return: true if it may. */
static bool close_wait_add(struct vgpu_peer *peer, struct close_wait *wait)
{
	bool applied;

	spin_lock(&peer->closes.lock);
	applied = wait->seq < close_next_seq_locked(peer);
	if (!applied && RB_EMPTY_NODE(&wait->node))
		rb_add_cached(&wait->node, &peer->closes.waits, close_wait_less);
	spin_unlock(&peer->closes.lock);
	return applied;
}

static void close_wait_remove(struct vgpu_peer *peer, struct close_wait *wait)
{
	spin_lock(&peer->closes.lock);
	if (!RB_EMPTY_NODE(&wait->node))
		rb_erase_cached(&wait->node, &peer->closes.waits);
	spin_unlock(&peer->closes.lock);
}

int vgpuh_close_wait(struct vgpu_peer *peer, u64 seq, long timeout)
{
	struct close_wait wait = { .seq = seq, .task = current };
	bool killed;

	RB_CLEAR_NODE(&wait.node);
	for (;;) {
		set_current_state(TASK_KILLABLE);
		killed = fatal_signal_pending(current);
		if (close_wait_add(peer, &wait) || killed || !timeout)
			break;
		timeout = schedule_timeout(timeout);
	}
	__set_current_state(TASK_RUNNING);
	close_wait_remove(peer, &wait);
	return killed ? -EINTR : 0;
}

/* Take a call that may go on out of the tree. Return: its task with a reference, or NULL. */
static struct task_struct *close_wait_next(struct vgpu_peer *peer)
{
	struct task_struct *task = NULL;
	struct close_wait *wait;
	struct rb_node *node;

	spin_lock(&peer->closes.lock);
	node = rb_first_cached(&peer->closes.waits);
	wait = node ? rb_entry(node, struct close_wait, node) : NULL;
	if (wait && wait->seq < close_next_seq_locked(peer)) {
		rb_erase_cached(node, &peer->closes.waits);
		RB_CLEAR_NODE(node);
		task = get_task_struct(wait->task);
	}
	spin_unlock(&peer->closes.lock);
	return task;
}

void vgpuh_close_wake(struct vgpu_peer *peer)
{
	struct task_struct *task;

	while ((task = close_wait_next(peer))) {
		wake_up_process(task);
		put_task_struct(task);
		cond_resched();
	}
}

bool vgpu_close_all_over(struct vgpu_peer *peer)
{
	bool over;

	spin_lock(&peer->closes.lock);
	over = list_empty(&peer->closes.list) && !peer->closes.seq;
	spin_unlock(&peer->closes.lock);
	return over;
}

void vgpu_close_init(struct vgpu_peer *peer)
{
	INIT_WORK(&peer->closes.work, close_work);
}
