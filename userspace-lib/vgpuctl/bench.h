/* SPDX-License-Identifier: MIT */
/* Results of the command bench. */
#ifndef VGPUCTL_BENCH_H
#define VGPUCTL_BENCH_H

#include <stdbool.h>
#include <stddef.h>

#include "vgpuctl/vgpuctl.h"

/**
 * struct bench_times - times of an operation that was repeated
 * @median: median in microseconds
 * @p99: time in microseconds that 99 of 100 operations took at most
 * @nr: number of operations
 */
struct bench_times {
	double median;
	double p99;
	size_t nr;
};

/**
 * struct bench - what bench has measured
 * @path: path of the device
 * @raw: true if @round_trip could be measured
 * @round_trip: round trip of vsock to the host's kernel
 * @call: call of the device that does nothing
 * @mapped: true if memory of the device could be mapped; else the next members mean nothing
 * @size: size in bytes of the memory that is copied in one operation
 * @plain: copy within ordinary memory of this guest
 * @to_device: copy to memory of the device
 * @from_device: copy from memory of the device
 */
struct bench {
	const char *path;
	bool raw;
	struct bench_times round_trip;
	struct bench_times call;
	bool mapped;
	size_t size;
	struct bench_times plain;
	struct bench_times to_device;
	struct bench_times from_device;
};

/* Print the figures, and a verdict about each. */
void bench_print(const struct bench *bench, bool json);

#endif /* VGPUCTL_BENCH_H */
