// SPDX-License-Identifier: GPL-2.0-only
/*
 * Slots: memory of this machine that a window shows and through which bytes of a lane's
 * messages go. See arena.h for which side writes when.
 *
 * A slot's pages are used for nothing else while it exists. They are allocated and zeroed when
 * the lane asks for a slot, charged to the shadow, and freed with the lane, when the window
 * does not show them any more. Where the arena has no slot, the window shows a page that only a
 * guest's kernel can see. It is not the page that is shown to programs where a mapping has
 * failed.
 */
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "arena.h"
#include "compat.h"
#include "fault.h"
#include "window.h"

#define SLOT_PAGES		(VGPU_ARENA_SLOT / PAGE_SIZE)
/* Slots take at most a window's size divided by this number; the rest is left to mappings. */
#define ARENA_PART		16
/* Maximum of slots of one session, which leaves some to others. */
#define ARENA_SESSION_SLOTS	4

/**
 * struct vgpu_slot - memory of one lane in a window
 * @ref: reference count: the lane, and a guest in the same kernel
 * @window: window that shows the slot, with a reference
 * @window_id: number of the window when the slot was made
 * @nr: index of the slot in the window
 * @id: number by which the guest knows the slot
 * @memory: address at which the pages are mapped contiguously
 * @pages: pages of the slot
 */
struct vgpu_slot {
	struct kref ref;
	struct vgpu_window *window;
	u64 window_id;
	u32 nr;
	u64 id;
	void *memory;
	struct page *pages[SLOT_PAGES];
};

u32 vgpu_arena_slots(u64 size)
{
	return min_t(u64, size / ARENA_PART / VGPU_ARENA_SLOT, VGPU_ARENA_SLOTS_MAX);
}

u64 vgpu_arena_start(const struct vgpu_window *window)
{
	return window->size - (u64)window->nr_slots * VGPU_ARENA_SLOT;
}

static u64 slot_offset(const struct vgpu_slot *slot)
{
	return vgpu_arena_start(slot->window) + (u64)slot->nr * VGPU_ARENA_SLOT;
}

/*
 * Publish the number that the guest compares, in the window's header. Context: window->lock is
 * held.
 */
static void slot_tell(const struct vgpu_slot *slot, u64 id)
{
	struct vgpu_window_header *header = page_address(slot->window->header);

	WRITE_ONCE(header->slots[slot->nr], cpu_to_le64(id));
}

/* --- memory --------------------------------------------------------------- */

static void slot_free_memory(struct vgpu_slot *slot)
{
	unsigned int i;

	if (slot->memory)
		vunmap(slot->memory);
	for (i = 0; i < SLOT_PAGES && slot->pages[i]; i++)
		__free_page(slot->pages[i]);
}

/* Allocate the slot's memory; fail rather than reclaim memory that others need. */
static int slot_alloc_memory(struct vgpu_slot *slot)
{
	const gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NORETRY | __GFP_NOWARN;
	unsigned int i;

	for (i = 0; i < SLOT_PAGES; i++) {
		slot->pages[i] = alloc_page(gfp);
		if (!slot->pages[i])
			return -ENOMEM;
	}
	slot->memory = vmap(slot->pages, SLOT_PAGES, VM_MAP, PAGE_KERNEL);
	return slot->memory ? 0 : -ENOMEM;
}

static void slot_release(struct kref *ref)
{
	struct vgpu_slot *slot = container_of(ref, struct vgpu_slot, ref);

	slot_free_memory(slot);
	vgpu_window_put(slot->window);
	kfree(slot);
}

static struct vgpu_slot *slot_alloc(struct vgpu_window *window, const struct vgpu_args_arena *args)
{
	struct vgpu_slot *slot = kzalloc(sizeof(*slot), GFP_KERNEL_ACCOUNT);

	if (!slot)
		return NULL;
	if (slot_alloc_memory(slot)) {
		slot_free_memory(slot);
		kfree(slot);
		return NULL;
	}
	kref_init(&slot->ref);
	vgpu_window_get(window);
	slot->window = window;
	slot->window_id = le64_to_cpu(args->window);
	slot->nr = le32_to_cpu(args->slot);
	slot->id = get_random_u64() ?: 1;
	return slot;
}

/* --- in the window -------------------------------------------------------- */

/* Publish the slot. Return: 0; -ENODEV: the window is not, or will not be, the peer's; -EBUSY. */
static int slot_publish(struct vgpu_slot *slot, const struct vgpu_peer *peer)
{
	struct vgpu_window *window = slot->window;
	int ret = 0;

	mutex_lock(&window->lock);
	if (window->gone || window->drain || window->id != slot->window_id ||
	    READ_ONCE(peer->closing)) {
		ret = -ENODEV;
	} else if (window->slots[slot->nr]) {
		ret = -EBUSY;
	} else {
		window->slots[slot->nr] = slot;
		window->slots_used++;
		slot_tell(slot, slot->id);
	}
	mutex_unlock(&window->lock);
	/* The window has shown the arena's own page there. */
	if (!ret)
		vgpu_window_zap(window, slot_offset(slot), VGPU_ARENA_SLOT);
	return ret;
}

/* Take the slot out of the window: only holders of a reference can access it afterwards. */
static void slot_hide(struct vgpu_slot *slot)
{
	struct vgpu_window *window = slot->window;

	mutex_lock(&window->lock);
	window->slots[slot->nr] = NULL;
	window->slots_used--;
	if (window->id == slot->window_id)
		slot_tell(slot, 0);
	/* The number is cleared before the memory changes: pairs with slot_take() of the guest. */
	smp_wmb();
	mutex_unlock(&window->lock);
	vgpu_window_zap(window, slot_offset(slot), VGPU_ARENA_SLOT);
}

