// SPDX-License-Identifier: GPL-2.0-only
/*
 * spin DIR
 *
 * Allocates 2 GiB of the GPU's memory and runs one kernel for 100 s. When the kernel runs, the
 * program writes its process id to DIR/running.
 */
#include "common.cuh"

int main(int argc, char **argv)
{
	const size_t bytes = 2UL << 30;
	cudaEvent_t begun;
	void *memory;

	if (argc != 2)
		return 2;
	TRY(cudaMalloc(&memory, bytes));
	TRY(cudaMemset(memory, 1, bytes));
	TRY(cudaEventCreate(&begun));
	/* The first launch loads the program into the GPU. */
	delay<<<1, 1>>>(1000, NULL);
	TRY(cudaEventRecord(begun));
	delay<<<1, 1>>>(100000000000, NULL);
	TRY(cudaEventSynchronize(begun));
	if (cudaStreamQuery(0) != cudaErrorNotReady) {
		printf("the kernel does not run\n");
		return 1;
	}
	put_file(std::string(argv[1]) + "/running", std::to_string(getpid()));
	TRY(cudaDeviceSynchronize());
	printf("over\n");
	return 0;
}
