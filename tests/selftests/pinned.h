/* SPDX-License-Identifier: GPL-2.0-only */
/* The amount of this process's memory that the kernel has pinned for a device. */
#ifndef PINNED_H
#define PINNED_H

#include <stdbool.h>
#include <stdio.h>

#include "vgpu_diff.h"

/* Returns the kilobytes that are pinned for this process; 0 where nothing is forwarded. */
static inline long pinned_kib(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[128];
	long kib = -1;

	MUST(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "VmPin: %ld", &kib) == 1)
			break;
	fclose(file);
	return kib;
}

/* Waits up to 20 s until @kib are pinned. Return: false if another amount is pinned. */
static inline bool pinned_becomes(long kib)
{
	__u64 end = now_ms() + 20000;

	while (pinned_kib() != kib) {
		if (now_ms() > end)
			return false;
		sleep_ms(10);
	}
	return true;
}

#endif /* PINNED_H */
