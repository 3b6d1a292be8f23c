// SPDX-License-Identifier: GPL-2.0-only
/* Arena: the functions that guest and host share, see arena.h. */
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "uapi/linux/vgpu_wire.h"

#include "arena.h"

/* Number of shortest suitable messages that are worth a slot. */
#define ARENA_WORTH	8

/* Default: the length of the longest FETCHED. */
static unsigned int arena_min = SZ_128K;
module_param(arena_min, uint, 0644);
MODULE_PARM_DESC(arena_min, "bytes of a message that go through the window's arena, from so many on");

bool vgpu_arena_suits(u64 len)
{
	return len && len >= READ_ONCE(arena_min) && len <= VGPU_ARENA_SLOT;
}

u64 vgpu_arena_worth(void)
{
	return (u64)READ_ONCE(arena_min) * ARENA_WORTH;
}

size_t vgpu_arena_gather(void *to, const struct kvec *vec, size_t nr)
{
	size_t len = 0, i;

	for (i = 0; i < nr; i++) {
		if (vec[i].iov_len > VGPU_ARENA_SLOT - len)
			return 0;
		len += vec[i].iov_len;
	}
	if (!vgpu_arena_suits(len))
		return 0;
	for (i = 0; i < nr; i++) {
		memcpy(to, vec[i].iov_base, vec[i].iov_len);
		to += vec[i].iov_len;
	}
	return len;
}
