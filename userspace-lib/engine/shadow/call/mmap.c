// SPDX-License-Identifier: MIT
/*
 * Device mappings: the shadow maps the real file at the guest's own address. The calls are of
 * class mm: they never ask the guest anything, because the guest's mmap_lock may be held.
 */
#include <linux/errno.h>
#include <linux/mman.h>

#include "engine/shadow/base/lib.h"
#include "engine/shadow/call/call.h"
#include "engine/shadow/call/files.h"
#include "engine/shadow/call/mmap.h"
#include "engine/shadow/call/nvidia.h"
#include "engine/shadow/lane/channel.h"
#include "engine/shadow/memory/mapping.h"
#include "engine/shadow/memory/page.h"
#include "engine/shadow/memory/place.h"
#include "engine/shadow/memory/smaps.h"
#include "engine/shadow/thread/syscall.h"

/* Pages in which exec put the program's arguments; set once, before lanes start. */
static u64 args_start, args_end;

void mapping_keep_args(const long *start)
{
	const char *const *argv = (const char *const *)(start + 1);
	const char *end = argv[start[0] - 1];

	while (*end)
		end++;
	args_start = (u64)argv[0] & PAGE_MASK;
	args_end = ((u64)end + PAGE_SIZE) & PAGE_MASK;
}

bool mapping_over_args(u64 addr, u64 len)
{
	return addr < args_end && addr + len > args_start;
}

/*
 * Return: true if the driver's operation for debuggers (vm_ops->access) may be used. That of
 * NVIDIA's driver follows a NULL pointer in release 595, whatever the mapping is
 * (nvidia_vma_access()).
 */
static bool may_ask(const struct file_entry *file)
{
	return !nvidia_is_rm(file);
}

/*
 * Return: the flags of a mapping that the guest is told. Nothing says whether the driver has an
 * operation for debuggers, which debuggers need where there are no pages. So VGPU_MAP_ASK lets
 * the guest try.
 */
static u32 flags_told(const struct file_entry *file, u32 flags)
{
	return flags & (VGPU_MAP_IO | VGPU_MAP_PFNMAP) && may_ask(file) ? flags | VGPU_MAP_ASK : flags;
}

/* Return: the flags that a mapping made without access would have with @prot. */
static u32 flags_with(u32 flags, u32 prot)
{
	if (prot & PROT_READ && flags & VGPU_MAP_MAYREAD)
		flags |= VGPU_MAP_READ;
	if (prot & PROT_WRITE && flags & VGPU_MAP_MAYWRITE)
		flags |= VGPU_MAP_WRITE;
	return flags;
}

/* Remembers what a new mapping shows, if the window can show it. Context: map_lock is held. */
static void mapping_name(struct call *call, u64 addr, u32 flags)
{
	const struct vgpu_args_mmap *args = &call->view.call->args.mmap;
	const u32 both = VGPU_MAP_SHARED | VGPU_MAP_WRITE;
	struct mapping *mapping = &mappings[mapping_index(addr)];

	if ((flags & both) != both)
		return;
	lock_take(&demand.lock);
	mapping->object = call->file->object;
	mapping->file_offset = le64_to_cpu(args->offset);
	lock_drop(&demand.lock);
}

/*
 * Maps a file. Mappings of NVIDIA's cards are made without access. The driver does not zap PTEs
 * of a card's memory that is freed: a mapping then shows memory of another program, which may be
 * another guest's. The engine owns memory that the window shows, but not memory that this process
 * maps. So nothing is read or written by this process's mapping, neither for the guest nor by
 * drivers that get such an address. Context: map_lock is held.
 */
static s64 map_locked(struct call *call, int fd, u64 addr, u64 len)
{
	const struct vgpu_args_mmap *args = &call->view.call->args.mmap;
	u32 prot = le32_to_cpu(args->prot) & (PROT_READ | PROT_WRITE);
	struct smaps smaps = { .addr = addr };
	const bool shut = nvidia_is_card(call->file);
	long at;
	int ret;

	if (mapping_room() || nr_mappings >= limit_now(mappings))
		return call_refuse(call, -ENOMEM);
	if (!mapping_range_free(addr, len, false))
		return call_refuse(call, -EINVAL);
	/* MAP_FIXED removes earlier mappings first, even if the driver then fails. */
	lock_take(&demand.lock);
	mapping_cut(addr, addr + len);
	mapping_insert((struct mapping) {
		.addr = addr, .len = len, .device = true, .shut = shut,
		.asks = may_ask(call->file),
	});
	pages_cover(addr, len);
	lock_drop(&demand.lock);
	mapping_tell_usage();
	at = sys6_apart(__NR_mmap, addr, len, shut ? PROT_NONE : prot,
			le32_to_cpu(args->flags) | MAP_FIXED, fd, le64_to_cpu(args->offset));
	ret = sys_is_error(at) ? at : smaps_read(&smaps);
	if (!ret) {
		if (shut)
			smaps.flags = flags_with(smaps.flags, prot);
		mapping_name(call, addr, smaps.flags);
		call->reply.out.mmap.space = cpu_to_le64(call->file->space);
		call->reply.out.mmap.offset = cpu_to_le64(smaps.offset);
		call->reply.out.mmap.flags = cpu_to_le32(flags_told(call->file, smaps.flags));
		call->reply.out.mmap.cache = cpu_to_le32(VGPU_CACHE_WB);
		return 0;
	}
	/* A failed mmap() leaves a hole. */
	if (mapping_unmap_locked(addr, addr + len))
		sys_exit_group(ESHADOW_EXIT_ROOM);
	return ret;
}

