/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Deadlines: a point in time, in jiffies, that bounds everything on the way from a
 * fault to its page; 0: none, the way may take as long as it takes.
 */
#ifndef VGPU_DEADLINE_H
#define VGPU_DEADLINE_H

#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/types.h>

/* The deadline in @ticks from now, which is not 0. */
static inline unsigned long vgpu_deadline_in(unsigned long ticks)
{
	return (jiffies + ticks) | 1;
}

static inline bool vgpu_deadline_passed(unsigned long deadline)
{
	return deadline && time_after_eq(jiffies, deadline);
}

/* For wait_event_*_timeout(): jiffies, 0 if it has passed. */
static inline long vgpu_deadline_left(unsigned long deadline)
{
	return deadline ? max((long)(deadline - jiffies), 0L) : MAX_SCHEDULE_TIMEOUT;
}

/* For vgpu_conn_*(), whose 0 means no bound: milliseconds, 1 if it has passed. */
static inline unsigned int vgpu_deadline_ms(unsigned long deadline)
{
	return deadline ? max(jiffies_to_msecs(vgpu_deadline_left(deadline)), 1U) : 0;
}

#endif /* VGPU_DEADLINE_H */
