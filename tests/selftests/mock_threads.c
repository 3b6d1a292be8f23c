// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test calls of many threads and processes at the same time.
 */
#include <pthread.h>

#include "vgpu_diff.h"

#define THREADS	64
#define ROUNDS	6

static int device;
static volatile bool stop;

/* Makes undescribed calls with nested memory, and checks the results. */
static void *undescribed(void *argument)
{
	__u32 seed = (uintptr_t)argument;
	struct vgpu_mock_array array;
	__u32 data[3000], expected[3000];
	unsigned int i, round, rounds = diff_times(THREADS * ROUNDS) / THREADS;

	for (round = 0; round < rounds; round++) {
		vgpu_mock_pattern(data, sizeof(data), seed * ROUNDS + round, 0);
		for (i = 0; i < 3000; i++)
			expected[i] = vgpu_mock_mix32(data[i]);
		array = (struct vgpu_mock_array) { .ptr = (uintptr_t)data, .count = 3000 };
		if (!CHECK(!ioctl(device, VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_ARRAY_INOUT),
				  &array)))
			return NULL;
		if (!CHECK(array.out_count == 3000 && !memcmp(data, expected, sizeof(data))))
			return NULL;
	}
	return NULL;
}

static void run_threads(void *(*body)(void *), unsigned int count)
{
	pthread_t threads[THREADS];
	unsigned int i;

	for (i = 0; i < count; i++)
		MUST(!pthread_create(&threads[i], NULL, body, (void *)(uintptr_t)i));
	for (i = 0; i < count; i++)
		MUST(!pthread_join(threads[i], NULL));
}

DIFF_TEST_LIMIT(undescribed_at_once, 120)
{
	device = open_device(O_RDWR);
	run_threads(undescribed, THREADS);
}

static void *described(void *argument)
{
	__u32 seed = (uintptr_t)argument;
	__u32 data[500];
	struct vgpu_mock_array array;
	unsigned int round, rounds = diff_times(10 * THREADS * ROUNDS) / THREADS;
	__u32 last;

	for (round = 0; round < rounds; round++) {
		vgpu_mock_pattern(data, sizeof(data), seed * ROUNDS + round, 0);
		last = vgpu_mock_mix32(data[499]);
		array = (struct vgpu_mock_array) { .ptr = (uintptr_t)data, .count = 500 };
		if (!CHECK(!ioctl(device, VGPU_MOCK_IOC_ARRAY_INOUT, &array) &&
			   data[499] == last))
			return NULL;
	}
	return NULL;
}

DIFF_TEST_LIMIT(described_at_once, 120)
{
	device = open_device(O_RDWR);
	run_threads(described, THREADS);
}

/*
 * Half of a page belongs to a thread that uses it without any call. The other half is an
 * argument of calls that run meanwhile. Bytes that the driver did not write must not be sent
 * back.
 */
static unsigned char *shared_page;

static void *count_up(void *argument)
{
	volatile __u64 *mine = (__u64 *)shared_page;
	unsigned int at = 0;
	__u64 value = 0;

	while (!stop) {
		if (!CHECK(mine[at] == (value < 256 ? 0 : value - 256)))
			break;
		mine[at] = value++;
		at = (at + 1) % 256;
	}
	return NULL;
}

static void share_a_page(unsigned int cmd)
{
	__u32 *words = (__u32 *)(shared_page + 2048);
	struct vgpu_mock_array array = { .ptr = (uintptr_t)words, .count = 512 };
	__u32 expected[512];
	pthread_t thread;
	__u64 end = now_ms() + diff_race_ms();
	unsigned int i, rounds = 0;

	memset(shared_page, 0, 4096);
	memset(expected, 0, sizeof(expected));
	stop = false;
	MUST(!pthread_create(&thread, NULL, count_up, NULL));
	while (now_ms() < end || rounds <= 5) {
		if (!CHECK(!ioctl(device, cmd, &array)))
			break;
		for (i = 0; i < 512; i++)
			expected[i] = vgpu_mock_mix32(expected[i]);
		if (!CHECK(!memcmp(words, expected, sizeof(expected))))
			break;
		rounds++;
	}
	stop = true;
	MUST(!pthread_join(thread, NULL));
}

DIFF_TEST_TWINS(shared_page)
{
	device = open_device(O_RDWR);
	shared_page = alloc_pages(1);
	share_a_page(CMD(ARRAY_INOUT));
}

/*
 * Makes calls whose argument is a part of a page; arguments of other threads are in the same
 * page.
 */
static void *half_of_page(void *argument)
{
	__u32 *words = (__u32 *)(shared_page + 1024 * (uintptr_t)argument);
	struct vgpu_mock_array array = { .ptr = (uintptr_t)words, .count = 256 };
	__u32 expected[256];
	unsigned int i, round, rounds = diff_times(600) / 4;

	memcpy(expected, words, sizeof(expected));
	for (round = 0; round < rounds; round++) {
		if (!CHECK(!ioctl(device, twin ?
				  VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_ARRAY_INOUT) :
				  VGPU_MOCK_IOC_ARRAY_INOUT, &array)))
			return NULL;
		for (i = 0; i < 256; i++)
			expected[i] = vgpu_mock_mix32(expected[i]);
		if (!CHECK(!memcmp(words, expected, sizeof(expected))))
			return NULL;
	}
	return NULL;
}

