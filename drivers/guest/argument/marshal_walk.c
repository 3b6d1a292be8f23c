// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processing of a schema's fields in the caller's memory.
 *
 * Every struct is copied once, when its segment is added; everything that the marshaller knows
 * of the struct comes from that copy. A pointer that cannot be followed stays unchanged: the
 * driver gets the caller's own address, and reads its memory by demand paging or fails as it
 * would natively.
 */
#include "argument/marshal_mem.h"
#include "argument/marshal_value.h"
#include "argument/marshal_walk.h"

/* Note that the driver may read memory that no schema describes. */
static int walk_leave_raw(struct vgpu_marshal *m)
{
	m->found.raw = true;
	return 0;
}

/* Ignore errors after which the pointer can stay unchanged. */
static int walk_leave(struct vgpu_marshal *m, int error)
{
	return error == -EFAULT || error == -E2BIG ? walk_leave_raw(m) : error;
}

/* Get an integer of the struct. Return: false if it was not sent to the host. */
static bool walk_get(const struct vgpu_marshal *m, const struct vgpu_walk_level *level,
		     u32 offset, u8 size, u64 *value)
{
	const struct vgpu_marshal_seg *info = &m->info[level->seg];

	if (!(info->dir & VGPU_IN))
		return false;
	*value = 0;
	if (offset + size <= level->len)
		*value = vgpu_marshal_int(m->data + info->in_off + level->base + offset, size);
	return true;
}

/* Return: segment of the memory of the pointer at @via in the struct, or NULL. */
static const struct vgpu_marshal_seg *target_find(const struct vgpu_marshal *m,
						  const struct vgpu_walk_level *level, u16 via)
{
	u32 i;

	for (i = m->nr_segs; i-- > 1;) {
		const struct vgpu_marshal_seg *info = &m->info[i];

		if (info->field && info->parent == level->seg &&
		    info->parent_base == level->base && info->field->offset == via)
			return info;
	}
	return NULL;
}

/* Get a number from the memory of a pointer. @index: index of the element that refers to it. */
static bool target_get(const struct vgpu_marshal *m, const struct vgpu_walk_level *level,
		       const struct vgpu_schema_ref *ref, u32 index, u64 *value)
{
	const struct vgpu_marshal_seg *info = target_find(m, level, ref->via);
	const u8 *p;
	u64 at;
	u32 i;

	if (!info || !(info->dir & VGPU_IN))
		return false;
	p = m->data + info->in_off;
	*value = 0;
	if (ref->kind != VGPU_REF_SUM) {
		at = ref->kind == VGPU_REF_BESIDE ? (u64)index * ref->size : ref->offset;
		if (at + ref->size > info->len)
			return ref->kind == VGPU_REF_TARGET;
		*value = vgpu_marshal_int(p + at, ref->size);
		return true;
	}
	for (i = 0; i + ref->size <= info->len; i += ref->size)
		if (check_add_overflow(*value, vgpu_marshal_int(p + i, ref->size), value))
			return false;
	return true;
}

/* Get a number; NONE leaves @value unchanged. Return: false if the guest cannot know the number. */
static bool walk_number(const struct vgpu_marshal *m, const struct vgpu_walk_level *level,
			const struct vgpu_schema_ref *ref, u64 *value)
{
	const u32 index = level->index;
	u8 up;

	for (up = ref->up; up && level; up--)
		level = level->up;
	if (!level)
		return false;
	switch (ref->kind) {
	case VGPU_REF_NONE:
		return true;
	case VGPU_REF_CONST:
		*value = ref->value;
		return true;
	case VGPU_REF_FIELD:
		return walk_get(m, level, ref->offset, ref->size, value);
	case VGPU_REF_TARGET:
	case VGPU_REF_SUM:
	case VGPU_REF_BESIDE:
		return target_get(m, level, ref, index, value);
	default:
		return false;
	}
}

/* Return: true if the condition holds; a condition on an unknown number does not. */
static bool walk_when(const struct vgpu_marshal *m, const struct vgpu_walk_level *level,
		      const struct vgpu_schema_when *when)
{
	u32 learned;
	u64 value;

	if (when->ref.kind == VGPU_REF_NONE)
		return true;
	if (!walk_number(m, level, &when->ref, &value))
		return false;
	if (!when->learned)
		return vgpu_marshal_when(when, value);
	learned = m->caller.learned ? READ_ONCE(m->caller.learned->number[when->learned - 1]) : 0;
	return learned && value == learned;
}

static int walk_struct(struct vgpu_marshal *m, const struct vgpu_walk_level *level,
		       const struct vgpu_schema_struct *body);

/*
 * Compute the size of an array in bytes, and in @unit that of an element. The counts come from
 * the caller and may have any value. Return: 0 if the array cannot be followed.
 */
