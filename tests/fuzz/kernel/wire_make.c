// SPDX-License-Identifier: GPL-2.0-only
/* New steps of the fuzzer of the wire: messages that a guest could send, mostly valid ones. */
#include <endian.h>
#include <fcntl.h>
#include <linux/vgpu_wire.h>
#include <string.h>
#include <sys/mman.h>

#include "draw.h"
#include "vgpu_mock.h"
#include "wire.h"

#define SEGS	20
#define FIXUPS	8
#define BYTES	(40U << 10)
/* The mock's offset for mmap is the number of the buffer, shifted by this. */
#define BUF_SHIFT	29

/**
 * struct draft - a call that is being made
 * @call: fixed part
 * @segs: segments, call.nr_segs of them
 * @fixups: fixups, call.nr_fixups of them
 * @len: number of bytes in @bytes
 * @bytes: bytes of the segments
 */
struct draft {
	struct vgpu_call call;
	struct vgpu_seg segs[SEGS];
	struct vgpu_fixup fixups[FIXUPS];
	size_t len;
	uint8_t bytes[BYTES];
};

static struct draft draft;

static const uint32_t commands[] = {
	VGPU_MOCK_IOC_NOOP, VGPU_MOCK_IOC_IN, VGPU_MOCK_IOC_OUT, VGPU_MOCK_IOC_INOUT,
	VGPU_MOCK_IOC_ERROR, VGPU_MOCK_IOC_RETURN, VGPU_MOCK_IOC_OVERREAD, VGPU_MOCK_IOC_SELF,
	VGPU_MOCK_BARE, VGPU_MOCK_IOC_EXTENSIBLE, VGPU_MOCK_IOC_ARRAY_IN, VGPU_MOCK_IOC_ARRAY_OUT,
	VGPU_MOCK_IOC_ARRAY_INOUT, VGPU_MOCK_IOC_ARRAYS, VGPU_MOCK_IOC_PTRPTR,
	VGPU_MOCK_IOC_STRUCTS, VGPU_MOCK_IOC_CHAIN, VGPU_MOCK_IOC_CHUNKS, VGPU_MOCK_IOC_COUNTED,
	VGPU_MOCK_IOC_STRIDE, VGPU_MOCK_IOC_LARGE_IN, VGPU_MOCK_IOC_LARGE_INOUT,
	VGPU_MOCK_IOC_EITHER, VGPU_MOCK_IOC_MOVED, VGPU_MOCK_IOC_STRING, VGPU_MOCK_IOC_OPS,
	VGPU_MOCK_IOC_SLEEP, VGPU_MOCK_IOC_WAIT, VGPU_MOCK_IOC_WAKE, VGPU_MOCK_IOC_FD_OUT,
	VGPU_MOCK_IOC_FD_IN, VGPU_MOCK_IOC_FDS_IN, VGPU_MOCK_IOC_FDS_OUT, VGPU_MOCK_IOC_OBJ_INFO,
	VGPU_MOCK_IOC_OBJ_SIGNAL, VGPU_MOCK_IOC_BUF_CREATE, VGPU_MOCK_IOC_BUF_INFO,
	VGPU_MOCK_IOC_BUF_MAP, VGPU_MOCK_IOC_IO_MODE, VGPU_MOCK_IOC_INFO, VGPU_MOCK_IOC_COUNTERS,
	VGPU_MOCK_IOC_KEEP, VGPU_MOCK_IOC_PIN, VGPU_MOCK_IOC_ATOMIC,
};

static uint64_t draw_addr(void)
{
	return WIRE_TARGET + draw_below(32) * WIRE_PAGE;
}

/* Adds a segment. IN segments get bytes unless they are there already. */
static void add_seg(uint32_t len, uint32_t flags, uint64_t addr, const void *bytes)
{
	unsigned int nr = le16toh(draft.call.nr_segs);
	size_t padded = (len + 7) / 8 * 8;

	if (nr == SEGS || draft.len + padded > BYTES)
		return;
	draft.segs[nr] = (struct vgpu_seg){
		.addr = htole64(addr), .len = htole32(len), .flags = htole32(flags),
	};
	draft.call.nr_segs = htole16(nr + 1);
	if (!(flags & VGPU_SEG_IN))
		return;
	memset(draft.bytes + draft.len, 0, padded);
	if (bytes)
		memcpy(draft.bytes + draft.len, bytes, len);
	else
		draw_bytes(draft.bytes + draft.len, len);
	draft.len += padded;
}

