// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test how pages of the window come and go under a program: in huge pages, many at a time, and
 * while the driver moves or zaps them.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>

#include "window_program.h"

#define HUGE_PFN	(VGPU_MOCK_BUF_PFN | VGPU_MOCK_BUF_HUGE)
#define HUGE_REMAP	(VGPU_MOCK_BUF_REMAP | VGPU_MOCK_BUF_HUGE)

/*
 * Memory that lies in pieces of 2 MiB is shown by PMD mappings, whether the driver makes PMD
 * mappings itself or not.
 */
static void huge(struct __test_metadata *_metadata, struct buffer *buffer, char *memory,
		 char *device)
{
	long resolved = window_status("resolved");

	EXPECT_EQ(0, (unsigned long)memory % HUGE);
	memory[HUGE - 1] = 1;
	memory[HUGE] = 2;
	EXPECT_EQ(1, device[HUGE - 1]);
	EXPECT_EQ(2, device[HUGE]);
	coherent(_metadata, buffer, memory, device, 2);
	if (!window_huge_possible()) {
		EXPECT_EQ(0, window_status("huge"));
		return;
	}
	EXPECT_EQ(2, window_status("huge"));
	EXPECT_EQ(2, window_status("resolved") - resolved);
}

TEST_F(window, huge_pfn)
{
	struct vgpu_mock_buf_info info;

	NEEDS_THP();
	BEGIN(HUGE_PFN, 2 * HUGE);
	huge(_metadata, &self->buffer, self->memory, self->device);
	info = (struct vgpu_mock_buf_info){ .id = self->buffer.id };
	ASSERT_EQ(0, ioctl(self->buffer.real, VGPU_MOCK_IOC_BUF_INFO, &info));
	/* The driver made two PMD mappings in the shadow, and two in the native mapping. */
	EXPECT_EQ(window_huge_possible() ? 4 : 0, info.out_huge);
}

TEST_F(window, huge_remap)
{
	NEEDS_THP();
	BEGIN(HUGE_REMAP, 2 * HUGE);
	huge(_metadata, &self->buffer, self->memory, self->device);
}

/*
 * Maps the first @size bytes of the buffer @at bytes behind an address where a page table
 * begins.
 */
static char *map_in_table(const struct buffer *buffer, size_t at, size_t size)
{
	char *place = mmap(NULL, size + 2 * HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *memory;

	if (place == MAP_FAILED)
		return NULL;
	place += HUGE - (unsigned long)place % HUGE + at;
	memory = mmap(place, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, buffer->fwd,
		      buffer->offset);
	return memory == MAP_FAILED ? NULL : memory;
}

/*
 * Memory in pieces of 2 MiB is shown by single pages where a PMD mapping does not fit: at an
 * address that is not aligned like the memory, and in a piece that is not mapped as a whole.
 */
TEST_F(window, huge_elsewhere)
{
	char *memory;

	BEGIN(HUGE_PFN, 3 * HUGE);
	memory = map_in_table(&self->buffer, 5 * PAGE, 2 * HUGE);
	ASSERT_NE(NULL, memory);
	ASSERT_EQ(2, window_counter(self->buffer.fwd, "window_mappings"));
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_FILL, 7, 0));
	EXPECT_TRUE(memory_is(memory, 2 * HUGE, 7));
	EXPECT_EQ(0, window_status("huge"));
	/* The last piece is mapped without its last page. */
	ASSERT_EQ(0, munmap(self->memory + 3 * HUGE - PAGE, PAGE));
	EXPECT_EQ(0, memcmp(self->memory, self->device, 3 * HUGE - PAGE));
	EXPECT_EQ(window_huge_possible() ? 2 : 0, window_status("huge"));
	EXPECT_EQ(SIGSEGV, touch(self->memory + 3 * HUGE - PAGE, false));
	memory[2 * HUGE - 1] = 33;
	EXPECT_EQ(33, self->memory[2 * HUGE - 1]);
}

