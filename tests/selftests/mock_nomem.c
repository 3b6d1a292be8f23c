// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test calls for which the host's module gets no memory: the call fails, and no other call waits
 * for work that the failed call had begun. They need the host in the same machine, and a kernel
 * with CONFIG_FAIL_PAGE_ALLOC and CONFIG_FAILSLAB (the debug kernel has them), or with kprobes for
 * the case that is too rare otherwise. The guest's module gets no socket in a case that needs
 * kprobes alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "slow.h"
#include "vgpu_mock.h"

#include "kselftest_harness.h"

#define PAGE		4096
#define PAGES		"/sys/kernel/debug/fail_page_alloc/"
#define SLAB		"/sys/kernel/debug/failslab/"
/* The slab cache of vmalloc areas; kvmalloc() uses vmalloc() where it gets no contiguous pages. */
#define SLAB_CACHE	"/sys/kernel/slab/vmap_area/failslab"
#define TRIES		20
#define LOCKED		VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_LOCKED)
/* The deadline of a FETCH: the host's default (vgpud(8)), or what the host was started with */
#define FETCH_MS	(getenv("VGPU_FETCH_MS") ? strtoul(getenv("VGPU_FETCH_MS"), NULL, 0) : 2000)
#define PATIENCE_MS	20000

FIXTURE(nomem) {
	int fd;
	int uffd;
	/* Two pages; the second one comes only when userfaultfd provides it. */
	char *memory;
};

/* Makes large allocations of marked threads fail (@on), or succeed again (!@on). */
static bool inject(bool on)
{
	const char *times = on ? "-1" : "0";

	return tool_write(PAGES "times", times) && tool_write(SLAB "times", times);
}

static bool inject_prepare(void)
{
	static const char *const files[][2] = {
		{ PAGES "task-filter", "Y" }, { PAGES "ignore-gfp-wait", "N" },
		{ PAGES "min-order", "2" }, { PAGES "verbose", "0" },
		{ PAGES "probability", "100" },
		{ SLAB "task-filter", "Y" }, { SLAB "ignore-gfp-wait", "N" },
		{ SLAB "cache-filter", "Y" }, { SLAB "verbose", "0" },
		{ SLAB "probability", "100" }, { SLAB_CACHE, "1" },
	};
	unsigned int i;

	if (!inject(false))
		return false;
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (!tool_write(files[i][0], files[i][1]))
			return false;
	return true;
}

