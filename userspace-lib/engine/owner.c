// SPDX-License-Identifier: MIT
/*
 * Memory that belongs to the engine, by a client of NVIDIA's resource manager that is made when a
 * program maps memory, and goes with the last file of the driver that the guest has. The files
 * that the client needs are opened anew through files of the guest, so they are of devices that
 * the guest may use.
 *
 * The driver sees to whose memory it is: it lets a client duplicate objects of clients that the
 * same process has made, and objects that were shared with it. Shadows share with this client
 * what the driver has let them map. So a shadow that lies about handles can have nothing owned
 * but what some shadow of the same guest has shared.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "owner.h"
#include "vgpud/log.h"

#define PAGE_MASK	4095ULL

static struct nvidia client = { .control = -1 };
/*
 * Memory that is owned now, against the guest's limits of mappings. Programs that had it may have ended
 * since.
 */
static uint64_t owned_bytes;
static uint32_t nr_owned;
/* Number of the guest's objects that are files of the driver, those that are being closed too. */
static uint32_t nr_files;

static bool is_nvidia(const struct object *object)
{
	return object->kind == VGPU_OBJECT_DEVICE && major(object->rdev) == RM_MAJOR;
}

/* Opens the object's node once more. Return: the file, or a negative errno. */
static int open_again(const struct object *object)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "self/fd/%d", object->fd);
	fd = openat(ENGINE_FD_PROC, path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int client_begin(const struct object *control)
{
	int fd;

	if (client.control >= 0)
		return 0;
	if (!control || !is_nvidia(control) || minor(control->rdev) != RM_MINOR_CTL)
		return -EBADF;
	fd = open_again(control);
	return fd < 0 ? fd : nvidia_begin(&client, fd);
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
 * The client goes when the guest uses the driver no more: else the driver could not be unloaded,
 * nor a card rest, for as long as the guest is there. The keeper is told to close its file of the
 * client, too. Both have a thread that closes files, as the last close may wait for the driver.
 */
static void client_look(void)
{
	if (nr_files || nr_owned || client.control < 0)
		return;
	window_disown();
	closer_close(client.control, NULL, NULL);
	client.control = -1;
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

bool owner_knows(const struct object *object)
{
	return object->memory;
}

int owner_file(void)
{
	return client.control;
}

/* A card's file is mapped as a whole or not at all, so a part becomes a mapping of its own. */
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
		log_seldom("a card that a guest uses answers no more, and may need a reset");
		break;
	case -ENOMEM:
		log_seldom("no memory of a card is left to show to a guest: it goes by copy");
		break;
	case -EACCES:
		log_seldom("the driver lets the engine own no memory of its guest: it goes by copy");
		break;
	}
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
	if (nr_owned >= start.limits.mappings || len > start.limits.mapped_bytes - owned_bytes)
		return -ENOMEM;
	owned->len = len;
	owned->fd = open_again(object);
	if (owned->fd < 0)
		return owned->fd;
	ret = nvidia_lend(&client, &part, owned->fd, &owned->nvidia);
	if (ret) {
		close(owned->fd);
		complain(ret);
		return ret;
	}
	nr_owned++;
	owned_bytes += len;
	shared->owned_bytes = owned_bytes;
	return 0;
}

void owner_give_back(const struct owned *owned)
{
	nvidia_take_back(&client, &owned->nvidia);
	nr_owned--;
	owned_bytes -= owned->len;
	shared->owned_bytes = owned_bytes;
	client_look();
}
