// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test mapped memory by which a program and a device talk to each other without a call: each
 * sees the other's writes while it reads. The test needs a window. In loopback it makes one for
 * this machine's guest; elsewhere VGPU_WINDOW says that there is one ("cached": that of a
 * user-space engine). All calls are forwarded, so the device may belong to another machine.
 */
#include <sched.h>
#include <sys/prctl.h>

#include "window.h"

#include "kselftest_harness.h"

#define HUGE_PFN	(VGPU_MOCK_BUF_PFN | VGPU_MOCK_BUF_HUGE)
#define ROUNDS		200
#define MOVES		20
/* A slow machine needs long for an answer; after a lost word no answer would ever come. */
#define LIMIT_MS	(30000 * KSELFTEST_PATIENCE)

struct talk {
	int fd;
	__u32 id;
	size_t size;
	char *memory;
};

static bool window_given(void)
{
	return getenv("VGPU_WINDOW") && getenv("VGPU_FWD");
}

FIXTURE(coherence)
{
	struct talk talk;
};

FIXTURE_SETUP(coherence)
{
	if (!window_given() && window_possible())
		ASSERT_TRUE(window_begin("64M"));
}

FIXTURE_TEARDOWN(coherence)
{
	if (!window_given() && window_possible())
		window_end();
}

static bool talk_begin(struct talk *talk, __u32 flavour, size_t size)
{
	struct vgpu_mock_buf_create create = { .size = size, .flavour = flavour };

	talk->fd = open(getenv("VGPU_FWD"), O_RDWR | O_CLOEXEC);
	if (talk->fd < 0 || ioctl(talk->fd, VGPU_MOCK_IOC_BUF_CREATE, &create))
		return false;
	talk->id = create.out_id;
	talk->size = size;
	talk->memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, talk->fd,
			    create.out_offset);
	return talk->memory != MAP_FAILED;
}

#define BEGIN(flavour, size) do {					\
	if (!window_given() && !window_possible())			\
		SKIP(return, "needs a window, or root in loopback");	\
	ASSERT_TRUE(talk_begin(&self->talk, flavour, size));		\
	ASSERT_EQ(1, window_counter(self->talk.fd, "window_mappings"));	\
} while (0)

/* The device does something by itself. */
static int talk_do(const struct talk *talk, unsigned long cmd, __u32 seed, __u32 ms)
{
	struct vgpu_mock_buf_range range = {
		.id = talk->id, .seed = seed, .delay_ms = ms,
		.length = cmd == VGPU_MOCK_IOC_BUF_FILL ? talk->size : 0,
	};

	return ioctl(talk->fd, cmd, &range);
}

static long long talk_traffic(const struct talk *talk)
{
	return window_counter(talk->fd, "calls") + window_counter(talk->fd, "bytes_in") +
	       window_counter(talk->fd, "bytes_out");
}

/* The device writes while the program reads. */
static void written(struct __test_metadata *_metadata, struct talk *talk)
{
	uint64_t end = tool_now_ms() + LIMIT_MS;
	long long before;

	memset(talk->memory, 0, talk->size);
	ASSERT_EQ(0, talk_do(talk, VGPU_MOCK_IOC_BUF_FILL, 5, 300));
	before = talk_traffic(talk);
	while (!memory_is(talk->memory, talk->size, 5))
		ASSERT_LT(tool_now_ms(), end);
	EXPECT_EQ(before, talk_traffic(talk));
}

/*
 * The program writes a number, and the device reads it and answers: ROUNDS times, and until
 * there were MOVES moves if @moves is not NULL. Return: number of answers.
 */
static unsigned int answered(const struct talk *talk, const volatile unsigned int *moves)
{
	volatile __u64 *words = (__u64 *)talk->memory;
	uint64_t end = tool_now_ms() + LIMIT_MS;
	unsigned int number;

	for (number = 1; number <= ROUNDS || (moves && *moves < MOVES); number++) {
		words[0] = number;
		while (words[1] != vgpu_mock_mix64(number)) {
			if (tool_now_ms() > end)
				return number - 1;
			/* Other tasks may have work on a machine with one processor. */
			sched_yield();
		}
	}
	words[0] = ~0ULL;
	return number - 1;
}

