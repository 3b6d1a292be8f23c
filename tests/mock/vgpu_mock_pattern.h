/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The hashes and patterns that the mock device computes, for tests that compute
 * the expected values. Results depend on the arguments alone.
 */
#ifndef VGPU_MOCK_PATTERN_H
#define VGPU_MOCK_PATTERN_H

#include <linux/types.h>
#ifdef __KERNEL__
#include <linux/string.h>
#else
#include <string.h>
#endif

#define VGPU_MOCK_SUM_INIT	0x9e3779b97f4a7c15ULL
#define VGPU_MOCK_PATTERN_SEED	0x2545f4914f6cdd1dULL

/* Returns the hash of a value of 64 bits; "becomes its hash" means this one. */
static inline __u64 vgpu_mock_mix64(__u64 x)
{
	x += VGPU_MOCK_SUM_INIT;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

/* Returns the hash of a value of 32 bits. */
static inline __u32 vgpu_mock_mix32(__u32 x)
{
	return (__u32)vgpu_mock_mix64(x);
}

/*
 * Adds bytes to a hash, which starts with VGPU_MOCK_SUM_INIT. Every piece but the
 * last must have a multiple of 8 bytes.
 */
static inline __u64 vgpu_mock_sum(__u64 sum, const void *data, __u64 length)
{
	const __u8 *p = data;
	__u64 word;

	for (; length >= 8; p += 8, length -= 8) {
		memcpy(&word, p, 8);
		sum = (sum ^ word) * 0x9fb21c651e98df25ULL;
		sum ^= sum >> 29;
	}
	if (length) {
		word = length;
		memcpy(&word, p, length);
		sum = (sum ^ word ^ (length << 56)) * 0x9fb21c651e98df25ULL;
		sum ^= sum >> 29;
	}
	return sum;
}

/*
 * Writes the pattern of a seed, from byte @offset of the pattern on. @offset must
 * be a multiple of 8.
 */
static inline void vgpu_mock_pattern(void *data, __u64 length, __u64 seed, __u64 offset)
{
	__u8 *p = data;
	__u64 word;

	/* The compiler turns this memcpy() into a store of eight bytes. */
	for (; length >= 8; p += 8, length -= 8, offset += 8) {
		word = vgpu_mock_mix64(seed * VGPU_MOCK_PATTERN_SEED + offset);
		memcpy(p, &word, 8);
	}
	if (length) {
		word = vgpu_mock_mix64(seed * VGPU_MOCK_PATTERN_SEED + offset);
		memcpy(p, &word, length);
	}
}

/* Return: each byte is zero: the first byte is, and equals its successors. @length is not 0. */
static inline int vgpu_mock_is_zero(const void *data, __u64 length)
{
	const __u8 *p = data;

	return !p[0] && !memcmp(p, p + 1, length - 1);
}

/* Inverts each byte, as the driver's answer. */
static inline void vgpu_mock_invert(void *data, __u64 length)
{
	__u8 *p = data;
	__u64 word;

	for (; length >= 8; p += 8, length -= 8) {
		memcpy(&word, p, 8);
		word = ~word;
		memcpy(p, &word, 8);
	}
	while (length--)
		*p++ ^= 0xff;
}

#endif /* VGPU_MOCK_PATTERN_H */
