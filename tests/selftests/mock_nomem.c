// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that the host's module does not get, by fault injection of the kernel: the call fails, and
 * nobody waits for what it had begun. Needs the host in the same machine, and a kernel with
 * CONFIG_FAIL_PAGE_ALLOC and CONFIG_FAILSLAB, which the debug kernel is.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tool.h"
#include "vgpu_mock.h"

#include "kselftest_harness.h"

#define PAGE		4096
#define PAGES		"/sys/kernel/debug/fail_page_alloc/"
#define SLAB		"/sys/kernel/debug/failslab/"
/* Area of vmalloc(), to which kvmalloc() turns where it gets no pages in one piece. */
#define SLAB_CACHE	"/sys/kernel/slab/vmap_area/failslab"
#define TRIES		20
#define LOCKED		VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_LOCKED)

FIXTURE(nomem) {
	int fd;
	int uffd;
	/* Two pages, the second of which comes only when userfaultfd is told so. */
	char *memory;
};

/* Memory in large pieces is what fails for threads that are marked, from @on to !@on. */
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

/* Return: how many threads of shadows are marked. */
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

/* Two calls at once each have a lane, with all that it needs. Return: there are two, marked. */
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

/* A call whose driver writes the end of the first page, and then waits for the second. */
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

/* Return: 0, or the errno of a call whose driver reads the first page. */
static int read_first(FIXTURE_DATA(nomem) *self)
{
	struct vgpu_mock_string string = { .ptr = (uintptr_t)self->memory };

	return ioctl(self->fd, VGPU_MOCK_IOC_STRING, &string) ? errno : 0;
}

/*
 * A page that one call has written goes to the guest when another call needs it: without memory for
 * that, the other call fails, and the page is anybody's as before.
 */
TEST_F_TIMEOUT(nomem, page_of_another_call, 120)
{
	unsigned int failed = 0, try;
	pthread_t thread;

	/* Any other call would send the page when it ends. */
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

TEST_HARNESS_MAIN
