// SPDX-License-Identifier: MIT
/*
 * The thread that takes channels of NVIDIA's driver off a card and lets them run again at the times
 * that vgpud says (struct card_slot).
 *
 * The thread starts when vgpud first sends a slot that does not last always. It drops the table's
 * lock while it is in the driver, which may take long. What the shadow reports meanwhile is newer
 * than what the thread has done, so each channel has a stamp.
 */
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "engine/base/agent.h"
#include "engine/base/closer.h"
#include "engine/memory/channel_switch.h"
#include "engine/memory/channel_table.h"
#include "engine/memory/nvidia.h"
#include "shared/log.h"
#include "shared/loop.h"
#include "shared/proto.h"

#define NS_PER_S	1000000000ULL
#define NS_PER_MS	1000000ULL
/* Time after which a channel that RM has refused is tried again, doubled up to the longest one. */
#define RETRY_MS	10
#define DOUBLED_MAX	7

/**
 * struct batch - channels to be switched by one ioctl
 * @fd: file of the client
 * @object: number of that file's object
 * @client: handle of the client
 * @subdevice: handle of a subdevice of the card
 * @device: handle of the card's device, if the client has no subdevice; else 0
 * @off: true if the channels are to be taken off the card
 * @nr: number of entries of @channels
 * @channels: handles of the channels
 * @stamps: stamps of the channels when the ioctl began
 */
struct batch {
	int fd;
	uint32_t object;
	uint32_t client;
	uint32_t subdevice;
	uint32_t device;
	bool off;
	uint32_t nr;
	uint32_t channels[RM_SWITCH_MAX];
	uint64_t stamps[RM_SWITCH_MAX];
};

static pthread_cond_t changed;
static bool runs;
/* Under the lock. */
static struct card_slot slots[RM_DEVICES];

void channels_changed(void)
{
	if (runs)
		pthread_cond_signal(&changed);
}

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

/* Return: a subdevice of the device, or 0. */
static uint32_t subdevice_of(const struct rm_client *client, const struct rm_object *device)
{
	const struct rm_object *object;

	LIST_FOREACH(object, &client->objects, node)
		if (object->class == RM_CLASS_SUBDEVICE && object->parent == device->handle)
			return object->handle;
	return 0;
}

/*
 * Return: true if the channel has to be switched by this batch, to which it is added. @retry:
 * lowered to the time at which a channel is to be tried again
 */
static bool batch_add(struct batch *batch, const struct rm_client *client,
		      const struct rm_object *object, uint32_t card, bool cut, uint64_t *retry)
{
	const bool wanted = cut || object->wished;
	/*
	 * RM seems to count how often a channel is taken off the card: on an H200, one that was
	 * taken off twice did not run when it was let run once. So a channel that may be off is let
	 * run before it is taken off again.
	 */
	const bool off = wanted && !(object->unsure && object->offs);
	const struct rm_object *device;

	/*
	 * A channel that its program has not let run yet does nothing. It is left alone: RM does
	 * not say what becomes of it if it is switched before.
	 */
	if (!rm_is_channel(object->class) || !object->scheduled ||
	    (!!object->offs == wanted && !object->unsure) ||
	    (batch->nr && (object->alone || batch->off != off)))
		return false;
	device = channels_device(client, object);
	if (!device || device->card != card)
		return false;
	if (object->retry_ns > now_ns()) {
		*retry = object->retry_ns < *retry ? object->retry_ns : *retry;
		return false;
	}
	if (!batch->nr) {
		batch->fd = client->fd;
		batch->object = client->object;
		batch->client = client->handle;
		batch->subdevice = subdevice_of(client, device);
		batch->device = device->handle;
		batch->off = off;
	} else if (batch->device != device->handle) {
		return false;
	}
	batch->stamps[batch->nr] = object->stamp;
	batch->channels[batch->nr++] = object->handle;
	return true;
}