static void echo(struct __test_metadata *_metadata, struct talk *talk)
{
	long long before;

	memset(talk->memory, 0, talk->size);
	ASSERT_EQ(0, talk_do(talk, VGPU_MOCK_IOC_BUF_ECHO, 0, LIMIT_MS));
	before = talk_traffic(talk);
	EXPECT_EQ(ROUNDS, answered(talk, NULL));
	EXPECT_EQ(before, talk_traffic(talk));
}

#define COHERENT(name, flavour)						\
TEST_F_TIMEOUT(coherence, device_writes_ ## name, 60)			\
{									\
	BEGIN(flavour, 4 * PAGE);					\
	written(_metadata, &self->talk);				\
}									\
TEST_F_TIMEOUT(coherence, device_answers_ ## name, 60)			\
{									\
	BEGIN(flavour, PAGE);						\
	echo(_metadata, &self->talk);					\
}

COHERENT(pfn, VGPU_MOCK_BUF_PFN)
COHERENT(remap, VGPU_MOCK_BUF_REMAP)
COHERENT(mixed, VGPU_MOCK_BUF_MIXED)
COHERENT(page, VGPU_MOCK_BUF_PAGE)
COHERENT(vmalloc, VGPU_MOCK_BUF_VMALLOC)

/*
 * The driver moves the buffer while program and device talk, again and again, with pauses of
 * @pause us. No word is lost.
 */
static void moved(struct __test_metadata *_metadata, struct talk *talk, unsigned int pause)
{
	struct vgpu_mock_buf_info info = { .id = talk->id };
	unsigned int *moves, answers;
	pid_t pid;

	moves = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, moves);
	memset(talk->memory, 0, talk->size);
	ASSERT_EQ(0, talk_do(talk, VGPU_MOCK_IOC_BUF_ECHO, 0, LIMIT_MS));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (!talk_do(talk, VGPU_MOCK_IOC_BUF_INVALIDATE, 0, 0)) {
			++*moves;
			usleep(pause);
		}
		_exit(1);
	}
	answers = answered(talk, moves);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	EXPECT_LE(ROUNDS, answers);
	EXPECT_LE(MOVES, *moves);
	ASSERT_EQ(0, ioctl(talk->fd, VGPU_MOCK_IOC_BUF_INFO, &info));
	/* A move makes the next access fault. */
	EXPECT_LT(5, info.out_faults);
	TH_LOG("%u answers, %u moves, %llu faults", answers, *moves,
	       (unsigned long long)info.out_faults);
}

TEST_F_TIMEOUT(coherence, moved_pfn, 60)
{
	BEGIN(VGPU_MOCK_BUF_PFN, PAGE);
	moved(_metadata, &self->talk, 0);
}

TEST_F_TIMEOUT(coherence, moved_mixed, 60)
{
	BEGIN(VGPU_MOCK_BUF_MIXED, PAGE);
	moved(_metadata, &self->talk, 0);
}

TEST_F_TIMEOUT(coherence, moved_huge, 60)
{
	BEGIN(HUGE_PFN, HUGE);
	moved(_metadata, &self->talk, 20000);
}

/* Returns the size of the program's page tables in KiB. */
static long tables(void)
{
	return atol(tool_run("grep VmPTE: /proc/%d/status | tr -dc 0-9", getpid())->out);
}

/* Memory in pieces of 2 MiB is mapped by PMD mappings, which need no page tables. */
TEST_F_TIMEOUT(coherence, huge, 60)
{
	const int pieces = 8;
	long before, after;
	int i;

	BEGIN(HUGE_PFN, pieces * HUGE);
	before = tables();
	for (i = 0; i < pieces; i++)
		self->talk.memory[i * HUGE + i] = i;
	after = tables();
	if (window_huge_possible()) {
		EXPECT_GT(4 * pieces / 2, after - before);
	} else {
		EXPECT_LE(4 * pieces / 2, after - before);
	}
	for (i = 1; i <= 2; i++) {
		ASSERT_EQ(0, talk_do(&self->talk, VGPU_MOCK_IOC_BUF_FILL, i, 0));
		EXPECT_TRUE(memory_is(self->talk.memory, pieces * HUGE, i));
		ASSERT_EQ(0, talk_do(&self->talk, VGPU_MOCK_IOC_BUF_INVALIDATE, 0, 0));
		EXPECT_TRUE(memory_is(self->talk.memory, pieces * HUGE, i));
	}
}

