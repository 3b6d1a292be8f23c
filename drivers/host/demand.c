// SPDX-License-Identifier: GPL-2.0-only
/*
 * Demand pages: the shadow's address space is one shared VMA of pages that are
 * fetched from the guest when a driver touches them.
 *
 * Starts of calls and fetches share one numbering. A page may be used only if it
 * was fetched after the newest start, because page tables belong to all threads
 * of the shadow: then it is fresh for every running call. A start therefore
 * unmaps all pages, and who touches an older one fetches it again. What a driver
 * wrote goes back as the bytes that differ from the fetched copy, before the
 * reply of a call that may have written them (or before the page is fetched
 * again); a byte that a driver overwrites with its old value does not travel.
 *
 * A page is changed only by the thread that claimed it (busy). The claim is held
 * over upcalls, the lock is not: it is taken in faults, under the mmap lock.
 */
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "host.h"
#include "compat.h"

/* Fetches of one page in a row, undone by other calls' starts, until those wait. */
#define DEMAND_TRIES		3
/* Most pages of one fetch. */
#define DEMAND_AHEAD		32U

static bool demand_usable(const struct vgpu_demand *demand, const struct vgpu_page *page)
{
	return !page->busy && page->seq > demand->last_start;
}

static void demand_page_free(struct vgpu_page *page)
{
	__free_page(page->page);
	kfree(page->orig);
	kfree(page);
}

static struct vgpu_page *demand_page_alloc(u64 addr)
{
	struct vgpu_page *page = kzalloc(sizeof(*page), GFP_KERNEL_ACCOUNT);

	if (!page)
		return NULL;
	page->addr = addr;
	page->page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!page->page) {
		kfree(page);
		return NULL;
	}
	return page;
}

/* A new page of the session, claimed, or an error. */
static struct vgpu_page *demand_page_add_locked(struct vgpu_session *session, u64 addr)
{
	struct vgpu_demand *demand = &session->demand;
	struct vgpu_page *page;
	int ret;

	lockdep_assert_held(&demand->lock);
	if (demand->nr_pages >= session->peer->limits.pages)
		return ERR_PTR(-ENOBUFS);
	page = demand_page_alloc(addr);
	if (!page)
		return ERR_PTR(-ENOMEM);
	page->busy = true;
	ret = xa_err(xa_store(&demand->pages, addr >> PAGE_SHIFT, page, GFP_KERNEL_ACCOUNT));
	if (ret) {
		demand_page_free(page);
		return ERR_PTR(ret);
	}
	demand->nr_pages++;
	return page;
}

static void demand_unclaim_locked(struct vgpu_demand *demand, struct vgpu_page *page)
{
	lockdep_assert_held(&demand->lock);
	page->busy = false;
	WRITE_ONCE(demand->claims, demand->claims + 1);
}

static void demand_clean_locked(struct vgpu_demand *demand, struct vgpu_page *page)
{
	lockdep_assert_held(&demand->lock);
	if (!page->dirty)
		return;
	page->dirty = false;
	kfree(page->orig);
	page->orig = NULL;
	demand->nr_dirty--;
}

static void demand_zap(struct vgpu_session *session, u64 addr, u64 len)
{
	unmap_mapping_range(session->inode->i_mapping, addr, len, 1);
}

/* Unmap all pages, unless none are mapped. */
static void demand_zap_all(struct vgpu_session *session)
{
	struct vgpu_demand *demand = &session->demand;
	u64 inserts;
	bool mapped;

	mutex_lock(&demand->lock);
	mapped = demand->mapped;
	inserts = demand->inserts;
	mutex_unlock(&demand->lock);
	if (!mapped)
		return;
	demand_zap(session, 0, 0);
	/* Only now may others skip it. */
	mutex_lock(&demand->lock);
	if (inserts == demand->inserts)
		demand->mapped = false;
	mutex_unlock(&demand->lock);
}

static void demand_ungate(struct vgpu_demand *demand, struct vgpu_lane *lane)
{
	lockdep_assert_held(&demand->lock);
	if (!lane->gating)
		return;
	lane->gating = false;
	WRITE_ONCE(demand->gated, demand->gated - 1);
	wake_up_all(&demand->wait);
}

/* --- write-back ----------------------------------------------------------- */

#define BATCH_PAGES		16

