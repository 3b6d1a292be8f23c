// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzz target for CALL. It carries out each accepted call as a host does, without
 * other checks than the codec's: it places segments in scratch memory, applies
 * fixups, and gathers the reply's bytes.
 */
#include "fuzz.h"

/* Reads the runs one after the other, as a host maps them. */
static void use_kept(const u8 *data, u32 len)
{
	const struct vgpu_kept *kept = (const struct vgpu_kept *)data;
	const struct vgpu_run *run = (const struct vgpu_run *)(kept + 1);
	u64 done = 0;

	while (done < le64_to_cpu(kept->len)) {
		FUZZ_ASSERT((const u8 *)(run + 1) <= data + len);
		FUZZ_ASSERT(!(le64_to_cpu(run->addr) % VGPU_PAGE_SIZE));
		FUZZ_ASSERT(le64_to_cpu(run->addr) + le64_to_cpu(run->len) >
			    le64_to_cpu(run->addr));
		done += le64_to_cpu(run->len);
		run++;
	}
	FUZZ_ASSERT(done == le64_to_cpu(kept->len) && (const u8 *)run == data + len);
}

/* Places the segments; the scratch memory has exactly the size in the view. */
static void place(const struct vgpu_call_view *view, u8 *scratch, u32 *offsets)
{
	u32 nr = le16_to_cpu(view->call->nr_segs);
	const u8 *data = view->data;
	u32 used = 0, i;

	for (i = 0; i < nr; i++) {
		u32 len = le32_to_cpu(view->segs[i].len);
		u32 flags = le32_to_cpu(view->segs[i].flags);

		if (flags & VGPU_SEG_PAGE) {
			FUZZ_ASSERT(len && !(len % VGPU_PAGE_SIZE));
			fuzz_sum(data, len);
			data += len;
			continue;
		}
		if (flags & VGPU_SEG_KEPT) {
			use_kept(data, len);
			data += vgpu_wire_pad(len);
			continue;
		}
		FUZZ_ASSERT(flags == VGPU_SEG_IN || flags == VGPU_SEG_OUT ||
			    flags == (VGPU_SEG_IN | VGPU_SEG_OUT));
		offsets[i] = used;
		if (flags & VGPU_SEG_IN) {
			memcpy(scratch + used, data, len);
			data += vgpu_wire_pad(len);
		} else {
			memset(scratch + used, 0, len);
		}
		used += vgpu_wire_pad(len);
	}
	FUZZ_ASSERT(used == view->scratch_bytes);
	FUZZ_ASSERT(data == (const u8 *)view->call + le32_to_cpu(view->call->hdr.len));
}

/* Applies the fixups. Two fixups may share a place only if an FD_OUT follows an FD_IN. */
static void fix(const struct vgpu_call_view *view, const u8 *scratch, u8 *fixed,
		const u32 *offsets)
{
	u32 nr = le16_to_cpu(view->call->nr_fixups);
	u32 i, j, fds = 0;

	for (i = 0; i < nr; i++) {
		const struct vgpu_fixup *fixup = &view->fixups[i];
		u16 type = le16_to_cpu(fixup->type);
		u32 size = type == VGPU_FIXUP_PTR || type == VGPU_FIXUP_TIME ? 8 : 4;
		u32 at, to;

		if (type == VGPU_FIXUP_FD_OUT || type == VGPU_FIXUP_FD_RET)
			fds++;
		if (type == VGPU_FIXUP_FD_RET)
			continue;
		at = offsets[le16_to_cpu(fixup->seg)] + le32_to_cpu(fixup->offset);
		FUZZ_ASSERT(!(at % 4));
		for (j = 0; j < size; j++) {
			FUZZ_ASSERT(!fixed[at + j] || (fixed[at + j] == VGPU_FIXUP_FD_IN &&
						       type == VGPU_FIXUP_FD_OUT));
			fixed[at + j] = type;
		}
		if (type == VGPU_FIXUP_FD_IN)
			FUZZ_ASSERT(fixup->target);
		if (type != VGPU_FIXUP_PTR && type != VGPU_FIXUP_PTR32)
			continue;
		to = offsets[le32_to_cpu(fixup->target)];
		fuzz_sum(scratch + to, le32_to_cpu(fixup->target_offset));
	}
	FUZZ_ASSERT(fds <= VGPU_FDS_MAX);
}

static void gather(const struct vgpu_call_view *view, const u8 *scratch, const u32 *offsets)
{
	u32 nr = le16_to_cpu(view->call->nr_segs), used = 0, i;
	u8 *reply = malloc(view->reply_bytes + 1);

	if (!reply)
		abort();
	for (i = 0; i < nr; i++) {
		u32 len = le32_to_cpu(view->segs[i].len);

		if (!(le32_to_cpu(view->segs[i].flags) & VGPU_SEG_OUT))
			continue;
		memcpy(reply + used, scratch + offsets[i], len);
		used += vgpu_wire_pad(len);
	}
	FUZZ_ASSERT(used == view->reply_bytes);
	free(reply);
}

static void carry_out(const struct vgpu_call_view *view)
{
	/* OUT segments cost the sender nothing, so scratch may be too large for a fuzzer. */
	u8 *scratch, *fixed;
	u32 *offsets;

	if (le16_to_cpu(view->call->op) == VGPU_OP_IOCTL &&
	    le32_to_cpu(view->call->args.ioctl.arg_kind) == VGPU_IOCTL_ARG_FD)
		FUZZ_ASSERT(!view->call->nr_segs &&
			    (u32)le64_to_cpu(view->call->args.ioctl.arg) &&
			    !(le64_to_cpu(view->call->args.ioctl.arg) >> 32));
	FUZZ_ASSERT(view->scratch_bytes <= 2 * VGPU_CALL_BYTES_MAX);
	FUZZ_ASSERT(view->reply_bytes <= VGPU_CALL_BYTES_MAX);
	if (view->scratch_bytes > 1 << 20)
		return;
	scratch = malloc(view->scratch_bytes + 1);
	fixed = calloc(view->scratch_bytes + 1, 1);
	offsets = calloc(VGPU_SEGS_MAX, sizeof(*offsets));
	if (!scratch || !fixed || !offsets)
		abort();
	place(view, scratch, offsets);
	fix(view, scratch, fixed, offsets);
	gather(view, scratch, offsets);
	free(offsets);
	free(fixed);
	free(scratch);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct vgpu_wire_limits limits;
	struct vgpu_call_view view;
	struct fuzz_head head;
	void *msg;

	if (len < sizeof(head))
		return 0;
	memcpy(&head, data, sizeof(head));
	limits = fuzz_limits(&head);
	msg = fuzz_copy(data + sizeof(head), len - sizeof(head), &head);
	if (!vgpu_wire_call_check(msg, len - sizeof(head), &limits, &view))
		carry_out(&view);
	free(msg);
	return 0;
}
