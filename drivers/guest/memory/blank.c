// SPDX-License-Identifier: GPL-2.0-only
/* Blank buffers: see blank.h. */
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "argument/schema.h"
#include "memory/blank.h"
#include "memory/object.h"

static bool blank_get(unsigned long arg, const struct vgpu_schema_ref *ref, u64 *value)
{
	*value = 0;
	return !copy_from_user(value, (void __user *)(arg + ref->offset), ref->size);
}

/* Check that the argument has all fields: the struct of an older program may be shorter. */
static bool blank_fits(const struct vgpu_schema_blank *what, u32 size)
{
	return what->handle.offset + what->handle.size <= size &&
		what->offset.offset + what->offset.size <= size &&
		what->when.ref.offset + what->when.ref.size <= size;
}

/* Return: the blank buffers of the file, allocated on first use; NULL: out of memory. */
static struct vgpu_blank *blank_of(struct vgpu_object *object)
{
	struct vgpu_blank *blank = READ_ONCE(object->memory.blank), *other;

	if (blank)
		return blank;
	blank = kzalloc(sizeof(*blank), GFP_KERNEL_ACCOUNT);
	if (!blank)
		return NULL;
	INIT_LIST_HEAD(&blank->mappings);
	other = cmpxchg(&object->memory.blank, NULL, blank);
	if (!other)
		return blank;
	kfree(blank);
	return other;
}

static void blank_forget_locked(struct vgpu_mapping *mapping)
{
	lockdep_assert_held(&mapping->space->lock);
	list_del_init(&mapping->blank.entry);
	kvfree(mapping->blank.touched);
	mapping->blank.touched = NULL;
}

void vgpu_blank_end(struct vgpu_object *object)
{
	struct vgpu_blank *blank = READ_ONCE(object->memory.blank);
	struct vgpu_mapping *mapping, *tmp;

	/*
	 * No lock is needed: a caller that can name a buffer has its handle from an ioctl that
	 * has returned, and blank->any was set before that ioctl.
	 */
	if (!blank || !READ_ONCE(blank->any))
		return;
	/*
	 * A fault that took a page for blank has made the page dirty under this lock, so the flush
	 * of the caller's call finds it.
	 */
	mutex_lock(&object->memory.space->lock);
	WRITE_ONCE(blank->any, false);
	blank->ends++;
	memset(blank->bufs, 0, sizeof(blank->bufs));
	list_for_each_entry_safe(mapping, tmp, &blank->mappings, blank.entry)
		blank_forget_locked(mapping);
	mutex_unlock(&object->memory.space->lock);
}

void vgpu_blank_ioctl_begin(struct vgpu_blank_call *call, struct vgpu_object *object,
			    const struct vgpu_schema_ioctl *ioctl, u32 cmd, unsigned long arg)
{
	struct vgpu_blank *blank;

	call->what = NULL;
	if (!ioctl || !(ioctl->blank || (ioctl->flags & VGPU_IOCTL_NO_MAPPED))) {
		vgpu_blank_end(object);
		return;
	}
	if (!ioctl->blank || !blank_fits(ioctl->blank, _IOC_SIZE(cmd)))
		return;
	/* The handle is read before the call, as the driver may overwrite it. */
	if (!ioctl->blank->makes && !blank_get(arg, &ioctl->blank->handle, &call->handle))
		return;
	blank = blank_of(object);
	if (!blank)
		return;
	mutex_lock(&object->memory.space->lock);
	if (ioctl->blank->makes)
		WRITE_ONCE(blank->any, true);
	call->ends = blank->ends;
	mutex_unlock(&object->memory.space->lock);
	call->what = ioctl->blank;
}

static void blank_made(struct vgpu_blank *blank, u64 handle, bool placed, u64 offset)
{
	blank->bufs[blank->next] = (struct vgpu_blank_buf) {
		.handle = handle,
		.offset = offset,
		.used = true,
		.placed = placed,
	};
	blank->next = (blank->next + 1) % VGPU_BLANK_BUFS;
}

static void blank_placed(struct vgpu_blank *blank, u64 handle, u64 offset)
{
	unsigned int i;

	for (i = 0; i < VGPU_BLANK_BUFS; i++) {
		struct vgpu_blank_buf *buf = &blank->bufs[i];

		if (!buf->used || buf->handle != handle)
			continue;
		buf->placed = true;
		buf->offset = offset;
	}
}

void vgpu_blank_ioctl_done(const struct vgpu_blank_call *call, struct vgpu_object *object,
			   unsigned long arg)
{
	const struct vgpu_schema_blank *what = call->what;
	u64 handle = call->handle, offset = 0, value = 0;
	struct vgpu_blank *blank = object->memory.blank;
	bool placed;

	if (!what)
		return;
	placed = what->offset.kind == VGPU_REF_FIELD;
	if ((what->when.ref.kind == VGPU_REF_FIELD && !blank_get(arg, &what->when.ref, &value)) ||
	    (value & what->when.mask) != what->when.value ||
	    (what->makes && !blank_get(arg, &what->handle, &handle)) ||
	    (placed && !blank_get(arg, &what->offset, &offset)))
		return;
	mutex_lock(&object->memory.space->lock);
	/* If @ends has changed, the buffer may be another one by now, or not be blank any more. */
	if (blank->ends == call->ends && what->makes)
		blank_made(blank, handle, placed, offset);
	else if (blank->ends == call->ends)
		blank_placed(blank, handle, offset);
	mutex_unlock(&object->memory.space->lock);
}

bool vgpu_blank_mmap_begin(struct vgpu_object *object, u64 offset, u64 *ends)
{
	struct vgpu_blank *blank = READ_ONCE(object->memory.blank);
	bool found = false;
	unsigned int i;

	if (!blank || !READ_ONCE(blank->any))
		return false;
	mutex_lock(&object->memory.space->lock);
	*ends = blank->ends;
	for (i = 0; i < VGPU_BLANK_BUFS && !found; i++) {
		struct vgpu_blank_buf *buf = &blank->bufs[i];

		found = buf->used && buf->placed && buf->offset == offset;
		if (found)
			buf->used = false;
	}
	mutex_unlock(&object->memory.space->lock);
	if (!found)
		vgpu_blank_end(object);
	return found;
}

void vgpu_blank_mmap_done(struct vgpu_object *object, struct vgpu_mapping *mapping, u64 ends)
{
	struct vgpu_blank *blank = object->memory.blank;
	unsigned long *touched;

	touched = kvcalloc(BITS_TO_LONGS(mapping->nr), sizeof(*touched), GFP_KERNEL_ACCOUNT);
	if (!touched)
		return;
	mutex_lock(&object->memory.space->lock);
	if (blank->ends == ends) {
		mapping->blank.touched = touched;
		list_add(&mapping->blank.entry, &blank->mappings);
		touched = NULL;
	}
	mutex_unlock(&object->memory.space->lock);
	kvfree(touched);
}

void vgpu_blank_forget(struct vgpu_mapping *mapping)
{
	mutex_lock(&mapping->space->lock);
	blank_forget_locked(mapping);
	mutex_unlock(&mapping->space->lock);
}

void vgpu_blank_free(struct vgpu_object *object)
{
	vgpu_blank_end(object);
	kfree(object->memory.blank);
}
