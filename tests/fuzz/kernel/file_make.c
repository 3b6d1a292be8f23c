// SPDX-License-Identifier: GPL-2.0-only
/* New steps of the fuzzer of file operations, and changes of them. */
#include <fcntl.h>
#include <string.h>

#include "draw.h"
#include "file.h"
#include "vgpu_mock.h"

/* Bytes of the arena that a new step fills; the others have a pattern. */
#define BYTES	512

/**
 * struct array - a pointer in a structure, with a number of elements
 * @ptr: offset of the pointer
 * @count: offset of the number, of 4 bytes
 * @elem: size of an element in bytes; 0: there is no array
 */
struct array {
	uint8_t ptr;
	uint8_t count;
	uint8_t elem;
};

static const struct command {
	uint32_t cmd;
	struct array arrays[3];
} commands[] = {
	{ VGPU_MOCK_IOC_NOOP, {} },
	{ VGPU_MOCK_IOC_IN, {} },
	{ VGPU_MOCK_IOC_OUT, {} },
	{ VGPU_MOCK_IOC_INOUT, {} },
	{ VGPU_MOCK_IOC_INTEGER, {} },
	{ VGPU_MOCK_IOC_ERROR, { { 24, 32, 4 } } },
	{ VGPU_MOCK_IOC_ERROR, { { 24, 32, 4 } } },
	{ VGPU_MOCK_IOC_RETURN, {} },
	{ VGPU_MOCK_IOC_BIG, {} },
	{ VGPU_MOCK_BARE, { { 8, 16, 8 } } },
	{ VGPU_MOCK_IOC_EXTENSIBLE, {} },
	{ VGPU_MOCK_IOC_SIZED, {} },
	{ VGPU_MOCK_IOC_ARRAY_IN, { { 0, 8, 4 } } },
	{ VGPU_MOCK_IOC_ARRAY_OUT, { { 0, 8, 4 } } },
	{ VGPU_MOCK_IOC_ARRAY_INOUT, { { 0, 8, 4 } } },
	{ VGPU_MOCK_IOC_ARRAYS, { { 0, 24, 8 }, { 8, 28, 2 }, { 16, 32, 8 } } },
	{ VGPU_MOCK_IOC_STRUCTS, { { 0, 8, 16 } } },
	{ VGPU_MOCK_IOC_STRIDE, { { 0, 8, 16 } } },
	{ VGPU_MOCK_IOC_LARGE_IN, { { 0, 8, 1 } } },
	{ VGPU_MOCK_IOC_LARGE_OUT, { { 0, 8, 1 } } },
	{ VGPU_MOCK_IOC_LARGE_INOUT, { { 0, 8, 1 } } },
	{ VGPU_MOCK_IOC_EITHER, { { 0, 8, 1 } } },
	{ VGPU_MOCK_IOC_MOVED, { { 0, 8, 1 } } },
	{ VGPU_MOCK_IOC_TABLE, { { 0, 8, 4 } } },
	{ VGPU_MOCK_IOC_CONTROLS, { { 8, 0, 20 } } },
	{ VGPU_MOCK_IOC_WAKE, {} },
	{ VGPU_MOCK_IOC_FD_OUT, {} },
	{ VGPU_MOCK_IOC_FD_IN, {} },
	{ VGPU_MOCK_IOC_OBJ_INFO, {} },
	{ VGPU_MOCK_IOC_IO_MODE, {} },
	{ VGPU_MOCK_IOC_BUF_CREATE, {} },
	{ VGPU_MOCK_IOC_BUF_FILL, {} },
	{ VGPU_MOCK_IOC_BUF_SUM, {} },
};

static struct file_args args;
static uint8_t bytes[BYTES];

static void set32(unsigned int at, uint32_t value)
{
	memcpy(bytes + at, &value, sizeof(value));
}

static uint32_t draw_place(void)
{
	return draw_one_in(8) ? FILE_ARENA - draw_below(64) : 1024 + draw_below(FILE_ARENA / 2);
}

static void add_patch(uint32_t at, uint32_t to)
{
	if (args.nr_patches < FILE_PATCHES)
		args.patches[args.nr_patches++] = (struct file_patch){ at, to };
}

static void add_array(const struct array *array)
{
	uint32_t place = draw_place(), nr = draw_one_in(8) ? draw_number() : draw_below(40);

	add_patch(array->ptr, place);
	set32(array->count, nr);
	/* Most fields behind are reserved. */
	if (array->count + 8u <= BYTES && draw_one_in(2))
		set32(array->count + 4, 0);
}

