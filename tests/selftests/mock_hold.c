// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test a driver that holds a device-wide mutex while it copies from and to user memory, and
 * programs whose memory does not come.
 */
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "vgpu_diff.h"

static int locked(int fd, unsigned int cmd, void *in, void *out, __u32 length, __u32 hold_ms,
		  __u64 *waited_us)
{
	struct vgpu_mock_locked argument = {
		.in_ptr = (uintptr_t)in, .out_ptr = (uintptr_t)out,
		.length = length, .hold_ms = hold_ms,
	};
	int ret = ioctl(fd, cmd, &argument);

	if (waited_us)
		*waited_us = argument.out_waited_us;
	return ret;
}

DIFF_TEST_TWINS(copies)
{
	unsigned char *in = alloc_bytes(5000, 1);
	unsigned char *out = alloc_bytes(5000, 2);
	int fd = open_device(O_RDWR);

	LOG_CALL(locked(fd, CMD(LOCKED), in, out, 5000, 0, NULL));
	CHECK(out[4999] == (in[4999] ^ 0xff));
	log_bytes("out", out, 5000);
	LOG_CALL(locked(fd, CMD(LOCKED), NULL, out, 10, 0, NULL));
	LOG_CALL(locked(fd, CMD(LOCKED), in, NULL, 10, 0, NULL));
	LOG_CALL(locked(fd, CMD(LOCKED), NULL, NULL, 0, 0, NULL));
	LOG_CALL(locked(fd, CMD(LOCKED), out, out, 5000, 0, NULL));
	log_bytes("out", out, 5000);
}

static int device;

static void *hold_often(void *argument)
{
	unsigned char in[3000], out[3000];
	unsigned int i, j, times = diff_times(160) / 8;

	for (i = 0; i < times; i++) {
		vgpu_mock_pattern(in, sizeof(in), i, 0);
		if (!CHECK(!locked(device, CMD(LOCKED), in, out, 3000, 1, NULL)))
			return NULL;
		for (j = 0; j < 3000; j++)
			if (out[j] != (in[j] ^ 0xff))
				break;
		if (!CHECK(j == 3000))
			return NULL;
	}
	return NULL;
}

/* The answer to a FETCH for the call that holds the mutex must not need the mutex. */
DIFF_TEST_TWINS(contended)
{
	pthread_t threads[8];
	int i;

	device = open_device(O_RDWR);
	for (i = 0; i < 8; i++)
		MUST(!pthread_create(&threads[i], NULL, hold_often, NULL));
	for (i = 0; i < 8; i++)
		MUST(!pthread_join(threads[i], NULL));
}

/* Maps memory whose first access waits until a thread provides it, through *@uffd. */
static void *withheld(int *uffd)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*uffd = fd;

	if (fd < 0)
		return NULL;
	reg.range.start = (uintptr_t)memory;
	reg.range.len = 4096;
	MUST(memory != MAP_FAILED && !ioctl(fd, UFFDIO_API, &api));
	MUST(!ioctl(fd, UFFDIO_REGISTER, &reg));
	return memory;
}

/* Returns the deadline of a FETCH on the host: the default, or what a slow machine has set. */
static unsigned int fetch_ms(void)
{
	const char *set = getenv("VGPU_FETCH_MS");

	return set ? atoi(set) : 2000;
}

/* Returns the number of calls of the undescribed twin that the driver has had. */
static __u32 locked_calls(int fd)
{
	struct vgpu_mock_counters now;

	MUST(!ioctl(fd, VGPU_MOCK_IOC_COUNTERS, &now));
	return now.out_calls[_IOC_NR(VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_LOCKED))];
}

/*
 * Waits until there is one more call, and gives the call time to take the mutex. Return: false
 * if no call came.
 */
static bool await_locked(int fd, __u32 before)
{
	int tries;

	for (tries = 0; tries < 1000 && locked_calls(fd) == before; tries++)
		sleep_ms(10);
	sleep_ms(200);
	return tries < 1000;
}

