// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pins: program memory that devices keep.
 *
 * Some calls hand program memory to a device of the host, which keeps the memory and writes to
 * it after the call is over. The guest pins the pages, and the call carries their physical
 * addresses. Whatever the program does with its mappings, the pages stay pinned until the host
 * has answered RELEASE, after which no device uses them any more.
 *
 * The guest does not know whether a driver has kept the pages; it may have, even if the call
 * failed. So the pages of every call that was sent are released only when the file is closed.
 * If drivers pass such memory from file to file, the pages are released when all files of a
 * group are closed (keep_group.c). A program that names the same pages again and again, as for
 * each frame of a camera, has them pinned once.
 *
 * A pin (struct vgpu_keep) is on one list at a time, under host->memory->keeps.lock: first on the
 * call's own list, which no other task uses, then on the list of the file or its group, or on
 * that of all groups (keep_group.c), then on host->memory->keeps.releasing until the answer. A
 * work item then unpins the pages, because unpinning may wait for a page's lock, and the thread
 * that receives the host's messages must not wait.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/pfn.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "argument/marshal.h"
#include "kept.h"
#include "link/control.h"
#include "link/host.h"
#include "link/session.h"
#include "memory/keep.h"
#include "memory/keep_claim.h"
#include "memory/keep_user.h"
#include "memory/object.h"
#include "memory/state.h"

/* Number of pages that are pinned in one go: an array of pointers to them fills a page. */
#define KEEP_BATCH	(PAGE_SIZE / sizeof(struct page *))
/* Number of runs for which memory is allocated at first. */
#define KEEP_RUNS	16

static struct workqueue_struct *keep_wq;

/* --- pages ---------------------------------------------------------------- */

static void keep_free(struct vgpu_keep *keep)
{
	mmdrop(keep->mm);
	if (keep->user)
		vgpu_keep_user_put(keep->user);
	kfree(keep->release);
	kvfree(keep->runs);
	kfree(keep);
}

/* Unpins pages that no device uses: the host has answered RELEASE, or has never learnt of them. */
static void keep_unpin(struct vgpu_keep *keep)
{
	u32 i;

	for (i = 0; i < keep->nr_runs; i++) {
		const struct vgpu_run *run = &keep->runs[i];

		unpin_user_page_range_dirty_lock(pfn_to_page(PHYS_PFN(le64_to_cpu(run->addr))),
						 PHYS_PFN(le64_to_cpu(run->len)), keep->write);
		cond_resched();
	}
	vgpu_keep_uncharge(keep, keep->nr_pages, false);
	keep_free(keep);
}

static void keep_unpin_work(struct work_struct *work)
{
	keep_unpin(container_of(work, struct vgpu_keep, unpin));
}

