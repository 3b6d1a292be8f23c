// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test memory of the program that the device keeps, and reads and writes after the call is over.
 *
 * If the host cannot have the guest's memory, the driver's pinning fails with an errno, and
 * nothing else changes. If the host can (VGPU_KEEP), everything is as without a guest.
 */
#include <pthread.h>

#include "pinned.h"
#include "vgpu_diff.h"

#define PAGE	4096UL
#define SEED	77

static int keep(int fd, void *ptr, __u64 length, __u32 what)
{
	struct vgpu_mock_keep arg = {
		.ptr = (uintptr_t)ptr, .last = length - 1, .what = what,
	};

	return ioctl(fd, VGPU_MOCK_IOC_KEEP, &arg) ? -1 : (int)arg.out_pages;
}

/* Has the device read these bytes and overwrite them with a pattern. */
static __u64 use(int fd, __u32 number, __u64 offset, __u64 length, __u64 seed)
{
	struct vgpu_mock_kept arg = {
		.number = number, .offset = offset, .length = length, .seed = seed,
	};

	MUST(!ioctl(fd, VGPU_MOCK_IOC_KEPT, &arg));
	return arg.out_sum;
}

static bool is_pattern(const void *p, __u64 length, __u64 seed, __u64 offset)
{
	unsigned char *want = malloc(length);
	bool same;

	MUST(want);
	vgpu_mock_pattern(want, length, seed, offset);
	same = !memcmp(p, want, length);
	free(want);
	return same;
}

static __u64 sum_of(const void *p, __u64 length)
{
	return vgpu_mock_sum(VGPU_MOCK_SUM_INIT, p, length);
}

/*
 * Skips a test that needs the host to have the guest's memory. If @alone is set, other calls
 * must not find memory that a call hands over, which needs protection keys.
 */
static void needs_memory(bool alone)
{
	const char *keeps = getenv("VGPU_KEEP"), *tier = getenv("VGPU_TIER");

	if (!tier || !strcmp(tier, "native"))
		return;
	if (!keeps)
		diff_skip("the host does not have the guest's memory");
	if (alone && strcmp(keeps, "alone"))
		diff_skip("the host's processor has no protection keys");
}

/*
 * Returns true if the device can keep memory. Else the call fails with an errno and changes
 * nothing.
 */
static bool can_keep(int fd)
{
	unsigned char *p;

	if (!forwarded || getenv("VGPU_KEEP"))
		return true;
	p = alloc_pages(2);
	vgpu_mock_pattern(p, 2 * PAGE, 1, 0);
	CHECK(keep(fd, p, 2 * PAGE, VGPU_MOCK_KEEP_PIN) == -1 && errno == EFAULT);
	CHECK(is_pattern(p, 2 * PAGE, 1, 0));
	CHECK(!pinned_kib());
	return false;
}

/* Program and device see each other's writes at once. */
DIFF_TEST(shared)
{
	int fd = open_device(O_RDWR);
	unsigned char *p = alloc_pages(6);
	__u64 sum;

	if (!can_keep(fd))
		return;
	vgpu_mock_pattern(p, 6 * PAGE, 1, 0);
	sum = sum_of(p + PAGE, 4 * PAGE);
	CHECK(keep(fd, p + PAGE + 24, 4 * PAGE - 48, VGPU_MOCK_KEEP_PIN) == 4);
	CHECK(use(fd, 0, 0, 4 * PAGE, SEED) == sum);
	CHECK(is_pattern(p + PAGE, 4 * PAGE, SEED, 0));
	memset(p + PAGE + 512, 0x3c, 2 * PAGE);
	sum = sum_of(p + PAGE, 4 * PAGE);
	CHECK(use(fd, 0, 0, 4 * PAGE, SEED + 1) == sum);
	CHECK(is_pattern(p + PAGE, 4 * PAGE, SEED + 1, 0));
	/* Memory beside the kept memory has not changed. */
	vgpu_mock_pattern(p + PAGE, 4 * PAGE, 1, PAGE);
	CHECK(is_pattern(p, 6 * PAGE, 1, 0));
	CHECK(!close(fd));
	CHECK(pinned_becomes(0));
}

