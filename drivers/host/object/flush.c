// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls of a driver's ->flush.
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
#include <linux/sched/signal.h>
#include <linux/wait.h>

#include "object/flush.h"
#include "object/object.h"
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