/* Ranges of claimed pages on their way to the guest. */
struct demand_batch {
	struct vgpu_lane *lane;
	struct vgpu_page *pages[BATCH_PAGES];
	unsigned int nr_pages;
	bool failed;
	u32 nr_ranges;
	u32 len;
	struct vgpu_range ranges[VGPU_RANGES_MAX];
	u8 data[BATCH_PAGES * PAGE_SIZE] __aligned(8);
};

static int batch_send(struct demand_batch *batch)
{
	u32 pad = vgpu_wire_pad(batch->len);
	u32 ranges_len = batch->nr_ranges * sizeof(batch->ranges[0]);
	u32 len = sizeof(struct vgpu_writeback) + ranges_len + pad;
	struct vgpu_writeback msg = {
		.hdr.len = cpu_to_le32(len),
		.hdr.type = cpu_to_le16(VGPU_MSG_WRITEBACK),
		.hdr.seq = cpu_to_le64(batch->lane->seq),
		.nr_ranges = cpu_to_le32(batch->nr_ranges),
	};
	struct kvec vec[] = {
		{ .iov_base = &msg, .iov_len = sizeof(msg) },
		{ .iov_base = batch->ranges, .iov_len = ranges_len },
		{ .iov_base = batch->data, .iov_len = pad },
	};
	struct vgpu_written answer;
	int ret;

	if (!batch->nr_ranges)
		return 0;
	memset(batch->data + batch->len, 0, pad - batch->len);
	ret = vgpu_lane_upcall(batch->lane, vec, ARRAY_SIZE(vec), len, VGPU_MSG_WRITTEN, &answer,
			       sizeof(answer), NULL, 0);
	batch->nr_ranges = 0;
	batch->len = 0;
	if (ret)
		return ret;
	return answer.error ? -EFAULT : 0;
}

/* Send what is left, give the pages back. */
static void batch_flush(struct demand_batch *batch)
{
	struct vgpu_demand *demand = &batch->lane->session->demand;
	unsigned int i;

	if (!batch->nr_pages)
		return;
	if (batch_send(batch))
		batch->failed = true;
	mutex_lock(&demand->lock);
	for (i = 0; i < batch->nr_pages; i++) {
		demand_clean_locked(demand, batch->pages[i]);
		demand_unclaim_locked(demand, batch->pages[i]);
	}
	mutex_unlock(&demand->lock);
	wake_up_all(&demand->wait);
	batch->nr_pages = 0;
}

/* Takes over the claim of @page. */
static void batch_add(struct demand_batch *batch, struct vgpu_page *page)
{
	struct vgpu_session *session = batch->lane->session;
	const u8 *new = page_address(page->page);
	u32 pos = 0, run;
	bool any = false;

	demand_zap(session, page->addr, PAGE_SIZE);
	while ((run = vgpu_wire_diff_next(page->orig, new, PAGE_SIZE, &pos))) {
		struct vgpu_range *range;

		if (batch->nr_ranges == VGPU_RANGES_MAX && batch_send(batch))
			batch->failed = true;
		range = &batch->ranges[batch->nr_ranges++];
		range->addr = cpu_to_le64(page->addr + pos);
		range->len = cpu_to_le32(run);
		range->reserved = 0;
		memcpy(batch->data + batch->len, new + pos, run);
		batch->len += run;
		pos += run;
		any = true;
	}
	if (any)
		atomic64_inc(&session->peer->counters.written_pages);
	batch->pages[batch->nr_pages++] = page;
	if (batch->nr_pages == BATCH_PAGES)
		batch_flush(batch);
}

static struct demand_batch *batch_alloc(struct vgpu_lane *lane)
{
	struct demand_batch *batch = kvmalloc(sizeof(*batch), GFP_KERNEL_ACCOUNT);

	if (!batch)
		return NULL;
	batch->lane = lane;
	batch->nr_pages = 0;
	batch->nr_ranges = 0;
	batch->len = 0;
	batch->failed = false;
	return batch;
}

/*
 * The first dirty page from *@index on. Claimed for the caller, unless somebody
 * else has it: then *@claims is the count to wait on.
 */
