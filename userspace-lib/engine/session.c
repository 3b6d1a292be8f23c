// SPDX-License-Identifier: MIT
/* Sessions: the shadows of the guest's processes, and what their lanes ask for. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "engine.h"
#include "engine/packet.h"
#include "owner.h"
#include "shadow/layout.h"

/* How long a session that the guest has closed may wait for its lanes. */
#define CLOSE_WAIT_MS	1000
/* Most that fdinfo shows. */
#define FDINFO_MAX	4096

struct shadow_list shadows = LIST_HEAD_INITIALIZER(shadows);
static uint32_t nr_sessions;

/**
 * struct waiting - a lane that waits for control messages
 * @shadow: whose
 * @lane: index of it
 * @seq: up to which number
 */
struct waiting {
	LIST_ENTRY(waiting) node;
	struct shadow *shadow;
	uint32_t lane;
	uint64_t seq;
};

static LIST_HEAD(, waiting) waitings = LIST_HEAD_INITIALIZER(waitings);

static struct shadow *shadow_find(uint64_t number)
{
	struct shadow *shadow;

	LIST_FOREACH(shadow, &shadows, node)
		if (shadow->number == number)
			return shadow;
	return NULL;
}

/* --- what it has open -------------------------------------------------------------- */

static bool shadow_has(const struct shadow *shadow, uint32_t object)
{
	size_t i;

	for (i = 0; i < shadow->nr_files; i++)
		if (shadow->files[i] == object)
			return true;
	return false;
}

static int shadow_note(struct shadow *shadow, uint32_t object)
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

/* --- to a shadow -------------------------------------------------------------------- */

/* A shadow that does not listen has its end coming: there is room for all that it may ask. */
static void shadow_send(struct shadow *shadow, const struct eshadow_msg *msg, const void *extra,
			size_t len, int fd)
{
	struct iovec iov[] = {
		{ .iov_base = (void *)(uintptr_t)msg, .iov_len = sizeof(*msg) },
		{ .iov_base = (void *)(uintptr_t)extra, .iov_len = len },
	};

	if (packet_send(shadow->source.fd, iov, len ? 2 : 1, fd))
		agent_say_closed(shadow->number);
}

void shadow_answer(struct shadow *shadow, uint32_t lane, int result, const void *extra, size_t len,
		   int fd)
{
	const struct eshadow_msg msg = {
		.type = ESHADOW_ANSWER,
		.lane = lane,
		.result = result,
	};

	shadow_send(shadow, &msg, extra, len, fd);
}

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
	return true;
}

static void waiting_end(struct waiting *waiting, int result)
{
	shadow_answer(waiting->shadow, waiting->lane, result, NULL, 0, -1);
	LIST_REMOVE(waiting, node);
	free(waiting);
}

void session_synced(void)
{
	struct waiting *waiting, *next;

	for (waiting = LIST_FIRST(&waitings); waiting; waiting = next) {
		next = LIST_NEXT(waiting, node);
		if (control_is_applied(waiting->seq))
			waiting_end(waiting, 0);
	}
}

/* --- requests ------------------------------------------------------------------------ */

static void ask_open(struct shadow *shadow, const struct eshadow_msg *msg)
{
	struct grant *grant = grant_find(msg->object);
	struct eshadow_policy policy;
	int ret;

	if (!grant) {
		shadow_answer(shadow, msg->lane, -ENODEV, NULL, 0, -1);
		return;
	}
	ret = vgpu_policy_open(&grant->policy, msg->value);
	shadow_answer(shadow, msg->lane, ret, &policy, ret ? 0 : grant_describe(grant, &policy),
		      -1);
}

static void answer_object(struct shadow *shadow, const struct eshadow_msg *msg,
			  struct object *object, uint32_t flags)
{
	struct vgpu_object_desc desc;

	object_describe(object, &desc);
	desc.flags |= cpu_to_le32(flags);
	shadow_answer(shadow, msg->lane, 0, &desc, sizeof(desc), -1);
}

