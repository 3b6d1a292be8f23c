// SPDX-License-Identifier: GPL-2.0-only
/* New steps of the fuzzer of the guest, and changes of them. */
#include <endian.h>
#include <linux/vgpu_wire.h>
#include <string.h>

#include "draw.h"
#include "host.h"
#include "message.h"
#include "vgpu_mock.h"

static const uint32_t commands[] = {
	VGPU_MOCK_IOC_NOOP, VGPU_MOCK_IOC_IN, VGPU_MOCK_IOC_OUT, VGPU_MOCK_IOC_INOUT,
	VGPU_MOCK_IOC_ARRAY_INOUT, VGPU_MOCK_IOC_STRUCTS, VGPU_MOCK_IOC_FD_OUT,
	VGPU_MOCK_IOC_FD_OUT, VGPU_MOCK_IOC_FDS_OUT, VGPU_MOCK_IOC_FD_IN, VGPU_MOCK_IOC_BUF_CREATE,
	VGPU_MOCK_IOC_TIMES, VGPU_MOCK_IOC_MOVED, VGPU_MOCK_IOC_STRING,
};

/* Makes a control message of a host, with numbers that are probably there. */
static void make_message(struct input *input)
{
	static const uint16_t types[] = {
		VGPU_MSG_EXPORT_ADD, VGPU_MSG_EXPORT_DEL, VGPU_MSG_EXPORT_CHANGE,
		VGPU_MSG_EXPORT_CHANGE, VGPU_MSG_EXPORT_FILE, VGPU_MSG_POLL_EVENT,
		VGPU_MSG_POLL_EVENT, VGPU_MSG_EVENT, VGPU_MSG_WINDOW, VGPU_MSG_UNBOUND,
		VGPU_MSG_INVALIDATE, VGPU_MSG_RELEASE, VGPU_MSG_PING, VGPU_MSG_PONG,
	};
	static union {
		struct vgpu_hdr hdr;
		struct vgpu_export_add add;
		struct vgpu_export_del del;
		struct vgpu_export_change change;
		struct vgpu_export_file file;
		struct vgpu_poll_event poll;
		struct vgpu_event_signal event;
		struct vgpu_window_info window;
		struct vgpu_window_part part;
		struct vgpu_release release;
		uint8_t bytes[VGPU_CONTROL_MSG_MAX];
	} msg;
	size_t len = sizeof(msg.hdr);

	memset(&msg, 0, sizeof(msg));
	msg.hdr.type = htole16(types[draw_below(sizeof(types) / sizeof(types[0]))]);
	switch (le16toh(msg.hdr.type)) {
	case VGPU_MSG_EXPORT_ADD:
		len = sizeof(msg.add);
		msg.add.export = htole32(2 + draw_below(6));
		msg.add.kind = htole32(draw_below(VGPU_EXPORT_LAST + 1));
		msg.add.device = htole64(draw_below(3));
		strcpy((char *)msg.add.name, "fuzz-other");
		strcpy((char *)msg.add.driver, draw_one_in(2) ? "virtio_gpu" : "vgem");
		strcpy((char *)msg.add.path, "/dev/dri/card0");
		break;
	case VGPU_MSG_EXPORT_DEL:
		len = sizeof(msg.del);
		msg.del.export = htole32(1 + draw_below(7));
		break;
	case VGPU_MSG_EXPORT_CHANGE:
		len = sizeof(msg.change);
		msg.change.export = htole32(1 + draw_below(3));
		msg.change.flags = htole32(VGPU_CHANGE_HOTPLUG);
		break;
	case VGPU_MSG_EXPORT_FILE:
		msg.file.export = htole32(1 + draw_below(7));
		msg.file.size = htole32(draw_below(8) * 1000);
		msg.file.offset = htole32(draw_below(2) * VGPU_FILE_PART);
		strcpy((char *)msg.file.name, "HDMI-A-1/status");
		len = le32toh(msg.file.size) - le32toh(msg.file.offset);
		len = sizeof(msg.file) + (len > VGPU_FILE_PART ? VGPU_FILE_PART : len);
		break;
	case VGPU_MSG_POLL_EVENT:
		len = sizeof(msg.poll);
		msg.poll.object = htole32(1 + draw_below(8));
		msg.poll.revents = htole32(1 + draw_below(0x1f));
		msg.poll.flags = htole32(draw_below(2));
		break;
	case VGPU_MSG_EVENT:
		len = sizeof(msg.event);
		msg.event.event = htole32(1 + draw_below(8));
		break;
	case VGPU_MSG_WINDOW:
		len = sizeof(msg.window);
		msg.window.window = htole64(1 + draw_below(3));
		msg.window.size = htole64(draw_below(3) << 20);
		break;
	case VGPU_MSG_UNBOUND:
	case VGPU_MSG_INVALIDATE:
		len = sizeof(msg.part);
		msg.part.window = htole64(1 + draw_below(3));
		msg.part.offset = htole64((1 + draw_below(8)) * 4096);
		msg.part.len = htole64(4096);
		break;
	case VGPU_MSG_RELEASE:
		len = sizeof(msg.release);
		msg.hdr.seq = htole64(1 + draw_below(8));
		msg.release.number = htole64(1 + draw_below(8));
		break;
	}
	if (len > sizeof(msg))
		len = sizeof(msg);
	input_add(input, HOST_SEND, 0, 0, &msg, (len + 7) / 8 * 8);
}

