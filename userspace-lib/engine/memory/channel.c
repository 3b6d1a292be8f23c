// SPDX-License-Identifier: MIT
/*
 * Channels of NVIDIA's driver, and the thread that takes them off a card and lets them run again at
 * the times that vgpud says (struct card_slot).
 *
 * RM knows a client by the file of nvidiactl that made it, whichever process uses that file. So the
 * engine can switch the channels of a program's client. Shadows report the objects from which a
 * channel's card follows: devices, subdevices, groups and channels. A shadow that lies harms its
 * own guest only: RM lets a client switch only its own channels.
 *
 * The thread starts when vgpud first sends a slot that does not last always. The loop's thread
 * changes the table under the lock, and the thread drops the lock while it is in the driver, which
 * may take long.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "engine/base/agent.h"
#include "engine/base/closer.h"
#include "engine/memory/channel.h"
#include "engine/memory/nvidia.h"
#include "engine/object/object.h"
#include "shared/log.h"
#include "shared/loop.h"
#include "shared/proto.h"

#define NS_PER_S	1000000000ULL
/* Number of times that RM may refuse to switch a channel before it is left alone. */
#define REFUSALS_MAX	3
/* Largest number of objects between a channel and its device. */
#define DEPTH_MAX	4

/**
 * struct rm_object - an object of a client
 * @node: entry of the client's objects
 * @handle: the object's handle
 * @parent: handle of the object above
 * @class: the object's class
 * @card: RM's number of the card, of a device
 * @off: true if the channel is off the card
 * @alone: true if the channel is switched by a call of its own, as RM has refused it among others
 * @refusals: number of times that RM has refused to switch the channel since the last success
 */
struct rm_object {
	LIST_ENTRY(rm_object) node;
	uint32_t handle;
	uint32_t parent;
	uint32_t class;
	uint32_t card;
	bool off;
	bool alone;
	unsigned int refusals;
};

/**
 * struct rm_client - a client of a program
 * @node: entry of clients
 * @object: number of the object whose file has made the client
 * @fd: that file
 * @handle: the client's handle
 * @objects: list of its objects that matter here
 */
struct rm_client {
	LIST_ENTRY(rm_client) node;
	uint32_t object;
	int fd;
	uint32_t handle;
	LIST_HEAD(, rm_object) objects;
};

/**
 * struct batch - channels to be switched by one ioctl
 * @fd: file of the client
 * @object: number of that file's object
 * @client: handle of the client
 * @subdevice: handle of a subdevice of the card
 * @off: true if the channels are to be taken off the card
 * @nr: number of entries of @channels
 * @channels: handles of the channels
 */
struct batch {
	int fd;
	uint32_t object;
	uint32_t client;
	uint32_t subdevice;
	bool off;
	uint32_t nr;
	uint32_t channels[RM_SWITCH_MAX];
};

/**
 * struct late - an object whose file the thread is using, to be closed after that
 * @object: number of the object that the thread uses now; 0: none
 * @closes: the same object, if its file is to be closed; NULL: the file stays open
 * @fd: the file to be closed
 * @done: see channel_close()
 */
struct late {
	uint32_t object;
	struct object *closes;
	int fd;
	void (*done)(void *arg);
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool runs;
/* The variables below are under the lock. */
static LIST_HEAD(, rm_client) clients = LIST_HEAD_INITIALIZER(clients);
static struct card_slot slots[RM_DEVICES];
static unsigned int nr_objects;
static struct late late;

/* --- the table ----------------------------------------------------------------------------- */

static struct rm_client *client_find(uint32_t object, uint32_t handle)
{
	struct rm_client *client;

	LIST_FOREACH(client, &clients, node)
		if (client->object == object && client->handle == handle)
			return client;
	return NULL;
}

static struct rm_object *rm_object_find(const struct rm_client *client, uint32_t handle)
{
	struct rm_object *object;

