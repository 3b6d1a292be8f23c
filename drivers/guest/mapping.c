// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mappings: see mapping.h.
 *
 * The shadow's mapping lives as long as any VMA of any process shows it. The
 * core tells of new VMAs (fork, and splits by partial munmap or mprotect) and of
 * those that go, so a mapping keeps *spans*: how many address spaces cover each
 * part. A fork adds one for the VMA's range; a split adds none, since the two
 * halves cover what the one did; a close takes one away, and a part that nobody
 * covers any more ends at the host. So does one that the process whose shadow it
 * is has unmapped: it may have something else at the address now, which its calls
 * mean. A child that still shows the part finds SIGBUS there.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "call.h"
#include "compat.h"
#include "control.h"
#include "export.h"
#include "host.h"
#include "mapping.h"
#include "object.h"
#include "session.h"
#include "space.h"
#include "window.h"

/*
 * Pages [first, end) of the space are covered by @users VMAs, @own of them of the
 * process whose shadow has them.
 */
struct mapping_span {
	struct list_head node;
	pgoff_t first;
	pgoff_t end;
	unsigned int users;
	unsigned int own;
};

static struct mapping_span *span_alloc(pgoff_t first, pgoff_t end)
{
	/* Needed where a VMA goes away, which cannot fail. */
	struct mapping_span *span = kmalloc(sizeof(*span), GFP_KERNEL | __GFP_NOFAIL);

	span->first = first;
	span->end = end;
	span->users = 1;
	span->own = 1;
	return span;
}

/*
 * Make @at a border of spans. Takes a spare of the caller's if it needs one.
 * Return: what is left of it.
 */
static struct mapping_span *span_split(struct vgpu_mapping *mapping, pgoff_t at,
				       struct mapping_span *spare)
{
	struct mapping_span *span;

	lockdep_assert_held(&mapping->lock);
	list_for_each_entry(span, &mapping->spans, node) {
		if (at <= span->first || at >= span->end)
			continue;
		spare->first = at;
		spare->end = span->end;
		spare->users = span->users;
		spare->own = span->own;
		span->end = at;
		list_add(&spare->node, &span->node);
		return NULL;
	}
	return spare;
}

/* Count @vma once more or less; what ends goes to @gone. */
static void spans_count(struct vgpu_mapping *mapping, struct vm_area_struct *vma, int change,
			struct list_head *gone)
{
	bool own = vma->vm_mm == mapping->session->mm;
	/* At its end the process maps nothing else. */
	bool unmapped = own && change < 0 && atomic_read(&vma->vm_mm->mm_users);
	pgoff_t first = vma->vm_pgoff, end = first + vma_pages(vma);
	struct mapping_span *a = span_alloc(0, 0);
	struct mapping_span *b = span_alloc(0, 0);
	struct mapping_span *span, *tmp;

	spin_lock(&mapping->lock);
	a = span_split(mapping, first, a);
	b = span_split(mapping, end, b);
	list_for_each_entry_safe(span, tmp, &mapping->spans, node) {
		if (span->first < first || span->end > end)
			continue;
		span->users += change;
		span->own += own ? change : 0;
		if (!span->users || (unmapped && !span->own))
			list_move_tail(&span->node, gone);
	}
	spin_unlock(&mapping->lock);
	kfree(a);
	kfree(b);
}

/* How many are as this one is. */
static atomic64_t *mapping_count(struct vgpu_mapping *mapping)
{
	struct vgpu_stats *stats = &mapping->export->stats;

	return mapping->range ? &stats->window_mappings : &stats->copy_mappings;
}

static void mapping_release(struct kref *ref)
{
	struct vgpu_mapping *mapping = container_of(ref, struct vgpu_mapping, ref);
	struct mapping_span *span, *tmp;

	list_for_each_entry_safe(span, tmp, &mapping->spans, node)
		kfree(span);
	if (mapping->range)
		vgpu_window_release(mapping->range, true);
	atomic64_dec(mapping_count(mapping));
	vgpu_space_put(mapping->space);
	vgpu_export_put(mapping->export);
	vgpu_session_release(mapping->session);
	vgpu_session_put(mapping->session);
	kfree(mapping);
}