/*
 * The device goes on with the old pages after the program has mapped other memory at their
 * addresses, and calls find the new memory.
 */
DIFF_TEST(unmapped)
{
	unsigned char *p = alloc_pages(4), *out = alloc_pages(4);
	struct vgpu_mock_array array = { .count = 4 * PAGE / 4 };
	int fd = open_device(O_RDWR);
	__u64 sum;

	if (!can_keep(fd))
		return;
	vgpu_mock_pattern(p, 4 * PAGE, 1, 0);
	sum = sum_of(p, 4 * PAGE);
	MUST(keep(fd, p, 4 * PAGE, VGPU_MOCK_KEEP_PIN) == 4);
	MUST(mmap(p, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		  0) == p);
	CHECK(use(fd, 0, 0, 4 * PAGE, SEED) == sum);
	memset(out, 0, PAGE);
	CHECK(!memcmp(p, out, PAGE));
	vgpu_mock_pattern(p, 4 * PAGE, 9, 0);
	array.ptr = (uintptr_t)p;
	CHECK(!ioctl(fd, VGPU_MOCK_IOC_ARRAY_IN, &array) && array.out_sum == sum_of(p, 4 * PAGE));
	CHECK(!ioctl(fd, VGPU_MOCK_IOC_ARRAY_IN | VGPU_MOCK_UNDESCRIBED_BIT, &array) &&
	      array.out_sum == sum_of(p, 4 * PAGE));
	/* The device has the pattern that it wrote. */
	vgpu_mock_pattern(out, 4 * PAGE, SEED, 0);
	CHECK(use(fd, 0, 0, 4 * PAGE, SEED) == sum_of(out, 4 * PAGE));
	CHECK(!munmap(p, 4 * PAGE));
	use(fd, 0, 0, 4 * PAGE, SEED + 1);
}

