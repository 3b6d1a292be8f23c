// SPDX-License-Identifier: MIT
/* Shadows: the engine's connections to them, and the objects that each of them has open. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "engine/base/agent.h"
#include "engine/base/packet.h"
#include "engine/process/shadow.h"
#include "shared/loop.h"
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

int shadow_note(struct shadow *shadow, uint32_t object)
{
	uint32_t *files;

	if (shadow_has(shadow, object))
		return 0;
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

/* Errors are ignored: calls that need memory which the shadow does not know of will fail. */
void shadow_ram(struct shadow *shadow, uint64_t addr, uint64_t len, uint64_t offset, int fd)
{
	const struct eshadow_msg msg = { .type = ESHADOW_RAM };
	const struct eshadow_ram ram = { .addr = addr, .len = len, .offset = offset };

	shadow_send(shadow, &msg, &ram, sizeof(ram), fd);
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
