// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fences of the work that a call has given to a device. They are found where drivers put them, and
 * not by the call's argument: that has another form for each driver, and a shadow that its guest
 * has taken over could change it after the driver has read it.
 */
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/stat.h>
#include <linux/sync_file.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>

#include "call/fences.h"
#include "compat.h"
#include "object/object.h"
#include "peer/pending.h"

/* Number of buffers that are looked at for a guest that uses the device alone. */
#define FENCES_LOOK	64
/* Number of buffers and fences after which the lock of the file's table is given to others. */
#define FENCES_BATCH	256

/*
 * Add a fence. Of two fences of one context the later one suffices, as they signal in order. If
 * there is no room the work seems to end earlier.
 */
static void fences_add(struct vgpuh_fences *fences, struct dma_fence *fence)
{
	unsigned int i;

	for (i = 0; i < fences->nr; i++) {
		struct dma_fence *other = fences->fence[i];

		if (other->context != fence->context)
			continue;
		if (other != fence && dma_fence_is_later(fence, other)) {
			fences->fence[i] = dma_fence_get(fence);
			dma_fence_put(other);
		}
		return;
	}
	if (fences->nr < VGPUH_FENCES_MAX)
		fences->fence[fences->nr++] = dma_fence_get(fence);
}

void vgpuh_fences_add_sync_file(struct vgpuh_fences *fences, const struct file *file)
{
	const struct sync_file *sync = file->private_data;

	fences_add(fences, sync->fence);
}

/*
 * Check whether a fence of a buffer tells of work. A callback enables the signalling of a fence,
 * which suspends a guest's queues if the fence is one that memory management waits for when it
 * needs the memory. Such fences are for bookkeeping alone. So are those of jobs of drivers without
 * implicit synchronization, but those are known by the scheduler's name.
 */
static bool fence_is_work(struct dma_resv_iter *cursor, struct dma_fence *fence)
{
	return dma_resv_iter_usage(cursor) < DMA_RESV_USAGE_BOOKKEEP ||
	       vgpu_fence_is_of(fence, "drm_sched");
}

/*
 * Add the fences of work that a reservation has, and that no earlier submission waits for.
 * @one: add one only
 * Return: number of fences that were looked at.
 */
static unsigned int fences_add_resv(struct vgpuh_fences *fences, struct dma_resv *resv,
				    const struct vgpuh_submission *submission, bool one)
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;
	unsigned int nr = 0;

	dma_resv_iter_begin(&cursor, resv, DMA_RESV_USAGE_BOOKKEEP);
	dma_resv_for_each_fence_unlocked(&cursor, fence) {
		nr++;
		if (!fence_is_work(&cursor, fence) || vgpuh_submission_knows(submission, fence))
			continue;
		fences_add(fences, fence);
		if (one)
			break;
	}
	dma_resv_iter_end(&cursor);
	return nr;
}

/*
 * Look for the first fence that is new, in some of the buffers. Most work has its fence in a buffer
 * in which earlier work had one, so the search begins there.
 */
static void fences_add_news(struct vgpuh_fences *fences, struct vgpuh_object *object,
			    const struct vgpuh_submission *submission)
{
	struct drm_file *drm = object->file->private_data;
	struct drm_gem_object *buffer;
	const int start = READ_ONCE(object->fence_buffer);
	bool again = false;
	unsigned int i;
	int id = start;

	spin_lock(&drm->table_lock);
	for (i = 0; i < FENCES_LOOK; i++) {
		buffer = idr_get_next(&drm->object_idr, &id);
		if (again && (!buffer || id >= start))
			break;
		if (!buffer) {
			again = true;
			id = 0;
			continue;
		}
		fences_add_resv(fences, buffer->resv, submission, true);
		if (fences->nr)
			break;
		id++;
	}
	spin_unlock(&drm->table_lock);
	WRITE_ONCE(object->fence_buffer, id);
}

static void fences_add_all(struct vgpuh_fences *fences, struct vgpuh_object *object,
			   const struct vgpuh_submission *submission)
{
	struct drm_file *drm = object->file->private_data;
	struct drm_gem_object *buffer;
	struct dma_resv *last = NULL;
	unsigned int nr = 0;
	int id = 0;

	spin_lock(&drm->table_lock);
	while ((buffer = idr_get_next(&drm->object_idr, &id))) {
		/* The buffers of an address space may share one reservation. */
		if (buffer->resv != last)
			nr += fences_add_resv(fences, buffer->resv, submission, false);
		last = buffer->resv;
		id++;
		if (++nr < FENCES_BATCH)
			continue;
		nr = 0;
		/* Another buffer may get the address of the last reservation. */
		last = NULL;
		spin_unlock(&drm->table_lock);
		cond_resched();
		if (fatal_signal_pending(current))
			return;
		spin_lock(&drm->table_lock);
	}
	spin_unlock(&drm->table_lock);
}

void vgpuh_fences_add_buffers(struct vgpuh_fences *fences, struct vgpuh_object *object,
			      const struct vgpuh_submission *submission)
{
	const struct inode *inode = file_inode(object->file);
	const struct drm_file *drm;

	/* A grant has opened the file, so no device of vgpu itself is behind it. */
	if (!S_ISCHR(inode->i_mode) || imajor(inode) != DRM_MAJOR)
		return;
	/* DRM prepares the table of handles for drivers with buffers only. */
	drm = object->file->private_data;
	if (!drm_core_check_feature(drm->minor->dev, DRIVER_GEM))
		return;
	if (vgpuh_submission_is_contended(submission))
		fences_add_all(fences, object, submission);
	else
		fences_add_news(fences, object, submission);
}