struct vgpu_mapping *vgpu_mapping_get(struct vgpu_mapping *mapping)
{
	kref_get(&mapping->ref);
	return mapping;
}

void vgpu_mapping_put(struct vgpu_mapping *mapping)
{
	kref_put(&mapping->ref, mapping_release);
}

u64 vgpu_mapping_addr(const struct vgpu_mapping *mapping, pgoff_t pgoff)
{
	return mapping->addr + ((u64)(pgoff - mapping->pgoff) << PAGE_SHIFT);
}

pgoff_t vgpu_mapping_covered(struct vgpu_mapping *mapping, pgoff_t pgoff)
{
	struct mapping_span *span;
	pgoff_t end = pgoff;

	spin_lock(&mapping->lock);
	list_for_each_entry(span, &mapping->spans, node) {
		if (span->first > end)
			break;
		end = max(end, span->end);
	}
	spin_unlock(&mapping->lock);
	return end - pgoff;
}

void vgpu_mapping_leave_error(struct vgpu_mapping *mapping, pgoff_t pgoff, int error)
{
	spin_lock(&mapping->lock);
	mapping->error = error;
	mapping->error_index = pgoff;
	spin_unlock(&mapping->lock);
}

vm_fault_t vgpu_mapping_take_error(struct vgpu_mapping *mapping, pgoff_t pgoff)
{
	int error = 0;

	spin_lock(&mapping->lock);
	if (mapping->error_index == pgoff)
		swap(error, mapping->error);
	spin_unlock(&mapping->lock);
	if (!error)
		return 0;
	return error == -ENOMEM ? VM_FAULT_OOM : VM_FAULT_SIGBUS;
}

void vgpu_mapping_end(struct vgpu_mapping *mapping, u64 addr, u64 len)
{
	vgpu_control_unmap(mapping->session->host, mapping->session->number, addr, len);
}

static void mapping_vma_open(struct vm_area_struct *vma)
{
	struct vgpu_mapping *mapping = vma->vm_private_data;
	LIST_HEAD(none);

	vgpu_mapping_get(mapping);
	/*
	 * A fork opens the child's VMA in the parent, and mremap() the new VMA at
	 * another address (and then closes one of the two): each covers the range
	 * once more. A split opens in its own mm and where it was.
	 */
	if (vma->vm_mm != current->mm ||
	    vma->vm_start != vgpu_mapping_addr(mapping, vma->vm_pgoff))
		spans_count(mapping, vma, 1, &none);
}

static void mapping_vma_close(struct vm_area_struct *vma)
{
	struct vgpu_mapping *mapping = vma->vm_private_data;
	struct mapping_span *span, *tmp;
	LIST_HEAD(gone);

	spans_count(mapping, vma, -1, &gone);
	list_for_each_entry_safe(span, tmp, &gone, node) {
		/* A child shows it still. */
		if (mapping->range && span->users)
			vgpu_window_forget(mapping, span->first, span->end - span->first);
		vgpu_space_unmap(mapping, span->first, span->end - span->first);
		kfree(span);
	}
	vgpu_mapping_put(mapping);
}

/*
 * The shadow's mapping stays where it is, so a moved VMA's addresses would mean
 * nothing to a driver; libraries that use device memory do not move it.
 */
static int mapping_vma_mremap(struct vm_area_struct *vma)
{
	return -EINVAL;
}

static const struct vm_operations_struct mapping_vm_ops = {
	.open = mapping_vma_open,
	.close = mapping_vma_close,
	.mremap = mapping_vma_mremap,
	.fault = vgpu_space_fault,
	.page_mkwrite = vgpu_space_page_mkwrite,
	.pfn_mkwrite = vgpu_space_pfn_mkwrite,
};

