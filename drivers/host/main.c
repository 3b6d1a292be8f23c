// SPDX-License-Identifier: GPL-2.0-only
/*
 * vgpu_host.ko: repeats the file operations of guests on device files of this machine. Init and
 * exit.
 */
#include <linux/module.h>
#include <linux/workqueue.h>

#include "anon.h"
#include "host.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

struct workqueue_struct *vgpu_host_wq;
struct workqueue_struct *vgpu_host_patient_wq;

static int __init vgpu_host_init(void)
{
	int ret;

	vgpu_host_wq = alloc_workqueue("vgpu_host", WQ_UNBOUND, 0);
	if (!vgpu_host_wq)
		return -ENOMEM;
	/*
	 * A guest has at most three items here: its sender, its closes, and the release of its
	 * closed files. The limit of active items is the highest possible one, so that no item
	 * waits for another guest's.
	 */
	vgpu_host_patient_wq = alloc_workqueue("vgpu_host_patient", WQ_UNBOUND, WQ_MAX_ACTIVE);
	if (!vgpu_host_patient_wq) {
		ret = -ENOMEM;
		goto err_destroy_wq;
	}
	ret = vgpu_anon_init();
	if (ret)
		goto err_destroy_patient_wq;
	ret = vgpu_window_init();
	if (ret)
		goto err_exit_anon;
	ret = vgpu_agent_init();
	if (ret)
		goto err_exit_window;
	return 0;

err_exit_window:
	vgpu_window_exit();
err_exit_anon:
	vgpu_anon_exit();
err_destroy_patient_wq:
	destroy_workqueue(vgpu_host_patient_wq);
err_destroy_wq:
	destroy_workqueue(vgpu_host_wq);
	return ret;
}

static void __exit vgpu_host_exit(void)
{
	vgpu_agent_exit();
	vgpu_window_exit();
	destroy_workqueue(vgpu_host_patient_wq);
	destroy_workqueue(vgpu_host_wq);
	vgpu_conn_exit();
	/* Objects and inodes are freed by RCU callbacks. */
	rcu_barrier();
	vgpu_anon_exit();
}

module_init(vgpu_host_init);
module_exit(vgpu_host_exit);

MODULE_DESCRIPTION("Host side of vgpu: device files for virtual machines");
MODULE_LICENSE("GPL");
MODULE_SOFTDEP("pre: vsock post: vhost_vsock vsock_loopback vmw_vsock_virtio_transport");
