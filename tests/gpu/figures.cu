// SPDX-License-Identifier: GPL-2.0-only
/*
 * figures DIR
 *
 * Measures the operation in DIR/go.N, for each N from 1 on, and writes the answer to
 * DIR/result.N. It ends when DIR/go.N contains "end". The operations are
 *
 *	matmul SIZE	cuBLAS, single precision, of two square matrices
 *	fft SIZE	cuFFT, complex, of two dimensions
 *	in, out		a copy of 64 MiB between pinned memory and the GPU's memory
 *
 * Twenty operations are enqueued between two events, behind a kernel that takes longer than
 * enqueuing them. So the program's processor does not affect the measured time. An answer is
 *
 *	OPERATION SIZE ms=EACH check=SUM clock=BEFORE,AFTER delay=MS cpu=MS
 *
 * or "error" and a text. clock is the clock rate of the GPU's processors in MHz. cpu is the
 * processor time that the program took to enqueue the operations. The libraries are opened
 * by name, because their headers may be missing.
 */
#include "common.cuh"
#include <dlfcn.h>
#include <map>
#include <memory>
#include <vector>

typedef unsigned long long u64;

static const int operations = 20;
static const size_t copied = 64 << 20;
static cudaStream_t stream;
static u64 *sums, *clocks;

/* Return: an integer so small that no sum of products is rounded, whatever its order. */
static __host__ __device__ inline int small(u64 i, int seed)
{
	u64 x = (i + seed) * 0x9e3779b97f4a7c15ULL;

	return (int)((x >> 40) % 7) - 3;
}

static __global__ void fill(float *data, size_t n, int seed)
{
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
		data[i] = small(i, seed);
}

static __global__ void fill_words(unsigned int *data, size_t n, unsigned int seed)
{
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
		data[i] = (unsigned int)i * 2654435761u + seed;
}

/* Add a checksum of @data to @sum. It does not depend on the order of additions. */
static __global__ void add_up(const unsigned int *data, size_t n, u64 *sum)
{
	u64 mine = 0;

	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
		mine += (u64)data[i] * (2 * i + 1);
	atomicAdd(sum, mine);
}

static __global__ void differ(const float *back, size_t n, float scale, int seed, u64 *wrong)
{
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
		if (fabsf(back[i] * scale - small(i, seed)) > 1e-3f)
			atomicAdd(wrong, 1ULL);
}

static void *open_symbol(void *library, const char *name)
{
	void *symbol = dlsym(library, name);

	if (!symbol) {
		printf("%s\n", dlerror());
		exit(1);
	}
	return symbol;
}

static void *open_library(const char *name)
{
	void *library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);

	if (!library) {
		printf("%s\n", dlerror());
		exit(1);
	}
	return library;
}

static int sum_of(const void *data, size_t words, u64 *sum)
{
	TRY(cudaMemsetAsync(sums, 0, sizeof(*sums), stream));
	add_up<<<1024, 256, 0, stream>>>((const unsigned int *)data, words, sums);
	TRY(cudaMemcpyAsync(sum, sums, sizeof(*sum), cudaMemcpyDeviceToHost, stream));
	TRY(cudaStreamSynchronize(stream));
	return 0;
}

/* An operation to measure. Its memory exists until another operation is asked for. */
struct operation {
	virtual ~operation() {}
	virtual int prepare() = 0;
	virtual int enqueue() = 0;
	virtual int check(u64 *sum) = 0;
};

struct matmul : operation {
	typedef int (*create_fn)(void **);
	typedef int (*set_stream_fn)(void *, cudaStream_t);
	typedef int (*sgemm_fn)(void *, int, int, int, int, int, const float *, const float *, int, const float *, int,
				const float *, float *, int);
	static void *handle;
	static sgemm_fn sgemm;
	float *a = NULL, *b = NULL, *c = NULL;
	size_t n;

	explicit matmul(size_t size) : n(size) {}
	~matmul()
	{
		cudaFree(a);
		cudaFree(b);
		cudaFree(c);
	}

	int prepare()
	{
		int status;

		if (!handle) {
			void *library = open_library("libcublas.so." CUBLAS);

			sgemm = (sgemm_fn)open_symbol(library, "cublasSgemm_v2");
			status = ((create_fn)open_symbol(library, "cublasCreate_v2"))(&handle);
			if (!status)
				status = ((set_stream_fn)open_symbol(library, "cublasSetStream_v2"))(handle, stream);
			if (status) {
				printf("cuBLAS: error %d\n", status);
				return 1;
			}
		}
		TRY(cudaMalloc(&a, n * n * sizeof(*a)));
		TRY(cudaMalloc(&b, n * n * sizeof(*b)));
		TRY(cudaMalloc(&c, n * n * sizeof(*c)));
		fill<<<1024, 256, 0, stream>>>(a, n * n, 1);
		fill<<<1024, 256, 0, stream>>>(b, n * n, 2);
		TRY(cudaMemsetAsync(c, 0, n * n * sizeof(*c), stream));
		TRY(cudaStreamSynchronize(stream));
		return 0;
	}

