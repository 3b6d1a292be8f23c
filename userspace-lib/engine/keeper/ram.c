// SPDX-License-Identifier: MIT
/* The guest's memory, as the hypervisor tells of it: engines give it to drivers that keep it. */
#include <stdlib.h>
#include <sys/queue.h>
#include <unistd.h>

#include "keeper.h"

/**
 * struct ram - a part of the guest's memory
 * @addr: its physical address there
 * @len: bytes
 * @offset: where it begins in the file
 * @fd: the file
 */
struct ram {
	LIST_ENTRY(ram) node;
	uint64_t addr;
	uint64_t len;
	uint64_t offset;
	int fd;
};

static LIST_HEAD(, ram) rams = LIST_HEAD_INITIALIZER(rams);

static void tell(const struct ram *ram, int fd)
{
	const struct keeper_msg msg = {
		.type = KEEPER_RAM, .offset = ram->addr, .len = ram->len,
		.file_offset = ram->offset,
	};

	keeper_tell(&msg, fd);
}

void ram_appeared(uint64_t addr, uint64_t len, uint64_t offset, int fd)
{
	struct ram *ram = malloc(sizeof(*ram));

	if (!ram)
		keeper_end(KEEPER_EXIT_START);
	*ram = (struct ram) { .addr = addr, .len = len, .offset = offset, .fd = fd };
	LIST_INSERT_HEAD(&rams, ram, node);
	tell(ram, fd);
}

void ram_vanished(uint64_t addr, uint64_t len)
{
	struct ram *ram;

	LIST_FOREACH(ram, &rams, node)
		if (ram->addr == addr && ram->len == len)
			break;
	if (!ram)
		return;
	tell(ram, -1);
	LIST_REMOVE(ram, node);
	close(ram->fd);
	free(ram);
}

void ram_tell(void)
{
	const struct ram *ram;

	LIST_FOREACH(ram, &rams, node)
		tell(ram, ram->fd);
}
