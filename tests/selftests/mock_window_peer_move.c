// SPDX-License-Identifier: GPL-2.0-only
/* Test what a hypervisor sees of memory that moves, and of memory that is in huge pages. */
#include <pthread.h>

#include "window_peer.h"

/*
 * The driver moves and frees pages. The hypervisor and the program never see poison or an old
 * word.
 */
static void moved(struct __test_metadata *_metadata, struct buffer *buffer, const char *shown,
		  char *memory)
{
	uint64_t end = tool_now_ms() + (getenv("VGPU_TIMES") ? 1000 : 4000);
	volatile uint32_t *seen, *words = (uint32_t *)memory;
	size_t nr = buffer->size / sizeof(*words), i;
	struct mover mover = { .buffer = buffer, .patient = true };
	unsigned int rounds = 0;
	pthread_t thread;

	seen = (uint32_t *)shown;
	memset(memory, 0, buffer->size);
	ASSERT_EQ(0, pthread_create(&thread, NULL, mover_run, &mover));
	while (tool_now_ms() < end || mover.moves <= 5) {
		rounds++;
		for (i = 0; i < nr; i += 32) {
			ASSERT_EQ(rounds - 1, seen[i]) TH_LOG("round %u, word %zu", rounds, i);
			/*
			 * Odd rounds write through the program's mapping, even rounds through
			 * the hypervisor's.
			 */
			if (rounds % 2)
				words[i] = rounds;
			else
				seen[i] = rounds;
			ASSERT_EQ(rounds, words[i]) TH_LOG("round %u, word %zu", rounds, i);
			mover.accesses++;
		}
	}
	mover.stop = true;
	pthread_join(thread, NULL);
	EXPECT_LT(5, mover.moves);
	TH_LOG("%u rounds over %u moves", rounds, mover.moves);
}

TEST_F_TIMEOUT(peer, moved_pfn, 60)
{
	unsigned long at;

	BEGIN(VGPU_MOCK_BUF_PFN, 8 * PAGE);
	at = find(self->window, &self->buffer);
	ASSERT_NE(0, at);
	moved(_metadata, &self->buffer, self->window + at, self->memory);
	EXPECT_EQ(0, window_status("failures"));
}

TEST_F_TIMEOUT(peer, moved_mixed, 60)
{
	unsigned long at;

	BEGIN(VGPU_MOCK_BUF_MIXED, 8 * PAGE);
	at = find(self->window, &self->buffer);
	ASSERT_NE(0, at);
	moved(_metadata, &self->buffer, self->window + at, self->memory);
	EXPECT_EQ(0, window_status("failures"));
}

#define LARGE_SIZE	(16UL << 20)
#define HUGE_PFN	(VGPU_MOCK_BUF_PFN | VGPU_MOCK_BUF_HUGE)
#define HUGE_REMAP	(VGPU_MOCK_BUF_REMAP | VGPU_MOCK_BUF_HUGE)

/*
 * Makes a window with room for pieces of 2 MiB and maps it. If @touched is set, a page of each 2
 * MiB is accessed, which leaves a page table there. Return: file of the window; -1: error.
 */