/* munmap() or mprotect() of a part of a PMD mapping leaves the other pages as they were. */
TEST_F(window, huge_in_parts)
{
	BEGIN(HUGE_PFN, 2 * HUGE);
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_FILL, 3, 0));
	EXPECT_TRUE(memory_is(self->memory, 2 * HUGE, 3));
	ASSERT_EQ(0, mprotect(self->memory + 8 * PAGE, PAGE, PROT_READ));
	EXPECT_EQ(SIGSEGV, touch(self->memory + 8 * PAGE, true));
	EXPECT_EQ(0, touch(self->memory + 9 * PAGE, true));
	EXPECT_EQ(0, memcmp(self->memory, self->device, 2 * HUGE));
	ASSERT_EQ(0, munmap(self->memory + HUGE + 16 * PAGE, 2 * PAGE));
	EXPECT_EQ(SIGSEGV, touch(self->memory + HUGE + 17 * PAGE, false));
	EXPECT_EQ(0, memcmp(self->memory, self->device, HUGE + 16 * PAGE));
	EXPECT_EQ(0, memcmp(self->memory + HUGE + 18 * PAGE, self->device + HUGE + 18 * PAGE,
			    HUGE - 18 * PAGE));
	self->memory[HUGE + 18 * PAGE] = 18;
	EXPECT_EQ(18, self->device[HUGE + 18 * PAGE]);
	ASSERT_EQ(0, munmap(self->memory, 2 * HUGE));
	EXPECT_TRUE(window_await("bindings", 0));
}

/* A child inherits no PMD mappings: vgpu_window_fork() zaps them. */
TEST_F(window, huge_forked)
{
	long before;
	pid_t child;

	BEGIN(HUGE_PFN, HUGE);
	memset(self->memory, 5, HUGE);
	before = window_status("huge");
	child = fork();
	if (!child) {
		if (self->memory[PAGE] != 5)
			_exit(1);
		self->memory[2 * PAGE] = 6;
		_exit(0);
	}
	EXPECT_EQ(0, wait_for(child));
	EXPECT_EQ(6, self->memory[2 * PAGE]);
	if (window_huge_possible())
		EXPECT_EQ(before + 2, window_status("huge"));
}

TEST_F(window, huge_read_only)
{
	NEEDS_WINDOW();
	ASSERT_TRUE(buffer_make(&self->buffer, HUGE_PFN, HUGE));
	read_only(_metadata, &self->buffer, self->buffer.fwd, false);
	EXPECT_EQ(window_huge_possible(), window_status("huge"));
	made_writable(_metadata, &self->buffer);
}

TEST_F(window, huge_revoked)
{
	BEGIN(HUGE_PFN, HUGE);
	EXPECT_EQ(0, touch(self->memory, true));
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_REVOKE, 0, 0));
	EXPECT_EQ(SIGBUS, touch(self->memory, false));
	EXPECT_EQ(SIGBUS, touch(self->memory + HUGE - 1, true));
}

/*
 * Pages that the driver has already put into the shadow's page tables come with one answer of
 * the host for each 64 KiB of the window.
 */
static void around(struct __test_metadata *_metadata, char *memory, const char *device, long most)
{
	long resolved;
	int i;

	ASSERT_NE(NULL, memory);
	resolved = window_status("resolved");
	for (i = 0; i < 16; i++)
		memory[i * PAGE] = i;
	for (i = 0; i < 16; i++)
		EXPECT_EQ(i, device[i * PAGE]);
	resolved = window_status("resolved") - resolved;
	EXPECT_LE(1, resolved);
	/* The number of answers depends on where the buffer begins in the window. */
	EXPECT_GE(most, resolved);
}

TEST_F(window, around)
{
	BEGIN(VGPU_MOCK_BUF_REMAP, 16 * PAGE);
	around(_metadata, map_in_table(&self->buffer, 0, 16 * PAGE), self->device, 2);
}

/* A fault inserts no page of the program's next page table. */
TEST_F(window, around_in_two_tables)
{
	BEGIN(VGPU_MOCK_BUF_REMAP, 16 * PAGE);
	around(_metadata, map_in_table(&self->buffer, HUGE - 8 * PAGE, 16 * PAGE), self->device, 3);
}

#define IN_ORDER	2048	/* number of pages, of four page tables */

/*
 * A program that accesses memory in order waits for few answers, as each brings more pages than
 * the last one.
 */
static void in_order(struct __test_metadata *_metadata, char *memory, const char *device)
{
	long resolved = window_status("resolved");
	unsigned int i;

	for (i = 0; i < IN_ORDER; i++)
		*(uint32_t *)(memory + i * PAGE) = i;
	resolved = window_status("resolved") - resolved;
	EXPECT_LE(4, resolved);
	/* About twenty are expected. A slow machine, which prepares fewer pages, needs more. */
	EXPECT_GE(IN_ORDER / 8, resolved);
	for (i = 0; i < IN_ORDER; i++)
		ASSERT_EQ(i, *(uint32_t *)(device + i * PAGE));
	TH_LOG("%ld answers for %d pages", resolved, IN_ORDER);
}

