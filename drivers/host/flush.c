// SPDX-License-Identifier: GPL-2.0-only
/*
 * A driver's ->flush, which comes before a file's release. That of amdgpu waits until the device
 * has taken on what the file's owner has submitted, for as long as that takes, unless the task is
 * killed.
 *
 * A process of the guest that closes a file has it done by its lane's thread, which waits as the
 * process would, and is killed with it. Others close by CLOSE messages: those that have ended, and
 * those that have no session, as what they close came from elsewhere. Nobody waits for these but
 * whoever has to come after them, which is every later call of the guest: so a thread that can be
 * killed calls ->flush, and it is, when those that are closed one after the other have taken the
 * time that such a driver gives a task that ends. When the guest is gone, there is nobody left for
 * whom a driver would wait.
 *
 * No file goes without: amdxdna's ->flush takes its owner off a list, and ->release frees it.
 */
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kthread.h>
#include <linux/sched/signal.h>

#include "host.h"

/* A task that ends waits no longer for amdgpu (MAX_WAIT_SCHED_ENTITY_Q_EMPTY). */
#define FLUSH_WAIT	HZ
/* Between signals to a thread that may not have asked for them yet. */
#define FLUSH_KILL_POLL	max(HZ / 50, 1)

struct flush {
	struct vgpu_peer *peer;
	struct file *file;
	bool done;
};

/* As close() does it; the last reference stays. */
static void flush_file(struct file *file, struct files_struct *owner)
{
	get_file(file);
	filp_close(file, owner);
}

static int flush_run(void *data)
{
	struct flush *flush = data;

	allow_signal(SIGKILL);
	/* There may be many, and a signal that comes later is one for which somebody has slept. */
	if (READ_ONCE(flush->peer->closing))
		send_sig(SIGKILL, current, 1);
	flush_file(flush->file, NULL);
	/* Pairs with flush_is_done(). */
	smp_store_release(&flush->done, true);
	wake_up_all(&flush->peer->wait);
	/* The module's text ends no sooner than who waits in kthread_stop(). */
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
	/* There is no memory for one. */
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

unsigned long vgpu_object_flush_by(void)
{
	return jiffies + FLUSH_WAIT;
}

void vgpu_object_flush(struct vgpu_object *object, unsigned long by)
{
	struct file *file = object->file;

	if (object->flushed)
		return;
	object->flushed = true;
	if (!file->f_op->flush)
		return;
	if (current->flags & PF_KTHREAD)
		flush_by_thread(object->peer, file, by);
	else
		flush_file(file, current->files);
}
