// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls by which the guest reads and writes pages of device mappings. They are of class mm: they
 * never ask the guest anything, because the guest may hold the program's mmap lock.
 */
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "memory/access.h"
#include "memory/mapping.h"
#include "session/call.h"
#include "session/lane.h"
#include "session/session.h"
#include "window/binding.h"
#include "window/window.h"
#include "wire.h"

/* Number of bytes that are copied out of a mapping at once. */
#define MAPPING_READ	(16 * PAGE_SIZE)

/*
 * Measure how far mappings cover the range without a gap.
 * Return: number of bytes from @addr on, at most @len; -EINTR: another lane holds map_lock, for
 * as long as a driver's mmap takes, and a signal ended the wait.
 */
static s64 mapping_covered(struct vgpuh_session *session, u64 addr, u64 len)
{
	u64 pos = addr, end = addr + len;
	struct vgpuh_mapping *mapping;

	if (mutex_lock_interruptible(&session->map_lock))
		return -EINTR;
	while (pos < end) {
		mapping = vgpuh_mapping_find(session, pos);
		if (!mapping || mapping->addr > pos)
			break;
		pos = min(end, mapping->addr + mapping->len);
	}
	mutex_unlock(&session->map_lock);
	return pos - addr;
}

/*
 * Zap what windows show of [addr, end), after the driver has provided the pages for READ_PAGES:
 * the next fault in a window finds the pages of the driver.
 * Return: 0; -EINTR, as for mapping_covered(): the guest has to ask again.
 */
static int mapping_show_again(struct vgpuh_session *session, u64 addr, u64 end)
{
	struct vgpuh_mapping *mapping;
	struct vgpu_binding *binding;
	u64 first;

	if (mutex_lock_interruptible(&session->map_lock))
		return -EINTR;
	while (addr < end) {
		mapping = vgpuh_mapping_find(session, addr);
		if (!mapping || mapping->addr >= end)
			break;
		first = max(addr, mapping->addr);
		addr = min(end, mapping->addr + mapping->len);
		binding = mapping->binding;
		/* The range of a binding that has ended may be bound to something else by now. */
		if (binding && !READ_ONCE(binding->gone))
			vgpuh_window_zap(binding->window,
					 binding->offset + (first - binding->addr), addr - first);
	}
	mutex_unlock(&session->map_lock);
	return 0;
}

/*
 * Resolve a fault; a signal ends the wait. A driver's fault handler that a signal
 * interrupts asks for a retry (ttm_bo_vm_fault()). copy_from_user() would retry until the
 * driver is ready, also in a task that is to end. The signal here comes from a guest that does
 * not wait any more, or from the end of the shadow.
 */
static int mapping_fault(u64 addr, bool write)
{
	struct mm_struct *mm = current->mm;
	bool unlocked = false;
	int ret;

	if (signal_pending(current) || mmap_read_lock_killable(mm))
		return -EINTR;
	ret = fixup_user_fault(mm, addr, write ? FAULT_FLAG_WRITE : 0, &unlocked);
	mmap_read_unlock(mm);
	return ret;
}

/*
 * Let others run between two copies. Copies of pages that are present do not wait, and the guest
 * decides how many of them a call makes. Return: 0; -EINTR: the thread is being killed.
 */
static int mapping_pause(void)
{
	cond_resched();
	return fatal_signal_pending(current) ? -EINTR : 0;
}

/*
 * Read whole pages. An attempt to copy finds out, at some cost, whether the first page needs a
 * fault. The pages after it then mostly need one, too, so all of them are resolved before the
 * next attempt.
 *
 * Return: number of bytes, less than @len if a driver refuses a page or shows few pages at
 * once; or an error of the first page.
 */
static s64 mapping_read(u64 addr, void *bytes, u64 len)
{
	bool tried = false;
	u64 done;
	int ret;

	while (copy_from_user_nofault(bytes, (const void __user *)addr, len)) {
		/*
		 * The second attempt has failed, too: the fault of one of these pages may have
		 * displaced another one.
		 */
		if (tried)
			len = PAGE_SIZE;
		tried = true;
		for (done = 0; done < len; done += PAGE_SIZE) {
			ret = mapping_fault(addr + done, false);
			if (ret && (!done || ret == -EINTR))
				return ret;
			if (ret)
				len = done;
		}
	}
	return len;
}

