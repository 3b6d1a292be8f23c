// SPDX-License-Identifier: GPL-2.0-only
/*
 * Dialers: connect, serve, and after a loss begin again, with back-off. How far each has come
 * is in /sys/module/vgpu_guest/hosts/CID:PORT, for whoever misses a device.
 *
 * A machine that goes to sleep loses its connections when vsock's device is frozen, and could have
 * them back before its other devices are awake. But until they are the kernel lets no driver have a
 * new device, so that a host's PCI devices would come in vain. So nobody dials meanwhile.
 */
#include <linux/err.h>
#include <linux/kobject.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/printk.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/suspend.h>
#include <linux/sysfs.h>
#include <linux/wait.h>

#include "dialer.h"
#include "host.h"

#define DIALER_DELAY_MIN_MS	100
#define DIALER_DELAY_MAX_MS	3200

/**
 * enum dialer_state - how far a dialer has come
 * @DIALER_CONNECTING: no attempt has ended yet, or it has just lost its host
 * @DIALER_CONNECTED: it serves a host
 * @DIALER_ABSENT: nobody answers
 * @DIALER_REFUSED: the host does not let this guest in
 * @DIALER_VERSION: both speak other versions
 * @DIALER_NOTHING: the host exports nothing to this guest
 */
enum dialer_state {
	DIALER_CONNECTING,
	DIALER_CONNECTED,
	DIALER_ABSENT,
	DIALER_REFUSED,
	DIALER_VERSION,
	DIALER_NOTHING,
};

static const char *const dialer_words[] = {
	[DIALER_CONNECTING] = "connecting",
	[DIALER_CONNECTED] = "connected",
	[DIALER_ABSENT] = "no host",
	[DIALER_REFUSED] = "refused",
	[DIALER_VERSION] = "wrong version",
	[DIALER_NOTHING] = "nothing exported",
};

/**
 * struct vgpu_dialer - one configured host
 * @kobj: its folder in sysfs, with which it is freed
 * @cid: context id
 * @port: port
 * @task: its thread
 * @wait: for the end, between attempts
 * @lock: guards @connecting, @host and setting @stopping
 * @connecting: a signal ends what the thread waits for
 * @host: while it is served
 * @stopping: no further host
 * @state: for sysfs; the thread's
 * @error: errno with which the last attempt ended; 0: none has ended, or it is connected
 */
struct vgpu_dialer {
	struct kobject kobj;
	u32 cid;
	u32 port;
	struct task_struct *task;
	wait_queue_head_t wait;
	struct mutex lock;
	bool connecting;
	struct vgpu_host *host;
	bool stopping;
	enum dialer_state state;
	int error;
};

/* The module's folder "hosts" in sysfs has a folder for each host. */
static struct kobject *dialers_kobj;

/* The machine goes to sleep, or wakes up. */
static bool dialers_asleep;
/* Dialers wait here for the end of that, or for their own end. */
static DECLARE_WAIT_QUEUE_HEAD(dialers_awake);

/* --- sysfs ---------------------------------------------------------------- */

static struct vgpu_dialer *to_dialer(struct kobject *kobj)
{
	return container_of(kobj, struct vgpu_dialer, kobj);
}

static ssize_t state_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", dialer_words[READ_ONCE(to_dialer(kobj)->state)]);
}

static ssize_t error_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(to_dialer(kobj)->error));
}

static struct kobj_attribute dialer_state_attr = __ATTR_RO(state);
static struct kobj_attribute dialer_error_attr = __ATTR_RO(error);

static struct attribute *dialer_attrs[] = {
	&dialer_state_attr.attr,
	&dialer_error_attr.attr,
	NULL
};
ATTRIBUTE_GROUPS(dialer);

static void dialer_release(struct kobject *kobj)
{
	kfree(to_dialer(kobj));
}

static const struct kobj_type dialer_ktype = {
	.release = dialer_release,
	.sysfs_ops = &kobj_sysfs_ops,
	.default_groups = dialer_groups,
};

/* Programs can poll() for it. */
static void dialer_set(struct vgpu_dialer *dialer, enum dialer_state state, int error)
{
	if (dialer->state == state && dialer->error == error)
		return;
	WRITE_ONCE(dialer->error, error);
	WRITE_ONCE(dialer->state, state);
	sysfs_notify(&dialer->kobj, NULL, "state");
}

/* --- the thread ----------------------------------------------------------- */