/* Return: number of threads of shadows that were marked. */
static unsigned int inject_into_shadows(void)
{
	unsigned int marked = 0;
	char path[80];
	glob_t found;
	size_t i;
	pid_t pid;

	if (tool_processes(tool_shadow(), &pid) != 1)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/task/*/make-it-fail", pid);
	if (glob(path, 0, NULL, &found))
		return 0;
	for (i = 0; i < found.gl_pathc; i++)
		marked += tool_write(found.gl_pathv[i], "1");
	globfree(&found);
	return marked;
}

FIXTURE_SETUP(nomem)
{
	struct uffdio_api api = { .api = UFFD_API };

	if (!tool_has_host() || tool_user_engine())
		SKIP(return, "needs the host's module in the same machine");
	if (access(PAGES, F_OK) || access(SLAB_CACHE, F_OK))
		SKIP(return, "needs a kernel with CONFIG_FAIL_PAGE_ALLOC and CONFIG_FAILSLAB");
	ASSERT_TRUE(inject_prepare());
	self->uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	ASSERT_GE(self->uffd, 0);
	ASSERT_EQ(0, ioctl(self->uffd, UFFDIO_API, &api));
	self->fd = open(getenv("VGPU_FWD"), O_RDWR);
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(nomem)
{
	inject(false);
	close(self->uffd);
	close(self->fd);
}

static bool withhold_second(FIXTURE_DATA(nomem) *self)
{
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	self->memory = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (self->memory == MAP_FAILED)
		return false;
	strcpy(self->memory, "text");
	reg.range.start = (uintptr_t)self->memory + PAGE;
	reg.range.len = PAGE;
	return !ioctl(self->uffd, UFFDIO_REGISTER, &reg);
}

static bool second_is_wanted(FIXTURE_DATA(nomem) *self)
{
	struct pollfd pfd = { .fd = self->uffd, .events = POLLIN };
	struct uffd_msg msg;

	return poll(&pfd, 1, 20000) == 1 &&
	       read(self->uffd, &msg, sizeof(msg)) == sizeof(msg);
}

static bool give_second(FIXTURE_DATA(nomem) *self)
{
	struct uffdio_zeropage page = {
		.range = { .start = (uintptr_t)self->memory + PAGE, .len = PAGE },
	};

	return !ioctl(self->uffd, UFFDIO_ZEROPAGE, &page);
}

static void *sleep_long(void *data)
{
	struct vgpu_mock_sleep sleep = { .ms = 200, .mode = VGPU_MOCK_SLEEP_INTERRUPTIBLE };

	ioctl(*(int *)data, VGPU_MOCK_IOC_SLEEP, &sleep);
	return NULL;
}

/*
 * Makes two calls at once, so that two lanes have all they need. Return: true if both are
 * marked.
 */
static bool make_lanes(int fd)
{
	unsigned int try, alone = inject_into_shadows();
	pthread_t thread;

	for (try = 0; try < TRIES && inject_into_shadows() <= alone; try++) {
		if (pthread_create(&thread, NULL, sleep_long, &fd))
			return false;
		usleep(50000);
		ioctl(fd, VGPU_MOCK_IOC_NOOP, 0);
		pthread_join(thread, NULL);
	}
	return alone && try < TRIES;
}

/*
 * Makes a call whose driver writes the end of the first page, and then waits for the second
 * page.
 */
static void *write_both(void *data)
{
	FIXTURE_DATA(nomem) *self = data;
	char in[16] = "";
	struct vgpu_mock_locked argument = {
		.in_ptr = (uintptr_t)in,
		.out_ptr = (uintptr_t)self->memory + PAGE - sizeof(in) / 2,
		.length = sizeof(in),
	};

	ioctl(self->fd, LOCKED, &argument);
	return NULL;
}

/* Makes a call whose driver reads the first page. Return: 0, or the call's errno. */
static int read_first(FIXTURE_DATA(nomem) *self)
{
	struct vgpu_mock_string string = { .ptr = (uintptr_t)self->memory };

	return ioctl(self->fd, VGPU_MOCK_IOC_STRING, &string) ? errno : 0;
}

/*
 * A page that one call's driver has written goes to the guest when another call needs the page.
 * If there is no memory for that, the other call fails, and the page can be used as before.
 */
TEST_F_TIMEOUT(nomem, page_of_another_call, 120)
{
	unsigned int failed = 0, try;
	pthread_t thread;

	/* All lanes are made before, as any further call would send the page when it ends. */
	ASSERT_TRUE(make_lanes(self->fd));
	for (try = 0; try < TRIES && !failed; try++) {
		ASSERT_TRUE(withhold_second(self));
		ASSERT_EQ(0, pthread_create(&thread, NULL, write_both, self));
		ASSERT_TRUE(second_is_wanted(self));
		ASSERT_TRUE(inject(true));
		failed += !!read_first(self);
		ASSERT_TRUE(inject(false));
		ASSERT_TRUE(give_second(self));
		ASSERT_EQ(0, pthread_join(thread, NULL));
		EXPECT_EQ(0, read_first(self));
		munmap(self->memory, 2 * PAGE);
	}
	EXPECT_EQ(1, failed);
	TH_LOG("an allocation failed in try %u", try);
}

/* --- the end of a call --------------------------------------------------------------- */

FIXTURE(ending) {
	int fd;
	/* A page; the driver of one call writes to its beginning. */
	char *memory;
	/*
	 * The errno of that call, and the errno and duration of another call that ends
	 * meanwhile.
	 */
	int error;
	int other_error;
	uint64_t other_ms;
};

FIXTURE_SETUP(ending)
{
	if (!tool_has_host() || tool_user_engine())
		SKIP(return, "needs the host's module in the same machine");
	if (!slow_can())
		SKIP(return, "needs a kernel with kprobes");
	self->fd = open(getenv("VGPU_FWD"), O_RDWR);
	ASSERT_GE(self->fd, 0);
	self->memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->memory);
}

FIXTURE_TEARDOWN(ending)
{
	tool_run("modprobe -qr vgpu_slow");
	munmap(self->memory, PAGE);
	close(self->fd);
}

static void *write_beginning(void *data)
{
	FIXTURE_DATA(ending) *self = data;
	char in[16] = "";
	struct vgpu_mock_locked argument = {
		.in_ptr = (uintptr_t)in,
		.out_ptr = (uintptr_t)self->memory,
		.length = sizeof(in),
	};

	self->error = ioctl(self->fd, LOCKED, &argument) ? errno : 0;
	return NULL;
}

