// SPDX-License-Identifier: MIT
/* Requests: what the lanes of a shadow ask the engine for. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/closer.h"
#include "engine/guest/grant.h"
#include "engine/memory/owner.h"
#include "engine/memory/window.h"
#include "engine/object/event.h"
#include "engine/object/file.h"
#include "engine/object/object.h"
#include "engine/object/poller.h"
#include "engine/process/shadow.h"
#include "engine/process/tgid.h"
#include "engine/session/kept.h"
#include "engine/session/master.h"
#include "engine/session/reference.h"
#include "engine/session/request.h"
#include "engine/session/submission.h"
#include "engine/session/sync.h"
#include "policy.h"

/* Largest length of fdinfo in bytes; the rest is cut off. */
#define FDINFO_MAX	4096

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
	/* Fail before the driver is asked for a file that would only be closed again. */
	if (!ret && objects_full())
		ret = -EMFILE;
	shadow_answer(shadow, msg->lane, ret, &policy, ret ? 0 : grant_describe(grant, &policy),
		      -1);
}

/*
 * Note that the shadow's process uses the object's file: NVIDIA's driver may know the process by
 * that file. A new object counts as used by the shadow that reports it: a malicious shadow may
 * have used the file before.
 */
static int object_is_used(struct object *object, struct shadow *shadow)
{
	if (!object->grant || object->grant->policy.kind != VGPU_EXPORT_NVIDIA)
		return 0;
	return tgid_use(shadow->tgid, &object->known, object->fd);
}

static void answer_object(struct shadow *shadow, const struct eshadow_msg *msg,
			  struct object *object, uint32_t flags)
{
	struct vgpu_object_desc desc;

	if (object_is_used(object, shadow) ||
	    !given_add(shadow, msg->lane, object->id, object->references.last)) {
		object_release(object->id, object->references.last, 0, NULL, 0);
		shadow_answer(shadow, msg->lane, -ENOMEM, NULL, 0, -1);
		return;
	}
	object_describe(object, &desc);
	desc.flags |= cpu_to_le32(flags);
	shadow_answer(shadow, msg->lane, 0, &desc, sizeof(desc), -1);
}

/* Have a file closed by the closer, as the driver may be slow. */
static void file_discard(int fd)
{
	if (fd >= 0)
		closer_close(fd, NULL, NULL);
}

/*
 * Return: true if the file is of the export's device, so that all that is known of the export
 * holds for the file.
 */
static bool file_is_of(int fd, const struct grant *grant)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISCHR(st.st_mode) && st.st_rdev == grant->rdev;
}

/*
 * Check whether a call on @maker may have opened a device. A driver may open its own device anew,
 * as for a lease of DRM. Any other device is refused in all cases: the lanes of a shadow share one
 * table of files, so the number may belong to a file that another lane is just opening, under
 * another grant. A card whose openers must not become DRM master is refused as well: the number
 * may belong to another lane's file that is master until the lane drops master (open_file() in
 * shadow/call/fops.c), and only a master makes leases.
 */
static bool device_may_be_made(const struct object *maker, dev_t rdev)
{
	const struct grant *grant = maker->grant;

	return rdev == maker->rdev && grant &&
	       (grant->policy.kind != VGPU_EXPORT_DRM_PRIMARY || grant->policy.master);
}

/*
 * Check whether a call on @maker may have made the file. Files of the shadow's own must not
 * become objects. If the engine had the shadow's socket open, it would not notice the end of the
 * shadow. If the engine had its userfaultfd open, faults in memory of a shadow that has ended
 * would wait for ever. A file of its own in /proc has a lock, which a thread of the shadow can hold
 * by a read to memory that it withholds: the engine would wait for it in file_operations(). A file
 * that is an object already is accepted, as it keeps its own limits.
 */
static bool file_may_be_made(const struct object *maker, int fd)
{
	struct stat st;

	return !fstat(fd, &st) && !S_ISSOCK(st.st_mode) && !file_has_lock(fd, &st) &&
	       (!S_ISCHR(st.st_mode) || device_may_be_made(maker, st.st_rdev) ||
		object_of_file(fd, &st)) &&
	       !file_is_named(fd, "anon_inode:[userfaultfd]") &&
	       !file_is_named(fd, "anon_inode:[eventpoll]");
}

static void ask_opened(struct shadow *shadow, const struct eshadow_msg *msg, int fd)
{
	struct grant *grant = grant_find(msg->object);
	struct object *object;
	int ret = -ENODEV;

	if (grant && fd >= 0 && file_is_of(fd, grant))
		ret = object_take(fd, grant, grant->limits, false, &object);
	else
		file_discard(fd);
	if (ret)
		shadow_answer(shadow, msg->lane, ret, NULL, 0, -1);
	else
		answer_object(shadow, msg, object, 0);
}

