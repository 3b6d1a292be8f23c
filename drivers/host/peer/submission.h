/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Submissions: calls of guests that give a device work wait for each other (arbiter.h).
 */
#ifndef _VGPU_HOST_SUBMISSION_H
#define _VGPU_HOST_SUBMISSION_H

#include <linux/atomic.h>
#include <linux/types.h>

#include "arbiter.h"

struct task_struct;
struct vgpuh_share;

/**
 * struct vgpuh_submission - submission of a call, on the stack of the call's thread
 * @base: state for the arbiter; protected by device->lock
 * @share: share of the guest
 * @task: thread of the call
 */
struct vgpuh_submission {
	struct vgpu_submission base;
	struct vgpuh_share *share;
	struct task_struct *task;
};

/**
 * vgpuh_submission_begin - wait until the device may work for a guest
 * @submission: submission, which is filled in
 * @share: share of the guest
 * @queued: counter of submissions that had to wait
 *
 * The caller holds no lock and no object that others wait for.
 *
 * Return: 0; or -ERESTARTSYS if there is a signal. Then the submission has ended.
 */
int vgpuh_submission_begin(struct vgpuh_submission *submission, struct vgpuh_share *share,
			   atomic64_t *queued);
/* End a submission, and let others go on. */
void vgpuh_submission_end(struct vgpuh_submission *submission);
/*
 * Check whether it matters how long the device works for the guest: other guests may use it, or the
 * guest has a cap.
 */
bool vgpuh_submission_is_shared(const struct vgpuh_submission *submission);

/* Check whether other guests use the device, or have used it lately. */
bool vgpuh_submission_is_contended(const struct vgpuh_submission *submission);

#endif /* _VGPU_HOST_SUBMISSION_H */