	LIST_FOREACH(object, &client->objects, node)
		if (object->handle == handle)
			return object;
	return NULL;
}

/* Return: the device that an object is below, or NULL if no shadow has reported it. */
static const struct rm_object *device_of(const struct rm_client *client,
					 const struct rm_object *object)
{
	unsigned int depth;

	for (depth = 0; object && depth < DEPTH_MAX; depth++) {
		if (object->class == RM_CLASS_DEVICE)
			return object;
		object = rm_object_find(client, object->parent);
	}
	return NULL;
}

/* Return: a subdevice of the device, or NULL. */
static const struct rm_object *subdevice_of(const struct rm_client *client,
					    const struct rm_object *device)
{
	const struct rm_object *object;

	LIST_FOREACH(object, &client->objects, node)
		if (object->class == RM_CLASS_SUBDEVICE && object->parent == device->handle)
			return object;
	return NULL;
}

/* Tell vgpud on which cards there are channels. */
static void count_cards(void)
{
	const struct rm_object *object, *device;
	const struct rm_client *client;
	uint32_t cards = 0;

	LIST_FOREACH(client, &clients, node)
		LIST_FOREACH(object, &client->objects, node) {
			device = rm_is_channel(object->class) ? device_of(client, object) : NULL;
			if (device)
				cards |= 1U << device->card;
		}
	__atomic_store_n(&shared->cards, cards, __ATOMIC_RELAXED);
}

static void rm_object_drop(struct rm_object *object)
{
	LIST_REMOVE(object, node);
	nr_objects--;
	free(object);
}

/* Forget an object and those below. */
static void rm_object_forget(struct rm_client *client, uint32_t handle, unsigned int depth)
{
	struct rm_object *object = rm_object_find(client, handle), *next;
	bool again = depth < DEPTH_MAX;

	if (object)
		rm_object_drop(object);
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
		rm_object_drop(LIST_FIRST(&client->objects));
	LIST_REMOVE(client, node);
	free(client);
}

static struct rm_client *client_get(const struct object *file, uint32_t handle)
{
	struct rm_client *client = client_find(file->id, handle);

