// SPDX-License-Identifier: GPL-2.0-only
/*
 * Closes of objects: calls of a driver's ->flush, and objects whose last reference came back by a
 * CLOSE message.
 *
 * A work item of the peer closes such objects in the order of the messages, as a driver's
 * ->release may take long. Calls and the peer's end wait for closes.
 *
 * A driver's ->flush precedes a file's release. That of amdgpu waits until the device has accepted
 * what the file's owner has submitted, for any time, unless the task is killed.
 *
 * If a process of the guest closes a file, its lane's thread calls ->flush. That thread waits
 * as the process would, and is killed with it. Processes that have ended, and processes without
 * a session that have the file from elsewhere, close by CLOSE messages. Every later call of the
 * guest has to wait for such a close. So a thread that can be killed calls ->flush. The thread
 * is killed when files that are closed one after the other have taken the time that amdgpu
 * gives a task that ends. It is killed at once when the guest is gone, as no one is left for whom a
 * driver would have to wait.
 *
 * No file is released without ->flush: that of amdxdna removes its owner from a list, and
 * ->release frees the owner.
 */
#include <linux/fdtable.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "base/work.h"
#include "cover.h"
#include "object/close.h"
#include "object/leave.h"
#include "object/object.h"
#include "object/poll.h"
#include "peer/peer.h"

/* Time that amdgpu waits at most in a task that ends (MAX_WAIT_SCHED_ENTITY_Q_EMPTY). */
#define FLUSH_WAIT	HZ
/* Time between signals to a thread, as a signal may come before allow_signal(). */
#define FLUSH_KILL_POLL	max(HZ / 50, 1)

struct flush {
	struct vgpu_peer *peer;
	struct file *file;
	bool done;
};

/* Call ->flush as close() does; the last reference of the file stays. */
static void flush_file(struct file *file, struct files_struct *owner)
{
	get_file(file);
	filp_close(file, owner);
}

static int flush_run(void *data)
{
	struct flush *flush = data;

	allow_signal(SIGKILL);
	/*
	 * A guest that is gone may leave many files. If the creator's signal came before
	 * allow_signal(), the creator sleeps before it sends another one, and would do so for
	 * each file.
	 */
	if (READ_ONCE(flush->peer->closing))
		send_sig(SIGKILL, current, 1);
	flush_file(flush->file, NULL);
	/* Pairs with flush_is_done(). */
	smp_store_release(&flush->done, true);
	wake_up_all(&flush->peer->wait);
	/*
	 * The thread runs the module's code. So it does not end before its creator, which holds
	 * the module, waits in kthread_stop().
	 */
	for (;;) {
		set_current_state(TASK_IDLE);
		if (kthread_should_stop())
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

static bool flush_is_done(const struct flush *flush)
{
	/* Pairs with flush_run(). */
	return smp_load_acquire(&flush->done);
}

static void flush_by_thread(struct vgpu_peer *peer, struct file *file, unsigned long by)
{
	struct flush flush = { .peer = peer, .file = file };
	long left = max_t(long, by - jiffies, 1);
	struct task_struct *thread;

	thread = kthread_run(flush_run, &flush, "vgpu-flush/%u", peer->id);
	/* There is no memory for a thread, so the caller itself waits for ->flush, for any time. */
	if (IS_ERR(thread)) {
		flush_file(file, NULL);
		return;
	}
	wait_event_idle_timeout(peer->wait, flush_is_done(&flush) || READ_ONCE(peer->closing),
				left);
	while (!flush_is_done(&flush)) {
		send_sig(SIGKILL, thread, 1);
		wait_event_idle_timeout(peer->wait, flush_is_done(&flush), FLUSH_KILL_POLL);
	}
	kthread_stop(thread);
}

unsigned long vgpuh_object_flush_by(void)
{
	return jiffies + FLUSH_WAIT;
}

void vgpuh_object_flush(struct vgpuh_object *object, unsigned long by)
{
	struct file *file = object->file;

	if (object->close.flushed)
		return;
	object->close.flushed = true;
	if (!file->f_op->flush)
		return;
	if (current->flags & PF_KTHREAD)
		flush_by_thread(object->peer, file, by);
	else
		flush_file(file, current->files);
}

/* --- CLOSE messages --------------------------------------------------------- */

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
	unsigned long flushed;
	u64 leave;

	vgpu_cover_start();
	while ((object = close_next(peer))) {
		leave = object->leave.number;
		/* A close without a number is not the guest's: the host has cut the grant. */
		if (!object->close.seq)
			vgpu_poll_hang_up(object);
		vgpuh_object_flush(object, flush_by);
		flushed = jiffies;
		vgpuh_object_put(object);
		/* The time of the driver's ->release does not count for the next object. */
		flush_by += jiffies - flushed;
		/* Another work item puts the file, and calls may wait for that. */
		if (leave)
			wait_event_idle(peer->wait, vgpu_leave_settled(peer, leave));
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

bool vgpu_close_applied(struct vgpu_peer *peer, u64 seq)
{
	struct vgpuh_object *object;
	bool applied;

	spin_lock(&peer->closes.lock);
	object = list_first_entry_or_null(&peer->closes.list, struct vgpuh_object, close.node);
	applied = READ_ONCE(peer->control.seq) >= seq &&
		  !(object && object->close.seq <= seq) &&
		  !(peer->closes.seq && peer->closes.seq <= seq);
	spin_unlock(&peer->closes.lock);
	return applied;
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
