// SPDX-License-Identifier: MIT
/*
 * The engine knows where the guest's memory is, which it tells shadows, and what of it drivers
 * were given to keep. The guest counts on that until it is told that nothing at the host uses it: when
 * all files are closed, with all that their drivers do then, and the engine has no duplicate
 * of it any more, by which it would stay the driver's.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine.h"
#include "kept.h"
#include "owner.h"

/* A hypervisor may have so many parts of memory; shadows do not hear of more. */
#define RAM_MAX		64

/**
 * struct kept - memory that a device may keep
 * @number: the guest's number of the memory
 * @bytes: how much it is, as the shadow says; 0: only RELEASE has come
 * @seq: number of the RELEASE message; 0: there was none
 * @shared: its driver lets the engine have duplicates of the memory
 * @since: window_now() when a driver was first given the memory
 * @closed: the files that were closed before the RELEASE are
 * @shown: owner_last_shown() when they were: what is shown later can be no such file's
 */
struct kept {
	LIST_ENTRY(kept) node;
	uint64_t number;
	uint64_t bytes;
	uint64_t seq;
	bool shared;
	uint64_t since;
	bool closed;
	uint64_t shown;
};

static LIST_HEAD(, kept) kepts = LIST_HEAD_INITIALIZER(kepts);
/* Numbers that shadows have said, and that the guest has: it is not to lack any for the former. */
static unsigned int nr_kepts, nr_releases;
static uint64_t kept_bytes;

static struct kept *kept_find(uint64_t number)
{
	struct kept *kept;

	LIST_FOREACH(kept, &kepts, node)
		if (kept->number == number)
			return kept;
	return NULL;
}

static struct kept *kept_new(uint64_t number)
{
	struct kept *kept = calloc(1, sizeof(*kept));

	if (!kept)
		return NULL;
	kept->number = number;
	LIST_INSERT_HEAD(&kepts, kept, node);
	return kept;
}

int kept_add(uint32_t id, uint64_t number, uint64_t bytes)
{
	struct object *object = object_find(id);
	uint64_t most = start.limits.kept_bytes;
	struct kept *kept;

	if (!object)
		return -EBADF;
	if (object->lent)
		return -EOPNOTSUPP;
	if (!bytes)
		return -EINVAL;
	kept = kept_find(number);
	/* The same memory once more. */
	if (kept && kept->bytes) {
		if (kept->bytes != bytes)
			return -EINVAL;
		object->keeps = true;
		return 0;
	}
	if (nr_kepts >= VGPU_KEPT_NUMBERS || bytes > most || kept_bytes > most - bytes)
		return -ENOMEM;
	if (!kept)
		kept = kept_new(number);
	if (!kept)
		return -ENOMEM;
	object->keeps = true;
	nr_kepts++;
	kept->bytes = bytes;
	kept->shared = owner_shares(object);
	kept->since = window_now();
	kept_bytes += bytes;
	shared->kept_bytes = kept_bytes;
	return 0;
}

void kept_release(uint64_t number, uint64_t seq)
{
	struct kept *kept = kept_find(number);

	if ((kept && kept->seq) || nr_releases >= VGPU_KEPT_NUMBERS)
		engine_end("the guest releases what it may not");
	/* Its call may have failed before it was said what it keeps. */
	if (!kept)
		kept = kept_new(number);
	if (!kept)
		engine_end("out of memory");
	kept->seq = seq;
	nr_releases++;
}

/*
 * A closed file's ->release frees what the driver has pinned, but for what the engine has a
 * duplicate of.
 */
static bool kept_is_over(struct kept *kept)
{
	if (!kept->seq || !control_is_applied(kept->seq))
		return false;
	if (!kept->closed)
		kept->shown = owner_last_shown();
	kept->closed = true;
	return !(kept->shared &&
		 (owner_shows(kept->shown) || window_owns_since(kept->since)));
}

void kept_look(void)
{
	struct vgpu_release msg = {
		.hdr.len = cpu_to_le32(sizeof(msg)),
		.hdr.type = cpu_to_le16(VGPU_MSG_RELEASE),
	};
	struct kept *kept, *next;

	for (kept = LIST_FIRST(&kepts); nr_releases && kept; kept = next) {
		next = LIST_NEXT(kept, node);
		if (!kept_is_over(kept))
			continue;
		msg.hdr.seq = cpu_to_le64(kept->seq);
		msg.number = cpu_to_le64(kept->number);
		control_send(&msg, sizeof(msg));
		kept_bytes -= kept->bytes;
		shared->kept_bytes = kept_bytes;
		if (kept->bytes)
			nr_kepts--;
		LIST_REMOVE(kept, node);
		free(kept);
		nr_releases--;
	}
}

/* --- where it is --------------------------------------------------------------- */

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