/*
 * Asks the engine to show the mapping at @addr in the window as well. The engine answers within a
 * second. Context: map_lock is not held, as the thread that reads the answers may wait for it.
 *
 * Return: 0, or a negative errno, with which the mapping goes by copy.
 */
static s64 bind(struct call *call, u64 addr, u64 len, __le64 window, __le64 offset)
{
	struct eshadow_bind to = {
		.window = le64_to_cpu(window),
		.offset = le64_to_cpu(offset),
		.len = len,
		.seq = le64_to_cpu(call->view.call->control_seq),
	};
	struct request request = {
		.msg.type = ESHADOW_BIND,
		.more = &to,
		.nr_more = sizeof(to),
		.fd = -1,
	};
	s64 ret = -EINVAL;
	u32 i;

	lock_take(&demand.lock);
	i = mapping_index(addr);
	if (i < nr_mappings && mappings[i].device && !mappings[i].barred &&
	    mappings[i].addr <= addr && mappings[i].addr + mappings[i].len >= addr + len) {
		request.msg.object = mappings[i].object;
		to.file_offset = mappings[i].file_offset + addr - mappings[i].addr;
		/* The hypervisor maps the file shared, for reading and writing. */
		ret = mappings[i].object ? 0 : -EOPNOTSUPP;
	}
	lock_drop(&demand.lock);
	return ret ? ret : channel_ask(call->lane, &request);
}

s64 mapping_mmap(struct call *call)
{
	const struct vgpu_args_mmap *args = &call->view.call->args.mmap;
	u64 addr = le64_to_cpu(args->addr), len = le64_to_cpu(args->len);
	s64 ret;
	int fd;

	if (!mapping_range_ok(addr, len) || mapping_over_args(addr, len))
		return call_refuse(call, -EINVAL);
	/* Ask without map_lock, as the thread that reads the answers may wait for that lock. */
	if (channel_ask_for(call->lane, ESHADOW_ROOM, 0, len, 0))
		return call_refuse(call, -ENOMEM);
	fd = nvidia_shown(call);
	lock_take(&map_lock);
	/* The engine has counted the mapping already. */
	mapping_account(-(s64)len, -1);
	ret = fd < 0 ? call_refuse(call, fd) : map_locked(call, fd, addr, len);
	mapping_tell_usage();
	lock_drop(&map_lock);
	nvidia_shown_done(call, fd);
	if (ret)
		return ret;
	if (args->window && !bind(call, addr, len, args->window, args->window_offset))
		call->reply.out.mmap.flags |= cpu_to_le32(VGPU_MAP_WINDOW);
	return 0;
}

s64 mapping_bind(struct call *call)
{
	const struct vgpu_args_bind *args = &call->view.call->args.bind;
	s64 ret = bind(call, le64_to_cpu(args->addr), le64_to_cpu(args->len), args->window,
		       args->window_offset);

	if (!ret)
		call->reply.out.bind.cache = cpu_to_le32(VGPU_CACHE_WB);
	return ret;
}

/* Makes mappings writable, for a program that could only read when it made them. */
s64 mapping_protect(struct call *call)
{
	const struct vgpu_args_protect *args = &call->view.call->args.protect;
	u64 addr = le64_to_cpu(args->addr), end = addr + le64_to_cpu(args->len);
	s64 ret = 0;
	u32 i;

	lock_take(&map_lock);
	for (i = mapping_index(addr); !ret && i < nr_mappings && mappings[i].addr < end; i++) {
		struct smaps smaps = { .addr = mappings[i].addr };

		if (!mappings[i].device || mappings[i].shut)
			continue;
		/* mprotect() would give access to the holes as well. */
		if (mappings[i].barred) {
			ret = -ENOMEM;
			break;
		}
		ret = smaps_read(&smaps);
		/* Writes to a private mapping would go to copies that only this process has. */
		if (!ret && !(smaps.flags & VGPU_MAP_WRITE) &&
		    (smaps.flags & (VGPU_MAP_READ | VGPU_MAP_SHARED)) !=
		    (VGPU_MAP_READ | VGPU_MAP_SHARED))
			ret = -EACCES;
		if (!ret)
			ret = sys3_apart(__NR_mprotect, mappings[i].addr, mappings[i].len,
					 PROT_READ | PROT_WRITE);
	}
	lock_drop(&map_lock);
	return ret;
}
