/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Deadlines: a deadline is a point in time, in jiffies, by which a fault or a call gives up. All
 * waits for one fault have the same deadline. 0: there is no deadline.
 */
#ifndef VGPU_DEADLINE_H
#define VGPU_DEADLINE_H

#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/types.h>

/* Return: the deadline @ticks jiffies from now; never 0. */
static inline unsigned long vgpu_deadline_in(unsigned long ticks)
{
	return (jiffies + ticks) | 1;
}

static inline bool vgpu_deadline_passed(unsigned long deadline)
{
	return deadline && time_after_eq(jiffies, deadline);
}

/* Return: jiffies that are left, for wait_event_*_timeout(); 0: the deadline has passed. */
static inline long vgpu_deadline_left(unsigned long deadline)
{
	return deadline ? max((long)(deadline - jiffies), 0L) : MAX_SCHEDULE_TIMEOUT;
}

/* Return: milliseconds that are left, 1 at least, for vgpu_conn_*(); 0: there is no deadline. */
static inline unsigned int vgpu_deadline_ms(unsigned long deadline)
{
	return deadline ? max(jiffies_to_msecs(vgpu_deadline_left(deadline)), 1U) : 0;
}

#endif /* VGPU_DEADLINE_H */
