// SPDX-License-Identifier: GPL-2.0-only
/* Start of the worker: see move_queue.h. */
#include <linux/errno.h>

#include "base/deadline.h"
#include "link/host.h"
#include "link/session.h"
#include "memory/mapping.h"
#include "memory/move_queue.h"

static struct workqueue_struct *move_wq;

int vgpu_move_global_init(void)
{
	move_wq = alloc_workqueue("vgpu_move", WQ_UNBOUND, 0);
	return move_wq ? 0 : -ENOMEM;
}

void vgpu_move_global_exit(void)
{
	destroy_workqueue(move_wq);
}

void vgpu_move_queue_locked(struct vgpu_host *host, unsigned long delay)
{
	bool queued;

	lockdep_assert_held(&host->lock);
	if (host->down)
		return;
	vgpu_host_get(host);
	if (delay)
		queued = queue_delayed_work(move_wq, &host->move_work, delay);
	else
		queued = !mod_delayed_work(move_wq, &host->move_work, 0);
	if (!queued)
		vgpu_host_put(host);
}

void vgpu_move_queue(struct vgpu_host *host, unsigned long delay)
{
	spin_lock(&host->lock);
	vgpu_move_queue_locked(host, delay);
	spin_unlock(&host->lock);
}

u64 vgpu_move_asked(struct vgpu_host *host)
{
	u64 asked;

	spin_lock(&host->lock);
	asked = host->move_asked;
	spin_unlock(&host->lock);
	return asked;
}

void vgpu_move_later(struct vgpu_host *host)
{
	spin_lock(&host->lock);
	host->move_asked++;
	vgpu_move_queue_locked(host, 0);
	spin_unlock(&host->lock);
}

void vgpu_move_abort(struct vgpu_host *host)
{
	/* The host is down, so the work item is not queued after this. */
	if (cancel_delayed_work(&host->move_work))
		vgpu_host_put(host);
	wake_up_all(&host->move_wait);
}

int vgpu_move_wait(struct vgpu_mapping *mapping, unsigned long deadline)
{
	struct vgpu_host *host = mapping->session->host;
	long left = wait_event_killable_timeout(host->move_wait,
						READ_ONCE(mapping->mode) != VGPU_MAPPING_MOVING ||
						vgpu_host_is_down(host),
						vgpu_deadline_left(deadline));

	if (left <= 0)
		return left ? -EINTR : -ETIMEDOUT;
	/* Once the host is down no round ends the move, so the mode may stay MOVING. */
	return vgpu_host_is_down(host) ? -ENODEV : 0;
}

int vgpu_move_now(struct vgpu_mapping *mapping, u64 moves, unsigned long deadline)
{
	struct vgpu_host *host = mapping->session->host;
	int ret = 0;
	long left;

	spin_lock(&host->lock);
	/* The mapping is looked at (again) after those that the present round has not seen yet. */
	list_move_tail(&mapping->move.entry, &host->move_todo);
	host->move_asked++;
	vgpu_move_queue_locked(host, 0);
	spin_unlock(&host->lock);
	left = wait_event_killable_timeout(host->move_wait,
					   READ_ONCE(mapping->move.moves) != moves ||
					   vgpu_host_is_down(host), vgpu_deadline_left(deadline));
	if (left <= 0)
		return left ? -EINTR : -ETIMEDOUT;
	down_read(&mapping->mode_lock);
	/* A mapping that is not in the window has left it, whatever error a later move had. */
	if (mapping->mode == VGPU_MAPPING_WINDOW)
		ret = mapping->move.error;
	up_read(&mapping->mode_lock);
	return ret == -EAGAIN || (ret == -ETIMEDOUT && !deadline) ? 0 : ret;
}
