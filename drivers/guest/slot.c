// SPDX-License-Identifier: GPL-2.0-only
/* Slots: see slot.h. */
#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "uapi/linux/vgpu_wire.h"

#include "arena.h"
#include "conn.h"
#include "deadline.h"
#include "lane.h"
#include "slot.h"
#include "wire.h"
#include "window.h"

/* Delay after a slot that could not be accessed: the cause will hardly go away soon. */
#define SLOT_USELESS_DELAY	(10 * HZ)

static bool slot_claim_nr(struct vgpu_slot *slot)
{
	struct vgpu_window *window = slot->window;
	unsigned long *slots = window->provider->slots(window);
	unsigned int first = READ_ONCE(window->next_slot), i;

	for (i = 0; i < window->nr_slots; i++) {
		slot->nr = (first + i) % window->nr_slots;
		if (!test_and_set_bit(slot->nr, slots)) {
			/*
			 * Begin the next search behind this slot, with which the host may be
			 * busy after its release.
			 */
			WRITE_ONCE(window->next_slot, slot->nr + 1);
			return true;
		}
	}
	return false;
}

struct vgpu_slot *vgpu_slot_claim(struct vgpu_host *host)
{
	struct vgpu_window *window = vgpu_window_get(host);
	struct vgpu_slot *slot;

	if (!window)
		return NULL;
	if (!vgpu_window_is_open(window) ||
	    time_before(jiffies, READ_ONCE(window->slots_after)))
		goto err_window;
	slot = kzalloc(sizeof(*slot), GFP_KERNEL);
	if (!slot)
		goto err_window;
	slot->window = window;
	if (slot_claim_nr(slot))
		return slot;
	kfree(slot);
err_window:
	vgpu_window_put(window);
	return NULL;
}

u64 vgpu_slot_offset(const struct vgpu_slot *slot)
{
	const struct vgpu_window *window = slot->window;

	return window->size - (u64)(window->nr_slots - slot->nr) * VGPU_ARENA_SLOT;
}

/* Returns true if the memory is still the slot's; called between slot_enter and slot_leave. */
static bool slot_is_ours(const struct vgpu_slot *slot)
{
	return slot->window->provider->slot_id(slot) == slot->id;
}

int vgpu_slot_open(struct vgpu_slot *slot, u64 id)
{
	const struct vgpu_window_provider *provider = slot->window->provider;
	int ret;

	slot->id = id;
	ret = provider->slot_open(slot);
	if (!ret) {
		slot->open = true;
		ret = -ENODEV;
		if (provider->slot_enter(slot)) {
			if (slot_is_ours(slot))
				ret = 0;
			provider->slot_leave(slot);
		}
	}
	if (ret)
		WRITE_ONCE(slot->window->slots_after, jiffies + SLOT_USELESS_DELAY);
	return ret;
}

void vgpu_slot_put(struct vgpu_slot *slot)
{
	struct vgpu_window *window = slot->window;

	if (slot->open)
		window->provider->slot_close(slot);
	clear_bit_unlock(slot->nr, window->provider->slots(window));
	kfree(slot);
	vgpu_window_put(window);
}

bool vgpu_slot_is_usable(const struct vgpu_slot *slot)
{
	return vgpu_window_is_open(slot->window);
}

/* Copies bytes into the lane's slot. Return: their number; 0: the slot cannot be used for them. */
static size_t slot_fill(struct vgpu_lane *lane, const struct kvec *vec, size_t nr)
{
	const struct vgpu_window_provider *provider;
	struct vgpu_slot *slot = lane->slot;
	size_t put = 0;

	/* If the connection has ended, perhaps no thread of the host reads the slot any more. */
	if (!slot || !vgpu_slot_is_usable(slot) || vgpu_conn_is_down(&lane->conn))
		return 0;
	provider = slot->window->provider;
	if (!provider->slot_enter(slot))
		return 0;
	if (slot_is_ours(slot))
		put = vgpu_arena_gather(slot->memory, vec, nr);
	provider->slot_leave(slot);
	return put;
}

