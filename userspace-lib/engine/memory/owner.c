// SPDX-License-Identifier: MIT
/*
 * Memory of NVIDIA's driver that the engine owns, by a client of the resource manager (RM).
 *
 * The engine makes the client when a program of the guest maps memory, and shadows share that
 * memory with the client. The client goes when the guest has no file of the driver any more. The
 * files that clients need are opened through files of the guest, so they are files of devices
 * that the guest may use.
 *
 * The driver ensures that the memory is the guest's own: a client may duplicate objects of
 * clients that the same process has made, and objects that were shared with the client. Shadows
 * share with this client what the driver has let them map. So a shadow that lies about handles
 * can make the engine own nothing but what some shadow of the same guest has shared.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

#include "engine/base/agent.h"
#include "engine/base/closer.h"
#include "engine/base/lasting.h"
#include "engine/memory/owner.h"
#include "engine/object/file.h"
#include "engine/object/object.h"
#include "engine/process/shadow.h"
#include "policy.h"
#include "shared/log.h"
#include "shared/loop.h"
#include "shared/proto.h"

#define PAGE_MASK	4095ULL
/*
 * Shortest and longest time in milliseconds between looks at memory that is being unmapped. A
 * hypervisor takes some milliseconds, or longer while one of its own devices uses the memory.
 */
#define LEAVING_MS	50
#define LEAVING_MOST_MS	1600

/**
 * struct shown - memory of the system that a shadow is about to map
 * @number: number of the entry, counted by last_shown
 * @shadow: shadow that is about to map the memory
 * @lane: index of the shadow's lane that does so
 * @nvidia: the driver's names of the memory
 */
struct shown {
	LIST_ENTRY(shown) node;
	uint64_t number;
	const struct shadow *shadow;
	uint32_t lane;
	struct nvidia_lent nvidia;
};

/**
 * struct leaving - memory of a card that is to be unmapped
 * @node: list entry of leavings, once the memory is given back
 * @tag: tag of the client's file (lasting.h), which exists as long as the memory is mapped
 * @len: length in bytes
 */
struct leaving {
	LIST_ENTRY(leaving) node;
	uint64_t tag;
	uint64_t len;
};

static LIST_HEAD(, leaving) leavings = LIST_HEAD_INITIALIZER(leavings);
static unsigned int leavings_ms;
static LIST_HEAD(, shown) showns = LIST_HEAD_INITIALIZER(showns);
static uint64_t last_shown;
static unsigned int nr_showns;
/*
 * Files of cards, held as long as the client lasts: each card whose memory the engine has owned,
 * and all cards that the guest had open when the engine owned memory of the system. When the last
 * file of a card is closed, the driver takes that card's objects from all clients: handles of
 * devices would be stale, and memory of the system would be freed by a card that no longer exists.
 */
static struct {
	int fd;
	uint64_t rdev;
} held[RM_DEVICES];
static unsigned int nr_held;

static struct nvidia client = { .control = -1 };
/*
 * Memory that is owned, which counts against the guest's limits of mappings. Programs that
 * allocated it may have ended.
 */
static uint64_t owned_bytes;
static uint32_t nr_owned;
/*
 * Number of the guest's objects that are files of the driver, including those that are being
 * closed.
 */
static uint32_t nr_files;

static bool is_nvidia(const struct object *object)
{
	return object->kind == VGPU_OBJECT_DEVICE && major(object->rdev) == RM_MAJOR;
}

static bool is_control(const struct object *object)
{
	return is_nvidia(object) && minor(object->rdev) == RM_MINOR_CTL;
}

static bool is_card(const struct object *object)
{
	return is_nvidia(object) && minor(object->rdev) <= RM_MINOR_CARDS;
}

static int client_begin(const struct object *control)
{
	int fd;

	if (client.control >= 0)
		return 0;
	if (!control || !is_control(control))
		return -EBADF;
	fd = file_reopen(control->fd, O_RDWR);
	return fd < 0 ? fd : nvidia_begin_apart(&client, fd);
}

static int learn(const struct eshadow_msg *msg, const struct eshadow_memory *memory)
{
	struct object *object = object_find(msg->object);

	if (!object || !is_nvidia(object) || client.control < 0)
		return -EBADF;
	if (!object->memory)
		object->memory = malloc(sizeof(*object->memory));
	if (!object->memory)
		return -ENOMEM;
	*object->memory = (struct nvidia_memory) {
		.client = memory->client,
		.memory = memory->memory,
		.flags = memory->flags,
		.card = minor(object->rdev),
		.offset = memory->offset,
		.len = memory->len,
	};
	return 0;
}

void owner_learn(struct shadow *shadow, const struct eshadow_msg *msg,
		 const struct eshadow_memory *memory)
{
	shadow_answer(shadow, msg->lane, learn(msg, memory), NULL, 0, -1);
}