static void add_fixup(uint16_t type, uint32_t offset, uint32_t target)
{
	unsigned int nr = le16toh(draft.call.nr_fixups);

	if (nr == FIXUPS)
		return;
	draft.fixups[nr] = (struct vgpu_fixup){
		.type = htole16(type), .offset = htole32(offset), .target = htole32(target),
	};
	draft.call.nr_fixups = htole16(nr + 1);
}

static void add_extra_seg(unsigned int i)
{
	static const uint32_t flags[] = {
		VGPU_SEG_IN, VGPU_SEG_OUT, VGPU_SEG_IN | VGPU_SEG_OUT,
	};
	uint64_t kept[] = { htole64(1 + draw_below(8)), htole64(WIRE_PAGE), 0,
			    htole64(draw_below(64) * WIRE_PAGE), htole64(WIRE_PAGE) };

	if (draw_one_in(16))
		add_seg(WIRE_PAGE, VGPU_SEG_IN | VGPU_SEG_PAGE, draw_addr() + i * WIRE_PAGE, NULL);
	else if (draw_one_in(32))
		add_seg(sizeof(kept), VGPU_SEG_IN | VGPU_SEG_KEPT, draw_addr(), kept);
	else
		add_seg(draw_one_in(8) ? draw_below(6000) : draw_below(128), flags[draw_below(3)],
			0, NULL);
}

/* Makes the fields of a structure mean something: pointers, files and others. */
static void add_fixups(unsigned int size, unsigned int nr_segs)
{
	unsigned int offset = 0;

	while (offset + 8 <= size && draw_below(3)) {
		switch (draw_below(10)) {
		case 0:
			add_fixup(VGPU_FIXUP_FD_IN, offset, 1 + draw_below(4));
			break;
		case 1:
			add_fixup(VGPU_FIXUP_FD_OUT, offset + (draw_one_in(2) ? 4 : 0), 0);
			break;
		case 2:
			add_fixup(VGPU_FIXUP_TIME, offset, 0);
			break;
		case 3:
			add_fixup(VGPU_FIXUP_EVENT, offset, 1 + draw_below(8));
			break;
		case 4:
			break;
		default:
			add_fixup(VGPU_FIXUP_PTR, offset, nr_segs > 1 ? 1 + draw_below(nr_segs - 1) : 0);
			break;
		}
		offset += 8;
	}
	if (draw_one_in(16))
		add_fixup(VGPU_FIXUP_FD_RET, 0, 0);
}

static void make_ioctl(void)
{
	uint32_t cmd = commands[draw_below(sizeof(commands) / sizeof(commands[0]))];
	unsigned int size = _IOC_SIZE(cmd), nr, i;

	if (cmd == VGPU_MOCK_BARE)
		size = sizeof(struct vgpu_mock_bare);
	if (draw_one_in(4))
		cmd = VGPU_MOCK_UNDESCRIBED(cmd);
	if (draw_one_in(8))
		draft.call.flags = htole16(1 << draw_below(4));
	draft.call.args.ioctl.cmd = htole32(cmd);
	if (!size || draw_one_in(16)) {
		draft.call.args.ioctl.arg_kind = htole32(VGPU_IOCTL_ARG_VALUE);
		draft.call.args.ioctl.arg = htole64(draw_one_in(2) ? draw_addr() : draw_number());
		return;
	}
	draft.call.args.ioctl.arg_kind = htole32(VGPU_IOCTL_ARG_SEG);
	add_seg(size, VGPU_SEG_IN | VGPU_SEG_OUT, 0, NULL);
	nr = draw_one_in(2) ? 0 : draw_one_in(8) ? SEGS : draw_below(4);
	for (i = 0; i < nr; i++)
		add_extra_seg(i);
	add_fixups(size, le16toh(draft.call.nr_segs));
}

static void make_pages(bool write)
{
	struct vgpu_range ranges[4];
	uint32_t len = (1 + draw_below(3)) * WIRE_PAGE, nr = 1 + draw_below(4), bytes = 0, i;

	if (!write) {
		draft.call.args.pages.addr = htole64(draw_addr());
		draft.call.args.pages.len = htole64(len);
		add_seg(len, VGPU_SEG_OUT, 0, NULL);
		return;
	}
	for (i = 0; i < nr; i++) {
		len = 1 + draw_below(600);
		ranges[i] = (struct vgpu_range){
			.addr = htole64(draw_addr() + draw_below(WIRE_PAGE)), .len = htole32(len),
		};
		bytes += len;
	}
	add_seg(nr * sizeof(ranges[0]), VGPU_SEG_IN, 0, ranges);
	add_seg(bytes, VGPU_SEG_IN, 0, NULL);
}

