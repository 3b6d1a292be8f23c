// SPDX-License-Identifier: GPL-2.0-only
/*
 * Dialers connect to a host, serve the connection, and connect again after a loss, with
 * back-off. /sys/module/vgpu_guest/hosts/CID:PORT has the state of each dialer, for a user who
 * misses a device.
 *
 * A machine that goes to sleep loses its connections when vsock's device is frozen. At wakeup
 * vsock's device may work again before other devices do. Until all devices work, the kernel binds
 * no driver to a new device, so a host's PCI devices would stay without driver. So dialers pause
 * from before programs are frozen until they run again.
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

#include "link/dialer.h"
#include "link/host.h"

#define DIALER_DELAY_MIN_MS	100
#define DIALER_DELAY_MAX_MS	3200

/**
 * enum dialer_state - state of a dialer
 * @DIALER_CONNECTING: first attempt under way, or connection just lost
 * @DIALER_CONNECTED: serving a connection
 * @DIALER_ABSENT: no host answers
 * @DIALER_REFUSED: the host has refused this guest
 * @DIALER_VERSION: no common version of the protocol
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
 * @kobj: directory in sysfs; its release frees the dialer
 * @cid: context id
 * @port: port
 * @task: thread of the dialer
 * @entry: entry in the list dialers; used by module init and exit only
 * @lock: guards @connecting, @host and setting @stopping
 * @connecting: true while SIGKILL may be sent to end the attempt
 * @host: host while its connection is served, or NULL
 * @stopping: true if the thread shall end
 * @state: state for sysfs; written by the thread
 * @error: positive errno with which the last attempt ended; 0: no attempt has ended, or connected
 */
struct vgpu_dialer {
	struct kobject kobj;
	u32 cid;
	u32 port;
	struct task_struct *task;
	struct list_head entry;
	struct mutex lock;
	bool connecting;
	struct vgpu_host *host;
	bool stopping;
	enum dialer_state state;
	int error;
};

/* Directory "hosts" of the module in sysfs, with a directory for each host. */
static struct kobject *dialers_kobj;

/* List of all dialers; used by module init and exit only. */
static LIST_HEAD(dialers);

/* True from before programs are frozen for a sleep until they run again. */
static bool dialers_asleep;
/* Wait queue of dialers between attempts or in a sleep; woken after it and to stop a dialer. */
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

/* Sets state and error, and wakes programs that poll() the state. */
static void dialer_set(struct vgpu_dialer *dialer, enum dialer_state state, int error)
{
	if (dialer->state == state && dialer->error == error)
		return;
	WRITE_ONCE(dialer->error, error);
	WRITE_ONCE(dialer->state, state);
	sysfs_notify(&dialer->kobj, NULL, "state");
}

/* --- the thread ----------------------------------------------------------- */

/* Serves a connected host. Return: the reason why the connection is over. */
static int dialer_serve(struct vgpu_dialer *dialer, struct vgpu_host *host)
{
	int ret;

	mutex_lock(&dialer->lock);
	dialer->host = host;
	if (dialer->stopping)
		vgpu_conn_shutdown(&host->conn);
	mutex_unlock(&dialer->lock);

	ret = vgpu_host_serve(host);

	mutex_lock(&dialer->lock);
	dialer->host = NULL;
	mutex_unlock(&dialer->lock);
	vgpu_host_abort(host);
	return ret;
}

/* Tries to connect. Return: a host, or an ERR_PTR() that is the host's answer if @refused. */
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
	/* Drop a SIGKILL that came for the attempt; later waits must not see it. */
	flush_signals(current);
	/*
	 * Discard a connection that was dialled before the sleep began: its host would be
	 * served while the machine wakes up.
	 */
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

/* Logs the reason of a failure, each reason only once until the next connection. */
static void dialer_tell(struct vgpu_dialer *dialer, unsigned long *told)
{
	if (test_and_set_bit(dialer->state, told))
		return;
	if (dialer->state == DIALER_ABSENT)
		pr_info("host %u:%u does not answer (error %d), retrying\n",
			dialer->cid, dialer->port, -dialer->error);
	else
		pr_info("host %u:%u: %s (error %d), retrying\n", dialer->cid, dialer->port,
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
				pr_info("connection to host %u:%u is lost (error %d)\n",
					dialer->cid, dialer->port, -ret);
			delay = DIALER_DELAY_MIN_MS;
			told = 0;
		} else if (!READ_ONCE(dialer->stopping) && !READ_ONCE(dialers_asleep)) {
			dialer_set(dialer, dialer_failed(PTR_ERR(host), refused), -PTR_ERR(host));
			dialer_tell(dialer, &told);
		}
		wait_event_idle_timeout(dialers_awake, READ_ONCE(dialer->stopping),
					msecs_to_jiffies(delay));
		delay = min(2 * delay, (unsigned int)DIALER_DELAY_MAX_MS);
		/* Reset the back-off: after the sleep the host may be there again. */
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

/*
 * Sets up the directory in sysfs and the PM notifier. Called on module init, before any dialer is
 * started; vgpu_dialer_global_exit() on module exit, after the last one was stopped.
 */
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
 * vgpu_dialer_add - prepare a dialer, which keeps a host connected once it is started
 * @cid: context id
 * @port: port
 *
 * Return: 0 or an errno.
 */
int vgpu_dialer_add(u32 cid, u32 port)
{
	struct vgpu_dialer *dialer;
	struct task_struct *task;
	int ret;

	dialer = kzalloc(sizeof(*dialer), GFP_KERNEL);
	if (!dialer)
		return -ENOMEM;
	dialer->cid = cid;
	dialer->port = port;
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
	list_add(&dialer->entry, &dialers);
	return 0;

err_put:
	kobject_put(&dialer->kobj);
	return ret;
}

/**
 * vgpu_dialer_start_all - start all dialers
 *
 * Nothing of module init may fail after this. A dialer that connects makes devices, and a program
 * that has one open uses the module's code, which the kernel frees when init fails.
 */
void vgpu_dialer_start_all(void)
{
	struct vgpu_dialer *dialer;

	list_for_each_entry(dialer, &dialers, entry)
		wake_up_process(dialer->task);
}

/*
 * Ends a host's connection and frees the dialer. On return the dialer's thread has ended, and
 * vgpu_host_abort() has ended all users of the connection. A thread that was not started ends
 * without running.
 */
static void dialer_stop(struct vgpu_dialer *dialer)
{
	mutex_lock(&dialer->lock);
	WRITE_ONCE(dialer->stopping, true);
	if (dialer->host)
		vgpu_conn_shutdown(&dialer->host->conn);
	if (dialer->connecting)
		send_sig(SIGKILL, dialer->task, 1);
	mutex_unlock(&dialer->lock);
	wake_up_all(&dialers_awake);
	kthread_stop(dialer->task);
	put_task_struct(dialer->task);
	kobject_put(&dialer->kobj);
}

/* Stops all dialers, started or not, the newest first. */
void vgpu_dialer_stop_all(void)
{
	struct vgpu_dialer *dialer, *next;

	list_for_each_entry_safe(dialer, next, &dialers, entry)
		dialer_stop(dialer);
	INIT_LIST_HEAD(&dialers);
}