#define IN_ORDER_TEST(name, flavour)					\
TEST_F(window, in_order_ ## name)					\
{									\
	BEGIN(flavour, IN_ORDER * PAGE);				\
	in_order(_metadata, self->memory, self->device);		\
}

IN_ORDER_TEST(pfn, VGPU_MOCK_BUF_PFN)
IN_ORDER_TEST(mixed, VGPU_MOCK_BUF_MIXED)
IN_ORDER_TEST(page, VGPU_MOCK_BUF_PAGE)

/* The driver is asked for no other page if a program accesses pages in another order. */
TEST_F(window, out_of_order)
{
	int i;

	BEGIN(VGPU_MOCK_BUF_PFN, 256 * PAGE);
	for (i = 127; i >= 0; i--)
		self->memory[2 * i * PAGE] = 1;
	/* No event says that the host prepares nothing, so the test waits for some time. */
	usleep(100000);
	EXPECT_EQ(128, buffer_info(&self->buffer).out_pages);
}

/*
 * Preparation ends with the mapping. In the shadow another mapping of the same buffer follows,
 * and its pages are not asked for.
 */
TEST_F(window, in_order_to_the_end)
{
	struct buffer *buffer = &self->buffer;
	char *place, *behind;
	int i;

	NEEDS_WINDOW();
	ASSERT_TRUE(buffer_make(buffer, VGPU_MOCK_BUF_PFN, 256 * PAGE));
	place = mmap(NULL, 256 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, place);
	place = mmap(place, 40 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		     buffer->fwd, buffer->offset);
	ASSERT_NE(MAP_FAILED, place);
	behind = mmap(place + 40 * PAGE, 216 * PAGE, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_FIXED, buffer->fwd, buffer->offset + 40 * PAGE);
	ASSERT_EQ(place + 40 * PAGE, behind);
	ASSERT_EQ(2, window_counter(buffer->fwd, "window_mappings"));
	for (i = 0; i < 40; i++)
		place[i * PAGE] = 1;
	usleep(100000);
	/* The driver gave 40 pages, and one more for the probe of the second mapping. */
	EXPECT_EQ(41, buffer_info(buffer).out_pages);
	ASSERT_EQ(0, munmap(place, 256 * PAGE));
}

/*
 * A driver that is stuck with a page that no program has accessed yet does not delay accesses to
 * pages that are prepared.
 */
TEST_F_TIMEOUT(window, in_order_until_stuck, 60)
{
	unsigned long before;
	int i, prepared;
	uint64_t start;

	BEGIN(VGPU_MOCK_BUF_PFN, 256 * PAGE);
	/* The probe has made the first page present. A slow machine may prepare nothing else. */
	for (i = 0; i < 100 && buffer_info(&self->buffer).out_pages <= (i ?: 1); i++)
		self->memory[i * PAGE] = 1;
	/* The host prepares as many pages as it can in this time. */
	usleep(100000);
	prepared = buffer_info(&self->buffer).out_pages;
	before = buffer_faults(&self->buffer);
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_SLOW, 0, 10000));
	start = tool_now_ms();
	for (; i < prepared; i++)
		self->memory[i * PAGE] = 1;
	if (!buffer_await_fault(&self->buffer, before))
		SKIP(return, "this machine has no time to prepare anything");
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_SLOW, 0, 0));
	/* The access is to the page with which the driver was stuck. */
	EXPECT_EQ(0, touch(self->memory + prepared * PAGE, true));
	EXPECT_GT(8000, tool_now_ms() - start);
}

static volatile bool mover_stop;
static volatile unsigned int mover_moves;

static void *mover(void *data)
{
	struct buffer *buffer = data;

	while (!mover_stop) {
		if (buffer_do(buffer, VGPU_MOCK_IOC_BUF_INVALIDATE, 0, 0))
			break;
		mover_moves++;
	}
	return NULL;
}

/*
 * The driver moves the buffer, and fills the old pages with poison. The program never sees the
 * poison.
 */
