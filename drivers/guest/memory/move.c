// SPDX-License-Identifier: GPL-2.0-only
/*
 * Moves: see move.h.
 *
 * A *unit* moves as a whole: all mappings of a space that share pages with each other, so that what
 * a program writes through one of them is seen through the others at any time. While a unit moves,
 * its faults wait. First its PTEs are zapped. Then bytes that were written in the old mode are
 * brought to where the new mode shows them. Then faults are served in the new mode. A move that
 * fails leaves the unit as it was: the same faults insert the same pages again.
 *
 * A mapping begins in mode MOVING if it is made while its unit moves, or if it cannot be in the
 * mode of the others of its unit (vgpu_move_add()).
 */
#include <linux/errno.h>
#include <linux/mm.h>

#include "base/deadline.h"
#include "link/call.h"
#include "link/export.h"
#include "link/host.h"
#include "link/session.h"
#include "memory/flush_all.h"
#include "memory/mapping.h"
#include "memory/mapping_span.h"
#include "memory/move.h"
#include "memory/move_queue.h"
#include "memory/move_unit.h"
#include "memory/space.h"
#include "memory/space_sync.h"
#include "memory/state.h"
#include "memory/window.h"
#include "memory/window_announce.h"
#include "memory/window_range.h"

/*
 * Longest time for a BIND, from the wait for a lane to the reply, as faults wait for the move. The
 * host takes a quarter of it at most to find out what its driver provides (VGPU_PROBE_BIND).
 */
#define MOVE_BIND_WAIT	HZ
/*
 * Longest time for which a move waits for a shadow that takes no bytes, and for all bytes to be
 * sent while faults wait.
 */
#define MOVE_FLUSH_WAIT	(2 * HZ)
/* Longest time for which a move waits for all bytes to be sent before faults wait. */
#define MOVE_FLUSH_MOST	(10 * HZ)
/* Back-off after a failed move out, and after the first failed move in. */
#define MOVE_RETRY	HZ
/* Longest back-off after failed moves in. */
#define MOVE_RETRY_MAX	(32 * HZ)

/* --- units ----------------------------------------------------------------- */

/* Return: number of pages from the first to the last of the unit. */
static pgoff_t unit_pages(const struct vgpu_move_unit *unit)
{
	return unit->last - unit->first + 1;
}

/* Make the faults of the unit wait from now on. Waits for faults that are under way. */
static void unit_begin(struct vgpu_move_unit *unit)
{
	struct vgpu_mapping *mapping;

	list_for_each_entry(mapping, &unit->mappings, move.unit)
		if (mapping->mode != VGPU_MAPPING_MOVING)
			vgpu_mapping_move_begin(mapping);
}

/* After -ETIMEDOUT, as a shadow did not answer, let the rest of the round wait for no shadow. */
static int unit_late(struct vgpu_move_unit *unit, int ret)
{
	if (ret == -ETIMEDOUT)
		unit->flush_wait = 0;
	return ret;
}

static int unit_flush(struct vgpu_move_unit *unit, unsigned long most)
{
	struct vgpu_space_set *set = &unit->host->memory->spaces;

	return unit_late(unit, vgpu_flush_soon(set, unit->flush_wait, most));
}

static void move_pause(struct vgpu_move_pause *pause, unsigned long max)
{
	pause->delay = clamp(2 * pause->delay, (unsigned long)MOVE_RETRY, max);
	pause->until = jiffies + pause->delay;
}

/* Return: time until the next attempt, in jiffies; 0: there is no back-off. */
static unsigned long move_paused(const struct vgpu_move_pause *pause)
{
	return pause->delay && time_before(jiffies, pause->until) ? pause->until - jiffies : 0;
}

/*
 * Return: time until the next attempt to move the unit out of the window, or into it (@in), in
 * jiffies; 0: there is no back-off.
 */
static unsigned long unit_paused(const struct vgpu_move_unit *unit, bool in)
{
	struct vgpu_mapping *mapping;
	unsigned long left = 0;

	list_for_each_entry(mapping, &unit->mappings, move.unit) {
		if (in)
			left = max3(left, move_paused(&mapping->move.in_pause),
				    move_paused(&mapping->session->memory->move_pause));
		else
			left = max(left, move_paused(&mapping->move.out_pause));
	}
	return left;
}

