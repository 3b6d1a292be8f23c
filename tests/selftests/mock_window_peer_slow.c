// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test what a hypervisor sees of memory whose driver is slow: it waits for that memory only, as
 * long as workers are left, and for no other.
 */
#include <pthread.h>
#include <sys/wait.h>

#include "window_peer.h"

/* A hypervisor's fault ends after two seconds, however long the driver takes. */
TEST_F_TIMEOUT(peer, slow_driver, 60)
{
	unsigned long at;
	uint64_t start;
	int i, n;

	BEGIN(VGPU_MOCK_BUF_PFN, 4 * PAGE);
	at = find(self->window, &self->buffer);
	ASSERT_NE(0, at);
	self->memory[2 * PAGE] = 22;
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_SLOW, 0, 8000));
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_INVALIDATE, 0, 0));
	start = tool_now_ms();
	EXPECT_EQ(0, self->window[at + 2 * PAGE]);
	EXPECT_LE(1000, tool_now_ms() - start);
	EXPECT_GT(7500, tool_now_ms() - start);
	EXPECT_EQ(1, window_status("timeouts"));
	EXPECT_EQ(1, window_status("failures"));
	/* Later accesses find the window's own page at once. */
	start = tool_now_ms();
	EXPECT_EQ(0, self->window[at + 2 * PAGE]);
	EXPECT_GT(1900, tool_now_ms() - start);
	/* The page is shown again when the driver is quick and the guest has asked for the page. */
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_SLOW, 0, 0));
	for (i = 0; i < 100 && touch(self->memory + 2 * PAGE, false); i++)
		usleep(100000);
	EXPECT_EQ(22, self->memory[2 * PAGE]);
	for (i = 0; i < 100 && !self->window[at + 2 * PAGE]; i++)
		usleep(100000);
	EXPECT_EQ(22, self->window[at + 2 * PAGE]);

	/*
	 * A page that can be read but fails again within ten seconds makes the mapping a copy. A
	 * slow machine may need another round.
	 */
	for (n = 0; n < 3 && !window_counter(self->buffer.fwd, "copy_mappings"); n++) {
		ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_SLOW, 0, 3000));
		ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_INVALIDATE, 0, 0));
		EXPECT_EQ(0, self->window[at + 2 * PAGE]);
		ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_SLOW, 0, 0));
		sleep(2);
		for (i = 0; i < 50 && !window_counter(self->buffer.fwd, "copy_mappings"); i++) {
			EXPECT_EQ(22, self->memory[2 * PAGE]);
			usleep(100000);
		}
	}
	EXPECT_EQ(22, self->memory[2 * PAGE]);
	EXPECT_EQ(1, window_counter(self->buffer.fwd, "copy_mappings"));
	EXPECT_TRUE(window_await("bindings", 0));
}

/* A processor of the hypervisor that waits for the slow driver. */
struct stuck {
	const volatile char *at;
	uint64_t ms;
	volatile bool over;
};

static void *stuck(void *data)
{
	struct stuck *stuck = data;
	uint64_t start = tool_now_ms();

	(void)*stuck->at;
	stuck->ms = tool_now_ms() - start;
	stuck->over = true;
	return NULL;
}

/* Maps the window once more, reads a byte at @at, and unmaps it. Return: the byte; -1: error. */
static int look(int fd, unsigned long at)
{
	char *window = window_map(fd);
	int seen;

	if (!window)
		return -1;
	seen = (unsigned char)*(volatile char *)(window + at);
	munmap(window, WINDOW_SIZE);
	return seen;
}

/*
 * A processor of a hypervisor waits for a driver. Other processors do not wait: the fault holds
 * neither the mmap lock, which each mmap() and munmap() takes, nor anything that faults of other
 * pages need.
 */
