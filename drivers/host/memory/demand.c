// SPDX-License-Identifier: GPL-2.0-only
/*
 * Demand pages: the shadow's address space is one shared VMA of pages that are fetched from the
 * guest when a driver accesses them.
 *
 * A page may be used only if it was fetched after the newest start of a call (fresh.h). So a
 * start unmaps all pages, and a thread that accesses an older one fetches it again. Bytes that
 * a driver wrote go back before the reply of each call that may have written them, or before
 * the page is fetched again. They are found by comparison with a copy of the fetched page: a
 * byte that a driver overwrites with its old value is not sent.
 *
 * Only the thread that has claimed a page (page->busy) changes it. A claim is held over
 * upcalls. demand->lock is not: it is taken in faults, under the mmap lock.
 */
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "compat.h"
#include "fault.h"
#include "fresh.h"
#include "memory/demand.h"
#include "memory/fetch.h"
#include "memory/writeback.h"
#include "object/object.h"
#include "peer/agent.h"
#include "peer/guest.h"
#include "peer/limit.h"
#include "peer/peer.h"
#include "session/lane.h"
#include "session/room.h"
#include "session/session.h"

/* --- the table of a session, claims of pages, and the end of pages ---------- */

static void page_free(struct vgpuh_page *page)
{
	__free_page(page->page);
	kfree(page->orig);
	kfree(page);
}

static struct vgpuh_page *page_alloc(u64 addr)
{
	struct vgpuh_page *page = kzalloc(sizeof(*page), GFP_KERNEL_ACCOUNT);

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

bool vgpuh_page_usable(const struct vgpu_demand *demand, const struct vgpuh_page *page)
{
	return !page->busy && vgpu_fresh_usable(&demand->fresh, page->seq);
}

/* Count a page of the peer. Return: false if all sessions together may not have more. */
static bool pages_charge(struct vgpu_peer *peer)
{
	u32 most = READ_ONCE(peer->bounds.all_pages);
	u32 nr = atomic_inc_return(&peer->memory.nr_pages);

	if (most && nr > most) {
		atomic_dec(&peer->memory.nr_pages);
		return false;
	}
	vgpuh_use_most(&peer->bounds.most.all_pages, nr);
	return true;
}

struct vgpuh_page *vgpuh_page_add_locked(struct vgpuh_session *session, u64 addr)
{
	struct vgpu_demand *demand = &session->demand;
	struct vgpu_peer *peer = session->peer;
	struct vgpuh_page *page;
	int ret;

	lockdep_assert_held(&demand->lock);
	if (demand->nr_pages >= READ_ONCE(peer->limits.pages) || !pages_charge(peer))
		return ERR_PTR(-ENOBUFS);
	page = page_alloc(addr);
	if (!page) {
		atomic_dec(&peer->memory.nr_pages);
		return ERR_PTR(-ENOMEM);
	}
	page->busy = true;
	ret = xa_err(xa_store(&demand->pages, addr >> PAGE_SHIFT, page, GFP_KERNEL_ACCOUNT));
	if (ret) {
		page_free(page);
		atomic_dec(&peer->memory.nr_pages);
		return ERR_PTR(ret);
	}
	demand->nr_pages++;
	vgpuh_use_most(&peer->bounds.most.pages, demand->nr_pages);
	return page;
}

void vgpuh_page_unclaim_locked(struct vgpu_demand *demand, struct vgpuh_page *page)
{
	lockdep_assert_held(&demand->lock);
	page->busy = false;
	WRITE_ONCE(demand->claims, demand->claims + 1);
}

void vgpuh_page_clean_locked(struct vgpu_demand *demand, struct vgpuh_page *page)
{
	lockdep_assert_held(&demand->lock);
	if (!page->dirty)
		return;
	page->dirty = false;
	kfree(page->orig);
	page->orig = NULL;
	demand->nr_dirty--;
}

int vgpuh_page_wait_claims(struct vgpuh_lane *lane, u64 claims)
{
	struct vgpu_demand *demand = &lane->session->demand;
	struct vgpu_peer *peer = lane->session->peer;
	unsigned int timeout = peer->agent->fetch_timeout_ms, left;
	struct vgpu_guest_wait wait;
	long ret;

	/* The threads that hold the claims wait for the guest, and so does this lane's driver. */
	if (lane->driver.runs) {
		left = vgpu_guest_wait_begin(peer->guest, lane->driver.guest_call, &wait);
		if (!left)
			return -ENOBUFS;
		timeout = min(timeout, left);
	}
	ret = wait_event_killable_timeout(demand->wait, READ_ONCE(demand->claims) != claims,
					  msecs_to_jiffies(timeout));
	if (lane->driver.runs)
		vgpu_guest_wait_end(peer->guest, &wait);
	return ret < 0 ? -EINTR : 0;
}

void vgpuh_page_zap(struct vgpuh_session *session, u64 addr, u64 len)
{
	/* Copies of private mappings stay: the memory of rooms is mapped from the same file. */
	unmap_mapping_range(session->inode->i_mapping, addr, len, 0);
}

/* Unmap all pages, unless none is mapped. */
static void page_zap_all(struct vgpuh_session *session)
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
	vgpuh_page_zap(session, 0, VGPU_ROOM_OFFSET);
	/* Other threads may skip the zap only from now on. */
	mutex_lock(&demand->lock);
	if (inserts == demand->inserts)
		demand->mapped = false;
	mutex_unlock(&demand->lock);
}

