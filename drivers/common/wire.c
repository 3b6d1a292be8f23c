// SPDX-License-Identifier: GPL-2.0-only
/*
 * Codec of the wire protocol: lengths, and all messages except CALL and REPLY. The contract is
 * in wire.h, the rules of each message are in Documentation/internals/protocol.rst.
 */
#include "plant.h"
#include "wire_check.h"

/* Minimum of lanes_max: one lane is reserved for calls of class mm. */
#define LANES_MIN	2

/* Length of the shortest WRITEBACK: one range of one byte, padded. */
#define WRITEBACK_MIN	(sizeof(struct vgpu_writeback) + sizeof(struct vgpu_range) + 8)

enum seq_rule {
	SEQ_NONE,		/* 0 */
	SEQ_COUNTED,		/* from 1 */
	SEQ_ANY,
};

/**
 * struct msg_rule - rule of a type of message
 * @min: minimum length in bytes; 0: there is no such type
 * @grows: true if the message may be longer than @min, up to the receiver's limit for lane messages
 *	(VGPU_MSG_EXPORT_FILE grows by a rule of its own)
 * @seq: rule for the sequence number
 * @ok: function that checks the body, of which @min bytes are there; NULL: the message is a
 *	header alone, or is checked elsewhere (CALL, REPLY)
 */
struct msg_rule {
	u16 min;
	bool grows;
	u8 seq;
	bool (*ok)(const void *msg, size_t len, const struct vgpu_wire_limits *limits);
};

static bool hello_ok(const void *msg, size_t len, const struct vgpu_wire_limits *limits)
{
	const struct vgpu_hello *m = msg;
	u16 version_min = le16_to_cpu(m->version_min);

	/* Unknown features of a newer guest are no error: HELLO only asks for them. */
	return le32_to_cpu(m->magic) == VGPU_WIRE_MAGIC && !m->reserved &&
		version_min && version_min <= le16_to_cpu(m->version_max) &&
		le32_to_cpu(m->page_size) == VGPU_PAGE_SIZE;
}

static bool welcome_ok(const void *msg, size_t len, const struct vgpu_wire_limits *limits)
{
	const struct vgpu_welcome *m = msg;
	u16 version = le16_to_cpu(m->version);
	u32 call_bytes = le32_to_cpu(m->call_bytes_max);
	u32 segs = le32_to_cpu(m->segs_max);
	u32 fixups = le32_to_cpu(m->fixups_max);

	return le32_to_cpu(m->magic) == VGPU_WIRE_MAGIC && !m->reserved &&
		version && version <= VGPU_WIRE_VERSION &&
		!(le64_to_cpu(m->features) & ~VGPU_FEATURES) &&
		page_range_ok(le64_to_cpu(m->reserved_base), le64_to_cpu(m->reserved_size)) &&
		call_bytes >= VGPU_CALL_BYTES_MIN && call_bytes <= VGPU_CALL_BYTES_MAX &&
		segs && segs <= VGPU_SEGS_MAX && fixups && fixups <= VGPU_FIXUPS_MAX &&
		le32_to_cpu(m->lanes_max) >= LANES_MIN;
}

static bool refuse_ok(const void *msg, size_t len, const struct vgpu_wire_limits *limits)
{
	const struct vgpu_refuse *m = msg;

	return !m->reserved && errno_ok(le32_to_cpu(m->error));
}

static bool lane_ok(const void *msg, size_t len, const struct vgpu_wire_limits *limits)
{
	const struct vgpu_lane_hello *m = msg;

	return le32_to_cpu(m->magic) == VGPU_WIRE_MAGIC && string_ok(m->comm, sizeof(m->comm));
}

static bool export_add_ok(const void *msg, size_t len, const struct vgpu_wire_limits *limits)
{
	const struct vgpu_export_add *m = msg;
	u32 kind = le32_to_cpu(m->kind);
	u32 bus = le32_to_cpu(m->bus);

	return m->export && kind <= VGPU_EXPORT_LAST && m->name[0] &&
		string_ok(m->name, sizeof(m->name)) &&
		string_ok(m->driver, sizeof(m->driver)) &&
		string_ok(m->path, sizeof(m->path)) &&
		bus <= VGPU_BUS_FAUX && !m->reserved &&
		string_ok(m->bus_id, sizeof(m->bus_id)) && !bus == !m->bus_id[0] &&
		(bus == VGPU_BUS_PCI || zero_ok(m->pci_header, sizeof(m->pci_header))) &&
		string_ok(m->title, sizeof(m->title)) &&
		(kind >= VGPU_EXPORT_VIDEO || !m->title[0]);
}

