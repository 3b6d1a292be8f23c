/* SPDX-License-Identifier: GPL-2.0-only */
/* Helpers of the kit's CUDA programs. Output lines that begin with '#' are not compared. */
#ifndef GPU_COMMON_CUH
#define GPU_COMMON_CUH

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <fcntl.h>
#include <glob.h>
#include <unistd.h>
#include <cuda_runtime.h>

static bool failed(cudaError_t error, const char *what)
{
	if (error != cudaSuccess)
		printf("%s: %s (%s)\n", what, cudaGetErrorName(error), cudaGetErrorString(error));
	return error != cudaSuccess;
}

#define TRY(call) do { if (failed(call, #call)) return 1; } while (0)

/* Return: sum of a counter of the guest module over all devices; 0 if the module is not loaded. */
static inline long counted(const char *name)
{
	std::string pattern = std::string("/sys/class/vgpu/*/") + name;
	long sum = 0, value;
	glob_t found;
	FILE *file;

	if (glob(pattern.c_str(), 0, NULL, &found))
		return 0;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		file = fopen(found.gl_pathv[i], "r");
		if (file && fscanf(file, "%ld", &value) == 1)
			sum += value;
		if (file)
			fclose(file);
	}
	globfree(&found);
	return sum;
}

/* Return: time of a clock in seconds. */
static inline double now(clockid_t clock = CLOCK_MONOTONIC)
{
	timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec + time.tv_nsec * 1e-9;
}

static inline bool exists(const std::string &path)
{
	return !access(path.c_str(), F_OK);
}

/* Write a file at once. By such files programs and those who start them tell their progress. */
static inline void put_file(const std::string &path, const std::string &text)
{
	const std::string before = path + ".new";
	FILE *file = fopen(before.c_str(), "w");

	if (!file)
		return;
	fputs(text.c_str(), file);
	fclose(file);
	rename(before.c_str(), path.c_str());
}

static inline bool wait_for(const std::string &path, double seconds)
{
	for (double end = now() + seconds; !exists(path); usleep(20000))
		if (now() > end)
			return false;
	return true;
}

/*
 * Occupy one processor of the GPU for @ns nanoseconds. @clocks: out: cycles of that processor, and
 * the GPU's time in ns; may be NULL.
 */
static __global__ void delay(unsigned long long ns, unsigned long long *clocks)
{
	unsigned long long begin, at, first = clock64();

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
	do
		asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(at));
	while (at - begin < ns);
	if (clocks) {
		clocks[0] = clock64() - first;
		clocks[1] = at - begin;
	}
}

#endif
