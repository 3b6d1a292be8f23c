/* SPDX-License-Identifier: MIT */
/*
 * Table of the channels of NVIDIA's driver, which the loop's thread (channel.c) and the thread that
 * switches channels (channel_switch.c) share.
 */
#ifndef ENGINE_CHANNEL_TABLE_H
#define ENGINE_CHANNEL_TABLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "shared/proto.h"

/* Largest number of objects between a channel and its device. */
#define RM_DEPTH_MAX	4

struct object;

/**
 * struct rm_object - an object of a client
 * @node: entry of the client's objects
 * @handle: the object's handle
 * @parent: handle of the object above
 * @class: the object's class
 * @card: RM's number of the card, of a device
 * @scheduled: true if a program has let the channel or group run
 * @stamp: changes whenever the shadow reports that @offs may not be true any more
 * @offs: number of times that the channel has to be let run until it is on the card, as far as is
 *	known; it may need fewer
 * @unsure: true if the channel was let run since, or RM has refused a switch that it may have done
 *	in part; @offs may be too high
 * @wished: true if the program itself has taken the channel off the card
 * @alone: true if the channel is switched by a call of its own, as RM has refused it among others
 * @refusals: number of times that RM has refused to switch the channel since the last success
 * @retry_ns: time before which the channel is not tried again
 */
struct rm_object {
	LIST_ENTRY(rm_object) node;
	uint32_t handle;
	uint32_t parent;
	uint32_t class;
	uint32_t card;
	bool scheduled;
	uint64_t stamp;
	unsigned int offs;
	bool unsure;
	bool wished;
	bool alone;
	unsigned int refusals;
	uint64_t retry_ns;
};

/**
 * struct rm_client - a client of a program
 * @node: entry of clients; those that were switched last are the last ones
 * @object: number of the object whose file has made the client
 * @fd: that file
 * @handle: the client's handle
 * @nr_channels: number of its channels
 * @objects: list of its objects that matter here
 */
struct rm_client {
	TAILQ_ENTRY(rm_client) node;
	uint32_t object;
	int fd;
	uint32_t handle;
	unsigned int nr_channels;
	LIST_HEAD(, rm_object) objects;
};

/**
 * struct channel_late - an object whose file the thread is using, to be closed after that
 * @object: number of the object that the thread uses now; 0: none
 * @closes: the same object, if its file is to be closed; NULL: the file stays open
 * @fd: the file to be closed
 * @done: see channel_close()
 */
struct channel_late {
	uint32_t object;
	struct object *closes;
	int fd;
	void (*done)(void *arg);
};

TAILQ_HEAD(rm_clients, rm_client);

/* The variables below are under this lock. */
extern pthread_mutex_t channels_lock;
extern struct rm_clients channels_clients;
extern struct channel_late channels_late;

struct rm_client *channels_client(uint32_t object, uint32_t handle);
struct rm_object *channels_object(const struct rm_client *client, uint32_t handle);
/* Return: the device that an object is below, or NULL if no shadow has reported it. */
const struct rm_object *channels_device(const struct rm_client *client,
					const struct rm_object *object);
/* Note that a channel was, or may have been, taken off the card. */
void channels_off(struct rm_object *object);
/* Note that a channel was let run once. */
void channels_on(struct rm_object *object);

#endif /* ENGINE_CHANNEL_TABLE_H */