/* --- out ------------------------------------------------------------------- */

static bool unit_has_to_leave(const struct vgpu_move_unit *unit)
{
	struct vgpu_mapping *mapping;

	list_for_each_entry(mapping, &unit->mappings, move.unit)
		if (mapping->mode == VGPU_MAPPING_MOVING ||
		    (mapping->range && (READ_ONCE(mapping->stays) ||
					!vgpu_window_is_open(mapping->range->window))))
			return true;
	return false;
}

/* Check whether programs may have written to the unit's pages through the window. */
static bool unit_is_seen_there(const struct vgpu_move_unit *unit)
{
	struct vgpu_mapping *mapping;

	list_for_each_entry(mapping, &unit->mappings, move.unit)
		if (mapping->move.before == VGPU_MAPPING_WINDOW)
			return true;
	return false;
}

/*
 * Make the faults of the unit wait, and empty its cache, so that nothing in it is older than what
 * the window has.
 */
static int unit_clear(struct vgpu_move_unit *unit)
{
	bool more;
	int ret;

	/* Most bytes are sent while programs still run. */
	ret = unit_flush(unit, MOVE_FLUSH_MOST);
	if (ret)
		return ret;
	do {
		unit_begin(unit);
		spin_lock(&unit->host->lock);
		/* A mapping made since in mode MOVING is left to the next round. */
		more = vgpu_unit_collect(unit, false);
		spin_unlock(&unit->host->lock);
	} while (more);
	unmap_mapping_pages(vgpu_space_mapping(unit->space), unit->first, unit_pages(unit),
			    false);
	return unit_late(unit, vgpu_space_clear(unit->space, unit->first, unit_pages(unit),
						unit->flush_wait));
}

/*
 * Move the unit out of the window. If that fails, each mapping stays where it was, and mappings
 * that no program has seen yet stay in mode MOVING.
 */
static void unit_out(struct vgpu_move_unit *unit)
{
	struct vgpu_window_range *range;
	struct vgpu_mapping *mapping;
	int ret = 0;

	if (unit_is_seen_there(unit))
		ret = unit_clear(unit);
	list_for_each_entry(mapping, &unit->mappings, move.unit) {
		range = mapping->range;
		if (!ret) {
			mapping->move.out_pause.delay = 0;
			vgpu_mapping_move_end(mapping, NULL, 0);
			if (range)
				vgpu_window_release(range, true);
			continue;
		}
		move_pause(&mapping->move.out_pause, MOVE_RETRY);
		if (mapping->move.before != VGPU_MAPPING_MOVING)
			vgpu_mapping_move_end(mapping, range, ret);
	}
}

/* --- in -------------------------------------------------------------------- */

static bool unit_may_enter(const struct vgpu_move_unit *unit)
{
	struct vgpu_mapping *mapping;

	list_for_each_entry(mapping, &unit->mappings, move.unit)
		if (mapping->move.before != VGPU_MAPPING_COPY || READ_ONCE(mapping->stays))
			return false;
	return true;
}

/* Check whether all mappings that share pages with the unit are moving, so none shows the pages. */
static bool unit_is_alone(const struct vgpu_move_unit *unit)
{
	bool apart;

	spin_lock(&unit->host->lock);
	apart = vgpu_move_is_apart(unit->space, unit->first, unit->last, VGPU_MAPPING_MOVING);
	spin_unlock(&unit->host->lock);
	return !apart;
}

/* Claim room in the window for each mapping. Return: true if there was room for all. */
static bool unit_claim(struct vgpu_move_unit *unit)
{
	struct vgpu_mapping *mapping;

	list_for_each_entry(mapping, &unit->mappings, move.unit) {
		mapping->move.claim = vgpu_window_claim(unit->host, mapping->addr,
							(u64)mapping->nr << PAGE_SHIFT);
		if (!mapping->move.claim)
			goto err_unclaim;
	}
	return true;

err_unclaim:
	list_for_each_entry_continue_reverse(mapping, &unit->mappings, move.unit) {
		vgpu_window_unclaim(mapping->move.claim);
		mapping->move.claim = NULL;
	}
	return false;
}

