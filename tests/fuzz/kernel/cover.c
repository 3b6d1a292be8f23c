// SPDX-License-Identifier: GPL-2.0-only
/* Coverage of the modules' code, see cover.h. */
#include <fcntl.h>
#include <linux/kcov.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cover.h"

#define WORDS		(1U << 19)	/* of an area for places */
#define WORDS_REMOTE	(1U << 15)	/* of the area of one thread that works for this program */
#define SEEN_BITS	17
#define SEEN_SIZE	(1U << SEEN_BITS)
#define FRESH_MAX	4096

/* Areas: the own thread's, and the others'. The first word of an area counts the others. */
static uint64_t *areas[2];
static int own_fd = -1;
/* Places that have run: a hash table with open addressing; 0 is free. */
static uint64_t seen[SEEN_SIZE];
static unsigned int nr_seen;
/* Number of the scan that saw a place last, by its index in @seen, and the number of all scans. */
static uint32_t scanned[SEEN_SIZE], nr_scans;
/* Places that the last cover_new() has counted, the first FRESH_MAX of them: indices in @seen. */
static uint32_t fresh[FRESH_MAX];
static unsigned int nr_fresh;

/* Return: a file of KCOV whose area is in *@area, or -1. */
static int cover_area(uint64_t **area)
{
	int fd = open("/sys/kernel/debug/kcov", O_RDWR | O_CLOEXEC);
	void *memory = MAP_FAILED;

	if (fd >= 0 && !ioctl(fd, KCOV_INIT_TRACE, (unsigned long)WORDS))
		memory = mmap(NULL, WORDS * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED,
			      fd, 0);
	if (memory == MAP_FAILED) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	*area = memory;
	return fd;
}

static void cover_tell(const char *module, unsigned int handle)
{
	char path[80];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/module/%s/parameters/cover", module);
	file = fopen(path, "w");
	if (!file)
		return;
	fprintf(file, "%u\n", handle);
	fclose(file);
}

/* A thread has either its own coverage or that of others, so this one does nothing else. */
static void *cover_others(void *unused)
{
	struct kcov_remote_arg arg = {
		.trace_mode = KCOV_TRACE_PC, .area_size = WORDS_REMOTE,
		.common_handle = 1 + getpid(),
	};
	uint64_t *area;
	int fd = cover_area(&area);

	(void)unused;
	if (fd < 0 || ioctl(fd, KCOV_REMOTE_ENABLE, &arg))
		return NULL;
	cover_tell("vgpu_host", arg.common_handle);
	cover_tell("vgpu_guest", arg.common_handle);
	__atomic_store_n(&areas[1], area, __ATOMIC_RELEASE);
	for (;;)
		pause();
}

void cover_open(void)
{
	pthread_t thread;
	int i;

	own_fd = cover_area(&areas[0]);
	if (pthread_create(&thread, NULL, cover_others, NULL))
		return;
	for (i = 0; i < 200 && !__atomic_load_n(&areas[1], __ATOMIC_ACQUIRE); i++)
		usleep(5000);
}

void cover_own(void)
{
	if (own_fd >= 0)
		ioctl(own_fd, KCOV_ENABLE, KCOV_TRACE_PC);
}

void cover_reset(void)
{
	int i;

	for (i = 0; i < 2; i++)
		if (areas[i])
			__atomic_store_n(&areas[i][0], 0, __ATOMIC_RELAXED);
}

/* Notes that a place ran. @add: also if it has not run before. */
static void cover_note(uint64_t place, bool add)
{
	unsigned int i = place * 0x9e3779b97f4a7c15ULL >> (64 - SEEN_BITS);

	for (; seen[i] && seen[i] != place; i = (i + 1) % SEEN_SIZE)
		;
	if (!seen[i]) {
		if (!add || nr_seen >= SEEN_SIZE / 2)
			return;
		seen[i] = place;
		nr_seen++;
		if (nr_fresh < FRESH_MAX)
			fresh[nr_fresh++] = i;
	}
	scanned[i] = nr_scans;
}

static void cover_scan(bool add)
{
	uint64_t nr, j;
	int i;

	nr_scans++;
	for (i = 0; i < 2; i++) {
		if (!areas[i])
			continue;
		nr = __atomic_load_n(&areas[i][0], __ATOMIC_RELAXED);
		for (j = 1; j <= nr && j < WORDS; j++)
			if (areas[i][j])
				cover_note(areas[i][j], add);
	}
}

unsigned int cover_new(void)
{
	unsigned int before = nr_seen;

	nr_fresh = 0;
	cover_scan(true);
	return nr_seen - before;
}

bool cover_again(void)
{
	unsigned int i;

	cover_scan(false);
	for (i = 0; i < nr_fresh; i++)
		if (scanned[fresh[i]] != nr_scans)
			return false;
	return true;
}

unsigned int cover_places(void)
{
	return nr_seen;
}
