// SPDX-License-Identifier: MIT
/*
 * The guest's memory, as the hypervisor reports it. The keeper passes it on to engines, which
 * give parts of it to drivers that go on using memory after a call.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/vgpu_host.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/queue.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "engine/base/closer.h"
#include "engine/keeper/keeper.h"
#include "engine/keeper/ram.h"
#include "kept.h"

/**
 * struct ram - a part of the guest's memory
 * @node: list entry of rams
 * @addr: physical address in the guest
 * @len: length in bytes
 * @offset: place in the file at which the part begins, in bytes
 * @fd: the file
 * @huge: page size in bytes of a file of hugetlbfs, which can be mapped in whole pages only; 0:
 *	any other file
 */
struct ram {
	LIST_ENTRY(ram) node;
	uint64_t addr;
	uint64_t len;
	uint64_t offset;
	int fd;
	uint64_t huge;
};

static LIST_HEAD(, ram) rams = LIST_HEAD_INITIALIZER(rams);
static unsigned int nr_rams, nr_huge, nr_giant;
/* The host module's file if the module is the engine, else -1. */
static int module_fd = -1;

static int tell_module(const struct ram *ram, int fd)
{
	struct vgpu_memory_add add = {
		.size = sizeof(add), .addr = ram->addr, .len = ram->len, .offset = ram->offset,
		.fd = fd,
	};
	struct vgpu_memory_remove remove = {
		.size = sizeof(remove), .addr = ram->addr, .len = ram->len,
	};

	if (fd >= 0)
		return ioctl(module_fd, VGPU_MEMORY_ADD, &add) ? -errno : 0;
	return ioctl(module_fd, VGPU_MEMORY_REMOVE, &remove) ? -errno : 0;
}

static void tell(const struct ram *ram, int fd)
{
	const struct keeper_msg msg = {
		.type = KEEPER_RAM, .offset = ram->addr, .len = ram->len,
		.file_offset = ram->offset,
	};
	int ret;

	keeper_tell(&msg, fd);
	if (module_fd < 0)
		return;
	ret = tell_module(ram, fd);
	/*
	 * Ignore failures to add a part: the module does without it, and its removal fails with
	 * -ENOENT. If the module cannot forget a part, or its guest is gone, close the file,
	 * which makes the module forget all parts.
	 */
	if (ret == -ESHUTDOWN || (fd < 0 && ret && ret != -ENOENT)) {
		close(module_fd);
		module_fd = -1;
	}
}

static uint64_t huge_page(int fd)
{
	struct statfs st;

	return !fstatfs(fd, &st) && st.f_type == HUGETLBFS_MAGIC ? st.f_bsize : 0;
}

/* Write KEEPER_STATE_* for vgpud, which reads the state when the guest connects. */
static void say_state(void)
{
	const uint8_t state = (nr_rams && nr_huge == nr_rams ? KEEPER_STATE_HUGE : 0) |
		(nr_giant ? KEEPER_STATE_GIANT : 0);

	if (pwrite(KEEPER_FD_STATE, &state, sizeof(state), 0) != sizeof(state))
		exit(KEEPER_EXIT_START);
}

void ram_appeared(const struct ram_part *part, int fd)
{
	struct ram *ram;

	/*
	 * Each part holds a file. The hypervisor was told the number of slots, and must not
	 * exceed it.
	 */
	if (nr_rams >= KEEPER_MEM_SLOTS || !part->len || part->len > UINT64_MAX - part->addr ||
	    part->len > UINT64_MAX - part->offset)
		exit(KEEPER_EXIT_PROTOCOL);
	/* Only tmpfs and hugetlbfs have seals. This call asks no other file system anything. */
	if (fcntl(fd, F_GET_SEALS) < 0) {
		closer_close(fd, NULL, NULL);
		return;
	}
	ram = malloc(sizeof(*ram));
	if (!ram)
		exit(KEEPER_EXIT_START);
	*ram = (struct ram) {
		.addr = part->addr, .len = part->len, .offset = part->offset, .fd = fd,
		.huge = huge_page(fd),
	};
	LIST_INSERT_HEAD(&rams, ram, node);
	nr_rams++;
	nr_huge += !!ram->huge;
	nr_giant += ram->huge > VGPU_RAM_PAGE_MAX;
	say_state();
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
	nr_rams--;
	nr_huge -= !!ram->huge;
	nr_giant -= ram->huge > VGPU_RAM_PAGE_MAX;
	say_state();
	close(ram->fd);
	free(ram);
}

void ram_tell(void)
{
	const struct ram *ram;

	LIST_FOREACH(ram, &rams, node)
		tell(ram, ram->fd);
}

void ram_module(int fd)
{
	if (module_fd >= 0)
		close(module_fd);
	module_fd = fd;
	ram_tell();
}