static bool export_del_ok(const void *msg, size_t len, const struct vgpu_wire_limits *limits)
{
	const struct vgpu_export_del *m = msg;

	return m->export && !m->reserved;
}

static bool export_change_ok(const void *msg, size_t len, const struct vgpu_wire_limits *limits)
{
	const struct vgpu_export_change *m = msg;
	u32 flags = le32_to_cpu(m->flags), wedged = le32_to_cpu(m->wedged);

	return m->export && flags && !(flags & ~VGPU_CHANGES) && !m->reserved &&
		(!m->connector || (flags & VGPU_CHANGE_HOTPLUG)) &&
		(!m->property || m->connector) &&
		!wedged == !(flags & VGPU_CHANGE_WEDGED) && !(wedged & ~VGPU_WEDGED_ALL);
}

/* Each component of the path must be non-empty and must not begin with a dot. */
bool vgpu_wire_file_name_ok(const u8 *name)
{
	bool first = true;
	u32 i;

	if (!string_ok(name, VGPU_FILE_NAME_LEN))
		return false;
	for (i = 0; name[i]; i++) {
		u8 c = name[i];

		if (c == '/' || c == '.' ? first :
		    !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		      (c >= '0' && c <= '9') || c == '_' || c == '+' || c == '-' || c == ':'))
			return false;
		first = c == '/';
	}
	return !first;
}

static bool export_file_ok(const void *msg, size_t len, const struct vgpu_wire_limits *limits)
{
	const struct vgpu_export_file *m = msg;
	u32 size = le32_to_cpu(m->size), offset = le32_to_cpu(m->offset), part;

	if (!m->export || (le32_to_cpu(m->flags) & ~VGPU_FILE_GONE) || size > VGPU_FILE_MAX ||
	    (m->flags && size) || offset % VGPU_FILE_PART || (offset && offset >= size) ||
	    !vgpu_wire_file_name_ok(m->name))
		return false;
	part = min_t(u32, size - offset, VGPU_FILE_PART);
	return len == sizeof(*m) + vgpu_wire_pad(part) && pad_ok((const u8 *)(m + 1), part);
}

static bool close_ok(const void *msg, size_t len, const struct vgpu_wire_limits *limits)
{
	const struct vgpu_close *m = msg;

	return !!m->object;
}

static bool unmap_ok(const void *msg, size_t len, const struct vgpu_wire_limits *limits)
{
	const struct vgpu_unmap *m = msg;

	return page_range_ok(le64_to_cpu(m->addr), le64_to_cpu(m->len));
}

static bool poll_event_ok(const void *msg, size_t len, const struct vgpu_wire_limits *limits)
{
	const struct vgpu_poll_event *m = msg;

	return m->object && m->revents && !(le32_to_cpu(m->revents) & ~VGPU_POLL_EVENTS) &&
		!(le32_to_cpu(m->flags) & ~VGPU_POLL_ANSWER);
}

static bool event_ok(const void *msg, size_t len, const struct vgpu_wire_limits *limits)
{
	const struct vgpu_event_signal *m = msg;

	return m->event && !(le32_to_cpu(m->flags) & ~VGPU_EVENT_OVER);
}

static bool window_ok(const void *msg, size_t len, const struct vgpu_wire_limits *limits)
{
	const struct vgpu_window_info *m = msg;
	u64 size = le64_to_cpu(m->size);
	u32 flags = le32_to_cpu(m->flags);

	/* The minimum is the header and one page. */
	return (limits->features & VGPU_FEATURE_WINDOW) && m->window && !m->reserved &&
		!(flags & ~VGPU_WINDOW_DRAIN) && (!flags || size) &&
		(!size || (size >= 2 * VGPU_PAGE_SIZE && page_range_ok(0, size)));
}

