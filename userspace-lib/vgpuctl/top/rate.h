/* SPDX-License-Identifier: MIT */
/* Rates: what happened between two samples. */
#ifndef VGPUCTL_RATE_H
#define VGPUCTL_RATE_H

#include <stddef.h>
#include <stdint.h>

struct sample;

enum rate_kind { RATE_GUEST, RATE_EXPORT, RATE_PROGRAM, NR_RATE_KINDS };

/* Numbers of a line, all but RATE_MEMORY and RATE_PID for a time between two samples. */
enum rate_value {
	RATE_CALLS,	/* calls a second */
	RATE_ERRORS,	/* failed calls a second */
	RATE_BYTES,	/* bytes a second, in both directions */
	RATE_MEAN,	/* mean time of a call in seconds */
	RATE_P50,	/* median of the time of a call in seconds */
	RATE_P99,	/* time in seconds that one call of a hundred exceeds */
	RATE_DEVICE,	/* part of the time for which a device worked, 1: all of it */
	RATE_BUSY,	/* number of calls that ran or waited on the host at a time, on average */
	RATE_WAITS,	/* calls a second that waited for a rate or for other guests */
	RATE_MEMORY,	/* bytes of mapped, kept and owned memory */
	RATE_PID,	/* process ID in the guest */
	NR_RATE_VALUES
};

/**
 * struct rate - a guest, an export of a guest, or a program of a guest
 * @kind: kind of this
 * @name: name of the guest, export or program
 * @guest: name of the guest
 * @values: numbers, by enum rate_value; NAN: unknown, or the kind has no such number
 */
struct rate {
	enum rate_kind kind;
	char name[48];
	char guest[48];
	double values[NR_RATE_VALUES];
};

/**
 * struct rates - all that happened between two samples
 * @seconds: time between them
 * @list: array of the guests, exports and programs
 * @nr: number of entries of @list
 */
struct rates {
	double seconds;
	struct rate *list;
	size_t nr;
};

/*
 * Compare two samples. What the first one lacks counts from 0, and so does a counter that has
 * fallen: the host has begun anew. Return: 0 or -1: no memory. The caller frees rates->list.
 */
int rates_between(const struct sample *before, const struct sample *after, struct rates *rates);
/* Sort each kind by one of the numbers, the largest first; names decide if they are equal. */
void rates_sort(struct rates *rates, enum rate_value by);
/*
 * Estimate the time in seconds that a part of the calls does not exceed, from numbers of calls by
 * time as in struct vgpu_host_tally. @part: 0.5 for the median. Return: NAN: there was no call.
 */
double rate_quantile(const uint64_t *buckets, double part);

#endif /* VGPUCTL_RATE_H */
