// SPDX-License-Identifier: MIT
/*
 * Pages of device mappings, which the guest reads and writes by calls. These calls are of class
 * mm, as those of mmap.c.
 */
#include <linux/errno.h>

#include "engine/shadow/call/call.h"
#include "engine/shadow/call/pages.h"
#include "engine/shadow/memory/mapping.h"
#include "engine/shadow/memory/page.h"
#include "engine/shadow/thread/syscall.h"
#include "engine/shadow/thread/thread.h"

/*
 * Return: number of bytes from @addr on, at most @len, that devices' mappings with access cover
 * without a gap; with @asks, only mappings that debuggers may access.
 */
static u64 covered(u64 addr, u64 len, bool asks)
{
	u64 pos = addr, end = addr + len;
	u32 i;

	lock_take(&demand.lock);
	for (i = mapping_index(addr); pos < end && i < nr_mappings; i++) {
		if (mappings[i].addr > pos || !mappings[i].device || mappings[i].shut ||
		    (asks && !mappings[i].asks))
			break;
		pos = min(end, mappings[i].addr + mappings[i].len);
	}
	lock_drop(&demand.lock);
	return pos - addr;
}

/*
 * Copies through the call's room: a driver's fault handler, or its operation for debuggers,
 * reaches no other memory of the program.
 */
static int mapping_put(void *arg, u64 addr, const u8 *bytes, u32 len)
{
	const struct call *call = arg;
	u32 done, part;

	for (done = 0; done < len; done += part) {
		part = min(len - done, (u32)PAGE_SIZE);
		memcpy((void *)call->scratch.addr, bytes + done, part);
		if (!copy_checked((void *)(addr + done), (void *)call->scratch.addr, part,
				  call->room->key))
			return -EFAULT;
	}
	return 0;
}

/* Reads a page as a debugger does. map_lock keeps other lanes from mapping another device there. */
static bool page_debug(const struct call *call, u64 addr)
{
	bool ok;

	lock_take(&map_lock);
	ok = covered(addr, PAGE_SIZE, true) == PAGE_SIZE &&
	     sys4_in_room(call->room->key, __NR_pread64, fd_mem, call->scratch.addr, PAGE_SIZE,
			  addr) == PAGE_SIZE;
	lock_drop(&map_lock);
	return ok;
}

/* Reads a page as the program does, or as a debugger does. */
static bool page_read(const struct call *call, u8 *to, u64 addr)
{
	bool ok;

	if (le16_to_cpu(call->view.call->flags) & VGPU_CALL_DEBUG)
		ok = page_debug(call, addr);
	else
		ok = copy_checked((void *)call->scratch.addr, (void *)addr, PAGE_SIZE,
				  call->room->key);
	if (ok)
		memcpy(to, (void *)call->scratch.addr, PAGE_SIZE);
	return ok;
}

/*
 * Reads pages of devices' mappings. If a mapping is unmapped during the copy, demand pages
 * replace it. The call is of class mm, so faults on these pages fetch nothing: they fail, or wait
 * for another lane that is fetching the page.
 */
s64 mapping_read_pages(struct call *call)
{
	const struct vgpu_args_pages *args = &call->view.call->args.pages;
	u64 addr = le64_to_cpu(args->addr), done = 0;
	u64 len = covered(addr, le64_to_cpu(args->len), false);

	if (!len)
		return -EFAULT;
	if (call_alloc_data(call, len) || call_alloc_scratch(call, PAGE_SIZE))
		return call_refuse(call, -ENOMEM);
	while (done < len && page_read(call, call->reply.data + done, addr + done))
		done += PAGE_SIZE;
	call->reply.data_len = done;
	return done ? (s64)done : -EFAULT;
}

/*
 * Writes ranges to devices' mappings. Ranges belong to different buffers, so a range that cannot
 * be written is skipped: either the driver has revoked the memory, as a native store would find,
 * or the guest is wrong.
 */
s64 mapping_write_pages(struct call *call)
{
	const struct vgpu_seg *segs = call->view.segs;
	const struct vgpu_range *range = (const void *)call->view.data;
	u32 nr = le32_to_cpu(segs[0].len) / sizeof(*range);
	const u8 *data = call->view.data + vgpu_wire_pad(le32_to_cpu(segs[0].len));
	s64 done = 0;

	if (call_alloc_scratch(call, PAGE_SIZE))
		return call_refuse(call, -ENOMEM);
	for (; nr; nr--, range++) {
		u32 len = le32_to_cpu(range->flags) & VGPU_RANGE_MASK ? PAGE_SIZE :
			le32_to_cpu(range->len);

		if (covered(le64_to_cpu(range->addr), len, false) == len &&
		    !vgpu_wire_range_apply(range, data, mapping_put, call))
			done += le32_to_cpu(range->len);
		data += le32_to_cpu(range->len);
	}
	return done ?: -EFAULT;
}
