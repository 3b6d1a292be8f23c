// SPDX-License-Identifier: MIT
/* Sessions: the shadows of the guest's processes, and what their lanes ask for. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine.h"
#include "engine/packet.h"
#include "owner.h"
#include "shadow/layout.h"

/* Time in milliseconds that the lanes of a session have to end after the guest has closed it. */
#define CLOSE_WAIT_MS	1000
/*
 * Time in milliseconds that a shadow has to close a file, or the next of several: drivers may be
 * slow.
 */
#define DROP_WAIT_MS	30000
/* Time in milliseconds for which requests of a shadow that has to wait are not read. */
#define HOLD_MS		5
/*
 * Largest number of files sent to one shadow that it has not read yet. The kernel limits the
 * number of such files for all processes of a user together.
 */
#define UNREAD_MAX	64
/* Largest number of files with one message (SCM_MAX_FD). */
#define FILES_MAX	253
/* Largest length of fdinfo in bytes; the rest is cut off. */
#define FDINFO_MAX	4096

struct shadow_list shadows = LIST_HEAD_INITIALIZER(shadows);
static uint32_t nr_sessions;
/* Sums over all shadows, as the shadows have reported. */
static uint64_t mapped_bytes;
static uint32_t nr_mappings, nr_lanes;

/**
 * struct waiting - a lane that waits for control messages to be applied
 * @shadow: shadow of the lane
 * @lane: index of the lane
 * @seq: number of the last control message that the lane waits for
 */
struct waiting {
	LIST_ENTRY(waiting) node;
	struct shadow *shadow;
	uint32_t lane;
	uint64_t seq;
};

static LIST_HEAD(, waiting) waitings = LIST_HEAD_INITIALIZER(waitings);

/**
 * struct given - a reference of the guest whose receipt the guest has not acknowledged yet
 * @lane: index of the lane whose call gave the reference
 * @object: number of the object
 * @reference: number of the reference
 */
struct given {
	LIST_ENTRY(given) node;
	uint32_t lane;
	uint32_t object;
	uint32_t reference;
};

static struct shadow *shadow_find(uint64_t number)
{
	struct shadow *shadow;

	LIST_FOREACH(shadow, &shadows, node)
		if (shadow->number == number)
			return shadow;
	return NULL;
}

/* --- objects that a shadow has open -------------------------------------------------- */

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

/* --- references that calls of a shadow gave the guest --------------------------------- */

/*
 * Return: false if the shadow has as many entries as one call of each lane can give, or if there
 * is no memory.
 */
static bool given_add(struct shadow *shadow, uint32_t lane, const struct object *object)
{
	struct given *given;

	if (shadow->nr_givens >= start.limits.lanes * VGPU_FDS_MAX)
		return false;
	given = malloc(sizeof(*given));
	if (!given)
		return false;
	*given = (struct given) {
		.lane = lane, .object = object->id, .reference = object->last_reference,
	};
	LIST_INSERT_HEAD(&shadow->givens, given, node);
	shadow->nr_givens++;
	return true;
}

static void given_free(struct shadow *shadow, struct given *given)
{
	LIST_REMOVE(given, node);
	free(given);
	shadow->nr_givens--;
}

/* Forget the references that the lane's last call gave: the guest has acknowledged all of them. */
static void givens_acked(struct shadow *shadow, uint32_t lane)
{
	struct given *given, *next;

	for (given = LIST_FIRST(&shadow->givens); given; given = next) {
		next = LIST_NEXT(given, node);
		if (given->lane == lane)
			given_free(shadow, given);
	}
}

void session_reference_gone(uint32_t object, uint32_t reference)
{
	struct shadow *shadow;
	struct given *given;

	LIST_FOREACH(shadow, &shadows, node)
		LIST_FOREACH(given, &shadow->givens, node)
			if (given->object == object && given->reference == reference) {
				given_free(shadow, given);
				return;
			}
}

static void givens_take_back(struct shadow *shadow)
{
	struct given *given;

	while ((given = LIST_FIRST(&shadow->givens))) {
		const struct given its = *given;

		/*
		 * Free the entry here: session_reference_gone() does not find it, as the shadow is
		 * in no list.
		 */
		given_free(shadow, given);
		object_release(its.object, its.reference, 0, NULL, 0);
	}
}