static void slot_missed(struct vgpu_lane *lane, u32 len)
{
	if (!lane->slot && vgpu_arena_suits(len))
		lane->long_bytes += len;
}

bool vgpu_slot_is_wanted(const struct vgpu_lane *lane)
{
	return !lane->slot && lane->long_bytes && lane->long_bytes >= vgpu_arena_worth() &&
		time_after_eq(jiffies, lane->slot_after);
}

int vgpu_slot_send(struct vgpu_lane *lane, struct kvec *vec, size_t nr, size_t len,
		   unsigned long deadline)
{
	struct vgpu_hdr *hdr = vec[0].iov_base;
	size_t put = slot_fill(lane, vec + 1, nr - 1);

	if (put) {
		hdr->flags = cpu_to_le16(VGPU_HDR_ARENA);
		nr = 1;
	} else {
		slot_missed(lane, len);
	}
	return vgpu_conn_send(&lane->conn, vec, nr, len - put, vgpu_deadline_ms(deadline));
}

/*
 * Copies the first @len bytes of the slot, once, to @vec, which has room for them. Return: 0,
 * or -ENODEV if the slot was taken away.
 */
static int slot_take(struct vgpu_slot *slot, const struct kvec *vec, size_t len)
{
	const struct vgpu_window_provider *provider = slot->window->provider;
	size_t done, part;
	int ret;

	if (!provider->slot_enter(slot))
		return -ENODEV;
	for (done = 0; done < len; done += part, vec++) {
		part = min(vec->iov_len, len - done);
		memcpy(vec->iov_base, slot->memory + done, part);
	}
	/* Read the id after the bytes. Pairs with the host's slot_hide(). */
	rmb();
	ret = slot_is_ours(slot) ? 0 : -ENODEV;
	provider->slot_leave(slot);
	return ret;
}

int vgpu_slot_recv(struct vgpu_lane *lane, void *msg, unsigned long deadline)
{
	const struct vgpu_hdr *hdr = msg;
	u32 len = le32_to_cpu(hdr->len), sent = vgpu_wire_len_sent(hdr);
	struct kvec rest = { .iov_base = msg + sent, .iov_len = len - sent };
	int ret;

	if (sent < len && !lane->slot)
		return -EPROTO;
	ret = vgpu_conn_recv(&lane->conn, msg + sizeof(*hdr), sent - sizeof(*hdr),
			     vgpu_deadline_ms(deadline));
	if (!ret && sent < len)
		return slot_take(lane->slot, &rest, rest.iov_len);
	slot_missed(lane, len);
	return ret;
}

int vgpu_slot_recv_head(struct vgpu_lane *lane, void *msg, u32 head, unsigned long deadline)
{
	return vgpu_conn_recv(&lane->conn, msg + sizeof(struct vgpu_hdr),
			      head - sizeof(struct vgpu_hdr), vgpu_deadline_ms(deadline));
}

int vgpu_slot_recv_rest(struct vgpu_lane *lane, const struct vgpu_hdr *hdr, u32 head,
			const struct kvec *vec, size_t nr, unsigned long deadline)
{
	u32 len = le32_to_cpu(hdr->len), sent = vgpu_wire_len_sent(hdr);
	size_t room = 0, left = len - head, part, i;
	int ret = 0;

	for (i = 0; i < nr; i++)
		room += vec[i].iov_len;
	if (left > room || (sent < len && (!lane->slot || sent != head)))
		return -EPROTO;
	if (sent < len)
		return slot_take(lane->slot, vec, left);
	slot_missed(lane, len);
	for (; !ret && left; left -= part, vec++) {
		part = min(vec->iov_len, left);
		ret = vgpu_conn_recv(&lane->conn, vec->iov_base, part, vgpu_deadline_ms(deadline));
	}
	return ret;
}
