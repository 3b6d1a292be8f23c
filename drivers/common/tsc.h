/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Helpers for the time-stamp counter of the processor, whose values some drivers give to
 * programs.
 */
#ifndef VGPU_TSC_H
#define VGPU_TSC_H

#include <linux/timekeeping.h>
#include <linux/types.h>

/*
 * A clock is read between two reads of the counter. If the two values are more ticks apart
 * (some tens of microseconds), the thread has lost its processor in between, and all three are
 * read again, up to VGPU_TSC_TRIES times.
 */
#define VGPU_TSC_CLOSE	100000
#define VGPU_TSC_TRIES	4

#ifdef CONFIG_X86
#include <asm/msr.h>
#include <asm/tsc.h>

static inline u64 vgpu_tsc_read(void)
{
	return rdtsc_ordered();
}

/* Return: frequency of the counter in kHz; 0 if there is none. */
static inline u32 vgpu_tsc_khz(void)
{
	return tsc_khz;
}
#else
static inline u64 vgpu_tsc_read(void)
{
	return 0;
}

static inline u32 vgpu_tsc_khz(void)
{
	return 0;
}
#endif

/* Read the counter and, at the same moment, CLOCK_MONOTONIC in nanoseconds into @clock. */
static inline u64 vgpu_tsc_with_clock(u64 *clock)
{
	unsigned int tries = 0;
	u64 before, after;

	do {
		before = vgpu_tsc_read();
		*clock = ktime_get_ns();
		after = vgpu_tsc_read();
	} while (after - before > VGPU_TSC_CLOSE && ++tries < VGPU_TSC_TRIES);
	return before + (after - before) / 2;
}

#endif /* VGPU_TSC_H */