/* --- messages to a shadow ------------------------------------------------------------- */

/*
 * End a shadow, which gets no answers from here on. Its requests are discarded. The struct stays
 * until the process has ended, as the process may have files open. Messages of the shadow are
 * still read: an unread one may carry the shadow's own end of the connection, which would then
 * never be closed.
 */
static void shadow_end(struct shadow *shadow)
{
	if (shadow->ended)
		return;
	shadow->ended = true;
	timer_cancel(&shadow->hold_timer);
	source_set(&shadow->source, EPOLLIN);
	agent_say(ENGINE_CLOSED, shadow->number);
}

static void shadow_malformed(struct shadow *shadow)
{
	count(&shared->counters.malformed);
	shadow_end(shadow);
}

/*
 * Send a message. A shadow whose socket has no room is ended: the socket has room for all answers
 * to what a shadow may ask at once. Return: 0, or -ENFILE: too many files sent to the guest's
 * processes were not read yet, which need not be this shadow's fault.
 */
static int shadow_send(struct shadow *shadow, const struct eshadow_msg *msg, const void *extra,
		       size_t len, int fd)
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

/*
 * End a shadow that closes a file too slowly: calls of other programs wait until all shadows have
 * closed the file.
 */
static void shadow_drops_late(struct timer *timer)
{
	shadow_end(container_of(timer, struct shadow, drop_timer));
}

static void news_dropped(struct shadow *shadow, uint32_t object)
{
	if (!shadow_forget(shadow, object) || !object_dropped(object))
		return;
	shadow->nr_drops--;
	timer_cancel(&shadow->drop_timer);
	if (shadow->nr_drops)
		timer_set(&shadow->drop_timer, DROP_WAIT_MS);
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
		if (objects_applied(waiting->seq))
			waiting_end(waiting, 0);
	}
}

/* --- mappings of a shadow -------------------------------------------------------------- */

static void usage_add(struct shadow *shadow, int64_t bytes, int64_t mappings, int64_t lanes)
{
	shadow->mapped_bytes += bytes;
	shadow->nr_mappings += mappings;
	shadow->nr_lanes += lanes;
	mapped_bytes += bytes;
	nr_mappings += mappings;
	nr_lanes += lanes;
	shared->mapped_bytes = mapped_bytes;
	shared->nr_mappings = nr_mappings;
	shared->nr_lanes = nr_lanes;
}

static void ask_room(struct shadow *shadow, const struct eshadow_msg *msg)
{
	int ret = 0;

	if (!vgpu_limits_map_ok(&start.limits, mapped_bytes, msg->value) ||
	    shadow->nr_mappings >= eshadow_mappings_max(&start.limits))
		ret = -ENOMEM;
	else
		usage_add(shadow, msg->value, 1, 0);
	shadow_answer(shadow, msg->lane, ret, NULL, 0, -1);
}

/*
 * Apply a change that a shadow reports. The report is malformed if the shadow gives back more than
 * it has, or has more mappings or lanes than it may have.
 */
