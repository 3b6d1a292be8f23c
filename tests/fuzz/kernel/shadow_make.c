// SPDX-License-Identifier: GPL-2.0-only
/* New steps of the fuzzer of shadows and agents, and changes of them. */
#include <linux/vgpu_host.h>
#include <linux/vgpu_wire.h>
#include <string.h>
#include <sys/mman.h>

#include "draw.h"
#include "message.h"
#include "shadow.h"
#include "wire.h"

static struct shadow_args args;

/* Commands, with the slot whose file takes them. Those of shadows and lanes come often. */
static const struct command {
	uint32_t cmd;
	uint8_t slot;
} commands[] = {
	{ VGPU_HOST_AGENT, SLOT_AGENT }, { VGPU_HOST_EXPORT_ADD, SLOT_AGENT },
	{ VGPU_HOST_EXPORT_DEL, SLOT_AGENT }, { VGPU_HOST_EXPORT_CHANGE, SLOT_AGENT },
	{ VGPU_HOST_EXPORT_FILE, SLOT_AGENT }, { VGPU_HOST_PEER_ADD, SLOT_AGENT },
	{ VGPU_HOST_PEER_DEL, SLOT_AGENT }, { VGPU_HOST_GRANT, SLOT_AGENT },
	{ VGPU_HOST_REVOKE, SLOT_AGENT }, { VGPU_HOST_SHADOW, SLOT_AGENT },
	{ VGPU_HOST_MEMORY, SLOT_AGENT }, { VGPU_HOST_PEER_STAT, SLOT_AGENT },
	{ VGPU_HOST_DENIALS, SLOT_AGENT }, { VGPU_HOST_PEER_LIMIT, SLOT_AGENT },
	{ VGPU_HOST_PEER_USE, SLOT_AGENT }, { VGPU_HOST_SETTLE, SLOT_AGENT },
	{ VGPU_HOST_NOTE, SLOT_AGENT }, { VGPU_HOST_NOTE, SLOT_AGENT },
	{ VGPU_HOST_NOTE_FIND, SLOT_AGENT },
	{ VGPU_HOST_WINDOW_CREATE, SLOT_AGENT }, { VGPU_HOST_WINDOW_DESTROY, SLOT_AGENT },
	{ VGPU_HOST_WINDOW_STAT, SLOT_AGENT }, { VGPU_HOST_WINDOW_DRAIN, SLOT_AGENT },
	{ VGPU_SHADOW_LANE, SLOT_SHADOW }, { VGPU_SHADOW_LANE, SLOT_SHADOW },
	{ VGPU_SHADOW_LANE, SLOT_SHADOW }, { VGPU_SHADOW_SERVICE, SLOT_SHADOW },
	{ VGPU_LANE_SERVE, SLOT_LANE }, { VGPU_LANE_SERVE, SLOT_LANE },
	{ VGPU_LANE_SERVE, SLOT_LANE }, { VGPU_LANE_SERVE, SLOT_NEW },
	{ VGPU_MEMORY_ADD, SLOT_NEW }, { VGPU_MEMORY_REMOVE, SLOT_NEW },
};

static uint64_t draw_addr(void)
{
	switch (draw_below(4)) {
	case 0:
		return SHADOW_RESERVED + draw_below(64) * 4096;
	case 1:
		return draw_number();
	default:
		return SHADOW_TARGET + draw_below(64) * 4096;
	}
}

