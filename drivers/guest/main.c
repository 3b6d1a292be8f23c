// SPDX-License-Identifier: GPL-2.0-only
/* vgpu_guest.ko: offers the devices of hosts like devices of this machine. */
#include <linux/module.h>
#include <linux/moduleparam.h>

#include "anon.h"
#include "memory/flush_list.h"
#include "conn.h"
#include "file/event.h"
#include "file/object.h"
#include "link/control.h"
#include "link/dialer.h"
#include "link/host.h"
#include "link/session.h"
#include "memory/flush_all.h"
#include "memory/keep.h"
#include "memory/move_queue.h"
#include "memory/reclaim.h"
#include "memory/reserve.h"
#include "memory/space.h"
#include "memory/state.h"
#include "memory/window_announce.h"
#include "memory/window_device.h"
#include "memory/window_fault.h"
#include "memory/window_range.h"
#include "node/device.h"
#include "node/drm.h"
#include "node/export_node.h"

#define GUEST_HOSTS_MAX	8

static unsigned int cid[GUEST_HOSTS_MAX] = { 2 };
static unsigned int nr_cid = 1;
module_param_array(cid, uint, &nr_cid, 0444);
MODULE_PARM_DESC(cid, "vsock context ids of the hosts (default: 2)");

static unsigned int port[GUEST_HOSTS_MAX];
static unsigned int nr_port;
module_param_array(port, uint, &nr_port, 0444);
MODULE_PARM_DESC(port, "vsock port of each host, in the order of cid (default: "
		 __stringify(VGPU_WIRE_PORT) ")");

/* --- messages of a host --------------------------------------------------- */

static int guest_message(struct vgpu_host *host, const struct vgpu_hdr *hdr)
{
	const void *msg = hdr;
	const struct vgpu_export_del *del = msg;
	const struct vgpu_event_signal *signal = msg;
	const struct vgpu_release *release = msg;

	switch (le16_to_cpu(hdr->type)) {
	case VGPU_MSG_EXPORT_ADD:
		return vgpu_export_add(host, msg);
	case VGPU_MSG_EXPORT_DEL:
		vgpu_export_del(host, le32_to_cpu(del->export));
		return 0;
	case VGPU_MSG_EXPORT_CHANGE:
		vgpu_export_change(host, msg);
		return 0;
	case VGPU_MSG_EXPORT_FILE:
		return vgpu_export_file(host, msg);
	case VGPU_MSG_POLL_EVENT:
		vgpu_object_poll_event(host, msg);
		return 0;
	case VGPU_MSG_EVENT:
		if (le32_to_cpu(signal->flags) & VGPU_EVENT_OVER)
			vgpu_event_cancel(host, le32_to_cpu(signal->event));
		else
			vgpu_event_signal(host, le32_to_cpu(signal->event));
		return 0;
	case VGPU_MSG_WINDOW:
		vgpu_window_announce(host, msg);
		return 0;
	case VGPU_MSG_INVALIDATE:
		vgpu_window_invalidate(host, msg);
		return 0;
	case VGPU_MSG_UNBOUND:
		vgpu_window_unbound(host, msg);
		return 0;
	case VGPU_MSG_RELEASE:
		vgpu_keep_released(host, le64_to_cpu(release->number));
		return 0;
	default:
		return -EPROTO;
	}
}

/* --- hosts and sessions --------------------------------------------------- */

static int guest_host_init(struct vgpu_host *host)
{
	INIT_WORK(&host->events.work, vgpu_event_signal_work);
	return vgpu_host_memory_init(host);
}

static int guest_host_start(struct vgpu_host *host)
{
	return vgpu_reclaim_start(&host->memory->spaces);
}

static void guest_host_abort(struct vgpu_host *host)
{
	vgpu_session_abort_all(host);
	vgpu_object_hangup_all(host);
	vgpu_window_abort(host);
	vgpu_move_abort(host);
	vgpu_space_set_abort(&host->memory->spaces);
	vgpu_reclaim_stop(&host->memory->spaces);
	vgpu_export_del_all(host);
}