static void make_mmap(void)
{
	struct vgpu_args_mmap *args = &draft.call.args.mmap;

	args->addr = htole64(draw_addr());
	args->len = htole64((1 + draw_below(4)) * WIRE_PAGE);
	args->offset = htole64(draw_one_in(4) ? draw_below(8) * WIRE_PAGE :
			       (uint64_t)(1 + draw_below(6)) << BUF_SHIFT);
	args->prot = htole32(draw_below(4));
	args->flags = htole32(draw_one_in(8) ? MAP_PRIVATE : MAP_SHARED);
}

static void make_op(uint16_t op)
{
	static const uint32_t accesses[] = { O_RDONLY, O_WRONLY, O_RDWR };

	memset(&draft.call, 0, sizeof(draft.call));
	draft.len = 0;
	draft.call.hdr.type = htole16(VGPU_MSG_CALL);
	draft.call.op = htole16(op);
	draft.call.object = htole32(1 + draw_below(4));
	draft.call.f_flags = htole32(draw_one_in(2) ? O_NONBLOCK : 0);
	draft.call.pos = htole64(draw_one_in(8) ? draw_number() : draw_below(100000));
	draft.call.control_seq = htole64(draw_one_in(4) ? ~0ULL : 0);
	switch (op) {
	case VGPU_OP_OPEN:
		draft.call.object = 0;
		draft.call.args.open.export = htole32(1);
		draft.call.args.open.flags = htole32(accesses[draw_below(3)]);
		break;
	case VGPU_OP_IOCTL:
		make_ioctl();
		break;
	case VGPU_OP_READ:
	case VGPU_OP_FDINFO:
		add_seg(draw_one_in(4) ? draw_below(40000) : draw_below(300), VGPU_SEG_OUT, 0, NULL);
		break;
	case VGPU_OP_WRITE:
		if (draw_one_in(4)) {
			draft.call.args.write.addr = htole64(draw_addr() + draw_below(8));
			draft.call.args.write.len = htole32(draw_below(40000));
			break;
		}
		add_seg(draw_one_in(4) ? draw_below(40000) : draw_below(300), VGPU_SEG_IN, 0, NULL);
		break;
	case VGPU_OP_LLSEEK:
		draft.call.args.llseek.offset = htole64(draw_number());
		draft.call.args.llseek.whence = htole32(draw_below(5));
		break;
	case VGPU_OP_POLL:
		draft.call.args.poll.events = htole32(draw_below(0x800));
		draft.call.args.poll.flags = htole32(draw_one_in(4));
		break;
	case VGPU_OP_MMAP:
		make_mmap();
		break;
	case VGPU_OP_READ_PAGES:
	case VGPU_OP_WRITE_PAGES:
		draft.call.object = 0;
		make_pages(op == VGPU_OP_WRITE_PAGES);
		break;
	case VGPU_OP_BIND:
	case VGPU_OP_PROTECT:
		draft.call.object = 0;
		draft.call.args.protect.addr = htole64(draw_addr());
		draft.call.args.protect.len = htole64((1 + draw_below(4)) * WIRE_PAGE);
		draft.call.args.protect.prot = htole32(PROT_WRITE | draw_below(2));
		break;
	case VGPU_OP_CLOCK:
		draft.call.object = 0;
		break;
	}
}