void owner_ask(struct shadow *shadow, const struct eshadow_msg *msg)
{
	int ret = client_begin(object_find(msg->object));

	shadow_answer(shadow, msg->lane, ret, &client.client, ret ? 0 : sizeof(client.client), -1);
}

/*
 * Close the client when the guest does not use the driver any more. Otherwise the driver could
 * not be unloaded, nor a card power down, as long as the guest is connected.
 */
static void client_look(void)
{
	if (nr_files || nr_owned || nr_showns || client.control < 0)
		return;
	closer_close(client.control, NULL, NULL);
	client.control = -1;
	while (nr_held)
		closer_close(held[--nr_held].fd, NULL, NULL);
}

void owner_meet(const struct object *object)
{
	if (is_nvidia(object))
		nr_files++;
}

void owner_forget(struct object *object)
{
	free(object->memory);
	object->memory = NULL;
	if (!is_nvidia(object))
		return;
	nr_files--;
	client_look();
}

bool owner_shares(const struct object *object)
{
	return is_nvidia(object);
}

/*
 * Describe a part of memory. A card's file is mapped as a whole or not at all, so each part gets
 * a file and a mapping of its own.
 */
static int part_of(const struct nvidia_memory *memory, uint64_t offset, uint64_t len,
		   struct nvidia_memory *part)
{
	*part = *memory;
	if (!len || (offset | len) & PAGE_MASK || offset >= memory->len ||
	    memory->len > UINT64_MAX - memory->offset)
		return -EINVAL;
	part->offset += offset;
	part->len -= offset;
	/* The memory may end within the last page. */
	if (len > ((part->len + PAGE_MASK) & ~PAGE_MASK))
		return -EINVAL;
	if (len < part->len)
		part->len = len;
	return 0;
}

static void complain(int err)
{
	switch (err) {
	case -ENODEV:
		log_seldom("a GPU that a guest uses no longer answers and may need a reset");
		break;
	case -ENOMEM:
		log_seldom("a GPU has no memory left to map into a guest's window: memory is copied instead");
		break;
	case -EACCES:
		log_seldom("the driver does not let the engine share memory of its guest: memory is copied instead");
		break;
	}
}

static int hold(const struct object *object)
{
	unsigned int i;
	int fd;

	for (i = 0; i < nr_held; i++)
		if (held[i].rdev == object->rdev)
			return 0;
	if (nr_held == RM_DEVICES)
		return -ENOMEM;
	/*
	 * The program's own file must not be held: it may be registered with a control file,
	 * which would then stay as well.
	 */
	fd = file_reopen(object->fd, fcntl(object->fd, F_GETFL) & O_ACCMODE);
	if (fd < 0)
		return fd;
	held[nr_held].fd = fd;
	held[nr_held++].rdev = object->rdev;
	return 0;
}

/* Hold the cards whose memory the object may show. Memory of the system may belong to any card. */
static int hold_cards_of(const struct object *object)
{
	const struct object *other;
	int ret = 0;

	if (is_card(object))
		return hold(object);
	LIST_FOREACH(other, &all_objects, node)
		if (!ret && is_card(other) && other->fd >= 0)
			ret = hold(other);
	return ret;
}

/* --- memory that is lent ----------------------------------------------------------------- */

static void count_less(uint64_t len)
{
	nr_owned--;
	owned_bytes -= len;
	shared->owned_bytes = owned_bytes;
}

/* Stop counting memory that has been unmapped since. */
static void leavings_look(void)
{
	struct leaving *leaving, *next;

	lasting_look();
	LIST_FOREACH_SAFE(leaving, &leavings, node, next) {
		if (lasting_has(leaving->tag))
			continue;
		LIST_REMOVE(leaving, node);
		count_less(leaving->len);
		free(leaving);
	}
	client_look();
}

static void leavings_late(struct timer *timer)
{
	leavings_look();
	if (LIST_EMPTY(&leavings))
		return;
	if (leavings_ms < LEAVING_MOST_MS)
		leavings_ms *= 2;
	timer_set(timer, leavings_ms);
}

static struct timer leavings_timer = { .expired = leavings_late };

static int lend_by_card(const struct nvidia_memory *memory, int file, struct leaving *leaving)
{
	int control = file_reopen(client.control, O_RDWR), ret;

	if (control < 0)
		return control;
	ret = lasting_add(control, &leaving->tag);
	if (!ret)
		return nvidia_lend(&client, memory, file, control);
	closer_close(control, NULL, NULL);
	return ret;
}

/* Open a file of the object's node, and let it show the memory. */
static int lend_by_file(const struct object *object, const struct nvidia_memory *memory,
			struct owned *owned)
{
	int ret = -ENOMEM;

