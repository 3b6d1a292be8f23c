// SPDX-License-Identifier: GPL-2.0-only
/*
 * Codec of the wire protocol: CALL, which a host receives from a guest that it does not trust.
 */
#include "wire_check.h"

static bool seg_overlaps_page(const struct vgpu_seg *segs, u32 nr, u64 addr, u64 len)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		u64 other = le64_to_cpu(segs[i].addr);

		if ((le32_to_cpu(segs[i].flags) & VGPU_SEG_PAGE) &&
		    addr < other + le32_to_cpu(segs[i].len) && other < addr + len)
			return true;
	}
	return false;
}

/**
 * struct kept_ranges - ranges of the process that the KEPT segments checked so far describe
 * @addr: address of the first byte of each range
 * @end: end address of each range
 * @nr: number of ranges
 */
struct kept_ranges {
	u64 addr[VGPU_KEPT_MAX];
	u64 end[VGPU_KEPT_MAX];
	u32 nr;
};

/* Check a KEPT segment with @len bytes at @data, and add its range to @kept. */
static bool kept_ok(const u8 *data, u32 len, u64 addr, struct kept_ranges *kept)
{
	const struct vgpu_kept *head = (const void *)data;
	const struct vgpu_run *run = (const void *)(head + 1);
	u64 left, end;
	u32 nr, i;

	if (len < sizeof(*head) || (len - sizeof(*head)) % sizeof(*run) ||
	    kept->nr == VGPU_KEPT_MAX)
		return false;
	left = le64_to_cpu(head->len);
	if (!head->number || (le32_to_cpu(head->flags) & ~VGPU_KEPT_WRITE) || head->reserved ||
	    !page_range_ok(addr, left))
		return false;
	end = addr + left;
	for (i = 0; i < kept->nr; i++)
		if (addr < kept->end[i] && kept->addr[i] < end)
			return false;
	kept->addr[kept->nr] = addr;
	kept->end[kept->nr++] = end;
	for (nr = (len - sizeof(*head)) / sizeof(*run); nr; nr--, run++) {
		u64 bytes = le64_to_cpu(run->len);

		if (!page_range_ok(le64_to_cpu(run->addr), bytes) || bytes > left)
			return false;
		left -= bytes;
		cond_resched();
	}
	return !left;
}

/*
 * Check each segment and fill in the sums. @end is the highest end of the PAGE segments so far:
 * segments in ascending order, the usual one, need no comparison with each other.
 */
static bool call_segs_ok(struct vgpu_call_view *view, u32 nr, u64 data_len,
			 const struct vgpu_wire_limits *limits)
{
	u64 in = 0, out = 0, scratch = 0, end = 0;
	struct kept_ranges kept = { .nr = 0 };
	u32 i;

	for (i = 0; i < nr; i++) {
		u64 addr = le64_to_cpu(view->segs[i].addr);
		u32 len = le32_to_cpu(view->segs[i].len);
		u64 padded = ALIGN((u64)len, 8);

		switch (le32_to_cpu(view->segs[i].flags)) {
		case VGPU_SEG_IN | VGPU_SEG_PAGE:
			if (!(limits->features & VGPU_FEATURE_DEMAND) ||
			    !page_range_ok(addr, len))
				return false;
			if (addr < end && seg_overlaps_page(view->segs, i, addr, len))
				return false;
			if (end < addr + len)
				end = addr + len;
			cond_resched();
			break;
		case VGPU_SEG_IN | VGPU_SEG_KEPT:
			if (!(limits->features & VGPU_FEATURE_KEEP))
				return false;
			break;
		case VGPU_SEG_OUT:
		case VGPU_SEG_IN | VGPU_SEG_OUT:
			out += padded;
			fallthrough;
		case VGPU_SEG_IN:
			scratch += padded;
			break;
		default:
			return false;
		}
		if (!(le32_to_cpu(view->segs[i].flags) & VGPU_SEG_IN))
			continue;
		if (in + padded > data_len || !pad_ok(view->data + in, len))
			return false;
		if ((le32_to_cpu(view->segs[i].flags) & VGPU_SEG_KEPT) &&
		    !kept_ok(view->data + in, len, addr, &kept))
			return false;
		in += padded;
	}
	view->scratch_bytes = scratch;
	view->reply_bytes = out;
	/* The reply is a lane message, too; its objects are counted elsewhere. */
	return in == data_len && out + sizeof(struct vgpu_reply) <= limit_call_bytes(limits) &&
		!(kept.nr && end);
}