static const struct vm_operations_struct mapping_window_vm_ops = {
	.open = mapping_vma_open,
	.close = mapping_vma_close,
	.mremap = mapping_vma_mremap,
	.fault = vgpu_window_fault,
};

/* Of a mapping that is read-only on the host nothing becomes writable. */
static vm_fault_t mapping_pfn_mkwrite(struct vm_fault *vmf)
{
	return VM_FAULT_SIGBUS;
}

static int mapping_vma_mprotect(struct vm_area_struct *vma, unsigned long start,
				unsigned long end, unsigned long flags)
{
	return flags & VM_WRITE ? -EACCES : 0;
}

static const struct vm_operations_struct mapping_window_read_only_vm_ops = {
	.open = mapping_vma_open,
	.close = mapping_vma_close,
	.mremap = mapping_vma_mremap,
	.mprotect = mapping_vma_mprotect,
	.fault = vgpu_window_fault_read_only,
	.pfn_mkwrite = mapping_pfn_mkwrite,
};

static unsigned long mapping_vm_flags(u32 flags)
{
	/* A VMA that grew would show what the shadow has not mapped. */
	unsigned long vm_flags = VM_DONTEXPAND;

	if (flags & VGPU_MAP_IO)
		vm_flags |= VM_IO;
	if (flags & VGPU_MAP_DONTCOPY)
		vm_flags |= VM_DONTCOPY;
	if (flags & VGPU_MAP_DONTDUMP)
		vm_flags |= VM_DONTDUMP;
	return vm_flags;
}

/*
 * Ask the shadow to map, in the host's window if @range is there and it can; fills in
 * @mapping. Return: 0 or -errno.
 */
static int mapping_call(struct vgpu_mapping *mapping, struct vgpu_object *object,
			struct vm_area_struct *vma, struct vgpu_window_range *range)
{
	struct vgpu_args_mmap *args;
	struct vgpu_out_mmap out;
	struct vgpu_xcall xcall;
	u32 prot = 0;
	int ret;

	if (vma->vm_flags & VM_READ)
		prot |= PROT_READ;
	if (vma->vm_flags & VM_WRITE)
		prot |= PROT_WRITE;
	vgpu_xcall_init(&xcall, VGPU_OP_MMAP, object);
	xcall.flags = VGPU_XCALL_MM;
	xcall.stats = &object->export->stats;
	args = &xcall.msg.args.mmap;
	args->addr = cpu_to_le64(vma->vm_start);
	args->len = cpu_to_le64(vma->vm_end - vma->vm_start);
	args->offset = cpu_to_le64((u64)vma->vm_pgoff << PAGE_SHIFT);
	args->prot = cpu_to_le32(prot);
	/* A shared mapping of a file that is open for reading only has no VM_SHARED. */
	args->flags = cpu_to_le32(vma->vm_flags & VM_MAYSHARE ? MAP_SHARED : MAP_PRIVATE);
	if (range) {
		args->window = cpu_to_le64(range->window->id);
		args->window_offset = cpu_to_le64(range->offset);
	}
	ret = vgpu_call_run(mapping->session, &xcall);
	if (!ret)
		ret = vgpu_call_result(&xcall);
	if (!ret) {
		out = xcall.reply.reply->out.mmap;
		mapping->flags = le32_to_cpu(out.flags);
		mapping->cache = le32_to_cpu(out.cache);
		/* Drivers may move the offset, as the native VMA's would be. */
		if (le64_to_cpu(out.space) == mapping->space->id)
			mapping->pgoff = le64_to_cpu(out.offset) >> PAGE_SHIFT;
	}
	if (range && (mapping->flags & VGPU_MAP_WINDOW) && !vgpu_window_attach(range, mapping)) {
		mapping->range = range;
	} else if (range) {
		/* The host may carry out what we do not hear of any more. */
		vgpu_window_release(range, (mapping->flags & VGPU_MAP_WINDOW) ||
				    (ret && xcall.sent));
	}
	vgpu_xcall_fini(&xcall);
	return ret;
}

