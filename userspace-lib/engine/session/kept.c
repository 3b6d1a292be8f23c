// SPDX-License-Identifier: MIT
/*
 * Memory of the guest that devices keep.
 *
 * The engine knows which memory drivers were given to keep. The guest does not reuse such memory
 * before the engine has answered its RELEASE: then nothing at the host uses the memory any more.
 * That is so when all files that the guest had closed before the RELEASE are really closed,
 * drivers' ->release included, and when the engine has no duplicate of the memory left, by which
 * NVIDIA's driver would keep it.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "engine/base/agent.h"
#include "engine/guest/control.h"
#include "engine/memory/owner.h"
#include "engine/memory/window.h"
#include "engine/object/object.h"
#include "engine/session/kept.h"
#include "engine/session/reference.h"

/**
 * struct kept - memory that a device may keep
 * @number: the guest's number of the memory
 * @bytes: length of the memory in bytes, as a shadow says; 0: only RELEASE has come
 * @seq: number of the RELEASE message; 0: none has come
 * @shared: true if the driver lets the engine have duplicates of the memory
 * @since: window_now() when a driver was first given the memory
 * @closed: true if the files that were closed before the RELEASE are really closed
 * @shown: owner_last_shown() when @closed was set: memory shown later belongs to none of these
 *	files
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
/*
 * Number of entries that shadows have made, and of RELEASE messages without an answer. Each
 * has a limit of its own, so that shadows cannot use up the room for RELEASE messages.
 */
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
	/* The driver gets the same memory once more. */
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
	use_most64(&shared->most.kept_bytes, kept_bytes);
	return 0;
}

void kept_release(uint64_t number, uint64_t seq)
{
	struct kept *kept = kept_find(number);

	if ((kept && kept->seq) || nr_releases >= VGPU_KEPT_NUMBERS)
		engine_end("the guest has released memory that it may not release");
	/* A call may have failed before its shadow reported the memory. */
	if (!kept)
		kept = kept_new(number);
	if (!kept)
		engine_end("out of memory");
	kept->seq = seq;
	nr_releases++;
}

/*
 * Return: true if no driver uses the memory any more. ->release of a closed file frees what the
 * driver has pinned, except for memory of which the engine has a duplicate.
 */
static bool kept_is_over(struct kept *kept)
{
	if (!kept->seq || !objects_applied(kept->seq))
		return false;
	if (!kept->closed)
		kept->shown = owner_last_shown();
	kept->closed = true;
	return !(kept->shared &&
		 (owner_shows(kept->shown) || window_owns_since(kept->since)));
}

void kept_look(void)
{
	struct vgpu_release msg = { .hdr = VGPU_HDR(sizeof(msg), VGPU_MSG_RELEASE, 0) };
	struct kept *kept, *next;

	for (kept = LIST_FIRST(&kepts); nr_releases && kept && !control_is_behind(); kept = next) {
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