/*
 * The first access to a small mapping inserts the PTEs of all its pages. The first access to a
 * large mapping inserts those of one page table. (Each mapping may lie across the border of two
 * page tables, and the program may have a fault for another reason.)
 */
TEST_F_TIMEOUT(coherence, few_faults_small, 60)
{
	long faults;

	if (!window_given())
		SKIP(return, "needs a window that is a device");
	BEGIN(VGPU_MOCK_BUF_PFN, 16 * PAGE);
	faults = looked_faults(self->talk.memory, 16 * PAGE);
	EXPECT_LE(1, faults);
	EXPECT_GE(3, faults);
	TH_LOG("%ld faults", faults);
}

TEST_F_TIMEOUT(coherence, few_faults_large, 60)
{
	long faults;

	if (!window_given())
		SKIP(return, "needs a window that is a device");
	BEGIN(VGPU_MOCK_BUF_PFN, 2 * HUGE);
	faults = looked_faults(self->talk.memory, 2 * HUGE);
	EXPECT_LE(1, faults);
	EXPECT_GE(4, faults);
	TH_LOG("%ld faults", faults);
}

/* A program that goes on in order has ever more PMD mappings inserted by one fault. */
TEST_F_TIMEOUT(coherence, few_faults_huge, 60)
{
	long faults;

	if (!window_given() || !window_huge_possible())
		SKIP(return, "needs a window that is a device, and PMD mappings");
	BEGIN(HUGE_PFN, 16 * HUGE);
	faults = looked_faults(self->talk.memory, 16 * HUGE);
	EXPECT_LE(1, faults);
	EXPECT_GE(9, faults);
	TH_LOG("%ld faults", faults);
}

/* Returns the number of ranges that the kernel has recorded with that cache attribute. */
static long cached_ranges(const char *how)
{
	return atol(tool_run("grep -c %s /sys/kernel/debug/x86/pat_memtype_list", how)->out);
}

/*
 * Returns the number of ranges when it has not changed for a second: a worker removes the ranges
 * of earlier mappings.
 */
static long settled_ranges(const char *how)
{
	long now = cached_ranges(how), before;
	int same = 0, tries;

	for (tries = 0; tries < 200 && same < 10; tries++) {
		usleep(100000);
		before = now;
		now = cached_ranges(how);
		same = now == before ? same + 1 : 0;
	}
	return now;
}

/*
 * The guest's kernel records the cache attribute of bound memory for as long as the memory is
 * bound. Without the record, PTEs would get another attribute.
 */
#define CACHED_WHILE_BOUND(name, flavour, how)				\
TEST_F(coherence, name)							\
{									\
	long before;							\
	int tries;							\
									\
	if (!window_given() || geteuid())				\
		SKIP(return, "needs a window that is a device, and root"); \
	if (strcmp(how, "write-back") && !strcmp(getenv("VGPU_WINDOW"), "cached")) \
		SKIP(return, "a user-space engine tells all memory as cached"); \
	before = settled_ranges(how);					\
	BEGIN(flavour, 4 * PAGE);					\
	EXPECT_EQ(before + 1, cached_ranges(how));			\
	self->talk.memory[0] = 1;					\
	ASSERT_EQ(0, munmap(self->talk.memory, 4 * PAGE));		\
	for (tries = 0; tries < 100 && cached_ranges(how) != before; tries++) \
		usleep(50000);						\
	EXPECT_EQ(before, cached_ranges(how));				\
}

CACHED_WHILE_BOUND(cached_while_bound, VGPU_MOCK_BUF_PFN, "write-back")
CACHED_WHILE_BOUND(write_combining_while_bound, VGPU_MOCK_BUF_WC, "write-combining")

TEST_HARNESS_MAIN
