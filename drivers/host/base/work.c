// SPDX-License-Identifier: GPL-2.0-only
/*
 * Workqueues that all peers share.
 */
#include <linux/workqueue.h>

#include "base/work.h"

struct workqueue_struct *vgpu_host_wq;
struct workqueue_struct *vgpu_host_patient_wq;

int vgpu_work_init(void)
{
	vgpu_host_wq = alloc_workqueue("vgpu_host", WQ_UNBOUND, 0);
	if (!vgpu_host_wq)
		return -ENOMEM;
	/*
	 * A guest has at most four items here: its sender, its closes, the release of its closed
	 * files, and the end of its sessions' lanes. The limit of active items is the highest
	 * possible one, so that no item waits for another guest's.
	 */
	vgpu_host_patient_wq = alloc_workqueue("vgpu_host_patient", WQ_UNBOUND, WQ_MAX_ACTIVE);
	if (!vgpu_host_patient_wq)
		goto err_destroy_wq;
	return 0;

err_destroy_wq:
	destroy_workqueue(vgpu_host_wq);
	return -ENOMEM;
}

void vgpu_work_exit(void)
{
	destroy_workqueue(vgpu_host_patient_wq);
	destroy_workqueue(vgpu_host_wq);
}