static bool window_part_ok(const void *msg, size_t len, const struct vgpu_wire_limits *limits)
{
	const struct vgpu_window_part *m = msg;

	return (limits->features & VGPU_FEATURE_WINDOW) && m->window && m->offset &&
		page_range_ok(le64_to_cpu(m->offset), le64_to_cpu(m->len));
}

static bool release_ok(const void *msg, size_t len, const struct vgpu_wire_limits *limits)
{
	const struct vgpu_release *m = msg;

	return (limits->features & VGPU_FEATURE_KEEP) && m->number;
}

static bool fetch_ok(const void *msg, size_t len, const struct vgpu_wire_limits *limits)
{
	const struct vgpu_fetch *m = msg;
	u32 bytes = le32_to_cpu(m->len);

	/* FETCHED is a lane message as well. */
	return !m->reserved && page_range_ok(le64_to_cpu(m->addr), bytes) &&
		bytes + sizeof(struct vgpu_fetched) <= limit_call_bytes(limits);
}

static bool fetched_ok(const void *msg, size_t len, const struct vgpu_wire_limits *limits)
{
	const struct vgpu_fetched *m = msg;
	u32 bytes = le32_to_cpu(m->len);

	if (m->error)
		return errno_ok(le32_to_cpu(m->error)) && !bytes && len == sizeof(*m);
	return page_range_ok(0, bytes) && len - sizeof(*m) == bytes;
}

static bool writeback_ok(const void *msg, size_t len, const struct vgpu_wire_limits *limits)
{
	const struct vgpu_writeback *m = msg;
	const struct vgpu_range *range = (const void *)(m + 1);
	u32 nr = le32_to_cpu(m->nr_ranges);
	u64 bytes, used = sizeof(*m) + (u64)nr * sizeof(*range);

	return !m->reserved && nr && nr <= VGPU_RANGES_MAX &&
		(used <= len || vgpu_planted(VGPU_PLANT_RANGES)) &&
		vgpu_wire_ranges_ok(range, nr, (const u8 *)msg + used, len - used, &bytes) &&
		ALIGN(bytes, 8) == len - used && pad_ok((const u8 *)msg + used, bytes);
}

static bool written_ok(const void *msg, size_t len, const struct vgpu_wire_limits *limits)
{
	const struct vgpu_written *m = msg;

	return !m->reserved && le32_to_cpu(m->error) <= MAX_ERRNO;
}

#define SIZE(name)	sizeof(struct vgpu_##name)

static const struct msg_rule msg_rules[] = {
	[VGPU_MSG_HELLO]	 = { SIZE(hello), false, SEQ_NONE, hello_ok },
	[VGPU_MSG_WELCOME]	 = { SIZE(welcome), false, SEQ_NONE, welcome_ok },
	[VGPU_MSG_REFUSE]	 = { SIZE(refuse), false, SEQ_NONE, refuse_ok },
	[VGPU_MSG_LANE]		 = { SIZE(lane_hello), false, SEQ_NONE, lane_ok },
	[VGPU_MSG_LANE_READY]	 = { SIZE(hdr), false, SEQ_NONE, NULL },

	[VGPU_MSG_EXPORT_ADD]	 = { SIZE(export_add), false, SEQ_NONE, export_add_ok },
	[VGPU_MSG_EXPORT_DEL]	 = { SIZE(export_del), false, SEQ_NONE, export_del_ok },
	[VGPU_MSG_CLOSE]	 = { SIZE(close), false, SEQ_COUNTED, close_ok },
	[VGPU_MSG_UNMAP]	 = { SIZE(unmap), false, SEQ_COUNTED, unmap_ok },
	[VGPU_MSG_SESSION_CLOSE] = { SIZE(session_close), false, SEQ_COUNTED, NULL },
	[VGPU_MSG_POLL_EVENT]	 = { SIZE(poll_event), false, SEQ_NONE, poll_event_ok },
	[VGPU_MSG_PING]		 = { SIZE(hdr), false, SEQ_ANY, NULL },
	[VGPU_MSG_PONG]		 = { SIZE(hdr), false, SEQ_ANY, NULL },
	[VGPU_MSG_EVENT]	 = { SIZE(event_signal), false, SEQ_NONE, event_ok },
	[VGPU_MSG_WINDOW]	 = { SIZE(window_info), false, SEQ_NONE, window_ok },
	[VGPU_MSG_UNBIND]	 = { SIZE(window_part), false, SEQ_COUNTED, window_part_ok },
	[VGPU_MSG_UNBOUND]	 = { SIZE(window_part), false, SEQ_NONE, window_part_ok },
	[VGPU_MSG_INVALIDATE]	 = { SIZE(window_part), false, SEQ_NONE, window_part_ok },
	[VGPU_MSG_EXPORT_CHANGE] = { SIZE(export_change), false, SEQ_NONE, export_change_ok },
	[VGPU_MSG_EXPORT_FILE]	 = { SIZE(export_file), false, SEQ_NONE, export_file_ok },
	[VGPU_MSG_RELEASE]	 = { SIZE(release), false, SEQ_COUNTED, release_ok },

	[VGPU_MSG_CALL]		 = { SIZE(call), true, SEQ_COUNTED, NULL },
	[VGPU_MSG_REPLY]	 = { SIZE(reply), true, SEQ_COUNTED, NULL },
	[VGPU_MSG_ACK]		 = { SIZE(hdr), false, SEQ_COUNTED, NULL },
	[VGPU_MSG_CANCEL]	 = { SIZE(hdr), false, SEQ_COUNTED, NULL },
	[VGPU_MSG_FETCH]	 = { SIZE(fetch), false, SEQ_COUNTED, fetch_ok },
	[VGPU_MSG_FETCHED]	 = { SIZE(fetched), true, SEQ_COUNTED, fetched_ok },
	[VGPU_MSG_WRITEBACK]	 = { WRITEBACK_MIN, true, SEQ_COUNTED, writeback_ok },
	[VGPU_MSG_WRITTEN]	 = { SIZE(written), false, SEQ_COUNTED, written_ok },
};

