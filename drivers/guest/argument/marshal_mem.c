// SPDX-License-Identifier: GPL-2.0-only
/*
 * The growing parts of a call that is being marshalled: segments, fixups and bytes. Each is
 * kept within the host's limits, which are counted as in the wire protocol.
 */
#include "argument/marshal_mem.h"

void vgpu_marshal_init(struct vgpu_marshal *m, const struct vgpu_wire_limits *limits,
		       const struct vgpu_marshal_fds *fds, void *fds_data)
{
	/* The inline arrays at the end need no clearing. */
	memset(m, 0, offsetof(struct vgpu_marshal, first));
	m->caller.limits = limits;
	m->caller.ops = fds;
	m->caller.data = fds_data;
	m->segs = m->first.segs;
	m->info = m->first.info;
	m->cap.segs = VGPU_MARSHAL_SEGS;
	m->fixups = m->first.fixups;
	m->cap.fixups = VGPU_MARSHAL_FIXUPS;
	m->held = m->first.held;
	m->cap.held = VGPU_MARSHAL_HELD;
	m->data = (u8 *)m->first.data;
	m->cap.data = VGPU_MARSHAL_BYTES;
}

void vgpu_marshal_fini(struct vgpu_marshal *m)
{
	u32 i;

	for (i = 0; i < m->nr_held; i++) {
		if (m->held[i].kind == VGPU_HELD_OBJECT)
			m->caller.ops->put(m->caller.data, m->held[i].handle);
		else if (m->held[i].kind == VGPU_HELD_EVENT && !m->held[i].filled)
			m->caller.ops->event_cancel(m->caller.data, m->held[i].fixup);
	}
	m->nr_held = 0;
	if (m->segs != m->first.segs)
		kvfree(m->segs);
	if (m->info != m->first.info)
		kvfree(m->info);
	if (m->fixups != m->first.fixups)
		kvfree(m->fixups);
	if (m->held != m->first.held)
		kvfree(m->held);
	if (m->data != (u8 *)m->first.data)
		kvfree(m->data);
}

/* Copy @size bytes at @p to a new buffer of @cap bytes, and free @p unless it is @first. */
static void *grow(void *p, const void *first, size_t size, size_t cap)
{
	void *new = kvmalloc(cap, GFP_KERNEL_ACCOUNT);

	if (!new)
		return NULL;
	memcpy(new, p, size);
	if (p != first)
		kvfree(p);
	return new;
}

static int grow_data(struct vgpu_marshal *m, u32 need)
{
	u32 cap = m->cap.data;
	u8 *new;

	if (need <= cap)
		return 0;
	/* The limits guarantee that this stays below twice VGPU_CALL_BYTES_MAX. */
	while (cap < need)
		cap *= 2;
	new = grow(m->data, m->first.data, m->data_len, cap);
	if (!new)
		return -ENOMEM;
	m->data = new;
	m->cap.data = cap;
	return 0;
}

static int grow_segs(struct vgpu_marshal *m)
{
	u32 cap = m->cap.segs * 2;
	struct vgpu_marshal_seg *info;
	struct vgpu_seg *segs;

	if (m->nr_segs < m->cap.segs)
		return 0;
	segs = grow(m->segs, m->first.segs, m->nr_segs * sizeof(*segs), cap * sizeof(*segs));
	if (!segs)
		return -ENOMEM;
	m->segs = segs;
	info = grow(m->info, m->first.info, m->nr_segs * sizeof(*info), cap * sizeof(*info));
	if (!info)
		return -ENOMEM;
	m->info = info;
	m->cap.segs = cap;
	return 0;
}

/* Return: true if the call and its reply have room for these additions. */
static bool fits(const struct vgpu_marshal *m, u32 segs, u32 fixups, u64 in, u64 out)
{
	const u64 max = m->caller.limits->call_bytes;

	if (m->nr_segs + segs > m->caller.limits->segs ||
	    m->nr_fixups + fixups > m->caller.limits->fixups)
		return false;
	return sizeof(struct vgpu_call) + (m->nr_segs + segs) * sizeof(struct vgpu_seg) +
		(m->nr_fixups + fixups) * sizeof(struct vgpu_fixup) + m->data_len + in <= max &&
		sizeof(struct vgpu_reply) + m->nr_fd_out * sizeof(struct vgpu_object_desc) +
		m->reply_bytes + out <= max;
}

