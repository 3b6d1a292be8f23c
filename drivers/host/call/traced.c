// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls as the tracepoint vgpu_host_file_call reports them. Nothing here runs unless the
 * tracepoint is enabled.
 *
 * The argument of an ioctl is the first segment, as it came in the CALL and goes back in the
 * REPLY: pointers are the program's own, and fds mean nothing. The calling thread is one of the
 * shadow, whose process vgpud can relate to the guest's program.
 */
#include <linux/ktime.h>
#include <linux/minmax.h>

#include "base/trace.h"
#include "call/traced.h"
#include "call_event.h"
#include "object/object.h"
#include "peer/grant.h"
#include "session/call.h"
#include "session/lane.h"
#include "session/session.h"

/* Fill in the part of the argument that came with the call. */
static void traced_argument(const struct vgpuh_call *call, struct vgpu_call_event *event)
{
	const struct vgpu_call *msg = call->view.call;
	const struct vgpu_seg *seg = call->view.segs;
	u32 flags, len;

	event->cmd = le32_to_cpu(msg->args.ioctl.cmd);
	event->arg = le64_to_cpu(msg->args.ioctl.arg);
	if (le32_to_cpu(msg->args.ioctl.arg_kind) != VGPU_IOCTL_ARG_SEG || !msg->nr_segs)
		return;
	event->arg = le64_to_cpu(seg->addr);
	len = min_t(u32, le32_to_cpu(seg->len), VGPU_CALL_EVENT_BYTES);
	flags = le32_to_cpu(seg->flags);
	/* The first segment's bytes are the first ones of their kind, in both directions. */
	if ((flags & VGPU_SEG_IN) && !(flags & (VGPU_SEG_PAGE | VGPU_SEG_KEPT)))
		event->before = call->view.data;
	if ((flags & VGPU_SEG_OUT) && call->reply.data && call->reply.data_len >= len)
		event->after = call->reply.data;
	event->before = event->before ?: event->after;
	event->after = event->after ?: event->before;
	if (event->before)
		event->len = len;
}

void vgpuh_traced_call(const struct vgpuh_call *call, u64 began)
{
	const struct vgpu_call *msg = call->view.call;
	struct vgpu_peer *peer = call->lane->session->peer;
	struct vgpuh_object *opened = NULL;
	const struct vgpu_grant *grant = call->object ? call->object->origin : NULL;
	struct vgpu_call_event event = {
		.began = began,
		.ended = ktime_get_ns(),
		.op = le16_to_cpu(msg->op),
		.object = le32_to_cpu(msg->object),
		.fd = -1,
		.result = call->reply.result,
		.round_trips = 1 + call->cost.upcalls,
		.pages = call->cost.pages,
		.bytes_out = sizeof(struct vgpu_reply) + call->reply.data_len +
			     call->reply.nr_objects * sizeof(call->reply.objects[0]),
		.bytes_in = call->msg_len + call->cost.pages * (u64)PAGE_SIZE,
		.args = msg->args.raw,
		/* Only guests have schemas. */
		.known = true,
		.compat = le16_to_cpu(msg->flags) & VGPU_CALL_COMPAT,
		.driver = "",
		.name = "",
		.path = "",
	};

	if (event.op == VGPU_OP_IOCTL)
		traced_argument(call, &event);
	else if (msg->nr_segs)
		event.arg = le32_to_cpu(call->view.segs->len);
	if (event.op == VGPU_OP_OPEN && call->reply.nr_objects) {
		opened = vgpuh_object_find(peer, le32_to_cpu(call->reply.objects[0].object));
		grant = opened ? opened->origin : NULL;
	}
	if (grant) {
		event.kind = le32_to_cpu(grant->export->msg.kind);
		event.driver = (const char *)grant->export->msg.driver;
		/* A file that a device has made, such as a dma-buf, has no path. */
		if (opened || call->object->grant)
			event.path = (const char *)grant->export->msg.path;
	}
	trace_vgpu_host_file_call(&event);
	if (opened)
		vgpuh_object_put(opened);
}
