// SPDX-License-Identifier: GPL-2.0-only
/*
 * innocent DIR PERIOD_MS
 *
 * Gives the GPU a little work in each period until DIR/stop exists, checks every result, and
 * appends a line to DIR/times:
 *
 *	SECONDS WORK_US CALL_US OPEN_US WRONG
 *
 * WORK: copies numbers to the GPU, has each of them changed, and copies them back. CALL: allocates
 * and frees memory, which the driver does. OPEN: opens and closes a device file. WRONG is the
 * number of wrong results so far. The exit status is 0 if no call failed and no result was wrong.
 */
#include "common.cuh"
#include <vector>

typedef unsigned int u32;

static const int count = 1 << 18, block = 256;
/* The GPU alone needs about two milliseconds for so many. */
static const int steps = 100000;
static const u32 factor = 1664525, summand = 1013904223;
static const size_t piece = 64 << 20;

/* @factor and @summand are no constants here, or the compiler would join steps. */
__global__ void change(u32 *numbers, int times, u32 factor, u32 summand)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x, x = numbers[i];

	for (int n = 0; n < times; n++)
		x = x * factor + summand;
	numbers[i] = x;
}

static long microseconds(double since)
{
	return (now() - since) * 1e6;
}

/* Return: number of wrong results; -1: a call failed. */
static int work(u32 *there, std::vector<u32> &here, u32 seed, u32 power, u32 sum, long *us)
{
	const size_t bytes = count * sizeof(u32);
	double start;
	int wrong = 0;

	for (int i = 0; i < count; i++)
		here[i] = seed + i;
	start = now();
	if (failed(cudaMemcpy(there, here.data(), bytes, cudaMemcpyHostToDevice), "copy"))
		return -1;
	change<<<count / block, block>>>(there, steps, factor, summand);
	if (failed(cudaGetLastError(), "launch") ||
	    failed(cudaMemcpy(here.data(), there, bytes, cudaMemcpyDeviceToHost), "copy back"))
		return -1;
	*us = microseconds(start);
	for (int i = 0; i < count; i++)
		wrong += here[i] != (seed + i) * power + sum;
	return wrong;
}

int main(int argc, char **argv)
{
	u32 power = 1, sum = 0, *there, seed = 1;
	std::vector<u32> here(count);
	long worked, called, opened, wrong = 0;
	std::string dir;
	double start;
	void *memory;
	FILE *times;
	int period, fd;

	if (argc != 3)
		return 2;
	dir = argv[1];
	period = atoi(argv[2]);
	for (int n = 0; n < steps; n++) {
		power *= factor;
		sum = sum * factor + summand;
	}
	times = fopen((dir + "/times").c_str(), "w");
	if (!times)
		return 2;
	TRY(cudaMalloc(&there, count * sizeof(u32)));
	while (!exists(dir + "/stop")) {
		double begun = now(), rest;
		int found = work(there, here, seed, power, sum, &worked);

		if (found < 0)
			return 1;
		wrong += found;
		seed += count;
		start = now();
		TRY(cudaMalloc(&memory, piece));
		TRY(cudaFree(memory));
		called = microseconds(start);
		start = now();
		fd = open("/dev/nvidiactl", O_RDWR | O_CLOEXEC);
		if (fd < 0 || close(fd)) {
			perror("/dev/nvidiactl");
			return 1;
		}
		opened = microseconds(start);
		fprintf(times, "%.3f %ld %ld %ld %ld\n", now(), worked, called, opened, wrong);
		fflush(times);
		rest = begun + period * 1e-3 - now();
		if (rest > 0)
			usleep(rest * 1e6);
	}
	printf("%s\n", wrong ? "wrong" : "right");
	return !!wrong;
}