bool vgpu_marshal_object_fits(const struct vgpu_marshal *m)
{
	return m->nr_fd_out < VGPU_FDS_MAX &&
		fits(m, 0, 1, 0, sizeof(struct vgpu_object_desc));
}

static int copy_in(struct vgpu_marshal *m, u32 at, u64 addr, u32 len)
{
	u32 end = vgpu_wire_pad(at + len);
	int error = grow_data(m, end);

	if (error)
		return error;
	if (copy_from_user(m->data + at, u64_to_user_ptr(addr), len))
		return -EFAULT;
	memset(m->data + at + len, 0, end - at - len);
	m->data_len = end;
	return 0;
}

/* Append a segment whose bytes are at @in_off of the data; the arrays have room for it. */
static int seg_append(struct vgpu_marshal *m, u64 addr, u32 len, u8 dir, u32 in_off, u32 flags)
{
	m->info[m->nr_segs] = (struct vgpu_marshal_seg) {
		.addr = addr,
		.len = len,
		.dir = dir,
		.in_off = in_off,
		.out_off = m->reply_bytes,
	};
	m->segs[m->nr_segs].addr = cpu_to_le64(addr);
	m->segs[m->nr_segs].len = cpu_to_le32(len);
	m->segs[m->nr_segs].flags = cpu_to_le32(flags);
	return m->nr_segs++;
}

int vgpu_marshal_seg_add(struct vgpu_marshal *m, u64 addr, u32 len, u8 dir)
{
	u64 pad = ((u64)len + 7) & ~7ULL;
	u32 in_off = m->data_len, flags = 0;
	int error, seg;

	/* The pointer to the segment needs a fixup. */
	if (!fits(m, 1, 1, dir & VGPU_IN ? pad : 0, dir & VGPU_OUT ? pad : 0))
		return -E2BIG;
	if (!access_ok(u64_to_user_ptr(addr), len))
		return -EFAULT;
	error = grow_segs(m);
	if (!error && (dir & VGPU_IN)) {
		error = copy_in(m, in_off, addr, len);
		flags |= VGPU_SEG_IN;
	}
	if (error)
		return error;
	if (dir & VGPU_OUT)
		flags |= VGPU_SEG_OUT;
	seg = seg_append(m, addr, len, dir, in_off, flags);
	if (dir & VGPU_OUT)
		m->reply_bytes += pad;
	m->scratch_bytes += pad;
	return seg;
}

int vgpu_marshal_seg_extend(struct vgpu_marshal *m, u32 len, u8 dir)
{
	struct vgpu_marshal_seg *info = &m->info[m->nr_segs - 1];
	u32 more, out, total;
	int error;

	if (check_add_overflow(info->len, len, &total) || total > U32_MAX - 8)
		return -E2BIG;
	more = vgpu_wire_pad(total) - vgpu_wire_pad(info->len);
	out = dir & VGPU_OUT ? vgpu_wire_pad(total) : 0;
	if (info->dir & VGPU_OUT)
		out -= vgpu_wire_pad(info->len);
	if (!fits(m, 0, 1, more, out))
		return -E2BIG;
	error = copy_in(m, info->in_off + info->len, info->addr + info->len, len);
	if (error)
		return error;
	m->reply_bytes += out;
	m->scratch_bytes += more;
	info->len = total;
	m->segs[m->nr_segs - 1].len = cpu_to_le32(total);
	if (dir & VGPU_OUT) {
		info->dir |= VGPU_OUT;
		m->segs[m->nr_segs - 1].flags |= cpu_to_le32(VGPU_SEG_OUT);
	}
	return 0;
}

void vgpu_marshal_seg_drop(struct vgpu_marshal *m)
{
	struct vgpu_marshal_seg *info = &m->info[--m->nr_segs];

	if (info->dir & VGPU_IN)
		m->data_len = info->in_off;
	if (info->dir & VGPU_OUT)
		m->reply_bytes = info->out_off;
	m->scratch_bytes -= vgpu_wire_pad(info->len);
}

int vgpu_marshal_page_add(struct vgpu_marshal *m, u64 addr)
{
	u32 scratch = m->scratch_bytes;
	int seg = vgpu_marshal_seg_add(m, addr, VGPU_PAGE_SIZE, VGPU_IN);

	if (seg < 0)
		return seg;
	m->scratch_bytes = scratch;
	m->segs[seg].flags = cpu_to_le32(VGPU_SEG_IN | VGPU_SEG_PAGE);
	return seg;
}