/* Find channels of one client that have to be switched. Return: false if there are none. */
static bool batch_find(struct batch *batch, uint32_t card, bool cut, uint64_t *retry)
{
	struct rm_client *client;
	const struct rm_object *object;

	batch->nr = 0;
	TAILQ_FOREACH(client, &channels_clients, node) {
		LIST_FOREACH(object, &client->objects, node)
			if (batch_add(batch, client, object, card, cut, retry) &&
			    (object->alone || batch->nr == RM_SWITCH_MAX))
				break;
		if (!batch->nr)
			continue;
		/* If a slot is too short for all clients, the next one goes on with the others. */
		TAILQ_REMOVE(&channels_clients, client, node);
		TAILQ_INSERT_TAIL(&channels_clients, client, node);
		return true;
	}
	return false;
}

/* Try a channel again later: it must not stay off for ever. */
static void refused(struct rm_object *object)
{
	unsigned int doubled = object->refusals < DOUBLED_MAX ? object->refusals : DOUBLED_MAX;

	object->refusals++;
	object->retry_ns = now_ns() + (RETRY_MS * NS_PER_MS << doubled);
	if (object->refusals == DOUBLED_MAX)
		log_seldom("NVIDIA's driver does not switch a channel of the guest");
}

/* Note what the driver has done with the channels of a batch. */
static void batch_done(const struct batch *batch, int ret)
{
	struct rm_client *client = channels_client(batch->object, batch->client);
	struct rm_object *object;
	uint32_t i;

	for (i = 0; client && i < batch->nr; i++) {
		object = channels_object(client, batch->channels[i]);
		if (!object)
			continue;
		if (batch->off)
			channels_off(object);
		else if (!ret)
			channels_on(object);
		/* The shadow has reported something newer, or another channel of that handle. */
		if (object->stamp != batch->stamps[i])
			continue;
		if (ret) {
			/* RM may have switched some before it came to the one that fails. */
			object->unsure = true;
			object->alone = true;
			if (batch->nr == 1)
				refused(object);
			continue;
		}
		object->unsure &= !batch->off && object->offs;
		/* RM may let a channel run that it does not take off the card. */
		if (batch->off) {
			object->alone = false;
			object->refusals = 0;
		}
	}
}

static void batch_switch(struct batch *batch)
{
	bool makes = !batch->subdevice;
	int ret = 0;

	channels_late.object = batch->object;
	pthread_mutex_unlock(&channels_lock);
	if (makes)
		ret = nvidia_subdevice(batch->fd, batch->client, batch->device, &batch->subdevice);
	if (!ret)
		ret = nvidia_switch(batch->fd, batch->client, batch->subdevice, batch->channels,
				    batch->nr, batch->off);
	if (makes && batch->subdevice)
		nvidia_subdevice_free(batch->fd, batch->client, batch->subdevice);
	pthread_mutex_lock(&channels_lock);
	batch_done(batch, ret);
	channels_late.object = 0;
	if (channels_late.closes)
		closer_close(channels_late.fd, channels_late.done, channels_late.closes);
	channels_late.closes = NULL;
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
			if (batch_find(&batch, card, !slot_at(&slots[card], now_ns(), &next),
				       &first)) {
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

	pthread_mutex_lock(&channels_lock);
	for (;;) {
		next = switch_all();
		if (next == UINT64_MAX) {
			pthread_cond_wait(&changed, &channels_lock);
			continue;
		}
		until.tv_sec = next / NS_PER_S;
		until.tv_nsec = next % NS_PER_S;
		pthread_cond_timedwait(&changed, &channels_lock, &until);
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
	if (ret)
		return -ret;
	ret = pthread_create(&thread, NULL, thread_main, NULL);
	if (ret)
		pthread_cond_destroy(&changed);
	return -ret;
}

void channel_slot(uint32_t card, const struct card_slot *slot)
{
	uint64_t next;

	if (card >= RM_DEVICES)
		return;
	pthread_mutex_lock(&channels_lock);
	slots[card] = *slot;
	pthread_mutex_unlock(&channels_lock);
	if (!runs && slot_at(slot, 0, &next) && next == UINT64_MAX)
		return;
	if (!runs && thread_start()) {
		log_seldom("a guest cannot be kept to its share of a GPU: no thread");
		return;
	}
	runs = true;
	/* From now on a shadow leaves it to this process to let a channel run. */
	__atomic_store_n(&shared->switches, 1, __ATOMIC_RELAXED);
	pthread_cond_signal(&changed);
}
