// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of the guest that devices keep. While the driver of a call that hands such memory over
 * runs, the guest's own pages are mapped at the program's addresses in the shadow, so the
 * driver pins the guest's memory. Afterwards demand pages are mapped there again, and the next
 * call finds whatever the program has there then.
 *
 * The guest keeps its pages pinned until the host has answered RELEASE. The host answers when
 * all files that the guest closed before are released (leave.c).
 */
#include <linux/fs.h>
#include <linux/hugetlb.h>
#include <linux/interval_tree.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/rbtree.h>
#include <linux/sched/signal.h>
#include <linux/shmem_fs.h>
#include <linux/slab.h>

#include "base/keys.h"
#include "compat.h"
#include "memory/demand.h"
#include "memory/kept.h"
#include "memory/mapping.h"
#include "memory/ram.h"
#include "object/leave.h"
#include "object/object.h"
#include "peer/control.h"
#include "peer/limit.h"
#include "peer/peer.h"
#include "segs.h"
#include "session/call.h"
#include "session/lane.h"
#include "session/session.h"
#include "wire.h"

/**
 * struct vgpu_kept_memory - memory that a device may keep
 * @node: node of peer->kept.tree; its interval is the guest's number of the memory alone
 * @entry: entry of peer->kept.releases, from RELEASE on
 * @bytes: number of bytes; 0: no call has named the memory, only RELEASE
 * @seq: number of the RELEASE message; 0: there was none
 * @leave: number of the last object that the guest had closed when RELEASE came
 */
struct vgpu_kept_memory {
	struct interval_tree_node node;
	struct list_head entry;
	u64 bytes;
	u64 seq;
	u64 leave;
};

/* --- numbers ---------------------------------------------------------------- */

/* Find memory by its number. Guests choose the numbers, so any number may come. */
static struct vgpu_kept_memory *kept_find_locked(struct vgpu_peer *peer, u64 number)
{
	struct interval_tree_node *node;

	lockdep_assert_held(&peer->objects.lock);
	node = interval_tree_iter_first(&peer->kept.tree, number, number);
	return node ? container_of(node, struct vgpu_kept_memory, node) : NULL;
}

/* Add memory with a number that is not in the tree. Return: NULL if there is no memory. */
static struct vgpu_kept_memory *kept_make_locked(struct vgpu_peer *peer, u64 number)
{
	struct vgpu_kept_memory *memory = kzalloc(sizeof(*memory), GFP_KERNEL_ACCOUNT);

	lockdep_assert_held(&peer->objects.lock);
	if (!memory)
		return NULL;
	memory->node.start = number;
	memory->node.last = number;
	interval_tree_insert(&memory->node, &peer->kept.tree);
	return memory;
}

/*
 * Add memory that a call names. Numbers that calls have named and numbers that are to be
 * released have separate limits.
 */
static int kept_add_locked(struct vgpuh_object *object, u64 number, u64 bytes)
{
	struct vgpu_peer *peer = object->peer;
	struct vgpu_kept_memory *memory;
	u64 most = READ_ONCE(peer->limits.kept_bytes);

	/* RELEASE would not wait for this object. */
	if (object->closed)
		return -EBADF;
	memory = kept_find_locked(peer, number);
	/* The call names memory that an earlier call has named. */
	if (memory && memory->bytes)
		return memory->bytes == bytes ? 0 : -EINVAL;
	if (peer->kept.nr >= VGPU_KEPT_NUMBERS || bytes > most || peer->kept.bytes > most - bytes)
		return -ENOMEM;
	if (!memory)
		memory = kept_make_locked(peer, number);
	if (!memory)
		return -ENOMEM;
	memory->bytes = bytes;
	peer->kept.nr++;
	WRITE_ONCE(peer->kept.bytes, peer->kept.bytes + bytes);
	vgpuh_use_most_bytes(&peer->bounds.most.kept_bytes, peer->kept.bytes);
	return 0;
}

static int kept_add(struct vgpuh_object *object, const struct vgpu_kept *kept)
{
	struct vgpu_peer *peer = object->peer;
	int ret;

	mutex_lock(&peer->objects.lock);
	ret = kept_add_locked(object, le64_to_cpu(kept->number), le64_to_cpu(kept->len));
	mutex_unlock(&peer->objects.lock);
	return ret;
}