static u32 fixup_size(const struct vgpu_fixup *fixup)
{
	u16 type = le16_to_cpu(fixup->type);

	return type == VGPU_FIXUP_PTR || type == VGPU_FIXUP_TIME ? 8 : 4;
}

/* Return: true if an FD_OUT replaces the FD_IN of the same field. */
static bool fixup_is_swap(const struct vgpu_fixup *in, const struct vgpu_fixup *out)
{
	return in->offset == out->offset && le16_to_cpu(in->type) == VGPU_FIXUP_FD_IN &&
		le16_to_cpu(out->type) == VGPU_FIXUP_FD_OUT;
}

static bool fixup_overlaps(const struct vgpu_fixup *fixups, u32 nr, const struct vgpu_fixup *one)
{
	u32 offset = le32_to_cpu(one->offset);
	u32 i;

	for (i = 0; i < nr; i++) {
		u32 other = le32_to_cpu(fixups[i].offset);

		if (fixups[i].seg == one->seg &&
		    le16_to_cpu(fixups[i].type) != VGPU_FIXUP_FD_RET &&
		    offset < other + fixup_size(&fixups[i]) &&
		    other < offset + fixup_size(one) && !fixup_is_swap(&fixups[i], one))
			return true;
	}
	return false;
}

static bool call_fixup_ok(const struct vgpu_call_view *view, const struct vgpu_fixup *fixup)
{
	u32 target = le32_to_cpu(fixup->target);
	const struct vgpu_seg *seg, *to;
	u32 offset = le32_to_cpu(fixup->offset);

	if (le16_to_cpu(fixup->seg) >= le16_to_cpu(view->call->nr_segs))
		return false;
	seg = &view->segs[le16_to_cpu(fixup->seg)];
	if ((le32_to_cpu(seg->flags) & (VGPU_SEG_PAGE | VGPU_SEG_KEPT)) || (offset & 3) ||
	    (u64)offset + fixup_size(fixup) > le32_to_cpu(seg->len))
		return false;

	switch (le16_to_cpu(fixup->type)) {
	case VGPU_FIXUP_PTR32:
		if (!(le16_to_cpu(view->call->flags) & VGPU_CALL_COMPAT))
			return false;
		fallthrough;
	case VGPU_FIXUP_PTR:
		if (target >= le16_to_cpu(view->call->nr_segs))
			return false;
		/*
		 * PTR must not name a PAGE or KEPT segment: these lie at the program's own
		 * address.
		 */
		to = &view->segs[target];
		return !(le32_to_cpu(to->flags) & (VGPU_SEG_PAGE | VGPU_SEG_KEPT)) &&
			le32_to_cpu(fixup->target_offset) <= le32_to_cpu(to->len);
	case VGPU_FIXUP_FD_IN:
	case VGPU_FIXUP_EVENT:
		return target && !fixup->target_offset;
	case VGPU_FIXUP_TIME:
		return (le32_to_cpu(seg->flags) & VGPU_SEG_IN) && !target && !fixup->target_offset;
	case VGPU_FIXUP_FD_OUT:
		return (le32_to_cpu(seg->flags) & VGPU_SEG_OUT) && !target && !fixup->target_offset;
	default:
		return false;
	}
}

/*
 * Check each fixup. @high is the end of the highest field so far, as segment << 32 | offset: a
 * fixup beyond it, the usual order, overlaps none of the earlier ones.
 */
