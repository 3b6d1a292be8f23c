// SPDX-License-Identifier: GPL-2.0-only
/* Mappings that may move: see move_queue.h. */
#include <linux/errno.h>

#include "base/deadline.h"
#include "link/host.h"
#include "link/session.h"
#include "memory/mapping.h"
#include "memory/move_queue.h"
#include "memory/space.h"
#include "memory/state.h"

/* --- start of the worker, and waits for its rounds -------------------------------- */

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
		queued = queue_delayed_work(move_wq, &host->memory->moves.work, delay);
	else
		queued = !mod_delayed_work(move_wq, &host->memory->moves.work, 0);
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
	asked = host->memory->moves.asked;
	spin_unlock(&host->lock);
	return asked;
}

void vgpu_move_later(struct vgpu_host *host)
{
	spin_lock(&host->lock);
	host->memory->moves.asked++;
	vgpu_move_queue_locked(host, 0);
	spin_unlock(&host->lock);
}

void vgpu_move_abort(struct vgpu_host *host)
{
	/* The host is down, so the work item is not queued after this. */
	if (cancel_delayed_work(&host->memory->moves.work))
		vgpu_host_put(host);
	wake_up_all(&host->memory->moves.wait);
}

int vgpu_move_wait(struct vgpu_mapping *mapping, unsigned long deadline)
{
	struct vgpu_host *host = mapping->session->host;
	long left = wait_event_killable_timeout(host->memory->moves.wait,
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
	list_move_tail(&mapping->move.entry, &host->memory->moves.todo);
	host->memory->moves.asked++;
	vgpu_move_queue_locked(host, 0);
	spin_unlock(&host->lock);
	left = wait_event_killable_timeout(host->memory->moves.wait,
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

/* --- mappings that share pages -------------------------------------------------- */

bool vgpu_move_is_apart(struct vgpu_space *space, pgoff_t first, pgoff_t last,
			enum vgpu_mapping_mode mode)
{
	unsigned int other;

	lockdep_assert_held(&space->host->lock);
	for (other = 0; other < VGPU_MAPPING_MODES; other++)
		if (other != mode && interval_tree_iter_first(&space->by_mode[other], first, last))
			return true;
	return false;
}

void vgpu_move_set_mode(struct vgpu_mapping *mapping, enum vgpu_mapping_mode mode)
{
	struct rb_root_cached *by_mode = mapping->space->by_mode;
	struct vgpu_host *host = mapping->session->host;

	lockdep_assert_held_write(&mapping->mode_lock);
	spin_lock(&host->lock);
	if (mapping->move.shares)
		interval_tree_remove(&mapping->move.mode_node, &by_mode[mapping->mode]);
	WRITE_ONCE(mapping->mode, mode);
	if (mapping->move.shares)
		interval_tree_insert(&mapping->move.mode_node, &by_mode[mode]);
	spin_unlock(&host->lock);
}

void vgpu_move_add(struct vgpu_mapping *mapping, u64 asked)
{
	pgoff_t first = mapping->pgoff, last = first + mapping->nr - 1;
	struct vgpu_host *host = mapping->session->host;
	struct vgpu_space *space = mapping->space;

	if (mapping->live)
		return;
	mapping->move.node.start = first;
	mapping->move.node.last = last;
	mapping->move.mode_node.start = first;
	mapping->move.mode_node.last = last;
	spin_lock(&host->lock);
	/* If a mapping in another mode shares pages, the unit has to be brought to one mode. */
	if (vgpu_move_is_apart(space, first, last, mapping->mode)) {
		/* No program has seen the mapping yet, so its mode changes without a move. */
		mapping->mode = VGPU_MAPPING_MOVING;
		host->memory->moves.asked++;
	}
	list_add_tail(&mapping->move.entry, &host->memory->moves.mappings);
	interval_tree_insert(&mapping->move.node, &space->mappings);
	interval_tree_insert(&mapping->move.mode_node, &space->by_mode[mapping->mode]);
	mapping->move.shares = true;
	/* A round may have ended before this mapping was in the list. */
	if (host->memory->moves.asked != asked)
		vgpu_move_queue_locked(host, 0);
	spin_unlock(&host->lock);
}

static void mapping_alone_locked(struct vgpu_mapping *mapping)
{
	struct vgpu_space *space = mapping->space;

	if (mapping->move.shares) {
		interval_tree_remove(&mapping->move.node, &space->mappings);
		interval_tree_remove(&mapping->move.mode_node, &space->by_mode[mapping->mode]);
	}
	mapping->move.shares = false;
}

void vgpu_move_alone(struct vgpu_mapping *mapping)
{
	struct vgpu_host *host = mapping->session->host;

	spin_lock(&host->lock);
	mapping_alone_locked(mapping);
	/* The others of the unit may find room in the window without this mapping. */
	if (mapping->move.crowded)
		vgpu_move_queue_locked(host, 0);
	spin_unlock(&host->lock);
}

void vgpu_move_forget(struct vgpu_mapping *mapping)
{
	struct vgpu_host *host = mapping->session->host;

	spin_lock(&host->lock);
	mapping_alone_locked(mapping);
	list_del_init(&mapping->move.entry);
	spin_unlock(&host->lock);
}
