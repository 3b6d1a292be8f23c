// SPDX-License-Identifier: GPL-2.0-only
/* Pages in flights, and late flushes: see flush_late.h. */
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include "base/deadline.h"
#include "link/host.h"
#include "memory/flush.h"
#include "memory/flush_all.h"
#include "memory/flush_late.h"
#include "memory/space.h"
#include "memory/state.h"

bool vgpu_flush_is_flying(struct vgpu_space *space, pgoff_t index, const struct vgpu_flush *own)
{
	struct vgpu_flush *flush;
	bool flying;

	/* The session of @flush is not freed while @flush is found in the XArray. */
	xa_lock(&space->flying);
	flush = xa_load(&space->flying, index);
	flying = flush && (flush == own || !READ_ONCE(flush->late));
	xa_unlock(&space->flying);
	return flying;
}

void vgpu_flush_check_late_locked(struct vgpu_flush *flush)
{
	lockdep_assert_held(&vgpu_flush_spaces(flush)->lock);
	if (time_after_eq(jiffies, flush->since + VGPU_FLUSH_LATE))
		WRITE_ONCE(flush->late, true);
}

void vgpu_flush_check_late(struct vgpu_space *space, pgoff_t index)
{
	struct vgpu_space_set *set = &space->host->memory->spaces;
	struct vgpu_flush *flush;

	xa_lock(&space->flying);
	flush = xa_load(&space->flying, index);
	if (flush) {
		spin_lock(&set->lock);
		vgpu_flush_check_late_locked(flush);
		spin_unlock(&set->lock);
	}
	xa_unlock(&space->flying);
}

int vgpu_flush_await_landed(struct vgpu_space *space, pgoff_t index,
			    const struct vgpu_flush *own, unsigned long deadline)
{
	long left;

	for (;;) {
		left = min_t(long, vgpu_deadline_left(deadline), VGPU_FLUSH_LOOK);
		left = wait_event_killable_timeout(space->host->memory->spaces.wait,
						   !vgpu_flush_is_flying(space, index, own), left);
		if (left)
			return left < 0 ? -EINTR : 0;
		if (vgpu_deadline_passed(deadline))
			return -ETIMEDOUT;
		vgpu_flush_check_late(space, index);
	}
}

void vgpu_flush_set_late(struct vgpu_flush *flush)
{
	struct vgpu_space_set *set = vgpu_flush_spaces(flush);

	spin_lock(&set->lock);
	WRITE_ONCE(flush->late, true);
	spin_unlock(&set->lock);
}