/*
 * Make an object of a file that a call has made. A device that a device has opened (a lease) has
 * the policy of that device. Any other file has the lists of ioctls of @maker's export, and of
 * the exports of all calls that the shadow has run since it last had no running call: the lanes
 * of a shadow share one table of files, so any of these calls may have made the file.
 */
static void ask_made(struct shadow *shadow, const struct eshadow_msg *msg, int fd)
{
	struct object *maker = object_find(msg->object), *object;
	uint32_t flags = 0;
	int ret = -EBADF;

	if (maker && fd >= 0 && file_may_be_made(maker, fd))
		ret = object_take(fd, maker->grant, maker->limits | msg->extra, true, &object);
	else
		file_discard(fd);
	if (ret) {
		shadow_answer(shadow, msg->lane, ret, NULL, 0, -1);
		return;
	}
	/*
	 * If the maker's driver must not wait for guest memory, the new file's driver must not wait
	 * either: it may hold locks that the maker's driver needs.
	 */
	object->no_demand |= maker->no_demand;
	if (!object->origin)
		object->origin = maker->origin;
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

	if (!object || object_is_used(object, shadow) || shadow_note(shadow, object->id, object->origin)) {
		shadow_answer(shadow, msg->lane, object ? -ENOMEM : -EBADF, NULL, 0, -1);
		return;
	}
	len = object->grant ? grant_describe(object->grant, &policy) :
		limits_describe(object->limits, &policy);
	policy.object_kind = object->kind;
	policy.space = object->space;
	policy.no_demand = object->no_demand;
	policy.origin = object->origin;
	shadow_answer(shadow, msg->lane, 0, &policy, len, object->fd);
}

static void ask_close(struct shadow *shadow, const struct eshadow_msg *msg)
{
	int ret;

	ret = object_release(msg->object, msg->value, 0, shadow, msg->lane);
	if (ret)
		shadow_answer(shadow, msg->lane, ret, NULL, 0, -1);
}

static void ask_poll(struct shadow *shadow, const struct eshadow_msg *msg)
{
	struct object *object = object_find(msg->object);
	int ret = -EBADF;

	if (object)
		ret = poller_ask(object, msg->value & VGPU_POLL_EVENTS, msg->extra,
				 msg->extra >> 32);
	shadow_answer(shadow, msg->lane, ret, NULL, 0, -1);
}

static void ask_quiet(struct shadow *shadow, const struct eshadow_msg *msg)
{
	const struct object *object = object_find(msg->object);
	bool video = object && object_is_video(object);

	if (video)
		poller_quiet(object->rdev);
	shadow_answer(shadow, msg->lane, video ? 0 : -EBADF, NULL, 0, -1);
}

/* Skip the lines that the kernel shows of every file, which come first. */
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

/* Accept only an eventfd: another file may be the shadow's own socket, see file_may_be_made(). */
static void ask_event(struct shadow *shadow, const struct eshadow_msg *msg, int fd)
{
	int ret = -EBADF;

	if (fd >= 0 && object_find(msg->object) && file_is_named(fd, "anon_inode:[eventfd]"))
		ret = event_add(msg->object, msg->value, fd);
	if (ret)
		file_discard(fd);
	shadow_answer(shadow, msg->lane, ret, NULL, 0, -1);
}

size_t request_more(uint32_t type)
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

bool request_has_file(uint32_t type)
{
	return type == ESHADOW_OPENED || type == ESHADOW_MADE || type == ESHADOW_EVENT;
}

/* Functions for requests that consist of the message alone, by type. */
static void (*const asks[])(struct shadow *shadow, const struct eshadow_msg *msg) = {
	[ESHADOW_OPEN] = ask_open,
	[ESHADOW_FIND] = ask_find,
	[ESHADOW_CLOSE] = ask_close,
	[ESHADOW_SYNC] = sync_ask,
	[ESHADOW_POLL] = ask_poll,
	[ESHADOW_FDINFO] = ask_fdinfo,
	[ESHADOW_ROOM] = usage_ask,
	[ESHADOW_MASTER] = master_ask,
	[ESHADOW_QUIET] = ask_quiet,
	[ESHADOW_OWNER] = owner_ask,
	[ESHADOW_SHOW] = owner_show,
	[ESHADOW_SUBMIT] = submission_ask,
};

void request_handle(struct shadow *shadow, const struct eshadow_msg *msg, const union more *more,
		    int fd)
{
	if (msg->type < ARRAY_SIZE(asks) && asks[msg->type]) {
		asks[msg->type](shadow, msg);
		return;
	}
	switch (msg->type) {
	case ESHADOW_OPENED:
		ask_opened(shadow, msg, fd);
		break;
	case ESHADOW_MADE:
		ask_made(shadow, msg, fd);
		break;
	case ESHADOW_EVENT:
		ask_event(shadow, msg, fd);
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
	default:
		shadow_malformed(shadow);
	}
}