/* Pages are scattered in the machine's memory, and then huge. */
DIFF_TEST(large)
{
	const __u64 length = 16 << 20, pages = length / PAGE;
	int fd = open_device(O_RDWR), huge;
	unsigned char *p;
	__u64 i;

	if (!can_keep(fd))
		return;
	for (huge = 0; huge < 2; huge++) {
		p = mmap(NULL, length + (2 << 20), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		MUST(p != MAP_FAILED);
		p = (unsigned char *)(((uintptr_t)p + (2 << 20) - 1) & ~((2UL << 20) - 1));
		madvise(p, length, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
		/* The pages are allocated in another order than that of their addresses. */
		for (i = 0; i < pages; i++)
			p[i * 1021 % pages * PAGE] = i;
		MUST(keep(fd, p, length, VGPU_MOCK_KEEP_PIN) == (int)pages);
		use(fd, huge, 0, length, SEED);
		CHECK(is_pattern(p, length, SEED, 0));
	}
}

/*
 * Memory that is handed over again and again is kept as often, but pinned once for a file. All
 * of it is released.
 */
DIFF_TEST(again)
{
	int fd = open_device(O_RDWR), other = open_device(O_RDWR), i;
	unsigned char *p = alloc_pages(4);

	if (!can_keep(fd))
		return;
	memset(p, 1, 4 * PAGE);
	for (i = 0; i < VGPU_MOCK_KEEPS_MAX; i++)
		CHECK(keep(fd, p, 4 * PAGE, VGPU_MOCK_KEEP_PIN) == 4);
	CHECK(keep(fd, p, 4 * PAGE, VGPU_MOCK_KEEP_PIN) == -1 && errno == EMFILE);
	CHECK(pinned_kib() == (forwarded ? 16 : 0));
	CHECK(keep(other, p, 4 * PAGE, VGPU_MOCK_KEEP_PIN) == 4);
	CHECK(pinned_kib() == (forwarded ? 32 : 0));
	use(fd, VGPU_MOCK_KEEPS_MAX - 1, 0, 4 * PAGE, SEED);
	CHECK(is_pattern(p, 4 * PAGE, SEED, 0));
	CHECK(!close(fd));
	CHECK(pinned_becomes(forwarded ? 16 : 0));
	use(other, 0, 0, 4 * PAGE, SEED + 1);
	CHECK(is_pattern(p, 4 * PAGE, SEED + 1, 0));
	CHECK(!close(other));
	CHECK(pinned_becomes(0));
}

/* A thread that hands the same memory over: @times times; 0: until it is stopped */
struct giver {
	int fd;
	unsigned char *p;
	__u64 length;
	int times;
	bool stop;
	int given;
	int refused;
};

/*
 * Hands memory over. A call that fails with EMFILE counts as given: the file already keeps
 * VGPU_MOCK_KEEPS_MAX memories.
 */
static void *give_on(void *arg)
{
	struct giver *giver = arg;

	while (!__atomic_load_n(&giver->stop, __ATOMIC_ACQUIRE)) {
		if (keep(giver->fd, giver->p, giver->length, VGPU_MOCK_KEEP_PIN) >= 0 ||
		    errno == EMFILE)
			__atomic_add_fetch(&giver->given, 1, __ATOMIC_RELEASE);
		else
			__atomic_add_fetch(&giver->refused, 1, __ATOMIC_RELEASE);
		if (giver->given + giver->refused == giver->times)
			break;
	}
	return NULL;
}

/* A busy nested machine would take longer for all attempts than the test may. */
#define FOUND_MS	15000

/*
 * While a call hands memory over, the driver of another call, which no schema describes, cannot
 * keep that memory. The driver would keep it for longer than the file of the first call is open.
 */
DIFF_TEST(found)
{
	int fd = open_device(O_RDWR), other = open_device(O_RDWR), i, times = diff_times(1000);
	struct vgpu_mock_keep arg = { .last = 4 * PAGE - 1, .what = VGPU_MOCK_KEEP_PIN };
	struct giver giver = { .fd = fd, .p = alloc_pages(4), .length = 4 * PAGE };
	pthread_t thread;
	bool found = false;
	__u64 start;

	needs_memory(true);
	memset(giver.p, 1, 4 * PAGE);
	arg.ptr = (uintptr_t)giver.p;
	MUST(!pthread_create(&thread, NULL, give_on, &giver));
	while (!__atomic_load_n(&giver.given, __ATOMIC_ACQUIRE) &&
	       !__atomic_load_n(&giver.refused, __ATOMIC_ACQUIRE))
		sleep_ms(1);
	start = now_ms();
	for (i = 0; i < times && !found && now_ms() - start < FOUND_MS; i++)
		found = !ioctl(other, VGPU_MOCK_IOC_KEEP | VGPU_MOCK_UNDESCRIBED_BIT, &arg);
	__atomic_store_n(&giver.stop, true, __ATOMIC_RELEASE);
	MUST(!pthread_join(thread, NULL));
	CHECK(giver.given > 0 && !giver.refused);
	CHECK(found == !forwarded);
	CHECK(!close(fd) && !close(other));
	CHECK(pinned_becomes(0));
}

/* Threads hand over buffers that share a page, and buffers that overlap. */
DIFF_TEST(neighbours)
{
	const __u64 length = 2 * PAGE;
	unsigned char *p = alloc_pages(6);
	struct giver givers[3] = {};
	pthread_t threads[3];
	int i;

	needs_memory(false);
	memset(p, 1, 6 * PAGE);
	for (i = 0; i < 3; i++) {
		givers[i].fd = open_device(O_RDWR);
		/* The last buffer begins in the middle of the first. */
		givers[i].p = p + PAGE / 2 + (i < 2 ? i * length : length / 2);
		givers[i].length = length;
		givers[i].times = diff_times(150);
		MUST(!pthread_create(&threads[i], NULL, give_on, &givers[i]));
	}
	for (i = 0; i < 3; i++) {
		MUST(!pthread_join(threads[i], NULL));
		CHECK(givers[i].given == givers[i].times && !givers[i].refused);
		use(givers[i].fd, 0, 0, length, SEED + i);
		CHECK(is_pattern(givers[i].p - PAGE / 2, length, SEED + i, 0));
		CHECK(!close(givers[i].fd));
	}
	CHECK(pinned_becomes(0));
}

/*
 * The device is closed when the next program opens it, although the memory is released after the
 * close.
 */
DIFF_TEST(closed)
{
	unsigned char *p = alloc_pages(2);
	int fd = open_device(O_RDWR), i;
	bool can = can_keep(fd);

	CHECK(!close(fd));
	if (!can)
		return;
	for (i = 0; i < 500; i++) {
		fd = open(path, O_RDWR | O_EXCL);
		if (fd >= 0)
			break;
		sleep_ms(10);
	}
	MUST(fd >= 0);
	for (i = 0; i < 50; i++) {
		CHECK(keep(fd, p, 2 * PAGE, VGPU_MOCK_KEEP_PIN) == 2);
		CHECK(!close(fd));
		fd = open(path, O_RDWR | O_EXCL);
		MUST(fd >= 0);
	}
	CHECK(!close(fd));
	CHECK(pinned_becomes(0));
}

/* A call that fails may have kept the memory nevertheless. */
DIFF_TEST(failed)
{
	int fd = open_device(O_RDWR);
	unsigned char *p = alloc_pages(2);

	if (!can_keep(fd))
		return;
	CHECK(keep(fd, p, 2 * PAGE, VGPU_MOCK_KEEP_LATE) == -1 && errno == EIO);
	CHECK(!munmap(p, PAGE));
	use(fd, 0, 0, 2 * PAGE, SEED);
	CHECK(is_pattern(p + PAGE, PAGE, SEED, PAGE));
	CHECK(pinned_kib() == (forwarded ? 8 : 0));
}

/*
 * Memory that cannot be kept fails with the driver's errno, and an integer is not taken for
 * memory.
 */
DIFF_TEST(none)
{
	int fd = open_device(O_RDWR);
	unsigned char *p = alloc_pages(3);

	MUST(!munmap(p + PAGE, PAGE));
	LOG_CALL(keep(fd, p, 3 * PAGE, VGPU_MOCK_KEEP_PIN));
	LOG_CALL(keep(fd, p + PAGE, 1, VGPU_MOCK_KEEP_PIN));
	LOG_CALL(keep(fd, NULL, 1, VGPU_MOCK_KEEP_PIN));
	LOG_CALL(keep(fd, (void *)0x123456789a, 1, VGPU_MOCK_KEEP_PLAIN));
	MUST(!mprotect(p, PAGE, PROT_READ));
	LOG_CALL(keep(fd, p, 1, VGPU_MOCK_KEEP_PIN));
	LOG_CALL(keep(fd, p, 1, VGPU_MOCK_KEEP_ARGUMENT + 1));
	CHECK(!pinned_kib());
}

/* A process that is killed leaves its file to its parent, and the device goes on. */
DIFF_TEST(killed)
{
	int fd = open_device(O_RDWR), status, pipes[2];
	unsigned char *p = alloc_pages(4);
	char byte;
	pid_t pid;

	if (!can_keep(fd))
		return;
	MUST(!pipe(pipes));
	pid = fork();
	MUST(pid >= 0);
	if (!pid) {
		memset(p, 7, 4 * PAGE);
		MUST(keep(fd, p, 4 * PAGE, VGPU_MOCK_KEEP_PIN) == 4);
		MUST(write(pipes[1], "k", 1) == 1);
		pause();
		_exit(0);
	}
	MUST(read(pipes[0], &byte, 1) == 1);
	MUST(!kill(pid, SIGKILL) && waitpid(pid, &status, 0) == pid);
	memset(p, 7, 4 * PAGE);
	CHECK(use(fd, 0, 0, 4 * PAGE, SEED) == sum_of(p, 4 * PAGE));
	/* The parent has a copy of its own. */
	CHECK(p[0] == 7 && p[4 * PAGE - 1] == 7);
}

TEST_HARNESS_MAIN
