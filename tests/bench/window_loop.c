// SPDX-License-Identifier: GPL-2.0-only
/*
 * window_loop: measures how fast a program reads and writes mapped memory of a device, against
 * the same loop on ordinary memory of the same machine. Pieces of both alternate, so that a
 * noisy machine disturbs both alike. A pass is measured in two ways: as the sum of its pieces,
 * and as its median piece, because another program may have the processor for longer than a
 * pass takes. All pieces of the first pass have page faults.
 *
 * The device fills its memory with another pattern before each pass. The ordinary memory gets
 * the same, so equal sums prove that the loop read fresh bytes only. The device's sum
 * afterwards proves that all bytes that the loop wrote have arrived. Counters prove that no
 * call was forwarded and no byte sent meanwhile.
 *
 *	VGPU_FWD=/dev/vgpuN window_loop
 *
 * Exit status: 0 measured and fast enough, 1 too slow, or something was wrong, 4 no forwarded
 * mock device.
 */
#include <err.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "../mock/vgpu_mock.h"
#include "../mock/vgpu_mock_pattern.h"
#include "raw.h"

#define PASSES		9
#define BYTES		(64UL << 20)
#define PIECE		(256UL << 10)
#define PIECES		(BYTES / PIECE)
#define WORDS		(PIECE / sizeof(uint64_t))
/* Mapped memory must have this part of ordinary memory's speed. */
#define BOUND		0.95

static int device;
static struct vgpu_mock_buf_range range = { .length = BYTES };

/* struct memory: one of the two memories, with the sum and the times of a pass. */
struct memory {
	char *bytes;
	uint64_t sum;
	double us[PIECES];
};

/* Reads and writes each word. Return: a sum that depends on all words and their order. */
static __attribute__((noinline)) uint64_t loop(uint64_t *words, uint64_t add, uint64_t sum)
{
	size_t i;

	for (i = 0; i < WORDS; i++) {
		sum = (sum << 7 | sum >> 57) ^ words[i];
		words[i] += add;
	}
	return sum;
}

static void timed(struct memory *memory, size_t piece, uint64_t add)
{
	double start = raw_now_us();

	memory->sum = loop((uint64_t *)(memory->bytes + piece * PIECE), add, memory->sum);
	memory->us[piece] = raw_now_us() - start;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_value);
	return values[count / 2];
}

static long long counter(const char *name)
{
	long long value;
	char path[96];
	struct stat st;
	FILE *file;

	if (fstat(device, &st))
		err(1, "fstat");
	snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/%s", major(st.st_rdev),
		 minor(st.st_rdev), name);
	file = fopen(path, "r");
	if (!file || fscanf(file, "%lld", &value) != 1)
		err(1, "%s", path);
	fclose(file);
	return value;
}

static long long traffic(void)
{
	return counter("calls") + counter("bytes_in") + counter("bytes_out");
}

/*
 * struct times: the times of one of the two memories: each pass as the sum of its pieces, and
 * as its median piece times their number.
 */
struct times {
	double whole[PASSES];
	double typical[PASSES];
};

static void times_add(struct times *times, unsigned int i, struct memory *memory)
{
	size_t piece;

	times->whole[i] = 0;
	for (piece = 0; piece < PIECES; piece++)
		times->whole[i] += memory->us[piece];
	times->typical[i] = median(memory->us, PIECES) * PIECES;
}

/* Return: true if all bytes were right and nothing was forwarded. */
static bool pass(unsigned int number, struct memory *mapped, struct memory *ordinary,
		 struct times *mapped_times, struct times *ordinary_times)
{
	struct memory *turns[2] = { mapped, ordinary };
	uint64_t add = vgpu_mock_mix64(number);
	long long before, after;
	size_t piece;
	bool right;

	range.seed = number;
	if (ioctl(device, VGPU_MOCK_IOC_BUF_FILL, &range))
		err(1, "VGPU_MOCK_IOC_BUF_FILL");
	vgpu_mock_pattern(ordinary->bytes, BYTES, number, 0);
	mapped->sum = 0;
	ordinary->sum = 0;
	before = traffic();
	for (piece = 0; piece < PIECES; piece++) {
		unsigned int first = (piece + number) % 2;

		timed(turns[first], piece, add);
		timed(turns[!first], piece, add);
	}
	after = traffic();
	if (ioctl(device, VGPU_MOCK_IOC_BUF_SUM, &range))
		err(1, "VGPU_MOCK_IOC_BUF_SUM");
	right = mapped->sum == ordinary->sum && before == after &&
		range.out_sum == vgpu_mock_sum(VGPU_MOCK_SUM_INIT, ordinary->bytes, BYTES);
	times_add(mapped_times, number - 1, mapped);
	times_add(ordinary_times, number - 1, ordinary);
	printf("pass %u: mapped %.0f us, ordinary %.0f us, ratio %.3f; by median pieces %.0f us, %.0f us, %.3f; calls and bytes meanwhile %lld; read and written %s\n",
	       number, mapped_times->whole[number - 1], ordinary_times->whole[number - 1],
	       ordinary_times->whole[number - 1] / mapped_times->whole[number - 1],
	       mapped_times->typical[number - 1], ordinary_times->typical[number - 1],
	       ordinary_times->typical[number - 1] / mapped_times->typical[number - 1],
	       after - before, right ? "right" : "WRONG");
	fflush(stdout);
	return right;
}

/* Return: true if mapped memory is fast enough. */
static bool judge(const char *what, double *mapped, double *ordinary)
{
	double mapped_us = median(mapped, PASSES), ordinary_us = median(ordinary, PASSES);

	printf("%lu MiB, medians of %d passes, %s: mapped %.0f us, ordinary %.0f us, ratio %.3f (%.2f wanted)\n",
	       BYTES >> 20, PASSES, what, mapped_us, ordinary_us, ordinary_us / mapped_us, BOUND);
	return ordinary_us / mapped_us >= BOUND;
}

int main(void)
{
	struct vgpu_mock_buf_create create = { .size = BYTES, .flavour = VGPU_MOCK_BUF_PFN };
	static struct memory mapped, ordinary;
	static struct times mapped_times, ordinary_times;
	const char *path = getenv("VGPU_FWD");
	bool right = true;
	unsigned int i;

	if (!path) {
		fprintf(stderr, "VGPU_FWD names no device: set it to a forwarded mock device\n");
		return 4;
	}
	device = open(path, O_RDWR | O_CLOEXEC);
	if (device < 0)
		err(1, "%s", path);
	if (ioctl(device, VGPU_MOCK_IOC_BUF_CREATE, &create))
		err(1, "VGPU_MOCK_IOC_BUF_CREATE");
	range.id = create.out_id;
	mapped.bytes = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, device,
			    create.out_offset);
	ordinary.bytes = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			      -1, 0);
	if (mapped.bytes == MAP_FAILED || ordinary.bytes == MAP_FAILED)
		err(1, "mmap");
	for (i = 0; i < PASSES; i++)
		right &= pass(i + 1, &mapped, &ordinary, &mapped_times, &ordinary_times);
	right &= judge("all pieces", mapped_times.whole, ordinary_times.whole);
	right &= judge("by median pieces", mapped_times.typical, ordinary_times.typical);
	return right ? 0 : 1;
}
