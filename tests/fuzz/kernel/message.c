// SPDX-License-Identifier: GPL-2.0-only
/*
 * Changes of messages of the wire protocol, see message.h. A call in which the lengths of segments
 * do not fit the bytes behind them gets no further than the codec, so most changes mend that.
 */
#include <endian.h>
#include <linux/vgpu_wire.h>
#include <string.h>

#include "draw.h"
#include "message.h"

/* Bytes of a whole message that a change may make. */
#define MESSAGE_MAX	(96U << 10)

/**
 * struct parts - parts of a call
 * @call: fixed part
 * @segs: segments, @nr_segs of them
 * @fixups: fixups, @nr_fixups of them
 * @nr_segs: number of segments that lie in the message
 * @nr_fixups: number of fixups that lie in the message
 * @data: offset of the bytes behind the fixups
 */
struct parts {
	struct vgpu_call *call;
	struct vgpu_seg *segs;
	struct vgpu_fixup *fixups;
	unsigned int nr_segs;
	unsigned int nr_fixups;
	size_t data;
};

static void parts_find(struct parts *parts, uint8_t *msg, size_t len)
{
	size_t left = len - sizeof(*parts->call);

	parts->call = (struct vgpu_call *)msg;
	parts->segs = (struct vgpu_seg *)(parts->call + 1);
	parts->nr_segs = le16toh(parts->call->nr_segs);
	if (parts->nr_segs > left / sizeof(*parts->segs))
		parts->nr_segs = left / sizeof(*parts->segs);
	left -= parts->nr_segs * sizeof(*parts->segs);
	parts->fixups = (struct vgpu_fixup *)(parts->segs + parts->nr_segs);
	parts->nr_fixups = le16toh(parts->call->nr_fixups);
	if (parts->nr_fixups > left / sizeof(*parts->fixups))
		parts->nr_fixups = left / sizeof(*parts->fixups);
	parts->data = (uint8_t *)(parts->fixups + parts->nr_fixups) - msg;
}

/* Gives the message as many bytes as its segments say. Return: its length. */
static size_t parts_mend(const struct parts *parts, uint8_t *msg, size_t len, size_t room)
{
	uint64_t need = parts->data;
	unsigned int i;

	for (i = 0; i < parts->nr_segs; i++)
		if (le32toh(parts->segs[i].flags) & VGPU_SEG_IN)
			need += ((uint64_t)le32toh(parts->segs[i].len) + 7) / 8 * 8;
	if (need > room || need > MESSAGE_MAX)
		return len;
	if (need > len)
		memset(msg + len, 0, need - len);
	return need;
}

/* Changes a number of 2, 4 or 8 bytes that is aligned as numbers of the wire are. */
static void change_number(uint8_t *msg, size_t len)
{
	size_t size = 2 << draw_below(3);
	uint64_t old = 0, value;
	size_t at;

	if (len < size)
		return;
	at = draw_below(len / size) * size;
	memcpy(&old, msg + at, size);
	switch (draw_below(4)) {
	case 0:
		value = htole64(le64toh(old) + draw_below(9) - 4);
		break;
	case 1:
		value = old ^ 1ULL << draw_below(8 * size);
		break;
	default:
		value = htole64(draw_number());
		break;
	}
	memcpy(msg + at, &value, size);
}

static void change_seg(struct vgpu_seg *seg)
{
	static const uint32_t flags[] = {
		VGPU_SEG_IN, VGPU_SEG_OUT, VGPU_SEG_IN | VGPU_SEG_OUT, VGPU_SEG_IN | VGPU_SEG_PAGE,
		VGPU_SEG_IN | VGPU_SEG_KEPT,
	};

	switch (draw_below(3)) {
	case 0:
		seg->len = htole32(draw_one_in(2) ? draw_below(256) : draw_number() & 0xffff);
		break;
	case 1:
		seg->flags = htole32(draw_one_in(8) ? draw_number() : flags[draw_below(5)]);
		break;
	default:
		seg->addr = htole64(draw_number());
		break;
	}
}

static void change_fixup(struct vgpu_fixup *fixup, unsigned int nr_segs)
{
	switch (draw_below(5)) {
	case 0:
		fixup->type = htole16(draw_below(9));
		break;
	case 1:
		fixup->seg = htole16(draw_below(nr_segs + 2));
		break;
	case 2:
		fixup->offset = htole32(draw_one_in(4) ? draw_number() : draw_below(32) * 4);
		break;
	case 3:
		fixup->target = htole32(draw_one_in(4) ? draw_number() : draw_below(18));
		break;
	default:
		fixup->target_offset = htole32(draw_one_in(2) ? draw_number() : draw_below(64));
		break;
	}
}

static size_t change_call(uint8_t *msg, size_t len, size_t room)
{
	struct parts parts;

	parts_find(&parts, msg, len);
	switch (draw_below(6)) {
	case 0:
		parts.call->op = htole16(draw_below(17));
		break;
	case 1:
		if (parts.nr_segs)
			change_seg(&parts.segs[draw_below(parts.nr_segs)]);
		break;
	case 2:
		if (parts.nr_fixups)
			change_fixup(&parts.fixups[draw_below(parts.nr_fixups)], parts.nr_segs);
		break;
	case 3:
		parts.call->nr_segs = htole16(draw_below(24));
		break;
	case 4:
		change_number((uint8_t *)&parts.call->op, sizeof(*parts.call) - 16);
		break;
	default:
		change_number(msg + parts.data, len - parts.data);
		break;
	}
	if (draw_one_in(8))
		return len;
	parts_find(&parts, msg, len);
	return parts_mend(&parts, msg, len, room);
}

size_t message_change(struct step *step, size_t room)
{
	struct vgpu_hdr *hdr = (struct vgpu_hdr *)step->data;
	size_t len = step->len, more;

	if (draw_one_in(16)) {
		/* The message is cut, or gets longer. */
		more = draw_below(64);
		if (draw_one_in(2))
			return len - (more < len ? more : 0);
		if (len + more > room)
			return len;
		draw_bytes(step->data + len, more);
		return len + more;
	}
	if (len < sizeof(*hdr))
		return len;
	if (draw_one_in(16))
		hdr->type = htole16(draw_below(0x2a));
	if (le16toh(hdr->type) == VGPU_MSG_CALL && len >= sizeof(struct vgpu_call))
		return change_call(step->data, len, room);
	if (draw_one_in(8))
		change_number(step->data, len);
	else
		change_number(step->data + sizeof(*hdr), len - sizeof(*hdr));
	return len;
}