	owned->leaving = NULL;
	owned->fd = file_reopen(object->fd, O_RDWR);
	if (owned->fd < 0)
		return owned->fd;
	if (is_control(object)) {
		ret = nvidia_lend_system(&client, memory, owned->fd, &owned->system);
	} else {
		owned->leaving = malloc(sizeof(*owned->leaving));
		if (owned->leaving)
			ret = lend_by_card(memory, owned->fd, owned->leaving);
	}
	if (!ret)
		return 0;
	free(owned->leaving);
	closer_close(owned->fd, NULL, NULL);
	return ret;
}

static bool is_room(uint64_t len)
{
	/* The limits may have become lower than what is owned. */
	return nr_owned < start.limits.mappings &&
	       vgpu_limits_map_ok(start.limits.mapped_bytes, owned_bytes, len);
}

int owner_take(const struct object *object, uint64_t offset, uint64_t len, struct owned *owned)
{
	struct nvidia_memory part;
	int ret;

	if (!object->memory)
		return -EOPNOTSUPP;
	ret = part_of(object->memory, offset, len, &part);
	if (ret)
		return ret;
	if (!is_room(len))
		leavings_look();
	if (!is_room(len))
		return -ENOMEM;
	ret = hold_cards_of(object);
	if (!ret)
		ret = lend_by_file(object, &part, owned);
	if (ret) {
		complain(ret);
		return ret;
	}
	owned->len = len;
	nr_owned++;
	owned_bytes += len;
	shared->owned_bytes = owned_bytes;
	return 0;
}

void owner_give_back(const struct owned *owned)
{
	if (!owned->leaving) {
		nvidia_take_back(&client, &owned->system);
		count_less(owned->len);
		client_look();
		return;
	}
	owned->leaving->len = owned->len;
	LIST_INSERT_HEAD(&leavings, owned->leaving, node);
	if (leavings_timer.set && leavings_ms == LEAVING_MS)
		return;
	leavings_ms = LEAVING_MS;
	timer_set(&leavings_timer, leavings_ms);
}

/* --- shadows' own mappings --------------------------------------------------------------- */

/* Open a file that shows the object's memory. Return: the file, or a negative errno. */
static int show(const struct object *object, struct shown *shown)
{
	int fd, ret;

	fd = file_reopen(object->fd, fcntl(object->fd, F_GETFL) & O_ACCMODE);
	if (fd < 0)
		return fd;
	ret = hold_cards_of(object);
	if (!ret)
		ret = nvidia_show(&client, object->memory, fd, &shown->nvidia);
	if (!ret)
		return fd;
	closer_close(fd, NULL, NULL);
	return ret;
}

void owner_show(struct shadow *shadow, const struct eshadow_msg *msg)
{
	const struct object *object = object_find(msg->object);
	struct shown *shown = NULL;
	int fd = -EBADF;

	/* Each lane asks for one file at a time. */
	if (nr_showns >= start.limits.lanes) {
		fd = -ENOMEM;
	} else if (object && is_control(object)) {
		/* The driver returns -EINVAL as well for a file that was given no memory to map. */
		fd = object->memory ? -ENOMEM : -EINVAL;
		shown = object->memory ? malloc(sizeof(*shown)) : NULL;
	}
	if (shown)
		fd = show(object, shown);
	if (fd < 0) {
		free(shown);
		shadow_answer(shadow, msg->lane, fd, NULL, 0, -1);
		return;
	}
	shown->number = ++last_shown;
	shown->shadow = shadow;
	shown->lane = msg->lane;
	LIST_INSERT_HEAD(&showns, shown, node);
	nr_showns++;
	shadow_answer(shadow, msg->lane, 0, NULL, 0, fd);
	closer_close(fd, NULL, NULL);
}

static void shown_end(struct shown *shown)
{
	LIST_REMOVE(shown, node);
	nr_showns--;
	nvidia_take_back(&client, &shown->nvidia);
	free(shown);
	client_look();
	progress_notify();
}

void owner_shown(const struct shadow *shadow, uint32_t lane)
{
	struct shown *shown;

	LIST_FOREACH(shown, &showns, node)
		if (shown->shadow == shadow && shown->lane == lane) {
			shown_end(shown);
			return;
		}
}

void owner_shadow_gone(const struct shadow *shadow)
{
	struct shown *shown, *next;

	LIST_FOREACH_SAFE(shown, &showns, node, next)
		if (shown->shadow == shadow)
			shown_end(shown);
}

uint64_t owner_last_shown(void)
{
	return last_shown;
}

bool owner_shows(uint64_t number)
{
	const struct shown *shown;

	LIST_FOREACH(shown, &showns, node)
		if (shown->number <= number)
			return true;
	return false;
}