static u32 array_bytes(const struct vgpu_marshal *m, const struct vgpu_walk_level *level,
		       const struct vgpu_schema_field *field, u32 *unit)
{
	u64 n = 1, times = 1, each = field->unit, bytes;

	if (!each)
		each = field->elem ? field->elem->size : 1;
	if (!walk_number(m, level, &field->stride, &each) ||
	    !walk_number(m, level, &field->count, &n) ||
	    !walk_number(m, level, &field->times, &times) ||
	    check_mul_overflow(n, times, &n) || check_mul_overflow(n, each, &bytes) ||
	    bytes > U32_MAX - 8 || (field->max && bytes > field->max))
		return 0;
	*unit = each;
	return bytes;
}

/*
 * Find out if memory lies in the argument itself and can be part of its segment: it must not
 * contain fields of pointers or fds, as the host replaces these.
 */
static bool inside_argument(const struct vgpu_marshal *m, const struct vgpu_walk_level *level,
			    const struct vgpu_schema_field *field, u64 addr, u32 len, u32 *offset)
{
	const struct vgpu_marshal_seg *info = &m->info[0];
	u32 i;

	if (addr < info->addr || addr - info->addr > info->len ||
	    len > info->len - (addr - info->addr) || (field->dir & ~info->dir))
		return false;
	*offset = addr - info->addr;
	while (level->up)
		level = level->up;
	for (i = 0; i < level->body->nr_fields; i++) {
		const struct vgpu_schema_field *other = &level->body->fields[i];

		if (other->offset < *offset + len && *offset < other->offset + other->size)
			return false;
	}
	return true;
}

static int ptr_fixup(struct vgpu_marshal *m, const struct vgpu_walk_level *level,
		     const struct vgpu_schema_field *field, u32 target, u32 target_offset)
{
	u16 type = field->size == 4 ? VGPU_FIXUP_PTR32 : VGPU_FIXUP_PTR;

	return vgpu_marshal_fixup_add(m, type, level->seg, level->base + field->offset, target,
				      target_offset);
}

static int walk_elems(struct vgpu_marshal *m, const struct vgpu_walk_level *up, int seg,
		      const struct vgpu_schema_struct *elem, u32 bytes, u32 step)
{
	struct vgpu_walk_level level = { .up = up, .seg = seg, .depth = up->depth + 1 };
	int error;

	if (level.depth >= VGPU_SCHEMA_DEPTH || !step)
		return walk_leave_raw(m);
	for (level.base = 0; level.base < bytes; level.base += step) {
		level.len = min(bytes - level.base, step);
		error = walk_struct(m, &level, elem);
		if (error)
			return error;
		level.index++;
		cond_resched();
	}
	return 0;
}

static int walk_ptr(struct vgpu_marshal *m, const struct vgpu_walk_level *level,
		    const struct vgpu_schema_field *field, u64 addr)
{
	u32 unit = 0, offset = 0, bytes = array_bytes(m, level, field, &unit);
	int seg, error;

	if (!bytes)
		return walk_leave_raw(m);
	if (inside_argument(m, level, field, addr, bytes, &offset))
		return walk_leave(m, min(ptr_fixup(m, level, field, 0, offset), 0));

	seg = vgpu_marshal_seg_add(m, addr, bytes, field->dir);
	if (seg < 0)
		return walk_leave(m, seg);
	m->info[seg].field = field;
	m->info[seg].parent = level->seg;
	m->info[seg].parent_base = level->base;
	m->info[seg].unit = unit;
	error = ptr_fixup(m, level, field, seg, 0);
	if (error < 0)
		return error;
	if (!field->elem)
		return 0;
	/* The count may be in units other than elements (bytes, words): step by elements. */
	if (field->stride.kind == VGPU_REF_NONE)
		unit = field->elem->size;
	return walk_elems(m, level, seg, field->elem, bytes, unit);
}

static const struct vgpu_schema_node *node_find(const struct vgpu_schema_chain *chain, u64 tag)
{
	u32 i;

	for (i = 0; i < chain->nr_nodes; i++)
		if (chain->nodes[i].tag == tag)
			return &chain->nodes[i];
	return NULL;
}

/* Extend the segment of a chain's struct by the elements that follow the struct. */
static int node_more(struct vgpu_marshal *m, const struct vgpu_schema_node *node, int seg)
{
	const struct vgpu_schema_ref *more = &node->more;
	u64 bytes;

	if (more->kind != VGPU_REF_FIELD)
		return 0;
	bytes = vgpu_marshal_int(m->data + m->info[seg].in_off + more->offset, more->size);
	if (!bytes)
		return 0;
	if (check_mul_overflow(bytes, (u64)node->more_unit, &bytes) || bytes > U32_MAX)
		return -E2BIG;
	return vgpu_marshal_seg_extend(m, bytes, node->dir);
}