/* Bind a run of pages. @cache: out: cache attribute that the host has for them. */
static int move_bind_run(struct vgpu_mapping *mapping, pgoff_t first, pgoff_t nr, u32 *cache)
{
	u64 offset = (u64)(first - mapping->pgoff) << PAGE_SHIFT;
	struct vgpu_guest_call xcall;
	int ret;

	vgpu_guest_call_init(&xcall, VGPU_OP_BIND, 0);
	xcall.flags = VGPU_GUEST_CALL_MM | VGPU_GUEST_CALL_NO_CANCEL;
	xcall.deadline = vgpu_deadline_in(MOVE_BIND_WAIT);
	xcall.stats = &mapping->export->stats;
	xcall.msg.args.bind.addr = cpu_to_le64(mapping->addr + offset);
	xcall.msg.args.bind.len = cpu_to_le64((u64)nr << PAGE_SHIFT);
	xcall.msg.args.bind.window = cpu_to_le64(mapping->move.claim->window->id);
	xcall.msg.args.bind.window_offset = cpu_to_le64(mapping->move.claim->offset + offset);
	ret = vgpu_call_run(mapping->session, &xcall) ?: xcall.result;
	if (!ret)
		*cache = le32_to_cpu(xcall.reply.reply->out.bind.cache);
	vgpu_guest_call_fini(&xcall);
	return ret;
}

/* Bind all parts of the mapping that are left in the shadow. Return: 0 or -errno. */
static int move_bind(struct vgpu_mapping *mapping)
{
	pgoff_t first = mapping->pgoff, nr;
	u32 cache = 0, runs = 0;
	int ret = 0;

	for (; !ret && (nr = vgpu_mapping_next_run(mapping, &first)); first += nr) {
		ret = move_bind_run(mapping, first, nr, &cache);
		if (!ret && !runs)
			atomic64_inc(&mapping->export->stats.window_binds);
		/* A mapping has one cache attribute for all of its parts. */
		if (!ret && runs++ && cache != mapping->cache)
			ret = -EINVAL;
		/* The attribute is not used before the mapping is in the window. */
		if (!ret)
			mapping->cache = cache;
	}
	if (!ret)
		ret = vgpu_window_attach(mapping->move.claim, mapping);
	/* A first -EINVAL may be due to a part just unmapped, or a slow driver: wait for two. */
	if (ret == -EOPNOTSUPP || (ret == -EINVAL && mapping->move.refused))
		WRITE_ONCE(mapping->stays, true);
	mapping->move.refused = ret == -EINVAL;
	return ret;
}

/* Bind all mappings. Return: 0, or -errno: some are not bound. */
static int unit_bind(struct vgpu_move_unit *unit)
{
	struct vgpu_mapping *mapping;
	int ret;

	list_for_each_entry(mapping, &unit->mappings, move.unit) {
		ret = move_bind(mapping);
		/* A shadow that does not answer is not asked for its other mappings for a while. */
		if (ret == -ETIMEDOUT)
			move_pause(&mapping->session->memory->move_pause, MOVE_RETRY_MAX);
		else
			mapping->session->memory->move_pause.delay = 0;
		if (ret)
			goto err_unclaim;
	}
	return 0;

err_unclaim:
	/* The ranges of the mappings that follow were not named to the host. */
	list_for_each_entry_continue(mapping, &unit->mappings, move.unit) {
		vgpu_window_unclaim(mapping->move.claim);
		mapping->move.claim = NULL;
	}
	return ret;
}

/*
 * Make the faults of the unit wait, unmap its cached pages, and send the bytes that were written to
 * copies. Return: 0 or -errno.
 */
static int unit_leave(struct vgpu_move_unit *unit)
{
	int ret;

	unit_begin(unit);
	/* -EAGAIN: a mapping that shares pages was made since, in the mode of the others. */
	ret = unit_is_alone(unit) ? 0 : -EAGAIN;
	if (!ret)
		ret = vgpu_space_leave(unit->space, unit->first, unit_pages(unit));
	return ret ?: unit_flush(unit, MOVE_FLUSH_WAIT);
}

/*
 * Note that the unit has found no room. The worker is started when there is room again
 * (range_remove()), and when one of several mappings of the unit ends (vgpu_move_alone()). If one
 * has ended since the unit was collected, the worker is started here.
 */
