// SPDX-License-Identifier: GPL-2.0-only
/*
 * Demand pages: the shadow's address space is one shared VMA of pages that are fetched from the
 * guest when a driver accesses them.
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
#include "memory/page.h"
#include "memory/writeback.h"
#include "object/object.h"
#include "peer/agent.h"
#include "peer/guest.h"
#include "peer/peer.h"
#include "session/lane.h"
#include "session/session.h"

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
	vgpuh_page_zap_all(session);
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