TEST_F_TIMEOUT(peer, slow_driver_stops_nobody, 60)
{
	uint64_t start, took, longest = 0;
	unsigned long at, other_at, before;
	int rounds = 0, page;
	struct stuck stuck_at;
	struct buffer other;
	pthread_t thread;

	BEGIN(VGPU_MOCK_BUF_PFN, 4 * PAGE);
	at = find(self->window, &self->buffer);
	ASSERT_NE(0, at);
	/* The other buffer must not be mistaken for this one, so this one gets another pattern. */
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_FILL, 5, 0));
	ASSERT_TRUE(buffer_make(&other, VGPU_MOCK_BUF_PFN, 4 * PAGE));
	ASSERT_NE(NULL, buffer_map(&other, other.fwd, PROT_READ | PROT_WRITE));
	other_at = find(self->window, &other);
	ASSERT_NE(0, other_at);
	ASSERT_NE(at, other_at);
	self->window[other_at] = 44;
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_SLOW, 0, 8000));
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_INVALIDATE, 0, 0));
	/*
	 * A fault waits for two seconds, so an access that waits for the fault takes nearly as
	 * long, at each page. A slow machine may not run this program for a while at one page.
	 */
	for (page = 0; page < 4 && (rounds < 20 || longest >= 1000); page++) {
		longest = 0;
		before = buffer_faults(&self->buffer);
		stuck_at = (struct stuck){ .at = self->window + at + page * PAGE };
		ASSERT_EQ(0, pthread_create(&thread, NULL, stuck, &stuck_at));
		EXPECT_TRUE(buffer_await_fault(&self->buffer, before));
		/* The last page of the window is not bound. */
		for (rounds = 0; rounds < 20 && !stuck_at.over; rounds++) {
			start = tool_now_ms();
			EXPECT_EQ(0, look(self->fd, WINDOW_SIZE - PAGE));
			EXPECT_EQ(44, look(self->fd, other_at));
			took = tool_now_ms() - start;
			longest = took > longest ? took : longest;
		}
		pthread_join(thread, NULL);
		EXPECT_LE(1000, stuck_at.ms);
		EXPECT_GT(7500, stuck_at.ms);
	}
	EXPECT_EQ(20, rounds);
	EXPECT_GT(1000, longest);
	EXPECT_EQ(page, window_status("timeouts"));
	TH_LOG("%d rounds of at most %llu ms while a page took %llu ms", rounds,
	       (unsigned long long)longest, (unsigned long long)stuck_at.ms);
	buffer_end(&other);
}

#define WORKERS	64	/* number of workers of a window that may be stuck in drivers */

/*
 * A stuck driver occupies all workers of the window. A page that is in the shadow's page tables
 * needs no worker, and is found nevertheless.
 */
TEST_F_TIMEOUT(peer, found_without_a_worker, 120)
{
	struct stuck stuck_at[WORKERS];
	pthread_t threads[WORKERS];
	unsigned long at, other_at;
	struct buffer other;
	int i;

	BEGIN(VGPU_MOCK_BUF_PFN, WORKERS * PAGE);
	at = find(self->window, &self->buffer);
	ASSERT_NE(0, at);
	/* The other buffer must not be mistaken for this one, so this one gets another pattern. */
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_FILL, 5, 0));
	ASSERT_TRUE(buffer_make(&other, VGPU_MOCK_BUF_PFN, 4 * PAGE));
	ASSERT_NE(NULL, buffer_map(&other, other.fwd, PROT_READ | PROT_WRITE));
	other_at = find(self->window, &other);
	ASSERT_NE(0, other_at);
	self->window[other_at] = 44;
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_SLOW, 0, 60000));
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_INVALIDATE, 0, 0));
	for (i = 0; i < WORKERS; i++) {
		stuck_at[i] = (struct stuck){ .at = self->window + at + i * PAGE };
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, stuck, &stuck_at[i]));
	}
	for (i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	EXPECT_EQ(WORKERS, window_status("timeouts"));
	EXPECT_EQ(44, look(self->fd, other_at));
	EXPECT_EQ(WORKERS, window_status("failures"));
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_SLOW, 0, 0));
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_SLOW, VGPU_MOCK_SLOW_END, 0));
	buffer_end(&other);
}

/* A driver that is too slow now and then does not keep a mapping out of the window for good. */
TEST_F_TIMEOUT(peer, slow_now_and_then, 60)
{
	unsigned long at;
	int i;

	BEGIN(VGPU_MOCK_BUF_PFN, 4 * PAGE);
	at = find(self->window, &self->buffer);
	ASSERT_NE(0, at);
	self->memory[PAGE] = 11;
	for (i = 0; i < 2; i++) {
		sleep(11 * i);
		ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_SLOW, 0, 3000));
		ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_INVALIDATE, 0, 0));
		EXPECT_EQ(0, self->window[at + PAGE]);
		ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_SLOW, 0, 0));
		sleep(2);
		EXPECT_EQ(11, self->memory[PAGE]);
	}
	for (i = 0; i < 100 && self->window[at + PAGE] != 11; i++)
		usleep(100000);
	EXPECT_EQ(11, self->window[at + PAGE]);
	EXPECT_EQ(1, window_counter(self->buffer.fwd, "window_mappings"));
}

/*
 * Writes to a page of a slow driver. Many threads do so at the same time, and each gets its
 * page.
 */
static void *toucher(void *data)
{
	*(volatile char *)data = 1;
	return NULL;
}

TEST_F_TIMEOUT(peer, many_in_a_slow_driver, 60)
{
	pthread_t threads[100];
	int i;

	BEGIN(VGPU_MOCK_BUF_MIXED, 100 * PAGE);
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_SLOW, 0, 10));
	for (i = 0; i < 100; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, toucher, self->memory + i * PAGE));
	for (i = 0; i < 100; i++)
		pthread_join(threads[i], NULL);
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_SLOW, 0, 0));
	for (i = 0; i < 100; i++)
		EXPECT_EQ(1, self->memory[i * PAGE]);
}

TEST_HARNESS_MAIN