static const struct vgpu_host_ops guest_host_ops = {
	.message = guest_message,
	.init = guest_host_init,
	.start = guest_host_start,
	.settle = vgpu_drm_settle,
	.abort = guest_host_abort,
	.end = vgpu_keep_set_abort,
	.fini = vgpu_host_memory_fini,
	.session_init = vgpu_session_memory_init,
	.session_fini = vgpu_session_memory_fini,
};

/* --- the module ----------------------------------------------------------- */

static unsigned int guest_port(unsigned int i)
{
	return i < nr_port && port[i] ? port[i] : VGPU_WIRE_PORT;
}

/* Prepares a dialer for each host. Return: 0, or an errno: there is no dialer then. */
static int guest_add_dialers(void)
{
	unsigned int i, j;
	int ret = 0;

	/* A host would take the second connection for a replacement of the first. */
	for (i = 0; i < nr_cid; i++)
		for (j = 0; j < i; j++)
			if (cid[i] == cid[j] && guest_port(i) == guest_port(j)) {
				pr_err("host %u:%u is given twice by the parameters cid and port: give each host once\n",
				       cid[i], guest_port(i));
				return -EINVAL;
			}

	for (i = 0; i < nr_cid && !ret; i++)
		ret = vgpu_dialer_add(cid[i], guest_port(i));
	if (ret)
		vgpu_dialer_stop_all();
	return ret;
}

/* Waits until all devices are freed, and exits exports. */
static void guest_exit_exports(void)
{
	vgpu_device_global_exit();
	vgpu_export_global_exit();
}

/* Parts of the module in the order of their init; the exit is in reverse order. */
static const struct {
	int (*init)(void);
	void (*exit)(void);
} guest_parts[] = {
	{ vgpu_anon_init, vgpu_anon_exit },
	{ vgpu_control_global_init, vgpu_control_global_exit },
	{ vgpu_flush_global_init, vgpu_flush_global_exit },
	{ vgpu_move_global_init, vgpu_move_global_exit },
	{ vgpu_keep_global_init, vgpu_keep_global_exit },
	{ vgpu_window_global_init, vgpu_window_global_exit },
	{ vgpu_reserve_global_init, vgpu_reserve_global_exit },
	{ vgpu_session_global_init, vgpu_session_global_exit },
	{ vgpu_export_global_init, guest_exit_exports },
	{ vgpu_window_ivshmem_init, vgpu_window_ivshmem_exit },
	{ vgpu_dialer_global_init, vgpu_dialer_global_exit },
};

/* Undoes the init of the first @nr parts, and waits for callbacks of connections. */
static void guest_exit_parts(unsigned int nr)
{
	while (nr--)
		guest_parts[nr].exit();
	vgpu_conn_exit();
}

static int __init vgpu_guest_init(void)
{
	unsigned int nr;
	int ret;

	vgpu_host_global_init(&guest_host_ops);
	for (nr = 0; nr < ARRAY_SIZE(guest_parts); nr++) {
		ret = guest_parts[nr].init();
		if (ret)
			goto err_exit_parts;
	}
	ret = vgpu_window_virtio_init();
	if (ret)
		goto err_exit_parts;
	ret = guest_add_dialers();
	if (ret)
		goto err_exit_virtio;
	/* No device may exist before this, and nothing may fail after it. */
	vgpu_dialer_start_all();
	return 0;

err_exit_virtio:
	vgpu_window_virtio_exit();
err_exit_parts:
	guest_exit_parts(nr);
	return ret;
}
module_init(vgpu_guest_init);

static void __exit vgpu_guest_exit(void)
{
	/* Remove virtio windows first: their hosts must be connected to unbind. */
	vgpu_window_virtio_exit();
	vgpu_dialer_stop_all();
	guest_exit_parts(ARRAY_SIZE(guest_parts));
}
module_exit(vgpu_guest_exit);

MODULE_DESCRIPTION("Guest side of vgpu: device files of the host");
MODULE_AUTHOR("The vgpu authors");
MODULE_LICENSE("GPL");
MODULE_VERSION(VGPU_VERSION);
/* Load whichever transport of vsock the machine has; this module loads without any. */
MODULE_SOFTDEP("pre: vsock vmw_vsock_virtio_transport vsock_loopback");
