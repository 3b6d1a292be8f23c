// SPDX-License-Identifier: GPL-2.0-only
/* Fuzz target for all messages but CALL and REPLY: it reads all parts of an accepted message. */
#include "fuzz.h"

static int put(void *arg, u64 addr, const u8 *data, u32 len)
{
	u64 *sum = arg;

	FUZZ_ASSERT(len && addr + len > addr);
	fuzz_sum(data, len);
	*sum += len;
	return 0;
}

static void use_ranges(const struct vgpu_writeback *m)
{
	const struct vgpu_range *range = (const void *)(m + 1);
	const u8 *data = (const u8 *)(range + le32_to_cpu(m->nr_ranges));
	u32 i;

	FUZZ_ASSERT(le32_to_cpu(m->nr_ranges) <= VGPU_RANGES_MAX);
	for (i = 0; i < le32_to_cpu(m->nr_ranges); i++, range++) {
		u32 len = le32_to_cpu(range->len);
		u64 sum = 0;

		FUZZ_ASSERT(!vgpu_wire_range_apply(range, data, put, &sum));
		FUZZ_ASSERT(sum + (range->flags ? VGPU_MASK_BYTES : 0) == len);
		data += len;
	}
}

static void use_range(u64 addr, u64 len)
{
	FUZZ_ASSERT(len && addr + len > addr);
	FUZZ_ASSERT(!(addr % VGPU_PAGE_SIZE) && !(len % VGPU_PAGE_SIZE));
}

static void use(const void *msg, const struct vgpu_wire_limits *limits)
{
	const struct vgpu_hdr *hdr = msg;

	switch (le16_to_cpu(hdr->type)) {
	case VGPU_MSG_WELCOME: {
		const struct vgpu_welcome *m = msg;

		use_range(le64_to_cpu(m->reserved_base), le64_to_cpu(m->reserved_size));
		FUZZ_ASSERT(!(le64_to_cpu(m->features) & ~VGPU_FEATURES));
		break;
	}
	case VGPU_MSG_LANE: {
		const struct vgpu_lane_hello *m = msg;

		FUZZ_ASSERT(strlen((const char *)m->comm) < sizeof(m->comm));
		break;
	}
	case VGPU_MSG_EXPORT_ADD: {
		const struct vgpu_export_add *m = msg;

		FUZZ_ASSERT(m->export && *m->name);
		FUZZ_ASSERT(strlen((const char *)m->name) < sizeof(m->name));
		FUZZ_ASSERT(strlen((const char *)m->driver) < sizeof(m->driver));
		FUZZ_ASSERT(strlen((const char *)m->path) < sizeof(m->path));
		FUZZ_ASSERT(strlen((const char *)m->bus_id) < sizeof(m->bus_id));
		FUZZ_ASSERT(!m->bus == !*m->bus_id);
		break;
	}
	case VGPU_MSG_EXPORT_CHANGE: {
		const struct vgpu_export_change *m = msg;

		FUZZ_ASSERT(m->export && m->flags && (!m->property || m->connector));
		FUZZ_ASSERT(!m->wedged == !(le32_to_cpu(m->flags) & VGPU_CHANGE_WEDGED));
		break;
	}
	case VGPU_MSG_EXPORT_FILE: {
		const struct vgpu_export_file *m = msg;
		u32 size = le32_to_cpu(m->size), offset = le32_to_cpu(m->offset);

		FUZZ_ASSERT(offset <= size && size <= VGPU_FILE_MAX && *m->name != '/');
		FUZZ_ASSERT(strlen((const char *)m->name) < sizeof(m->name));
		fuzz_sum(m + 1, min_t(u32, size - offset, VGPU_FILE_PART));
		break;
	}
	case VGPU_MSG_UNMAP: {
		const struct vgpu_unmap *m = msg;

		use_range(le64_to_cpu(m->addr), le64_to_cpu(m->len));
		break;
	}
	case VGPU_MSG_WINDOW: {
		const struct vgpu_window_info *m = msg;

		FUZZ_ASSERT(m->window && !(le64_to_cpu(m->size) % VGPU_PAGE_SIZE));
		FUZZ_ASSERT(!m->reserved);
		break;
	}
	case VGPU_MSG_UNBIND:
	case VGPU_MSG_UNBOUND:
	case VGPU_MSG_INVALIDATE: {
		const struct vgpu_window_part *m = msg;

		FUZZ_ASSERT(m->window && m->offset);
		use_range(le64_to_cpu(m->offset), le64_to_cpu(m->len));
		break;
	}
	case VGPU_MSG_FETCH: {
		const struct vgpu_fetch *m = msg;

		use_range(le64_to_cpu(m->addr), le32_to_cpu(m->len));
		FUZZ_ASSERT(le32_to_cpu(m->len) < limits->call_bytes);
		break;
	}
	case VGPU_MSG_FETCHED: {
		const struct vgpu_fetched *m = msg;

		FUZZ_ASSERT(!m->error != !m->len);
		fuzz_sum(m + 1, le32_to_cpu(m->len));
		break;
	}
	case VGPU_MSG_WRITEBACK:
		use_ranges(msg);
		break;
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct vgpu_wire_limits limits;
	struct fuzz_head head;
	struct vgpu_hdr *msg;

	if (len < sizeof(head))
		return 0;
	memcpy(&head, data, sizeof(head));
	len -= sizeof(head);
	limits = fuzz_limits(&head);
	msg = fuzz_copy(data + sizeof(head), len, &head);

	/* A receiver checks the header alone first, and then the whole message. */
	if (len >= sizeof(*msg) && !vgpu_wire_hdr_check(msg, &limits)) {
		u16 type = le16_to_cpu(msg->type);

		FUZZ_ASSERT(le32_to_cpu(msg->len) >= vgpu_wire_len_min(type));
		FUZZ_ASSERT(le32_to_cpu(msg->len) <= vgpu_wire_len_max(type, &limits));
		FUZZ_ASSERT(!msg->flags);
	}
	if (!vgpu_wire_msg_check(msg, len, &limits))
		use(msg, &limits);
	free(msg);
	return 0;
}
