// SPDX-License-Identifier: GPL-2.0-only
/*
 * features [NAME...]
 *
 * Tries features of CUDA beside copies and launches: all, or those that are named, one after the
 * other, each in a process of its own. Prints "NAME: right" or an error for each. The exit status
 * is 0 if all are right.
 */
#include "common.cuh"
#include <atomic>
#include <cooperative_groups.h>
#include <cuda.h>
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <vector>

static const int count = 1 << 20;
static const size_t bytes = count * sizeof(int);
/* Time limit of a feature in seconds. */
static const unsigned int limit = 60;

#define NAME_OF(name) #name
#define EXPANDED(name) NAME_OF(name)
/* A function of libcuda in cuda.h's version, opened by name: libcuda is not linked in. */
#define DRIVER(name) ((decltype(&name))dlsym(dlopen("libcuda.so.1", RTLD_NOW), EXPANDED(name)))
#define TRY_DRIVER(name, ...) do {						\
	CUresult tried = DRIVER(name)(__VA_ARGS__);				\
	if (tried != CUDA_SUCCESS) {						\
		printf("%s: error %d\n", #name, tried);				\
		return 1;							\
	}									\
} while (0)

static __global__ void add(int *data, int n, int what)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		data[i] += what;
}

static void launch(int *data, int what, cudaStream_t stream = 0)
{
	add<<<count / 256, 256, 0, stream>>>(data, count, what);
}

static int right(const int *data, int more, int n = count)
{
	for (int i = 0; i < n; i++)
		if (data[i] != i + more) {
			printf("number %d is %d, not %d\n", i, data[i], i + more);
			return 1;
		}
	return 0;
}

static std::vector<int> numbers(int n = count)
{
	std::vector<int> data(n);

	for (int i = 0; i < n; i++)
		data[i] = i;
	return data;
}

/* Record a stream's work as a graph, and run it fifty times. */
static int graph()
{
	std::vector<int> data = numbers();
	cudaGraphExec_t ready;
	cudaStream_t stream;
	cudaGraph_t recorded;
	int *memory;

	TRY(cudaStreamCreate(&stream));
	TRY(cudaMalloc(&memory, bytes));
	TRY(cudaMemcpy(memory, data.data(), bytes, cudaMemcpyHostToDevice));
	TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	launch(memory, 1, stream);
	launch(memory, 2, stream);
	TRY(cudaStreamEndCapture(stream, &recorded));
	TRY(cudaGraphInstantiate(&ready, recorded, 0));
	for (int i = 0; i < 50; i++)
		TRY(cudaGraphLaunch(ready, stream));
	TRY(cudaMemcpyAsync(data.data(), memory, bytes, cudaMemcpyDeviceToHost, stream));
	TRY(cudaStreamSynchronize(stream));
	return right(data.data(), 150);
}

/* Allocate and free memory in the order of a stream, again and again. */
static int pool()
{
	std::vector<int> data = numbers();
	cudaStream_t stream;
	int *memory;

	TRY(cudaStreamCreate(&stream));
	for (int i = 0; i < 20; i++) {
		TRY(cudaMallocAsync(&memory, bytes << (i % 6), stream));
		TRY(cudaMemcpyAsync(memory, data.data(), bytes, cudaMemcpyHostToDevice, stream));
		launch(memory, 1, stream);
		TRY(cudaMemcpyAsync(data.data(), memory, bytes, cudaMemcpyDeviceToHost, stream));
		TRY(cudaFreeAsync(memory, stream));
	}
	TRY(cudaStreamSynchronize(stream));
	return right(data.data(), 20);
}

