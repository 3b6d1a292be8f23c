/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Words that mock_hunt writes, or has the device write. By these words window_look finds out to
 * which guest's program the memory in a window belongs.
 */
#ifndef HUNT_H
#define HUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "vgpu_mock_pattern.h"

#define HUNT_PAGE	4096UL
/* Number of pages of the largest buffer. */
#define HUNT_PAGES	64
#define HUNT_SEEDS	0x1000
/* A seed has 32 bits: the program's mark, these bits, and a number below HUNT_SEEDS. */
#define HUNT_SEED_MAGIC	0x5a6000UL
/* Upper half of a word that a program writes; the lower half has its mark and a number. */
#define HUNT_MAGIC	0x68756e74ULL
/* The mock fills pages with this word when it frees them. */
#define HUNT_POISON	0xdedededededededeULL

static inline uint64_t hunt_word(unsigned int mark, uint64_t serial)
{
	return HUNT_MAGIC << 32 | mark << 24 | (serial & 0xffffff);
}

/* Return: mark of the program that has written the word; 0 if no program has. */
static inline unsigned int hunt_mark(uint64_t word)
{
	return word >> 32 == HUNT_MAGIC ? (word >> 24) & 0xff : 0;
}

/*
 * Return: seed of the pattern that the device writes for a program. hunt_filled() computes a seed
 * for each page of a buffer from which a word may come, and for many millions of words. Few of all
 * numbers are seeds, so that no other word gives a program's seed by chance.
 */
static inline uint32_t hunt_seed(unsigned int mark, uint64_t serial)
{
	return mark << 24 | HUNT_SEED_MAGIC | (serial % HUNT_SEEDS);
}

/* Return: number whose product with @odd is 1, modulo 2^64. */
static inline uint64_t hunt_inverse(uint64_t odd)
{
	uint64_t inverse = odd;
	int bits;

	/* An odd number is its own inverse in three bits. Each step doubles the number of bits. */
	for (bits = 3; bits < 64; bits *= 2)
		inverse *= 2 - odd * inverse;
	return inverse;
}

/* Return: number for which vgpu_mock_mix64() returns @x. */
static inline uint64_t hunt_unmix64(uint64_t x)
{
	x = (x ^ (x >> 31) ^ (x >> 62)) * hunt_inverse(0x94d049bb133111ebULL);
	x = (x ^ (x >> 27) ^ (x >> 54)) * hunt_inverse(0xbf58476d1ce4e5b9ULL);
	return (x ^ (x >> 30) ^ (x >> 60)) - VGPU_MOCK_SUM_INIT;
}

/*
 * Finds the program for which the device has written a word at byte @at of a page. The page may be
 * any page of a buffer, so a seed is computed for each. Return: mark of the program, or 0.
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
