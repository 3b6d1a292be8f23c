// SPDX-License-Identifier: MIT
/*
 * The guest's references of objects. When the guest drops its last reference the file is closed
 * everywhere. If a shadow's call has dropped that reference, this shadow closes the file last, and
 * the driver's ->release runs there. Else the engine closes the file last.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "engine/base/agent.h"
#include "engine/base/closer.h"
#include "engine/guest/control.h"
#include "engine/guest/grant.h"
#include "engine/memory/channel.h"
#include "engine/memory/owner.h"
#include "engine/memory/window.h"
#include "engine/object/event.h"
#include "engine/object/file.h"
#include "engine/object/object.h"
#include "engine/object/poller.h"
#include "engine/process/shadow.h"
#include "engine/process/tgid.h"
#include "engine/session/reference.h"

static struct object_list closing_objects = LIST_HEAD_INITIALIZER(closing_objects);
static uint32_t last_id, nr_objects;
/* Number of the guest's references beyond the first one of each object. */
static uint32_t nr_repeated;

static bool id_is_used(uint32_t id)
{
	const struct object *object;

	if (object_find(id))
		return true;
	LIST_FOREACH(object, &closing_objects, node)
		if (object->id == id)
			return true;
	return false;
}

/*
 * Find a free number: there are far more numbers than objects. Numbers begin at 1 again after the
 * last.
 */
static uint32_t free_id(void)
{
	do {
		last_id = last_id < INT32_MAX ? last_id + 1 : 1;
	} while (id_is_used(last_id));
	return last_id;
}

static uint32_t *reference_find(const struct object *object, uint32_t reference)
{
	uint32_t i;

	for (i = 0; i < object->references.nr; i++)
		if (object->references.numbers[i] == reference)
			return &object->references.numbers[i];
	return NULL;
}

/* Give the guest one more reference. Return: 0, -EMFILE at the limit, or -ENOMEM. */
static int reference_take(struct object *object)
{
	uint32_t *references;

	/* The guest drops repeated references at once, so an honest guest has few of them. */
	if (object->references.nr && nr_repeated >= start.limits.objects)
		return -EMFILE;
	references = realloc(object->references.numbers,
			     (object->references.nr + 1) * sizeof(*references));
	if (!references)
		return -ENOMEM;
	object->references.numbers = references;
	nr_repeated += !!object->references.nr;
	/* Numbers start with 0, also after the largest one. */
	do {
		object->references.last++;
	} while (reference_find(object, object->references.last));
	references[object->references.nr++] = object->references.last;
	return 0;
}

bool objects_full(void)
{
	return nr_objects >= start.limits.objects;
}

int object_take(int fd, struct grant *grant, uint64_t limits, bool may_be_known,
		struct object **taken)
{
	int flags = fcntl(fd, F_GETFL), ret;
	struct object *object;
	struct stat st;

	/*
	 * A file opened with O_PATH cannot be polled, and poll() would report POLLNVAL all the
	 * time.
	 */
	if (flags < 0 || flags & O_PATH || fstat(fd, &st)) {
		closer_close(fd, NULL, NULL);
		return -EBADF;
	}
	object = may_be_known ? object_of_file(fd, &st) : NULL;
	if (object) {
		closer_close(fd, NULL, NULL);
		ret = reference_take(object);
		if (ret)
			return ret;
		*taken = object;
		return 0;
	}
	ret = objects_full() ? -EMFILE : -ENOMEM;
	object = objects_full() ? NULL : calloc(1, sizeof(*object));
	if (object) {
		object->references.last = -1;
		ret = reference_take(object);
	}
	if (ret) {
		free(object);
		closer_close(fd, NULL, NULL);
		return ret;
	}
	object->id = free_id();
	object->fd = fd;
	object->dev = st.st_dev;
	object->ino = st.st_ino;
	object->rdev = st.st_rdev;
	object->kind = file_kind(fd, &st);
	if ((flags & O_ACCMODE) == O_RDONLY || (flags & O_ACCMODE) == O_RDWR)
		object->flags |= VGPU_OBJECT_READ;
	if ((flags & O_ACCMODE) == O_WRONLY || (flags & O_ACCMODE) == O_RDWR)
		object->flags |= VGPU_OBJECT_WRITE;
	object->limits = limits;
	object->no_demand = limits_no_demand(limits);
	if (object->kind == VGPU_OBJECT_DEVICE && grant) {
		grant->users++;
		object->grant = grant;
		object->origin = grant->export;
		object->limits = grant->limits;
		object->no_demand = grant->no_demand;
	}
	object->space = object_space(object);
	owner_meet(object);
	poller_begin(object);
	LIST_INSERT_HEAD(&all_objects, object, node);
	shared->nr_objects = ++nr_objects;
	use_most32(&shared->most.objects, nr_objects);
	*taken = object;
	return 0;
}

