/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pending submissions: the driver has returned, and the device still works.
 */
#ifndef _VGPU_HOST_PENDING_H
#define _VGPU_HOST_PENDING_H

#include <linux/types.h>

#include "peer/submission.h"

struct dma_fence;
struct vgpuh_device;

/* Greatest number of fences of a submission, each of another context. */
#define VGPUH_FENCES_MAX	16

/**
 * struct vgpuh_fences - fences that signal the end of a submission's work
 * @nr: number of entries of @fence
 * @fence: array of fences, with a reference each
 */
struct vgpuh_fences {
	unsigned int nr;
	struct dma_fence *fence[VGPUH_FENCES_MAX];
};

#ifdef CONFIG_DMA_SHARED_BUFFER
/**
 * vgpuh_submission_leave - let a submission end when its work has ended
 * @submission: submission whose driver has returned; it is not used any more
 * @fences: fences of the work, whose references are consumed; none: the submission ends
 */
void vgpuh_submission_leave(struct vgpuh_submission *submission, struct vgpuh_fences *fences);
/* Check whether an earlier submission of the guest waits for @fence. */
bool vgpuh_submission_knows(const struct vgpuh_submission *submission,
			    const struct dma_fence *fence);

/* Free pending submissions that have ended. */
void vgpuh_pending_settle(struct vgpuh_device *device);
/* End all pending submissions of a share, of which no grant and no call is left. */
void vgpuh_pending_drop(struct vgpuh_share *share);
/* Check whether a share has a submission that has been pending for too long to be remembered. */
bool vgpuh_pending_is_stuck(struct vgpuh_share *share, u64 now);
#else
static inline void vgpuh_submission_leave(struct vgpuh_submission *submission,
					  struct vgpuh_fences *fences)
{
	vgpuh_submission_end(submission);
}

static inline void vgpuh_pending_settle(struct vgpuh_device *device)
{
}

static inline void vgpuh_pending_drop(struct vgpuh_share *share)
{
}

static inline bool vgpuh_pending_is_stuck(struct vgpuh_share *share, u64 now)
{
	return false;
}
#endif

#endif /* _VGPU_HOST_PENDING_H */
