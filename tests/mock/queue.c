// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queue of the device: an ioctl gives the device work and returns. A fence signals when the device
 * has done the work, as with most GPUs.
 */
#include <linux/delay.h>
#include <linux/dma-fence.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sync_file.h>

#include "mock.h"

/* Work for the device; its last reference is one of the fence, which is the first member. */
struct vgpu_mock_item {
	struct dma_fence fence;
	spinlock_t lock;		/* lock of the fence */
	struct work_struct work;
	struct list_head node;		/* vgpu_mock_stuck */
	struct vgpu_mock_file *file;
	u32 us;
};

static struct workqueue_struct *vgpu_mock_queue_wq;

/* Items of VGPU_MOCK_QUEUE_STUCK. */
static LIST_HEAD(vgpu_mock_stuck);
static DEFINE_MUTEX(vgpu_mock_stuck_lock);

static const char *vgpu_mock_item_name(struct dma_fence *fence)
{
	return "vgpu-mock-queue";
}

static void vgpu_mock_item_release(struct dma_fence *fence)
{
	dma_fence_free(fence);
	module_put(THIS_MODULE);
}

static const struct dma_fence_ops vgpu_mock_item_ops = {
	.get_driver_name = vgpu_mock_item_name,
	.get_timeline_name = vgpu_mock_item_name,
	.release = vgpu_mock_item_release,
};

static void vgpu_mock_item_work(struct work_struct *work)
{
	struct vgpu_mock_item *item = container_of(work, struct vgpu_mock_item, work);
	struct vgpu_mock_file *file = item->file;
	ktime_t start;
	u64 us;

	mutex_lock(&file->device->work);
	start = ktime_get();
	fsleep(item->us);
	us = ktime_us_delta(ktime_get(), start);
	mutex_unlock(&file->device->work);
	atomic64_add(item->us, &file->worked);
	dma_fence_signal(&item->fence);
	dma_fence_put(&item->fence);
	/* The release of the file waits for the lock. */
	spin_lock(&file->queued_lock);
	file->queued--;
	file->queued_longest_us = max(file->queued_longest_us, us);
	wake_up_all(&file->queued_queue);
	spin_unlock(&file->queued_lock);
}

void vgpu_mock_queue_open(struct vgpu_mock_file *file)
{
	spin_lock_init(&file->queued_lock);
	init_waitqueue_head(&file->queued_queue);
}

static bool vgpu_mock_queue_is_idle(struct vgpu_mock_file *file)
{
	bool idle;

	spin_lock(&file->queued_lock);
	idle = !file->queued;
	spin_unlock(&file->queued_lock);
	return idle;
}

void vgpu_mock_queue_release(struct vgpu_mock_file *file)
{
	wait_event(file->queued_queue, vgpu_mock_queue_is_idle(file));
}

static struct vgpu_mock_item *vgpu_mock_item_alloc(struct vgpu_mock_file *file, u32 us)
{
	struct vgpu_mock_item *item = kzalloc(sizeof(*item), GFP_KERNEL);

	if (!item)
		return NULL;
	__module_get(THIS_MODULE);
	spin_lock_init(&item->lock);
	INIT_WORK(&item->work, vgpu_mock_item_work);
	item->file = file;
	item->us = us;
	dma_fence_init(&item->fence, &vgpu_mock_item_ops, &item->lock,
		       dma_fence_context_alloc(1), 1);
	return item;
}

static int vgpu_mock_item_add_fd(struct vgpu_mock_item *item, struct vgpu_mock_call *call)
{
	struct sync_file *sync = sync_file_create(&item->fence);

	return sync ? vgpu_mock_call_add_fd(call, sync->file, O_CLOEXEC) : -ENOMEM;
}

static void vgpu_mock_item_start(struct vgpu_mock_item *item, bool stuck)
{
	struct vgpu_mock_file *file = item->file;

	if (stuck) {
		mutex_lock(&vgpu_mock_stuck_lock);
		list_add_tail(&item->node, &vgpu_mock_stuck);
		mutex_unlock(&vgpu_mock_stuck_lock);
		return;
	}
	spin_lock(&file->queued_lock);
	file->queued++;
	spin_unlock(&file->queued_lock);
	queue_work(vgpu_mock_queue_wq, &item->work);
}

long vgpu_mock_queue(struct vgpu_mock_call *call)
{
	struct vgpu_mock_queue *args = call->data;
	struct vgpu_mock_item *item;
	int ret = 0;

	if (args->us > VGPU_MOCK_WORK_MAX_US ||
	    args->flags & ~(VGPU_MOCK_QUEUE_FENCE | VGPU_MOCK_QUEUE_STUCK))
		return -EINVAL;
	item = vgpu_mock_item_alloc(call->file, args->us);
	if (!item)
		return -ENOMEM;
	if (args->flags & VGPU_MOCK_QUEUE_FENCE)
		ret = vgpu_mock_item_add_fd(item, call);
	if (ret < 0) {
		dma_fence_put(&item->fence);
		return ret;
	}
	args->out_fence = ret;
	vgpu_mock_item_start(item, args->flags & VGPU_MOCK_QUEUE_STUCK);
	return 0;
}

static void vgpu_mock_queue_free(void)
{
	struct vgpu_mock_item *item, *next;

	mutex_lock(&vgpu_mock_stuck_lock);
	list_for_each_entry_safe(item, next, &vgpu_mock_stuck, node) {
		list_del(&item->node);
		dma_fence_signal(&item->fence);
		dma_fence_put(&item->fence);
	}
	mutex_unlock(&vgpu_mock_stuck_lock);
}

long vgpu_mock_queue_wait(struct vgpu_mock_call *call)
{
	struct vgpu_mock_queue_wait *args = call->data;
	struct vgpu_mock_file *file = call->file;

	if (args->flags & ~VGPU_MOCK_QUEUE_FREE || args->reserved)
		return -EINVAL;
	if (args->flags & VGPU_MOCK_QUEUE_FREE)
		vgpu_mock_queue_free();
	if (wait_event_interruptible(file->queued_queue, vgpu_mock_queue_is_idle(file)))
		return -ERESTARTSYS;
	args->out_total_us = atomic64_read(&file->worked);
	spin_lock(&file->queued_lock);
	args->out_longest_us = file->queued_longest_us;
	spin_unlock(&file->queued_lock);
	return 0;
}

int vgpu_mock_queue_init(void)
{
	vgpu_mock_queue_wq = alloc_ordered_workqueue("vgpu_mock_queue", 0);
	return vgpu_mock_queue_wq ? 0 : -ENOMEM;
}

void vgpu_mock_queue_exit(void)
{
	destroy_workqueue(vgpu_mock_queue_wq);
}