/* --- end of objects -------------------------------------------------------------- */

static void object_gone(void *arg)
{
	struct object *object = arg;
	bool control = object->closing.seq;

	if (object->closing.waiter)
		shadow_answer(object->closing.waiter, object->closing.lane, 1, NULL, 0, -1);
	grant_put(object->grant);
	owner_forget(object);
	tgid_file_closed(object->known);
	/* Count the object as long as its file is open, whatever the guest has closed. */
	shared->nr_objects = --nr_objects;
	LIST_REMOVE(object, node);
	free(object->references.numbers);
	free(object);
	if (control)
		progress_notify();
}

static void object_close(struct object *object)
{
	poller_forget(object);
	channel_close(object, object_gone);
	object->fd = -1;
}

int object_release(uint32_t id, uint32_t reference, uint64_t seq, struct shadow *shadow,
		   uint32_t lane)
{
	struct object *object = object_find(id);
	uint32_t *its = object ? reference_find(object, reference) : NULL;
	struct shadow *other;

	if (!its)
		return -EBADF;
	*its = object->references.numbers[--object->references.nr];
	given_forget(id, reference);
	if (object->references.nr) {
		nr_repeated--;
		if (shadow)
			shadow_answer(shadow, lane, 0, NULL, 0, -1);
		return 0;
	}
	LIST_REMOVE(object, node);
	LIST_INSERT_HEAD(&closing_objects, object, node);
	events_object_gone(id);
	window_object_closed(id);
	/*
	 * The release of the file frees its buffers: the poller must not ask the node's driver
	 * (poller.c).
	 */
	if (object_is_video(object)) {
		poller_forget(object);
		poller_quiet(object->rdev);
	}
	object->closing.seq = seq;
	object->closing.waiter = shadow;
	object->closing.lane = lane;
	if (shadow)
		shadow_forget(shadow, id);
	LIST_FOREACH(other, &shadows, node)
		if (other != shadow && shadow_drop(other, id))
			object->closing.nr_shadows++;
	if (!object->closing.nr_shadows)
		object_close(object);
	return 0;
}

void objects_cut(uint32_t export)
{
	struct object *object, *next;
	struct shadow *shadow;
	uint32_t id, nr;

	/* Mappings outlive the files, so shadows count that have closed all files as well. */
	LIST_FOREACH(shadow, &shadows, node)
		if (shadow_has_used(shadow, export))
			shadow_end(shadow);
	LIST_FOREACH_SAFE(object, &all_objects, node, next) {
		if (object->origin != export)
			continue;
		id = object->id;
		poller_hang_up(object);
		/* The object is not in the list any more when its last reference is dropped. */
		for (nr = object->references.nr; nr; nr--)
			object_release(id, object->references.numbers[nr - 1], 0, NULL, 0);
	}
}

bool object_dropped(uint32_t id)
{
	struct object *object;

	LIST_FOREACH(object, &closing_objects, node)
		if (object->id == id && object->closing.nr_shadows) {
			if (!--object->closing.nr_shadows)
				object_close(object);
			return true;
		}
	return false;
}

void objects_shadow_gone(struct shadow *shadow)
{
	struct object *object;

	LIST_FOREACH(object, &closing_objects, node)
		if (object->closing.waiter == shadow)
			object->closing.waiter = NULL;
}

bool objects_applied(uint64_t seq)
{
	struct object *object;

	if (control_last() < seq)
		return false;
	LIST_FOREACH(object, &closing_objects, node)
		if (object->closing.seq && object->closing.seq <= seq)
			return false;
	return true;
}
