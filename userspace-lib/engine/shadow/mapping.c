// SPDX-License-Identifier: MIT
/*
 * Device mappings: the shadow maps the real file at the guest's own address, and the guest reads
 * and writes the pages by calls. These calls are of class mm: they never ask the guest anything,
 * because the guest's mmap_lock may be held.
 */
#include <linux/errno.h>
#include <linux/mman.h>

#include "nvidia_rm.h"
#include "shadow.h"
#include "shadow/keys.h"

/**
 * struct mapping - a part of a device's mapping, or memory for a call (arguments, kept memory)
 * @addr: address
 * @len: length in bytes
 * @file_offset: place in the file of @object at which the part begins, in bytes
 * @object: number of the object whose file is mapped shared and writable, so that the window can
 *	show it; 0: any other mapping, or memory for a call
 * @device: true if it is a device's mapping
 * @barred: true if parts of the mapping are without access, because they were unmapped when no
 *	entry was left to split the mapping
 * @shut: true if all of the mapping is without access, and only the window can show it; see
 *	map_locked()
 * @asks: true if the guest may use the driver's operation for debuggers on it; see may_ask()
 */
struct mapping {
	u64 addr;
	u64 len;
	u64 file_offset;
	u32 object;
	bool device;
	bool barred;
	bool shut;
	bool asks;
};

/* Array in order of addresses. Changes need both map_lock and demand.lock, reads either of them. */
static struct mapping *mappings;
static u32 nr_mappings, max_mappings;