static void unit_crowded(struct vgpu_move_unit *unit)
{
	struct vgpu_mapping *mapping;
	bool ended = false;

	if (list_is_singular(&unit->mappings))
		return;
	spin_lock(&unit->host->lock);
	list_for_each_entry(mapping, &unit->mappings, move.unit) {
		mapping->move.crowded = true;
		ended |= !mapping->move.shares;
	}
	if (ended)
		vgpu_move_queue_locked(unit->host, 0);
	spin_unlock(&unit->host->lock);
}

static void unit_in_pause(struct vgpu_move_unit *unit)
{
	struct vgpu_mapping *mapping;

	list_for_each_entry(mapping, &unit->mappings, move.unit)
		move_pause(&mapping->move.in_pause, MOVE_RETRY_MAX);
}

/*
 * Move the unit into the window. The host binds the mappings first, as the window then shows the
 * same memory to which bytes are sent. If that fails, all mappings stay in copy mode.
 */
static void unit_in(struct vgpu_move_unit *unit)
{
	struct vgpu_mapping *mapping;
	int ret;

	/* Most bytes are sent while programs still run, and so are the unmaps behind them. */
	ret = unit_flush(unit, MOVE_FLUSH_MOST);
	if (ret) {
		unit_in_pause(unit);
		return;
	}
	if (!unit_claim(unit)) {
		unit_crowded(unit);
		return;
	}
	ret = unit_bind(unit);
	if (!ret)
		ret = unit_leave(unit);
	list_for_each_entry(mapping, &unit->mappings, move.unit) {
		vgpu_mapping_move_end(mapping, ret ? NULL : mapping->move.claim, ret);
		if (!ret)
			mapping->move.in_pause.delay = 0;
		else if (mapping->move.claim)
			vgpu_window_release(mapping->move.claim, true);
		mapping->move.claim = NULL;
	}
	if (ret)
		unit_in_pause(unit);
}

/* --- rounds ---------------------------------------------------------------- */

/* Put all mappings on the list to be looked at, behind those that the last round has left. */
static void move_look(struct vgpu_host *host)
{
	struct vgpu_moves *moves = &host->memory->moves;

	spin_lock(&host->lock);
	list_splice_tail_init(&moves->mappings, &moves->todo);
	spin_unlock(&host->lock);
}

/*
 * Move out all units that have to leave. Return: delay in jiffies until a unit has to be tried
 * again, after a failure or a back-off; 0: none has to.
 */
static unsigned long move_all_out(struct vgpu_move_unit *unit)
{
	unsigned long again = 0;

	move_look(unit->host);
	for (; vgpu_unit_next(unit); vgpu_unit_put(unit)) {
		if (!unit_has_to_leave(unit))
			continue;
		if (!unit_paused(unit, false))
			unit_out(unit);
		again = min_not_zero(again, unit_paused(unit, false));
	}
	return again;
}

/*
 * Move in all units that may enter. If another round was asked for meanwhile, this one ends after
 * its first attempt, and leaves the other units to the next. Return: as move_all_out().
 */
static unsigned long move_all_in(struct vgpu_move_unit *unit, u64 asked)
{
	unsigned long again = 0;
	bool tried = false;

	move_look(unit->host);
	while (vgpu_window_is_there(unit->host) &&
	       !(tried && vgpu_move_asked(unit->host) != asked) && vgpu_unit_next(unit)) {
		if (unit_may_enter(unit)) {
			if (!unit_paused(unit, true)) {
				unit_in(unit);
				tried = true;
			}
			again = min_not_zero(again, unit_paused(unit, true));
		}
		vgpu_unit_put(unit);
	}
	return again;
}

/* Run a round. Units are moved out first, as faults may wait for that. */
void vgpu_move_work(struct work_struct *work)
{
	struct vgpu_memory_host *memory = container_of(work, struct vgpu_memory_host,
						       moves.work.work);
	struct vgpu_host *host = memory->host;
	struct vgpu_move_unit unit = { .host = host, .flush_wait = MOVE_FLUSH_WAIT };
	u64 asked = vgpu_move_asked(host);
	unsigned long again;

	vgpu_window_settle(host);
	again = move_all_out(&unit);
	again = min_not_zero(again, move_all_in(&unit, asked));
	if (again)
		vgpu_move_queue(host, again);
	vgpu_host_put(host);
}