static struct vgpu_page *demand_claim_dirty(struct vgpu_demand *demand, unsigned long *index,
					    bool *taken, u64 *claims)
{
	struct vgpu_page *page = NULL;

	mutex_lock(&demand->lock);
	if (demand->nr_dirty)
		xa_for_each_start(&demand->pages, *index, page, *index)
			if (page->dirty)
				break;
	*taken = page && page->busy;
	*claims = demand->claims;
	if (page)
		page->busy = true;
	mutex_unlock(&demand->lock);
	return page;
}

/* Return: 0 when a claim ended or the deadline of one upcall has passed, or -EINTR. */
static int demand_wait_claims(struct vgpu_session *session, u64 claims)
{
	struct vgpu_demand *demand = &session->demand;
	long ret;

	ret = wait_event_killable_timeout(demand->wait, READ_ONCE(demand->claims) != claims,
					  msecs_to_jiffies(session->peer->agent
							   ->fetch_timeout_ms));
	return ret < 0 ? -EINTR : 0;
}

/*
 * Sends what is dirty, each page at most once: what other calls write from now on
 * is theirs to send. A page that another thread is sending may hold bytes of this
 * call's driver, so that the reply must not overtake it.
 */
static int demand_write_back(struct vgpu_lane *lane)
{
	struct vgpu_demand *demand = &lane->session->demand;
	struct demand_batch *batch = NULL;
	struct vgpu_page *page;
	unsigned long index = 0;
	bool taken;
	u64 claims;
	int ret = 0;

	while (!ret && (page = demand_claim_dirty(demand, &index, &taken, &claims))) {
		if (taken) {
			/* Its thread may be waiting for one of ours. */
			if (batch)
				batch_flush(batch);
			ret = demand_wait_claims(lane->session, claims);
			continue;
		}
		index++;
		if (!batch)
			batch = batch_alloc(lane);
		if (batch) {
			batch_add(batch, page);
			continue;
		}
		mutex_lock(&demand->lock);
		demand_unclaim_locked(demand, page);
		mutex_unlock(&demand->lock);
		ret = -ENOMEM;
	}
	if (batch) {
		batch_flush(batch);
		if (batch->failed)
			ret = -EFAULT;
		kvfree(batch);
	}
	return ret;
}

/* --- fetching ------------------------------------------------------------- */

static int demand_fetch_pages(struct vgpu_lane *lane, struct vgpu_page **pages, unsigned int nr)
{
	struct vgpu_fetch msg = {
		.hdr.len = cpu_to_le32(sizeof(msg)),
		.hdr.type = cpu_to_le16(VGPU_MSG_FETCH),
		.hdr.seq = cpu_to_le64(lane->seq),
		.addr = cpu_to_le64(pages[0]->addr),
		.len = cpu_to_le32(nr * PAGE_SIZE),
	};
	struct kvec vec = { .iov_base = &msg, .iov_len = sizeof(msg) };
	struct kvec data[DEMAND_AHEAD];
	struct vgpu_fetched answer;
	unsigned int i;
	int ret;

	for (i = 0; i < nr; i++) {
		data[i].iov_base = page_address(pages[i]->page);
		data[i].iov_len = PAGE_SIZE;
	}
	ret = vgpu_lane_upcall(lane, &vec, 1, sizeof(msg), VGPU_MSG_FETCHED, &answer,
			       sizeof(answer), data, nr);
	if (ret)
		return ret;
	if (answer.error)
		return -EFAULT;
	atomic64_add(nr, &lane->session->peer->counters.fetched_pages);
	return 0;
}

/*
 * How many pages to ask for: a driver that goes through memory page by page gets
 * twice as many each time. None of them beyond @end, where a device mapping may
 * begin, whose pages are not memory to be read for nothing.
 */
static unsigned int demand_window(struct vgpu_lane *lane, u64 addr, u64 end)
{
	if (addr == lane->ahead_next)
		lane->ahead = min(2 * lane->ahead, DEMAND_AHEAD);
	else
		lane->ahead = 1;
	return min_t(u64, lane->ahead, (end - addr) >> PAGE_SHIFT);
}

/* New pages after pages[0], claimed, as far as none is there. Return: pages in all. */
static unsigned int demand_claim_ahead(struct vgpu_session *session, struct vgpu_page **pages,
				       unsigned int nr)
{
	struct vgpu_demand *demand = &session->demand;
	unsigned int i;

	mutex_lock(&demand->lock);
	for (i = 1; i < nr; i++) {
		u64 addr = pages[0]->addr + i * PAGE_SIZE;

		if (xa_load(&demand->pages, addr >> PAGE_SHIFT) ||
		    demand->nr_pages >= session->peer->limits.pages)
			break;
		pages[i] = demand_page_add_locked(session, addr);
		if (IS_ERR(pages[i]))
			break;
	}
	mutex_unlock(&demand->lock);
	return i;
}

