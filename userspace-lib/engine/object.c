// SPDX-License-Identifier: MIT
/*
 * Objects: files that the guest may name by number. An object belongs to the guest, not to one of
 * the guest's processes. Its file is open in the engine, and in each shadow that has used the
 * object. When the guest drops its last reference the file is closed everywhere. If a shadow's
 * call has dropped that reference, this shadow closes the file last, and the driver's ->release
 * runs there. Else the engine closes the file last.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "engine.h"
#include "owner.h"

/* Older versions of linux/magic.h lack this number. */
#define DMABUF_FS	0x444d4142

LIST_HEAD(object_list, object);
static struct object_list objects = LIST_HEAD_INITIALIZER(objects);
static struct object_list closing_objects = LIST_HEAD_INITIALIZER(closing_objects);
static uint32_t last_id, nr_objects;
/* Number of the guest's references beyond the first one of each object. */
static uint32_t nr_repeated;
static uint64_t last_space;

/* --- properties of files -------------------------------------------------------- */

bool file_is_named(int fd, const char *name)
{
	char path[32], its[64] = "";

	snprintf(path, sizeof(path), "self/fd/%d", fd);
	return readlinkat(ENGINE_FD_PROC, path, its, sizeof(its) - 1) > 0 && !strcmp(its, name);
}

static uint32_t file_kind(int fd, const struct stat *st)
{
	struct statfs fs;

	if (S_ISCHR(st->st_mode))
		return VGPU_OBJECT_DEVICE;
	if (!fstatfs(fd, &fs) && fs.f_type == DMABUF_FS)
		return VGPU_OBJECT_DMABUF;
	if (file_is_named(fd, "anon_inode:sync_file"))
		return VGPU_OBJECT_SYNC_FILE;
	return VGPU_OBJECT_OTHER;
}

/* Return: true if the object's file is this very file, not just one of the same device. */
static bool file_same(const struct object *object, int fd, const struct stat *st)
{
	pid_t self = getpid();

	return object->dev == st->st_dev && object->ino == st->st_ino &&
	       !syscall(SYS_kcmp, self, self, KCMP_FILE, object->fd, fd);
}

/*
 * An address that no program has. The kernel rejects it before it calls the driver, and the errno
 * tells whether the driver has the operation.
 */
static void *const nowhere = (void *)-4096L;

static uint32_t file_operations(int fd)
{
	uint32_t mask = VGPU_FOP_IOCTL | VGPU_FOP_COMPAT_IOCTL | VGPU_FOP_MMAP | VGPU_FOP_FDINFO;
	struct epoll_event event = {};

	if (read(fd, nowhere, 1) < 0 && errno == EFAULT)
		mask |= VGPU_FOP_READ;
	if (write(fd, nowhere, 1) < 0 && errno == EFAULT)
		mask |= VGPU_FOP_WRITE;
	if (lseek(fd, 0, SEEK_CUR) >= 0 || errno != ESPIPE)
		mask |= VGPU_FOP_LLSEEK;
	if (pread(fd, nowhere, 1, 0) < 0 && errno == ESPIPE)
		mask |= VGPU_FOP_NO_PREAD;
	if (pwrite(fd, nowhere, 1, 0) < 0 && errno == ESPIPE)
		mask |= VGPU_FOP_NO_PWRITE;
	if ((mask & VGPU_FOP_NO_PREAD) && (mask & VGPU_FOP_NO_PWRITE) &&
	    !(mask & VGPU_FOP_LLSEEK))
		mask |= VGPU_FOP_STREAM;
	/*
	 * Add the file to the control connection, which is no epoll file: EINVAL says so, but the
	 * kernel checks first whether the added file can be polled (EPERM).
	 */
	if (epoll_ctl(ENGINE_FD_CONTROL, EPOLL_CTL_ADD, fd, &event) < 0 && errno == EINVAL)
		mask |= VGPU_FOP_POLL;
	return mask;
}

/*
 * Return: true if the driver keeps a list of those to signal (->fasync): fasync_helper() sets the
 * flag.
 */
