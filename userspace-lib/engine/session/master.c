// SPDX-License-Identifier: MIT
/*
 * DRM masters by CAP_SYS_ADMIN of a guest's program. vgpud starts a process for each export that
 * allows masters. The engine sends files to this process, which makes the ioctls on them
 * (master/main.c).
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "engine/base/agent.h"
#include "engine/base/closer.h"
#include "engine/base/packet.h"
#include "engine/guest/grant.h"
#include "engine/object/object.h"
#include "engine/process/shadow.h"
#include "engine/session/master.h"
#include "shadow/layout.h"
#include "shared/loop.h"
#include "shared/proto.h"

/*
 * Time in milliseconds that a driver has for an ioctl, after which the lane is answered without
 * it.
 */
#define ANSWER_TIMEOUT_MS	5000

/**
 * struct asking - a lane that waits for an ioctl
 * @late: deadline of the answer
 * @shadow: shadow of the lane
 * @lane: index of the lane
 * @tag: number of the request
 */
struct asking {
	LIST_ENTRY(asking) node;
	struct timer late;
	struct shadow *shadow;
	uint32_t lane;
	uint64_t tag;
};

/**
 * struct master - the process that makes the ioctls for an export
 * @export: vgpud's number of the export
 * @source: connection to the process
 * @askings: list of lanes that wait for answers of the process
 */
struct master {
	LIST_ENTRY(master) node;
	uint32_t export;
	struct source source;
	LIST_HEAD(, asking) askings;
};

static LIST_HEAD(, master) masters = LIST_HEAD_INITIALIZER(masters);
static uint64_t last_tag;

static void asking_free(struct asking *asking)
{
	timer_cancel(&asking->late);
	LIST_REMOVE(asking, node);
	free(asking);
}

static void asking_end(struct asking *asking, int result)
{
	shadow_answer(asking->shadow, asking->lane, result, NULL, 0, -1);
	asking_free(asking);
}

/*
 * Answer a lane at its deadline. The program may try again. A late answer of the process is
 * ignored.
 */
static void asking_late(struct timer *timer)
{
	asking_end(container_of(timer, struct asking, late), -EINTR);
}

static void master_end(struct master *master)
{
	/* The driver returns -EACCES as well to a process without CAP_SYS_ADMIN. */
	while (!LIST_EMPTY(&master->askings))
		asking_end(LIST_FIRST(&master->askings), -EACCES);
	LIST_REMOVE(master, node);
	source_close(&master->source);
	free(master);
}

static void master_ready(struct source *source, uint32_t events)
{
	struct master *master = container_of(source, struct master, source);
	struct asking *asking;
	struct master_msg msg;
	ssize_t len;
	int fd;

	(void)events;
	len = packet_recv(source->fd, &msg, sizeof(msg), &fd);
	if (len == -EAGAIN || len == -EINTR)
		return;
	/* Answers come without a file, and the close of one may sleep in its driver. */
	if (fd >= 0)
		closer_close(fd, NULL, NULL);
	if (len != sizeof(msg)) {
		master_end(master);
		return;
	}
	LIST_FOREACH(asking, &master->askings, node)
		if (asking->tag == msg.tag) {
			asking_end(asking, msg.result);
			return;
		}
}

static struct master *master_of(uint32_t export)
{
	struct master *master;

	LIST_FOREACH(master, &masters, node)
		if (master->export == export)
			return master;
	return NULL;
}

void master_come(uint32_t export, int fd)
{
	struct master *master;

	if (fd < 0)
		return;
	master = calloc(1, sizeof(*master));
	if (!master)
		engine_end("out of memory");
	master->export = export;
	master->source.fd = fd;
	master->source.ready = master_ready;
	LIST_INIT(&master->askings);
	if (source_add(&master->source, EPOLLIN))
		engine_end("cannot watch the process that makes DRM masters");
	LIST_INSERT_HEAD(&masters, master, node);
}

void master_leave(uint32_t export)
{
	struct master *master = master_of(export);

	if (master)
		master_end(master);
}

void masters_leave(void)
{
	while (!LIST_EMPTY(&masters))
		master_end(LIST_FIRST(&masters));
}

/* Return: true if the lane waits already. One request a lane bounds the number of requests. */
static bool asks_already(const struct shadow *shadow, uint32_t lane)
{
	struct master *master;
	struct asking *asking;

	LIST_FOREACH(master, &masters, node)
		LIST_FOREACH(asking, &master->askings, node)
			if (asking->shadow == shadow && asking->lane == lane)
				return true;
	return false;
}

void master_ask(struct shadow *shadow, const struct eshadow_msg *msg)
{
	struct object *object = object_find(msg->object);
	struct master *master = object && object->grant ? master_of(object->grant->export) : NULL;
	struct master_msg request = { .tag = ++last_tag, .command = msg->value };
	struct iovec iov = { .iov_base = &request, .iov_len = sizeof(request) };
	struct asking *asking = NULL;
	int ret = -EACCES;

	if (master && msg->lane < SHADOW_LANES_MAX && !asks_already(shadow, msg->lane)) {
		asking = calloc(1, sizeof(*asking));
		ret = asking ? packet_send(master->source.fd, &iov, 1, object->fd) : -ENOMEM;
		/* Hide errnos of the socket, which are not results of the ioctl. */
		if (ret && ret != -ENOMEM)
			ret = -EACCES;
	}
	if (ret) {
		free(asking);
		shadow_answer(shadow, msg->lane, ret, NULL, 0, -1);
		return;
	}
	asking->shadow = shadow;
	asking->lane = msg->lane;
	asking->tag = request.tag;
	asking->late.expired = asking_late;
	timer_set(&asking->late, ANSWER_TIMEOUT_MS);
	LIST_INSERT_HEAD(&master->askings, asking, node);
}

void master_shadow_gone(struct shadow *shadow)
{
	struct asking *asking, *next;
	struct master *master;

	LIST_FOREACH(master, &masters, node)
		for (asking = LIST_FIRST(&master->askings); asking; asking = next) {
			next = LIST_NEXT(asking, node);
			if (asking->shadow == shadow)
				asking_free(asking);
		}
}