	if (client)
		return client;
	client = calloc(1, sizeof(*client));
	if (!client)
		return NULL;
	client->object = file->id;
	client->fd = file->fd;
	client->handle = handle;
	LIST_INIT(&client->objects);
	LIST_INSERT_HEAD(&clients, client, node);
	return client;
}

static void made(const struct object *file, const struct eshadow_msg *msg)
{
	struct rm_object *object = calloc(1, sizeof(*object));
	struct rm_client *client = object ? client_get(file, msg->value) : NULL;

	if (!client) {
		free(object);
		return;
	}
	object->handle = msg->value >> 32;
	object->class = msg->extra >> 32;
	/* RM has freed whatever had this handle before. */
	rm_object_forget(client, object->handle, 0);
	if (object->class == RM_CLASS_DEVICE) {
		object->parent = client->handle;
		object->card = (uint32_t)msg->extra % RM_DEVICES;
	} else {
		object->parent = msg->extra;
	}
	LIST_INSERT_HEAD(&client->objects, object, node);
	nr_objects++;
	count_cards();
	pthread_cond_signal(&changed);
}

void channel_made(const struct eshadow_msg *msg)
{
	const struct object *file = object_find(msg->object);

	/* Further objects are the loss of a guest whose shadow reports so many. */
	if (!file || file->fd < 0 || file->rdev != makedev(RM_MAJOR, RM_MINOR_CTL))
		return;
	pthread_mutex_lock(&lock);
	if (nr_objects < start.limits.objects)
		made(file, msg);
	pthread_mutex_unlock(&lock);
}

void channel_freed(const struct eshadow_msg *msg)
{
	uint32_t handle = msg->value >> 32;
	struct rm_client *client;

	pthread_mutex_lock(&lock);
	client = client_find(msg->object, msg->value);
	if (client && handle == client->handle)
		client_forget(client);
	else if (client)
		rm_object_forget(client, handle, 0);
	count_cards();
	pthread_mutex_unlock(&lock);
}

void channel_runs(const struct eshadow_msg *msg)
{
	uint32_t handle = msg->value >> 32;
	struct rm_client *client;
	struct rm_object *object;

	pthread_mutex_lock(&lock);
	client = client_find(msg->object, msg->value);
	if (client)
		LIST_FOREACH(object, &client->objects, node)
			if (object->handle == handle || object->parent == handle) {
				object->off = false;
				object->alone = false;
				object->refusals = 0;
			}
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
}

void channel_close(struct object *object, void (*done)(void *arg))
{
	struct rm_client *client, *next;
	bool is_used;

	pthread_mutex_lock(&lock);
	LIST_FOREACH_SAFE(client, &clients, node, next)
		if (client->object == object->id)
			client_forget(client);
	count_cards();
	is_used = late.object == object->id;
	if (is_used) {
		late.closes = object;
		late.fd = object->fd;
		late.done = done;
	}
	pthread_mutex_unlock(&lock);
	if (!is_used)
		closer_close(object->fd, done, object);
}

/* --- the thread ---------------------------------------------------------------------------- */

bool slot_at(const struct card_slot *slot, uint64_t now, uint64_t *next)
{
	uint64_t since;

	*next = UINT64_MAX;
	if (!slot->period || slot->length >= slot->period)
		return true;
	if (!slot->length)
		return false;
	/* The time since the slot has last begun. */
	since = (now % slot->period + slot->period - slot->start % slot->period) % slot->period;
	*next = now - since + (since < slot->length ? slot->length : slot->period);
	return since < slot->length;
}

/* Return: true if the channel has to be switched by this batch, to which it is added. */
static bool batch_add(struct batch *batch, const struct rm_client *client,
		      const struct rm_object *object, uint32_t card, bool off)
{
	const struct rm_object *device, *subdevice;

	if (!rm_is_channel(object->class) || object->off == off ||
	    object->refusals >= REFUSALS_MAX || (batch->nr && object->alone))
		return false;
	device = device_of(client, object);
	subdevice = device && device->card == card ? subdevice_of(client, device) : NULL;
	if (!subdevice || (batch->nr && batch->subdevice != subdevice->handle))
		return false;
	batch->fd = client->fd;
	batch->object = client->object;
	batch->client = client->handle;
	batch->subdevice = subdevice->handle;
	batch->off = off;
	batch->channels[batch->nr++] = object->handle;
	return true;
}

/* Find channels of one client that have to be switched. Return: false if there are none. */
static bool batch_find(struct batch *batch, uint32_t card, bool off)
{
	const struct rm_client *client;
	const struct rm_object *object;

	batch->nr = 0;
	LIST_FOREACH(client, &clients, node) {
		LIST_FOREACH(object, &client->objects, node)
			if (batch_add(batch, client, object, card, off) &&
			    (object->alone || batch->nr == RM_SWITCH_MAX))
				return true;
		if (batch->nr)
			return true;
	}
	return false;
}

/* Note what the driver has done with the channels of a batch. */
static void batch_done(const struct batch *batch, int ret)
{
	struct rm_client *client = client_find(batch->object, batch->client);
	struct rm_object *object;
	uint32_t i;

	for (i = 0; client && i < batch->nr; i++) {
		object = rm_object_find(client, batch->channels[i]);
		if (!object)
			continue;
		if (!ret) {
			object->off = batch->off;
			object->refusals = 0;
		} else if (batch->nr == 1) {
			object->refusals++;
		} else {
			object->alone = true;
		}
	}
}

static void batch_switch(const struct batch *batch)
{
	int ret;

	late.object = batch->object;
	pthread_mutex_unlock(&lock);
	ret = nvidia_switch(batch->fd, batch->client, batch->subdevice, batch->channels, batch->nr,
			    batch->off);
	pthread_mutex_lock(&lock);
	batch_done(batch, ret);
	late.object = 0;
	if (late.closes)
		closer_close(late.fd, late.done, late.closes);
	late.closes = NULL;
}

/* Switch what has to be switched now. Return: time at which that changes. */
static uint64_t switch_all(void)
{
	struct batch batch;
	uint64_t first, next;
	uint32_t card;
	bool again;

	do {
		again = false;
		first = UINT64_MAX;
		for (card = 0; card < RM_DEVICES; card++) {
			if (batch_find(&batch, card, !slot_at(&slots[card], now_ns(), &next))) {
				batch_switch(&batch);
				again = true;
			}
			if (next < first)
				first = next;
		}
	} while (again);
	return first;
}

static void *thread_main(void *arg)
{
	struct timespec until;
	uint64_t next;

	pthread_mutex_lock(&lock);
	for (;;) {
		next = switch_all();
		if (next == UINT64_MAX) {
			pthread_cond_wait(&changed, &lock);
			continue;
		}
		until.tv_sec = next / NS_PER_S;
		until.tv_nsec = next % NS_PER_S;
		pthread_cond_timedwait(&changed, &lock, &until);
	}
	return arg;
}

static int thread_start(void)
{
	pthread_condattr_t attr;
	pthread_t thread;
	int ret;

	ret = pthread_condattr_init(&attr);
	if (ret)
		return -ret;
	ret = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	if (!ret)
		ret = pthread_cond_init(&changed, &attr);
	pthread_condattr_destroy(&attr);
	return ret ? -ret : -pthread_create(&thread, NULL, thread_main, NULL);
}

void channel_slot(uint32_t card, const struct card_slot *slot)
{
	uint64_t next;

	if (card >= RM_DEVICES)
		return;
	pthread_mutex_lock(&lock);
	slots[card] = *slot;
	pthread_mutex_unlock(&lock);
	if (!runs && slot_at(slot, 0, &next) && next == UINT64_MAX)
		return;
	if (!runs && thread_start()) {
		log_seldom("a guest cannot be kept to its share of a GPU: no thread");
		return;
	}
	runs = true;
	pthread_cond_signal(&changed);
}