	int enqueue()
	{
		const float one = 1, none = 0;
		int status = sgemm(handle, 0, 0, n, n, n, &one, a, n, b, n, &none, c, n);

		if (status)
			printf("cublasSgemm: error %d\n", status);
		return status;
	}

	int check(u64 *sum)
	{
		/* Columns are contiguous. */
		for (size_t i = 0; i < 16; i++) {
			size_t row = (i * 7919 + 13) % n, column = (i * 104729 + 5) % n;
			long expected = 0;
			float found;

			for (size_t k = 0; k < n; k++)
				expected += small(k * n + row, 1) * small(column * n + k, 2);
			TRY(cudaMemcpy(&found, c + column * n + row, sizeof(found), cudaMemcpyDeviceToHost));
			if (found != expected) {
				printf("row %zu, column %zu: %f, not %ld\n", row, column, found, expected);
				return 1;
			}
		}
		return sum_of(c, n * n, sum);
	}
};

void *matmul::handle;
matmul::sgemm_fn matmul::sgemm;

struct fft : operation {
	enum { C2C = 0x29, FORWARD = -1, INVERSE = 1 };
	typedef int (*plan_fn)(int *, int, int, int);
	typedef int (*set_stream_fn)(int, cudaStream_t);
	typedef int (*exec_fn)(int, void *, void *, int);
	typedef int (*destroy_fn)(int);
	void *library = NULL;
	exec_fn exec = NULL;
	float2 *in = NULL, *out = NULL;
	size_t n;
	int plan = -1;

	explicit fft(size_t size) : n(size) {}
	~fft()
	{
		if (plan >= 0)
			((destroy_fn)open_symbol(library, "cufftDestroy"))(plan);
		cudaFree(in);
		cudaFree(out);
	}

	static int done(int status, const char *what)
	{
		if (status)
			printf("%s: error %d\n", what, status);
		return status;
	}

	int prepare()
	{
		library = open_library("libcufft.so." CUFFT);
		exec = (exec_fn)open_symbol(library, "cufftExecC2C");
		if (done(((plan_fn)open_symbol(library, "cufftPlan2d"))(&plan, n, n, C2C), "cufftPlan2d") ||
		    done(((set_stream_fn)open_symbol(library, "cufftSetStream"))(plan, stream), "cufftSetStream"))
			return 1;
		TRY(cudaMalloc(&in, n * n * sizeof(*in)));
		TRY(cudaMalloc(&out, n * n * sizeof(*out)));
		fill<<<1024, 256, 0, stream>>>((float *)in, 2 * n * n, 3);
		TRY(cudaMemsetAsync(out, 0, n * n * sizeof(*out), stream));
		TRY(cudaStreamSynchronize(stream));
		return 0;
	}

	int enqueue()
	{
		return done(exec(plan, in, out, FORWARD), "cufftExecC2C");
	}

	int check(u64 *sum)
	{
		float2 *back;
		u64 wrong;
		int ret = sum_of(out, 2 * n * n, sum);

		if (ret)
			return ret;
		TRY(cudaMalloc(&back, n * n * sizeof(*back)));
		if (done(exec(plan, out, back, INVERSE), "cufftExecC2C"))
			return 1;
		TRY(cudaMemsetAsync(sums, 0, sizeof(*sums), stream));
		differ<<<1024, 256, 0, stream>>>((float *)back, 2 * n * n, 1.0f / n / n, 3, sums);
		TRY(cudaMemcpyAsync(&wrong, sums, sizeof(wrong), cudaMemcpyDeviceToHost, stream));
		TRY(cudaStreamSynchronize(stream));
		TRY(cudaFree(back));
		if (wrong)
			printf("%llu of %zu numbers are wrong after both ways\n", wrong, 2 * n * n);
		return wrong != 0;
	}
};

struct copy : operation {
	unsigned int *host = NULL, *device = NULL;
	bool in;

	explicit copy(bool to_device) : in(to_device) {}
	~copy()
	{
		cudaFreeHost(host);
		cudaFree(device);
	}

