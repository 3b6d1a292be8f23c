// SPDX-License-Identifier: GPL-2.0-only
/*
 * share DIR
 *
 * Gives the GPU the same arithmetic again and again, so that the GPU always has work, until
 * DIR/stop exists. While DIR/pause exists, the program gives the GPU nothing. DIR/done has the
 * number of kernels that are done, and the time in seconds. A kernel that waited for a clock would
 * go on while it is off the GPU, so only work that is done tells a share.
 */
#include "common.cuh"

static const int batch = 8, ahead = 2, block = 128, blocks = 16;
static const long loops = 150000;

__global__ void work(float *result, long n)
{
	float x = threadIdx.x;

	for (long i = 0; i < n; i++)
		x = x * 0.9999f + 0.5f;
	if (!blockIdx.x)
		result[threadIdx.x] = x;
}

int main(int argc, char **argv)
{
	float first[block], last[block], *result;
	cudaEvent_t done[ahead];
	cudaDeviceProp card;
	std::string dir;
	long begun = 0;

	if (argc != 2)
		return 2;
	dir = argv[1];
	TRY(cudaGetDeviceProperties(&card, 0));
	TRY(cudaMalloc(&result, sizeof(first)));
	for (auto &event : done)
		TRY(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	work<<<card.multiProcessorCount * blocks, block>>>(result, loops);
	TRY(cudaMemcpy(first, result, sizeof(first), cudaMemcpyDeviceToHost));
	while (!exists(dir + "/stop")) {
		if (exists(dir + "/pause")) {
			TRY(cudaDeviceSynchronize());
			put_file(dir + "/paused", "");
			usleep(20000);
			continue;
		}
		for (int i = 0; i < batch; i++)
			work<<<card.multiProcessorCount * blocks, block>>>(result, loops);
		TRY(cudaEventRecord(done[begun % ahead]));
		begun++;
		/* Batches that were begun before this one may still run: wait for the oldest one. */
		if (begun < ahead)
			continue;
		TRY(cudaEventSynchronize(done[begun % ahead]));
		put_file(dir + "/done", std::to_string((begun - ahead + 1) * batch) + " " +
			 std::to_string(now()));
	}
	TRY(cudaMemcpy(last, result, sizeof(last), cudaMemcpyDeviceToHost));
	printf("%s\n", memcmp(first, last, sizeof(first)) ? "wrong" : "right");
	return 0;
}
