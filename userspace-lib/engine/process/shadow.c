// SPDX-License-Identifier: MIT
/*
 * Shadows: the engine's connections to them, and records of what each of them has: open files,
 * references that its calls gave the guest, mappings and lanes. Files that hold the guest's memory
 * are here, too, as each shadow gets all of them.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "engine/base/agent.h"
#include "engine/base/packet.h"
#include "engine/process/shadow.h"
#include "kept.h"
#include "policy.h"
#include "shared/proto.h"

/*
 * Time in milliseconds that a shadow has to close a file, or the next of several: drivers may be
 * slow.
 */
#define DROP_WAIT_MS	30000

struct shadow_list shadows = LIST_HEAD_INITIALIZER(shadows);

static bool shadow_has(const struct shadow *shadow, uint32_t object)
{
	size_t i;

	for (i = 0; i < shadow->nr_files; i++)
		if (shadow->files[i] == object)
			return true;
	return false;
}

bool shadow_has_used(const struct shadow *shadow, uint32_t export)
{
	size_t i;

	for (i = 0; i < shadow->nr_exports; i++)
		if (shadow->exports[i] == export)
			return true;
	return false;
}

static int note_export(struct shadow *shadow, uint32_t export)
{
	uint32_t *exports;

	if (shadow_has_used(shadow, export))
		return 0;
	exports = realloc(shadow->exports, (shadow->nr_exports + 1) * sizeof(*exports));
	if (!exports)
		return -ENOMEM;
	shadow->exports = exports;
	exports[shadow->nr_exports++] = export;
	return 0;
}

int shadow_note(struct shadow *shadow, uint32_t object, uint32_t export)
{
	uint32_t *files;

	if (shadow_has(shadow, object))
		return 0;
	if (note_export(shadow, export))
		return -ENOMEM;
	files = realloc(shadow->files, (shadow->nr_files + 1) * sizeof(*files));
	if (!files)
		return -ENOMEM;
	shadow->files = files;
	files[shadow->nr_files++] = object;
	return 0;
}

bool shadow_forget(struct shadow *shadow, uint32_t object)
{
	size_t i;

	for (i = 0; i < shadow->nr_files; i++)
		if (shadow->files[i] == object) {
			shadow->files[i] = shadow->files[--shadow->nr_files];
			return true;
		}
	return false;
}

void shadow_end(struct shadow *shadow)
{
	if (shadow->ended)
		return;
	shadow->ended = true;
	timer_cancel(&shadow->hold_timer);
	source_set(&shadow->source, EPOLLIN);
	agent_say(ENGINE_CLOSED, shadow->number);
	if (shadow->ends)
		shadow->ends(shadow);
}

void shadow_malformed(struct shadow *shadow)
{
	count(&shared->counters.malformed);
	shadow_end(shadow);
}

int shadow_send(struct shadow *shadow, const struct eshadow_msg *msg, const void *extra, size_t len,
		int fd)
{
	struct iovec iov[] = {
		{ .iov_base = (void *)(uintptr_t)msg, .iov_len = sizeof(*msg) },
		{ .iov_base = (void *)(uintptr_t)extra, .iov_len = len },
	};
	int ret;

	if (shadow->ended)
		return 0;
	ret = packet_send(shadow->source.fd, iov, len ? 2 : 1, fd);
	if (ret == -ETOOMANYREFS)
		return -ENFILE;
	if (ret)
		shadow_end(shadow);
	else if (fd >= 0)
		shadow->unread++;
	return 0;
}

void shadow_answer(struct shadow *shadow, uint32_t lane, int result, const void *extra, size_t len,
		   int fd)
{
	struct eshadow_msg msg = {
		.type = ESHADOW_ANSWER,
		.lane = lane,
		.result = result,
	};
	int ret = shadow_send(shadow, &msg, extra, len, fd);

	if (!ret)
		return;
	msg.result = ret;
	shadow_send(shadow, &msg, NULL, 0, -1);
}

