// SPDX-License-Identifier: GPL-2.0-only
/* Codec of the wire protocol: REPLY, checked against the call that it answers. */
#include "plant.h"
#include "wire_check.h"

/* Flags of replies that report an error. */
#define REPLY_ERRORS	(VGPU_REPLY_REFUSED | VGPU_REPLY_STRAY_FD | VGPU_REPLY_LAST)

#define FENCE_FLAGS	(VGPU_OBJECT_WATCHED | VGPU_OBJECT_SIGNALED)

static bool reply_object_ok(const struct vgpu_object_desc *desc, const struct vgpu_call *call)
{
	u32 kind = le32_to_cpu(desc->kind), flags = le32_to_cpu(desc->flags);
	bool watch = le16_to_cpu(call->flags) & VGPU_CALL_WATCH;
	u32 op = le16_to_cpu(call->op);

	return desc->object && kind >= VGPU_OBJECT_DEVICE && kind <= VGPU_OBJECT_OTHER &&
		(op != VGPU_OP_OPEN || (kind == VGPU_OBJECT_DEVICE && !desc->fixup)) &&
		!(le32_to_cpu(desc->fops) & ~(VGPU_FOP_FASYNC | (VGPU_FOP_FASYNC - 1))) &&
		!(flags & ~(VGPU_OBJECT_SIGNALED | (VGPU_OBJECT_SIGNALED - 1))) &&
		(!(flags & FENCE_FLAGS) || (watch && kind == VGPU_OBJECT_SYNC_FILE)) &&
		(flags & FENCE_FLAGS) != FENCE_FLAGS && !desc->reserved;
}

/*
 * Check that each object answers a different FD_OUT or FD_RET fixup of the call; there are few.
 */
static bool reply_objects_ok(const struct vgpu_reply_view *view, u32 nr,
			     const struct vgpu_call_view *sent)
{
	u32 op = le16_to_cpu(sent->call->op);
	s64 result = le64_to_cpu(view->reply->result);
	u32 i, j;

	if (op == VGPU_OP_OPEN ? nr != !result : op != VGPU_OP_IOCTL && nr)
		return false;
	for (i = 0; i < nr; i++) {
		u32 fixup = le32_to_cpu(view->objects[i].fixup);
		u16 type;

		if (!reply_object_ok(&view->objects[i], sent->call))
			return false;
		if (op == VGPU_OP_OPEN)
			continue;
		if (fixup >= le16_to_cpu(sent->call->nr_fixups) &&
		    !vgpu_planted(VGPU_PLANT_FIXUP))
			return false;
		type = le16_to_cpu(sent->fixups[fixup].type);
		if (type != VGPU_FIXUP_FD_OUT && (type != VGPU_FIXUP_FD_RET || result < 0))
			return false;
		for (j = 0; j < i; j++)
			if (view->objects[j].fixup == view->objects[i].fixup)
				return false;
	}
	return true;
}

/* Check the outputs of an IOCTL. @clocks: true if the call has asked for the host's clocks. */
static bool ioctl_out_ok(const struct vgpu_out_ioctl *out, bool clocks)
{
	u32 flags = le32_to_cpu(out->flags), revents = le32_to_cpu(out->revents);

	return !(flags & ~VGPU_POLL_ANSWER) && !(revents & ~VGPU_POLL_EVENTS) &&
		(flags || !revents) &&
		(clocks || (!out->realtime && !out->raw && !out->tsc));
}

static bool mmap_out_ok(const struct vgpu_out_mmap *out, const struct vgpu_args_mmap *args)
{
	u32 flags = le32_to_cpu(out->flags);
	u64 offset = le64_to_cpu(out->offset);

	return le32_to_cpu(out->cache) <= VGPU_CACHE_UC &&
		!(flags & ~(VGPU_MAP_ASK | (VGPU_MAP_ASK - 1))) &&
		(!(flags & VGPU_MAP_WINDOW) || args->window) &&
		!(offset & (VGPU_PAGE_SIZE - 1)) && offset <= U64_MAX - le64_to_cpu(args->len) &&
		!out->reserved;
}

/*
 * Check the result and the outputs of the operation, and compute the number of bytes that
 * follow.
 */
