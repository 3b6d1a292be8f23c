// SPDX-License-Identifier: GPL-2.0-only
/* vgpu_guest.ko: offers the devices of hosts like devices of this machine. */
#include <linux/err.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include "anon.h"
#include "conn.h"
#include "control.h"
#include "device.h"
#include "dialer.h"
#include "export.h"
#include "flush.h"
#include "host.h"
#include "keep.h"
#include "move.h"
#include "reserve.h"
#include "session.h"
#include "window.h"

#define GUEST_HOSTS_MAX	8

static unsigned int cid[GUEST_HOSTS_MAX] = { 2 };
static unsigned int nr_cid = 1;
module_param_array(cid, uint, &nr_cid, 0444);
MODULE_PARM_DESC(cid, "vsock context ids of the hosts (default: 2)");

static unsigned int port[GUEST_HOSTS_MAX];
static unsigned int nr_port;
module_param_array(port, uint, &nr_port, 0444);
MODULE_PARM_DESC(port, "port of each host (default: " __stringify(VGPU_WIRE_PORT) ")");

static struct vgpu_dialer *dialers[GUEST_HOSTS_MAX];

static void guest_stop_dialers(void)
{
	int i;

	for (i = GUEST_HOSTS_MAX - 1; i >= 0; i--)
		if (dialers[i])
			vgpu_dialer_stop(dialers[i]);
}

static unsigned int guest_port(unsigned int i)
{
	return i < nr_port && port[i] ? port[i] : VGPU_WIRE_PORT;
}

static int guest_start_dialers(void)
{
	unsigned int i, j;

	/* A host would take the second connection for a replacement of the first. */
	for (i = 0; i < nr_cid; i++)
		for (j = 0; j < i; j++)
			if (cid[i] == cid[j] && guest_port(i) == guest_port(j)) {
				pr_err("host %u:%u is named twice\n", cid[i], guest_port(i));
				return -EINVAL;
			}

	for (i = 0; i < nr_cid; i++) {
		struct vgpu_dialer *dialer;

		dialer = vgpu_dialer_start(cid[i], guest_port(i));
		if (IS_ERR(dialer)) {
			guest_stop_dialers();
			return PTR_ERR(dialer);
		}
		dialers[i] = dialer;
	}
	return 0;
}

static int __init vgpu_guest_init(void)
{
	int ret;

	vgpu_host_global_init();
	ret = vgpu_anon_init();
	if (ret)
		return ret;
	ret = vgpu_control_global_init();
	if (ret)
		goto err_exit_anon;
	ret = vgpu_flush_global_init();
	if (ret)
		goto err_exit_control;
	ret = vgpu_move_global_init();
	if (ret)
		goto err_exit_flush;
	ret = vgpu_keep_global_init();
	if (ret)
		goto err_exit_move;
	ret = vgpu_window_global_init();
	if (ret)
		goto err_exit_keep;
	ret = vgpu_reserve_global_init();
	if (ret)
		goto err_exit_window;
	ret = vgpu_session_global_init();
	if (ret)
		goto err_exit_reserve;
	ret = vgpu_export_global_init();
	if (ret)
		goto err_exit_session;
	ret = vgpu_window_ivshmem_init();
	if (ret)
		goto err_exit_export;
	ret = vgpu_window_virtio_init();
	if (ret)
		goto err_exit_ivshmem;
	ret = vgpu_dialer_global_init();
	if (ret)
		goto err_exit_virtio;
	ret = guest_start_dialers();
	if (ret)
		goto err_exit_dialer;
	return 0;

err_exit_dialer:
	vgpu_dialer_global_exit();
err_exit_virtio:
	vgpu_window_virtio_exit();
err_exit_ivshmem:
	vgpu_window_ivshmem_exit();
err_exit_export:
	/* Dialers that were started may have brought devices and connections. */
	vgpu_device_global_exit();
	vgpu_export_global_exit();
err_exit_session:
	vgpu_session_global_exit();
err_exit_reserve:
	vgpu_reserve_global_exit();
err_exit_window:
	vgpu_window_global_exit();
err_exit_keep:
	vgpu_keep_global_exit();
err_exit_move:
	vgpu_move_global_exit();
err_exit_flush:
	vgpu_flush_global_exit();
err_exit_control:
	vgpu_control_global_exit();
err_exit_anon:
	vgpu_anon_exit();
	vgpu_conn_exit();
	return ret;
}
module_init(vgpu_guest_init);

static void __exit vgpu_guest_exit(void)
{
	/* Remove virtio windows first: their hosts must be connected to unbind. */
	vgpu_window_virtio_exit();
	guest_stop_dialers();
	vgpu_dialer_global_exit();
	vgpu_window_ivshmem_exit();
	vgpu_device_global_exit();
	vgpu_export_global_exit();
	vgpu_session_global_exit();
	vgpu_reserve_global_exit();
	vgpu_window_global_exit();
	vgpu_keep_global_exit();
	vgpu_move_global_exit();
	vgpu_flush_global_exit();
	vgpu_control_global_exit();
	vgpu_anon_exit();
	vgpu_conn_exit();
}
module_exit(vgpu_guest_exit);

MODULE_DESCRIPTION("Devices of vgpu hosts");
MODULE_AUTHOR("The vgpu authors");
MODULE_LICENSE("GPL");
/* Load whichever transport of vsock the machine has; this module loads without any. */
MODULE_SOFTDEP("pre: vsock vmw_vsock_virtio_transport vsock_loopback");