static bool call_fixups_ok(const struct vgpu_call_view *view, u32 nr,
			   const struct vgpu_wire_limits *limits)
{
	u32 i, fds = 0, rets = 0, events = 0;
	u64 high = 0;

	for (i = 0; i < nr; i++) {
		const struct vgpu_fixup *fixup = &view->fixups[i];
		u64 place = (u64)le16_to_cpu(fixup->seg) << 32 | le32_to_cpu(fixup->offset);

		if (le16_to_cpu(fixup->type) == VGPU_FIXUP_FD_RET) {
			if (place || fixup->target || fixup->target_offset || rets++)
				return false;
			fds++;
			continue;
		}
		if (!call_fixup_ok(view, fixup))
			return false;
		if (le16_to_cpu(fixup->type) == VGPU_FIXUP_EVENT && events++)
			return false;
		if (place < high && fixup_overlaps(view->fixups, i, fixup))
			return false;
		if (high < place + fixup_size(fixup))
			high = place + fixup_size(fixup);
		if (le16_to_cpu(fixup->type) == VGPU_FIXUP_FD_OUT)
			fds++;
		cond_resched();
	}
	return fds <= VGPU_FDS_MAX && sizeof(struct vgpu_reply) + view->reply_bytes +
		fds * sizeof(struct vgpu_object_desc) <= limit_call_bytes(limits);
}

static bool seg_is(const struct vgpu_call_view *view, u32 i, u32 flags)
{
	return le32_to_cpu(view->segs[i].flags) == flags;
}

/* Check the range for the segments of a 32-bit process; other calls have none. */
static bool ioctl_low_ok(const struct vgpu_call_view *view, u32 nr_segs)
{
	const struct vgpu_args_ioctl *args = &view->call->args.ioctl;
	u64 low = le64_to_cpu(args->low), len = le64_to_cpu(args->low_len);

	if (!(le16_to_cpu(view->call->flags) & VGPU_CALL_COMPAT) ||
	    le32_to_cpu(args->arg_kind) != VGPU_IOCTL_ARG_SEG)
		return !low && !len;
	return page_range_ok(low, len) && low + len <= VGPU_LOW_END &&
		len >= VGPU_LOW_BYTES(nr_segs, view->scratch_bytes);
}

static bool call_ioctl_ok(const struct vgpu_call_view *view, u32 nr_segs)
{
	const struct vgpu_args_ioctl *args = &view->call->args.ioctl;
	u32 i;

	if (args->reserved || args->reserved2 || !ioctl_low_ok(view, nr_segs))
		return false;
	switch (le32_to_cpu(args->arg_kind)) {
	case VGPU_IOCTL_ARG_VALUE:
		/* Only PAGE segments are allowed: no pointer of the call could lead to others. */
		for (i = 0; i < nr_segs; i++)
			if (!seg_is(view, i, VGPU_SEG_IN | VGPU_SEG_PAGE))
				return false;
		return true;
	case VGPU_IOCTL_ARG_SEG:
		return !args->arg && nr_segs && !seg_is(view, 0, VGPU_SEG_IN | VGPU_SEG_PAGE) &&
			!seg_is(view, 0, VGPU_SEG_IN | VGPU_SEG_KEPT);
	case VGPU_IOCTL_ARG_FD:
		return !nr_segs && args->arg && le64_to_cpu(args->arg) <= U32_MAX;
	default:
		return false;
	}
}

/* Check a WRITE, which has the bytes, or names the program's buffer. */
static bool call_write_ok(const struct vgpu_call_view *view, u32 nr_segs,
			  const struct vgpu_wire_limits *limits)
{
	const struct vgpu_args_write *args = &view->call->args.write;

	if (nr_segs)
		return nr_segs == 1 && seg_is(view, 0, VGPU_SEG_IN) &&
			raw_ok(view->call->args.raw, ARRAY_SIZE(view->call->args.raw));
	return (limits->features & VGPU_FEATURE_WRITE_NAMED) &&
		le32_to_cpu(args->len) <= limit_call_bytes(limits) &&
		range_ok(le64_to_cpu(args->addr), le32_to_cpu(args->len)) && !args->reserved &&
		raw_ok(args->reserved2, ARRAY_SIZE(args->reserved2));
}

