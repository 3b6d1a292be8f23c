// SPDX-License-Identifier: GPL-2.0-only
/*
 * vecadd [--count] [--meet DIR COUNT] [--until DIR]
 *
 * Adds two vectors on the GPU a thousand times, in a stream, between two events, and checks
 * the last result. The exit status is 0 if it is right.
 *
 * --count: checks that no call is forwarded during the launches, and measures the start-up.
 * --meet: waits until COUNT such programs have a context each.
 * --until: repeats all until DIR/stop exists; the number of rounds is in DIR/rounds.
 */
#include "common.cuh"
#include <vector>

static const int count = 1 << 20, launches = 1000, block = 256;

__global__ void add(const float *a, const float *b, float *sum)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	sum[i] = a[i] + b[i];
}

static bool meet(const std::string &dir, size_t others)
{
	const std::string pattern = dir + "/*.met";
	glob_t found;

	put_file(dir + "/" + std::to_string(getpid()) + ".met", "");
	for (double end = now() + 120; now() < end; usleep(20000)) {
		bool all = !glob(pattern.c_str(), 0, NULL, &found) && found.gl_pathc >= others;

		globfree(&found);
		if (all)
			return true;
	}
	printf("the others have not come\n");
	return false;
}

int main(int argc, char **argv)
{
	std::vector<float> in(count), out(count);
	const size_t bytes = count * sizeof(float);
	long calls = counted("calls"), trips = counted("round_trips");
	long binds = counted("window_binds"), mappings = counted("window_mappings");
	std::string until, dir;
	bool counting = false;
	float *a, *b, *sum, ms;
	cudaEvent_t begin, end;
	cudaStream_t stream;
	size_t others = 0;
	long rounds = 0;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--count"))
			counting = true;
		else if (!strcmp(argv[i], "--until") && i + 1 < argc)
			until = argv[++i];
		else if (!strcmp(argv[i], "--meet") && i + 2 < argc)
			dir = argv[++i], others = atoi(argv[++i]);
		else
			return 2;
	}
	for (int i = 0; i < count; i++)
		in[i] = i;
	TRY(cudaMalloc(&a, bytes));
	TRY(cudaMalloc(&b, bytes));
	TRY(cudaMalloc(&sum, bytes));
	TRY(cudaMemcpy(a, in.data(), bytes, cudaMemcpyHostToDevice));
	TRY(cudaMemcpy(b, in.data(), bytes, cudaMemcpyHostToDevice));
	TRY(cudaStreamCreate(&stream));
	TRY(cudaEventCreate(&begin));
	TRY(cudaEventCreate(&end));
	/* The first launch loads the program into the GPU. */
	add<<<count / block, block, 0, stream>>>(a, b, sum);
	TRY(cudaStreamSynchronize(stream));
	if (counting) {
		calls = counted("calls") - calls;
		trips = counted("round_trips") - trips;
		binds = counted("window_binds") - binds;
		/* Bindings without a mapping have been unbound by the host. */
		mappings = counted("window_mappings") - mappings;
		printf("# start-up: %ld calls, %ld round trips, %ld binds and %ld unbinds of the window\n", calls,
		       trips, binds, binds - mappings);
		/* A thread of libcuda polls its files every 100 ms, and again after other calls. */
		usleep(500000);
	}
	if (others && !meet(dir, others))
		return 1;
	do {
		TRY(cudaMemsetAsync(sum, 0, bytes, stream));
		TRY(cudaStreamSynchronize(stream));
		calls = counted("calls");
		TRY(cudaEventRecord(begin, stream));
		for (int i = 0; i < launches; i++)
			add<<<count / block, block, 0, stream>>>(a, b, sum);
		TRY(cudaGetLastError());
		TRY(cudaEventRecord(end, stream));
		TRY(cudaEventSynchronize(end));
		calls = counted("calls") - calls;
		TRY(cudaEventElapsedTime(&ms, begin, end));
		TRY(cudaMemcpy(out.data(), sum, bytes, cudaMemcpyDeviceToHost));
		for (int i = 0; i < count; i++)
			if (out[i] != 2.0f * i) {
				printf("wrong at %d: %f\n", i, out[i]);
				return 1;
			}
		if (!until.empty())
			put_file(until + "/rounds", std::to_string(++rounds));
	} while (!until.empty() && !exists(until + "/stop"));
	printf("# %d launches took %.2f ms\n", launches, ms);
	if (counting) {
		printf("%ld calls forwarded during %d launches\n", calls, launches);
		if (calls)
			return 1;
	}
	printf("right\n");
	return 0;
}