static void ask_opened(struct shadow *shadow, const struct eshadow_msg *msg, int fd)
{
	struct grant *grant = grant_find(msg->object);
	struct object *object;
	int ret;

	if (!grant && fd >= 0)
		close(fd);
	ret = grant && fd >= 0 ? object_take(fd, grant, false, &object) : -ENODEV;
	if (ret)
		shadow_answer(shadow, msg->lane, ret, NULL, 0, -1);
	else
		answer_object(shadow, msg, object, 0);
}

/* A device that a device opens (a lease) has the policy of that one. */
static void ask_made(struct shadow *shadow, const struct eshadow_msg *msg, int fd)
{
	struct object *maker = object_find(msg->object), *object;
	uint32_t flags = 0;
	int ret = -EBADF;

	if (!maker && fd >= 0)
		close(fd);
	if (maker && fd >= 0)
		ret = object_take(fd, maker->grant, true, &object);
	if (ret) {
		shadow_answer(shadow, msg->lane, ret, NULL, 0, -1);
		return;
	}
	if (object->kind == VGPU_OBJECT_DEVICE && object->grant &&
	    object->grant == maker->grant && object->rdev == maker->rdev)
		flags |= VGPU_OBJECT_SAME_DEVICE;
	if (object->kind == VGPU_OBJECT_SYNC_FILE && msg->value)
		flags |= poller_ask(object, POLLIN, 0, 0) ? VGPU_OBJECT_SIGNALED :
			VGPU_OBJECT_WATCHED;
	answer_object(shadow, msg, object, flags);
}

static void ask_find(struct shadow *shadow, const struct eshadow_msg *msg)
{
	struct object *object = object_find(msg->object);
	struct eshadow_policy policy;
	size_t len;

	if (!object || shadow_note(shadow, object->id)) {
		shadow_answer(shadow, msg->lane, object ? -ENOMEM : -EBADF, NULL, 0, -1);
		return;
	}
	len = grant_describe(object->grant, &policy);
	policy.object_kind = object->kind;
	policy.space = object->space;
	shadow_answer(shadow, msg->lane, 0, &policy, len, object->fd);
}

static void ask_close(struct shadow *shadow, const struct eshadow_msg *msg)
{
	int ret;

	ret = object_release(msg->object, 0, shadow, msg->lane);
	if (ret)
		shadow_answer(shadow, msg->lane, ret, NULL, 0, -1);
}

static void ask_sync(struct shadow *shadow, const struct eshadow_msg *msg)
{
	struct waiting *waiting;

	if (control_is_applied(msg->value)) {
		shadow_answer(shadow, msg->lane, 0, NULL, 0, -1);
		return;
	}
	if (msg->lane >= SHADOW_LANES_MAX) {
		shadow_answer(shadow, msg->lane, -EINVAL, NULL, 0, -1);
		return;
	}
	/* A lane asks for one at a time. A second is an error of the shadow's, whose loss it is. */
	LIST_FOREACH(waiting, &waitings, node)
		if (waiting->shadow == shadow && waiting->lane == msg->lane) {
			waiting->seq = msg->value;
			return;
		}
	waiting = malloc(sizeof(*waiting));
	if (!waiting) {
		shadow_answer(shadow, msg->lane, -ENOMEM, NULL, 0, -1);
		return;
	}
	*waiting = (struct waiting) {
		.shadow = shadow, .lane = msg->lane, .seq = msg->value,
	};
	LIST_INSERT_HEAD(&waitings, waiting, node);
}

/* It may have been answered meanwhile. */
static void ask_unsync(struct shadow *shadow, const struct eshadow_msg *msg)
{
	struct waiting *waiting;

	LIST_FOREACH(waiting, &waitings, node)
		if (waiting->shadow == shadow && waiting->lane == msg->lane) {
			waiting_end(waiting, -ENODEV);
			return;
		}
}

static void ask_poll(struct shadow *shadow, const struct eshadow_msg *msg)
{
	struct object *object = object_find(msg->object);
	int ret = -EBADF;

	if (object)
		ret = poller_ask(object, msg->value, msg->extra, msg->extra >> 32);
	shadow_answer(shadow, msg->lane, ret, NULL, 0, -1);
}

/* The lines that the kernel shows of every file come first. */
static char *fdinfo_of_driver(char *text)
{
	static const char *const common[] = { "pos:", "flags:", "mnt_id:", "ino:" };
	size_t i;

	for (i = 0; i < sizeof(common) / sizeof(common[0]); i++) {
		if (strncmp(text, common[i], strlen(common[i])))
			continue;
		text = strchr(text, '\n');
		if (!text)
			return NULL;
		text++;
	}
	return text;
}

