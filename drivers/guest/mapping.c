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
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "access.h"
#include "blank.h"
#include "call.h"
#include "compat.h"
#include "control.h"
#include "deadline.h"
#include "export.h"
#include "host.h"
#include "mapping.h"
#include "move.h"
#include "object.h"
#include "schema.h"
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

/* How many are as this one is. A mapping that moves counts as what it was. */
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
	vgpu_move_forget(mapping);
	vgpu_blank_forget(mapping);
	atomic64_dec(mapping_count(mapping));
	if (mapping->range)
		vgpu_window_release(mapping->range, true);
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

/* Written under both locks, it may be looked at under each. */
static void mapping_set_mode(struct vgpu_mapping *mapping, enum vgpu_mapping_mode mode)
{
	struct vgpu_host *host = mapping->session->host;

	lockdep_assert_held_write(&mapping->mode_lock);
	spin_lock(&host->lock);
	vgpu_move_set_mode_locked(mapping, mode);
	spin_unlock(&host->lock);
}

void vgpu_mapping_move_begin(struct vgpu_mapping *mapping)
{
	down_write(&mapping->mode_lock);
	mapping_set_mode(mapping, VGPU_MAPPING_MOVING);
	/* In the window nobody sees which pages are written to. */
	vgpu_blank_forget(mapping);
	up_write(&mapping->mode_lock);
}