int vgpu_kept_release(struct vgpu_peer *peer, const void *msg)
{
	const struct vgpu_release *release = msg;
	struct vgpu_kept_memory *memory;
	bool idle;
	int ret = 0;

	mutex_lock(&peer->objects.lock);
	memory = kept_find_locked(peer, le64_to_cpu(release->number));
	idle = !memory;
	if ((memory && memory->seq) || peer->kept.nr_releases >= VGPU_KEPT_NUMBERS) {
		ret = -EPROTO;
		goto out_unlock;
	}
	/* The call that named the memory may have failed before kept_add(). */
	if (!memory)
		memory = kept_make_locked(peer, le64_to_cpu(release->number));
	if (!memory) {
		ret = -ENOMEM;
		goto out_unlock;
	}
	memory->seq = le64_to_cpu(release->hdr.seq);
	memory->leave = peer->leaves.last;
	list_add_tail(&memory->entry, &peer->kept.releases);
	peer->kept.nr_releases++;
out_unlock:
	mutex_unlock(&peer->objects.lock);
	if (ret)
		return ret;
	/* A RELEASE of memory that a call has named is not idle, as the call has caused it. */
	if (idle)
		vgpuh_control_settle(peer, true);
	vgpuh_control_kick(peer);
	return 0;
}

/* Remove the next memory whose RELEASE can be answered. Return: the memory, or NULL. */
static struct vgpu_kept_memory *kept_next_answer(struct vgpu_peer *peer)
{
	struct vgpu_kept_memory *memory;

	mutex_lock(&peer->objects.lock);
	memory = list_first_entry_or_null(&peer->kept.releases, struct vgpu_kept_memory, entry);
	/* Later list entries wait for as many objects, or for more. */
	if (memory && !vgpu_leave_over(peer, memory->leave))
		memory = NULL;
	if (memory) {
		list_del(&memory->entry);
		peer->kept.nr_releases--;
		if (memory->bytes)
			peer->kept.nr--;
		WRITE_ONCE(peer->kept.bytes, peer->kept.bytes - memory->bytes);
		interval_tree_remove(&memory->node, &peer->kept.tree);
	}
	mutex_unlock(&peer->objects.lock);
	return memory;
}

int vgpu_kept_announce(struct vgpu_peer *peer)
{
	struct vgpu_release msg = {
		.hdr.len = cpu_to_le32(sizeof(msg)),
		.hdr.type = cpu_to_le16(VGPU_MSG_RELEASE),
	};
	struct vgpu_kept_memory *memory;
	int ret = 0;

	while (!ret && (memory = kept_next_answer(peer))) {
		msg.hdr.seq = cpu_to_le64(memory->seq);
		msg.number = cpu_to_le64(memory->node.start);
		kfree(memory);
		ret = vgpuh_control_send(peer, &msg, sizeof(msg));
	}
	return ret;
}

void vgpu_kept_drop_all(struct vgpu_peer *peer)
{
	struct vgpu_kept_memory *memory, *next;

	mutex_lock(&peer->objects.lock);
	rbtree_postorder_for_each_entry_safe(memory, next, &peer->kept.tree.rb_root, node.rb)
		kfree(memory);
	peer->kept.tree = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&peer->kept.releases);
	mutex_unlock(&peer->objects.lock);
}

/* --- mappings in the shadow --------------------------------------------------- */

static int kept_count(void *data, u64 at, u64 len, const struct vgpu_ram *part, u64 offset,
		      bool write)
{
	cond_resched();
	return 0;
}

/*
 * Map a piece of the memory with the key of the call's room, so that no driver of another call
 * can pin its pages. Only ->mmap() can give a mapping a key before it has pages. So the
 * shadow's own file is mapped, and its ->mmap() replaces the file by that of the memory.
 */
static unsigned long kept_map_alone(struct vgpuh_call *call, u64 at, u64 len,
				    const struct vgpu_ram *part, u64 offset, unsigned long prot)
{
	struct vgpuh_lane *lane = call->lane;
	struct vgpu_kept_map *map = &lane->session->kept_map;
	struct address_space *mapping = part->file->f_mapping;
	bool counts = (prot & PROT_WRITE) || vgpu_shared_counts_as_writable();
	unsigned long ret;

	lockdep_assert_held(&lane->session->map_lock);
	/*
	 * While the file counts as mapped writable, no seal against writing can be added to it.
	 * Once the new mapping exists, the mapping itself keeps seals out.
	 */
	if (counts && mapping_map_writable(mapping))
		return -EPERM;
	map->file = part->file;
	map->offset = offset;
	map->key = vgpu_room_key(call);
	WRITE_ONCE(map->task, current);
	ret = vm_mmap(lane->shadow, at, len, prot, MAP_SHARED | MAP_FIXED, VGPU_KEPT_OFFSET);
	WRITE_ONCE(map->task, NULL);
	if (counts)
		mapping_unmap_writable(mapping);
	return ret;
}

