// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages about a guest's window, in both directions.
 */
#include "peer/control.h"
#include "peer/peer.h"
#include "window/binding.h"
#include "window/offer.h"
#include "window/window.h"

/* --- to the guest, by the peer's sender ------------------------------------ */

static int offer_send_window(struct vgpu_peer *peer, u64 id, u64 size, u32 flags)
{
	struct vgpu_window_info msg = {
		.hdr.len = cpu_to_le32(sizeof(msg)),
		.hdr.type = cpu_to_le16(VGPU_MSG_WINDOW),
		.window = cpu_to_le64(id),
		.size = cpu_to_le64(size),
		.flags = cpu_to_le32(flags),
	};

	return vgpuh_control_send(peer, &msg, sizeof(msg));
}

static int offer_send_part(struct vgpu_peer *peer, u16 type, u64 id, u64 offset, u64 len)
{
	struct vgpu_window_part msg = {
		.hdr.len = cpu_to_le32(sizeof(msg)),
		.hdr.type = cpu_to_le16(type),
		.window = cpu_to_le64(id),
		.offset = cpu_to_le64(offset),
		.len = cpu_to_le64(len),
	};

	return vgpuh_control_send(peer, &msg, sizeof(msg));
}

/* Send WINDOW if a window has come, gone or been replaced, or if its flags have changed. */
static int offer_window(struct vgpu_peer *peer)
{
	struct vgpuh_window *window = vgpuh_window_find(peer);
	u64 id = 0, size = 0;
	u32 flags = 0;
	int ret = 0;

	if (window) {
		mutex_lock(&window->lock);
		id = window->id;
		flags = window->drain ? VGPU_WINDOW_DRAIN : 0;
		mutex_unlock(&window->lock);
		size = window->size;
		vgpuh_window_put(window);
	}
	if (id == peer->offer.told && flags == peer->offer.told_flags)
		return 0;
	if (peer->offer.told && peer->offer.told != id)
		ret = offer_send_window(peer, peer->offer.told, 0, 0);
	peer->offer.told = 0;
	if (!ret && id)
		ret = offer_send_window(peer, id, size, flags);
	if (!ret) {
		peer->offer.told = id;
		peer->offer.told_flags = flags;
	}
	return ret;
}

/*
 * Take the next binding with failed pages; @first, @end: out: range of these pages in the
 * window.
 * Return: the binding, with the list's reference; or NULL.
 */
static struct vgpu_binding *offer_next_bad(struct vgpu_peer *peer, u64 *first, u64 *end)
{
	struct vgpu_binding *binding;

	spin_lock_irq(&peer->events.lock);
	binding = list_first_entry_or_null(&peer->offer.bad, struct vgpu_binding, bad_node);
	if (binding) {
		list_del_init(&binding->bad_node);
		*first = binding->bad_first;
		*end = binding->bad_end;
		binding->bad_first = 0;
		binding->bad_end = 0;
	}
	spin_unlock_irq(&peer->events.lock);
	return binding;
}

int vgpu_offer_announce(struct vgpu_peer *peer)
{
	struct vgpu_binding *binding;
	u64 first, end;
	int ret = 0;

	if (!(peer->wire.features & VGPU_FEATURE_WINDOW))
		return 0;
	if (xchg(&peer->offer.changed, false))
		ret = offer_window(peer);
	while (!ret && (binding = offer_next_bad(peer, &first, &end))) {
		/* A guest ignores ranges of older windows; without a window it has no others. */
		if (peer->offer.told)
			ret = offer_send_part(peer, VGPU_MSG_INVALIDATE, binding->window_id, first,
					      end - first);
		vgpu_binding_put(binding);
	}
	return ret;
}

void vgpu_offer_end(struct vgpu_peer *peer)
{
	struct vgpuh_window *window = vgpuh_window_find(peer);

	if (!window)
		return;
	vgpu_binding_end_range(window, peer, 0, 0, window->size);
	/* The next guest finds the header there, even if this one has written to that page. */
	vgpuh_window_zap(window, 0, PAGE_SIZE);
	vgpuh_window_put(window);
}

void vgpu_offer_drop(struct vgpu_peer *peer)
{
	struct vgpu_binding *binding;
	u64 first, end;

	while ((binding = offer_next_bad(peer, &first, &end)))
		vgpu_binding_put(binding);
}

/* --- from the guest -------------------------------------------------------- */

int vgpu_offer_unbind(struct vgpu_peer *peer, const void *msg)
{
	const struct vgpu_window_part *part = msg;
	u64 id = le64_to_cpu(part->window);
	u64 offset = le64_to_cpu(part->offset), len = le64_to_cpu(part->len);
	struct vgpuh_window *window = vgpuh_window_find(peer);
	const struct vgpu_unbind unbind = {
		.seq = le64_to_cpu(part->hdr.seq), .window = id, .offset = offset, .len = len,
	};

	/*
	 * The message counts as idle whatever it names: it is answered, and the range may not
	 * be bound.
	 */
	vgpuh_control_settle(peer, true);
	/* New calls are refused before the bindings that exist are ended: see binding_list(). */
	vgpu_binding_refuse(peer, &unbind);
	if (window) {
		/* Bindings that were made under another number ended with that number. */
		vgpu_binding_end_range(window, peer, id, offset, len);
		vgpuh_window_put(window);
	}
	return offer_send_part(peer, VGPU_MSG_UNBOUND, id, offset, len);
}