/* Return: end address of the memory of a KEPT segment; 0 for another segment. */
static u64 kept_end(const struct vgpu_marshal *m, u32 seg)
{
	const struct vgpu_kept *kept = (const void *)(m->data + m->info[seg].in_off);

	if (!(le32_to_cpu(m->segs[seg].flags) & VGPU_SEG_KEPT))
		return 0;
	return m->info[seg].addr + le64_to_cpu(kept->len);
}

/* Return: true if the call may have one more KEPT segment. */
static bool kept_fits(const struct vgpu_marshal *m)
{
	u32 nr = 0, i;

	for (i = 0; i < m->nr_segs; i++)
		nr += !!kept_end(m, i);
	return nr < VGPU_KEPT_MAX;
}

bool vgpu_marshal_kept_gap(const struct vgpu_marshal *m, u64 *addr, u64 end, u64 *gap)
{
	u32 i;

	for (i = 0; i < m->nr_segs; i++) {
		if (m->info[i].addr > *addr || kept_end(m, i) <= *addr)
			continue;
		/* Restart the search: another segment may contain the new address. */
		*addr = kept_end(m, i);
		i = U32_MAX;
	}
	*gap = end;
	for (i = 0; i < m->nr_segs; i++)
		if (kept_end(m, i) && m->info[i].addr > *addr)
			*gap = min(*gap, m->info[i].addr);
	return *addr < end;
}

int vgpu_marshal_kept_add(struct vgpu_marshal *m, u64 addr, u64 len, bool write,
			  const struct vgpu_marshal_kept *kept)
{
	u64 runs = (u64)kept->nr_runs * sizeof(*kept->runs), bytes;
	struct vgpu_kept *head;
	int error;

	bytes = sizeof(*head) + runs;
	if (!kept_fits(m) || !fits(m, 1, 0, bytes, 0))
		return -ENOSPC;
	error = grow_segs(m);
	if (!error)
		error = grow_data(m, m->data_len + bytes);
	if (error)
		return error;
	head = (void *)(m->data + m->data_len);
	*head = (struct vgpu_kept) {
		.number = cpu_to_le64(kept->number),
		.len = cpu_to_le64(len),
		.flags = cpu_to_le32(write ? VGPU_KEPT_WRITE : 0),
	};
	memcpy(head + 1, kept->runs, runs);
	seg_append(m, addr, bytes, VGPU_IN, m->data_len, VGPU_SEG_IN | VGPU_SEG_KEPT);
	m->data_len += bytes;
	return 0;
}

int vgpu_marshal_fixup_add(struct vgpu_marshal *m, u16 type, u16 seg, u32 offset, u32 target,
			   u32 target_offset)
{
	struct vgpu_fixup *fixup;
	u32 cap = m->cap.fixups * 2;

	if (!fits(m, 0, 1, 0, 0))
		return -E2BIG;
	if (m->nr_fixups == m->cap.fixups) {
		fixup = grow(m->fixups, m->first.fixups, m->nr_fixups * sizeof(*fixup),
			     cap * sizeof(*fixup));
		if (!fixup)
			return -ENOMEM;
		m->fixups = fixup;
		m->cap.fixups = cap;
	}
	fixup = &m->fixups[m->nr_fixups];
	fixup->type = cpu_to_le16(type);
	fixup->seg = cpu_to_le16(seg);
	fixup->offset = cpu_to_le32(offset);
	fixup->target = cpu_to_le32(target);
	fixup->target_offset = cpu_to_le32(target_offset);
	return m->nr_fixups++;
}

int vgpu_marshal_held_add(struct vgpu_marshal *m, const struct vgpu_marshal_held *held)
{
	u32 cap = m->cap.held * 2;

	if (m->nr_held == m->cap.held) {
		struct vgpu_marshal_held *new;

		new = grow(m->held, m->first.held, m->nr_held * sizeof(*new),
			   cap * sizeof(*new));
		if (!new)
			return -ENOMEM;
		m->held = new;
		m->cap.held = cap;
	}
	m->held[m->nr_held++] = *held;
	return 0;
}