static bool file_signals(int fd)
{
	int flags = fcntl(fd, F_GETFL), now;

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_ASYNC))
		return false;
	now = fcntl(fd, F_GETFL);
	fcntl(fd, F_SETFL, flags & ~O_ASYNC);
	return now >= 0 && (now & O_ASYNC);
}

/*
 * Return: the number of the address space that mappings of the object show. Mappings with the
 * same space and offset show the same memory. The kernel cannot be asked which address space a
 * file maps, so objects get spaces of their own unless they are known to share one.
 */
static uint64_t file_space(const struct object *object)
{
	const struct object *other;
	bool shares;

	LIST_FOREACH(other, &objects, node) {
		if (object->kind != other->kind)
			continue;
		switch (object->kind) {
		case VGPU_OBJECT_DEVICE:
			if (!object->grant || !other->grant)
				continue;
			/*
			 * All nodes of one DRM device share an address space; a node of V4L2 or
			 * ALSA has many.
			 */
			if (object->grant->policy.kind >= VGPU_EXPORT_VIDEO)
				continue;
			shares = object->rdev == other->rdev ||
				(object->grant->device &&
				 object->grant->device == other->grant->device);
			break;
		case VGPU_OBJECT_DMABUF:
			shares = object->dev == other->dev && object->ino == other->ino;
			break;
		default:
			continue;
		}
		if (shares)
			return other->space;
	}
	return ++last_space;
}

/* --- objects -------------------------------------------------------------------- */

struct object *object_find(uint32_t id)
{
	struct object *object;

	LIST_FOREACH(object, &objects, node)
		if (object->id == id)
			return object;
	return NULL;
}

struct object *object_by_fd(int fd)
{
	struct object *object;

	LIST_FOREACH(object, &objects, node)
		if (object->fd == fd)
			return object;
	return NULL;
}

int objects_each(int (*fn)(struct object *object))
{
	struct object *object;
	int ret = 0;

	LIST_FOREACH(object, &objects, node) {
		ret = fn(object);
		if (ret)
			break;
	}
	return ret;
}

void objects_quiet(dev_t rdev)
{
	struct object *object;

	/* Settle once for all objects, as this waits for the poller's thread. */
	LIST_FOREACH(object, &objects, node)
		if (object->kind == VGPU_OBJECT_DEVICE && object->rdev == rdev)
			poller_quiet_begin(object);
	poller_settle();
	LIST_FOREACH(object, &objects, node)
		if (object->kind == VGPU_OBJECT_DEVICE && object->rdev == rdev)
			poller_quiet_end(object);
}

bool object_is_video(const struct object *object)
{
	return object->grant && vgpu_export_is_video(object->grant->policy.kind);
}

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

	for (i = 0; i < object->nr_references; i++)
		if (object->references[i] == reference)
			return &object->references[i];
	return NULL;
}

/* Give the guest one more reference. Return: false at the limit, or if there is no memory. */
static bool reference_take(struct object *object)
{
	uint32_t *references;

	/* The guest drops repeated references at once, so an honest guest has few of them. */
	if (object->nr_references && nr_repeated >= start.limits.objects)
		return false;
	references = realloc(object->references, (object->nr_references + 1) * sizeof(*references));
	if (!references)
		return false;
	object->references = references;
	nr_repeated += !!object->nr_references;
	/* Numbers start with 0, also after the largest one. */
	do {
		object->last_reference++;
	} while (reference_find(object, object->last_reference));
	references[object->nr_references++] = object->last_reference;
	return true;
}

struct object *object_of_file(int fd, const struct stat *st)
{
	struct object *object;

	LIST_FOREACH(object, &objects, node)
		if (file_same(object, fd, st))
			return object;
	return NULL;
}

bool objects_full(void)
{
	return nr_objects >= start.limits.objects;
}

