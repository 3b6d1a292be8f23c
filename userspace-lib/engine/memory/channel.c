// SPDX-License-Identifier: MIT
/*
 * Channels of NVIDIA's driver, which are taken off a card and let run again: see channel_switch.c.
 *
 * RM knows a client by the file of nvidiactl that made it, whichever process uses that file. So the
 * engine can switch the channels of a program's client. Shadows report the objects from which a
 * channel's card follows: devices, subdevices, groups and channels. A shadow that lies harms its
 * own guest, as far as the driver lets a client switch its own channels only.
 */
#include <stdlib.h>
#include <sys/sysmacros.h>

#include "engine/base/agent.h"
#include "engine/base/closer.h"
#include "engine/memory/channel.h"
#include "engine/memory/channel_switch.h"
#include "engine/memory/channel_table.h"
#include "engine/memory/nvidia.h"
#include "engine/object/object.h"
#include "shared/log.h"
#include "shared/loop.h"
#include "shared/proto.h"

/* Largest number of clients with channels, each of which is switched by a call of its own. */
#define USERS_MAX	256

/*
 * Time for which a channel is left alone that is made in a group which runs already: its program
 * has to let the channel run, as far as is known, and says so by ESHADOW_RM_RUNS.
 */
#define FRESH_NS	(100 * 1000000ULL)

/* The variables below are under the lock. */
static unsigned int nr_objects, nr_users;
static uint64_t stamps;

/* --- the table ----------------------------------------------------------------------------- */

/* Tell vgpud on which cards there are channels. */
static void count_cards(void)
{
	const struct rm_object *object, *device;
	const struct rm_client *client;
	uint32_t cards = 0;

	TAILQ_FOREACH(client, &channels_clients, node)
		LIST_FOREACH(object, &client->objects, node) {
			if (!rm_is_channel(object->class))
				continue;
			device = channels_device(client, object);
			if (device)
				cards |= 1U << device->card;
		}
	__atomic_store_n(&shared->cards, cards, __ATOMIC_RELAXED);
}

static void rm_object_drop(struct rm_client *client, struct rm_object *object)
{
	if (rm_is_channel(object->class) && !--client->nr_channels)
		nr_users--;
	LIST_REMOVE(object, node);
	nr_objects--;
	free(object);
}

/* Forget an object and those below. */
static void rm_object_forget(struct rm_client *client, uint32_t handle, unsigned int depth)
{
	struct rm_object *object = channels_object(client, handle), *next;
	bool again = depth < RM_DEPTH_MAX;

	if (object)
		rm_object_drop(client, object);
	while (again) {
		again = false;
		LIST_FOREACH_SAFE(object, &client->objects, node, next)
			if (object->parent == handle) {
				rm_object_forget(client, object->handle, depth + 1);
				again = true;
				break;
			}
	}
}

static void client_forget(struct rm_client *client)
{
	while (!LIST_EMPTY(&client->objects))
		rm_object_drop(client, LIST_FIRST(&client->objects));
	TAILQ_REMOVE(&channels_clients, client, node);
	free(client);
}

static struct rm_client *client_get(const struct object *file, uint32_t handle)
{
	struct rm_client *client = channels_client(file->id, handle);

	if (client)
		return client;
	client = calloc(1, sizeof(*client));
	if (!client)
		return NULL;
	client->object = file->id;
	client->fd = file->fd;
	client->handle = handle;
	LIST_INIT(&client->objects);
	TAILQ_INSERT_TAIL(&channels_clients, client, node);
	return client;
}

/* Note that a channel was made, if its group runs already: RM may run the channel at once. */
static void join_group(const struct rm_client *client, struct rm_object *object)
{
	const struct rm_object *group = channels_object(client, object->parent);

	if (!group || group->class != RM_CLASS_GROUP || !group->scheduled)
		return;
	object->scheduled = true;
	object->retry_ns = now_ns() + FRESH_NS;
}

static bool made(const struct object *file, const struct eshadow_msg *msg)
{
	struct rm_object *object;
	struct rm_client *client;

	if (nr_objects >= start.limits.objects)
		return false;
	client = client_get(file, msg->value);
	if (!client || (rm_is_channel(msg->extra >> 32) && !client->nr_channels &&
			nr_users >= USERS_MAX))
		return false;
	object = calloc(1, sizeof(*object));
	if (!object)
		return false;
	object->handle = msg->value >> 32;
	object->class = msg->extra >> 32;
	object->stamp = ++stamps;
	/* RM has freed whatever had this handle before. */
	rm_object_forget(client, object->handle, 0);
	if (object->class == RM_CLASS_DEVICE) {
		object->parent = client->handle;
		object->card = (uint32_t)msg->extra % RM_DEVICES;
	} else {
		object->parent = msg->extra;
		join_group(client, object);
	}
	LIST_INSERT_HEAD(&client->objects, object, node);
	nr_objects++;
	if (rm_is_channel(object->class) && !client->nr_channels++)
		nr_users++;
	count_cards();
	channels_changed();
	return true;
}

