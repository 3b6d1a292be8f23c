// SPDX-License-Identifier: GPL-2.0-only
/*
 * Dialers: connect, serve, and after a loss begin again, with back-off.
 *
 * A machine that goes to sleep loses its connections when vsock's device is frozen, and could have
 * them back before its other devices are awake. But until they are the kernel lets no driver have a
 * new device, so that a host's PCI devices would come in vain. So nobody dials meanwhile.
 */
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/printk.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/suspend.h>
#include <linux/wait.h>

#include "dialer.h"
#include "host.h"

#define DIALER_DELAY_MIN_MS	100
#define DIALER_DELAY_MAX_MS	3200

/**
 * struct vgpu_dialer - one configured host
 * @cid: context id
 * @port: port
 * @task: its thread
 * @wait: for the end, between attempts
 * @lock: guards @connecting, @host and setting @stopping
 * @connecting: a signal ends what the thread waits for
 * @host: while it is served
 * @stopping: no further host
 */
struct vgpu_dialer {
	u32 cid;
	u32 port;
	struct task_struct *task;
	wait_queue_head_t wait;
	struct mutex lock;
	bool connecting;
	struct vgpu_host *host;
	bool stopping;
};

/* The machine goes to sleep, or wakes up. */
static bool dialers_asleep;
/* Dialers wait here for the end of that, or for their own end. */
static DECLARE_WAIT_QUEUE_HEAD(dialers_awake);

static void dialer_serve(struct vgpu_dialer *dialer, struct vgpu_host *host)
{
	mutex_lock(&dialer->lock);
	dialer->host = host;
	if (dialer->stopping)
		vgpu_host_shutdown(host);
	mutex_unlock(&dialer->lock);

	vgpu_host_serve(host);

	mutex_lock(&dialer->lock);
	dialer->host = NULL;
	mutex_unlock(&dialer->lock);
	vgpu_host_abort(host);
}

/* Return: a host or an ERR_PTR(). */
static struct vgpu_host *dialer_connect(struct vgpu_dialer *dialer)
{
	struct vgpu_host *host = ERR_PTR(-EINTR);

	mutex_lock(&dialer->lock);
	dialer->connecting = !dialer->stopping && !READ_ONCE(dialers_asleep);
	mutex_unlock(&dialer->lock);

	if (dialer->connecting)
		host = vgpu_host_connect(dialer->cid, dialer->port);

	mutex_lock(&dialer->lock);
	dialer->connecting = false;
	mutex_unlock(&dialer->lock);
	/* Not for what comes now. */
	flush_signals(current);
	/* The dial began before, and its host would be served while the machine wakes up. */
	if (!IS_ERR(host) && READ_ONCE(dialers_asleep)) {
		vgpu_host_abort(host);
		host = ERR_PTR(-EINTR);
	}
	return host;
}

static int dialer_thread(void *data)
{
	struct vgpu_dialer *dialer = data;
	unsigned int delay = DIALER_DELAY_MIN_MS;
	int told = 0;

	allow_kernel_signal(SIGKILL);
	while (!READ_ONCE(dialer->stopping)) {
		struct vgpu_host *host = dialer_connect(dialer);

		if (!IS_ERR(host)) {
			pr_info("host %u:%u is connected\n", dialer->cid, dialer->port);
			dialer_serve(dialer, host);
			if (!READ_ONCE(dialer->stopping))
				pr_info("host %u:%u is lost\n", dialer->cid, dialer->port);
			delay = DIALER_DELAY_MIN_MS;
			told = 0;
		} else if (!told && !READ_ONCE(dialer->stopping) && !READ_ONCE(dialers_asleep)) {
			/* Once for each absence, whatever the later reasons are. */
			told = PTR_ERR(host);
			pr_info("host %u:%u does not answer (%d), trying on\n",
				dialer->cid, dialer->port, told);
		}
		wait_event_idle_timeout(dialer->wait, READ_ONCE(dialer->stopping),
					msecs_to_jiffies(delay));
		delay = min(2 * delay, (unsigned int)DIALER_DELAY_MAX_MS);
		/* The host has not been asked for long by then, and may be there again. */
		if (READ_ONCE(dialers_asleep))
			delay = DIALER_DELAY_MIN_MS;
		wait_event_idle(dialers_awake,
				READ_ONCE(dialer->stopping) || !READ_ONCE(dialers_asleep));
	}
	return 0;
}

static int dialers_pm(struct notifier_block *block, unsigned long event, void *data)
{
	switch (event) {
	case PM_SUSPEND_PREPARE:
	case PM_HIBERNATION_PREPARE:
	case PM_RESTORE_PREPARE:
		WRITE_ONCE(dialers_asleep, true);
		break;
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
	case PM_POST_RESTORE:
		WRITE_ONCE(dialers_asleep, false);
		wake_up_all(&dialers_awake);
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block dialers_notifier = { .notifier_call = dialers_pm };

/* Module init and exit; no dialer is there. */
int vgpu_dialer_global_init(void)
{
	return register_pm_notifier(&dialers_notifier);
}

void vgpu_dialer_global_exit(void)
{
	unregister_pm_notifier(&dialers_notifier);
}

/**
 * vgpu_dialer_start - keep a host connected from now on
 * @cid: context id
 * @port: port
 *
 * Return: the dialer or an ERR_PTR().
 */
struct vgpu_dialer *vgpu_dialer_start(u32 cid, u32 port)
{
	struct vgpu_dialer *dialer;
	struct task_struct *task;

	dialer = kzalloc(sizeof(*dialer), GFP_KERNEL);
	if (!dialer)
		return ERR_PTR(-ENOMEM);
	dialer->cid = cid;
	dialer->port = port;
	init_waitqueue_head(&dialer->wait);
	mutex_init(&dialer->lock);
	task = kthread_create(dialer_thread, dialer, "vgpu-%u:%u", cid, port);
	if (IS_ERR(task)) {
		kfree(dialer);
		return ERR_CAST(task);
	}
	dialer->task = get_task_struct(task);
	wake_up_process(task);
	return dialer;
}

/**
 * vgpu_dialer_stop - give a host up, and free the dialer
 * @dialer: the dialer
 *
 * Everything that used the host has ended afterwards.
 */
void vgpu_dialer_stop(struct vgpu_dialer *dialer)
{
	mutex_lock(&dialer->lock);
	WRITE_ONCE(dialer->stopping, true);
	if (dialer->host)
		vgpu_host_shutdown(dialer->host);
	if (dialer->connecting)
		send_sig(SIGKILL, dialer->task, 1);
	mutex_unlock(&dialer->lock);
	wake_up(&dialer->wait);
	wake_up_all(&dialers_awake);
	kthread_stop(dialer->task);
	put_task_struct(dialer->task);
	kfree(dialer);
}