/* Add the struct of a chain at @addr. Return: index of its segment, or an error. */
static int node_add(struct vgpu_marshal *m, const struct vgpu_schema_chain *chain, u64 addr,
		    const struct vgpu_schema_node **node)
{
	/* Extending the segment copies only the bytes behind the head: the tag is read once. */
	int error, seg = vgpu_marshal_seg_add(m, addr, chain->head, VGPU_IN);
	const u8 *head;

	if (seg < 0)
		return seg;
	head = m->data + m->info[seg].in_off;
	*node = node_find(chain, vgpu_marshal_int(head + chain->tag, chain->tag_size));
	if (!*node) {
		vgpu_marshal_seg_drop(m);
		return -EFAULT;
	}
	error = vgpu_marshal_seg_extend(m, (*node)->body.size - chain->head, (*node)->dir);
	if (!error)
		error = node_more(m, *node, seg);
	if (error) {
		vgpu_marshal_seg_drop(m);
		return error;
	}
	return seg;
}

static int walk_chain(struct vgpu_marshal *m, const struct vgpu_walk_level *up,
		      const struct vgpu_schema_field *field, u64 addr)
{
	const struct vgpu_schema_chain *chain = field->chain;
	const struct vgpu_schema_node *node;
	struct vgpu_walk_level level = { .up = up, .depth = up->depth + 1 };
	u32 place = up->base + field->offset;
	u16 from = up->seg;
	int seg, error;
	u32 i;

	if (level.depth >= VGPU_SCHEMA_DEPTH)
		return walk_leave_raw(m);
	/* A chain may be a ring: the limit ends the loop here, and the driver has its own. */
	for (i = 0; addr && i < chain->max; i++) {
		seg = node_add(m, chain, addr, &node);
		if (seg < 0)
			return walk_leave(m, seg);
		error = vgpu_marshal_fixup_add(m, VGPU_FIXUP_PTR, from, place, seg, 0);
		if (error < 0)
			return error;
		level.seg = seg;
		level.len = node->body.size;
		error = walk_struct(m, &level, &node->body);
		if (error)
			return error;
		from = seg;
		place = chain->next;
		walk_get(m, &level, chain->next, sizeof(u64), &addr);
		cond_resched();
	}
	return addr ? walk_leave_raw(m) : 0;
}

static int walk_inside(struct vgpu_marshal *m, const struct vgpu_walk_level *up,
		       const struct vgpu_schema_field *field)
{
	const struct vgpu_walk_level level = {
		.up = up,
		.seg = up->seg,
		.base = up->base + field->offset,
		.len = min(field->elem->size, up->len - field->offset),
		.depth = up->depth + 1,
	};

	return level.depth < VGPU_SCHEMA_DEPTH ? walk_struct(m, &level, field->elem) :
		walk_leave_raw(m);
}

/* Note the unknown class and pass the pointer to the driver unchanged. */
static int walk_unknown(struct vgpu_marshal *m, const struct vgpu_walk_level *level,
			const struct vgpu_schema_field *field)
{
	u64 class = m->found.unknown_class;

	if (walk_number(m, level, &field->count, &class))
		m->found.unknown_class = class;
	return walk_leave_raw(m);
}

/* Return: true if the host can get pages that the device keeps; @alone: without other calls. */
static bool walk_can_keep(const struct vgpu_marshal *m, bool alone)
{
	return m->caller.limits->features & (alone ? VGPU_FEATURE_KEEP_ALONE : VGPU_FEATURE_KEEP);
}

/*
 * Pin whole pages for writing and add a KEPT segment. If the pages are not writable and the
 * driver only reads them, pin them for reading.
 */
static int kept_add(struct vgpu_marshal *m, const struct vgpu_schema_field *field, u64 addr,
		    u64 end)
{
	struct vgpu_marshal_kept kept;
	bool write = true;
	int error = m->caller.ops->keep(m->caller.data, addr, end - addr, write, &kept);

	if (error == -EFAULT && !(field->dir & VGPU_OUT)) {
		write = false;
		error = m->caller.ops->keep(m->caller.data, addr, end - addr, write, &kept);
	}
	return error ?: vgpu_marshal_kept_add(m, addr, end - addr, write, &kept);
}

/*
 * Add KEPT segments for memory that the device uses after the call. If the address or the
 * length makes no sense, the driver gets the pointer unchanged and fails by itself. Pages that
 * are in a KEPT segment of the call already are not added again: one plane of a picture may
 * begin in the page in which another one ends.
 */
