/* SPDX-License-Identifier: GPL-2.0-only */
/* What tests of the arena share: messages that are long, and whether they are on the wire. */
#ifndef ARENA_H
#define ARENA_H

#include <linux/vgpu_wire.h>

#include "window.h"

#define KIB		1024UL
/* What a call costs on the wire whose bytes are not there. */
#define LITTLE		2000
#define TWIN(cmd)	((cmd) | VGPU_MOCK_UNDESCRIBED_BIT)

/* From how many bytes on messages go through it. */
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
 * Both ways, with all of the bytes looked at on both sides. 0; -1: the call failed; else a line
 * of ours that found something wrong.
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

/* As many long messages as it takes that a slot is asked for. */
static inline bool warm(int fd)
{
	int i;

	for (i = 0; i < 3; i++)
		if (inverted(fd, VGPU_MOCK_IOC_LARGE_INOUT, 600 * KIB, i))
			return false;
	return true;
}

#endif /* ARENA_H */