/* Fills the argument of a command so that it may succeed. */
static void make_argument(uint32_t cmd)
{
	struct vgpu_host_export_add *export = (void *)args.bytes;
	struct vgpu_host_peer_add *peer = (void *)args.bytes;
	struct vgpu_host_grant *grant = (void *)args.bytes;
	struct vgpu_host_shadow *shadow = (void *)args.bytes;
	struct vgpu_host_memory *memory = (void *)args.bytes;
	struct vgpu_host_window_create *window = (void *)args.bytes;
	struct vgpu_shadow_lane *lane = (void *)args.bytes;
	struct vgpu_lane_serve *serve = (void *)args.bytes;
	struct vgpu_memory_add *add = (void *)args.bytes;
	struct vgpu_host_agent *agent = (void *)args.bytes;
	struct vgpu_host_denials *denials = (void *)args.bytes;
	struct vgpu_host_peer_limit *limit = (void *)args.bytes;
	struct vgpu_host_note *note = (void *)args.bytes;
	struct vgpu_host_note_find *find = (void *)args.bytes;
	uint32_t *words = (void *)args.bytes;

	switch (cmd) {
	case VGPU_HOST_AGENT:
		agent->flags = draw_one_in(4) ? 0 : VGPU_HOST_AGENT_ADOPT;
		agent->fetch_timeout_ms = 200;
		agent->lasting_ms = draw_below(SHADOW_LASTING_MS);
		break;
	case VGPU_HOST_EXPORT_ADD:
		export->flags = draw_one_in(2) ? VGPU_HOST_EXPORT_ADOPT : 0;
		export->path_fd = SLOT_DEVICE;
		export->kind = VGPU_EXPORT_PLAIN;
		strcpy(export->name, draw_one_in(2) ? "fuzz" : "other");
		if (draw_one_in(4)) {
			export->submits = 1 + draw_below(SHADOW_POINTED);
			export->nr_submits = draw_below(VGPU_HOST_SUBMITS_MAX + 2);
		}
		strcpy(export->path, "/dev/vgpu-mock");
		break;
	case VGPU_HOST_PEER_ADD:
		peer->sock_fd = draw_one_in(2) ? SLOT_SOCKET : draw_below(SLOTS);
		peer->cid = 1;
		peer->port = SHADOW_PORT;
		peer->features = VGPU_FEATURES & draw();
		break;
	case VGPU_HOST_GRANT:
		grant->peer = 1 + draw_below(2);
		grant->export = 1 + draw_below(2);
		grant->flags = draw_one_in(2) ? VGPU_HOST_GRANT_ADOPT : draw_below(8);
		if (draw_one_in(4)) {
			grant->ioctls = 1 + draw_below(SHADOW_POINTED);
			grant->nr_ioctls = draw_below(64);
			grant->ioctls_deny = draw_below(2);
		}
		break;
	case VGPU_HOST_DENIALS:
		denials->peer = 1 + draw_below(2);
		denials->export = 1 + draw_below(2);
		denials->nr = draw_below(VGPU_HOST_DENIALS_MAX + 2);
		denials->denials = 1 + draw_below(SHADOW_POINTED);
		break;
	case VGPU_HOST_PEER_LIMIT:
		limit->peer = 1 + draw_below(2);
		limit->flags = draw_below(2) ? 0 : draw_below(4);
		limit->weight = draw_below(3) * 100;
		limit->cap = draw_below(101);
		break;
	case VGPU_HOST_SETTLE:
		break;
	case VGPU_HOST_NOTE:
		note->peer = draw_below(4);
		note->key = draw_below(3);
		note->len = draw_one_in(4) ? 0 : draw_below(VGPU_HOST_NOTE_MAX + 2);
		note->data = 1 + draw_below(SHADOW_POINTED);
		note->fd = draw_one_in(2) ? -1 : (int)draw_below(SLOTS);
		break;
	case VGPU_HOST_NOTE_FIND:
		find->peer = draw_below(4);
		find->key = draw_below(3);
		find->data = 1 + draw_below(SHADOW_POINTED);
		find->len = draw_below(VGPU_HOST_NOTE_MAX + 2);
		break;
	case VGPU_HOST_SHADOW:
		shadow->peer = 1 + draw_below(2);
		shadow->session = 1 + draw_below(4);
		break;
	case VGPU_HOST_MEMORY:
		memory->peer = 1 + draw_below(2);
		memory->pieces = draw_below(64);
		break;
	case VGPU_HOST_WINDOW_CREATE:
		window->cid = 1;
		window->port = SHADOW_PORT;
		window->bytes = (1 + draw_below(16)) << 20;
		break;
	case VGPU_SHADOW_LANE:
		lane->sock_fd = draw_one_in(2) ? SLOT_SOCKET : draw_below(SLOTS);
		break;
	case VGPU_LANE_SERVE:
		serve->scratch = draw_one_in(4) ? draw_addr() : SHADOW_RESERVED;
		serve->scratch_len = draw_one_in(4) ? draw_number() : 0x10000;
		serve->event_fd = draw_one_in(2) ? -1 : (int)draw_below(SLOTS);
		break;
	case VGPU_MEMORY_ADD:
		add->addr = draw_below(8) * 4096;
		add->len = (1 + draw_below(8)) * 4096;
		add->fd = SLOT_MEMFD;
		break;
	default:
		/* Numbers of peers and exports come first in most others. */
		words[1] = 1 + draw_below(2);
		words[2] = draw_below(3);
		break;
	}
}

