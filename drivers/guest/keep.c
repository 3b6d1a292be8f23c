// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of programs that devices of the host keep, and write to when the call is over: its
 * pages are pinned, and the call says where they are. Whatever the program does with its
 * addresses afterwards, the pages stay until the host has said that no device uses them.
 *
 * Whether a driver has kept them is not known: it may have, also where the call failed. So the
 * pages of every call that was sent are given back only when the file is closed, or, where
 * drivers hand such memory from file to file, all of these. A program that names the same
 * pages again and again, as with each frame of a camera, has them pinned once.
 */
#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/pfn.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "control.h"
#include "host.h"
#include "keep.h"
#include "kept.h"
#include "marshal.h"
#include "object.h"

/* Pages that are pinned in one go: an array of these is a page. */
#define KEEP_BATCH	(PAGE_SIZE / sizeof(struct page *))
#define KEEP_RUNS	16

/**
 * struct vgpu_keep - pages that are pinned
 * @entry: in a list of a call, an object, keepers, or of those that are released
 * @mm: whose they are counted for
 * @number: on the wire
 * @nr_pages: how many
 * @write: the device may write to them
 * @nr_runs: entries of @runs
 * @max_runs: room for them
 * @runs: where the pages are
 */
struct vgpu_keep {
	struct list_head entry;
	struct mm_struct *mm;
	u64 number;
	unsigned long nr_pages;
	bool write;
	u32 nr_runs;
	u32 max_runs;
	struct vgpu_run *runs;
};

/*
 * All that is pinned. Drivers do not look at RLIMIT_MEMLOCK when they pin memory of programs,
 * which ordinary users have hardly any of; but half of the machine's memory is enough.
 */
static atomic_long_t keep_pages;

static struct list_head *keep_list(struct vgpu_object *object)
{
	u8 keepers = object->keepers;

	return keepers ? &object->host->keeps.keepers[keepers].kept : &object->kept;
}

/* --- pages ---------------------------------------------------------------- */

static void keep_free(struct vgpu_keep *keep)
{
	mmdrop(keep->mm);
	kvfree(keep->runs);
	kfree(keep);
}

/* No device uses them. */
static void keep_unpin(struct vgpu_keep *keep)
{
	u32 i;

	for (i = 0; i < keep->nr_runs; i++) {
		const struct vgpu_run *run = &keep->runs[i];

		unpin_user_page_range_dirty_lock(pfn_to_page(PHYS_PFN(le64_to_cpu(run->addr))),
						 PHYS_PFN(le64_to_cpu(run->len)), keep->write);
		cond_resched();
	}
	atomic64_sub(keep->nr_pages, &keep->mm->pinned_vm);
	atomic_long_sub(keep->nr_pages, &keep_pages);
	keep_free(keep);
}

/* Nobody will ever tell that no device uses them: they stay pinned. */
static void keep_lose(struct vgpu_keep *keep)
{
	pr_warn_ratelimited("%lu KiB of programs' memory stay pinned: the host has not said that its devices are through with them\n",
			    keep->nr_pages << (PAGE_SHIFT - 10));
	atomic64_sub(keep->nr_pages, &keep->mm->pinned_vm);
	keep_free(keep);
}

static int keep_append(struct vgpu_keep *keep, struct page *page)
{
	u64 addr = PFN_PHYS(page_to_pfn(page));
	u32 max = keep->max_runs * 2;
	struct vgpu_run *runs;

	if (!vgpu_run_append(keep->runs, &keep->nr_runs, keep->max_runs, addr)) {
		runs = kvmalloc_array(max, sizeof(*runs), GFP_KERNEL_ACCOUNT);
		if (!runs)
			return -ENOMEM;
		memcpy(runs, keep->runs, keep->nr_runs * sizeof(*runs));
		kvfree(keep->runs);
		keep->runs = runs;
		keep->max_runs = max;
		vgpu_run_append(runs, &keep->nr_runs, max, addr);
	}
	keep->nr_pages++;
	atomic64_inc(&keep->mm->pinned_vm);
	atomic_long_inc(&keep_pages);
	return 0;
}