static int mapping_put(void *arg, u64 addr, const u8 *bytes, u32 len)
{
	u32 part;
	int ret;

	for (; len; len -= part, addr += part, bytes += part) {
		ret = mapping_pause();
		if (ret)
			return ret;
		part = min_t(u32, len, PAGE_SIZE - offset_in_page(addr));
		while (copy_to_user_nofault((void __user *)addr, bytes, part)) {
			ret = mapping_fault(addr, true);
			if (ret)
				return ret;
		}
	}
	return 0;
}

/*
 * Run a READ_PAGES call. A mapping that is unmapped while it is read leaves demand pages, whose
 * faults fail in a call of class mm.
 */
s64 vgpuh_mapping_read_pages(struct vgpuh_call *call)
{
	const struct vgpu_args_pages *args = &call->view.call->args.pages;
	u64 addr = le64_to_cpu(args->addr);
	s64 len, part, step = MAPPING_READ, done = 0, ret;

	/* The guest knows from VGPU_MAP_ACCESS what such a call would find out. */
	if (le16_to_cpu(call->view.call->flags) & VGPU_CALL_DEBUG)
		return vgpuh_call_refuse(call, -EOPNOTSUPP);
	len = mapping_covered(call->lane->session, addr, le64_to_cpu(args->len));
	if (len <= 0)
		return len ? vgpuh_call_refuse(call, len) : -EFAULT;
	ret = vgpuh_call_alloc_data(call, len);
	while (ret >= 0 && done < len) {
		ret = mapping_pause();
		if (ret)
			break;
		part = min_t(s64, len - done, step);
		ret = mapping_read(addr + done, call->reply.data + done, part);
		/* The driver may show only few pages at once: read single pages from now on. */
		if (ret < part)
			step = PAGE_SIZE;
		if (ret > 0)
			done += ret;
	}
	if (done)
		ret = mapping_show_again(call->lane->session, addr, addr + done);
	if (!done || ret) {
		/* Pages that the driver did not refuse may be asked for again. */
		return ret == -EINTR || ret == -ENOMEM ? vgpuh_call_refuse(call, ret) : -EFAULT;
	}
	call->reply.data_len = done;
	return done;
}

/* Return the number of bytes of the shadow's memory that a range may change. */
static u32 mapping_range_len(const struct vgpu_range *range)
{
	return le32_to_cpu(range->flags) & VGPU_RANGE_MASK ? PAGE_SIZE : le32_to_cpu(range->len);
}

/*
 * Run a WRITE_PAGES call. The ranges belong to different buffers, so a range that cannot be
 * written is skipped: either the driver has revoked its memory, and natively the program's store
 * would have failed as well, or the guest is wrong.
 */
s64 vgpuh_mapping_write_pages(struct vgpuh_call *call)
{
	const struct vgpu_seg *segs = call->view.segs;
	const struct vgpu_range *range = (const void *)call->view.data;
	u32 nr = le32_to_cpu(segs[0].len) / sizeof(*range);
	const u8 *data = call->view.data + vgpu_wire_pad(le32_to_cpu(segs[0].len));
	u64 done = 0;

	for (; nr; nr--, range++) {
		u64 addr = le64_to_cpu(range->addr);
		u32 len = mapping_range_len(range);
		s64 ret = mapping_pause() ?: mapping_covered(call->lane->session, addr, len);

		if (ret == len)
			ret = vgpu_wire_range_apply(range, data, mapping_put, NULL);
		else if (ret >= 0)
			ret = -EFAULT;
		/* The driver has refused nothing, so the guest may send all of it again. */
		if (ret == -EINTR || ret == -ENOMEM)
			return vgpuh_call_refuse(call, ret);
		if (!ret)
			done += le32_to_cpu(range->len);
		data += le32_to_cpu(range->len);
	}
	return done ?: -EFAULT;
}
