/* SPDX-License-Identifier: GPL-2.0-only */
/* What programs of mock_hunt write, by which window_look knows whose it is. */
#ifndef HUNT_H
#define HUNT_H

#include <stdbool.h>
#include <stdint.h>

/* The upper half of a word; then come the mark and a number. */
#define HUNT_MAGIC	0x68756e74ULL
/* What the mock fills pages with that it gives back. */
#define HUNT_POISON	0xdedededededededeULL

static inline uint64_t hunt_word(unsigned int mark, uint64_t serial)
{
	return HUNT_MAGIC << 32 | mark << 24 | (serial & 0xffffff);
}

/* Return: whose word it is, or 0: nobody's. */
static inline unsigned int hunt_mark(uint64_t word)
{
	return word >> 32 == HUNT_MAGIC ? (word >> 24) & 0xff : 0;
}

#endif /* HUNT_H */
