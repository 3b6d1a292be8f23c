/* SPDX-License-Identifier: GPL-2.0-only */
/* Words that mock_hunt writes, or has the device write: window_look tells by them whose memory it sees. */
#ifndef HUNT_H
#define HUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "vgpu_mock_pattern.h"

#define HUNT_PAGE	4096UL
/* Number of pages of the largest buffer. */
#define HUNT_PAGES	64
#define HUNT_SEEDS	0x1000
/* A seed has 32 bits: the mark, these bits, and the number. */
#define HUNT_SEED_MAGIC	0x5a6000UL
/* The upper half of a word that a program writes; then come the mark and a number. */
#define HUNT_MAGIC	0x68756e74ULL
/* The mock fills pages with this word when it frees them. */
#define HUNT_POISON	0xdedededededededeULL

static inline uint64_t hunt_word(unsigned int mark, uint64_t serial)
{
	return HUNT_MAGIC << 32 | mark << 24 | (serial & 0xffffff);
}

/* Return: which program has written that word, or 0: none. */
static inline unsigned int hunt_mark(uint64_t word)
{
	return word >> 32 == HUNT_MAGIC ? (word >> 24) & 0xff : 0;
}

/*
 * The seed of what the device writes for a program. A word that is looked at is tried with each
 * page that a buffer can have, many millions of them: few seeds, so that none is taken for
 * that of another by chance.
 */
static inline uint32_t hunt_seed(unsigned int mark, uint64_t serial)
{
	return mark << 24 | HUNT_SEED_MAGIC | (serial % HUNT_SEEDS);
}

/* Return: the number by which @odd has to be multiplied to be 1. */
static inline uint64_t hunt_inverse(uint64_t odd)
{
	uint64_t inverse = odd;
	int bits;

	/* Three bits are right in the beginning. */
	for (bits = 3; bits < 64; bits *= 2)
		inverse *= 2 - odd * inverse;
	return inverse;
}

/* vgpu_mock_mix64() of what it returns is @x. */
static inline uint64_t hunt_unmix64(uint64_t x)
{
	x = (x ^ (x >> 31) ^ (x >> 62)) * hunt_inverse(0x94d049bb133111ebULL);
	x = (x ^ (x >> 27) ^ (x >> 54)) * hunt_inverse(0xbf58476d1ce4e5b9ULL);
	return (x ^ (x >> 30) ^ (x >> 60)) - VGPU_MOCK_SUM_INIT;
}

/*
 * Finds the program for which the device has written a word at byte @at of its page: the word comes
 * from that program's seed, in one of the pages that a buffer can have. Return: its mark, or 0.
 */
static inline unsigned int hunt_filled(uint64_t word, uint64_t at)
{
	uint64_t unmixed = hunt_unmix64(word), seed;

	for (; at < HUNT_PAGES * HUNT_PAGE; at += HUNT_PAGE) {
		seed = (unmixed - at) * hunt_inverse(VGPU_MOCK_PATTERN_SEED);
		if (!(seed >> 32) && seed == hunt_seed(seed >> 24, seed))
			return seed >> 24;
	}
	return 0;
}

#endif /* HUNT_H */