	int prepare()
	{
		const size_t words = copied / sizeof(*host);

		TRY(cudaMallocHost(&host, copied));
		TRY(cudaMalloc(&device, copied));
		if (in) {
			for (size_t i = 0; i < words; i++)
				host[i] = (unsigned int)i * 2654435761u + 4;
			TRY(cudaMemsetAsync(device, 0, copied, stream));
		} else {
			memset(host, 0, copied);
			fill_words<<<1024, 256, 0, stream>>>(device, words, 5);
		}
		TRY(cudaStreamSynchronize(stream));
		return 0;
	}

	int enqueue()
	{
		TRY(cudaMemcpyAsync(in ? device : host, in ? host : device, copied,
				    in ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost, stream));
		return 0;
	}

	int check(u64 *sum)
	{
		const size_t words = copied / sizeof(*host);
		const unsigned int seed = in ? 4 : 5;
		u64 expected = 0;

		if (in) {
			if (sum_of(device, words, sum))
				return 1;
		} else {
			*sum = 0;
			for (size_t i = 0; i < words; i++)
				*sum += (u64)host[i] * (2 * i + 1);
		}
		for (size_t i = 0; i < words; i++)
			expected += (u64)((unsigned int)i * 2654435761u + seed) * (2 * i + 1);
		if (*sum != expected)
			printf("what was copied is not what was there\n");
		return *sum != expected;
	}
};

/* Compute the GPU's clock rate from the last delay(). */
static int clock_of(double *mhz)
{
	u64 taken[2];

	TRY(cudaMemcpyAsync(taken, clocks, sizeof(taken), cudaMemcpyDeviceToHost, stream));
	TRY(cudaStreamSynchronize(stream));
	*mhz = taken[1] ? taken[0] * 1e3 / taken[1] : 0;
	return 0;
}

static int measure(operation *what, std::string *answer)
{
	cudaEvent_t begin, end;
	double before, after, busy;
	bool late = true;
	float ms = 0;
	u64 sum, ns;
	char text[160];

	TRY(cudaEventCreate(&begin));
	TRY(cudaEventCreate(&end));
	/* The first run loads and sets up all that the operation needs. */
	if (what->enqueue())
		return 1;
	TRY(cudaStreamSynchronize(stream));
	/* The delay is tried again three times as long if it ended before all was enqueued. */
	for (ns = 300000000; late && ns < 5000000000; ns *= 3) {
		delay<<<1, 1, 0, stream>>>(ns, clocks);
		TRY(cudaEventRecord(begin, stream));
		busy = now(CLOCK_PROCESS_CPUTIME_ID);
		for (int i = 0; i < operations; i++)
			if (what->enqueue())
				return 1;
		busy = now(CLOCK_PROCESS_CPUTIME_ID) - busy;
		TRY(cudaEventRecord(end, stream));
		late = cudaEventQuery(begin) != cudaErrorNotReady;
		TRY(cudaEventSynchronize(end));
	}
	if (late) {
		printf("the program is slower than any delay\n");
		return 1;
	}
	TRY(cudaEventElapsedTime(&ms, begin, end));
	if (clock_of(&before))
		return 1;
	delay<<<1, 1, 0, stream>>>(2000000, clocks);
	if (clock_of(&after) || what->check(&sum))
		return 1;
	TRY(cudaEventDestroy(begin));
	TRY(cudaEventDestroy(end));
	snprintf(text, sizeof(text), "ms=%.5f check=%llx clock=%.0f,%.0f delay=%llu cpu=%.3f", ms / operations, sum,
		 before, after, ns / 3 / 1000000, busy * 1e3);
	*answer = text;
	return 0;
}

int main(int argc, char **argv)
{
	std::unique_ptr<operation> what;
	std::string dir, path, answer;
	char name[16], line[64];
	unsigned long size;
	FILE *file;

	if (argc != 2)
		return 2;
	dir = argv[1];
	setvbuf(stdout, NULL, _IOLBF, 0);
	TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	TRY(cudaMalloc(&sums, sizeof(*sums)));
	TRY(cudaMalloc(&clocks, 2 * sizeof(*clocks)));
	for (int number = 1;; number++) {
		path = dir + "/go." + std::to_string(number);
		if (!wait_for(path, 400))
			return 1;
		file = fopen(path.c_str(), "r");
		if (!file || !fgets(line, sizeof(line), file))
			return 1;
		fclose(file);
		size = 0;
		if (sscanf(line, "%15s %lu", name, &size) < 1 || !strcmp(name, "end"))
			break;
		what.reset(!strcmp(name, "matmul") ? (operation *)new matmul(size) :
			   !strcmp(name, "fft") ? (operation *)new fft(size) : new copy(!strcmp(name, "in")));
		if (what->prepare() || measure(what.get(), &answer))
			return 1;
		what.reset();
		put_file(dir + "/result." + std::to_string(number), answer);
	}
	printf("right\n");
	return 0;
}
