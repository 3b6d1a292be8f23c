// SPDX-License-Identifier: GPL-2.0-only
/*
 * A driver's ->flush, which comes before a file's release. That of amdgpu waits until the device
 * has taken on what the file's owner has submitted, for as long as that takes, unless the task is
 * killed.
 *
 * A process of the guest that closes a file has it done by its lane's thread, which waits as the
 * process would, and is killed with it. One that has ended closes by CLOSE messages, and nobody
 * waits for these but whoever has to come after them: a thread that can be killed calls ->flush,
 * and is, after the time that such a driver gives a task that ends. When the guest is gone, there
 * is nobody left for whom it would be done.
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

static void flush_by_thread(struct vgpu_peer *peer, struct file *file)
{
	struct flush flush = { .peer = peer, .file = file };
	struct task_struct *thread;

	thread = kthread_run(flush_run, &flush, "vgpu-flush/%u", peer->id);
	/* Without one the file is released as that of a killed process. */
	if (IS_ERR(thread))
		return;
	wait_event_idle_timeout(peer->wait, flush_is_done(&flush) || READ_ONCE(peer->closing),
				FLUSH_WAIT);
	while (!flush_is_done(&flush)) {
		send_sig(SIGKILL, thread, 1);
		wait_event_idle_timeout(peer->wait, flush_is_done(&flush), FLUSH_KILL_POLL);
	}
	kthread_stop(thread);
}

void vgpu_object_flush(struct vgpu_object *object)
{
	struct vgpu_peer *peer = object->peer;
	struct file *file = object->file;

	if (!file->f_op->flush || READ_ONCE(peer->closing))
		return;
	if (current->flags & PF_KTHREAD)
		flush_by_thread(peer, file);
	else
		flush_file(file, current->files);
}