static void moved(struct __test_metadata *_metadata, struct buffer *buffer, char *memory,
		  char *device)
{
	uint64_t end = tool_now_ms() + (getenv("VGPU_TIMES") ? 500 : 3000);
	volatile uint32_t *words = (uint32_t *)memory;
	size_t nr = buffer->size / sizeof(*words);
	unsigned int rounds = 0, i;
	pthread_t thread;

	memset(memory, 0, buffer->size);
	mover_stop = false;
	mover_moves = 0;
	ASSERT_EQ(0, pthread_create(&thread, NULL, mover, buffer));
	/* No write is lost: the mover zaps all PTEs of the buffer before it copies a page. */
	while (tool_now_ms() < end || mover_moves <= 5) {
		rounds++;
		for (i = 0; i < nr; i += 16) {
			uint32_t seen = words[i];

			ASSERT_NE(0xdededede, seen) TH_LOG("round %u, word %u", rounds, i);
			ASSERT_EQ(rounds - 1, seen) TH_LOG("round %u, word %u", rounds, i);
			words[i] = rounds;
		}
	}
	mover_stop = true;
	pthread_join(thread, NULL);
	EXPECT_LT(5, mover_moves);
	EXPECT_EQ(0, memcmp(memory, device, buffer->size));
	TH_LOG("%u rounds over %u moves", rounds, mover_moves);
}

TEST_F_TIMEOUT(window, moved_pfn, 60)
{
	BEGIN(VGPU_MOCK_BUF_PFN, 8 * PAGE);
	moved(_metadata, &self->buffer, self->memory, self->device);
}

/*
 * Keeps a processor busy, so that the task that inserts PTEs is likely to be preempted after it
 * has found the pages.
 */
static void *busy(void *data)
{
	while (!mover_stop)
		;
	return NULL;
}

/*
 * The buffer moves while pages are prepared many at a time, each of which may be moved before
 * its PTE is inserted.
 */
TEST_F_TIMEOUT(window, moved_in_order, 120)
{
	pthread_attr_t attr;
	pthread_t thread;
	cpu_set_t one;

	BEGIN(VGPU_MOCK_BUF_PFN, 128 * PAGE);
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	pthread_attr_init(&attr);
	pthread_attr_setaffinity_np(&attr, sizeof(one), &one);
	mover_stop = false;
	ASSERT_EQ(0, pthread_create(&thread, &attr, busy, NULL));
	ASSERT_EQ(0, pthread_setaffinity_np(pthread_self(), sizeof(one), &one));
	moved(_metadata, &self->buffer, self->memory, self->device);
	pthread_join(thread, NULL);
}

TEST_F_TIMEOUT(window, moved_mixed, 60)
{
	BEGIN(VGPU_MOCK_BUF_MIXED, 8 * PAGE);
	moved(_metadata, &self->buffer, self->memory, self->device);
}

TEST_F_TIMEOUT(window, moved_huge, 60)
{
	NEEDS_THP();
	BEGIN(HUGE_PFN, HUGE);
	moved(_metadata, &self->buffer, self->memory, self->device);
	if (window_huge_possible())
		EXPECT_LT(1, window_status("huge"));
}

/* A fork copies page tables whose PTEs the driver is zapping. */
TEST_F_TIMEOUT(window, forked_while_moved, 120)
{
	int i, times = getenv("VGPU_TIMES") ? 20 : 100;
	unsigned long at;
	pthread_t thread;
	pid_t child;

	BEGIN(HUGE_PFN, HUGE);
	memset(self->memory, 7, HUGE);
	mover_stop = false;
	mover_moves = 0;
	ASSERT_EQ(0, pthread_create(&thread, NULL, mover, &self->buffer));
	for (i = 0; i < times; i++) {
		self->memory[i * PAGE] = 7;
		child = fork();
		if (!child) {
			for (at = 0; at < HUGE; at += PAGE)
				if (self->memory[at] != 7)
					_exit(1);
			_exit(0);
		}
		ASSERT_EQ(0, wait_for(child)) TH_LOG("child %d", i);
	}
	mover_stop = true;
	pthread_join(thread, NULL);
	EXPECT_LT(0, mover_moves);
}

/*
 * The driver zaps the PTEs between the accesses, and not at the same time: for this kind of
 * buffer the core inserts PTEs without the driver's lock.
 */
TEST_F(window, zapped_page)
{
	int i;

	BEGIN(VGPU_MOCK_BUF_PAGE, 8 * PAGE);
	for (i = 0; i < 50; i++) {
		vgpu_mock_pattern(self->memory, 8 * PAGE, i, 0);
		ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_INVALIDATE, 0, 0));
		ASSERT_TRUE(memory_is(self->memory, 8 * PAGE, i));
		ASSERT_TRUE(memory_is(self->device, 8 * PAGE, i));
	}
	EXPECT_LE(50, window_status("zaps"));
}

TEST_HARNESS_MAIN