vm_fault_t vgpu_arena_insert_locked(struct vgpu_window *window, struct vm_fault *vmf, u64 offset)
{
	u64 at = offset - vgpu_arena_start(window);
	struct page *page = window->vacant;
	const struct vgpu_slot *slot;

	lockdep_assert_held(&window->lock);
	slot = window->slots[at / VGPU_ARENA_SLOT];
	/* A hypervisor that has opened the window since sees nothing of its predecessor's guest. */
	if (slot && slot->window_id == window->id)
		page = slot->pages[at % VGPU_ARENA_SLOT >> PAGE_SHIFT];
	return vgpu_insert_pfn_cached(vmf->vma, vmf->address & PAGE_MASK, page_to_pfn(page),
				      vm_get_page_prot(vmf->vma->vm_flags), PAGE_SHARED);
}

/* --- slots of lanes ------------------------------------------------------- */

static int arena_get(struct vgpu_lane *lane, struct vgpu_window *window,
		     const struct vgpu_args_arena *args)
{
	struct vgpu_session *session = lane->session;
	struct vgpu_slot *slot;
	int ret;

	if (le32_to_cpu(args->slot) >= window->nr_slots)
		return -EINVAL;
	/*
	 * The limit of bytes in messages limits the slots, too: if it is below the size of a
	 * slot, there is none.
	 */
	if (atomic_inc_return(&session->nr_slots) >
	    min_t(u32, session->peer->limits.call_bytes / VGPU_ARENA_SLOT, ARENA_SESSION_SLOTS)) {
		ret = -EMFILE;
		goto err_uncount;
	}
	ret = -ENOMEM;
	slot = slot_alloc(window, args);
	if (!slot)
		goto err_uncount;
	ret = slot_publish(slot, session->peer);
	if (ret)
		goto err_put;
	lane->slot = slot;
	return 0;

err_put:
	kref_put(&slot->ref, slot_release);
err_uncount:
	atomic_dec(&session->nr_slots);
	return ret;
}

s64 vgpu_arena_get(struct vgpu_hcall *call)
{
	struct vgpu_lane *lane = call->lane;
	struct vgpu_window *window;
	int ret;

	if (lane->slot)
		return -EEXIST;
	window = vgpu_window_find(lane->session->peer);
	if (!window)
		return -ENODEV;
	ret = arena_get(lane, window, &call->view.call->args.arena);
	vgpu_window_put(window);
	if (ret)
		return ret == -EMFILE ? vgpu_call_refuse(call, ret) : ret;
	call->out.arena.id = cpu_to_le64(lane->slot->id);
	return 0;
}

void vgpu_arena_put(struct vgpu_lane *lane)
{
	struct vgpu_slot *slot = lane->slot;

	if (!slot)
		return;
	lane->slot = NULL;
	slot_hide(slot);
	atomic_dec(&lane->session->nr_slots);
	kref_put(&slot->ref, slot_release);
}

int vgpu_arena_send(struct vgpu_lane *lane, struct kvec *vec, size_t nr, size_t len,
		    unsigned int timeout_ms)
{
	struct vgpu_hdr *hdr = vec[0].iov_base;
	struct vgpu_slot *slot = lane->slot;
	size_t put = 0;

	/*
	 * The last message of a lane is not written to the slot, as the guest may still be
	 * reading an upcall there. A window that is drained gets no bytes, as they would be
	 * lost with the window's device.
	 */
	if (slot && !lane->last && !vgpu_conn_is_down(&lane->conn) &&
	    !READ_ONCE(slot->window->drain))
		put = vgpu_arena_gather(slot->memory, vec + 1, nr - 1);
	if (put) {
		hdr->flags = cpu_to_le16(VGPU_HDR_ARENA);
		atomic64_add(put, &slot->window->arena_bytes);
		nr = 1;
	}
	return vgpu_conn_send(&lane->conn, vec, nr, len - put, timeout_ms);
}

bool vgpu_arena_may_recv(const struct vgpu_lane *lane, const struct vgpu_hdr *hdr)
{
	return lane->slot || !(le16_to_cpu(hdr->flags) & VGPU_HDR_ARENA);
}

void vgpu_arena_recv(struct vgpu_lane *lane, u32 at, void *buf, u32 len)
{
	struct vgpu_slot *slot = lane->slot;

	/*
	 * The header's check bounds @at and @len. The guest may change the bytes while they are
	 * copied.
	 */
	if (WARN_ON_ONCE(at > VGPU_ARENA_SLOT || len > VGPU_ARENA_SLOT - at)) {
		memset(buf, 0, len);
		return;
	}
	memcpy(buf, slot->memory + at, len);
	atomic64_add(len, &slot->window->arena_bytes);
}

/* --- a guest in the same kernel ------------------------------------------- */

struct vgpu_slot *vgpu_arena_local_get(struct vgpu_window *window, u32 nr, u64 id, void **memory,
				       const __le64 **id_now)
{
	const struct vgpu_window_header *header = page_address(window->header);
	struct vgpu_slot *slot = NULL;

	mutex_lock(&window->lock);
	if (nr < window->nr_slots && window->slots[nr] && window->slots[nr]->id == id) {
		slot = window->slots[nr];
		kref_get(&slot->ref);
	}
	mutex_unlock(&window->lock);
	if (slot) {
		*memory = slot->memory;
		*id_now = &header->slots[nr];
	}
	return slot;
}

void vgpu_arena_local_put(struct vgpu_slot *slot)
{
	kref_put(&slot->ref, slot_release);
}
