/* SPDX-License-Identifier: GPL-2.0-only */
/* Helpers of tests of the arena: they make long messages and count the bytes on the wire. */
#ifndef ARENA_H
#define ARENA_H

#include <linux/vgpu_wire.h>

#include "window.h"

#define KIB		1024UL
/* Bytes on the wire, at most, of a call whose data is in the arena. */
#define LITTLE		2000
#define TWIN(cmd)	((cmd) | VGPU_MOCK_UNDESCRIBED_BIT)

/* Sets the length from which on messages go through the arena, in bytes, on both sides. */
static inline bool set_least(unsigned int bytes)
{
	return !tool_run("echo %u | tee /sys/module/vgpu_guest/parameters/arena_min "
			 "/sys/module/vgpu_host/parameters/arena_min >/dev/null", bytes)->status;
}

static inline long long wire(int fd)
{
	return window_counter(fd, "bytes_in") + window_counter(fd, "bytes_out");
}

/*
 * Sends @length bytes both ways, and checks all of them on both sides. Return: 0; -1 if the call
 * failed; else the line of the check that failed.
 */
static inline int inverted(int fd, unsigned long cmd, size_t length, __u64 seed)
{
	char *data = malloc(length), *expected = malloc(length);
	struct vgpu_mock_large large = { .ptr = (uintptr_t)data, .length = length };
	int line = 0;

	vgpu_mock_pattern(data, length, seed, 0);
	memcpy(expected, data, length);
	if (ioctl(fd, cmd, &large))
		line = -1;
	else if (large.out_sum != vgpu_mock_sum(VGPU_MOCK_SUM_INIT, expected, length))
		line = __LINE__;
	vgpu_mock_invert(expected, length);
	if (!line && memcmp(data, expected, length))
		line = __LINE__;
	free(expected);
	free(data);
	return line;
}

/* Sends as many long messages as it takes until the guest asks for a slot. */
static inline bool warm(int fd)
{
	int i;

	for (i = 0; i < 3; i++)
		if (inverted(fd, VGPU_MOCK_IOC_LARGE_INOUT, 600 * KIB, i))
			return false;
	return true;
}

#endif /* ARENA_H */
