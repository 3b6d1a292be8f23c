// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzz target for REPLY. It uses an accepted reply as a guest does, which knows
 * only the call that it sent.
 */
#include "fuzz.h"

static void use_objects(const struct vgpu_reply_view *view, const struct vgpu_call_view *sent)
{
	u32 nr = le16_to_cpu(view->reply->nr_objects), i;
	u8 answered[VGPU_FIXUPS_MAX] = {};

	FUZZ_ASSERT(nr <= VGPU_FDS_MAX);
	for (i = 0; i < nr; i++) {
		u32 fixup = le32_to_cpu(view->objects[i].fixup);
		u16 type;

		FUZZ_ASSERT(view->objects[i].object);
		if (le16_to_cpu(sent->call->op) == VGPU_OP_OPEN) {
			FUZZ_ASSERT(nr == 1 && !view->reply->result);
			continue;
		}
		FUZZ_ASSERT(!answered[fixup]);
		answered[fixup] = 1;
		type = le16_to_cpu(sent->fixups[fixup].type);
		FUZZ_ASSERT(type == VGPU_FIXUP_FD_OUT || type == VGPU_FIXUP_FD_RET);
	}
}

/* Reads the reply's bytes; the guest's buffers have the sizes of the call's segments. */
static void use_bytes(const struct vgpu_reply_view *view, const struct vgpu_call_view *sent)
{
	u32 nr = le16_to_cpu(sent->call->nr_segs), i;
	s64 result = le64_to_cpu(view->reply->result);
	const u8 *data = view->data;

	switch (le16_to_cpu(sent->call->op)) {
	case VGPU_OP_READ:
	case VGPU_OP_FDINFO:
	case VGPU_OP_READ_PAGES:
		if (result <= 0)
			return;
		FUZZ_ASSERT((u64)result <= le32_to_cpu(sent->segs[0].len));
		fuzz_sum(data, result);
		return;
	case VGPU_OP_WRITE:
		FUZZ_ASSERT(result <= (s64)vgpu_wire_write_len(sent));
		return;
	case VGPU_OP_IOCTL:
		break;
	default:
		FUZZ_ASSERT(!view->data_len);
		return;
	}
	if (le32_to_cpu(view->reply->flags) & VGPU_REPLY_REFUSED) {
		FUZZ_ASSERT(result < 0 && !view->data_len);
		return;
	}
	FUZZ_ASSERT(view->data_len == sent->reply_bytes);
	for (i = 0; i < nr; i++) {
		u32 len = le32_to_cpu(sent->segs[i].len);

		if (!(le32_to_cpu(sent->segs[i].flags) & VGPU_SEG_OUT))
			continue;
		fuzz_sum(data, vgpu_wire_pad(len));
		data += vgpu_wire_pad(len);
	}
	FUZZ_ASSERT(data == view->data + view->data_len);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct vgpu_wire_limits limits;
	struct vgpu_reply_view view;
	struct vgpu_call_view sent;
	struct fuzz_head head;
	void *call, *reply;
	size_t first;

	if (len < sizeof(head))
		return 0;
	memcpy(&head, data, sizeof(head));
	data += sizeof(head);
	len -= sizeof(head);
	first = min_t(size_t, head.first * 8, len);

	limits = fuzz_limits(&head);
	call = fuzz_copy(data, first, &(struct fuzz_head){});
	reply = fuzz_copy(data + first, len - first, &head);
	if (!vgpu_wire_call_check(call, first, &limits, &sent) &&
	    !vgpu_wire_reply_check(reply, len - first, &sent, &view)) {
		FUZZ_ASSERT(view.data + view.data_len == (u8 *)reply + (len - first));
		FUZZ_ASSERT(!view.reply->hdr.flags ||
			    !(le32_to_cpu(view.reply->flags) & VGPU_REPLY_LAST));
		use_objects(&view, &sent);
		use_bytes(&view, &sent);
	}
	free(reply);
	free(call);
	return 0;
}
