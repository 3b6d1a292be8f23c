/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Blank buffers: buffers that a call on a file has just made, whose bytes are zero or undefined,
 * and which only programs that have the file can have written to since. A page of a blank buffer
 * need not be fetched before it is written to.
 *
 * All buffers of a file cease to be blank with the first call on the file that may let the device,
 * or another file, see them. Any call may, except for ioctls that the schema marks
 * VGPU_IOCTL_NO_MAPPED, and ioctls that make such a buffer or tell its offset. The buffers cease to
 * be blank before the call flushes dirty bytes. They also cease to be blank with an mmap() of
 * anything but a blank buffer that is not mapped yet, as any other offset may show any memory. A
 * single page is not blank any more once it was fetched or written to.
 */
#ifndef VGPU_BLANK_H
#define VGPU_BLANK_H

#include <linux/bitops.h>
#include <linux/list.h>
#include <linux/lockdep.h>

#include "memory/mapping.h"
#include "memory/space.h"

struct vgpu_object;
struct vgpu_schema_ioctl;

/* Maximum number of buffers of a file that wait to be mapped; a new one replaces the oldest. */
#define VGPU_BLANK_BUFS		16

/**
 * struct vgpu_blank_buf - a blank buffer that no mapping shows yet
 * @handle: handle by which ioctls name the buffer
 * @offset: offset for mmap in bytes, if @placed
 * @used: true if the entry has a buffer
 * @placed: true if the offset is known
 */
struct vgpu_blank_buf {
	u64 handle;
	u64 offset;
	bool used;
	bool placed;
};

/**
 * struct vgpu_blank - the blank buffers of one file; protected by its space's lock
 * @any: true if the file may have a blank buffer; read anywhere
 * @ends: number of times that all buffers have ceased to be blank
 * @next: index in @bufs of the entry that is used next
 * @bufs: blank buffers that are not mapped
 * @mappings: list of struct vgpu_mapping that show the blank buffers which are not in @bufs
 */
struct vgpu_blank {
	bool any;
	u64 ends;
	unsigned int next;
	struct vgpu_blank_buf bufs[VGPU_BLANK_BUFS];
	struct list_head mappings;
};

/**
 * struct vgpu_blank_call - an ioctl under way
 * @what: schema of what the ioctl does to a blank buffer; NULL: nothing
 * @handle: handle of the buffer of which the ioctl tells the offset
 * @ends: value of @ends of struct vgpu_blank before the call
 */
struct vgpu_blank_call {
	const struct vgpu_schema_blank *what;
	u64 handle;
	u64 ends;
};

/**
 * vgpu_blank_ioctl_begin - prepare for an ioctl, which may make a blank buffer or end all of them
 * @call: state of the ioctl, to be filled in
 * @object: object on which the ioctl is made
 * @ioctl: schema of the ioctl, or NULL: there is none
 * @cmd: command
 * @arg: argument
 *
 * Context: process, before vgpu_op_run().
 */
void vgpu_blank_ioctl_begin(struct vgpu_blank_call *call, struct vgpu_object *object,
			    const struct vgpu_schema_ioctl *ioctl, u32 cmd, unsigned long arg);
/* Note the new buffer or offset of an ioctl that has succeeded and has its results in place. */
void vgpu_blank_ioctl_done(const struct vgpu_blank_call *call, struct vgpu_object *object,
			   unsigned long arg);

/* Count no buffer of a file as blank any more, before a call that may do anything. May sleep. */
void vgpu_blank_end(struct vgpu_object *object);

/**
 * vgpu_blank_mmap_begin - prepare to map a part of a file
 * @object: object of the file
 * @offset: offset of the part in bytes
 * @ends: out: value of @ends of struct vgpu_blank, for vgpu_blank_mmap_done()
 *
 * If the part is not a blank buffer, no buffer of the file counts as blank afterwards.
 *
 * Context: process; mmap_lock may be held.
 * Return: true if the part is a blank buffer that was not mapped before.
 */
bool vgpu_blank_mmap_begin(struct vgpu_object *object, u64 offset, u64 *ends);
/* Note that @mapping, which no program has seen yet, shows a blank buffer. */
void vgpu_blank_mmap_done(struct vgpu_object *object, struct vgpu_mapping *mapping, u64 ends);

/* Count no page of a mapping as blank any more: a page is fetched before a store from now on. */
void vgpu_blank_forget(struct vgpu_mapping *mapping);
/* Free the file's record of blank buffers, when the last reference of the object is dropped. */
void vgpu_blank_free(struct vgpu_object *object);

/* Check whether the page at @index of the space is blank: it was neither fetched nor written to. */
static inline bool vgpu_blank_is(const struct vgpu_mapping *mapping, pgoff_t index)
{
	lockdep_assert_held(&mapping->space->lock);
	return mapping->blank.touched && !test_bit(index - mapping->pgoff, mapping->blank.touched);
}

static inline void vgpu_blank_touch(struct vgpu_mapping *mapping, pgoff_t index)
{
	lockdep_assert_held(&mapping->space->lock);
	if (mapping->blank.touched)
		__set_bit(index - mapping->pgoff, mapping->blank.touched);
}

#endif /* VGPU_BLANK_H */