/* Check the place in a window, which may be none. */
static bool mmap_window_ok(const struct vgpu_args_mmap *args,
			   const struct vgpu_wire_limits *limits)
{
	if (!args->window)
		return !args->window_offset;
	return (limits->features & VGPU_FEATURE_WINDOW) && args->window_offset &&
		page_range_ok(le64_to_cpu(args->window_offset), le64_to_cpu(args->len));
}

static bool call_mmap_ok(const struct vgpu_args_mmap *args,
			 const struct vgpu_wire_limits *limits)
{
	u64 len = le64_to_cpu(args->len);
	u32 flags = le32_to_cpu(args->flags);

	return page_range_ok(le64_to_cpu(args->addr), len) &&
		page_range_ok(le64_to_cpu(args->offset), len) &&
		!(le32_to_cpu(args->prot) & ~(PROT_READ | PROT_WRITE | PROT_EXEC)) &&
		(flags == MAP_SHARED || flags == MAP_PRIVATE) && mmap_window_ok(args, limits);
}

static bool call_bind_ok(const struct vgpu_args_bind *args)
{
	u64 len = le64_to_cpu(args->len);

	return page_range_ok(le64_to_cpu(args->addr), len) && args->window &&
		args->window_offset && page_range_ok(le64_to_cpu(args->window_offset), len) &&
		raw_ok(args->reserved, ARRAY_SIZE(args->reserved));
}

static bool call_protect_ok(const struct vgpu_args_protect *args)
{
	u32 prot = le32_to_cpu(args->prot);

	return page_range_ok(le64_to_cpu(args->addr), le64_to_cpu(args->len)) &&
		(prot & PROT_WRITE) && !(prot & ~(PROT_READ | PROT_WRITE)) && !args->reserved &&
		raw_ok(args->reserved2, ARRAY_SIZE(args->reserved2));
}

static bool call_write_pages_ok(const struct vgpu_call_view *view)
{
	u32 len = le32_to_cpu(view->segs[0].len), data_len = le32_to_cpu(view->segs[1].len);
	u32 nr = len / sizeof(struct vgpu_range);
	u64 bytes;

	return nr && !(len % sizeof(struct vgpu_range)) &&
		vgpu_wire_ranges_ok((const void *)view->data, nr,
				    view->data + vgpu_wire_pad(len), data_len, &bytes) &&
		bytes == data_len;
}

/* Return: VGPU_FEATURE_* that the operation needs. */
static u64 call_feature(u16 op)
{
	switch (op) {
	case VGPU_OP_MMAP:
	case VGPU_OP_PROTECT:
	case VGPU_OP_READ_PAGES:
	case VGPU_OP_WRITE_PAGES:
		return VGPU_FEATURE_COPY_MMAP;
	case VGPU_OP_BIND:
		return VGPU_FEATURE_COPY_MMAP | VGPU_FEATURE_WINDOW;
	default:
		return 0;
	}
}