/* As many as @pages has room for. Return: how many, or -errno. */
static long keep_pin_some(struct vgpu_keep *keep, u64 addr, u64 left, struct page **pages)
{
	unsigned int flags = FOLL_LONGTERM | (keep->write ? FOLL_WRITE : 0);
	int nr = min_t(u64, left, KEEP_BATCH), got, i, ret = 0;

	if (atomic_long_read(&keep_pages) + nr > totalram_pages() / 2)
		return -ENOMEM;
	if (fatal_signal_pending(current))
		return -EINTR;
	got = pin_user_pages_fast(addr, nr, flags, pages);
	if (got <= 0)
		return got ?: -EFAULT;
	for (i = 0; i < got && !ret; i++)
		ret = keep_append(keep, pages[i]);
	if (!ret)
		return got;
	/* The last one was not appended. */
	unpin_user_pages(pages + i - 1, got - i + 1);
	return ret;
}

static int keep_pin_all(struct vgpu_keep *keep, u64 addr, u64 nr)
{
	struct page **pages = (struct page **)__get_free_page(GFP_KERNEL_ACCOUNT);
	long got = 0;
	u64 done;

	if (!pages)
		return -ENOMEM;
	for (done = 0; done < nr; done += got) {
		got = keep_pin_some(keep, addr + done * PAGE_SIZE, nr - done, pages);
		if (got < 0)
			break;
		cond_resched();
	}
	free_page((unsigned long)pages);
	return min(got, 0L);
}

static struct vgpu_keep *keep_make(u64 addr, u64 len, bool write)
{
	struct vgpu_keep *keep = kzalloc(sizeof(*keep), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!keep)
		return ERR_PTR(-ENOMEM);
	keep->max_runs = KEEP_RUNS;
	keep->runs = kvmalloc_array(KEEP_RUNS, sizeof(*keep->runs), GFP_KERNEL_ACCOUNT);
	if (!keep->runs) {
		kfree(keep);
		return ERR_PTR(-ENOMEM);
	}
	keep->write = write;
	keep->mm = current->mm;
	mmgrab(keep->mm);
	ret = keep_pin_all(keep, addr, PHYS_PFN(len));
	if (ret) {
		keep_unpin(keep);
		return ERR_PTR(ret);
	}
	return keep;
}

/* One that is pinned already, with the same pages. */
static struct vgpu_keep *keep_find(struct list_head *list, const struct vgpu_keep *like)
{
	struct vgpu_keep *keep;

	list_for_each_entry(keep, list, entry) {
		if (keep->nr_pages == like->nr_pages && keep->nr_runs == like->nr_runs &&
		    keep->write == like->write && keep->mm == like->mm &&
		    !memcmp(keep->runs, like->runs, like->nr_runs * sizeof(*like->runs)))
			return keep;
	}
	return NULL;
}

/* --- calls ---------------------------------------------------------------- */

/**
 * vgpu_keep_pin - pin pages of the calling process that a device will keep
 * @object: file of the call
 * @call: list of what the call has pinned
 * @addr: the first page
 * @len: bytes, whole pages
 * @write: the device may write to them
 * @kept: out: what the call says of them, good until vgpu_keep_settle()
 *
 * Return: 0, -EFAULT (there is no such memory), -ENOMEM (or too much is kept), -EINTR (the caller
 * was killed).
 */
int vgpu_keep_pin(struct vgpu_object *object, struct list_head *call, u64 addr, u64 len,
		  bool write, struct vgpu_marshal_kept *kept)
{
	struct vgpu_keep_set *set = &object->host->keeps;
	struct vgpu_keep *keep, *old;
	bool full;

	keep = keep_make(addr, len, write);
	if (IS_ERR(keep))
		return PTR_ERR(keep);
	mutex_lock(&set->lock);
	/* The object is open, so what is in the list stays there. */
	old = keep_find(keep_list(object), keep);
	full = !old && set->nr == VGPU_KEPT_NUMBERS;
	if (!old && !full) {
		set->nr++;
		keep->number = ++set->last;
		list_add_tail(&keep->entry, call);
	}
	mutex_unlock(&set->lock);
	if (old || full)
		keep_unpin(keep);
	if (full)
		return -ENOMEM;
	keep = old ?: keep;
	*kept = (struct vgpu_marshal_kept) {
		.number = keep->number, .runs = keep->runs, .nr_runs = keep->nr_runs,
	};
	return 0;
}