static int walk_kept(struct vgpu_marshal *m, const struct vgpu_walk_level *level,
		     const struct vgpu_schema_field *field, u64 addr)
{
	const u64 mask = VGPU_PAGE_SIZE - 1;
	u64 n = 1, bytes, end, gap;
	int error;

	if (!walk_can_keep(m, field->alone))
		return -field->error;
	if (!walk_number(m, level, &field->count, &n) ||
	    check_mul_overflow(n, (u64)(field->unit ?: 1), &bytes) ||
	    check_add_overflow(bytes, (u64)field->mask, &bytes) || !bytes ||
	    check_add_overflow(addr, bytes, &end) || check_add_overflow(end, mask, &end))
		return 0;
	addr &= ~mask;
	end &= ~mask;
	if (field->out_count.kind == VGPU_REF_FIELD &&
	    field->out_count.offset + sizeof(u32) <= level->len) {
		m->found.status = field->max;
		m->found.status_addr = m->info[level->seg].addr + level->base +
			field->out_count.offset;
	}
	for (; vgpu_marshal_kept_gap(m, &addr, end, &gap); addr = gap) {
		error = kept_add(m, field, addr, gap);
		if (error)
			return walk_leave(m, error);
	}
	return 0;
}

static int walk_field(struct vgpu_marshal *m, const struct vgpu_walk_level *level,
		      const struct vgpu_schema_field *field)
{
	u64 value = 0;
	bool known = walk_get(m, level, field->offset, field->size, &value);

	switch (field->type) {
	case VGPU_FIELD_PTR:
		return value ? walk_ptr(m, level, field, value) : 0;
	case VGPU_FIELD_CHAIN:
		return value ? walk_chain(m, level, field, value) : 0;
	case VGPU_FIELD_UNKNOWN:
		return value ? walk_unknown(m, level, field) : 0;
	case VGPU_FIELD_STRUCT:
		return walk_inside(m, level, field);
	case VGPU_FIELD_FD_IN:
	case VGPU_FIELD_EVENT_IN:
		return known ? vgpu_walk_fd_in(m, level, field, (int)(u32)value) : 0;
	case VGPU_FIELD_FD_OUT:
		return vgpu_walk_fd_out(m, level, field);
	case VGPU_FIELD_USERPTR:
		return value ? -field->error : 0;
	case VGPU_FIELD_KEPT:
		return value ? walk_kept(m, level, field, value) : 0;
	case VGPU_FIELD_LIVE:
		m->found.wants_live = true;
		return m->caller.live ? 0 : -field->error;
	case VGPU_FIELD_COPIED:
		m->found.copied = value;
		return 0;
	case VGPU_FIELD_RESULT_FD:
		return vgpu_marshal_fd_ret(m);
	case VGPU_FIELD_HIDE:
		return vgpu_walk_result(m, level, field, VGPU_HELD_HIDDEN);
	case VGPU_FIELD_RDEV:
		return vgpu_walk_rdev(m, level, field);
	case VGPU_FIELD_PID:
		return vgpu_walk_pid(m, level, field);
	case VGPU_FIELD_PIDS:
		return vgpu_walk_pids(m, level, field);
	case VGPU_FIELD_TIME:
		return known ? vgpu_walk_time(m, level, field, value) : 0;
	case VGPU_FIELD_STAMP:
		return vgpu_walk_stamp(m, level, field);
	case VGPU_FIELD_CLOCK:
		return known ? vgpu_walk_clock(m, value) : 0;
	case VGPU_FIELD_COMMAND:
		m->found.command = value;
		return 0;
	default:
		return 0;
	}
}

static int walk_struct(struct vgpu_marshal *m, const struct vgpu_walk_level *level,
		       const struct vgpu_schema_struct *body)
{
	u32 i, settled = U32_MAX;
	int error;

	for (i = 0; i < body->nr_fields; i++) {
		const struct vgpu_schema_field *field = &body->fields[i];
		bool alternative = field->type <= VGPU_FIELD_PLAIN;
		u32 end = field->offset + field->size;

		/*
		 * Skip a field that the shorter struct of an older program lacks, and a field at
		 * an unaligned offset, because fixups must be aligned.
		 */
		if (end > level->len ||
		    ((level->base + field->offset) & min(field->size - 1, 3))) {
			walk_leave_raw(m);
			continue;
		}
		if ((alternative && field->offset == settled) ||
		    (field->unkept && walk_can_keep(m, field->alone)) ||
		    (field->type != VGPU_FIELD_STAMP && !walk_when(m, level, &field->when)))
			continue;
		if (alternative)
			settled = field->offset;
		error = walk_field(m, level, field);
		if (error)
			return error;
	}
	return 0;
}

int vgpu_marshal_walk(struct vgpu_marshal *m, const struct vgpu_schema_struct *body)
{
	const struct vgpu_walk_level level = { .body = body, .len = m->info[0].len };

	return walk_struct(m, &level, body);
}
