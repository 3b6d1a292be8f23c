// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs: the "device" fills a buffer some time later and signals the end by a fence or
 * an eventfd, as a GPU does.
 */
#include <linux/dma-fence.h>
#include <linux/eventfd.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sync_file.h>

#include "kver.h"
#include "mock.h"

struct vgpu_mock_fence {
	struct dma_fence base;
	spinlock_t lock;
};

struct vgpu_mock_job {
	struct delayed_work work;
	struct vgpu_mock_buf *buf;
	struct vgpu_mock_buf_job args;
	struct vgpu_mock_fence *fence;
	struct eventfd_ctx *event;
};

static const char *vgpu_mock_fence_name(struct dma_fence *fence)
{
	return "vgpu-mock";
}

static void vgpu_mock_fence_release(struct dma_fence *fence)
{
	dma_fence_free(fence);
	module_put(THIS_MODULE);
}

static const struct dma_fence_ops vgpu_mock_fence_ops = {
	.get_driver_name = vgpu_mock_fence_name,
	.get_timeline_name = vgpu_mock_fence_name,
	.release = vgpu_mock_fence_release,
};

/* The fence holds a reference of the module, as its last user calls functions of the module. */
static struct vgpu_mock_fence *vgpu_mock_fence_alloc(void)
{
	struct vgpu_mock_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL);

	if (!fence)
		return NULL;
	__module_get(THIS_MODULE);
	spin_lock_init(&fence->lock);
	dma_fence_init(&fence->base, &vgpu_mock_fence_ops, &fence->lock,
		       dma_fence_context_alloc(1), 1);
	return fence;
}

static void vgpu_mock_job_free(struct vgpu_mock_job *job)
{
	if (job->event)
		eventfd_ctx_put(job->event);
	if (job->fence)
		dma_fence_put(&job->fence->base);
	vgpu_mock_buf_put(job->buf);
	kfree(job);
}

static void vgpu_mock_job_work(struct work_struct *work)
{
	struct vgpu_mock_job *job = container_of(to_delayed_work(work), struct vgpu_mock_job, work);

	vgpu_mock_buf_pattern(job->buf, job->args.offset, job->args.length, job->args.seed);
	if (job->fence)
		dma_fence_signal(&job->fence->base);
	if (job->event)
		vgpu_mock_eventfd_signal(job->event);
	vgpu_mock_job_free(job);
	/* Module unload waits for the workqueue, and so for the end of this function. */
	module_put(THIS_MODULE);
}

static int vgpu_mock_job_signals(struct vgpu_mock_job *job, struct vgpu_mock_call *call,
				 struct vgpu_mock_buf_job *args)
{
	struct sync_file *sync;
	int fd;

	if (args->flags & VGPU_MOCK_JOB_EVENT) {
		struct eventfd_ctx *event = eventfd_ctx_fdget(args->event);

		if (IS_ERR(event))
			return PTR_ERR(event);
		job->event = event;
	}
	if (!(args->flags & VGPU_MOCK_JOB_FENCE))
		return 0;
	job->fence = vgpu_mock_fence_alloc();
	if (!job->fence)
		return -ENOMEM;
	sync = sync_file_create(&job->fence->base);
	if (!sync)
		return -ENOMEM;
	fd = vgpu_mock_call_add_fd(call, sync->file, O_CLOEXEC);
	if (fd < 0)
		return fd;
	args->out_fence = fd;
	return 0;
}

long vgpu_mock_buf_job(struct vgpu_mock_call *call)
{
	struct vgpu_mock_buf_job *args = call->data;
	struct vgpu_mock_job *job;
	int ret;

	if (args->flags & ~(VGPU_MOCK_JOB_EVENT | VGPU_MOCK_JOB_FENCE) ||
	    args->delay_ms > VGPU_MOCK_MAX_MS)
		return -EINVAL;
	job = kzalloc(sizeof(*job), GFP_KERNEL);
	if (!job)
		return -ENOMEM;
	job->args = *args;
	job->buf = vgpu_mock_buf_find(call->file, args->id);
	if (!job->buf) {
		kfree(job);
		return -ENOENT;
	}
	ret = vgpu_mock_buf_range_ok(job->buf, args->offset, args->length) ?
		vgpu_mock_job_signals(job, call, args) : -EINVAL;
	if (ret) {
		vgpu_mock_job_free(job);
		return ret;
	}
	__module_get(THIS_MODULE);
	INIT_DELAYED_WORK(&job->work, vgpu_mock_job_work);
	queue_delayed_work(vgpu_mock_wq, &job->work, msecs_to_jiffies(args->delay_ms));
	return 0;
}
