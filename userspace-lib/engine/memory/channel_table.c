// SPDX-License-Identifier: MIT
/* Table of the channels of NVIDIA's driver: see channel_table.h. */
#include "engine/memory/channel_table.h"
#include "nvidia_rm.h"

/* Number above which @offs is not counted: a program may stop its channels as often as it likes. */
#define OFFS_MAX	8

pthread_mutex_t channels_lock = PTHREAD_MUTEX_INITIALIZER;
struct rm_clients channels_clients = TAILQ_HEAD_INITIALIZER(channels_clients);
struct channel_late channels_late;

struct rm_client *channels_client(uint32_t object, uint32_t handle)
{
	struct rm_client *client;

	TAILQ_FOREACH(client, &channels_clients, node)
		if (client->object == object && client->handle == handle)
			return client;
	return NULL;
}

struct rm_object *channels_object(const struct rm_client *client, uint32_t handle)
{
	struct rm_object *object;

	LIST_FOREACH(object, &client->objects, node)
		if (object->handle == handle)
			return object;
	return NULL;
}

const struct rm_object *channels_device(const struct rm_client *client,
					const struct rm_object *object)
{
	unsigned int depth;

	for (depth = 0; object && depth < RM_DEPTH_MAX; depth++) {
		if (object->class == RM_CLASS_DEVICE)
			return object;
		object = channels_object(client, object->parent);
	}
	return NULL;
}

void channels_off(struct rm_object *object)
{
	if (object->offs < OFFS_MAX)
		object->offs++;
}

void channels_on(struct rm_object *object)
{
	if (object->offs)
		object->offs--;
}