bool shadow_drop(struct shadow *shadow, uint32_t object)
{
	const struct eshadow_msg msg = { .type = ESHADOW_DROP, .object = object };

	if (!shadow_has(shadow, object))
		return false;
	shadow_send(shadow, &msg, NULL, 0, -1);
	shadow->nr_drops++;
	if (!shadow->drop_timer.set)
		timer_set(&shadow->drop_timer, DROP_WAIT_MS);
	return true;
}

void shadow_dropped(struct shadow *shadow)
{
	shadow->nr_drops--;
	timer_cancel(&shadow->drop_timer);
	if (shadow->nr_drops)
		timer_set(&shadow->drop_timer, DROP_WAIT_MS);
}

/* --- references that calls of shadows gave the guest --------------------------------- */

/**
 * struct given - a reference of the guest whose receipt the guest has not acknowledged yet
 * @lane: index of the lane whose call gave the reference
 * @object: number of the object
 * @reference: number of the reference
 */
struct given {
	LIST_ENTRY(given) node;
	uint32_t lane;
	uint32_t object;
	uint32_t reference;
};

/*
 * Shadows see new limits in struct engine_shared at once, and the engine gets them by a message. So
 * reports of shadows are checked against the largest number of lanes and mappings that was ever
 * there to see.
 */
static uint32_t lanes_ever(void)
{
	return __atomic_load_n(&shared->lanes_ever, __ATOMIC_ACQUIRE);
}

static uint32_t mappings_ever(void)
{
	return eshadow_mappings_max(__atomic_load_n(&shared->mappings_ever, __ATOMIC_ACQUIRE),
				    lanes_ever());
}

bool given_add(struct shadow *shadow, uint32_t lane, uint32_t object, uint32_t reference)
{
	struct given *given;

	if (shadow->nr_givens >= lanes_ever() * VGPU_FDS_MAX)
		return false;
	given = malloc(sizeof(*given));
	if (!given)
		return false;
	*given = (struct given) {
		.lane = lane, .object = object, .reference = reference,
	};
	LIST_INSERT_HEAD(&shadow->givens, given, node);
	shadow->nr_givens++;
	return true;
}

static void given_free(struct shadow *shadow, struct given *given)
{
	LIST_REMOVE(given, node);
	free(given);
	shadow->nr_givens--;
}

void givens_acked(struct shadow *shadow, uint32_t lane)
{
	struct given *given, *next;

	LIST_FOREACH_SAFE(given, &shadow->givens, node, next)
		if (given->lane == lane)
			given_free(shadow, given);
}

void given_forget(uint32_t object, uint32_t reference)
{
	struct shadow *shadow;
	struct given *given;

	LIST_FOREACH(shadow, &shadows, node)
		LIST_FOREACH(given, &shadow->givens, node)
			if (given->object == object && given->reference == reference) {
				given_free(shadow, given);
				return;
			}
}

bool given_take_back(struct shadow *shadow, uint32_t *object, uint32_t *reference)
{
	struct given *given = LIST_FIRST(&shadow->givens);

	if (!given)
		return false;
	*object = given->object;
	*reference = given->reference;
	given_free(shadow, given);
	return true;
}

/* --- mappings and lanes, as the shadows report them --------------------------------- */

/* Sums over all shadows, as the shadows have reported. */
static uint64_t mapped_bytes;
static uint32_t nr_mappings, nr_lanes;

static void usage_add(struct shadow *shadow, int64_t bytes, int64_t mappings, int64_t lanes)
{
	shadow->mapped_bytes += bytes;
	shadow->nr_mappings += mappings;
	shadow->nr_lanes += lanes;
	mapped_bytes += bytes;
	nr_mappings += mappings;
	nr_lanes += lanes;
	shared->mapped_bytes = mapped_bytes;
	shared->nr_mappings = nr_mappings;
	use_most64(&shared->most.mapped_bytes, mapped_bytes);
	use_most32(&shared->most.all_mappings, nr_mappings);
	shared->nr_lanes = nr_lanes;
}