/*
 * If the calls are undescribed, each call takes the page from the other calls, which is slow
 * between machines.
 */
DIFF_TEST_TWINS_LIMIT(arguments_in_one_page, 60)
{
	device = open_device(O_RDWR);
	shared_page = alloc_pages(1);
	vgpu_mock_pattern(shared_page, 4096, 1, 0);
	run_threads(half_of_page, 4);
	log_bytes("page", shared_page, 4096);
}

static void *waiter(void *argument)
{
	struct vgpu_mock_wait wait = { .slot = 2, .target = 1 };

	CHECK(!ioctl(device, VGPU_MOCK_IOC_WAIT, &wait));
	return NULL;
}

/* Blocked calls delay no other calls, neither of their process nor of another. */
DIFF_TEST(blocked_calls)
{
	struct vgpu_mock_wait wake = { .slot = 2 };
	pthread_t threads[THREADS];
	int status;
	unsigned int i;

	device = open_device(O_RDWR);
	for (i = 0; i < THREADS; i++)
		MUST(!pthread_create(&threads[i], NULL, waiter, NULL));
	for (i = 0; i < 1000; i++) {
		MUST(!ioctl(device, VGPU_MOCK_IOC_WAKE, &wake));
		if (wake.out_waiters == THREADS)
			break;
		sleep_ms(5);
	}
	CHECK(wake.out_waiters == THREADS);
	/*
	 * A call that had to wait for the blocked calls would not return, as these end at the
	 * end of the test.
	 */
	for (i = 0; i < 100; i++)
		MUST(!ioctl(device, VGPU_MOCK_IOC_NOOP));
	fflush(NULL);
	if (!fork()) {
		for (i = 0; i < 100; i++)
			MUST(!ioctl(device, VGPU_MOCK_IOC_NOOP));
		_exit(0);
	}
	LOG_CALL(wait(&status) > 0 && !status);
	wake.target = 1;
	LOG_CALL(ioctl(device, VGPU_MOCK_IOC_WAKE, &wake));
	for (i = 0; i < THREADS; i++)
		MUST(!pthread_join(threads[i], NULL));
}

/* This memory is unmapped and mapped again while the driver accesses it. */
static char *coming_and_going;

static void *remap_loop(void *argument)
{
	while (!stop) {
		munmap(coming_and_going, 8192);
		if (mmap(coming_and_going, 8192, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			break;
	}
	return NULL;
}

DIFF_TEST_TWINS(memory_that_goes_away)
{
	struct vgpu_mock_array array = { .count = 2048, .total = 2048 };
	__u64 end = now_ms() + diff_race_ms();
	pthread_t thread;
	int ret;

	device = open_device(O_RDWR);
	coming_and_going = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(coming_and_going != MAP_FAILED);
	array.ptr = (uintptr_t)coming_and_going;
	stop = false;
	MUST(!pthread_create(&thread, NULL, remap_loop, NULL));
	while (now_ms() < end) {
		ret = ioctl(device, CMD(ARRAY_INOUT), &array);
		if (!CHECK(!ret || errno == EFAULT))
			break;
		ret = ioctl(device, CMD(ARRAY_OUT), &array);
		if (!CHECK(!ret || errno == EFAULT))
			break;
	}
	stop = true;
	MUST(!pthread_join(thread, NULL));
	LOG_CALL(ioctl(device, CMD(NOOP)));
}

/* A thread closes this fd again and again while another thread makes calls on it. */
static volatile int moving_fd;

static void *close_loop(void *argument)
{
	int fd, old;

	while (!stop) {
		fd = open(path, O_RDWR);
		old = moving_fd;
		moving_fd = fd;
		if (old >= 0)
			close(old);
	}
	return NULL;
}

DIFF_TEST(closed_under_a_call)
{
	struct vgpu_mock_inout io = { };
	__u64 end = now_ms() + diff_race_ms();
	pthread_t thread;
	unsigned int ok = 0;
	int ret;

	stop = false;
	moving_fd = -1;
	MUST(!pthread_create(&thread, NULL, close_loop, NULL));
	while (now_ms() < end || ok <= 5) {
		ret = ioctl(moving_fd, VGPU_MOCK_IOC_INOUT, &io);
		if (!CHECK(!ret || errno == EBADF))
			break;
		ok += !ret;
	}
	stop = true;
	MUST(!pthread_join(thread, NULL));
}

/* Processes come and go, and make described and undescribed calls. */
DIFF_TEST_LIMIT(many_processes, 120)
{
	unsigned int i, bad = 0;
	int status;

	fflush(NULL);
	for (i = 0; i < 24; i++) {
		if (fork())
			continue;
		device = open_device(O_RDWR);
		run_threads(i % 2 ? described : undescribed, 2);
		_exit(0);
	}
	while (wait(&status) > 0)
		bad += !!status;
	CHECK(!bad);
}

TEST_HARNESS_MAIN