/* The page at @addr, claimed; NULL: nothing to do but to try again; or an error. */
static struct vgpu_page *demand_claim(struct vgpu_session *session, struct vgpu_lane *lane,
				      u64 addr)
{
	struct vgpu_demand *demand = &session->demand;
	struct vgpu_page *page;
	u64 claims;

	mutex_lock(&demand->lock);
	page = xa_load(&demand->pages, addr >> PAGE_SHIFT);
	claims = demand->claims;
	if (!page) {
		page = demand_page_add_locked(session, addr);
	} else if (page->busy) {
		mutex_unlock(&demand->lock);
		/* Somebody else has it; whatever came of that, look again. */
		return ERR_PTR(demand_wait_claims(session, claims));
	} else if (demand_usable(demand, page)) {
		page = NULL;
	} else {
		page->busy = true;
	}
	mutex_unlock(&demand->lock);
	return page;
}

/* What the driver wrote to the page goes before it is fetched anew. */
static int demand_send_dirty(struct vgpu_lane *lane, struct vgpu_page *page)
{
	struct demand_batch *batch = batch_alloc(lane);
	int ret;

	if (!batch)
		return -ENOMEM;
	batch_add(batch, page);
	batch_flush(batch);
	ret = batch->failed ? -EFAULT : 0;
	kvfree(batch);
	return ret;
}

/* Fetches that other calls' starts make worthless again and again close the gate to them. */
static void demand_count_tries(struct vgpu_demand *demand, struct vgpu_lane *lane, u64 addr)
{
	lockdep_assert_held(&demand->lock);
	if (lane->fetch_addr != addr)
		lane->fetch_tries = 0;
	lane->fetch_addr = addr;
	if (++lane->fetch_tries > DEMAND_TRIES && !lane->gating) {
		lane->gating = true;
		WRITE_ONCE(demand->gated, demand->gated + 1);
	}
}

/*
 * Makes the page at @addr usable, if it can, and perhaps some up to @end. Called
 * without the mmap lock.
 */
static int demand_fetch(struct vgpu_session *session, struct vgpu_lane *lane, u64 addr, u64 end)
{
	struct vgpu_demand *demand = &session->demand;
	struct vgpu_page *pages[DEMAND_AHEAD];
	unsigned int nr, i;
	u64 seq;
	int ret;

	pages[0] = demand_claim(session, lane, addr);
	if (IS_ERR_OR_NULL(pages[0]))
		return PTR_ERR_OR_ZERO(pages[0]);
	/* The claim goes with what is sent; the next pass takes it anew. */
	if (pages[0]->dirty)
		return demand_send_dirty(lane, pages[0]);

	nr = demand_claim_ahead(session, pages, demand_window(lane, addr, end));
	/*
	 * Number first, then ask: a call that starts meanwhile finds them too old.
	 * The first page may still be mapped by readers that have yet to be
	 * unmapped; what they see is newer than what they are entitled to.
	 */
	mutex_lock(&demand->lock);
	seq = ++demand->seq;
	mutex_unlock(&demand->lock);
	ret = demand_fetch_pages(lane, pages, nr);
	mutex_lock(&demand->lock);
	for (i = 0; i < nr; i++) {
		pages[i]->seq = ret ? 0 : seq;
		demand_unclaim_locked(demand, pages[i]);
	}
	demand_count_tries(demand, lane, addr);
	/* Where only the pages ahead are bad, the next pass asks for one. */
	lane->ahead_next = ret ? 0 : addr + nr * PAGE_SIZE;
	mutex_unlock(&demand->lock);
	wake_up_all(&demand->wait);
	return nr > 1 && !vgpu_conn_is_down(&lane->conn) ? 0 : ret;
}

/* --- faults --------------------------------------------------------------- */