static void make_call(struct input *input)
{
	static const uint16_t ops[] = {
		VGPU_OP_OPEN, VGPU_OP_CLOSE, VGPU_OP_READ, VGPU_OP_WRITE, VGPU_OP_LLSEEK,
		VGPU_OP_POLL, VGPU_OP_MMAP, VGPU_OP_MMAP, VGPU_OP_READ_PAGES, VGPU_OP_WRITE_PAGES,
		VGPU_OP_FDINFO, VGPU_OP_BIND, VGPU_OP_PROTECT, VGPU_OP_CLOCK,
	};
	static uint8_t msg[sizeof(draft)];
	unsigned int flags = 0;
	size_t used = 0;

	make_op(draw_one_in(2) ? VGPU_OP_IOCTL : ops[draw_below(sizeof(ops) / sizeof(ops[0]))]);
	used = sizeof(draft.call);
	memcpy(msg, &draft.call, used);
	memcpy(msg + used, draft.segs, le16toh(draft.call.nr_segs) * sizeof(draft.segs[0]));
	used += le16toh(draft.call.nr_segs) * sizeof(draft.segs[0]);
	memcpy(msg + used, draft.fixups, le16toh(draft.call.nr_fixups) * sizeof(draft.fixups[0]));
	used += le16toh(draft.call.nr_fixups) * sizeof(draft.fixups[0]);
	memcpy(msg + used, draft.bytes, draft.len);
	used += draft.len;
	if (draw_one_in(8))
		flags |= WIRE_NO_WAIT;
	if (draw_one_in(16))
		flags |= WIRE_NO_ACK;
	if (draw_one_in(8))
		flags |= WIRE_LIE;
	input_add(input, WIRE_SEND, 1 + draw_below(WIRE_CONNS - 1), flags, msg, used);
}

static void make_control(struct input *input)
{
	static const uint16_t types[] = {
		VGPU_MSG_CLOSE, VGPU_MSG_UNMAP, VGPU_MSG_SESSION_CLOSE, VGPU_MSG_PING,
		VGPU_MSG_PONG, VGPU_MSG_UNBIND, VGPU_MSG_RELEASE,
	};
	union {
		struct vgpu_hdr hdr;
		struct vgpu_close close;
		struct vgpu_unmap unmap;
		struct vgpu_session_close session;
		struct vgpu_window_part part;
		struct vgpu_release release;
	} msg = { .hdr.type = htole16(types[draw_below(7)]) };
	size_t len = sizeof(msg.hdr);

	switch (le16toh(msg.hdr.type)) {
	case VGPU_MSG_CLOSE:
		msg.close.object = htole32(1 + draw_below(4));
		msg.close.reference = htole32(draw_one_in(4) ? draw_below(4) : 0);
		len = sizeof(msg.close);
		break;
	case VGPU_MSG_UNMAP:
		msg.unmap.session = htole64(1 + draw_below(2));
		msg.unmap.addr = htole64(draw_addr());
		msg.unmap.len = htole64((1 + draw_below(4)) * WIRE_PAGE);
		len = sizeof(msg.unmap);
		break;
	case VGPU_MSG_SESSION_CLOSE:
		msg.session.session = htole64(1 + draw_below(2));
		len = sizeof(msg.session);
		break;
	case VGPU_MSG_UNBIND:
		msg.part.window = htole64(1 + draw_below(2));
		msg.part.offset = htole64((1 + draw_below(8)) * WIRE_PAGE);
		msg.part.len = htole64(WIRE_PAGE);
		len = sizeof(msg.part);
		break;
	case VGPU_MSG_RELEASE:
		msg.release.number = htole64(1 + draw_below(8));
		len = sizeof(msg.release);
		break;
	}
	input_add(input, WIRE_SEND, 0, 0, &msg, len);
}

static void make_small(struct input *input)
{
	static const uint16_t types[] = {
		VGPU_MSG_CANCEL, VGPU_MSG_CANCEL, VGPU_MSG_ACK, VGPU_MSG_FETCHED, VGPU_MSG_WRITTEN,
	};
	struct vgpu_fetched msg = { .hdr.type = htole16(types[draw_below(5)]) };
	bool answer = le16toh(msg.hdr.type) >= VGPU_MSG_FETCHED;

	msg.error = htole32(answer ? 1 + draw_below(20) : 0);
	input_add(input, WIRE_SEND, 1 + draw_below(WIRE_CONNS - 1), 0, &msg,
		  answer ? sizeof(msg) : sizeof(msg.hdr));
}

void wire_make(struct input *input)
{
	unsigned int where = 1 + draw_below(WIRE_CONNS - 1), what = draw_below(64);

	if (what < 42)
		make_call(input);
	else if (what < 50)
		make_control(input);
	else if (what < 54)
		make_small(input);
	else if (what < 58)
		input_add(input, WIRE_KILL, draw_one_in(16) ? 0 : where, 0, NULL, 0);
	else if (what < 61)
		input_add(input, WIRE_WAIT, where, 0, NULL, 0);
	else
		input_add(input, WIRE_NAP, 0, draw_below(16), NULL, 0);
}