int object_take(int fd, struct grant *grant, uint64_t limits, bool may_be_known,
		struct object **taken)
{
	int flags = fcntl(fd, F_GETFL);
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
		if (!reference_take(object))
			return -EMFILE;
		*taken = object;
		return 0;
	}
	object = objects_full() ? NULL : calloc(1, sizeof(*object));
	if (object)
		object->last_reference = -1;
	if (!object || !reference_take(object)) {
		free(object);
		closer_close(fd, NULL, NULL);
		return -EMFILE;
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
		object->limits = grant->limits;
		object->no_demand = grant->no_demand;
	}
	object->space = file_space(object);
	owner_meet(object);
	poller_begin(object);
	LIST_INSERT_HEAD(&objects, object, node);
	shared->nr_objects = ++nr_objects;
	*taken = object;
	return 0;
}

void object_describe(const struct object *object, struct vgpu_object_desc *desc)
{
	struct stat st;

	*desc = (struct vgpu_object_desc) {
		.object = cpu_to_le32(object->id),
		.kind = cpu_to_le32(object->kind),
		.fops = cpu_to_le32(file_operations(object->fd)),
		.flags = cpu_to_le32(object->flags),
		.space = cpu_to_le64(object->space),
		.f_flags = cpu_to_le32(fcntl(object->fd, F_GETFL) & ~0100000 /* O_LARGEFILE */),
		.reference = cpu_to_le32(object->last_reference),
	};
	/* Do not ask DRM devices: none sends SIGIO, and the guest ignores the flag for them. */
	if (object->kind == VGPU_OBJECT_DEVICE && object->grant &&
	    object->grant->policy.kind != VGPU_EXPORT_DRM_PRIMARY &&
	    object->grant->policy.kind != VGPU_EXPORT_DRM_RENDER && !object->poll.async &&
	    file_signals(object->fd))
		desc->fops |= cpu_to_le32(VGPU_FOP_FASYNC);
	if (object->poll.async)
		desc->fops |= cpu_to_le32(VGPU_FOP_FASYNC);
	if (object->kind == VGPU_OBJECT_DMABUF && !fstat(object->fd, &st))
		desc->size = cpu_to_le64(st.st_size);
}

/* --- end of objects -------------------------------------------------------------- */

static void object_gone(void *arg)
{
	struct object *object = arg;
	bool control = object->close_seq;

	if (object->closer)
		shadow_answer(object->closer, object->lane, 1, NULL, 0, -1);
	grant_put(object->grant);
	owner_forget(object);
	tgid_file_closed(object->known);
	/* Count the object as long as its file is open, whatever the guest has closed. */
	shared->nr_objects = --nr_objects;
	LIST_REMOVE(object, node);
	free(object->references);
	free(object);
	if (control)
		progress_notify();
}

static void object_close(struct object *object)
{
	poller_forget(object);
	closer_close(object->fd, object_gone, object);
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
	*its = object->references[--object->nr_references];
	given_forget(id, reference);
	if (object->nr_references) {
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
		objects_quiet(object->rdev);
	}
	object->close_seq = seq;
	object->closer = shadow;
	object->lane = lane;
	if (shadow)
		shadow_forget(shadow, id);
	LIST_FOREACH(other, &shadows, node)
		if (other != shadow && shadow_drop(other, id))
			object->dropping++;
	if (!object->dropping)
		object_close(object);
	return 0;
}

bool object_dropped(uint32_t id)
{
	struct object *object;

	LIST_FOREACH(object, &closing_objects, node)
		if (object->id == id && object->dropping) {
			if (!--object->dropping)
				object_close(object);
			return true;
		}
	return false;
}

void objects_shadow_gone(struct shadow *shadow)
{
	struct object *object;

	LIST_FOREACH(object, &closing_objects, node)
		if (object->closer == shadow)
			object->closer = NULL;
}

bool objects_applied(uint64_t seq)
{
	struct object *object;

	if (control_last() < seq)
		return false;
	LIST_FOREACH(object, &closing_objects, node)
		if (object->close_seq && object->close_seq <= seq)
			return false;
	return true;
}
