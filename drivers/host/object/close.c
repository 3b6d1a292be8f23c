// SPDX-License-Identifier: GPL-2.0-only
/*
 * Closes of objects whose last reference came back by a CLOSE message.
 *
 * A work item of the peer closes such objects in the order of the messages, as a driver's
 * ->release may take long. Calls and the peer's end wait for closes.
 */
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "base/work.h"
#include "cover.h"
#include "object/close.h"
#include "object/flush.h"
#include "object/leave.h"
#include "object/object.h"
#include "object/poll.h"
#include "peer/peer.h"

/* Take the next object to be closed; closes.seq keeps its place in the order. */
static struct vgpuh_object *close_next(struct vgpu_peer *peer)
{
	struct vgpuh_object *object;

	spin_lock(&peer->closes.lock);
	object = list_first_entry_or_null(&peer->closes.list, struct vgpuh_object, close.node);
	if (object)
		list_del_init(&object->close.node);
	peer->closes.seq = object ? object->close.seq : 0;
	spin_unlock(&peer->closes.lock);
	/* The close before this one is applied now. */
	wake_up_all(&peer->wait);
	return object;
}

static void close_work(struct work_struct *work)
{
	struct vgpu_peer *peer = container_of(work, struct vgpu_peer, closes.work);
	/*
	 * The deadline is common to all objects that are found here, as later calls wait for
	 * all of them.
	 */
	unsigned long flush_by = vgpuh_object_flush_by();
	struct vgpuh_object *object;
	unsigned long flushed;
	u64 leave;

	vgpu_cover_start();
	while ((object = close_next(peer))) {
		leave = object->leave.number;
		/* A close without a number is not the guest's: the host has cut the grant. */
		if (!object->close.seq)
			vgpu_poll_hang_up(object);
		vgpuh_object_flush(object, flush_by);
		flushed = jiffies;
		vgpuh_object_put(object);
		/* The time of the driver's ->release does not count for the next object. */
		flush_by += jiffies - flushed;
		/* Another work item puts the file, and calls may wait for that. */
		if (leave)
			wait_event_idle(peer->wait, vgpu_leave_settled(peer, leave));
	}
	vgpu_cover_stop();
}

void vgpu_close_queue(struct vgpuh_object *object, u64 seq)
{
	struct vgpu_peer *peer = object->peer;

	object->close.seq = seq;
	spin_lock(&peer->closes.lock);
	list_add_tail(&object->close.node, &peer->closes.list);
	spin_unlock(&peer->closes.lock);
	queue_work(vgpu_host_patient_wq, &peer->closes.work);
}

bool vgpu_close_applied(struct vgpu_peer *peer, u64 seq)
{
	struct vgpuh_object *object;
	bool applied;

	spin_lock(&peer->closes.lock);
	object = list_first_entry_or_null(&peer->closes.list, struct vgpuh_object, close.node);
	applied = READ_ONCE(peer->control.seq) >= seq &&
		  !(object && object->close.seq <= seq) &&
		  !(peer->closes.seq && peer->closes.seq <= seq);
	spin_unlock(&peer->closes.lock);
	return applied;
}

bool vgpu_close_all_over(struct vgpu_peer *peer)
{
	bool over;

	spin_lock(&peer->closes.lock);
	over = list_empty(&peer->closes.list) && !peer->closes.seq;
	spin_unlock(&peer->closes.lock);
	return over;
}

void vgpu_close_init(struct vgpu_peer *peer)
{
	INIT_WORK(&peer->closes.work, close_work);
}