static u32 mapping_index(u64 addr)
{
	u32 low = 0, high = nr_mappings;

	/* Find the first mapping that ends after @addr. */
	while (low < high) {
		u32 middle = (low + high) / 2;

		if (mappings[middle].addr + mappings[middle].len > addr)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

bool mapping_at(u64 addr)
{
	u32 i = mapping_index(addr);

	return i < nr_mappings && mappings[i].addr <= addr;
}

u64 mapping_next(u64 addr)
{
	u32 i = mapping_index(addr);
	u64 end = addr < SHADOW_RESERVED_BASE ? SHADOW_RESERVED_BASE : SHADOW_DEMAND_END;

	return i < nr_mappings ? min(mappings[i].addr, end) : end;
}

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

void mapping_init(void)
{
	max_mappings = eshadow_mappings_max(&shared->limits);
	mappings = memory_get((max_mappings * sizeof(*mappings) + PAGE_SIZE - 1) & PAGE_MASK);
	if (!mappings)
		sys_exit_group(SHADOW_EXIT_MAP);
}

static int mapping_room(void)
{
	return nr_mappings + 1 < max_mappings ? 0 : -ENOMEM;
}

/* Changes of device mappings that the engine was not told of; protected by map_lock. */
static s64 untold_bytes;
static s32 untold_mappings;

/* Tells the engine of changes. Context: map_lock is held, demand.lock is not. */
static void tell_usage(void)
{
	if (untold_bytes || untold_mappings)
		channel_tell_usage(untold_bytes, untold_mappings, 0);
	untold_bytes = 0;
	untold_mappings = 0;
}

static void account(s64 len, s32 nr)
{
	untold_bytes += len;
	untold_mappings += nr;
}

static void mapping_insert(struct mapping mapping)
{
	u32 i = mapping_index(mapping.addr), j;

	for (j = nr_mappings++; j > i; j--)
		mappings[j] = mappings[j - 1];
	mappings[i] = mapping;
	if (mapping.device)
		account(mapping.len, 1);
}

static void mapping_remove(u32 i)
{
	if (mappings[i].device)
		account(-(s64)mappings[i].len, -1);
	for (nr_mappings--; i < nr_mappings; i++)
		mappings[i] = mappings[i + 1];
}

/* Return: true if removing [addr, end) would split a device's mapping in two. */
static bool mapping_splits(u64 addr, u64 end)
{
	u32 i = mapping_index(addr);

	return i < nr_mappings && mappings[i].device && mappings[i].addr < addr &&
	       mappings[i].addr + mappings[i].len > end;
}

/*
 * Removes [addr, end) from devices' mappings. If that splits a mapping, the caller has made sure
 * of room for one entry more.
 */
static void mapping_cut(u64 addr, u64 end)
{
	u32 i = mapping_index(addr);

	while (i < nr_mappings && mappings[i].addr < end) {
		struct mapping old = mappings[i], part = old;

		if (!old.device) {
			i++;
			continue;
		}
		mapping_remove(i);
		if (old.addr < addr) {
			part.len = addr - old.addr;
			mapping_insert(part);
		}
		if (old.addr + old.len > end) {
			part.addr = end;
			part.len = old.addr + old.len - end;
			part.file_offset = old.file_offset + end - old.addr;
			mapping_insert(part);
		}
		i = mapping_index(max(addr, old.addr));
		if (old.addr < addr || old.addr + old.len > end)
			i = mapping_index(min(end, old.addr + old.len));
	}
}

bool mapping_range_ok(u64 addr, u64 len)
{
	return addr >= SHADOW_DEMAND_START && addr < SHADOW_DEMAND_END &&
	       len <= SHADOW_DEMAND_END - addr &&
	       (addr + len <= SHADOW_RESERVED_BASE ||
		addr >= SHADOW_RESERVED_BASE + SHADOW_RESERVED_SIZE);
}

/*
 * Return: true if [addr, addr + len) has no memory for a call and, if @device, no device's
 * mapping.
 */
static bool range_free(u64 addr, u64 len, bool device)
{
	u32 i;

	for (i = mapping_index(addr); i < nr_mappings && mappings[i].addr < addr + len; i++)
		if (device || !mappings[i].device)
			return false;
	return true;
}

/* --- unmaps --------------------------------------------------------------------- */

/* Turns parts of devices' mappings in the range into demand pages. Context: map_lock is held. */
static int unmap_locked(u64 addr, u64 end)
{
	u32 i;
	int ret = 0;

	for (i = mapping_index(addr); !ret && i < nr_mappings && mappings[i].addr < end; i++) {
		u64 from = max(addr, mappings[i].addr);

		if (mappings[i].device)
			ret = demand_cover(from, min(end, mappings[i].addr + mappings[i].len) -
					   from);
	}
	lock_take(&demand.lock);
	mapping_cut(addr, end);
	lock_drop(&demand.lock);
	tell_usage();
	return ret;
}

/*
 * Makes accesses to a hole in a mapping fail, if there is no entry left to split the mapping. The
 * hole counts as the device's until the rest is unmapped. Context: map_lock is held.
 */
static int bar_locked(u64 addr, u64 len)
{
	long ret = sys6_apart(__NR_mmap, addr, len, PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);

	if (sys_is_error(ret))
		return ret;
	lock_take(&demand.lock);
	mappings[mapping_index(addr)].barred = true;
	lock_drop(&demand.lock);
	return 0;
}

void mapping_unmap(u64 addr, u64 len)
{
	int ret;

	lock_take(&map_lock);
	if (mapping_room() && mapping_splits(addr, addr + len))
		ret = bar_locked(addr, len);
	else
		ret = unmap_locked(addr, addr + len);
	lock_drop(&map_lock);
	/* The old mapping may still be there, so this shadow must end. */
	if (ret)
		sys_exit_group(ESHADOW_EXIT_ROOM);
}

/* --- memory for a call's arguments ------------------------------------------------- */

int mapping_place(u64 addr, u64 len, int key)
{
	long ret = -EINVAL;

	lock_take(&map_lock);
	if (mapping_range_ok(addr, len) && !mapping_room() && range_free(addr, len, true)) {
		lock_take(&demand.lock);
		mapping_insert((struct mapping) { .addr = addr, .len = len });
		pages_cover(addr, len);
		lock_drop(&demand.lock);
		ret = sys_mmap(addr, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			       0);
		if (!sys_is_error(ret) && keys_give(addr, len, key))
			ret = -ENOMEM;
	}
	lock_drop(&map_lock);
	if (sys_is_error(ret) && ret != -EINVAL)
		sys_exit_group(ESHADOW_EXIT_ROOM);
	return sys_is_error(ret) ? ret : 0;
}

void mapping_displace(u64 addr, u64 len)
{
	int ret;

	lock_take(&map_lock);
	ret = demand_cover(addr, len);
	lock_take(&demand.lock);
	mapping_remove(mapping_index(addr));
	lock_drop(&demand.lock);
	lock_drop(&map_lock);
	if (ret)
		sys_exit_group(ESHADOW_EXIT_ROOM);
}

/* --- memory of the guest that drivers keep ------------------------------------------- */

int mapping_reserve(u64 addr, u64 len)
{
	if (!mapping_range_ok(addr, len) || !range_free(addr, len, true))
		return -EINVAL;
	if (mapping_room())
		return -ENOMEM;
	lock_take(&demand.lock);
	mapping_insert((struct mapping) { .addr = addr, .len = len });
	pages_cover(addr, len);
	lock_drop(&demand.lock);
	return 0;
}

void mapping_give_back(u64 addr, u64 len)
{
	demand_cover_moving(addr, len);
	lock_take(&demand.lock);
	mapping_remove(mapping_index(addr));
	lock_drop(&demand.lock);
}

/* --- flags of a mapping in the kernel ------------------------------------------------- */

/* Converts the text of a "VmFlags:" line of smaps to flags of the wire. */
static u32 flags_of(const char *line, const char *end)
{
	static const struct {
		char name[3];
		u32 flag;
	} names[] = {
		{ "rd", VGPU_MAP_READ }, { "wr", VGPU_MAP_WRITE }, { "mr", VGPU_MAP_MAYREAD },
		{ "mw", VGPU_MAP_MAYWRITE }, { "sh", VGPU_MAP_SHARED }, { "io", VGPU_MAP_IO },
		{ "pf", VGPU_MAP_PFNMAP }, { "dc", VGPU_MAP_DONTCOPY },
		{ "de", VGPU_MAP_DONTEXPAND }, { "dd", VGPU_MAP_DONTDUMP },
	};
	u32 flags = 0, i;

	for (; line + 1 < end; line++)
		for (i = 0; i < ARRAY_SIZE(names); i++)
			if (line[-1] == ' ' && line[0] == names[i].name[0] &&
			    line[1] == names[i].name[1])
				flags |= names[i].flag;
	return flags;
}

static const char *hex_read(const char *text, u64 *value)
{
	for (*value = 0;; text++) {
		if (*text >= '0' && *text <= '9')
			*value = *value << 4 | (*text - '0');
		else if (*text >= 'a' && *text <= 'f')
			*value = *value << 4 | (*text - 'a' + 10);
		else
			return text;
	}
}

/**
 * struct smaps - a search in /proc/self/smaps
 * @addr: address in the mapping
 * @offset: out: place in the file that the mapping shows at @addr
 * @flags: out: VGPU_MAP_*
 * @inside: true while lines of the mapping are read
 */
struct smaps {
	u64 addr;
	u64 offset;
	u32 flags;
	bool inside;
};

/* Handles one line. Return: true if the search is complete. */
static bool smaps_line(struct smaps *smaps, const char *line, const char *end)
{
	u64 from, to, offset;
	const char *at = hex_read(line, &from);

	if (*at == '-' && at > line) {
		at = hex_read(at + 1, &to);
		smaps->inside = smaps->addr >= from && smaps->addr < to;
		if (smaps->inside) {
			/* Skip the permissions, " rw-s ": the offset follows. */
			hex_read(at + 6, &offset);
			smaps->offset = offset + smaps->addr - from;
		}
		return false;
	}
	if (!smaps->inside || end - line < 10 || __builtin_memcmp(line, "VmFlags: ", 9))
		return false;
	smaps->flags = flags_of(line + 9, end);
	return true;
}

static int smaps_read(struct smaps *smaps)
{
	char buf[4096];
	u32 have = 0;
	long ret;

	sys3(__NR_lseek, fd_maps, 0, 0);
	for (;;) {
		char *line = buf, *end;

		ret = sys3(__NR_read, fd_maps, (long)buf + have, sizeof(buf) - have - 1);
		if (ret <= 0)
			return -EIO;
		have += ret;
		buf[have] = '\0';
		for (end = line; end < buf + have; end++) {
			if (*end != '\n')
				continue;
			if (smaps_line(smaps, line, end))
				return 0;
			line = end + 1;
		}
		have = buf + have - line;
		if (have == sizeof(buf) - 1)
			have = 0;
		__builtin_memmove(buf, line, have);
	}
}

/* --- calls --------------------------------------------------------------------------- */

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

	if (mapping_room() || nr_mappings >= shared->limits.mappings)
		return call_refuse(call, -ENOMEM);
	if (!range_free(addr, len, false))
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
	tell_usage();
	at = sys6_apart(__NR_mmap, addr, len, shut ? PROT_NONE : prot,
			le32_to_cpu(args->flags) | MAP_FIXED, fd, le64_to_cpu(args->offset));
	ret = sys_is_error(at) ? at : smaps_read(&smaps);
	if (!ret) {
		if (shut)
			smaps.flags = flags_with(smaps.flags, prot);
		mapping_name(call, addr, smaps.flags);
		call->out.mmap.space = cpu_to_le64(call->file->space);
		call->out.mmap.offset = cpu_to_le64(smaps.offset);
		call->out.mmap.flags = cpu_to_le32(flags_told(call->file, smaps.flags));
		call->out.mmap.cache = cpu_to_le32(VGPU_CACHE_WB);
		return 0;
	}
	/* A failed mmap() leaves a hole. */
	if (unmap_locked(addr, addr + len))
		sys_exit_group(ESHADOW_EXIT_ROOM);
	return ret;
}

/*
 * Asks the engine to show the mapping at @addr in the window as well. The engine answers within a
 * second. The thread that reads the answers may wait for map_lock, so it must not be held here.
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
	struct request room = { .msg.type = ESHADOW_ROOM, .msg.value = len, .fd = -1 };
	s64 ret;
	int fd;

	if (!mapping_range_ok(addr, len) || (addr < args_end && addr + len > args_start))
		return call_refuse(call, -EINVAL);
	/* Ask without map_lock: the thread that reads the answers may wait for it. */
	if (channel_ask(call->lane, &room))
		return call_refuse(call, -ENOMEM);
	fd = nvidia_shown(call);
	lock_take(&map_lock);
	/* The engine has counted the mapping already. */
	account(-(s64)len, -1);
	ret = fd < 0 ? call_refuse(call, fd) : map_locked(call, fd, addr, len);
	tell_usage();
	lock_drop(&map_lock);
	nvidia_shown_done(call, fd);
	if (ret)
		return ret;
	if (args->window && !bind(call, addr, len, args->window, args->window_offset))
		call->out.mmap.flags |= cpu_to_le32(VGPU_MAP_WINDOW);
	return 0;
}

s64 mapping_bind(struct call *call)
{
	const struct vgpu_args_bind *args = &call->view.call->args.bind;
	s64 ret = bind(call, le64_to_cpu(args->addr), le64_to_cpu(args->len), args->window,
		       args->window_offset);

	if (!ret)
		call->out.bind.cache = cpu_to_le32(VGPU_CACHE_WB);
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
		memcpy((void *)call->scratch, bytes + done, part);
		if (!copy_checked((void *)(addr + done), (void *)call->scratch, part,
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
	     sys4_in_room(call->room->key, __NR_pread64, fd_mem, call->scratch, PAGE_SIZE,
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
		ok = copy_checked((void *)call->scratch, (void *)addr, PAGE_SIZE, call->room->key);
	if (ok)
		memcpy(to, (void *)call->scratch, PAGE_SIZE);
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
	while (done < len && page_read(call, call->data + done, addr + done))
		done += PAGE_SIZE;
	call->data_len = done;
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