static void ask_fdinfo(struct shadow *shadow, const struct eshadow_msg *msg)
{
	struct object *object = object_find(msg->object);
	char path[32], text[FDINFO_MAX + 1], *own;
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "self/fdinfo/%d", object ? object->fd : -1);
	fd = openat(ENGINE_FD_PROC, path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -errno : read(fd, text, FDINFO_MAX);
	if (fd >= 0)
		close(fd);
	if (len < 0) {
		shadow_answer(shadow, msg->lane, object ? -EIO : -EBADF, NULL, 0, -1);
		return;
	}
	text[len] = '\0';
	own = fdinfo_of_driver(text);
	len = own ? text + len - own : 0;
	shadow_answer(shadow, msg->lane, len, own, len, -1);
}

static void ask_event(struct shadow *shadow, const struct eshadow_msg *msg, int fd)
{
	int ret = fd < 0 || !object_find(msg->object) ? -EBADF :
		event_add(msg->object, msg->value, fd);

	if (ret && fd >= 0)
		close(fd);
	shadow_answer(shadow, msg->lane, ret, NULL, 0, -1);
}

/* Data that follows the struct eshadow_msg of some requests: more_of() tells how long it is. */
union more {
	struct eshadow_bind bind;
	struct eshadow_memory memory;
};

static size_t more_of(uint32_t type)
{
	switch (type) {
	case ESHADOW_BIND:
		return sizeof(struct eshadow_bind);
	case ESHADOW_MAPS:
		return sizeof(struct eshadow_memory);
	default:
		return 0;
	}
}

static void shadow_ask(struct shadow *shadow, const struct eshadow_msg *msg,
		       const union more *more, int fd)
{
	switch (msg->type) {
	case ESHADOW_OPENED:
		ask_opened(shadow, msg, fd);
		return;
	case ESHADOW_MADE:
		ask_made(shadow, msg, fd);
		return;
	case ESHADOW_EVENT:
		ask_event(shadow, msg, fd);
		return;
	}
	if (fd >= 0)
		close(fd);
	switch (msg->type) {
	case ESHADOW_OPEN:
		ask_open(shadow, msg);
		break;
	case ESHADOW_FIND:
		ask_find(shadow, msg);
		break;
	case ESHADOW_CLOSE:
		ask_close(shadow, msg);
		break;
	case ESHADOW_SYNC:
		ask_sync(shadow, msg);
		break;
	case ESHADOW_POLL:
		ask_poll(shadow, msg);
		break;
	case ESHADOW_FDINFO:
		ask_fdinfo(shadow, msg);
		break;
	case ESHADOW_BIND:
		window_bind(shadow, msg, &more->bind);
		break;
	case ESHADOW_MAPS:
		owner_learn(shadow, msg, &more->memory);
		break;
	case ESHADOW_KEEP:
		shadow_answer(shadow, msg->lane, kept_add(msg->object, msg->value, msg->extra),
			      NULL, 0, -1);
		break;
	case ESHADOW_UNSYNC:
		ask_unsync(shadow, msg);
		break;
	case ESHADOW_TAKE_BACK:
		object_release(msg->object, 0, NULL, 0);
		break;
	case ESHADOW_UNEVENT:
		event_cancel(msg->object, msg->value);
		break;
	case ESHADOW_DROPPED:
		if (shadow_forget(shadow, msg->object))
			object_dropped(msg->object, shadow);
		break;
	case ESHADOW_USAGE:
		shadow->mapped_bytes += msg->value;
		shadow->nr_mappings += (uint32_t)msg->extra;
		shadow->nr_lanes += msg->extra >> 32;
		break;
	}
}

/* --- the connection -------------------------------------------------------------------- */