/*
 * The memory of a program's undescribed call is withheld while the driver holds the mutex.
 * Natively all other calls wait; a forwarder gives up after the deadline of the FETCH, and the
 * next call gets the mutex.
 */
TEST_F_TIMEOUT(same, withheld_memory, 60)
{
	unsigned int cmd = VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_LOCKED);
	const char *real = getenv("VGPU_REAL");
	__u64 start, waited = 0;
	char out[16];
	int status, fd;
	__u32 before;
	pid_t pid;

	path = getenv("VGPU_FWD");
	if (!path || !real || !diff_forwarded(real, path))
		SKIP(return, "natively the memory is waited for without end");
	fd = open(path, O_RDWR);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(locked(fd, cmd, out, out, sizeof(out), 0, NULL), 0);
	before = locked_calls(fd);

	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		int uffd;
		void *memory = withheld(&uffd);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!memory)
			_exit(4);
		/* The withheld memory is a page of its own, so the argument itself is present. */
		_exit(locked(fd, cmd, memory, out, sizeof(out), 0, NULL) ? 1 : 0);
	}
	if (!await_locked(fd, before) && waitpid(pid, &status, WNOHANG) == pid)
		SKIP(return, "userfaultfd is not available (status %x)", status);
	start = now_ms();
	ASSERT_EQ(locked(fd, cmd, out, out, sizeof(out), 0, &waited), 0);
	TH_LOG("got the mutex after %llu ms", (unsigned long long)(now_ms() - start));
	EXPECT_LT(now_ms() - start, fetch_ms() + 15000ULL);
	/* The call had to wait, so the memory was withheld while the driver held the mutex. */
	EXPECT_GT(waited, 100000ULL);

	kill(pid, SIGKILL);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_EQ(locked(fd, cmd, out, out, sizeof(out), 0, NULL), 0);
	close(fd);
}

struct late {
	int fd;
	void *memory;
	int error;
};

static void *call_with_withheld(void *argument)
{
	struct late *late = argument;
	char out[16];

	late->error = locked(late->fd, VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_LOCKED), late->memory,
			     out, sizeof(out), 0, NULL) ? errno : 0;
	return NULL;
}

/*
 * The page comes after the deadline. The call has failed with EFAULT, and the thread and its
 * process make other calls as before.
 */
TEST_F_TIMEOUT(same, memory_that_comes_late, 60)
{
	const char *real = getenv("VGPU_REAL");
	struct uffdio_zeropage page = { .range.len = 4096 };
	struct vgpu_mock_locked other = { 0 };
	struct late late;
	pthread_t thread;
	__u32 before;
	int uffd, i;

	path = getenv("VGPU_FWD");
	if (!path || !real || !diff_forwarded(real, path))
		SKIP(return, "natively the memory is waited for without end");
	late.memory = withheld(&uffd);
	if (!late.memory)
		SKIP(return, "userfaultfd is not available");
	late.fd = open(path, O_RDWR);
	ASSERT_GE(late.fd, 0);
	before = locked_calls(late.fd);
	ASSERT_EQ(pthread_create(&thread, NULL, call_with_withheld, &late), 0);
	ASSERT_TRUE(await_locked(late.fd, before));
	ASSERT_EQ(ioctl(late.fd, VGPU_MOCK_IOC_NOOP), 0);
	/* This call waits for the mutex beyond the deadline. */
	ASSERT_EQ(ioctl(late.fd, VGPU_MOCK_IOC_LOCKED, &other), 0);
	ASSERT_GT(other.out_waited_us, 100000ULL);
	page.range.start = (uintptr_t)late.memory;
	ASSERT_EQ(ioctl(uffd, UFFDIO_ZEROPAGE, &page), 0);
	ASSERT_EQ(pthread_join(thread, NULL), 0);
	EXPECT_EQ(late.error, EFAULT);
	/* The page is present by now. */
	for (i = 0; i < 3; i++) {
		call_with_withheld(&late);
		EXPECT_EQ(late.error, 0);
	}
	close(late.fd);
}