/* Map one piece of memory at two addresses, the second by an exported file descriptor. */
static int virtual_memory()
{
	std::vector<int> data = numbers();
	CUmemGenericAllocationHandle piece, again;
	CUdeviceptr here, there;
	CUmemAccessDesc access = {};
	CUmemAllocationProp what = {};
	size_t step;
	int file;

	TRY(cudaFree(0));
	what.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	what.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	what.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	access.location = what.location;
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	TRY_DRIVER(cuMemGetAllocationGranularity, &step, &what, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
	const size_t size = (bytes + step - 1) / step * step;

	TRY_DRIVER(cuMemCreate, &piece, size, &what, 0);
	TRY_DRIVER(cuMemExportToShareableHandle, &file, piece, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
	TRY_DRIVER(cuMemImportFromShareableHandle, &again, (void *)(long)file, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
	close(file);
	TRY_DRIVER(cuMemAddressReserve, &here, size, 0, 0, 0);
	TRY_DRIVER(cuMemAddressReserve, &there, size, 0, 0, 0);
	TRY_DRIVER(cuMemMap, here, size, 0, piece, 0);
	TRY_DRIVER(cuMemMap, there, size, 0, again, 0);
	TRY_DRIVER(cuMemSetAccess, here, size, &access, 1);
	TRY_DRIVER(cuMemSetAccess, there, size, &access, 1);
	TRY(cudaMemcpy((void *)here, data.data(), bytes, cudaMemcpyHostToDevice));
	launch((int *)there, 9);
	TRY(cudaMemcpy(data.data(), (void *)here, bytes, cudaMemcpyDeviceToHost));
	TRY_DRIVER(cuMemUnmap, here, size);
	TRY_DRIVER(cuMemUnmap, there, size);
	TRY_DRIVER(cuMemRelease, piece);
	TRY_DRIVER(cuMemRelease, again);
	return right(data.data(), 9);
}

static __global__ void read_texture(cudaTextureObject_t texture, float *out, int side)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	if (x < side && y < side)
		out[y * side + x] = tex2D<float>(texture, x + 1.0f, y + 0.5f);
}

/* Let the texture unit compute means of two neighbours. */
static int texture()
{
	const int side = 512;
	cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
	std::vector<float> data(side * side), back(side * side);
	cudaResourceDesc resource = {};
	cudaTextureDesc reading = {};
	cudaTextureObject_t object;
	cudaArray_t array;
	float *out;

	for (int i = 0; i < side * side; i++)
		data[i] = i % side * 2;
	TRY(cudaMallocArray(&array, &format, side, side));
	TRY(cudaMemcpy2DToArray(array, 0, 0, data.data(), side * 4, side * 4, side, cudaMemcpyHostToDevice));
	resource.resType = cudaResourceTypeArray;
	resource.res.array.array = array;
	reading.filterMode = cudaFilterModeLinear;
	reading.addressMode[0] = reading.addressMode[1] = cudaAddressModeClamp;
	TRY(cudaCreateTextureObject(&object, &resource, &reading, NULL));
	TRY(cudaMalloc(&out, side * side * 4));
	read_texture<<<dim3(side / 16, side / 16), dim3(16, 16)>>>(object, out, side);
	TRY(cudaMemcpy(back.data(), out, side * side * 4, cudaMemcpyDeviceToHost));
	for (int i = 0; i < side * side; i++) {
		const float wanted = i % side == side - 1 ? data[i] : data[i] + 1;

		if (back[i] != wanted) {
			printf("texel %d is %f, not %f\n", i, back[i], wanted);
			return 1;
		}
	}
	return 0;
}

static __global__ void by_all(int *data, int n, int turns)
{
	cooperative_groups::grid_group grid = cooperative_groups::this_grid();

	for (int turn = 0; turn < turns; turn++) {
		for (long i = grid.thread_rank(); i < n; i += grid.size())
			data[i] += turn & 1 ? data[n] : 1;
		grid.sync();
		if (!grid.thread_rank())
			data[n] = turn;
		grid.sync();
	}
}

/* Run a cooperative kernel, all of whose blocks wait for each other. */
static int cooperative()
{
	std::vector<int> data = numbers(count + 1);
	int n = count, turns = 6, *memory;

	data[count] = 0;
	TRY(cudaMalloc(&memory, bytes + 4));
	TRY(cudaMemcpy(memory, data.data(), bytes + 4, cudaMemcpyHostToDevice));
	void *args[] = { &memory, &n, &turns };

	TRY(cudaLaunchCooperativeKernel((void *)by_all, dim3(64), dim3(256), args, 0, 0));
	TRY(cudaMemcpy(data.data(), memory, bytes, cudaMemcpyDeviceToHost));
	return right(data.data(), 3 + 0 + 2 + 4);
}

/* Let the driver call functions of the program in the order of a stream. */
static int host_functions()
{
	static std::atomic<int> calls;
	cudaStream_t stream;
	int *memory;

	TRY(cudaStreamCreate(&stream));
	TRY(cudaMalloc(&memory, bytes));
	for (int i = 0; i < 100; i++) {
		launch(memory, 1, stream);
		TRY(cudaLaunchHostFunc(stream, [](void *turn) {
			if (calls == (long)turn)
				calls++;
		}, (void *)(long)i));
	}
	TRY(cudaStreamSynchronize(stream));
	if (calls != 100)
		printf("%d of 100 calls in order\n", calls.load());
	return calls != 100;
}

static __global__ void say_hello()
{
	printf("kernel's thread %d of block %d says hello\n", threadIdx.x, blockIdx.x);
}

static int output()
{
	say_hello<<<1, 4>>>();
	TRY(cudaDeviceSynchronize());
	return 0;
}

static __global__ void answer(volatile int *question, volatile int *reply, int rounds)
{
	for (int i = 1; i <= rounds; i++) {
		while (*question != i)
			;
		*reply = i;
		__threadfence_system();
	}
}

/* Exchange words between a running kernel and the program, in pinned memory. */
static int dialogue()
{
	const int rounds = 1000;
	volatile int *words, *there;

	TRY(cudaHostAlloc((void **)&words, 4096, cudaHostAllocMapped));
	words[0] = words[64] = 0;
	TRY(cudaHostGetDevicePointer((void **)&there, (void *)words, 0));
	answer<<<1, 1>>>(there, there + 64, rounds);
	for (int i = 1; i <= rounds; i++) {
		const double end = now() + 20;

		words[0] = i;
		while (words[64] != i)
			if (now() > end) {
				printf("no answer in round %d\n", i);
				words[0] = -1;
				_exit(1);
			}
	}
	TRY(cudaDeviceSynchronize());
	return 0;
}

/* Let a stream wait for a word that the program writes. */
static int wait_value()
{
	volatile unsigned int *words;
	std::vector<int> data = numbers();
	cudaStream_t stream, beside;
	CUdeviceptr there;
	int *memory;

	TRY(cudaStreamCreate(&stream));
	TRY(cudaMalloc(&memory, bytes));
	TRY(cudaHostAlloc((void **)&words, 4096, cudaHostAllocMapped));
	words[0] = words[1] = 0;
	TRY(cudaHostGetDevicePointer((void **)&there, (void *)words, 0));
	/* The first launch of a kernel loads it, and the driver then waits for all streams. */
	launch(memory, 0, stream);
	delay<<<1, 1, 0, stream>>>(0, NULL);
	TRY(cudaStreamSynchronize(stream));
	TRY(cudaMemcpy(memory, data.data(), bytes, cudaMemcpyHostToDevice));
	TRY_DRIVER(cuStreamWaitValue32, stream, there, 5, CU_STREAM_WAIT_VALUE_EQ);
	launch(memory, 2, stream);
	TRY_DRIVER(cuStreamWriteValue32, stream, there + 4, 6, 0);
	/* Another stream's later work takes time, so that a wrong stream would have gone on. */
	TRY(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking));
	delay<<<1, 1, 0, beside>>>(100000000ULL, NULL);
	TRY(cudaStreamSynchronize(beside));
	if (cudaStreamQuery(stream) != cudaErrorNotReady || words[1]) {
		printf("the stream did not wait\n");
		return 1;
	}
	words[0] = 5;
	TRY(cudaStreamSynchronize(stream));
	if (words[1] != 6)
		printf("the word is %u, not 6\n", words[1]);
	TRY(cudaMemcpy(data.data(), memory, bytes, cudaMemcpyDeviceToHost));
	return words[1] != 6 || right(data.data(), 2);
}

/* Copy rows and planes with gaps between them. */
static int pitched()
{
	const int side = 500;
	std::vector<int> data = numbers(side * side), back(side * side);
	cudaMemcpy3DParms copy = {};
	cudaPitchedPtr block;
	size_t pitch;
	char *memory;

	TRY(cudaMallocPitch(&memory, &pitch, side * 4, side));
	TRY(cudaMemcpy2D(memory, pitch, data.data(), side * 4, side * 4, side, cudaMemcpyHostToDevice));
	TRY(cudaMemcpy2D(back.data(), side * 4, memory, pitch, side * 4, side, cudaMemcpyDeviceToHost));
	if (right(back.data(), 0, side * side))
		return 1;
	TRY(cudaMalloc3D(&block, make_cudaExtent(50 * 4, 50, 100)));
	copy.srcPtr = make_cudaPitchedPtr(data.data(), 50 * 4, 50, 50);
	copy.dstPtr = block;
	copy.extent = make_cudaExtent(50 * 4, 50, 100);
	copy.kind = cudaMemcpyHostToDevice;
	TRY(cudaMemcpy3D(&copy));
	copy.srcPtr = block;
	copy.dstPtr = make_cudaPitchedPtr(back.data(), 50 * 4, 50, 50);
	copy.kind = cudaMemcpyDeviceToHost;
	memset(back.data(), 0, back.size() * 4);
	TRY(cudaMemcpy3D(&copy));
	return right(back.data(), 0, side * side);
}

/* Use 1 GiB of memory that is allocated pinned, and 256 MiB that are pinned later. */
static int pinned()
{
	const size_t size = 1UL << 30, part = 256UL << 20;
	unsigned long *big, *memory;
	char *own;

	TRY(cudaHostAlloc(&big, size, 0));
	for (size_t i = 0; i < size / 8; i += 512)
		big[i] = i;
	TRY(cudaMalloc(&memory, size));
	TRY(cudaMemcpy(memory, big, size, cudaMemcpyHostToDevice));
	memset(big, 0, size);
	TRY(cudaMemcpy(big, memory, size, cudaMemcpyDeviceToHost));
	for (size_t i = 0; i < size / 8; i += 512)
		if (big[i] != i) {
			printf("word %zu is %lu\n", i, big[i]);
			return 1;
		}
	TRY(cudaFreeHost(big));
	own = (char *)malloc(part);
	memset(own, 7, part);
	for (int turn = 0; turn < 3; turn++) {
		TRY(cudaHostRegister(own, part, 0));
		TRY(cudaMemcpy(memory, own, part, cudaMemcpyHostToDevice));
		TRY(cudaMemset(memory, turn, part));
		TRY(cudaMemcpy(own, memory, part, cudaMemcpyDeviceToHost));
		TRY(cudaHostUnregister(own));
		for (size_t i = 0; i < part; i += 4096)
			if (own[i] != turn) {
				printf("byte %zu is %d, not %d\n", i, own[i], turn);
				return 1;
			}
	}
	return 0;
}

/* Ask for too much memory, which must fail; the program then goes on. */
static int too_much()
{
	std::vector<int> data = numbers();
	size_t there, all;
	int *memory;
	void *huge;

	TRY(cudaMemGetInfo(&there, &all));
	printf("of %zu bytes: %s\n", all, cudaGetErrorName(cudaMalloc(&huge, all)));
	printf("more than all: %s\n", cudaGetErrorName(cudaMalloc(&huge, 1UL << 46)));
	cudaGetLastError();
	TRY(cudaMalloc(&memory, bytes));
	TRY(cudaMemcpy(memory, data.data(), bytes, cudaMemcpyHostToDevice));
	launch(memory, 3);
	TRY(cudaMemcpy(data.data(), memory, bytes, cudaMemcpyDeviceToHost));
	return right(data.data(), 3);
}

/* Allocate two thousand pieces of memory, and free them in another order. */
static int pieces()
{
	std::vector<int *> all(2000);

	for (auto &piece : all)
		TRY(cudaMalloc(&piece, 1 << 20));
	for (size_t i = 0; i < all.size(); i += 2)
		TRY(cudaFree(all[i]));
	for (size_t i = 0; i < all.size(); i += 2)
		TRY(cudaMalloc(&all[i], 1 << 20));
	for (auto &piece : all)
		TRY(cudaFree(piece));
	return 0;
}

static int thread_of(int number)
{
	std::vector<int> data = numbers();
	cudaStream_t stream;
	int *memory;

	TRY(cudaStreamCreate(&stream));
	TRY(cudaMalloc(&memory, bytes));
	TRY(cudaMemcpyAsync(memory, data.data(), bytes, cudaMemcpyHostToDevice, stream));
	for (int i = 0; i < 100; i++)
		launch(memory, number, stream);
	TRY(cudaMemcpyAsync(data.data(), memory, bytes, cudaMemcpyDeviceToHost, stream));
	TRY(cudaStreamSynchronize(stream));
	TRY(cudaFree(memory));
	return right(data.data(), 100 * number);
}

static int threads()
{
	std::vector<std::thread> all;
	std::atomic<int> wrong(0);

	for (int i = 1; i <= 8; i++)
		all.emplace_back([i, &wrong] { wrong += thread_of(i); });
	for (auto &one : all)
		one.join();
	return wrong != 0;
}

/* Use three contexts at once, none of which sees another one's memory. */
static int contexts()
{
	auto create = (CUresult (*)(CUcontext *, unsigned int, CUdevice))
		dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuCtxCreate_v2");
	CUcontext all[3];
	CUdeviceptr memory[3];
	unsigned int value;

	TRY_DRIVER(cuInit, 0);
	for (int i = 0; i < 3; i++) {
		if (create(&all[i], 0, 0) != CUDA_SUCCESS) {
			printf("context %d: cuCtxCreate_v2\n", i);
			return 1;
		}
		TRY_DRIVER(cuMemAlloc, &memory[i], bytes);
		TRY_DRIVER(cuMemsetD32, memory[i], 100 + i, count);
	}
	for (int i = 0; i < 3; i++) {
		TRY_DRIVER(cuCtxSetCurrent, all[i]);
		TRY_DRIVER(cuMemcpyDtoH, &value, memory[i] + bytes - 4, 4);
		if (value != 100u + i) {
			printf("context %d has %u\n", i, value);
			return 1;
		}
	}
	for (int i = 0; i < 3; i++)
		TRY_DRIVER(cuCtxDestroy, all[i]);
	return 0;
}

/* Run a kernel in PTX, which the driver translates for the card when it is loaded. */
static int translated()
{
	static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
		".visible .entry twice(.param .u64 where)\n{\n.reg .u64 %a;\n.reg .u32 %t;\n.reg .u64 %o;\n"
		"ld.param.u64 %a, [where];\nmov.u32 %t, %tid.x;\nmul.wide.u32 %o, %t, 4;\nadd.u64 %a, %a, %o;\n"
		"ld.global.u32 %t, [%a];\nadd.u32 %t, %t, %t;\nst.global.u32 [%a], %t;\nret;\n}\n";
	std::vector<int> data = numbers(256);
	CUfunction function;
	CUmodule module;
	int *memory;

	TRY(cudaMalloc(&memory, 1024));
	TRY(cudaMemcpy(memory, data.data(), 1024, cudaMemcpyHostToDevice));
	TRY_DRIVER(cuModuleLoadData, &module, text);
	TRY_DRIVER(cuModuleGetFunction, &function, module, "twice");
	void *args[] = { &memory };

	TRY_DRIVER(cuLaunchKernel, function, 1, 1, 1, 256, 1, 1, 0, 0, args, NULL);
	TRY(cudaMemcpy(data.data(), memory, 1024, cudaMemcpyDeviceToHost));
	for (int i = 0; i < 256; i++)
		if (data[i] != 2 * i) {
			printf("number %d is %d\n", i, data[i]);
			return 1;
		}
	return 0;
}

static __global__ void trap()
{
	asm volatile("trap;");
}

/* Let a kernel access a wrong address: its program gets an error, and no other program does. */
static int wrong_address()
{
	launch((int *)8, 1);
	printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
	printf("%s\n", cudaGetErrorName(cudaFree(0)));
	return 0;
}

static int trapped()
{
	trap<<<1, 1>>>();
	printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
	return 0;
}

/* Check that events have increasing times, and that another stream can wait for them. */
static int events()
{
	std::vector<int> data = numbers();
	cudaEvent_t before, after;
	cudaStream_t one, other;
	float ms;
	int *memory;

	TRY(cudaStreamCreate(&one));
	TRY(cudaStreamCreateWithPriority(&other, cudaStreamNonBlocking, -1));
	TRY(cudaEventCreate(&before));
	TRY(cudaEventCreateWithFlags(&after, cudaEventBlockingSync));
	TRY(cudaMalloc(&memory, bytes));
	TRY(cudaMemcpy(memory, data.data(), bytes, cudaMemcpyHostToDevice));
	TRY(cudaEventRecord(before, one));
	delay<<<1, 1, 0, one>>>(50000000ULL, NULL);
	launch(memory, 1, one);
	TRY(cudaEventRecord(after, one));
	TRY(cudaStreamWaitEvent(other, after, 0));
	launch(memory, 1, other);
	TRY(cudaEventSynchronize(after));
	TRY(cudaStreamSynchronize(other));
	TRY(cudaEventElapsedTime(&ms, before, after));
	if (ms < 50 || ms > 1000) {
		printf("%f ms\n", ms);
		return 1;
	}
	TRY(cudaMemcpy(data.data(), memory, bytes, cudaMemcpyDeviceToHost));
	return right(data.data(), 2);
}

/* Reset the device, and use it again in the same process. */
static int reset()
{
	for (int turn = 0; turn < 3; turn++) {
		if (thread_of(turn + 1))
			return 1;
		TRY(cudaDeviceReset());
	}
	return 0;
}

/* Print the card's attributes that do not change. */
static int attributes()
{
	int value;

	for (int i = 1; i < cudaDevAttrMax; i++)
		if (cudaDeviceGetAttribute(&value, (cudaDeviceAttr)i, 0) == cudaSuccess)
			printf("%d=%d ", i, value);
		else
			printf("%d=%s ", i, cudaGetErrorName(cudaGetLastError()));
	printf("\n");
	return 0;
}

static const struct {
	const char *name;
	int (*function)();
} features[] = {
	{ "attributes", attributes }, { "contexts", contexts }, { "cooperative", cooperative },
	{ "dialogue", dialogue }, { "events", events }, { "graph", graph }, { "host_functions", host_functions },
	{ "output", output }, { "pieces", pieces }, { "pinned", pinned }, { "pitched", pitched }, { "pool", pool },
	{ "reset", reset }, { "texture", texture }, { "threads", threads }, { "too_much", too_much },
	{ "translated", translated }, { "trapped", trapped }, { "virtual_memory", virtual_memory },
	{ "wait_value", wait_value }, { "wrong_address", wrong_address },
};

static bool asked_for(int argc, char **argv, const char *name)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return argc < 2;
}

int main(int argc, char **argv)
{
	int status, wrong = 0;
	double start;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (auto &each : features) {
		if (!asked_for(argc, argv, each.name))
			continue;
		start = now();
		const pid_t pid = fork();

		if (!pid) {
			alarm(limit);
			status = each.function();
			fflush(stdout);
			_exit(status);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			return 1;
		wrong |= status;
		printf("%s: %s\n", each.name, status ? "wrong" : "right");
		if (WIFSIGNALED(status))
			printf("signal %d\n", WTERMSIG(status));
		printf("# %s: %.1f s\n", each.name, now() - start);
	}
	return wrong != 0;
}