static vm_fault_t demand_insert(struct vgpu_session *session, struct vm_fault *vmf, u64 addr)
{
	struct vgpu_demand *demand = &session->demand;
	struct vgpu_page *page;
	struct vgpu_lane *lane;
	vm_fault_t ret = 0;

	mutex_lock(&demand->lock);
	page = xa_load(&demand->pages, addr >> PAGE_SHIFT);
	if (page && demand_usable(demand, page)) {
		demand->mapped = true;
		demand->inserts++;
		ret = vmf_insert_pfn(vmf->vma, addr, page_to_pfn(page->page));
		lane = vgpu_lane_current(session);
		if (lane && lane->fetch_addr == addr)
			demand_ungate(demand, lane);
	}
	mutex_unlock(&demand->lock);
	return ret;
}

static vm_fault_t demand_fault(struct vm_fault *vmf)
{
	struct vgpu_session *session = vmf->vma->vm_private_data;
	u64 addr = vmf->address & PAGE_MASK;
	u64 end = vmf->vma->vm_end;
	struct vgpu_lane *lane;
	vm_fault_t ret;
	int error;

	ret = demand_insert(session, vmf, addr);
	if (ret)
		return ret;
	/* Fetch only where nothing that the guest may need is held. */
	if (!(vmf->flags & FAULT_FLAG_ALLOW_RETRY) || (vmf->flags & FAULT_FLAG_REMOTE))
		return VM_FAULT_SIGBUS;
	if (vmf->flags & FAULT_FLAG_RETRY_NOWAIT)
		return VM_FAULT_RETRY;
	lane = vgpu_lane_current(session);
	if (!lane)
		return VM_FAULT_SIGBUS;
	if (lane->fault_failed && lane->fault_addr == addr) {
		lane->fault_failed = false;
		return VM_FAULT_SIGBUS;
	}

	/* From here on neither vma nor vmf may be touched. */
	release_fault_lock(vmf);
	error = demand_fetch(session, lane, addr, end);
	if (error) {
		lane->fault_addr = addr;
		lane->fault_failed = true;
		lane->limited |= error == -ENOBUFS;
	}
	return VM_FAULT_RETRY;
}

/* First write to a page since it was fetched or sent: keep what it was. */
static vm_fault_t demand_pfn_mkwrite(struct vm_fault *vmf)
{
	struct vgpu_session *session = vmf->vma->vm_private_data;
	struct vgpu_demand *demand = &session->demand;
	vm_fault_t ret = VM_FAULT_NOPAGE;
	struct vgpu_page *page;

	mutex_lock(&demand->lock);
	page = xa_load(&demand->pages, vmf->address >> PAGE_SHIFT);
	/* Claimed or too old: about to be unmapped, so the access is tried again. */
	if (!page || !demand_usable(demand, page))
		goto out_unlock;
	if (!page->dirty) {
		page->orig = kmemdup(page_address(page->page), PAGE_SIZE, GFP_KERNEL_ACCOUNT);
		ret = VM_FAULT_OOM;
		if (!page->orig)
			goto out_unlock;
		page->dirty = true;
		demand->nr_dirty++;
	}
	ret = 0;
out_unlock:
	mutex_unlock(&demand->lock);
	return ret;
}

const struct vm_operations_struct vgpu_demand_vm_ops = {
	.fault = demand_fault,
	.pfn_mkwrite = demand_pfn_mkwrite,
};

int vgpu_demand_mmap(struct vgpu_session *session, struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_SHARED) || (vma->vm_flags & VM_EXEC) ||
	    vma->vm_pgoff != vma->vm_start >> PAGE_SHIFT ||
	    vgpu_agent_in_reserved(session->peer->agent, vma->vm_start,
				   vma->vm_end - vma->vm_start))
		return -EINVAL;
	/* Raw pages: pinning them fails, and nothing of the guest is inherited or dumped. */
	vm_flags_set(vma, VM_PFNMAP | VM_IO | VM_DONTEXPAND | VM_DONTDUMP | VM_DONTCOPY);
	vm_flags_clear(vma, VM_MAYEXEC);
	vma->vm_ops = &vgpu_demand_vm_ops;
	vma->vm_private_data = session;
	return 0;
}

/*
 * VMAs like this one never merge, so that each hole would add two of them until
 * the limit: take in the neighbours.
 */