static void news_usage(struct shadow *shadow, const struct eshadow_msg *msg)
{
	int64_t mappings = (int64_t)shadow->nr_mappings + (int32_t)msg->extra;
	int64_t lanes = (int64_t)shadow->nr_lanes + (int32_t)(msg->extra >> 32);

	if (-msg->value > shadow->mapped_bytes || mappings < 0 ||
	    mappings > eshadow_mappings_max(&start.limits) || lanes < 0 ||
	    lanes > start.limits.lanes)
		shadow_malformed(shadow);
	else
		usage_add(shadow, msg->value, (int32_t)msg->extra, (int32_t)(msg->extra >> 32));
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

	if (object_is_used(object, shadow) || !given_add(shadow, msg->lane, object)) {
		object_release(object->id, object->last_reference, 0, NULL, 0);
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
 * may belong to another lane's file that is master until the lane has dropped that (open_file() in
 * shadow/fops.c), and only a master makes leases.
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
 * would wait for ever. A file that is an object already is accepted, as it keeps its own limits.
 */
static bool file_may_be_made(const struct object *maker, int fd)
{
	struct stat st;

	return !fstat(fd, &st) && !S_ISSOCK(st.st_mode) &&
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

	if (!object || object_is_used(object, shadow) || shadow_note(shadow, object->id)) {
		shadow_answer(shadow, msg->lane, object ? -ENOMEM : -EBADF, NULL, 0, -1);
		return;
	}
	len = object->grant ? grant_describe(object->grant, &policy) :
		limits_describe(object->limits, &policy);
	policy.object_kind = object->kind;
	policy.space = object->space;
	policy.no_demand = object->no_demand;
	shadow_answer(shadow, msg->lane, 0, &policy, len, object->fd);
}

static void ask_close(struct shadow *shadow, const struct eshadow_msg *msg)
{
	int ret;

	ret = object_release(msg->object, msg->value, 0, shadow, msg->lane);
	if (ret)
		shadow_answer(shadow, msg->lane, ret, NULL, 0, -1);
}

static void ask_sync(struct shadow *shadow, const struct eshadow_msg *msg)
{
	struct waiting *waiting;

	if (objects_applied(msg->value)) {
		shadow_answer(shadow, msg->lane, 0, NULL, 0, -1);
		return;
	}
	if (msg->lane >= SHADOW_LANES_MAX) {
		shadow_answer(shadow, msg->lane, -EINVAL, NULL, 0, -1);
		return;
	}
	/*
	 * Each lane may wait once. A second wait is an error of the shadow, which loses the first
	 * answer.
	 */
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

/* End the wait of a lane that is down. The wait may have been answered already. */
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
		ret = poller_ask(object, msg->value & VGPU_POLL_EVENTS, msg->extra,
				 msg->extra >> 32);
	shadow_answer(shadow, msg->lane, ret, NULL, 0, -1);
}

static void ask_quiet(struct shadow *shadow, const struct eshadow_msg *msg)
{
	const struct object *object = object_find(msg->object);
	bool video = object && object_is_video(object);

	if (video)
		objects_quiet(object->rdev);
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

/* Data that follows the struct eshadow_msg of some requests; more_of() tells the length. */
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

static bool has_file(uint32_t type)
{
	return type == ESHADOW_OPENED || type == ESHADOW_MADE || type == ESHADOW_EVENT;
}

/* Handle a message that needs no answer. Return: false if the message is a request. */
static bool shadow_news(struct shadow *shadow, const struct eshadow_msg *msg)
{
	switch (msg->type) {
	case ESHADOW_TAKE_BACK:
		object_release(msg->object, msg->value, 0, NULL, 0);
		return true;
	case ESHADOW_ACKED:
		givens_acked(shadow, msg->lane);
		return true;
	case ESHADOW_UNEVENT:
		event_cancel(msg->object, msg->value);
		return true;
	case ESHADOW_DROPPED:
		news_dropped(shadow, msg->object);
		return true;
	case ESHADOW_USAGE:
		news_usage(shadow, msg);
		return true;
	case ESHADOW_UNSYNC:
		ask_unsync(shadow, msg);
		return true;
	case ESHADOW_SHOWN:
		owner_shown(shadow, msg->lane);
		return true;
	default:
		return false;
	}
}

static void shadow_ask(struct shadow *shadow, const struct eshadow_msg *msg,
		       const union more *more, int fd)
{
	switch (msg->type) {
	case ESHADOW_OPEN:
		ask_open(shadow, msg);
		break;
	case ESHADOW_OPENED:
		ask_opened(shadow, msg, fd);
		break;
	case ESHADOW_MADE:
		ask_made(shadow, msg, fd);
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
	case ESHADOW_EVENT:
		ask_event(shadow, msg, fd);
		break;
	case ESHADOW_BIND:
		window_bind(shadow, msg, &more->bind);
		break;
	case ESHADOW_OWNER:
		owner_ask(shadow, msg);
		break;
	case ESHADOW_MAPS:
		owner_learn(shadow, msg, &more->memory);
		break;
	case ESHADOW_SHOW:
		owner_show(shadow, msg);
		break;
	case ESHADOW_KEEP:
		shadow_answer(shadow, msg->lane, kept_add(msg->object, msg->value, msg->extra),
			      NULL, 0, -1);
		break;
	case ESHADOW_ROOM:
		ask_room(shadow, msg);
		break;
	case ESHADOW_MASTER:
		master_ask(shadow, msg);
		break;
	case ESHADOW_QUIET:
		ask_quiet(shadow, msg);
		break;
	default:
		shadow_malformed(shadow);
	}
}

/* --- the connection to a shadow ---------------------------------------------------------- */

static void shadow_gone(struct shadow *shadow)
{
	/*
	 * The shadow may have had a file of NVIDIA's driver that it did not report. The file may
	 * still be in the socket: the number of the process is in use until the socket is closed.
	 */
	bool nvidia = grants_had_nvidia();
	struct waiting *waiting, *next;

	LIST_REMOVE(shadow, node);
	timer_cancel(&shadow->close_timer);
	timer_cancel(&shadow->drop_timer);
	timer_cancel(&shadow->hold_timer);
	/*
	 * Files may still wait in the socket, after an empty message that looked like the end. The
	 * kernel closes them with the socket, so the closer does that, after all files before it.
	 */
	source_del(&shadow->source);
	closer_close(shadow->source.fd, nvidia ? tgid_end : NULL, shadow->tgid);
	for (waiting = LIST_FIRST(&waitings); waiting; waiting = next) {
		next = LIST_NEXT(waiting, node);
		if (waiting->shadow == shadow) {
			LIST_REMOVE(waiting, node);
			free(waiting);
		}
	}
	window_shadow_gone(shadow);
	owner_shadow_gone(shadow);
	master_shadow_gone(shadow);
	objects_shadow_gone(shadow);
	/* The end of the process has closed these files. */
	while (shadow->nr_files)
		object_dropped(shadow->files[--shadow->nr_files]);
	/*
	 * The guest may not have these references: the shadow has reported no ACK. The shadow's
	 * lanes are gone, so nothing else drops the references.
	 */
	givens_take_back(shadow);
	/* A shadow that was killed has not given these back. */
	usage_add(shadow, -shadow->mapped_bytes, -(int64_t)shadow->nr_mappings,
		  -(int64_t)shadow->nr_lanes);
	shared->nr_sessions = --nr_sessions;
	agent_say(ENGINE_CLOSED, shadow->number);
	if (!nvidia)
		tgid_end(shadow->tgid);
	free(shadow->files);
	free(shadow);
	progress_notify();
}

/*
 * Return: true if requests of the shadow must not be read now: either the guest reads slowly, and
 * would have to be told of the results, or the shadow may have UNREAD_MAX files still to read.
 * @unread is only reset when the shadow's socket is found empty. With many lanes the socket is
 * seldom empty. Without new requests it becomes empty.
 */
static bool shadow_has_to_wait(struct shadow *shadow)
{
	int left;

	if (control_is_behind())
		return true;
	if (shadow->unread < UNREAD_MAX || shadow->ended)
		return false;
	if (ioctl(shadow->source.fd, SIOCOUTQ, &left) || left)
		return true;
	shadow->unread = 0;
	return false;
}

static void shadow_hold(struct shadow *shadow)
{
	source_set(&shadow->source, 0);
	timer_set(&shadow->hold_timer, HOLD_MS);
}

static void shadow_go_on(struct timer *timer)
{
	struct shadow *shadow = container_of(timer, struct shadow, hold_timer);

	source_set(&shadow->source, EPOLLIN);
}

/**
 * struct asked - a message of a shadow
 * @msg: the request
 * @more: data that follows the request
 * @fds: files that came with the message
 * @nr_fds: number of entries of @fds
 * @cut: true if the message or its list of files was cut off
 */
struct asked {
	struct {
		struct eshadow_msg msg;
		union more more;
	};
	int fds[FILES_MAX];
	size_t nr_fds;
	bool cut;
};

/*
 * Read a message. All of its files are taken: the kernel closes those that are not, and would do
 * so here in the loop.
 */
static ssize_t shadow_recv(struct shadow *shadow, struct asked *ask)
{
	static union {
		struct cmsghdr hdr;
		char space[CMSG_SPACE(FILES_MAX * sizeof(int))];
	} control;
	struct iovec iov = {
		.iov_base = &ask->msg,
		.iov_len = offsetof(struct asked, fds),
	};
	struct msghdr header = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg;
	ssize_t len;

	ask->nr_fds = 0;
	len = recvmsg(shadow->source.fd, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (len < 0)
		return -errno;
	cmsg = CMSG_FIRSTHDR(&header);
	if (cmsg && cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_RIGHTS) {
		ask->nr_fds = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(ask->fds, CMSG_DATA(cmsg), ask->nr_fds * sizeof(int));
	}
	ask->cut = header.msg_flags & (MSG_TRUNC | MSG_CTRUNC);
	return len;
}

static void shadow_ready(struct source *source, uint32_t events)
{
	struct shadow *shadow = container_of(source, struct shadow, source);
	struct asked ask;
	ssize_t len;

	if (!(events & EPOLLHUP) && shadow_has_to_wait(shadow)) {
		shadow_hold(shadow);
		return;
	}
	len = shadow_recv(shadow, &ask);
	/*
	 * -ECONNRESET: the shadow has ended without reading all. Messages that it has sent come
	 * next.
	 */
	if (len == -EAGAIN || len == -EINTR || len == -ECONNRESET)
		return;
	/* An empty message looks like the end of the connection, unless files come with it. */
	if (len < 0 || (!len && !ask.nr_fds && events & EPOLLHUP)) {
		shadow_gone(shadow);
		return;
	}
	if (ask.cut || len < (ssize_t)sizeof(ask.msg) ||
	    len != (ssize_t)(sizeof(ask.msg) + more_of(ask.msg.type)) ||
	    ask.nr_fds > has_file(ask.msg.type))
		shadow_malformed(shadow);
	else if (shadow_news(shadow, &ask.msg))
		return;
	/* After the end of a shadow no lane reads the answer, nor uses what it gives. */
	else if (!shadow->ended && !(events & EPOLLHUP)) {
		shadow_ask(shadow, &ask.msg, &ask.more, ask.nr_fds ? ask.fds[0] : -1);
		return;
	}
	while (ask.nr_fds)
		file_discard(ask.fds[--ask.nr_fds]);
}

/* --- requests of the guest and of vgpud --------------------------------------------------- */

/*
 * End the shadow of a closed session after CLOSE_WAIT_MS. The lanes and the control connection
 * are not ordered, so the shadow's threads get this time to read what was sent to them.
 */
static void session_close_look(struct timer *timer)
{
	struct shadow *shadow = container_of(timer, struct shadow, close_timer);

	shadow_end(shadow);
}

/*
 * Numbers of the sessions that the guest has closed and that had no shadow. vgpud may still be
 * making such a shadow, and messages of vgpud and of the guest are not ordered.
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

	/* The shadow has no connection to an engine, and ends. */
	if (fd < 0) {
		agent_say(ENGINE_CLOSED, number);
		agent_say(ENGINE_REAP, number);
		return;
	}
	shadow = calloc(1, sizeof(*shadow));
	if (shadow)
		shadow->tgid = tgid_new(number);
	if (!shadow || !shadow->tgid)
		engine_end("out of memory");
	shadow->number = number;
	shadow->source.fd = fd;
	shadow->source.ready = shadow_ready;
	shadow->close_timer.expired = session_close_look;
	shadow->drop_timer.expired = shadow_drops_late;
	shadow->hold_timer.expired = shadow_go_on;
	LIST_INIT(&shadow->givens);
	if (source_add(&shadow->source, EPOLLIN))
		engine_end("no room for one more shadow");
	LIST_INSERT_HEAD(&shadows, shadow, node);
	shared->nr_sessions = ++nr_sessions;
	ram_tell(shadow);
	if (session_was_closed(number))
		session_close(number);
}

/* Pass UNMAP on to a shadow. A missing session is no error: its shadow may have died. */
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