void vgpu_mapping_move_end(struct vgpu_mapping *mapping, struct vgpu_window_range *range,
			   int error)
{
	down_write(&mapping->mode_lock);
	atomic64_dec(mapping_count(mapping));
	mapping->range = range;
	mapping_set_mode(mapping, range ? VGPU_MAPPING_WINDOW : VGPU_MAPPING_COPY);
	atomic64_inc(mapping_count(mapping));
	mapping->move_error = error;
	WRITE_ONCE(mapping->moves, mapping->moves + 1);
	up_write(&mapping->mode_lock);
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

void vgpu_mapping_around(struct vgpu_mapping *mapping, pgoff_t pgoff, pgoff_t *first, pgoff_t *end)
{
	struct mapping_span *span;

	*first = pgoff;
	*end = pgoff;
	spin_lock(&mapping->lock);
	list_for_each_entry(span, &mapping->spans, node) {
		if (span->first > max(*end, pgoff))
			break;
		if (span->first != *end)
			*first = span->first;
		*end = span->end;
	}
	/* It ended since: then nothing is known of what is around it. */
	if (*end <= pgoff) {
		*first = pgoff;
		*end = pgoff;
	}
	spin_unlock(&mapping->lock);
}

pgoff_t vgpu_mapping_next_run(struct vgpu_mapping *mapping, pgoff_t *pgoff)
{
	struct mapping_span *span;
	pgoff_t end = *pgoff;

	spin_lock(&mapping->lock);
	list_for_each_entry(span, &mapping->spans, node) {
		if (span->end <= *pgoff)
			continue;
		if (end == *pgoff)
			*pgoff = max(*pgoff, span->first);
		else if (span->first != end)
			break;
		end = span->end;
	}
	spin_unlock(&mapping->lock);
	return end > *pgoff ? end - *pgoff : 0;
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
	if (vma->vm_mm != current->mm)
		vgpu_window_fork(mapping, vma);
}

/* Pages have ended, and whoever shows them has to find that. */
static void mapping_forget(struct vgpu_mapping *mapping, pgoff_t first, pgoff_t nr)
{
	/* Who has found them covered has put them in when this is through, or the core does it. */
	down_write(&mapping->mode_lock);
	up_write(&mapping->mode_lock);
	vgpu_space_leave(mapping->space, first, nr);
}

/* Nothing of it is shown by any program, nor will be. */
static bool mapping_has_ended(struct vgpu_mapping *mapping)
{
	bool ended;

	spin_lock(&mapping->lock);
	ended = list_empty(&mapping->spans);
	spin_unlock(&mapping->lock);
	return ended;
}

static void mapping_vma_close(struct vm_area_struct *vma)
{
	struct vgpu_mapping *mapping = vma->vm_private_data;
	struct mapping_span *span, *tmp;
	LIST_HEAD(gone);

	spans_count(mapping, vma, -1, &gone);
	list_for_each_entry_safe(span, tmp, &gone, node) {
		/* A child shows it still. */
		if (span->users)
			mapping_forget(mapping, span->first, span->end - span->first);
		vgpu_space_unmap(mapping, span->first, span->end - span->first);
		kfree(span);
	}
	if (mapping_has_ended(mapping))
		vgpu_move_alone(mapping);
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

/* The retry of this thread's fault at @pgoff shall report @error. */
static void mapping_leave_error(struct vgpu_mapping *mapping, pgoff_t pgoff, int error)
{
	spin_lock(&mapping->lock);
	mapping->error = error;
	mapping->error_index = pgoff;
	mapping->error_task = current;
	spin_unlock(&mapping->lock);
}

/*
 * What this thread's fault has left for its retry. One that begins anew knows of no error: a
 * signal may have come between, after which nobody asked for that page again.
 */
static int mapping_take_error(struct vgpu_mapping *mapping, const struct vm_fault *vmf)
{
	int error = 0;

	spin_lock(&mapping->lock);
	if (mapping->error_task == current) {
		swap(error, mapping->error);
		mapping->error_task = NULL;
		if (mapping->error_index != vmf->pgoff || !(vmf->flags & FAULT_FLAG_TRIED))
			error = 0;
	}
	spin_unlock(&mapping->lock);
	return error;
}

/* Without locks. Return: 0, -EINTR, or why there is no page. */
static int mapping_wait(struct vgpu_mapping *mapping, enum vgpu_mapping_mode mode, pgoff_t pgoff,
			bool write, unsigned long deadline)
{
	switch (mode) {
	case VGPU_MAPPING_COPY:
		return vgpu_space_wait(mapping, pgoff, write, deadline);
	case VGPU_MAPPING_WINDOW:
		return vgpu_window_wait(mapping, pgoff, deadline);
	default:
		return vgpu_move_wait(mapping, deadline);
	}
}

static vm_fault_t mapping_fault(struct vm_fault *vmf)
{
	struct vgpu_mapping *mapping = vmf->vma->vm_private_data;
	bool write = vgpu_space_fault_writes(vmf);
	vm_fault_t fault = VM_FAULT_RETRY;
	unsigned long deadline = 0;
	enum vgpu_mapping_mode mode;
	pgoff_t pgoff = vmf->pgoff;
	struct file *file;
	int ret;

	down_read(&mapping->mode_lock);
	mode = mapping->mode;
	if (mode == VGPU_MAPPING_COPY)
		fault = vgpu_space_fault(vmf);
	else if (mode == VGPU_MAPPING_WINDOW)
		fault = vgpu_window_fault(vmf);
	up_read(&mapping->mode_lock);
	ret = mapping_take_error(mapping, vmf);
	/* Where a page is there, what was before means nothing. */
	if (fault != VM_FAULT_RETRY)
		return fault;

	if (ret)
		return ret == -ENOMEM ? VM_FAULT_OOM : VM_FAULT_SIGBUS;
	/* The host must be asked, and that takes the lock of the VMA away. */
	if (!(vmf->flags & FAULT_FLAG_ALLOW_RETRY))
		return VM_FAULT_SIGBUS;
	if (vmf->flags & FAULT_FLAG_RETRY_NOWAIT)
		return VM_FAULT_RETRY;
	/* An instruction of the program holds nothing: it waits as natively. */
	if (!(vmf->flags & FAULT_FLAG_USER))
		deadline = vgpu_deadline_in(VGPU_MAPPING_FAULT_WAIT);
	vgpu_mapping_get(mapping);
	/* It holds this module, and another thread may unmap and close it meanwhile. */
	file = get_file(vmf->vma->vm_file);
	release_fault_lock(vmf);
	/* From here on neither vmf nor its VMA may be looked at. */
	ret = mapping_wait(mapping, mode, pgoff, write, deadline);
	if (ret && ret != -EINTR)
		mapping_leave_error(mapping, pgoff, ret);
	vgpu_mapping_put(mapping);
	/* The last one goes when the thread is back from here. */
	fput(file);
	/*
	 * MAJOR lets the core mark the next attempt as a retry (FAULT_FLAG_TRIED) also where this
	 * one had the lock of the VMA alone.
	 */
	return VM_FAULT_RETRY | VM_FAULT_MAJOR;
}

#ifdef VGPU_HAVE_HUGE
/* What cannot be had at once is had by mapping_fault(). */
static vm_fault_t mapping_huge_fault(struct vm_fault *vmf, unsigned int order)
{
	struct vgpu_mapping *mapping = vmf->vma->vm_private_data;
	vm_fault_t fault = VM_FAULT_FALLBACK;

	if (order != PMD_ORDER)
		return VM_FAULT_FALLBACK;
	down_read(&mapping->mode_lock);
	if (mapping->mode == VGPU_MAPPING_WINDOW)
		fault = vgpu_window_huge_fault(vmf);
	up_read(&mapping->mode_lock);
	if (fault == VM_FAULT_NOPAGE)
		mapping_take_error(mapping, vmf);
	return fault;
}
#endif

/* @as_page: vmf->page is to be written to, and locked if that is good. */
static vm_fault_t mapping_mkwrite(struct vm_fault *vmf, bool as_page)
{
	struct vgpu_mapping *mapping = vmf->vma->vm_private_data;
	bool as_pfn = vmf->vma->vm_flags & VM_PFNMAP;
	vm_fault_t fault = VM_FAULT_NOPAGE;

	down_read(&mapping->mode_lock);
	/*
	 * The entry is from before the lock, and the mapping may have moved since: where that
	 * shows, the page has been unmapped, and faults anew.
	 */
	if (mapping->mode == VGPU_MAPPING_MOVING)
		fault = VM_FAULT_RETRY;
	else if (mapping->mode == VGPU_MAPPING_COPY && as_page != as_pfn)
		fault = vgpu_space_mkwrite(vmf, as_page);
	else if (mapping->mode == VGPU_MAPPING_WINDOW && !as_page)
		fault = vgpu_window_mkwrite(vmf);
	up_read(&mapping->mode_lock);
	if (fault != VM_FAULT_RETRY)
		return fault;
	/* In copy_to_user(), only an error ends the retries. */
	if (fatal_signal_pending(current))
		return VM_FAULT_SIGBUS;
	/*
	 * The lock of the VMA cannot be dropped here, nor is it known whose fault this is. Without
	 * the entry it becomes one for mapping_fault(), which waits for as long as it may. Where
	 * that may not let go of the lock, either, the fault is back here at once.
	 */
	schedule_timeout_killable(1);
	unmap_mapping_pages(vgpu_space_mapping(mapping->space), vmf->pgoff, 1, false);
	return VM_FAULT_NOPAGE;
}

static vm_fault_t mapping_page_mkwrite(struct vm_fault *vmf)
{
	return mapping_mkwrite(vmf, true);
}

static vm_fault_t mapping_pfn_mkwrite(struct vm_fault *vmf)
{
	return mapping_mkwrite(vmf, false);
}

/* What there is of it in the shadow. Return: 0 or -errno. */
static int mapping_make_writable(struct vgpu_mapping *mapping)
{
	pgoff_t first = mapping->pgoff, nr;
	struct vgpu_xcall xcall;
	int ret = 0;

	for (; !ret && (nr = vgpu_mapping_next_run(mapping, &first)); first += nr) {
		vgpu_xcall_init(&xcall, VGPU_OP_PROTECT, NULL);
		xcall.flags = VGPU_XCALL_MM;
		xcall.stats = &mapping->export->stats;
		xcall.msg.args.protect.addr = cpu_to_le64(vgpu_mapping_addr(mapping, first));
		xcall.msg.args.protect.len = cpu_to_le64((u64)nr << PAGE_SHIFT);
		xcall.msg.args.protect.prot = cpu_to_le32(PROT_READ | PROT_WRITE);
		ret = vgpu_call_run(mapping->session, &xcall);
		if (!ret)
			ret = vgpu_call_result(&xcall);
		vgpu_xcall_fini(&xcall);
	}
	return ret;
}

/*
 * The driver was asked for what mmap() asked for. Where the program now wants to write, which the
 * core allows, its bytes are to go there.
 */
static int mapping_vma_mprotect(struct vm_area_struct *vma, unsigned long start,
				unsigned long end, unsigned long flags)
{
	struct vgpu_mapping *mapping = vma->vm_private_data;
	int ret;

	if (!(flags & VM_WRITE) || !(flags & VM_SHARED) || (mapping->flags & VGPU_MAP_WRITE))
		return 0;
	ret = mapping_make_writable(mapping);
	if (ret)
		return ret;
	spin_lock(&mapping->lock);
	WRITE_ONCE(mapping->flags, mapping->flags | VGPU_MAP_WRITE);
	spin_unlock(&mapping->lock);
	return 0;
}

static const struct vm_operations_struct mapping_vm_ops = {
	.access = vgpu_access,
	.open = mapping_vma_open,
	.close = mapping_vma_close,
	.mremap = mapping_vma_mremap,
	.mprotect = mapping_vma_mprotect,
	.fault = mapping_fault,
#ifdef VGPU_HAVE_HUGE
	.huge_fault = mapping_huge_fault,
#endif
	.page_mkwrite = mapping_page_mkwrite,
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
	/*
	 * What nobody can access now mprotect() may make readable, and the host cannot do that to
	 * pages that a driver has mapped already: see its mapping_widen().
	 */
	if (!prot)
		prot = PROT_READ;
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
	if (range && (mapping->flags & VGPU_MAP_WINDOW))
		atomic64_inc(&object->export->stats.window_binds);
	if (range && (mapping->flags & VGPU_MAP_WINDOW) && !vgpu_window_attach(range, mapping)) {
		mapping->mode = VGPU_MAPPING_WINDOW;
		mapping->range = range;
	} else if (range) {
		/* The host may carry out what we do not hear of any more. */
		vgpu_window_release(range, (mapping->flags & VGPU_MAP_WINDOW) ||
				    (ret && xcall.sent));
	}
	vgpu_xcall_fini(&xcall);
	return ret;
}

/* What a VMA may show, by copy or in the window. */
static void mapping_show(struct vgpu_mapping *mapping, struct vm_area_struct *vma, bool cow,
			 u64 asked)
{
	vma->vm_ops = &mapping_vm_ops;
	/* Of a private mapping the core copies pages, and has to have them. */
	if (cow)
		return;
	/*
	 * Where the host's has ordinary pages, other processes and kernel code may
	 * have references of them, and so they may here, of copies.
	 */
	if (mapping->flags & VGPU_MAP_PFNMAP)
		vm_flags_set(vma, VM_PFNMAP);
	else if (mapping->session->host->features & VGPU_FEATURE_WINDOW)
		vm_flags_set(vma, VM_MIXEDMAP);
	vgpu_move_add(mapping, asked);
}

/* An ioctl has said that a copy will do at this offset of a file of polled memory. */
static bool mapping_may_copy(struct vgpu_object *object, const struct vm_area_struct *vma)
{
	u64 copied = READ_ONCE(object->copied);

	return copied && copied == (u64)vma->vm_pgoff << PAGE_SHIFT;
}

/*
 * Polled memory may be a copy, or become one, for as long as it is read only, or written only:
 * mprotect() may not make it what could not have been mapped so.
 */
static void mapping_keep_access(struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_READ))
		vm_flags_clear(vma, VM_MAYREAD);
	if (!(vma->vm_flags & VM_WRITE))
		vm_flags_clear(vma, VM_MAYWRITE);
}