/* Return: why the connection is over. */
static int dialer_serve(struct vgpu_dialer *dialer, struct vgpu_host *host)
{
	int ret;

	mutex_lock(&dialer->lock);
	dialer->host = host;
	if (dialer->stopping)
		vgpu_host_shutdown(host);
	mutex_unlock(&dialer->lock);

	ret = vgpu_host_serve(host);

	mutex_lock(&dialer->lock);
	dialer->host = NULL;
	mutex_unlock(&dialer->lock);
	vgpu_host_abort(host);
	return ret;
}

/* Return: a host or an ERR_PTR(), which is the host's if @refused. */
static struct vgpu_host *dialer_connect(struct vgpu_dialer *dialer, bool *refused)
{
	struct vgpu_host *host = ERR_PTR(-EINTR);

	mutex_lock(&dialer->lock);
	dialer->connecting = !dialer->stopping && !READ_ONCE(dialers_asleep);
	mutex_unlock(&dialer->lock);

	*refused = false;
	if (dialer->connecting)
		host = vgpu_host_connect(dialer->cid, dialer->port, refused);

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

static enum dialer_state dialer_failed(int error, bool refused)
{
	if (!refused)
		return DIALER_ABSENT;
	switch (error) {
	case -EPROTONOSUPPORT:
		return DIALER_VERSION;
	case -ENOENT:
		return DIALER_NOTHING;
	default:
		return DIALER_REFUSED;
	}
}

/* Each reason is said once for each absence. */
static void dialer_tell(struct vgpu_dialer *dialer, unsigned long *told)
{
	if (test_and_set_bit(dialer->state, told))
		return;
	if (dialer->state == DIALER_ABSENT)
		pr_info("host %u:%u does not answer (%d), trying on\n",
			dialer->cid, dialer->port, -dialer->error);
	else
		pr_info("host %u:%u: %s (%d), trying on\n", dialer->cid, dialer->port,
			dialer_words[dialer->state], -dialer->error);
}

static int dialer_thread(void *data)
{
	struct vgpu_dialer *dialer = data;
	unsigned int delay = DIALER_DELAY_MIN_MS;
	unsigned long told = 0;

	allow_kernel_signal(SIGKILL);
	while (!READ_ONCE(dialer->stopping)) {
		bool refused;
		int ret;
		struct vgpu_host *host = dialer_connect(dialer, &refused);

		if (!IS_ERR(host)) {
			pr_info("host %u:%u is connected\n", dialer->cid, dialer->port);
			dialer_set(dialer, DIALER_CONNECTED, 0);
			ret = dialer_serve(dialer, host);
			dialer_set(dialer, DIALER_CONNECTING, 0);
			if (!READ_ONCE(dialer->stopping))
				pr_info("host %u:%u is lost (%d)\n", dialer->cid, dialer->port,
					-ret);
			delay = DIALER_DELAY_MIN_MS;
			told = 0;
		} else if (!READ_ONCE(dialer->stopping) && !READ_ONCE(dialers_asleep)) {
			dialer_set(dialer, dialer_failed(PTR_ERR(host), refused), -PTR_ERR(host));
			dialer_tell(dialer, &told);
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
	int ret;

	dialers_kobj = kobject_create_and_add("hosts", &THIS_MODULE->mkobj.kobj);
	if (!dialers_kobj)
		return -ENOMEM;
	ret = register_pm_notifier(&dialers_notifier);
	if (ret)
		kobject_put(dialers_kobj);
	return ret;
}

void vgpu_dialer_global_exit(void)
{
	unregister_pm_notifier(&dialers_notifier);
	kobject_put(dialers_kobj);
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
	int ret;

	dialer = kzalloc(sizeof(*dialer), GFP_KERNEL);
	if (!dialer)
		return ERR_PTR(-ENOMEM);
	dialer->cid = cid;
	dialer->port = port;
	init_waitqueue_head(&dialer->wait);
	mutex_init(&dialer->lock);
	ret = kobject_init_and_add(&dialer->kobj, &dialer_ktype, dialers_kobj, "%u:%u", cid, port);
	if (ret)
		goto err_put;
	task = kthread_create(dialer_thread, dialer, "vgpu-%u:%u", cid, port);
	if (IS_ERR(task)) {
		ret = PTR_ERR(task);
		goto err_put;
	}
	dialer->task = get_task_struct(task);
	wake_up_process(task);
	return dialer;

err_put:
	kobject_put(&dialer->kobj);
	return ERR_PTR(ret);
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
	kobject_put(&dialer->kobj);
}