static int large_begin(const char **window, bool touched)
{
	unsigned long at;
	int fd;

	if (!window_begin("16M"))
		return -1;
	fd = open(WINDOW_PATH, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -1;
	*window = mmap(NULL, LARGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*window == MAP_FAILED)
		return -1;
	for (at = 3 * PAGE; touched && at < LARGE_SIZE; at += HUGE)
		if (touch((char *)*window + at, false))
			return -1;
	return fd;
}

/*
 * Returns the offset of the buffer in the window; 0: not found. Only offsets where a PMD mapping
 * fits are tried, so no other page is accessed.
 */
static unsigned long large_find(const char *window, const struct buffer *buffer)
{
	unsigned long at;

	buffer_do(buffer, VGPU_MOCK_IOC_BUF_FILL, 4711, 0);
	for (at = HUGE; at < LARGE_SIZE; at += HUGE)
		if (memory_is(window + at, PAGE, 4711))
			return at;
	return 0;
}

/*
 * Tests a buffer of pieces of 2 MiB. @pieces: number of PMD mappings that the hypervisor gets,
 * if the kernel makes any.
 */
static void huge(struct __test_metadata *_metadata, struct buffer *buffer, const char *window,
		 char *memory, int pieces)
{
	char *shown = (char *)window + large_find(window, buffer);
	unsigned int i;

	ASSERT_NE(window, shown);
	for (i = 1; i <= 2; i++) {
		ASSERT_EQ(0, buffer_do(buffer, VGPU_MOCK_IOC_BUF_FILL, i, 0));
		ASSERT_TRUE(memory_is(shown, buffer->size, i));
	}
	EXPECT_EQ(window_huge_possible() ? pieces : 0, window_status("huge"));
	vgpu_mock_pattern(shown, buffer->size, 100, 0);
	EXPECT_EQ(memory_sum(shown, buffer->size), buffer_sum(buffer));
	ASSERT_EQ(0, buffer_do(buffer, VGPU_MOCK_IOC_BUF_INVALIDATE, 0, 0));
	EXPECT_TRUE(memory_is(shown, buffer->size, 100));
	EXPECT_TRUE(memory_is(memory, buffer->size, 100));
	EXPECT_EQ(0, window_status("failures"));
	ASSERT_EQ(0, munmap(memory, buffer->size));
	ASSERT_TRUE(window_await("bindings", 0));
	for (i = 0; i < buffer->size; i += PAGE)
		ASSERT_EQ(0, shown[i]);
}

TEST_F_TIMEOUT(peer, huge_pfn, 60)
{
	const char *window;

	NEEDS_THP();
	NEEDS_WINDOW();
	ASSERT_LE(0, large_begin(&window, false));
	EXPECT_EQ(0, window_huge_possible() ? (unsigned long)window % HUGE : 0);
	BEGIN(HUGE_PFN, 2 * HUGE);
	huge(_metadata, &self->buffer, window, self->memory, 2);
}

TEST_F_TIMEOUT(peer, huge_remap, 60)
{
	const char *window;

	NEEDS_THP();
	NEEDS_WINDOW();
	ASSERT_LE(0, large_begin(&window, false));
	BEGIN(HUGE_REMAP, 2 * HUGE);
	huge(_metadata, &self->buffer, window, self->memory, 2);
}

/* A page table leaves no place for a PMD mapping, so single pages are inserted. */
TEST_F_TIMEOUT(peer, huge_and_page_tables, 60)
{
	const char *window;

	NEEDS_THP();
	NEEDS_WINDOW();
	ASSERT_LE(0, large_begin(&window, true));
	BEGIN(HUGE_PFN, 2 * HUGE);
	huge(_metadata, &self->buffer, window, self->memory, 0);
}

TEST_F_TIMEOUT(peer, moved_huge, 60)
{
	const char *window;
	unsigned long at;

	NEEDS_THP();
	NEEDS_WINDOW();
	ASSERT_LE(0, large_begin(&window, false));
	BEGIN(HUGE_PFN, HUGE);
	at = large_find(window, &self->buffer);
	ASSERT_NE(0, at);
	moved(_metadata, &self->buffer, window + at, self->memory);
	EXPECT_EQ(0, window_status("failures"));
	if (window_huge_possible())
		EXPECT_LT(2, window_status("huge"));
}

/*
 * PMD mappings and single pages in the same 2 MiB show the same memory, also after parts of it
 * were unmapped.
 */
TEST_F_TIMEOUT(peer, huge_in_parts, 60)
{
	const char *window;
	unsigned long at;

	NEEDS_THP();
	NEEDS_WINDOW();
	ASSERT_LE(0, large_begin(&window, false));
	BEGIN(HUGE_PFN, 2 * HUGE);
	at = large_find(window, &self->buffer);
	ASSERT_NE(0, at);
	EXPECT_TRUE(memory_is(window + at, 2 * HUGE, 4711));
	ASSERT_EQ(0, munmap(self->memory + 4 * PAGE, 3 * PAGE));
	ASSERT_EQ(0, buffer_settle(&self->buffer));
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_FILL, 5, 0));
	EXPECT_EQ(0, memcmp(window + at, self->memory, 4 * PAGE));
	EXPECT_EQ(0, memcmp(window + at + 7 * PAGE, self->memory + 7 * PAGE, 2 * HUGE - 7 * PAGE));
	EXPECT_EQ(0, window[at + 4 * PAGE]);
	EXPECT_EQ(0, window[at + 7 * PAGE - 1]);
	/* The hypervisor's mapping becomes read-only, and then writable again. */
	ASSERT_EQ(0, mprotect((char *)window, LARGE_SIZE, PROT_READ));
	EXPECT_EQ(0, memcmp(window + at + HUGE, self->memory + HUGE, HUGE));
	ASSERT_EQ(0, mprotect((char *)window, LARGE_SIZE, PROT_READ | PROT_WRITE));
	((char *)window)[at + HUGE + 3] = 3;
	EXPECT_EQ(3, self->memory[HUGE + 3]);
}

/*
 * The hypervisor cannot write to memory that the program maps read-only, neither by a PMD
 * mapping nor by single pages.
 */
TEST_F_TIMEOUT(peer, huge_read_only, 60)
{
	const char *window;
	unsigned long at;

	NEEDS_THP();
	NEEDS_WINDOW();
	ASSERT_LE(0, large_begin(&window, false));
	ASSERT_TRUE(buffer_make(&self->buffer, HUGE_PFN, HUGE));
	self->memory = buffer_map(&self->buffer, self->buffer.fwd, PROT_READ);
	ASSERT_NE(NULL, self->memory);
	at = large_find(window, &self->buffer);
	ASSERT_NE(0, at);
	EXPECT_TRUE(memory_is(window + at, HUGE, 4711));
	EXPECT_EQ(window_huge_possible(), window_status("huge"));
	EXPECT_EQ(0, touch((char *)window + at, true));
	EXPECT_EQ(0, touch((char *)window + at + HUGE - 1, true));
	EXPECT_TRUE(memory_is(self->memory, HUGE, 4711));
	EXPECT_LE(2, window_status("failures"));
}

TEST_HARNESS_MAIN
