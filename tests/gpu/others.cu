// SPDX-License-Identifier: GPL-2.0-only
/*
 * others WHAT
 *
 * Tries one feature of CUDA, and prints "right", "refused: WHERE: ERROR", or "wrong: HOW". The
 * exit status is 0 unless the feature is wrong. A program with a variable in managed memory is
 * built separately, with MANAGED_VARIABLE, because without managed memory its kernels do not load.
 */
#include "common.cuh"
#include <cerrno>
#include <csignal>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>

static const int count = 1 << 20;
static const size_t bytes = count * sizeof(int);

#define ASK(call) do {								\
	cudaError_t asked = (call);						\
	if (asked != cudaSuccess) {						\
		printf("refused: %s: %s\n", #call, cudaGetErrorName(asked));	\
		return 0;							\
	}									\
} while (0)

static __global__ void add(int *data, int n, int what)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		data[i] += what;
}

static int launch(int *data, int what)
{
	add<<<count / 256, 256>>>(data, count, what);
	return 0;
}

static int verdict(const int *data, int more)
{
	for (int i = 0; i < count; i++)
		if (data[i] != i + more) {
			printf("wrong: number %d is %d, not %d\n", i, data[i], i + more);
			return 1;
		}
	printf("right\n");
	return 0;
}

static void fill(int *data)
{
	for (int i = 0; i < count; i++)
		data[i] = i;
}

/* Let the program and the GPU use the same managed memory in turns. */
static int managed(void)
{
	int *data;

	ASK(cudaMallocManaged(&data, bytes));
	fill(data);
	for (int turn = 0; turn < 3; turn++) {
		launch(data, 1);
		ASK(cudaGetLastError());
		ASK(cudaDeviceSynchronize());
		for (int i = 0; i < count; i++)
			data[i] += 2;
	}
	return verdict(data, 9);
}

#ifdef MANAGED_VARIABLE
static __managed__ int numbers[count];

/* Use a variable in managed memory, which libcuda has to make before the program's first kernel. */
static int variable(void)
{
	add<<<1, 1>>>(NULL, 0, 0);
	ASK(cudaGetLastError());
	fill(numbers);
	launch(numbers, 1);
	ASK(cudaGetLastError());
	ASK(cudaDeviceSynchronize());
	return verdict(numbers, 1);
}
#endif

/*
 * Make the system calls by which libcuda gets managed memory: it maps a file of /dev/nvidia-uvm
 * at an address that equals the offset. mmap()'s errno alone tells cudaMallocManaged() that managed
 * memory is not supported.
 */
static int uvm(void)
{
	struct {
		unsigned long long flags;
		unsigned int status;
	} initialize = {};
	/* nvidia-uvm's commands are bare numbers, not encoded by _IO(). */
	static const unsigned long uvm_initialize = 0x30000001;
	int fd = open("/dev/nvidia-uvm", O_RDWR | O_CLOEXEC);
	void *place = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *memory;

	if (fd < 0 || place == MAP_FAILED || ioctl(fd, uvm_initialize, &initialize) || initialize.status) {
		printf("wrong: no file of unified memory: error %d, status %#x\n", errno, initialize.status);
		return 1;
	}
	memory = mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, (off_t)place);
	if (memory == MAP_FAILED)
		printf("refused: mmap: errno %d\n", errno);
	else
		printf("right\n");
	return 0;
}

/* Let the GPU use ordinary memory of the program (cudaHostRegister()). */
static int registered(void)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int *data = (int *)memory, *device;

	if (memory == MAP_FAILED)
		return 1;
	fill(data);
	ASK(cudaHostRegister(data, bytes, cudaHostRegisterMapped));
	ASK(cudaHostGetDevicePointer((void **)&device, data, 0));
	launch(device, 5);
	ASK(cudaGetLastError());
	ASK(cudaDeviceSynchronize());
	ASK(cudaHostUnregister(data));
	return verdict(data, 5);
}

static int mapped(void)
{
	int *data, *device;

	ASK(cudaHostAlloc(&data, bytes, cudaHostAllocMapped));
	fill(data);
	ASK(cudaHostGetDevicePointer((void **)&device, data, 0));
	launch(device, 7);
	ASK(cudaGetLastError());
	ASK(cudaDeviceSynchronize());
	return verdict(data, 7);
}

/* Run as the other process, which has not used CUDA before: add to the first one's memory. */
static int ipc_other(int in, int out)
{
	cudaIpcMemHandle_t handle;
	int *data, status = 1;

	if (read(in, &handle, sizeof(handle)) != sizeof(handle))
		return 1;
	if (cudaIpcOpenMemHandle((void **)&data, handle, cudaIpcMemLazyEnablePeerAccess) == cudaSuccess) {
		launch(data, 3);
		status = cudaDeviceSynchronize() != cudaSuccess;
		cudaIpcCloseMemHandle(data);
	} else {
		status = 2;
	}
	return write(out, &status, sizeof(status)) != sizeof(status);
}