u32 vgpu_wire_len_max(u16 type, const struct vgpu_wire_limits *limits)
{
	u32 len_min = vgpu_wire_len_min(type);

	/* EXPORT_FILE is the only control message that grows. */
	if (type == VGPU_MSG_EXPORT_FILE)
		return len_min + VGPU_FILE_PART;
	return len_min && msg_rules[type].grows ? limit_call_bytes(limits) : len_min;
}

u32 vgpu_wire_len_min(u16 type)
{
	return type < ARRAY_SIZE(msg_rules) ? msg_rules[type].min : 0;
}

int vgpu_wire_hdr_check(const struct vgpu_hdr *hdr, const struct vgpu_wire_limits *limits)
{
	u16 type = le16_to_cpu(hdr->type);
	u32 len = le32_to_cpu(hdr->len);

	if (!vgpu_wire_len_min(type) || (len & 7) || len < vgpu_wire_len_min(type) ||
	    len > vgpu_wire_len_max(type, limits) || hdr->flags)
		return -EPROTO;
	switch (msg_rules[type].seq) {
	case SEQ_NONE:
		return hdr->seq ? -EPROTO : 0;
	case SEQ_COUNTED:
		return hdr->seq ? 0 : -EPROTO;
	default:
		return 0;
	}
}

int vgpu_wire_msg_check(const void *msg, size_t msg_len, const struct vgpu_wire_limits *limits)
{
	const struct vgpu_hdr *hdr = msg;
	u16 type;

	if (whole_check(msg, msg_len, limits))
		return -EPROTO;
	type = le16_to_cpu(hdr->type);
	if (type == VGPU_MSG_CALL || type == VGPU_MSG_REPLY)
		return -EPROTO;
	return msg_rules[type].ok && !msg_rules[type].ok(msg, msg_len, limits) ? -EPROTO : 0;
}

static_assert(sizeof(struct vgpu_fetched) == sizeof(struct vgpu_written) &&
	      offsetof(struct vgpu_fetched, error) == offsetof(struct vgpu_written, error) &&
	      offsetof(struct vgpu_fetched, len) == offsetof(struct vgpu_written, reserved),
	      "both answers are alike");

bool vgpu_wire_answer_ok(const void *answer, u32 data_len)
{
	const struct vgpu_fetched *fetched = answer;
	u32 error = le32_to_cpu(fetched->error);
	u32 data = error ? 0 : data_len;

	return error <= MAX_ERRNO && le32_to_cpu(fetched->len) == data &&
		le32_to_cpu(fetched->hdr.len) == sizeof(*fetched) + data;
}