void vgpuh_page_store(struct vgpuh_lane *lane, u64 addr, const void *data)
{
	struct vgpuh_session *session = lane->session;
	struct vgpu_demand *demand = &session->demand;
	struct vgpuh_page *page;

	mutex_lock(&demand->lock);
	/* A page that is not stored here will be fetched. */
	if (vgpu_fresh_takes_sent(&demand->fresh) && !xa_load(&demand->pages, addr >> PAGE_SHIFT)) {
		page = vgpuh_page_add_locked(session, addr);
		if (!IS_ERR(page)) {
			memcpy(page_address(page->page), data, PAGE_SIZE);
			page->seq = vgpu_fresh_fetch(&demand->fresh);
			vgpuh_page_unclaim_locked(demand, page);
		}
	}
	mutex_unlock(&demand->lock);
}

/* The function is never inlined, so that a test can trace it (mock_scale.c). */
noinline void vgpuh_page_expire(struct vgpuh_session *session)
{
	struct vgpu_demand *demand = &session->demand;
	struct vgpuh_page *page, *victims = NULL;
	unsigned long index;

	mutex_lock(&demand->lock);
	vgpu_fresh_end(&demand->fresh);
	xa_for_each(&demand->pages, index, page) {
		if (page->busy)
			continue;
		if (demand->fresh.running && (page->dirty || vgpuh_page_usable(demand, page)))
			continue;
		vgpuh_page_clean_locked(demand, page);
		xa_erase(&demand->pages, index);
		demand->nr_pages--;
		atomic_dec(&session->peer->memory.nr_pages);
		page->next = victims;
		victims = page;
	}
	mutex_unlock(&demand->lock);
	if (!victims)
		return;
	/* A call that starts now finds demand->mapped still set and unmaps the pages itself. */
	page_zap_all(session);
	while ((page = victims)) {
		victims = page->next;
		page_free(page);
	}
}

void vgpuh_page_init(struct vgpu_demand *demand)
{
	mutex_init(&demand->lock);
	xa_init(&demand->pages);
	init_waitqueue_head(&demand->wait);
}

void vgpuh_page_fini(struct vgpuh_session *session)
{
	struct vgpu_demand *demand = &session->demand;
	struct vgpuh_page *page;
	unsigned long index;

	xa_for_each(&demand->pages, index, page)
		page_free(page);
	xa_destroy(&demand->pages);
	atomic_sub(demand->nr_pages, &session->peer->memory.nr_pages);
}

/* --- faults ---------------------------------------------------------------- */

static void demand_ungate(struct vgpu_demand *demand, struct vgpuh_lane *lane)
{
	lockdep_assert_held(&demand->lock);
	if (!lane->fetch.gating)
		return;
	lane->fetch.gating = false;
	WRITE_ONCE(demand->gated, demand->gated - 1);
	wake_up_all(&demand->wait);
}

static vm_fault_t demand_insert(struct vgpuh_session *session, struct vm_fault *vmf, u64 addr)
{
	struct vgpu_demand *demand = &session->demand;
	struct vgpuh_page *page;
	struct vgpuh_lane *lane;
	vm_fault_t ret = 0;

	mutex_lock(&demand->lock);
	page = xa_load(&demand->pages, addr >> PAGE_SHIFT);
	if (page && vgpuh_page_usable(demand, page)) {
		demand->mapped = true;
		demand->inserts++;
		ret = vmf_insert_pfn(vmf->vma, addr, page_to_pfn(page->page));
		lane = vgpuh_lane_current(session);
		if (lane && lane->fetch.addr == addr)
			demand_ungate(demand, lane);
	}
	mutex_unlock(&demand->lock);
	return ret;
}

static vm_fault_t demand_fault(struct vm_fault *vmf)
{
	struct vgpuh_session *session = vmf->vma->vm_private_data;
	u64 addr = vmf->address & PAGE_MASK;
	u64 end = vmf->vma->vm_end;
	struct vgpuh_lane *lane;
	vm_fault_t ret;
	int error;

	ret = demand_insert(session, vmf, addr);
	if (ret)
		return ret;
	/* A fetch must not hold a lock that the guest may need for its answer. */
	if (!(vmf->flags & FAULT_FLAG_ALLOW_RETRY) || (vmf->flags & FAULT_FLAG_REMOTE))
		return VM_FAULT_SIGBUS;
	if (vmf->flags & FAULT_FLAG_RETRY_NOWAIT)
		return VM_FAULT_RETRY;
	lane = vgpuh_lane_current(session);
	if (!lane || !(session->peer->wire.features & VGPU_FEATURE_DEMAND))
		return VM_FAULT_SIGBUS;
	if (lane->call.object && READ_ONCE(lane->call.object->no_demand)) {
		lane->fetch.limited = -EOPNOTSUPP;
		return VM_FAULT_SIGBUS;
	}
	if (lane->fetch.fault_failed && lane->fetch.fault_addr == addr) {
		lane->fetch.fault_failed = false;
		return VM_FAULT_SIGBUS;
	}

	/* Neither vma nor vmf may be accessed from here on. */
	release_fault_lock(vmf);
	error = vgpu_fetch_page(session, lane, addr, end);
	if (error) {
		lane->fetch.fault_addr = addr;
		lane->fetch.fault_failed = true;
		/*
		 * Lack of memory, or a limit of the guest's pages or time, is no bad address of
		 * the program.
		 */
		if (error == -ENOBUFS || error == -ENOMEM)
			lane->fetch.limited = error;
	}
	return VM_FAULT_RETRY;
}

