// SPDX-License-Identifier: MIT
/*
 * Memory of the guest process that drivers keep. While the driver's ioctl runs, the guest's own
 * pages are mapped at their addresses in this process, so the driver pins the guest's memory.
 * Afterwards demand pages are there again: later calls find the pages that the guest has at these
 * addresses by then.
 */
#include <linux/errno.h>
#include <linux/mman.h>

#include "engine/shadow/base/lib.h"
#include "engine/shadow/call/call.h"
#include "engine/shadow/call/files.h"
#include "engine/shadow/call/kept.h"
#include "engine/shadow/call/room.h"
#include "engine/shadow/lane/channel.h"
#include "engine/shadow/memory/place.h"
#include "segs.h"
#include "shadow/keys.h"

/* Largest length in bytes that is mapped at once, as it has to fit into the reserved range. */
#define PART_MAX	((u64)256 << 20)

/*
 * Number of pieces of the guest's memory that are mapped now, for all lanes together; protected by
 * map_lock.
 */
static u32 nr_pieces;

/*
 * Maps a part with the key of the call's room, so that no driver of another call can pin it. A
 * new mapping has key 0, and drivers that use FOLL_FORCE can pin even memory without access for
 * reading. So the mapping gets its key in the reserved range, where the guest has to guess its
 * address, and is then moved.
 */
static int part_map(u64 at, u64 len, int fd, u64 offset, int prot, int key)
{
	long aside = sys_mmap(0, len, PROT_NONE, MAP_SHARED, fd, offset), ret;

	if (sys_is_error(aside))
		return aside;
	ret = keys_protect(aside, len, prot, key);
	if (!sys_is_error(ret))
		ret = sys6(__NR_mremap, aside, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, at, 0);
	if (!sys_is_error(ret))
		return 0;
	memory_put((void *)aside, len);
	return ret;
}

static int piece_map(void *data, u64 at, u64 len, const struct vgpu_ram *in, u64 offset, bool write)
{
	const int prot = write ? PROT_READ | PROT_WRITE : PROT_READ;
	const struct call *call = data;
	u64 pos, part;
	int ret;

	/* The kernel merges parts that are adjacent in the file into one mapping. */
	for (pos = 0; pos < len; pos += part) {
		part = min(len - pos, PART_MAX);
		ret = part_map(at + pos, part, in->fd, offset + pos, prot, call->room->key);
		if (ret)
			return ret;
	}
	/* Ignore failures: the driver will find pages that cannot be populated. */
	sys3(__NR_madvise, at, len, write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
	return 0;
}

/*
 * Maps the guest's pages at their addresses. Context: map_lock is held. Return: 0, or a negative
 * errno.
 */
static int kept_place(struct call *call, u64 addr, const struct vgpu_kept *kept)
{
	u64 len = le64_to_cpu(kept->len);
	s64 nr = ram_pieces(kept, addr, NULL, NULL);
	int ret;

	if (nr < 0)
		return nr;
	if (nr > shared->pieces || nr_pieces > shared->pieces - nr)
		return -ENOSPC;
	ret = mapping_reserve(addr, len);
	if (ret)
		return ret;
	if (ram_pieces(kept, addr, piece_map, call) < 0) {
		mapping_give_back(addr, len);
		return -ENOMEM;
	}
	nr_pieces += nr;
	call->nr_pieces += nr;
	return 0;
}

static const struct vgpu_kept *kept_of(const struct call *call, u32 seg)
{
	if (!vgpu_view_seg_is(&call->view, seg, VGPU_SEG_KEPT))
		return NULL;
	return (const void *)(call->view.data + call->segs[seg].in);
}

void kept_hide(struct call *call)
{
	u32 i;

	if (!call->nr_kept)
		return;
	lock_take(&map_lock);
	for (i = 0; call->nr_kept; i++) {
		const struct vgpu_kept *kept = kept_of(call, i);

		if (!kept)
			continue;
		mapping_give_back(le64_to_cpu(call->view.segs[i].addr), le64_to_cpu(kept->len));
		call->nr_kept--;
	}
	nr_pieces -= call->nr_pieces;
	call->nr_pieces = 0;
	lock_drop(&map_lock);
}

int kept_show(struct call *call)
{
	u32 nr = vgpu_view_nr_segs(&call->view), i;
	int ret;

	if (!vgpu_view_has_seg(&call->view, VGPU_SEG_KEPT))
		return 0;
	/* The guest relies on keys if the engine offers VGPU_FEATURE_KEEP_ALONE. */
	if (!keys_on && (shared->features & VGPU_FEATURE_KEEP_ALONE))
		return -EFAULT;
	ret = room_take(call);
	if (ret)
		return ret;

	for (i = 0; i < nr; i++) {
		const struct vgpu_kept *kept = kept_of(call, i);

		if (!kept)
			continue;
		ret = channel_ask_for(call->lane, ESHADOW_KEEP, call->file->object,
				      le64_to_cpu(kept->number), le64_to_cpu(kept->len));
		if (!ret) {
			lock_take(&map_lock);
			ret = kept_place(call, le64_to_cpu(call->view.segs[i].addr), kept);
			lock_drop(&map_lock);
		}
		if (ret) {
			kept_hide(call);
			return ret;
		}
		call->nr_kept++;
	}
	return 0;
}
