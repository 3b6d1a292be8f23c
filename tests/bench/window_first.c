// SPDX-License-Identifier: GPL-2.0-only
/*
 * window_first: measures how long a program takes to access each page of mapped memory of a
 * device for the first time, in order, and for the second time. The device has filled the
 * memory before, so the time is that of mapping the pages for the program.
 *
 *	VGPU_DEVICE=/dev/... window_first [huge]
 *
 * "huge": the memory has 2 MiB pages.
 * Exit status: 0 measured, 1 something was wrong, 4 no mock device.
 */
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../mock/vgpu_mock.h"
#include "../mock/vgpu_mock_pattern.h"
#include "raw.h"

#define TIMES		3
#define BYTES		(64UL << 20)
#define PAGE		4096UL
#define PAGES		(BYTES / PAGE)

struct times {
	double first[TIMES];
	double second[TIMES];
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values)
{
	qsort(values, TIMES, sizeof(*values), by_value);
	return values[TIMES / 2];
}

/*
 * Reads and writes a word of each page. @wrong: counts the words that were not as the device
 * left them. Return: the time, in microseconds.
 */
static double touch(char *memory, uint64_t add, const uint64_t *expected, unsigned int *wrong)
{
	double start = raw_now_us();
	size_t i;

	for (i = 0; i < PAGES; i++) {
		volatile uint64_t *word = (uint64_t *)(memory + i * PAGE);

		*wrong += *word != expected[i] + add;
		*word = *word + 1;
	}
	return raw_now_us() - start;
}

/* Measures a buffer that was never mapped before. */
static void measure(int device, uint32_t flavour, struct times *times, unsigned int i)
{
	struct vgpu_mock_buf_create create = { .size = BYTES, .flavour = flavour };
	struct vgpu_mock_buf_range range = { .length = BYTES, .seed = i + 1 };
	static uint64_t expected[PAGES];
	unsigned int wrong = 0;
	char *memory, *pattern;
	size_t page;

	pattern = malloc(BYTES);
	if (!pattern)
		err(1, "malloc");
	vgpu_mock_pattern(pattern, BYTES, range.seed, 0);
	for (page = 0; page < PAGES; page++)
		memcpy(&expected[page], pattern + page * PAGE, sizeof(*expected));
	free(pattern);
	if (ioctl(device, VGPU_MOCK_IOC_BUF_CREATE, &create))
		err(1, "VGPU_MOCK_IOC_BUF_CREATE");
	range.id = create.out_id;
	if (ioctl(device, VGPU_MOCK_IOC_BUF_FILL, &range))
		err(1, "VGPU_MOCK_IOC_BUF_FILL");
	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, device, create.out_offset);
	if (memory == MAP_FAILED)
		err(1, "mmap");
	times->first[i] = touch(memory, 0, expected, &wrong);
	times->second[i] = touch(memory, 1, expected, &wrong);
	if (wrong)
		errx(1, "%u pages were not what the device wrote", wrong);
	munmap(memory, BYTES);
	if (ioctl(device, VGPU_MOCK_IOC_BUF_DESTROY, &range))
		err(1, "VGPU_MOCK_IOC_BUF_DESTROY");
}

int main(int argc, char **argv)
{
	uint32_t flavour = argc > 1 && !strcmp(argv[1], "huge") ? VGPU_MOCK_BUF_HUGE : 0;
	const char *path = getenv("VGPU_DEVICE");
	struct times times;
	unsigned int i;
	double first;
	int device;

	if (!path) {
		fprintf(stderr, "VGPU_DEVICE names no device: set it to a mock device\n");
		return 4;
	}
	device = open(path, O_RDWR | O_CLOEXEC);
	if (device < 0)
		err(1, "%s", path);
	for (i = 0; i < TIMES; i++) {
		measure(device, VGPU_MOCK_BUF_PFN | flavour, &times, i);
		printf("# first touch %.0f us, second %.0f us\n", times.first[i], times.second[i]);
	}
	first = median(times.first);
	printf("first touch of %lu MiB%s, median of %d: %.0f us, %.2f us a page; second %.0f us\n",
	       BYTES >> 20, flavour ? " in pieces of 2 MiB" : "", TIMES, first, first / PAGES,
	       median(times.second));
	return 0;
}