static void make_ioctl(struct input *input)
{
	const struct command *command = &commands[draw_below(sizeof(commands) /
							      sizeof(commands[0]))];
	unsigned int slot = command->slot, flags = 0;

	args.number = command->cmd;
	if (draw_one_in(8))
		draw_bytes(args.bytes, 64);
	else
		make_argument(command->cmd);
	if (slot == SLOT_NEW || draw_one_in(16))
		slot = draw_below(SLOTS);
	if (draw_one_in(16))
		flags |= SHADOW_RAW;
	if (draw_one_in(16))
		flags |= SHADOW_READ_ONLY;
	if (draw_one_in(16))
		flags |= SHADOW_SHARED;
	input_add(input, SHADOW_IOCTL, slot, flags, &args, sizeof(args));
}

/* Lets another file take the agent over, and confirm events and what it adopts. */
static void make_adopt(struct input *input)
{
	input_add(input, SHADOW_REOPEN, SLOT_AGENT, 0, NULL, 0);
	args.number = VGPU_HOST_AGENT;
	make_argument(args.number);
	input_add(input, SHADOW_IOCTL, SLOT_AGENT, 0, &args, sizeof(args));
	if (draw_one_in(2)) {
		args.len = draw_below(SHADOW_POINTED);
		input_add(input, SHADOW_READ, SLOT_AGENT, 0, &args,
			  sizeof(args) - sizeof(args.bytes));
	}
}

/* Has the guest send a message of the fuzzer of the wire. */
static void make_send(struct input *input)
{
	static struct input spare;
	struct step *step;

	do {
		spare.len = 0;
		wire_make(&spare);
		step = input_next(&spare, NULL);
	} while (!step || step->kind != WIRE_SEND);
	input_add(input, SHADOW_SEND, step->where ? SLOT_CALLER : SLOT_GUEST, 0, step->data,
		  step->len);
}

void shadow_make(struct input *input)
{
	unsigned int what = draw_below(32);

	memset(&args, 0, sizeof(args));
	args.addr = draw_addr();
	args.len = (1 + draw_below(32)) * 4096;
	args.offset = draw_one_in(2) ? args.addr : draw_number();
	if (what < 2) {
		make_adopt(input);
	} else if (what < 16) {
		make_ioctl(input);
	} else if (what < 22) {
		make_send(input);
	} else if (what < 26) {
		args.number = draw_below(8) | (draw_one_in(2) ? MAP_SHARED : MAP_PRIVATE) << 8;
		input_add(input, SHADOW_MMAP, draw_one_in(4) ? draw_below(SLOTS) : SLOT_SHADOW, 0,
			  &args, sizeof(args) - sizeof(args.bytes));
	} else if (what < 28) {
		input_add(input, SHADOW_MUNMAP, 0, 0, &args, sizeof(args) - sizeof(args.bytes));
	} else if (what < 30) {
		args.number = draw_below(SLOTS);
		input_add(input, draw_one_in(2) ? SHADOW_CLOSE : SHADOW_DUP, draw_below(SLOTS), 0,
			  &args, sizeof(args) - sizeof(args.bytes));
	} else if (what < 31) {
		input_add(input, SHADOW_READ, draw_one_in(4) ? draw_below(SLOTS) : SLOT_AGENT, 0,
			  &args, sizeof(args) - sizeof(args.bytes));
	} else {
		input_add(input, SHADOW_NAP, 0, draw_below(16), NULL, 0);
	}
}

size_t shadow_change(struct step *step, size_t room)
{
	struct shadow_args *own = (struct shadow_args *)step->data;
	uint64_t value = draw_number();
	size_t size = 4 << draw_below(2), at = draw_below(16) * size;

	if (step->kind == SHADOW_SEND)
		return message_change(step, room);
	if (step->len < sizeof(*own) - sizeof(own->bytes))
		return step->len;
	switch (draw_below(step->len < sizeof(*own) ? 4 : 8)) {
	case 0:
		own->number = step->kind == SHADOW_IOCTL ?
			commands[draw_below(sizeof(commands) / sizeof(commands[0]))].cmd : value;
		break;
	case 1:
		own->addr = draw_addr();
		break;
	case 2:
		own->len = value;
		break;
	case 3:
		own->offset = value;
		break;
	default:
		memcpy(own->bytes + at, &value, size);
		break;
	}
	return step->len;
}