bool channel_made(const struct eshadow_msg *msg)
{
	const struct object *file = object_find(msg->object);
	bool ok;

	if (!file || file->fd < 0 || file->rdev != makedev(RM_MAJOR, RM_MINOR_CTL))
		return true;
	pthread_mutex_lock(&channels_lock);
	ok = made(file, msg);
	pthread_mutex_unlock(&channels_lock);
	if (!ok)
		log_seldom("a guest has more objects of NVIDIA's driver than can be kept");
	return ok;
}

void channel_freed(const struct eshadow_msg *msg)
{
	uint32_t handle = msg->value >> 32;
	struct rm_client *client;

	pthread_mutex_lock(&channels_lock);
	client = channels_client(msg->object, msg->value);
	if (client && handle != client->handle)
		rm_object_forget(client, handle, 0);
	if (client && (handle == client->handle || LIST_EMPTY(&client->objects)))
		client_forget(client);
	count_cards();
	pthread_mutex_unlock(&channels_lock);
}

/* Note that a switch of the channel that goes on now is older than a report of the shadow. */
static void outdate(struct rm_object *object)
{
	object->alone = false;
	object->refusals = 0;
	object->retry_ns = 0;
	object->stamp = ++stamps;
}

/*
 * Note that a channel or group runs, which may be off the card now. It has to be switched, to
 * whichever state is wanted.
 */
static void object_runs(struct rm_object *object)
{
	object->scheduled = true;
	object->unsure = true;
	outdate(object);
}

/* Note that all channels of a group run, and the group. */
static void group_runs(struct rm_client *client, struct rm_object *group)
{
	struct rm_object *object;

	object_runs(group);
	LIST_FOREACH(object, &client->objects, node)
		if (object->parent == group->handle)
			object_runs(object);
}

static void all_run(void)
{
	struct rm_client *client;
	struct rm_object *object;

	TAILQ_FOREACH(client, &channels_clients, node)
		LIST_FOREACH(object, &client->objects, node)
			object_runs(object);
}

void channel_runs(const struct eshadow_msg *msg)
{
	struct rm_object *object, *group;
	struct rm_client *client;

	pthread_mutex_lock(&channels_lock);
	client = channels_client(msg->object, msg->value);
	object = client ? channels_object(client, msg->value >> 32) : NULL;
	group = object && rm_is_channel(object->class) ?
		channels_object(client, object->parent) : object;
	if (group && group->class == RM_CLASS_GROUP)
		group_runs(client, group);
	else if (object && rm_is_channel(object->class))
		object_runs(object);
	else
		/* It may be the duplicate of a group, of another client as well. */
		all_run();
	channels_changed();
	pthread_mutex_unlock(&channels_lock);
}

void channel_wish(const struct eshadow_msg *msg)
{
	struct rm_client *client;
	struct rm_object *object;

	pthread_mutex_lock(&channels_lock);
	client = channels_client(msg->object, msg->value);
	object = client ? channels_object(client, msg->value >> 32) : NULL;
	if (object) {
		object->wished = msg->extra & ESHADOW_RM_WISH_OFF;
		if (msg->extra & ESHADOW_RM_WISH_DONE) {
			if (object->wished)
				channels_off(object);
			else
				channels_on(object);
			object->unsure = false;
			outdate(object);
		}
	}
	channels_changed();
	pthread_mutex_unlock(&channels_lock);
}

void channel_close(struct object *object, void (*done)(void *arg))
{
	struct rm_client *client, *next;
	bool is_used;

	pthread_mutex_lock(&channels_lock);
	for (client = TAILQ_FIRST(&channels_clients); client; client = next) {
		next = TAILQ_NEXT(client, node);
		if (client->object == object->id)
			client_forget(client);
	}
	count_cards();
	is_used = channels_late.object == object->id;
	if (is_used) {
		channels_late.closes = object;
		channels_late.fd = object->fd;
		channels_late.done = done;
	}
	pthread_mutex_unlock(&channels_lock);
	if (!is_used)
		closer_close(object->fd, done, object);
}