static bool reply_op_ok(const struct vgpu_reply *reply, const struct vgpu_call_view *sent,
			u64 *bytes)
{
	u32 op = le16_to_cpu(sent->call->op);
	u32 flags = le32_to_cpu(reply->flags);
	s64 result = le64_to_cpu(reply->result);
	u32 nr_raw = ARRAY_SIZE(reply->out.raw);
	/* Highest result that is allowed; errnos are allowed as well. */
	u32 most = 0;

	*bytes = 0;
	switch (op) {
	case VGPU_OP_READ:
	case VGPU_OP_FDINFO:
	case VGPU_OP_READ_PAGES:
		most = le32_to_cpu(sent->segs[0].len);
		break;
	case VGPU_OP_WRITE:
		most = vgpu_wire_write_len(sent);
		break;
	case VGPU_OP_WRITE_PAGES:
		most = le32_to_cpu(sent->segs[1].len);
		break;
	}
	if ((flags & REPLY_ERRORS) && result >= 0)
		return false;
	/* A driver's ioctl and llseek may return any long. */
	if ((result > (s64)most || result < -MAX_ERRNO) &&
	    ((op != VGPU_OP_IOCTL && op != VGPU_OP_LLSEEK) || (flags & VGPU_REPLY_REFUSED)))
		return false;

	switch (op) {
	case VGPU_OP_MMAP:
		return mmap_out_ok(&reply->out.mmap, &sent->call->args.mmap);
	case VGPU_OP_POLL:
		return !reply->out.poll.reserved && raw_ok(reply->out.raw + 1, nr_raw - 1);
	case VGPU_OP_BIND:
		return le32_to_cpu(reply->out.bind.cache) <= (result ? 0 : VGPU_CACHE_UC) &&
			!reply->out.bind.reserved && raw_ok(reply->out.raw + 1, nr_raw - 1);
	case VGPU_OP_READ_PAGES:
		if (!result || (result > 0 && (result & (VGPU_PAGE_SIZE - 1))))
			return false;
		fallthrough;
	case VGPU_OP_READ:
	case VGPU_OP_FDINFO:
		*bytes = result > 0 ? result : 0;
		break;
	case VGPU_OP_IOCTL:
		*bytes = flags & VGPU_REPLY_REFUSED ? 0 : sent->reply_bytes;
		return ioctl_out_ok(&reply->out.ioctl,
				    le16_to_cpu(sent->call->flags) & VGPU_CALL_CLOCKS);
	}
	if (flags & VGPU_REPLY_REFUSED)
		*bytes = 0;
	return raw_ok(reply->out.raw, nr_raw);
}

static bool reply_pads_ok(const struct vgpu_reply_view *view, const struct vgpu_call_view *sent)
{
	u32 nr = le16_to_cpu(sent->call->nr_segs);
	const u8 *data = view->data;
	u32 i;

	for (i = 0; i < nr; i++) {
		u32 len = le32_to_cpu(sent->segs[i].len);

		if (!(le32_to_cpu(sent->segs[i].flags) & VGPU_SEG_OUT))
			continue;
		if (!pad_ok(data, len))
			return false;
		data += vgpu_wire_pad(len);
	}
	return true;
}

int vgpu_wire_reply_check(const void *msg, size_t msg_len, const struct vgpu_call_view *sent,
			  struct vgpu_reply_view *view)
{
	const struct vgpu_wire_limits limits = {
		.call_bytes = VGPU_CALL_BYTES_MAX,
	};
	const struct vgpu_reply *reply = msg;
	u32 nr_objects;
	size_t fixed;
	u64 bytes;

	if (whole_check(msg, msg_len, &limits) ||
	    le16_to_cpu(reply->hdr.type) != VGPU_MSG_REPLY ||
	    reply->hdr.seq != sent->call->hdr.seq || reply->reserved ||
	    (le32_to_cpu(reply->flags) & ~REPLY_ERRORS) ||
	    le64_to_cpu(reply->clock_in) > le64_to_cpu(reply->clock_out) ||
	    le64_to_cpu(reply->clock_out) > VGPU_CLOCK_MAX)
		return -EPROTO;
	nr_objects = le16_to_cpu(reply->nr_objects);
	fixed = sizeof(*reply) + nr_objects * sizeof(*view->objects);
	if (nr_objects > VGPU_FDS_MAX || fixed > msg_len ||
	    (nr_objects && (le32_to_cpu(reply->flags) & VGPU_REPLY_REFUSED)))
		return -EPROTO;

	view->reply = reply;
	view->objects = (const void *)(reply + 1);
	view->data = (const u8 *)msg + fixed;
	view->data_len = msg_len - fixed;
	if (!reply_objects_ok(view, nr_objects, sent) || !reply_op_ok(reply, sent, &bytes) ||
	    view->data_len != ALIGN(bytes, 8))
		return -EPROTO;
	if (le16_to_cpu(sent->call->op) == VGPU_OP_IOCTL)
		return !bytes || reply_pads_ok(view, sent) ? 0 : -EPROTO;
	return pad_ok(view->data, bytes) ? 0 : -EPROTO;
}
