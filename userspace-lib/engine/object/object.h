/* SPDX-License-Identifier: MIT */
/* Objects: see object.c. */
#ifndef ENGINE_OBJECT_H
#define ENGINE_OBJECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "engine/object/poller.h"

struct grant;
struct nvidia_memory;
struct shadow;
struct stat;
struct tgid_file;
struct vgpu_object_desc;

/**
 * struct object_references - the guest's references of an object (session/reference.c)
 * @numbers: numbers of the references
 * @nr: number of entries of @numbers; 0: the guest has closed the object
 * @last: number of the last reference that the guest got
 */
struct object_references {
	uint32_t *numbers;
	uint32_t nr;
	uint32_t last;
};

/**
 * struct object_closing - state of the close of an object (session/reference.c)
 * @nr_shadows: number of shadows that have still to close the file
 * @seq: number of the control message that closed the object; 0: a call closed it
 * @waiter: shadow whose call waits for the end of the close; NULL: no call waits, or the shadow
 *	has ended
 * @lane: index of the lane of @waiter that waits
 */
struct object_closing {
	unsigned int nr_shadows;
	uint64_t seq;
	struct shadow *waiter;
	uint32_t lane;
};

/**
 * struct object - a file that the guest has
 * @id: number of the object; kept while the object is being closed
 * @fd: the file; -1: the closer has been given the file
 * @references: the guest's references
 * @kind: kind of the file: VGPU_OBJECT_DEVICE or another one
 * @flags: access mode of the file: VGPU_OBJECT_READ, VGPU_OBJECT_WRITE
 * @space: number of the address space that mappings of the object show
 * @dev: device number of the file system of the file's inode
 * @ino: number of the file's inode
 * @rdev: device number of a device
 * @memory: memory of NVIDIA's driver that a mapping of the object shows; NULL: unknown
 * @keeps: true if the driver may keep memory of the guest until this very file is released
 * @no_demand: true if the driver does not wait for the guest's memory
 * @lent: true if a hypervisor has mapped, or may have mapped, this very file
 * @known: entry of the file in tgid.c, as NVIDIA's driver may know processes by the file; NULL:
 *	the file is of another driver, or no process has got the file
 * @grant: grant of the export; NULL: the object is no device
 * @origin: vgpud's number of the export that the object is of or came from, for counts
 * @limits: bit mask of the sets of limits (lists of ioctls, and demand or none) of the exports
 *	that the object came from; grant.c has the sets. An export without limits has no bit
 * @closing: state of the close, once the guest has dropped its last reference
 * @poll: readiness of the object
 */
struct object {
	LIST_ENTRY(object) node;
	uint32_t id;
	int fd;
	struct object_references references;
	uint32_t kind;
	uint32_t flags;
	uint64_t space;
	dev_t dev;
	ino_t ino;
	dev_t rdev;
	struct nvidia_memory *memory;
	bool keeps;
	bool no_demand;
	bool lent;
	struct tgid_file *known;
	struct grant *grant;
	uint32_t origin;
	uint64_t limits;
	struct object_closing closing;
	struct polled poll;
};

/*
 * List of the objects of which the guest has a reference. Only these are found by number or by
 * file. Objects that are being closed are in a list of session/reference.c.
 */
LIST_HEAD(object_list, object);
extern struct object_list all_objects;

/*
 * Return: the number of the address space that mappings of the object show. Mappings with the
 * same space and offset show the same memory. The kernel cannot be asked which address space a
 * file maps, so objects get spaces of their own unless they are known to share one.
 */
uint64_t object_space(const struct object *object);
struct object *object_find(uint32_t id);
/* Return: the object whose file is @fd, or NULL. @st: result of fstat() of @fd. */
struct object *object_of_file(int fd, const struct stat *st);
/* Return: true if the object is a file of V4L2; the media controller is none. */
bool object_is_video(const struct object *object);
/* Describe the object, and the reference that the guest got last. */
void object_describe(const struct object *object, struct vgpu_object_desc *desc);

#endif /* ENGINE_OBJECT_H */
