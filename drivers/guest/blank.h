/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Blank buffers: a call on a file has just made them, cleared, and nobody but programs that have
 * the file can have written to them since. Their pages need not be fetched before they are
 * written to.
 *
 * That ends for all buffers of a file with the first call on it that may let the device, or
 * another file, see them: each that its schema does not call VGPU_IOCTL_NO_MAPPED, nor an ioctl
 * that makes such a buffer or tells its offset. It ends before the call flushes what is dirty.
 * It also ends with an mmap() that is not the first one of such a buffer, as offsets that were
 * not heard of may show any memory. And it ends for each page that was fetched or written to.
 */
#ifndef VGPU_BLANK_H
#define VGPU_BLANK_H

#include <linux/bitops.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/types.h>

#include "mapping.h"
#include "space.h"

struct vgpu_object;
struct vgpu_schema_blank;
struct vgpu_schema_ioctl;

/* Buffers of a file that may wait to be mapped; the oldest one makes room for another. */
#define VGPU_BLANK_BUFS		16

/**
 * struct vgpu_blank_buf - a buffer that nothing has mapped yet
 * @handle: its name
 * @offset: for mmap, if it is @placed
 * @used: there is one
 * @placed: its offset is known
 */
struct vgpu_blank_buf {
	u64 handle;
	u64 offset;
	bool used;
	bool placed;
};

/**
 * struct vgpu_blank - the blank buffers of one file; guarded by its space's lock
 * @any: there may be some; read anywhere
 * @ends: how often they have ended
 * @next: the entry of @bufs that is taken next
 * @bufs: those that are not mapped
 * @mappings: struct vgpu_mapping of the others
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
 * @what: it says of a blank buffer; NULL: nothing
 * @handle: of a buffer of which it tells the offset
 * @ends: as it was before the call
 */
struct vgpu_blank_call {
	const struct vgpu_schema_blank *what;
	u64 handle;
	u64 ends;
};

/**
 * vgpu_blank_ioctl_begin - an ioctl is about to be made
 * @call: any memory
 * @object: on which
 * @ioctl: its schema, or NULL: there is none
 * @cmd: the command
 * @arg: its argument
 *
 * Context: process, before vgpu_call_run().
 */
void vgpu_blank_ioctl_begin(struct vgpu_blank_call *call, struct vgpu_object *object,
			    const struct vgpu_schema_ioctl *ioctl, u32 cmd, unsigned long arg);
/* It has succeeded, and the results are in place. */
void vgpu_blank_ioctl_done(const struct vgpu_blank_call *call, struct vgpu_object *object,
			   unsigned long arg);

/* A call is about to be made that may do anything. The same context. */
void vgpu_blank_end(struct vgpu_object *object);

/**
 * vgpu_blank_mmap_begin - something of a file is about to be mapped
 * @object: the file
 * @offset: from here on
 * @ends: out: for vgpu_blank_mmap_done()
 *
 * Context: process; the mmap lock may be held.
 * Return: it is a blank buffer.
 */
bool vgpu_blank_mmap_begin(struct vgpu_object *object, u64 offset, u64 *ends);
/* It is mapped, and no program has seen it yet. */
void vgpu_blank_mmap_done(struct vgpu_object *object, struct vgpu_mapping *mapping, u64 ends);

/* No page of this mapping is blank any more: each is fetched. */
void vgpu_blank_forget(struct vgpu_mapping *mapping);
/* The last reference of the file goes. */
void vgpu_blank_free(struct vgpu_object *object);

/* Nobody has written to the page at @index of the space, nor read it. */
static inline bool vgpu_blank_is(const struct vgpu_mapping *mapping, pgoff_t index)
{
	lockdep_assert_held(&mapping->space->lock);
	return mapping->touched && !test_bit(index - mapping->pgoff, mapping->touched);
}

static inline void vgpu_blank_touch(struct vgpu_mapping *mapping, pgoff_t index)
{
	lockdep_assert_held(&mapping->space->lock);
	if (mapping->touched)
		__set_bit(index - mapping->pgoff, mapping->touched);
}

#endif /* VGPU_BLANK_H */
