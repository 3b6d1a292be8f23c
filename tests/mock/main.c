// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mock device: a driver without hardware. Its ioctls and file operations have
 * all forms of arguments and all behaviour that are hard to forward.
 */
#include <linux/module.h>
#include <linux/random.h>

#include "mock.h"

struct workqueue_struct *vgpu_mock_wq;

static atomic64_t vgpu_mock_counter[VGPU_MOCK_COUNTERS];
static u64 vgpu_mock_salt;

void vgpu_mock_count(enum vgpu_mock_counter counter, s64 n)
{
	atomic64_add(n, &vgpu_mock_counter[counter]);
}

u64 vgpu_mock_counted(enum vgpu_mock_counter counter)
{
	return atomic64_read(&vgpu_mock_counter[counter]);
}

/* Returns a number that identifies an address space without revealing an address. */
u64 vgpu_mock_mm_name(struct mm_struct *mm)
{
	return vgpu_mock_mix64((uintptr_t)mm ^ vgpu_mock_salt);
}

static int __init vgpu_mock_init(void)
{
	int ret;

	get_random_bytes(&vgpu_mock_salt, sizeof(vgpu_mock_salt));
	vgpu_mock_wq = alloc_workqueue("vgpu_mock", WQ_UNBOUND, 0);
	if (!vgpu_mock_wq)
		return -ENOMEM;

	ret = vgpu_mock_queue_init();
	if (ret)
		goto err_workqueue;
	ret = vgpu_mock_devices_register();
	if (ret)
		goto err_queue;
	return 0;

err_queue:
	vgpu_mock_queue_exit();
err_workqueue:
	destroy_workqueue(vgpu_mock_wq);
	return ret;
}

static void __exit vgpu_mock_exit(void)
{
	vgpu_mock_devices_deregister();
	vgpu_mock_queue_exit();
	/* Delayed work holds a reference of the module or a file; this waits for its last lines. */
	destroy_workqueue(vgpu_mock_wq);
}

module_init(vgpu_mock_init);
module_exit(vgpu_mock_exit);

MODULE_DESCRIPTION("Mock device with everything that is hard to forward");
MODULE_AUTHOR("vgpu contributors");
MODULE_LICENSE("GPL");