static void *do_nothing(void *data)
{
	FIXTURE_DATA(ending) *self = data;
	uint64_t start = tool_now_ms();

	self->other_error = ioctl(self->fd, VGPU_MOCK_IOC_NOOP, 0) ? errno : 0;
	self->other_ms = tool_now_ms() - start;
	return NULL;
}

static bool await_stop(void)
{
	uint64_t end = tool_now_ms() + PATIENCE_MS;

	while (!slow_waits()) {
		if (tool_now_ms() > end)
			return false;
		usleep(10000);
	}
	return true;
}

/*
 * Return: true if a thread of this program's shadow waits for a page that another thread has
 * claimed.
 */
static bool is_waiting(void)
{
	char path[80], line[64];
	bool waiting = false;
	glob_t found;
	size_t i;

	snprintf(path, sizeof(path), "/proc/%d/task/*/wchan", tool_shadow_of("mock_nomem"));
	if (glob(path, 0, NULL, &found))
		return false;
	for (i = 0; i < found.gl_pathc && !waiting; i++) {
		tool_read_line(found.gl_pathv[i], line, sizeof(line));
		waiting = !strcmp(line, "vgpuh_page_wait_claims");
	}
	globfree(&found);
	return waiting;
}

/*
 * A call's driver has written a page, and the call gets no memory to send it when the call ends.
 * Another call waits for the page. Return: true if the other call was seen to wait.
 */
static bool end_without_memory(FIXTURE_DATA(ending) *self)
{
	pthread_t writer, other;
	bool waited = false;
	uint64_t end;

	self->error = -1;
	self->other_error = -1;
	memset(self->memory, 1, PAGE);
	if (!slow_start_with("vgpu_host:batch_alloc", "null=1") ||
	    pthread_create(&writer, NULL, write_beginning, self))
		return false;
	if (await_stop() && !pthread_create(&other, NULL, do_nothing, self)) {
		end = tool_now_ms() + FETCH_MS;
		while (!waited && tool_now_ms() < end)
			waited = is_waiting();
		tool_write(SLOW_GO, "1");
		pthread_join(other, NULL);
	}
	tool_write(SLOW_GO, "1");
	pthread_join(writer, NULL);
	return slow_stop() && waited;
}

/*
 * A call may wait for a page that another call claimed at its end. If that end fails, the
 * waiting call goes on and sends the page itself. A slow machine may be too late for this case.
 */
TEST_F_TIMEOUT(ending, page_of_a_call_that_ends, 180)
{
	uint64_t least = UINT64_MAX;
	unsigned int try;
	bool waited;

	for (try = 0; try < TRIES / 2 && least >= FETCH_MS; try++) {
		waited = end_without_memory(self);
		EXPECT_EQ(ENOMEM, self->error);
		EXPECT_EQ(0, self->other_error);
		/* The driver inverts the argument, which is zeros. */
		EXPECT_EQ((char)0xff, self->memory[0]);
		EXPECT_EQ(1, self->memory[16]);
		if (waited && self->other_ms < least)
			least = self->other_ms;
	}
	EXPECT_GT(FETCH_MS, least);
	TH_LOG("the other call took %" PRIu64 " ms in try %u", least, try);
}

/* --- the first open of a process ----------------------------------------------------- */

/*
 * A process' first open needs a socket. The kernel says ENFILE if it has no memory for the inode of
 * one, and the program gets ENOMEM, not an errno that says that the device is gone.
 */
TEST(no_memory_for_a_socket)
{
	int fd, error;

	if (!slow_can())
		SKIP(return, "needs a kernel with kprobes");
	/* 23 is ENFILE. */
	ASSERT_TRUE(slow_start_with("sock_create_kern", "go=1 error=23 comm=mock_nomem"));
	fd = open(getenv("VGPU_FWD"), O_RDWR | O_CLOEXEC);
	error = errno;
	EXPECT_TRUE(slow_stop());
	ASSERT_EQ(-1, fd);
	EXPECT_EQ(ENOMEM, error);
	fd = open(getenv("VGPU_FWD"), O_RDWR | O_CLOEXEC);
	EXPECT_LE(0, fd);
	close(fd);
}

TEST_HARNESS_MAIN