/**
 * vgpu_keep_settle - the call is over
 * @object: file of the call
 * @call: list of what the call has pinned
 * @sent: the host has it, whatever came of it
 */
void vgpu_keep_settle(struct vgpu_object *object, struct list_head *call, bool sent)
{
	struct vgpu_keep_set *set = &object->host->keeps;
	struct vgpu_keep *keep, *next;

	if (list_empty(call))
		return;
	if (sent) {
		mutex_lock(&set->lock);
		list_splice_tail_init(call, keep_list(object));
		mutex_unlock(&set->lock);
		return;
	}
	list_for_each_entry_safe(keep, next, call, entry) {
		mutex_lock(&set->lock);
		set->nr--;
		mutex_unlock(&set->lock);
		keep_unpin(keep);
	}
	INIT_LIST_HEAD(call);
}

/* --- files ---------------------------------------------------------------- */

/* A new object, which others may be given memory by that devices keep. */
void vgpu_keep_open(struct vgpu_object *object)
{
	struct vgpu_keep_set *set = &object->host->keeps;

	if (!object->keepers)
		return;
	mutex_lock(&set->lock);
	set->keepers[object->keepers].open++;
	mutex_unlock(&set->lock);
}

/* Return: true if the last one of those that share it was closed. */
static bool keepers_closed(struct vgpu_keepers *keepers, bool *sure)
{
	keepers->unsure |= !*sure;
	if (--keepers->open)
		return false;
	*sure = !keepers->unsure;
	keepers->unsure = false;
	return true;
}

/**
 * vgpu_keep_close - an object is closed
 * @object: the object
 * @sure: the host was told so, or has closed it; else it may do that at any time
 */
void vgpu_keep_close(struct vgpu_object *object, bool sure)
{
	struct vgpu_host *host = object->host;
	struct vgpu_keep_set *set = &host->keeps;
	struct vgpu_keep *keep, *next;
	LIST_HEAD(lost);

	if (!object->keepers && list_empty(&object->kept))
		return;
	mutex_lock(&set->lock);
	if (!object->keepers || keepers_closed(&set->keepers[object->keepers], &sure)) {
		list_for_each_entry_safe(keep, next, keep_list(object), entry) {
			/* The answer comes after this lock is free. */
			if (sure && !vgpu_host_is_down(host)) {
				list_move_tail(&keep->entry, &set->releasing);
				vgpu_control_release(host, keep->number);
			} else {
				list_move_tail(&keep->entry, &lost);
			}
		}
	}
	mutex_unlock(&set->lock);
	list_for_each_entry_safe(keep, next, &lost, entry)
		keep_lose(keep);
}

/**
 * vgpu_keep_released - the host says that no device uses some memory any more
 * @host: the host
 * @number: of the memory; one that means nothing is ignored
 */
void vgpu_keep_released(struct vgpu_host *host, u64 number)
{
	struct vgpu_keep_set *set = &host->keeps;
	struct vgpu_keep *keep, *found = NULL;

	mutex_lock(&set->lock);
	list_for_each_entry(keep, &set->releasing, entry) {
		if (keep->number == number) {
			found = keep;
			list_del(&found->entry);
			set->nr--;
			break;
		}
	}
	mutex_unlock(&set->lock);
	if (found)
		keep_unpin(found);
}

/* --- hosts ---------------------------------------------------------------- */

/* Begins with nothing. */
void vgpu_keep_set_init(struct vgpu_keep_set *set)
{
	int i;

	mutex_init(&set->lock);
	INIT_LIST_HEAD(&set->releasing);
	for (i = 0; i < VGPU_NR_KEEPERS; i++)
		INIT_LIST_HEAD(&set->keepers[i].kept);
}

/* The connection is lost, and host->down is set. What objects have is lost when they go. */
void vgpu_keep_set_abort(struct vgpu_host *host)
{
	struct vgpu_keep *keep, *next;
	LIST_HEAD(lost);

	mutex_lock(&host->keeps.lock);
	list_splice_init(&host->keeps.releasing, &lost);
	mutex_unlock(&host->keeps.lock);
	list_for_each_entry_safe(keep, next, &lost, entry)
		keep_lose(keep);
}