/* A call whose driver writes to @result and then reads @memory */
struct result {
	int fd;
	void *result;
	void *memory;
	int error;
};

static void *call_with_result(void *argument)
{
	struct result *call = argument;
	struct vgpu_mock_chunk chunks[] = {
		{ .chunk_id = VGPU_MOCK_CHUNK_RESULT, .length_dw = 16,
		  .chunk_data = (uintptr_t)call->result },
		{ .chunk_id = VGPU_MOCK_CHUNK_RAW, .length_dw = 16,
		  .chunk_data = (uintptr_t)call->memory },
	};
	__u64 pointers[] = { (uintptr_t)&chunks[0], (uintptr_t)&chunks[1] };
	struct vgpu_mock_chunks all = { .chunks = (uintptr_t)pointers, .num_chunks = 2 };

	call->error = 0;
	if (ioctl(call->fd, VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_CHUNKS), &all))
		call->error = errno;
	return NULL;
}

static bool provide(int uffd, void *memory)
{
	struct uffdio_zeropage page = { .range = { (uintptr_t)memory, 4096 } };

	return !ioctl(uffd, UFFDIO_ZEROPAGE, &page);
}

/*
 * Makes two calls of a process. The memory of one is withheld for longer than the deadline. The
 * driver of the other call has written to @result before, and that call's memory comes in time.
 * Return: errno of the other call.
 */
static int beside_withheld(int fd, void *result)
{
	struct result call = { .fd = fd, .result = result };
	struct late late = { .fd = fd };
	pthread_t late_thread, thread;
	int late_uffd, uffd;
	__u32 before;

	late.memory = withheld(&late_uffd);
	call.memory = withheld(&uffd);
	before = locked_calls(fd);
	MUST(!pthread_create(&late_thread, NULL, call_with_withheld, &late));
	MUST(await_locked(fd, before));
	sleep_ms(fetch_ms() / 2);
	MUST(!pthread_create(&thread, NULL, call_with_result, &call));
	/*
	 * The first call should end in this time, or else the test shows less. No call asks
	 * whether it has, because a call that ends sends what drivers have written by then.
	 */
	sleep_ms(fetch_ms() / 2 + 200);
	MUST(provide(uffd, call.memory));
	MUST(!pthread_join(thread, NULL));
	MUST(provide(late_uffd, late.memory));
	MUST(!pthread_join(late_thread, NULL));
	MUST(late.error == EFAULT);
	close(uffd);
	close(late_uffd);
	return call.error;
}

/*
 * A call that ends because its memory does not come does not lose bytes that the driver of
 * another call has written.
 */
TEST_F_TIMEOUT(same, results_beside_memory_that_comes_late, 120)
{
	const char *real = getenv("VGPU_REAL");
	unsigned char zeros[64] = { 0 };
	struct result calm;
	int uffd, tries, error;
	unsigned char *result;

	path = getenv("VGPU_FWD");
	if (!path || !real || !diff_forwarded(real, path))
		SKIP(return, "natively the memory is waited for without end");
	if (!withheld(&uffd))
		SKIP(return, "userfaultfd is not available");
	close(uffd);
	calm.fd = open(path, O_RDWR);
	ASSERT_GE(calm.fd, 0);
	/* The driver writes no other bytes to this page. */
	result = aligned_alloc(4096, 4096);
	ASSERT_NE(result, NULL);
	/* On a slow machine the other call may have missed its deadline as well. */
	for (tries = 0, error = EFAULT; tries < 5 && error == EFAULT; tries++) {
		memset(result, 0, 4096);
		error = beside_withheld(calm.fd, result);
	}
	ASSERT_EQ(error, 0);
	calm.memory = zeros;
	calm.result = result + 2048;
	call_with_result(&calm);
	ASSERT_EQ(calm.error, 0);
	EXPECT_NE(memcmp(result + 2048, zeros, 64), 0);
	EXPECT_EQ(memcmp(result, result + 2048, 64), 0);
	free(result);
	close(calm.fd);
}

TEST_HARNESS_MAIN