/* Check the number of segments and fixups, the object, and the arguments of the operation. */
static bool call_op_ok(const struct vgpu_call_view *view, u32 nr_segs, u32 nr_fixups,
		       const struct vgpu_wire_limits *limits)
{
	const struct vgpu_call *call = view->call;
	const __le64 *raw = call->args.raw;
	const u32 nr_raw = ARRAY_SIZE(call->args.raw);
	u16 op = le16_to_cpu(call->op);
	bool object = op != VGPU_OP_OPEN && op != VGPU_OP_READ_PAGES && op != VGPU_OP_WRITE_PAGES &&
		      op != VGPU_OP_BIND && op != VGPU_OP_PROTECT && op != VGPU_OP_CLOCK;

	if (object != !!call->object || (op != VGPU_OP_IOCTL && nr_fixups))
		return false;

	switch (op) {
	case VGPU_OP_OPEN:
		return !nr_segs && call->args.open.export && raw_ok(raw + 1, nr_raw - 1);
	case VGPU_OP_CLOSE:
		return !nr_segs && !call->args.close.reserved && raw_ok(raw + 1, nr_raw - 1);
	case VGPU_OP_CLOCK:
		return !nr_segs && raw_ok(raw, nr_raw);
	case VGPU_OP_IOCTL:
		return call_ioctl_ok(view, nr_segs);
	case VGPU_OP_READ:
	case VGPU_OP_FDINFO:
		return nr_segs == 1 && seg_is(view, 0, VGPU_SEG_OUT) && raw_ok(raw, nr_raw);
	case VGPU_OP_WRITE:
		return call_write_ok(view, nr_segs, limits);
	case VGPU_OP_LLSEEK:
		return !nr_segs && le32_to_cpu(call->args.llseek.whence) <= SEEK_MAX &&
			!call->args.llseek.reserved && raw_ok(raw + 2, nr_raw - 2);
	case VGPU_OP_POLL:
		return !nr_segs && !(le32_to_cpu(call->args.poll.flags) & ~VGPU_POLL_STAY) &&
			!(le32_to_cpu(call->args.poll.events) & ~VGPU_POLL_EVENTS) &&
			!call->args.poll.reserved && raw_ok(raw + 2, nr_raw - 2);
	case VGPU_OP_MMAP:
		return !nr_segs && call_mmap_ok(&call->args.mmap, limits);
	case VGPU_OP_BIND:
		return !nr_segs && call_bind_ok(&call->args.bind);
	case VGPU_OP_PROTECT:
		return !nr_segs && call_protect_ok(&call->args.protect);
	case VGPU_OP_READ_PAGES:
		return nr_segs == 1 && seg_is(view, 0, VGPU_SEG_OUT) &&
			raw_ok(raw + 2, nr_raw - 2) &&
			page_range_ok(le64_to_cpu(call->args.pages.addr),
				      le64_to_cpu(call->args.pages.len)) &&
			le64_to_cpu(call->args.pages.len) == le32_to_cpu(view->segs[0].len);
	case VGPU_OP_WRITE_PAGES:
		return nr_segs == 2 && seg_is(view, 0, VGPU_SEG_IN) &&
			seg_is(view, 1, VGPU_SEG_IN) && raw_ok(raw, nr_raw) &&
			call_write_pages_ok(view);
	default:
		return false;
	}
}

static u16 call_flags(u16 op)
{
	switch (op) {
	case VGPU_OP_IOCTL:
		return VGPU_CALL_COMPAT | VGPU_CALL_WATCH | VGPU_CALL_ADMIN | VGPU_CALL_CLOCKS;
	case VGPU_OP_READ_PAGES:
		return VGPU_CALL_COMPAT | VGPU_CALL_DEBUG;
	default:
		return VGPU_CALL_COMPAT;
	}
}

int vgpu_wire_call_check(const void *msg, size_t msg_len, const struct vgpu_wire_limits *limits,
			 struct vgpu_call_view *view)
{
	const struct vgpu_call *call = msg;
	u32 nr_segs, nr_fixups;
	size_t fixed;

	if (whole_check(msg, msg_len, limits) || le16_to_cpu(call->hdr.type) != VGPU_MSG_CALL)
		return -EPROTO;
	nr_segs = le16_to_cpu(call->nr_segs);
	nr_fixups = le16_to_cpu(call->nr_fixups);
	fixed = sizeof(*call) + nr_segs * sizeof(*view->segs) + nr_fixups * sizeof(*view->fixups);
	if ((le16_to_cpu(call->flags) & ~call_flags(le16_to_cpu(call->op))) || fixed > msg_len ||
	    call_feature(le16_to_cpu(call->op)) & ~limits->features ||
	    nr_segs > min_t(u32, limits->segs, VGPU_SEGS_MAX) ||
	    nr_fixups > min_t(u32, limits->fixups, VGPU_FIXUPS_MAX))
		return -EPROTO;

	view->call = call;
	view->segs = (const void *)(call + 1);
	view->fixups = (const void *)(view->segs + nr_segs);
	view->data = (const u8 *)msg + fixed;
	return call_segs_ok(view, nr_segs, msg_len - fixed, limits) &&
		call_fixups_ok(view, nr_fixups, limits) &&
		call_op_ok(view, nr_segs, nr_fixups, limits) ? 0 : -EPROTO;
}