int vgpu_mapping_mmap(struct vgpu_object *object, struct vm_area_struct *vma)
{
	struct vgpu_session *session;
	struct vgpu_window_range *range = NULL;
	struct vgpu_mapping *mapping;
	bool cow = (vma->vm_flags & (VM_SHARED | VM_MAYWRITE)) == VM_MAYWRITE;
	const int polled = vgpu_schema_polled(object->schema);
	u64 asked = vgpu_move_asked(object->host);
	bool blank;
	u64 ends = 0;
	int ret;

	session = vgpu_session_current(object->host, VGPU_SESSION_MM_LOCKED);
	if (IS_ERR(session))
		return PTR_ERR(session);
	/* Before the call: nothing has to be undone at the host if the session has ended by now. */
	if (!vgpu_session_hold(session)) {
		ret = -ENODEV;
		goto err_session;
	}
	mapping = kzalloc(sizeof(*mapping), GFP_KERNEL_ACCOUNT);
	if (!mapping) {
		ret = -ENOMEM;
		goto err_hold;
	}
	blank = vgpu_blank_mmap_begin(object, (u64)vma->vm_pgoff << PAGE_SHIFT, &ends);
	/* What used to be at this address must be gone in the shadow, and stored. */
	ret = vgpu_space_flush(session);
	if (ret)
		goto err_mapping;

	kref_init(&mapping->ref);
	spin_lock_init(&mapping->lock);
	INIT_LIST_HEAD(&mapping->spans);
	INIT_LIST_HEAD(&mapping->entry);
	INIT_LIST_HEAD(&mapping->unit);
	INIT_LIST_HEAD(&mapping->blank_entry);
	init_rwsem(&mapping->mode_lock);
	mapping->session = session;
	mapping->space = object->space;
	mapping->addr = vma->vm_start;
	mapping->nr = vma_pages(vma);
	mapping->live = READ_ONCE(object->live) ||
		(polled && (vma->vm_flags & (VM_READ | VM_WRITE)) == (VM_READ | VM_WRITE) &&
		 !mapping_may_copy(object, vma));
	mapping->apart = vgpu_schema_is_apart(object->schema);
	mapping->pgoff = vma->vm_pgoff;
	if (!cow)
		range = vgpu_window_claim(object->host, vma->vm_start,
					  vma->vm_end - vma->vm_start);
	ret = mapping_call(mapping, object, vma, range);
	if (!ret && !mapping->range && mapping->live) {
		vgpu_mapping_end(mapping, mapping->addr, vma->vm_end - vma->vm_start);
		ret = polled ? -polled : -ENOMEM;
		/* A window helps only where this is the error, and sees no private copies. */
		if (ret == -ENOMEM && !cow)
			vgpu_window_missed(object->export);
	}
	if (ret)
		goto err_mapping;
	vgpu_space_renew(mapping->space, mapping->pgoff, vma_pages(vma));

	list_add(&span_alloc(mapping->pgoff, mapping->pgoff + vma_pages(vma))->node,
		 &mapping->spans);
	kref_get(&object->space->ref);
	mapping->export = vgpu_export_get(object->export);
	atomic64_inc(mapping_count(mapping));
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
	if (polled && !mapping->live)
		mapping_keep_access(vma);
	if (blank && !cow && !mapping->range)
		vgpu_blank_mmap_done(object, mapping, ends);
	mapping_show(mapping, vma, cow, asked);
	return 0;

err_mapping:
	kfree(mapping);
err_hold:
	vgpu_session_release(session);
err_session:
	vgpu_session_put(session);
	return ret;
}