static int keep_append(struct vgpu_keep *keep, struct page *page)
{
	u32 max = min(keep->max_runs * 2, keep->most_runs);
	u64 addr = PFN_PHYS(page_to_pfn(page));
	struct vgpu_run *runs;

	if (!vgpu_run_append(keep->runs, &keep->nr_runs, keep->max_runs, addr)) {
		if (keep->max_runs == max)
			return -ENOSPC;
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
	return 0;
}

/* Pins as many pages as @pages has room for. Return: their number, or a negative errno. */
static long keep_pin_some(struct vgpu_keep *keep, u64 addr, u64 left, struct page **pages)
{
	unsigned int flags = FOLL_LONGTERM | (keep->write ? FOLL_WRITE : 0);
	int nr = min_t(u64, left, KEEP_BATCH), got, i, ret = 0;

	if (fatal_signal_pending(current))
		return -EINTR;
	if (!vgpu_keep_charge(keep, nr))
		return -ENOMEM;
	got = pin_user_pages_fast(addr, nr, flags, pages);
	for (i = 0; i < got; i++) {
		ret = keep_append(keep, pages[i]);
		if (ret) {
			unpin_user_pages(pages + i, got - i);
			break;
		}
	}
	vgpu_keep_uncharge(keep, nr - i, false);
	if (ret)
		return ret;
	return got ?: -EFAULT;
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

static struct vgpu_keep *keep_make(const struct vgpu_host *host, u64 addr, u64 len, bool write)
{
	struct vgpu_keep *keep = kzalloc(sizeof(*keep), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!keep)
		return ERR_PTR(-ENOMEM);
	INIT_WORK(&keep->unpin, keep_unpin_work);
	keep->write = write;
	keep->mm = current->mm;
	mmgrab(keep->mm);
	keep->max_runs = KEEP_RUNS;
	keep->most_runs = host->limits.call_bytes / sizeof(*keep->runs);
	keep->runs = kvmalloc_array(KEEP_RUNS, sizeof(*keep->runs), GFP_KERNEL_ACCOUNT);
	keep->release = vgpu_control_release_alloc();
	keep->user = vgpu_keep_user_get();
	if (!keep->runs || !keep->release || !keep->user) {
		keep_free(keep);
		return ERR_PTR(-ENOMEM);
	}
	ret = keep_pin_all(keep, addr, PHYS_PFN(len));
	if (ret) {
		keep_unpin(keep);
		return ERR_PTR(ret);
	}
	return keep;
}

/* Finds a pin of the same pages as @like that the host knows. Context: set->lock is held. */
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
 * vgpu_keep_call_init - initialize a call that hands nothing over yet
 * @call: uninitialized memory
 */
void vgpu_keep_call_init(struct vgpu_keep_call *call)
{
	INIT_LIST_HEAD(&call->pins);
	INIT_LIST_HEAD(&call->entry);
	call->nr = 0;
}

/**
 * vgpu_keep_pin - pin pages of the calling process that a device will keep
 * @object: object of the call; its file is open until the call is over
 * @call: the call, to be given to vgpu_keep_claim() and vgpu_keep_settle()
 * @addr: address of the first page
 * @len: length in bytes, a multiple of the page size
 * @write: true if the device may write to the pages
 * @kept: out: description of the pages for the call, valid until vgpu_keep_settle()
 *
 * Context: process, no locks.
 * Return: 0, -EFAULT (no such memory), -ENOMEM (no memory, or a limit of pins is reached),
 * -ENOSPC (the call would name too many ranges, or the range has too many runs), -EINTR (the
 * caller was killed).
 */
int vgpu_keep_pin(struct vgpu_object *object, struct vgpu_keep_call *call, u64 addr, u64 len,
		  bool write, struct vgpu_marshal_kept *kept)
{
	struct vgpu_keep_set *set = &object->host->memory->keeps;
	struct vgpu_keep *keep, *old;
	bool full;

	if (call->nr == VGPU_KEPT_MAX)
		return -ENOSPC;
	keep = keep_make(object->host, addr, len, write);
	if (IS_ERR(keep))
		return PTR_ERR(keep);
	mutex_lock(&set->lock);
	/* A pin that is found stays on its list, because the object is open. */
	old = keep_find(vgpu_keep_list(object), keep);
	full = !old && (set->nr == VGPU_KEPT_NUMBERS || !vgpu_keep_charge_number(keep));
	if (!old && !full) {
		set->nr++;
		keep->number = ++set->last;
		list_add_tail(&keep->entry, &call->pins);
	}
	mutex_unlock(&set->lock);
	if (old || full)
		keep_unpin(keep);
	if (full)
		return -ENOMEM;
	keep = old ?: keep;
	call->ranges[call->nr].start = addr;
	call->ranges[call->nr++].end = addr + len;
	*kept = (struct vgpu_marshal_kept) {
		.number = keep->number, .runs = keep->runs, .nr_runs = keep->nr_runs,
	};
	return 0;
}

/**
 * vgpu_keep_settle - move the pins of a call to its file, or undo them
 * @object: object of the call
 * @call: the call, which has no pins afterwards
 * @sent: true if the call was sent, whatever its result, so that the driver may have the pages
 */
void vgpu_keep_settle(struct vgpu_object *object, struct vgpu_keep_call *call, bool sent)
{
	struct vgpu_keep_set *set = &object->host->memory->keeps;
	struct vgpu_keep *keep, *next;

	if (list_empty(&call->pins))
		return;
	if (sent) {
		mutex_lock(&set->lock);
		list_splice_tail_init(&call->pins, vgpu_keep_list(object));
		mutex_unlock(&set->lock);
		return;
	}
	list_for_each_entry_safe(keep, next, &call->pins, entry) {
		mutex_lock(&set->lock);
		set->nr--;
		mutex_unlock(&set->lock);
		vgpu_keep_uncharge_number(keep);
		keep_unpin(keep);
	}
	INIT_LIST_HEAD(&call->pins);
}

/* --- files ---------------------------------------------------------------- */

/**
 * vgpu_keep_may - check whether an object's driver may have pinned memory
 * @object: the object, on which no call is under way
 *
 * Such an object must be closed by a control message and not by a call. RELEASE follows on the
 * same connection then, even if the task is killed, while the reply to a call might never come.
 *
 * Return: true if vgpu_keep_close() may have to release something.
 */
bool vgpu_keep_may(const struct vgpu_object *object)
{
	return object->memory.keep.group || !list_empty(&object->memory.keep.kept);
}

/*
 * Queues RELEASE for all pins of @left and moves them to the list of pins that wait for an answer.
 * If the host is down, no answer will ever come, and the pins stay in @left.
 */
static void keep_release(struct vgpu_host *host, struct list_head *left)
{
	struct vgpu_keep_set *set = &host->memory->keeps;
	struct vgpu_keep *keep;

	lockdep_assert_held(&set->lock);
	if (vgpu_host_is_down(host))
		return;
	list_for_each_entry(keep, left, entry) {
		vgpu_control_release(host, keep->release, keep->number);
		keep->release = NULL;
	}
	/* vgpu_keep_released() takes this lock, so it finds the pins on the list. */
	list_splice_tail_init(left, &set->releasing);
}

/*
 * Frees pins whose RELEASE will never be answered. The pages stay pinned for good. They still
 * count in keep_pages, but not for the program and its user.
 */
static void keep_lose_all(struct list_head *lost)
{
	struct vgpu_keep *keep, *next;

	list_for_each_entry_safe(keep, next, lost, entry) {
		pr_warn_ratelimited("%lu KiB of process memory stay pinned: the host has not confirmed that its devices no longer use them\n",
				    keep->nr_pages << (PAGE_SHIFT - 10));
		vgpu_keep_uncharge(keep, keep->nr_pages, true);
		vgpu_keep_uncharge_number(keep);
		keep_free(keep);
	}
}

/**
 * vgpu_keep_close - release the pins that the driver of an object may have
 * @object: the object, for which a CLOSE was queued before
 *
 * The pages stay pinned until vgpu_keep_released(), or for good if the connection is lost
 * before. The pins of a group are released when the last of its files is closed.
 */
void vgpu_keep_close(struct vgpu_object *object)
{
	struct vgpu_keep_set *set = &object->host->memory->keeps;
	LIST_HEAD(left);

	if (!vgpu_keep_may(object))
		return;
	mutex_lock(&set->lock);
	vgpu_keep_leave(object, &left);
	keep_release(object->host, &left);
	mutex_unlock(&set->lock);
	keep_lose_all(&left);
}

/**
 * vgpu_keep_raw_end - end a call that vgpu_keep_raw_begin() has counted
 * @session: session of the call
 * @object: object of the call; called before any object of the reply gets into a group
 * @over: false if the host may still run the call
 */
void vgpu_keep_raw_end(struct vgpu_session *session, struct vgpu_object *object, bool over)
{
	struct vgpu_keep_set *set = &session->host->memory->keeps;
	LIST_HEAD(left);

	mutex_lock(&set->lock);
	vgpu_keep_raw_leave(session, object, over, &left);
	keep_release(session->host, &left);
	mutex_unlock(&set->lock);
	keep_lose_all(&left);
}

/**
 * vgpu_keep_released - handle the host's answer to RELEASE: no device uses the memory any more
 * @host: the host
 * @number: number of the pin; an unknown number is ignored
 */
void vgpu_keep_released(struct vgpu_host *host, u64 number)
{
	struct vgpu_keep_set *set = &host->memory->keeps;
	struct vgpu_keep *keep, *found = NULL;

	mutex_lock(&set->lock);
	/* Search from the tail: a host that answers many at once answers the newest first. */
	list_for_each_entry_reverse(keep, &set->releasing, entry) {
		if (keep->number == number) {
			found = keep;
			list_del(&found->entry);
			set->nr--;
			vgpu_keep_uncharge_number(found);
			break;
		}
	}
	mutex_unlock(&set->lock);
	if (found)
		queue_work(keep_wq, &found->unpin);
}

/* --- hosts ---------------------------------------------------------------- */

/**
 * vgpu_keep_set_init - initialize the set of a new host
 * @set: the set
 */
void vgpu_keep_set_init(struct vgpu_keep_set *set)
{
	mutex_init(&set->lock);
	INIT_LIST_HEAD(&set->releasing);
	INIT_LIST_HEAD(&set->groups.any);
}

/**
 * vgpu_keep_set_abort - give up the pins whose RELEASE a lost host has not answered
 * @host: the host; host->down is set
 *
 * Pins that objects have are given up when the objects are closed. The pages stay pinned for
 * good in both cases, because a device of the host may still write to them.
 */
void vgpu_keep_set_abort(struct vgpu_host *host)
{
	LIST_HEAD(lost);

	mutex_lock(&host->memory->keeps.lock);
	list_splice_init(&host->memory->keeps.releasing, &lost);
	mutex_unlock(&host->memory->keeps.lock);
	keep_lose_all(&lost);
}

/**
 * vgpu_keep_global_init - set up the workqueue for unpinning
 *
 * Return: 0 or -ENOMEM.
 */
int vgpu_keep_global_init(void)
{
	keep_wq = alloc_workqueue("vgpu_keep", WQ_UNBOUND, 0);
	return keep_wq ? 0 : -ENOMEM;
}

/**
 * vgpu_keep_global_exit - wait until all released pages are unpinned
 *
 * Called when there is no host any more.
 */
void vgpu_keep_global_exit(void)
{
	destroy_workqueue(keep_wq);
}