/*
 * Check for seals against writing. Since Linux 6.12 do_mmap() checks them
 * (memfd_check_seals_mmap()), but only for the file that it is given. The ->mmap() of the
 * filesystem does not check them any more.
 */
static bool kept_is_sealed(const struct file *file)
{
	struct inode *inode = file_inode(file);
	unsigned int seals = 0;

	if (inode->i_sb->s_magic == TMPFS_MAGIC)
		seals = SHMEM_I(inode)->seals;
#ifdef CONFIG_HUGETLBFS
	else if (inode->i_sb->s_magic == HUGETLBFS_MAGIC)
		seals = HUGETLBFS_I(inode)->seals;
#endif
	return seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE);
}

int vgpu_kept_mmap(struct vgpuh_session *session, struct vm_area_struct *vma)
{
	const struct vgpu_kept_map *map = &session->kept_map;
	fmode_t mode = FMODE_READ | (vma->vm_flags & VM_WRITE ? FMODE_WRITE : 0);

	/* No other thread sets map->task to current. A program cannot mmap() what a call maps. */
	if (READ_ONCE(map->task) != current || !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	/* do_mmap() makes this check for the file that it is given, which is the shadow's. */
	if (~map->file->f_mode & mode)
		return -EACCES;
	if ((vma->vm_flags & VM_WRITE) && kept_is_sealed(map->file))
		return -EPERM;
	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP | VM_DONTCOPY |
		     vgpu_keys_vm_flags(map->key));
	vm_flags_clear(vma, VM_MAYEXEC | (vma->vm_flags & VM_WRITE ? 0 : VM_MAYWRITE));
	vma->vm_pgoff = map->offset >> PAGE_SHIFT;
	vma_set_file(vma, map->file);
	return vgpu_call_mmap(map->file, vma);
}

static int kept_map(void *data, u64 at, u64 len, const struct vgpu_ram *part, u64 offset,
		    bool write)
{
	unsigned long prot = write ? PROT_READ | PROT_WRITE : PROT_READ, ret;
	struct vgpuh_call *call = data;

	if (fatal_signal_pending(current))
		return -EINTR;
	if (call->lane->keys)
		ret = kept_map_alone(call, at, len, part, offset, prot);
	else
		ret = vm_mmap(part->file, at, len, prot, MAP_SHARED | MAP_FIXED, offset);
	cond_resched();
	return IS_ERR_VALUE(ret) ? (int)ret : 0;
}

/* Return the data of a KEPT segment, or NULL for other segments. */
static const struct vgpu_kept *kept_of(const struct vgpuh_call *call, u32 seg)
{
	if (!vgpu_seg_is(call, seg, VGPU_SEG_KEPT))
		return NULL;
	return (const void *)(call->view.data + call->segs[seg].in);
}

/* Retire the call's room and end the session: memory with the room's key could not be unmapped. */
static void kept_stay(struct vgpuh_call *call)
{
	call->room_stuck = true;
	vgpuh_session_end(call->lane->session);
}

/*
 * Map the memory of one KEPT segment. @broken: out: true if the range does not show what it
 * should and cannot be repaired.
 */
static int kept_place_locked(struct vgpuh_call *call, const struct vgpu_ram_table *table,
			     u32 pieces, u32 seg, bool *broken)
{
	const struct vgpu_kept *kept = kept_of(call, seg);
	u64 addr = le64_to_cpu(call->view.segs[seg].addr), len = le64_to_cpu(kept->len);
	struct vgpuh_session *session = call->lane->session;
	s64 nr = vgpu_kept_pieces(table->parts, table->nr, kept, addr, kept_count, call),
	    ret;

	if (nr < 0)
		return nr;
	if (nr > pieces || session->nr_pieces > pieces - nr)
		return -ENOSPC;
	if (!vgpuh_mapping_vacant_locked(session, addr, addr + len))
		return -EINVAL;
	ret = vgpu_kept_pieces(table->parts, table->nr, kept, addr, kept_map, call);
	if (ret < 0) {
		*broken = vgpu_demand_cover(session, call->lane->shadow, addr, len);
		/*
		 * Other errors come from the hypervisor's layout of the memory, or from a limit
		 * of the host.
		 */
		return ret == -EINTR || ret == -EACCES || ret == -EPERM ? ret : -ENOMEM;
	}
	session->nr_pieces += nr;
	call->kept.nr_pieces += nr;
	return 0;
}