/* Fills the fields that have to mean something for the command to get anywhere. */
static void make_fields(uint32_t cmd)
{
	switch (cmd) {
	case VGPU_MOCK_IOC_ERROR:
		set32(0, draw_one_in(2) ? 1 + draw_below(130) : 0);
		set32(4, 0);
		set32(36, 0);
		break;
	case VGPU_MOCK_IOC_SIZED:
		set32(0, 16 + 8 * draw_below(5));
		set32(4, 0);
		break;
	case VGPU_MOCK_IOC_STRIDE:
		set32(12, 4 + 4 * draw_below(8));
		break;
	case VGPU_MOCK_IOC_LARGE_IN:
	case VGPU_MOCK_IOC_LARGE_OUT:
	case VGPU_MOCK_IOC_LARGE_INOUT:
		set32(8, draw_below(FILE_ARENA));
		set32(12, 0);
		break;
	case VGPU_MOCK_IOC_MOVED:
		set32(12, draw_below(3));
		set32(16, draw_below(16));
		set32(20, 0);
		break;
	case VGPU_MOCK_IOC_EITHER:
		set32(12, draw_below(3));
		break;
	case VGPU_MOCK_IOC_IO_MODE:
		set32(0, draw_below(3));
		set32(4, draw_one_in(2) ? 0 : draw_below(5000));
		set32(8, draw_below(130));
		set32(12, 0);
		break;
	case VGPU_MOCK_IOC_BUF_CREATE:
		set32(0, (1 + draw_below(4)) * 4096);
		set32(4, 0);
		set32(8, draw_below(6));
		break;
	case VGPU_MOCK_IOC_BUF_FILL:
	case VGPU_MOCK_IOC_BUF_SUM:
		set32(8, draw_below(512) * 8);
		set32(12, 0);
		set32(16, draw_below(512) * 8);
		memset(bytes + 20, 0, 20);
		break;
	case VGPU_MOCK_IOC_FD_OUT:
		set32(8, draw_one_in(2) ? O_CLOEXEC : 0);
		break;
	case VGPU_MOCK_IOC_FD_IN:
		set32(4, 0);
		break;
	}
}

static unsigned int make_ioctl(void)
{
	const struct command *command = &commands[draw_below(sizeof(commands) /
							      sizeof(commands[0]))];
	unsigned int i;

	args.number = command->cmd;
	draw_bytes(bytes, 128);
	for (i = 0; i < 3 && command->arrays[i].elem; i++)
		add_array(&command->arrays[i]);
	make_fields(command->cmd);
	if (command->cmd == VGPU_MOCK_IOC_STRUCTS)
		for (i = 0; i < 4; i++)
			add_patch(args.patches[0].to + 16 * i, draw_place());
	if (draw_one_in(4))
		args.number = VGPU_MOCK_UNDESCRIBED(args.number);
	return FILE_POINTER;
}

void file_make(struct input *input)
{
	unsigned int kind = draw_one_in(2) ? FILE_IOCTL : draw_below(FILE_STEPS), flags = 0;
	uint8_t data[sizeof(args) + BYTES];

	memset(&args, 0, sizeof(args));
	memset(bytes, 0, sizeof(bytes));
	args.offset = draw_place();
	args.number = draw_one_in(4) ? draw_below(FILE_ARENA) : draw_below(300);
	args.position = draw_one_in(4) ? draw_number() : draw_below(70000);
	switch (kind) {
	case FILE_SEEK:
		args.number = draw_below(6);
		break;
	case FILE_IOCTL:
		flags = make_ioctl();
		break;
	case FILE_POLL:
		args.number = draw_below(0x800);
		break;
	case FILE_FLAGS:
	case FILE_REOPEN:
	case FILE_MAP:
		args.number = draw();
		args.position = draw_below(5) * 4096;
		break;
	}
	memcpy(data, &args, sizeof(args));
	memcpy(data + sizeof(args), bytes, BYTES);
	input_add(input, kind, draw_below(FILE_FILES), flags, data,
		  sizeof(args) + (kind == FILE_IOCTL ? BYTES : 0));
}

size_t file_change(struct step *step, size_t room)
{
	struct file_args *own = (struct file_args *)step->data;
	uint64_t value = draw_number();
	size_t size = 1 << draw_below(4), at;

	if (step->len < sizeof(*own) || room < sizeof(*own))
		return step->len;
	switch (draw_below(5)) {
	case 0:
		if (step->kind != FILE_IOCTL)
			own->number = draw_number();
		else if (draw_one_in(4))
			own->number ^= VGPU_MOCK_UNDESCRIBED_BIT;
		break;
	case 1:
		own->position = draw_number();
		break;
	case 2:
		own->offset = draw_place();
		break;
	case 3:
		if (own->nr_patches && own->nr_patches <= FILE_PATCHES)
			own->patches[draw_below(own->nr_patches)].to = draw_place();
		break;
	default:
		if (step->len <= sizeof(*own) + 8)
			break;
		at = draw_below((step->len - sizeof(*own)) / size) * size;
		/* Structures are short, so most changes are at the beginning. */
		if (draw_below(4))
			at %= 64;
		memcpy(step->data + sizeof(*own) + at, &value, size);
		break;
	}
	return step->len;
}
