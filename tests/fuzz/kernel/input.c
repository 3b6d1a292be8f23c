// SPDX-License-Identifier: GPL-2.0-only
/* Inputs of a fuzzer, see input.h. */
#include <string.h>

#include "draw.h"
#include "input.h"

static size_t step_size(const struct step *step)
{
	return sizeof(*step) + (step->len + 7) / 8 * 8;
}

struct step *input_next(struct input *input, const struct step *step)
{
	size_t at = step ? (const uint8_t *)step - input->bytes + step_size(step) : 0;

	return at < input->len ? (struct step *)(input->bytes + at) : NULL;
}

struct step *input_add(struct input *input, uint8_t kind, uint8_t where, uint16_t flags,
		       const void *data, size_t len)
{
	struct step *step = (struct step *)(input->bytes + input->len);
	size_t size = sizeof(*step) + (len + 7) / 8 * 8;

	if (size > INPUT_MAX - input->len)
		return NULL;
	memset(step, 0, size);
	step->kind = kind;
	step->where = where;
	step->flags = flags;
	step->len = len;
	if (len)
		memcpy(step->data, data, len);
	input->len += size;
	return step;
}

void input_take(struct input *input, const void *bytes, size_t len)
{
	struct step head;
	size_t at = 0, size;

	input->len = 0;
	if (len > INPUT_MAX)
		return;
	while (len - at >= sizeof(head)) {
		memcpy(&head, (const uint8_t *)bytes + at, sizeof(head));
		if (head.len > INPUT_MAX)
			break;
		size = step_size(&head);
		if (size > len - at)
			break;
		at += size;
	}
	memcpy(input->bytes, bytes, at);
	input->len = at;
}

static unsigned int input_count(struct input *input)
{
	struct step *step = NULL;
	unsigned int nr = 0;

	while ((step = input_next(input, step)))
		nr++;
	return nr;
}

static struct step *input_at(struct input *input, unsigned int i)
{
	struct step *step = input_next(input, NULL);

	while (i--)
		step = input_next(input, step);
	return step;
}

/* Makes room for a step of @size bytes, or takes its room away, at offset @at. */
static bool input_move(struct input *input, size_t at, size_t old, size_t size)
{
	if (input->len - old + size > INPUT_MAX)
		return false;
	memmove(input->bytes + at + size, input->bytes + at + old, input->len - at - old);
	input->len = input->len - old + size;
	return true;
}

static void step_insert(struct input *input, const struct step *step)
{
	unsigned int nr = input_count(input), i = draw_below(nr + 1);
	size_t at = i < nr ? (size_t)((uint8_t *)input_at(input, i) - input->bytes) : input->len;

	if (nr < INPUT_STEPS && input_move(input, at, 0, step_size(step)))
		memcpy(input->bytes + at, step, step_size(step));
}

void input_remove(struct input *input, struct step *step)
{
	input_move(input, (uint8_t *)step - input->bytes, step_size(step), 0);
}

/* Changes the data of a step in a place of its own, as its length may change. */
static void step_change(struct input *input, struct step *step,
			size_t (*change)(struct step *step, size_t room))
{
	static struct input own;
	struct step *copy = (struct step *)own.bytes;
	size_t at = (uint8_t *)step - input->bytes, old = step_size(step);

	memset(own.bytes, 0, sizeof(own.bytes));
	memcpy(copy, step, old);
	copy->len = change(copy, INPUT_MAX - sizeof(*copy) - 8);
	memset(copy->data + copy->len, 0, step_size(copy) - sizeof(*copy) - copy->len);
	if (input_move(input, at, old, step_size(copy)))
		memcpy(input->bytes + at, copy, step_size(copy));
}

static void input_change_once(struct input *input, struct input *other,
			      void (*make)(struct input *input),
			      size_t (*change)(struct step *step, size_t room))
{
	static struct input spare;
	unsigned int nr = input_count(input);
	struct step *step = nr ? input_at(input, draw_below(nr)) : NULL;

	switch (step ? draw_below(16) : 0) {
	case 0:
		spare.len = 0;
		make(&spare);
		if (spare.len)
			step_insert(input, input_next(&spare, NULL));
		break;
	case 1:
		spare.len = 0;
		input_add(&spare, step->kind, step->where, step->flags, step->data, step->len);
		step_insert(input, input_next(&spare, NULL));
		break;
	case 2:
		input_remove(input, step);
		break;
	case 3:
		nr = input_count(other);
		if (nr)
			step_insert(input, input_at(other, draw_below(nr)));
		break;
	case 4:
		step->where = draw_below(4);
		break;
	case 5:
		step->flags ^= 1 << draw_below(4);
		break;
	default:
		step_change(input, step, change);
		break;
	}
}

void input_change(struct input *input, struct input *other, void (*make)(struct input *input),
		  size_t (*change)(struct step *step, size_t room))
{
	unsigned int times = 1 + draw_below(4);

	while (times--)
		input_change_once(input, other, make, change);
}
