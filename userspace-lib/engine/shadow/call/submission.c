// SPDX-License-Identifier: MIT
/*
 * Submissions: calls that give a device work take turns with those of other guests. vgpud gives a
 * guest that is alone at a device a permit, which takes no message to use. A shadow that its guest
 * has taken over could make calls without a turn.
 */
#include <linux/errno.h>

#include "engine/shadow/base/lib.h"
#include "engine/shadow/call/call.h"
#include "engine/shadow/call/files.h"
#include "engine/shadow/call/submission.h"
#include "engine/shadow/lane/channel.h"
#include "engine/shadow/lane/lane.h"
#include "engine/shadow/thread/syscall.h"

static bool call_submits(const struct call *call)
{
	const struct vgpu_call *msg = call->view.call;

	return le16_to_cpu(msg->op) == VGPU_OP_IOCTL && call->file &&
	       vgpu_policy_submits(&call->file->policy, le32_to_cpu(msg->args.ioctl.cmd));
}

static bool has_permit(u32 device)
{
	return __atomic_load_n(&shared->permits, __ATOMIC_RELAXED) >> device & 1;
}

int submission_begin(const struct call *call, struct submission *submission)
{
	int ret;

	*submission = (struct submission) { .submits = call_submits(call) };
	if (!submission->submits)
		return 0;
	if (!has_permit(call->file->device)) {
		ret = channel_ask_turn(call->lane, call->file->device);
		if (ret)
			return ret == -EINTR ? -ERESTARTSYS : ret;
		submission->turn = true;
	}
	submission->since = now_ns();
	return 0;
}

void submission_end(const struct call *call, const struct submission *submission)
{
	if (submission->turn)
		channel_tell_submitted(call->lane);
	else if (submission->submits)
		count(&counters->device_ns, now_ns() - submission->since);
}