/* Keep a copy of the page at its first write since it was fetched or sent. */
static vm_fault_t demand_pfn_mkwrite(struct vm_fault *vmf)
{
	struct vgpuh_session *session = vmf->vma->vm_private_data;
	struct vgpu_demand *demand = &session->demand;
	vm_fault_t ret = VM_FAULT_NOPAGE;
	struct vgpuh_page *page;

	mutex_lock(&demand->lock);
	page = xa_load(&demand->pages, vmf->address >> PAGE_SHIFT);
	/* A page that is claimed or too old is about to be unmapped, so the access is retried. */
	if (!page || !vgpuh_page_usable(demand, page))
		goto out_unlock;
	if (!page->dirty) {
		page->orig = kmemdup(page_address(page->page), PAGE_SIZE, GFP_KERNEL_ACCOUNT);
		ret = VM_FAULT_OOM;
		if (!page->orig)
			goto out_unlock;
		page->dirty = true;
		demand->nr_dirty++;
	}
	demand->mapped = true;
	demand->inserts++;
	ret = vgpu_insert_writable(vmf, page->page);
out_unlock:
	mutex_unlock(&demand->lock);
	return ret;
}

const struct vm_operations_struct vgpu_demand_vm_ops = {
	.fault = demand_fault,
	.pfn_mkwrite = demand_pfn_mkwrite,
};

int vgpu_demand_mmap(struct vgpuh_session *session, struct vm_area_struct *vma)
{
	if ((vma->vm_flags & VM_EXEC) || vma->vm_pgoff != vma->vm_start >> PAGE_SHIFT ||
	    vgpu_agent_in_reserved(session->peer->agent, vma->vm_start,
				   vma->vm_end - vma->vm_start))
		return -EINVAL;
	/*
	 * Pages of a VM_PFNMAP VMA cannot be pinned. Nothing of the guest is inherited or
	 * dumped.
	 */
	vm_flags_set(vma, VM_PFNMAP | VM_IO | VM_DONTEXPAND | VM_DONTDUMP | VM_DONTCOPY);
	vm_flags_clear(vma, VM_MAYEXEC);
	vma->vm_ops = &vgpu_demand_vm_ops;
	vma->vm_private_data = session;
	return 0;
}

/*
 * Map demand pages over a range and the demand VMAs on both sides of it. Such VMAs never merge,
 * so each hole would otherwise add two of them until the limit is reached.
 */
int vgpu_demand_cover(struct vgpuh_session *session, struct file *shadow, u64 addr, u64 len)
{
	struct mm_struct *mm = current->mm;
	u64 start = addr, end = addr + len;
	struct vm_area_struct *vma;
	unsigned long ret;

	lockdep_assert_held(&session->map_lock);
	if (mmap_read_lock_killable(mm))
		return -EINTR;
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

int vgpu_demand_begin(struct vgpuh_lane *lane)
{
	struct vgpuh_session *session = lane->session;
	struct vgpu_demand *demand = &session->demand;
	long ret;

	lane->fetch.fault_failed = false;
	lane->fetch.addr = 0;
	lane->fetch.ahead.next = 0;
	lane->fetch.limited = 0;
	lane->driver.runs = true;
	lane->driver.upcall_ns = 0;
	/* The wait is bounded: a lane that holds the gate is fetching. */
	ret = wait_event_killable_timeout(demand->wait, !READ_ONCE(demand->gated),
					  msecs_to_jiffies(session->peer->agent
							   ->fetch_timeout_ms));
	if (ret < 0)
		return -EINTR;
	mutex_lock(&demand->lock);
	vgpu_fresh_start(&demand->fresh);
	mutex_unlock(&demand->lock);
	lane->driver.guest_call = vgpu_guest_call(session->peer->guest);
	page_zap_all(session);
	return 0;
}

int vgpu_demand_end(struct vgpuh_lane *lane)
{
	struct vgpu_demand *demand = &lane->session->demand;
	int ret;

	mutex_lock(&demand->lock);
	demand_ungate(demand, lane);
	mutex_unlock(&demand->lock);
	/* The driver holds no locks any more, so each upcall has a deadline of its own. */
	lane->driver.runs = false;
	ret = vgpu_writeback_all(lane);
	vgpuh_page_expire(lane->session);
	return lane->fetch.limited ?: ret;
}
