// SPDX-License-Identifier: GPL-2.0-only
/*
 * samples: prints every second which processes the first card has worked for, as NVIDIA's driver
 * tells everybody (userspace-lib/vgpud/device/usage.c), and how long the question took.
 *
 * cc -D_GNU_SOURCE -Iuserspace-lib -o samples tests/gpu/samples.c userspace-lib/engine/memory/nvidia.c
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "memory.h"

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec * 1e-9;
}

/* Return: name of a process; "-" if there is none. */
static const char *comm_of(uint32_t pid)
{
	static char name[64];
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	file = fopen(path, "r");
	if (!file || !fgets(name, sizeof(name), file))
		strcpy(name, "-\n");
	if (file)
		fclose(file);
	name[strlen(name) - 1] = '\0';
	return name;
}

int main(void)
{
	static struct rm_samples samples;
	uint64_t last = 0, newest = 0;
	uint32_t number, i;
	double begin;
	int ret;

	if (open_node(0) < 0 || rm_begin()) {
		printf("no card\n");
		return 1;
	}
	for (;;) {
		begin = seconds();
		ret = nvidia_samples(&rm, 0, &samples, &number);
		printf("%.3f: %d, status %#x, card %u, %u samples, %.2f ms\n", begin, ret, rm.status,
		       number, samples.nr, (seconds() - begin) * 1e3);
		for (i = 0; !ret && i < RM_SAMPLES; i++) {
			const struct rm_sample *sample = &samples.samples[i];

			if (sample->time > newest)
				newest = sample->time;
			if (sample->time <= last)
				continue;
			printf("  %.3f: used %u, process %d (%s)\n", sample->time * 1e-9,
			       sample->engines[RM_SAMPLE_GRAPHICS].used,
			       (int)sample->engines[RM_SAMPLE_GRAPHICS].pid,
			       comm_of(sample->engines[RM_SAMPLE_GRAPHICS].pid));
		}
		last = newest;
		fflush(stdout);
		sleep(1);
	}
}