static int kept_place(struct vgpuh_call *call, const struct vgpu_ram_table *table, u32 pieces,
		      u32 seg)
{
	struct vgpuh_session *session = call->lane->session;
	bool broken = false;
	int ret;

	if (mutex_lock_killable(&session->map_lock))
		return -EINTR;
	ret = kept_place_locked(call, table, pieces, seg, &broken);
	mutex_unlock(&session->map_lock);
	if (broken)
		kept_stay(call);
	return ret;
}

static int kept_show(struct vgpuh_call *call, u32 seg)
{
	struct vgpu_ram_table *table;
	u32 pieces;
	int ret;

	ret = kept_add(call->object, kept_of(call, seg));
	if (ret)
		return ret;
	table = vgpu_ram_get(call->lane->session->peer, &pieces);
	if (!table)
		return -EFAULT;
	ret = kept_place(call, table, pieces, seg);
	vgpu_ram_put(table);
	return ret;
}

int vgpu_kept_show(struct vgpuh_call *call)
{
	u64 features = call->lane->session->peer->wire.features;
	u32 nr = le16_to_cpu(call->view.call->nr_segs), i;
	int ret;

	if (!vgpu_view_has_seg(&call->view, VGPU_SEG_KEPT))
		return 0;
	/* A guest with KEEP_ALONE relies on keys, so the call fails if this shadow has none. */
	if ((features & VGPU_FEATURE_KEEP_ALONE) && !call->lane->keys)
		return -EFAULT;
	ret = vgpu_room_take(call);

	for (i = 0; !ret && i < nr; i++) {
		if (!kept_of(call, i))
			continue;
		ret = kept_show(call, i);
		if (!ret)
			call->kept.nr++;
	}
	return ret;
}

static bool kept_is_known(struct vgpu_peer *peer, u64 number)
{
	bool known;

	mutex_lock(&peer->objects.lock);
	known = kept_find_locked(peer, number);
	mutex_unlock(&peer->objects.lock);
	return known;
}

void vgpu_kept_refuse(struct vgpuh_call *call)
{
	u32 nr = le16_to_cpu(call->view.call->nr_segs), in = 0, i;
	struct vgpu_peer *peer = call->lane->session->peer;
	const struct vgpu_kept *kept;

	/* The segments may not have places yet, so their offsets are computed here. */
	for (i = 0; i < nr; i++) {
		kept = (const void *)(call->view.data + in);
		if (vgpu_seg_is(call, i, VGPU_SEG_KEPT) &&
		    !kept_is_known(peer, le64_to_cpu(kept->number)))
			vgpuh_control_due(peer);
		if (vgpu_seg_is(call, i, VGPU_SEG_IN))
			in += vgpu_wire_pad(vgpu_seg_len(call, i));
	}
}

void vgpu_kept_reject(struct vgpuh_call *call)
{
	const struct vgpu_call *msg = (const void *)call->msg;
	const struct vgpu_seg *segs = (const void *)(msg + 1);
	u32 there = (call->msg_len - sizeof(*msg)) / sizeof(*segs), i;

	for (i = 0; i < min_t(u32, le16_to_cpu(msg->nr_segs), there); i++)
		if (le32_to_cpu(segs[i].flags) & VGPU_SEG_KEPT)
			vgpuh_control_due(call->lane->session->peer);
}

void vgpu_kept_hide(struct vgpuh_call *call)
{
	struct vgpuh_session *session = call->lane->session;
	int ret = 0;
	u32 i;

	if (!call->kept.nr)
		return;
	/* The wait is not killable: the next call must not find the memory. */
	mutex_lock(&session->map_lock);
	for (i = 0; call->kept.nr; i++) {
		const struct vgpu_kept *kept = kept_of(call, i);

		if (!kept)
			continue;
		ret = vgpu_demand_cover(session, call->lane->shadow,
					le64_to_cpu(call->view.segs[i].addr),
					le64_to_cpu(kept->len)) ?: ret;
		call->kept.nr--;
	}
	session->nr_pieces -= call->kept.nr_pieces;
	call->kept.nr_pieces = 0;
	mutex_unlock(&session->map_lock);
	if (ret)
		kept_stay(call);
}