/* Appends a question that the host has before it replies. Return: its length. */
static size_t make_upcall(uint8_t *bytes)
{
	struct vgpu_fetch *fetch = (void *)bytes;
	struct vgpu_writeback *writeback = (void *)bytes;
	struct vgpu_range *ranges = (void *)(writeback + 1);
	uint32_t nr = 1 + draw_below(3), i;

	if (draw_one_in(2)) {
		*fetch = (struct vgpu_fetch){
			.hdr.type = htole16(VGPU_MSG_FETCH),
			.addr = htole64(0x300000000000 + draw_below(18) * 4096),
			.len = htole32((1 + draw_below(4)) * 4096),
		};
		return sizeof(*fetch);
	}
	*writeback = (struct vgpu_writeback){
		.hdr.type = htole16(VGPU_MSG_WRITEBACK),
		.nr_ranges = htole32(draw_one_in(8) ? draw_below(VGPU_RANGES_MAX + 2) : nr),
	};
	for (i = 0; i < nr; i++)
		ranges[i] = (struct vgpu_range){
			.addr = htole64(0x300000000000 + draw_below(65536)), .len = htole32(8),
		};
	memset(ranges + nr, 0x5a, nr * 8);
	return sizeof(*writeback) + nr * (sizeof(*ranges) + 8);
}

#define REPLY(field)	{ offsetof(struct vgpu_reply, field), \
			  sizeof(((struct vgpu_reply *)0)->field) }
#define OBJECT(field)	{ sizeof(struct vgpu_reply) + offsetof(struct vgpu_object_desc, field), \
			  sizeof(((struct vgpu_object_desc *)0)->field) }

/* Fields of a reply, and of the first object behind, which most changes are made to. */
static const struct {
	uint16_t at;
	uint16_t size;
} fields[] = {
	REPLY(hdr.len), REPLY(hdr.type), REPLY(result), REPLY(pos), REPLY(flags),
	REPLY(nr_objects), REPLY(clock_in), REPLY(clock_out), REPLY(out.raw[0]),
	REPLY(out.raw[1]), REPLY(out.mmap.flags), REPLY(out.mmap.cache), OBJECT(object),
	OBJECT(kind), OBJECT(fops), OBJECT(flags), OBJECT(space), OBJECT(size), OBJECT(fixup),
	OBJECT(f_flags), OBJECT(reference),
};

static struct host_patch make_patch(void)
{
	unsigned int i = draw_below(sizeof(fields) / sizeof(fields[0]));
	struct host_patch patch = {
		.at = fields[i].at, .size = fields[i].size, .value = draw_number(),
	};

	if (draw_one_in(8)) {
		patch.at = draw_below(4096);
		patch.size = 2 << draw_below(3);
	}
	return patch;
}

void host_make(struct input *input)
{
	unsigned int kind = HOST_OPEN + draw_below(HOST_STEPS - HOST_OPEN), flags = 0;
	struct {
		struct host_args args;
		uint8_t upcall[256];
	} data = {};
	size_t len = sizeof(data.args);

	if (draw_one_in(3))
		kind = HOST_IOCTL;
	if (draw_one_in(3)) {
		make_message(input);
		return;
	}
	if (draw_one_in(24)) {
		data.args.position = draw_one_in(8);
		input_add(input, HOST_KILL, 0, 0, &data, sizeof(data.args));
		return;
	}
	data.args.number = kind == HOST_IOCTL ?
		commands[draw_below(sizeof(commands) / sizeof(commands[0]))] : draw_below(9000);
	data.args.position = draw_below(16) * 4096;
	if (draw_one_in(2)) {
		data.args.nr_patches = 1 + draw_below(2);
		data.args.patches[0] = make_patch();
		data.args.patches[1] = make_patch();
	}
	if (draw_one_in(4))
		len += make_upcall(data.upcall);
	if (draw_one_in(16))
		flags |= HOST_NO_REPLY;
	if (draw_one_in(2))
		flags |= HOST_GIVE;
	input_add(input, kind, draw_below(HOST_FILES), flags, &data, len);
}

size_t host_change(struct step *step, size_t room)
{
	struct host_args *args = (struct host_args *)step->data;
	struct step *upcall;
	size_t len;

	if (step->kind == HOST_SEND)
		return message_change(step, room < VGPU_CONTROL_MSG_MAX ? room :
				      VGPU_CONTROL_MSG_MAX);
	if (step->len < sizeof(*args))
		return step->len;
	switch (draw_below(4)) {
	case 0:
		if (args->nr_patches < HOST_PATCHES)
			args->patches[args->nr_patches++] = make_patch();
		break;
	case 1:
		args->patches[draw_below(HOST_PATCHES)] = make_patch();
		break;
	case 2:
		if (step->kind == HOST_IOCTL)
			args->number = commands[draw_below(sizeof(commands) / sizeof(commands[0]))];
		else
			args->number = draw_number();
		break;
	default:
		/* The upcall is a message, too; its own step is made in the memory before it. */
		if (step->len < sizeof(*args) + sizeof(struct vgpu_hdr)) {
			if (room >= sizeof(*args) + 256)
				return sizeof(*args) + make_upcall((uint8_t *)(args + 1));
			break;
		}
		len = step->len - sizeof(*args);
		upcall = calloc(1, sizeof(*upcall) + len + 128);
		if (!upcall)
			break;
		upcall->len = len;
		memcpy(upcall->data, args + 1, len);
		len = message_change(upcall, len);
		memcpy(args + 1, upcall->data, len);
		free(upcall);
		return sizeof(*args) + len;
	}
	return step->len;
}