static void shadow_gone(struct shadow *shadow)
{
	struct waiting *waiting, *next;

	LIST_REMOVE(shadow, node);
	timer_cancel(&shadow->close_timer);
	source_close(&shadow->source);
	for (waiting = LIST_FIRST(&waitings); waiting; waiting = next) {
		next = LIST_NEXT(waiting, node);
		if (waiting->shadow == shadow) {
			LIST_REMOVE(waiting, node);
			free(waiting);
		}
	}
	window_shadow_gone(shadow);
	objects_shadow_gone(shadow);
	/* Its end has closed them. */
	while (shadow->nr_files)
		object_dropped(shadow->files[--shadow->nr_files], shadow);
	/* A shadow that was killed has not taken these back. */
	__atomic_sub_fetch(&shared->mapped_bytes, shadow->mapped_bytes, __ATOMIC_RELAXED);
	__atomic_sub_fetch(&shared->nr_mappings, shadow->nr_mappings, __ATOMIC_RELAXED);
	__atomic_sub_fetch(&shared->nr_lanes, shadow->nr_lanes, __ATOMIC_RELAXED);
	shared->nr_sessions = --nr_sessions;
	agent_say_closed(shadow->number);
	free(shadow->files);
	free(shadow);
	control_applied();
}

static void shadow_ready(struct source *source, uint32_t events)
{
	struct shadow *shadow = container_of(source, struct shadow, source);
	struct {
		struct eshadow_msg msg;
		union more more;
	} ask;
	ssize_t len;
	int fd;

	(void)events;
	len = packet_recv(source->fd, &ask, sizeof(ask), &fd);
	/* It has ended without reading all: what it has said comes after that. */
	if (len == -EAGAIN || len == -EINTR || len == -ECONNRESET)
		return;
	if (len < (ssize_t)sizeof(ask.msg) ||
	    len != (ssize_t)(sizeof(ask.msg) + more_of(ask.msg.type))) {
		if (fd >= 0)
			close(fd);
		shadow_gone(shadow);
		return;
	}
	shadow_ask(shadow, &ask.msg, &ask.more, fd);
}

/* --- of the guest and of vgpud ---------------------------------------------------------- */

/*
 * Nothing orders what comes by a lane with what comes by the control connection: the shadow's
 * threads get the time to read what is theirs.
 */
static void session_close_look(struct timer *timer)
{
	struct shadow *shadow = container_of(timer, struct shadow, close_timer);

	agent_say_closed(shadow->number);
}

/*
 * Numbers of sessions that the guest has closed and that had no shadow: vgpud may still
 * be making one, and nothing orders what it says with what the guest says.
 */
#define CLOSED_EARLY	64
static uint64_t closed_early[CLOSED_EARLY];
static unsigned int closed_early_next;

static bool session_was_closed(uint64_t number)
{
	size_t i;

	for (i = 0; i < CLOSED_EARLY; i++)
		if (closed_early[i] == number)
			return true;
	return false;
}

void session_add(uint64_t number, int fd)
{
	struct shadow *shadow;

	if (fd < 0)
		return;
	shadow = calloc(1, sizeof(*shadow));
	if (!shadow)
		engine_end("out of memory");
	shadow->number = number;
	shadow->source.fd = fd;
	shadow->source.ready = shadow_ready;
	shadow->close_timer.expired = session_close_look;
	if (source_add(&shadow->source, EPOLLIN))
		engine_end("no room for one more shadow");
	LIST_INSERT_HEAD(&shadows, shadow, node);
	shared->nr_sessions = ++nr_sessions;
	ram_tell(shadow);
	if (session_was_closed(number))
		session_close(number);
}

/* A session that is gone already is no error: its shadow may have died. */
void session_unmap(uint64_t number, uint64_t addr, uint64_t len)
{
	const struct eshadow_msg msg = { .type = ESHADOW_UNMAP, .value = addr, .extra = len };
	struct shadow *shadow = shadow_find(number);

	if (shadow)
		shadow_send(shadow, &msg, NULL, 0, -1);
}

void session_close(uint64_t number)
{
	const struct eshadow_msg end = { .type = ESHADOW_END };
	struct shadow *shadow = shadow_find(number);

	if (!shadow) {
		closed_early[closed_early_next++ % CLOSED_EARLY] = number;
		return;
	}
	if (shadow->closing)
		return;
	shadow->closing = true;
	shadow_send(shadow, &end, NULL, 0, -1);
	timer_set(&shadow->close_timer, CLOSE_WAIT_MS);
}