/* What a VMA shows, and how. */
static void mapping_show(struct vgpu_mapping *mapping, struct vm_area_struct *vma, bool cow)
{
	if (!mapping->range)
		vma->vm_ops = &mapping_vm_ops;
	else if (vma->vm_flags & VM_WRITE)
		vma->vm_ops = &mapping_window_vm_ops;
	else
		vma->vm_ops = &mapping_window_read_only_vm_ops;
	/*
	 * Where the host's has ordinary pages, other processes and kernel code may
	 * have references of them, and so they may here, of copies. Of a private
	 * mapping the core copies pages, and has to have them.
	 */
	if (!cow && (mapping->flags & VGPU_MAP_PFNMAP))
		vm_flags_set(vma, VM_PFNMAP);
	else if (mapping->range)
		vm_flags_set(vma, VM_MIXEDMAP);
}

int vgpu_mapping_mmap(struct vgpu_object *object, struct vm_area_struct *vma)
{
	struct vgpu_session *session;
	struct vgpu_window_range *range = NULL;
	struct vgpu_mapping *mapping;
	bool cow = (vma->vm_flags & (VM_SHARED | VM_MAYWRITE)) == VM_MAYWRITE;
	int ret;

	session = vgpu_session_current(object->host, VGPU_SESSION_MM_LOCKED);
	if (IS_ERR(session))
		return PTR_ERR(session);
	mapping = kzalloc(sizeof(*mapping), GFP_KERNEL_ACCOUNT);
	if (!mapping) {
		ret = -ENOMEM;
		goto err_session;
	}
	/* What used to be at this address must be gone in the shadow, and stored. */
	ret = vgpu_space_flush(object->host);
	if (ret)
		goto err_mapping;

	kref_init(&mapping->ref);
	spin_lock_init(&mapping->lock);
	INIT_LIST_HEAD(&mapping->spans);
	mapping->session = session;
	mapping->space = object->space;
	mapping->addr = vma->vm_start;
	mapping->pgoff = vma->vm_pgoff;
	if (!cow)
		range = vgpu_window_claim(object->host, vma->vm_end - vma->vm_start);
	ret = mapping_call(mapping, object, vma, range);
	if (!ret && !mapping->range && READ_ONCE(object->live)) {
		vgpu_mapping_end(mapping, mapping->addr, vma->vm_end - vma->vm_start);
		ret = -ENOMEM;
	}
	if (ret)
		goto err_mapping;
	vgpu_space_renew(mapping->space, mapping->pgoff, vma_pages(vma));

	list_add(&span_alloc(mapping->pgoff, mapping->pgoff + vma_pages(vma))->node,
		 &mapping->spans);
	kref_get(&object->space->ref);
	mapping->export = vgpu_export_get(object->export);
	atomic64_inc(mapping_count(mapping));
	vgpu_session_hold(session);
	vma->vm_pgoff = mapping->pgoff;
	vma->vm_private_data = mapping;
	vm_flags_set(vma, mapping_vm_flags(mapping->flags));
	if (!(mapping->flags & VGPU_MAP_MAYREAD))
		vm_flags_clear(vma, VM_MAYREAD);
	if (!(mapping->flags & VGPU_MAP_MAYWRITE))
		vm_flags_clear(vma, VM_MAYWRITE);
	/* Drivers may take that, too. */
	if (!(mapping->flags & VGPU_MAP_WRITE))
		vm_flags_clear(vma, VM_WRITE);
	mapping_show(mapping, vma, cow);
	return 0;

err_mapping:
	kfree(mapping);
err_session:
	vgpu_session_put(session);
	return ret;
}