void usage_ask(struct shadow *shadow, const struct eshadow_msg *msg)
{
	/* The shadow has seen these limits, too, and the engine's own may be older. */
	const uint32_t most =
		eshadow_mappings_max(__atomic_load_n(&shared->limits.mappings, __ATOMIC_RELAXED),
				     __atomic_load_n(&shared->limits.lanes, __ATOMIC_RELAXED));
	int ret = 0;

	if (!vgpu_limits_map_ok(start.limits.mapped_bytes, mapped_bytes, msg->value) ||
	    (all_mappings_max && nr_mappings >= all_mappings_max) ||
	    shadow->nr_mappings >= most)
		ret = -ENOMEM;
	else
		usage_add(shadow, msg->value, 1, 0);
	shadow_answer(shadow, msg->lane, ret, NULL, 0, -1);
}

void usage_change(struct shadow *shadow, const struct eshadow_msg *msg)
{
	int64_t mappings = (int64_t)shadow->nr_mappings + (int32_t)msg->extra;
	int64_t lanes = (int64_t)shadow->nr_lanes + (int32_t)(msg->extra >> 32);

	if (-msg->value > shadow->mapped_bytes || mappings < 0 ||
	    mappings > mappings_ever() || lanes < 0 || lanes > lanes_ever())
		shadow_malformed(shadow);
	else
		usage_add(shadow, msg->value, (int32_t)msg->extra, (int32_t)(msg->extra >> 32));
}

void usage_shadow_gone(struct shadow *shadow)
{
	usage_add(shadow, -shadow->mapped_bytes, -(int64_t)shadow->nr_mappings,
		  -(int64_t)shadow->nr_lanes);
}

/* --- files that hold the guest's memory: the keeper sends them, and shadows get them ----- */

/* Largest number of parts of the guest's memory; further parts are ignored. */
#define RAM_MAX		64

static struct vgpu_ram rams[RAM_MAX];

/* Tell a shadow of a part of the guest's memory. @fd: file that holds the part; -1: it is gone. */
static void ram_say(struct shadow *shadow, const struct vgpu_ram *part, int fd)
{
	const struct eshadow_msg msg = { .type = ESHADOW_RAM };
	const struct eshadow_ram ram = {
		.addr = part->addr, .len = part->len, .offset = part->offset,
	};

	/*
	 * Ignore errors: calls fail if they need memory that the shadow does not know.
	 */
	shadow_send(shadow, &msg, &ram, sizeof(ram), fd);
}

void ram_tell(struct shadow *shadow)
{
	unsigned int i;

	for (i = 0; i < RAM_MAX; i++)
		if (rams[i].len)
			ram_say(shadow, &rams[i], rams[i].fd);
}

void ram_add(uint64_t addr, uint64_t len, uint64_t offset, int fd)
{
	struct shadow *shadow;
	unsigned int i;

	for (i = 0; i < RAM_MAX && rams[i].len; i++)
		;
	if (fd < 0 || !len || i == RAM_MAX) {
		if (fd >= 0)
			close(fd);
		return;
	}
	rams[i] = (struct vgpu_ram) { .addr = addr, .len = len, .offset = offset, .fd = fd };
	LIST_FOREACH(shadow, &shadows, node)
		ram_say(shadow, &rams[i], rams[i].fd);
}

static void ram_drop(struct vgpu_ram *part)
{
	struct shadow *shadow;

	LIST_FOREACH(shadow, &shadows, node)
		ram_say(shadow, part, -1);
	close(part->fd);
	part->len = 0;
}

void ram_forget(void)
{
	unsigned int i;

	for (i = 0; i < RAM_MAX; i++)
		if (rams[i].len)
			ram_drop(&rams[i]);
}

void ram_remove(uint64_t addr, uint64_t len)
{
	unsigned int i;

	for (i = 0; i < RAM_MAX; i++)
		if (rams[i].len && rams[i].addr == addr && rams[i].len == len)
			ram_drop(&rams[i]);
}