int vgpu_demand_cover(struct vgpu_session *session, struct file *shadow, u64 addr, u64 len)
{
	struct mm_struct *mm = current->mm;
	u64 start = addr, end = addr + len;
	struct vm_area_struct *vma;
	unsigned long ret;

	lockdep_assert_held(&session->map_lock);
	mmap_read_lock(mm);
	vma = find_vma(mm, start - 1);
	if (vma && vma->vm_start < start && vgpu_demand_vma(session, vma))
		start = vma->vm_start;
	vma = find_vma(mm, end);
	if (vma && vma->vm_start <= end && vgpu_demand_vma(session, vma))
		end = vma->vm_end;
	mmap_read_unlock(mm);
	ret = vm_mmap(shadow, start, end - start, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		      start);
	return IS_ERR_VALUE(ret) ? (int)ret : 0;
}

/* --- calls ---------------------------------------------------------------- */

int vgpu_demand_begin(struct vgpu_lane *lane)
{
	struct vgpu_session *session = lane->session;
	struct vgpu_demand *demand = &session->demand;
	long ret;

	lane->fault_failed = false;
	lane->fetch_addr = 0;
	lane->fetch_tries = 0;
	lane->ahead_next = 0;
	lane->limited = false;
	lane->upcall_jiffies = 0;
	/* Bounded: who holds the gate is fetching. */
	ret = wait_event_killable_timeout(demand->wait, !READ_ONCE(demand->gated),
					  msecs_to_jiffies(session->peer->agent
							   ->fetch_timeout_ms));
	if (ret < 0)
		return -EINTR;
	mutex_lock(&demand->lock);
	demand->running++;
	demand->last_start = ++demand->seq;
	mutex_unlock(&demand->lock);
	demand_zap_all(session);
	return 0;
}

/* Pages that no running call may use any more, taken out of the table. */
static void demand_expire(struct vgpu_session *session)
{
	struct vgpu_demand *demand = &session->demand;
	struct vgpu_page *page, *victims = NULL;
	unsigned long index;

	mutex_lock(&demand->lock);
	demand->running--;
	xa_for_each(&demand->pages, index, page) {
		if (page->busy || (demand->running && (page->dirty || demand_usable(demand, page))))
			continue;
		demand_clean_locked(demand, page);
		xa_erase(&demand->pages, index);
		demand->nr_pages--;
		page->next = victims;
		victims = page;
	}
	mutex_unlock(&demand->lock);
	if (!victims)
		return;
	/* A call that starts now finds demand->mapped still set and unmaps by itself. */
	demand_zap_all(session);
	while ((page = victims)) {
		victims = page->next;
		demand_page_free(page);
	}
}

int vgpu_demand_end(struct vgpu_lane *lane)
{
	struct vgpu_demand *demand = &lane->session->demand;
	int ret;

	mutex_lock(&demand->lock);
	demand_ungate(demand, lane);
	mutex_unlock(&demand->lock);
	/* The driver holds no locks any more: each upcall has its deadline, not all together. */
	lane->upcall_jiffies = 0;
	ret = demand_write_back(lane);
	demand_expire(lane->session);
	return lane->limited ? -ENOBUFS : ret;
}

void vgpu_demand_store(struct vgpu_lane *lane, u64 addr, const void *data)
{
	struct vgpu_session *session = lane->session;
	struct vgpu_demand *demand = &session->demand;
	struct vgpu_page *page;

	mutex_lock(&demand->lock);
	/*
	 * The guest read it before this call started here: it may be too old for
	 * another call that runs, so then it is left to be fetched.
	 */
	if (demand->running == 1 && !xa_load(&demand->pages, addr >> PAGE_SHIFT)) {
		page = demand_page_add_locked(session, addr);
		if (!IS_ERR(page)) {
			memcpy(page_address(page->page), data, PAGE_SIZE);
			page->seq = ++demand->seq;
			demand_unclaim_locked(demand, page);
		}
	}
	mutex_unlock(&demand->lock);
}

void vgpu_demand_init(struct vgpu_demand *demand)
{
	mutex_init(&demand->lock);
	xa_init(&demand->pages);
	init_waitqueue_head(&demand->wait);
}

void vgpu_demand_fini(struct vgpu_session *session)
{
	struct vgpu_demand *demand = &session->demand;
	struct vgpu_page *page;
	unsigned long index;

	xa_for_each(&demand->pages, index, page)
		demand_page_free(page);
	xa_destroy(&demand->pages);
}
