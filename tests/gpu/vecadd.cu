// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adds two vectors on the GPU a thousand times, in a stream, between two events; checks
 * the last result. The status is 0 if it is right.
 */
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

static const int count = 1 << 20, launches = 1000, block = 256;

__global__ void add(const float *a, const float *b, float *sum)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	sum[i] = a[i] + b[i];
}

static bool failed(cudaError_t error, const char *what)
{
	if (error != cudaSuccess)
		printf("%s: %s\n", what, cudaGetErrorString(error));
	return error != cudaSuccess;
}

#define TRY(call) do { if (failed(call, #call)) return 1; } while (0)

int main()
{
	std::vector<float> in(count), out(count);
	const size_t bytes = count * sizeof(float);
	float *a, *b, *sum, ms;
	cudaEvent_t begin, end;
	cudaStream_t stream;

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
	TRY(cudaEventRecord(begin, stream));
	for (int i = 0; i < launches; i++)
		add<<<count / block, block, 0, stream>>>(a, b, sum);
	TRY(cudaGetLastError());
	TRY(cudaEventRecord(end, stream));
	TRY(cudaEventSynchronize(end));
	TRY(cudaEventElapsedTime(&ms, begin, end));
	TRY(cudaMemcpy(out.data(), sum, bytes, cudaMemcpyDeviceToHost));
	for (int i = 0; i < count; i++)
		if (out[i] != 2.0f * i) {
			printf("wrong at %d: %f\n", i, out[i]);
			return 1;
		}
	fprintf(stderr, "%d launches took %.2f ms\n", launches, ms);
	printf("right\n");
	return 0;
}
