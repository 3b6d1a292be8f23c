// SPDX-License-Identifier: MIT
/* Files that hold the guest's memory: the keeper sends them, and shadows get them. */
#include <unistd.h>

#include "engine/process/ram.h"
#include "engine/process/shadow.h"
#include "kept.h"

/* Largest number of parts of the guest's memory; further parts are ignored. */
#define RAM_MAX		64

static struct vgpu_ram ram[RAM_MAX];

static void ram_tell_one(struct shadow *shadow, const struct vgpu_ram *part)
{
	shadow_ram(shadow, part->addr, part->len, part->offset, part->fd);
}

void ram_tell(struct shadow *shadow)
{
	unsigned int i;

	for (i = 0; i < RAM_MAX; i++)
		if (ram[i].len)
			ram_tell_one(shadow, &ram[i]);
}

void ram_add(uint64_t addr, uint64_t len, uint64_t offset, int fd)
{
	struct shadow *shadow;
	unsigned int i;

	for (i = 0; i < RAM_MAX && ram[i].len; i++)
		;
	if (fd < 0 || !len || i == RAM_MAX) {
		if (fd >= 0)
			close(fd);
		return;
	}
	ram[i] = (struct vgpu_ram) { .addr = addr, .len = len, .offset = offset, .fd = fd };
	LIST_FOREACH(shadow, &shadows, node)
		ram_tell_one(shadow, &ram[i]);
}

static void ram_drop(struct vgpu_ram *part)
{
	struct shadow *shadow;

	LIST_FOREACH(shadow, &shadows, node)
		shadow_ram(shadow, part->addr, part->len, 0, -1);
	close(part->fd);
	part->len = 0;
}

void ram_forget(void)
{
	unsigned int i;

	for (i = 0; i < RAM_MAX; i++)
		if (ram[i].len)
			ram_drop(&ram[i]);
}

void ram_remove(uint64_t addr, uint64_t len)
{
	unsigned int i;

	for (i = 0; i < RAM_MAX; i++)
		if (ram[i].len && ram[i].addr == addr && ram[i].len == len)
			ram_drop(&ram[i]);
}
