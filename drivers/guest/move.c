// SPDX-License-Identifier: GPL-2.0-only
/*
 * Moves: see move.h.
 *
 * While a mapping moves, its faults wait. First its page tables are emptied; then what
 * was written the one way is brought to where the other way shows it; then faults go
 * that way. A move that fails leaves the mapping as it was, where the same faults put the same
 * pages in again.
 */
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/workqueue.h>

#include "call.h"
#include "export.h"
#include "flush.h"
#include "host.h"
#include "mapping.h"
#include "move.h"
#include "session.h"
#include "space.h"
#include "window.h"

/* How long a fault waits for a move: see CALL_FAULT_TIMEOUT_MS. */
#define MOVE_WAIT	(3 * HZ)
/* When a mapping that could not be moved out is tried again. */
#define MOVE_RETRY	HZ

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

/* --- when ------------------------------------------------------------------ */

u64 vgpu_move_asked(struct vgpu_host *host)
{
	u64 asked;

	spin_lock(&host->lock);
	asked = host->move_asked;
	spin_unlock(&host->lock);
	return asked;
}

void vgpu_move_add(struct vgpu_mapping *mapping, u64 asked)
{
	struct vgpu_host *host = mapping->session->host;
	bool missed;

	spin_lock(&host->lock);
	list_add_tail(&mapping->entry, &host->mappings);
	/* A round may have been over before this one could be found. */
	missed = host->move_asked != asked;
	spin_unlock(&host->lock);
	if (missed)
		vgpu_move_later(host);
}

void vgpu_move_forget(struct vgpu_mapping *mapping)
{
	struct vgpu_host *host = mapping->session->host;

	spin_lock(&host->lock);
	list_del_init(&mapping->entry);
	spin_unlock(&host->lock);
}

/* A reference of the host goes with the work while that waits, and while it runs. */
void vgpu_move_later(struct vgpu_host *host)
{
	spin_lock(&host->lock);
	host->move_asked++;
	if (!host->down) {
		vgpu_host_get(host);
		if (mod_delayed_work(move_wq, &host->move_work, 0))
			vgpu_host_put(host);
	}
	spin_unlock(&host->lock);
}

static void move_retry(struct vgpu_host *host)
{
	spin_lock(&host->lock);
	if (!host->down) {
		vgpu_host_get(host);
		if (!queue_delayed_work(move_wq, &host->move_work, MOVE_RETRY))
			vgpu_host_put(host);
	}
	spin_unlock(&host->lock);
}

void vgpu_move_abort(struct vgpu_host *host)
{
	/* It is down, so none is queued after this. */
	if (cancel_delayed_work(&host->move_work))
		vgpu_host_put(host);
	wake_up_all(&host->move_wait);
}

int vgpu_move_wait(struct vgpu_mapping *mapping)
{
	long left = wait_event_killable_timeout(mapping->session->host->move_wait,
						READ_ONCE(mapping->mode) != VGPU_MAPPING_MOVING,
						MOVE_WAIT);

	return left > 0 ? 0 : left ? -EINTR : -ETIMEDOUT;
}

int vgpu_move_now(struct vgpu_mapping *mapping, u64 moves)
{
	struct vgpu_host *host = mapping->session->host;
	long left;
	int ret;

	spin_lock(&host->lock);
	list_move(&mapping->entry, &host->mappings);
	spin_unlock(&host->lock);
	vgpu_move_later(host);
	left = wait_event_killable_timeout(host->move_wait, READ_ONCE(mapping->moves) != moves ||
					   vgpu_host_is_down(host), MOVE_WAIT);
	if (left <= 0)
		return left ? -EINTR : -ETIMEDOUT;
	down_read(&mapping->mode_lock);
	ret = mapping->move_error;
	up_read(&mapping->mode_lock);
	return ret == -EAGAIN ? 0 : ret;
}

/* --- how ------------------------------------------------------------------- */

static void move_end(struct vgpu_mapping *mapping, struct vgpu_window_range *range, int error)
{
	vgpu_mapping_move_end(mapping, range, error);
	wake_up_all(&mapping->session->host->move_wait);
}