static int ipc(void)
{
	cudaIpcMemHandle_t handle;
	int there[2], back[2], *data, *copy = (int *)malloc(bytes), status;
	pid_t pid;

	if (!copy || pipe(there) || pipe(back))
		return 1;
	pid = fork();
	if (pid < 0)
		return 1;
	if (!pid) {
		close(there[1]);
		_exit(ipc_other(there[0], back[1]));
	}
	close(there[0]);
	close(back[1]);
	fill(copy);
	ASK(cudaMalloc(&data, bytes));
	ASK(cudaMemcpy(data, copy, bytes, cudaMemcpyHostToDevice));
	ASK(cudaIpcGetMemHandle(&handle, data));
	if (write(there[1], &handle, sizeof(handle)) != sizeof(handle) ||
	    read(back[0], &status, sizeof(status)) != sizeof(status)) {
		printf("wrong: the other process has ended\n");
		return 1;
	}
	waitpid(pid, NULL, 0);
	if (status) {
		printf("refused: %s\n", status == 2 ? "cudaIpcOpenMemHandle" : "a kernel in the other process");
		return 0;
	}
	ASK(cudaMemcpy(copy, data, bytes, cudaMemcpyDeviceToHost));
	return verdict(copy, 3);
}

static int peer(void)
{
	int devices, can = 0, *data, *other, *copy = (int *)malloc(bytes);

	ASK(cudaGetDeviceCount(&devices));
	if (devices < 2) {
		printf("refused: one card only\n");
		return 0;
	}
	ASK(cudaDeviceCanAccessPeer(&can, 0, 1));
	if (!can) {
		printf("refused: cudaDeviceCanAccessPeer says no\n");
		return 0;
	}
	fill(copy);
	ASK(cudaDeviceEnablePeerAccess(1, 0));
	ASK(cudaMalloc(&data, bytes));
	ASK(cudaMemcpy(data, copy, bytes, cudaMemcpyHostToDevice));
	ASK(cudaSetDevice(1));
	ASK(cudaMalloc(&other, bytes));
	ASK(cudaMemcpyPeer(other, 1, data, 0, bytes));
	launch(other, 4);
	ASK(cudaDeviceSynchronize());
	/* A kernel on the first card accesses memory of the second one. */
	ASK(cudaSetDevice(0));
	launch(other, 8);
	ASK(cudaGetLastError());
	ASK(cudaDeviceSynchronize());
	ASK(cudaMemcpy(copy, other, bytes, cudaMemcpyDeviceToHost));
	return verdict(copy, 12);
}

/* Run copies and a kernel. The CUDA server may be MPS. */
static int plain(void)
{
	int *data, *copy = (int *)malloc(bytes);

	fill(copy);
	ASK(cudaMalloc(&data, bytes));
	ASK(cudaMemcpy(data, copy, bytes, cudaMemcpyHostToDevice));
	launch(data, 6);
	ASK(cudaGetLastError());
	ASK(cudaMemcpy(copy, data, bytes, cudaMemcpyDeviceToHost));
	return verdict(copy, 6);
}

/* Open a session of the encoder. The types are those of nvEncodeAPI.h, version 12.0. */
static int nvenc(void)
{
	static const unsigned int api = 12, version = api | 7 << 28;
	struct {
		unsigned int version, reserved;
		void *functions[511];
	} list = { version | 2 << 16 };
	struct {
		unsigned int version;
		int type;
		void *device, *reserved;
		unsigned int api, reserved_words[253];
		void *reserved_pointers[64];
	} session = { version | 1 << 16, 1 };
	enum { OPEN_SESSION_EX = 29 };
	void *library = dlopen("libnvidia-encode.so.1", RTLD_NOW), *encoder = NULL, *context = NULL;
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
	int status;

	if (!library || !cuda) {
		printf("refused: no libnvidia-encode.so.1\n");
		return 0;
	}
	ASK(cudaFree(NULL));
	status = ((int (*)(void **))dlsym(cuda, "cuCtxGetCurrent"))(&context);
	if (status) {
		printf("refused: cuCtxGetCurrent: error %d\n", status);
		return 0;
	}
	status = ((int (*)(void *))dlsym(library, "NvEncodeAPICreateInstance"))(&list);
	if (status) {
		printf("refused: NvEncodeAPICreateInstance: error %d\n", status);
		return 0;
	}
	session.device = context;
	session.api = api;
	status = ((int (*)(void *, void **))list.functions[OPEN_SESSION_EX])(&session, &encoder);
	if (status)
		printf("refused: nvEncOpenEncodeSessionEx: error %d\n", status);
	else
		printf("right\n");
	return 0;
}

static void died(int number)
{
	static const char words[] = "wrong: a signal\n";

	if (write(1, words, sizeof(words) - 1))
		_exit(128 + number);
	_exit(1);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*function)(void);
	} all[] = {
#ifdef MANAGED_VARIABLE
		{ "variable", variable },
#endif
		{ "managed", managed }, { "uvm", uvm }, { "registered", registered }, { "mapped", mapped }, { "ipc", ipc },
		{ "peer", peer }, { "plain", plain }, { "nvenc", nvenc },
	};

	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGBUS, died);
	signal(SIGSEGV, died);
	for (auto &each : all)
		if (argc == 2 && !strcmp(argv[1], each.name))
			return each.function();
	return 2;
}
