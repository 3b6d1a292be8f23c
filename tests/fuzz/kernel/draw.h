/* SPDX-License-Identifier: GPL-2.0-only */
/* Random numbers of a fuzzer: the same seed gives the same numbers. */
#ifndef DRAW_H
#define DRAW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

extern uint64_t draw_state;

static inline uint64_t draw(void)
{
	/* The generator is xorshift64. */
	draw_state ^= draw_state << 13;
	draw_state ^= draw_state >> 7;
	draw_state ^= draw_state << 17;
	return draw_state;
}

/* Return: a number below @limit, which is not 0. */
static inline uint32_t draw_below(uint32_t limit)
{
	return (draw() >> 16) % limit;
}

static inline bool draw_one_in(uint32_t n)
{
	return !draw_below(n);
}

/* Return: a number of which code often depends: small, near a power of two, or any. */
static inline uint64_t draw_number(void)
{
	switch (draw_below(6)) {
	case 0:
		return draw_below(4);
	case 1:
		return draw_below(64);
	case 2:
		return (1ULL << draw_below(64)) + draw_below(3) - 1;
	case 3:
		return -(uint64_t)draw_below(4096);
	case 4:
		return (uint64_t)draw_below(64) * 4096;
	default:
		return draw();
	}
}

static inline void draw_bytes(void *bytes, size_t len)
{
	uint8_t *byte = bytes;

	while (len--)
		*byte++ = draw_one_in(2) ? draw_below(4) : draw();
}

#endif /* DRAW_H */