/* Return: 0, or why it is in the window still. */
static int move_out(struct vgpu_mapping *mapping)
{
	struct vgpu_window_range *range = mapping->range;
	struct vgpu_space *space = mapping->space;
	int ret;

	/* Most of it while programs run. */
	vgpu_flush_all(&space->host->spaces);
	vgpu_mapping_move_begin(mapping);
	unmap_mapping_pages(vgpu_space_mapping(space), mapping->pgoff, mapping->nr, false);
	/* Other mappings have older copies of what was written through the window. */
	ret = vgpu_space_clear(space, mapping->pgoff, mapping->nr);
	move_end(mapping, ret ? range : NULL, ret);
	if (!ret)
		vgpu_window_release(range, true);
	return ret;
}

/*
 * The host binds it before it moves: what is in the window is the same memory as that to
 * which bytes are sent. Return: 0, or why not; @sent: the host may have.
 */
static int move_bind(struct vgpu_mapping *mapping, struct vgpu_window_range *range, bool *sent)
{
	struct vgpu_xcall xcall;
	int ret;

	vgpu_xcall_init(&xcall, VGPU_OP_BIND, NULL);
	xcall.flags = VGPU_XCALL_MM | VGPU_XCALL_NO_CANCEL | VGPU_XCALL_FAULT |
		      VGPU_XCALL_LANE_SOON;
	xcall.stats = &mapping->export->stats;
	xcall.msg.args.bind.addr = cpu_to_le64(mapping->addr);
	xcall.msg.args.bind.len = cpu_to_le64((u64)mapping->nr << PAGE_SHIFT);
	xcall.msg.args.bind.window = cpu_to_le64(range->window->id);
	xcall.msg.args.bind.window_offset = cpu_to_le64(range->offset);
	ret = vgpu_call_run(mapping->session, &xcall) ?: xcall.result;
	*sent = xcall.sent;
	vgpu_xcall_fini(&xcall);
	return ret ?: vgpu_window_attach(range, mapping);
}

static int move_in(struct vgpu_mapping *mapping, struct vgpu_window_range *range)
{
	struct vgpu_space *space = mapping->space;
	bool sent = false;
	int ret;

	ret = move_bind(mapping, range, &sent);
	if (ret)
		goto err_release;
	/* Most of it while programs run. */
	vgpu_flush_all(&space->host->spaces);
	vgpu_mapping_move_begin(mapping);
	vgpu_space_leave(space, mapping->pgoff, mapping->nr);
	ret = vgpu_flush_all(&space->host->spaces);
	move_end(mapping, ret ? NULL : range, ret);
	if (!ret)
		return 0;
err_release:
	vgpu_window_release(range, sent);
	return ret;
}

/* --- which ----------------------------------------------------------------- */

static bool move_is_out(struct vgpu_mapping *mapping)
{
	return mapping->range && !mapping->live &&
		(READ_ONCE(mapping->stays) ||
		 !vgpu_window_is_open(mapping->range->window));
}

/* Those that are there in part stay copies: the host binds wholes. */
static bool move_is_in(struct vgpu_mapping *mapping)
{
	return !mapping->range && !READ_ONCE(mapping->stays) &&
		vgpu_mapping_covered(mapping, mapping->pgoff) == mapping->nr;
}

/* The next mapping that round @pass has not looked at, with a reference, or NULL. */
static struct vgpu_mapping *move_next(struct vgpu_host *host, u64 pass)
{
	struct vgpu_mapping *mapping, *found = NULL;

	spin_lock(&host->lock);
	list_for_each_entry(mapping, &host->mappings, entry) {
		if (mapping->pass == pass || !kref_get_unless_zero(&mapping->ref))
			continue;
		mapping->pass = pass;
		found = mapping;
		break;
	}
	spin_unlock(&host->lock);
	return found;
}

void vgpu_move_work(struct work_struct *work)
{
	struct vgpu_host *host = container_of(work, struct vgpu_host, move_work.work);
	struct vgpu_window_range *range;
	struct vgpu_mapping *mapping;
	bool again = false, late = false;
	u64 pass = ++host->move_pass;

	while (!vgpu_host_is_down(host) && (mapping = move_next(host, pass))) {
		if (move_is_out(mapping) && move_out(mapping))
			again = true;
		if (!late && move_is_in(mapping)) {
			range = vgpu_window_claim(host, mapping->addr,
						  (u64)mapping->nr << PAGE_SHIFT);
			/* A host that does not answer is not asked for all the others, too. */
			if (range)
				late = move_in(mapping, range) == -ETIMEDOUT;
		}
		vgpu_mapping_put(mapping);
	}
	if (again)
		move_retry(host);
	vgpu_host_put(host);
}
