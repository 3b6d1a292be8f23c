// SPDX-License-Identifier: MIT
/*
 * Objects: files that the guest may name by number. An object belongs to the guest, not to one of
 * the guest's processes. Its file is open in the engine, and in each shadow that has used the
 * object.
 */
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/guest/grant.h"
#include "engine/object/file.h"
#include "engine/object/object.h"
#include "policy.h"

struct object_list all_objects = LIST_HEAD_INITIALIZER(all_objects);
static uint64_t last_space;

uint64_t object_space(const struct object *object)
{
	const struct object *other;
	bool shares;

	LIST_FOREACH(other, &all_objects, node) {
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

struct object *object_find(uint32_t id)
{
	struct object *object;

	LIST_FOREACH(object, &all_objects, node)
		if (object->id == id)
			return object;
	return NULL;
}

bool object_is_video(const struct object *object)
{
	return object->grant && vgpu_export_is_video(object->grant->policy.kind);
}

struct object *object_of_file(int fd, const struct stat *st)
{
	struct object *object;
	pid_t self = getpid();

	/* Compare open files, as several of them may share an inode: that of a device, say. */
	LIST_FOREACH(object, &all_objects, node)
		if (object->dev == st->st_dev && object->ino == st->st_ino &&
		    !syscall(SYS_kcmp, self, self, KCMP_FILE, object->fd, fd))
			return object;
	return NULL;
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
		.reference = cpu_to_le32(object->references.last),
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
