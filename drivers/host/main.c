// SPDX-License-Identifier: GPL-2.0-only
/*
 * vgpu_host.ko: repeats the file operations of guests on device files of this machine. Init and
 * exit.
 */
#include <linux/module.h>

#include "agent/agent_file.h"
#include "anon.h"
#include "base/work.h"
#include "conn.h"
#include "window/window.h"

static int __init vgpu_host_init(void)
{
	int ret;

	ret = vgpu_work_init();
	if (ret)
		return ret;
	ret = vgpu_anon_init();
	if (ret)
		goto err_exit_work;
	ret = vgpuh_window_init();
	if (ret)
		goto err_exit_anon;
	ret = vgpu_agent_init();
	if (ret)
		goto err_exit_window;
	return 0;

err_exit_window:
	vgpuh_window_exit();
err_exit_anon:
	vgpu_anon_exit();
err_exit_work:
	vgpu_work_exit();
	return ret;
}

static void __exit vgpu_host_exit(void)
{
	vgpu_agent_exit();
	vgpuh_window_exit();
	vgpu_work_exit();
	vgpu_conn_exit();
	/* Objects and inodes are freed by RCU callbacks. */
	rcu_barrier();
	vgpu_anon_exit();
}

module_init(vgpu_host_init);
module_exit(vgpu_host_exit);

MODULE_DESCRIPTION("Host side of vgpu: device files for virtual machines");
MODULE_AUTHOR("The vgpu authors");
MODULE_LICENSE("GPL");
MODULE_VERSION(VGPU_VERSION);
MODULE_SOFTDEP("pre: vsock post: vhost_vsock vsock_loopback vmw_vsock_virtio_transport");
