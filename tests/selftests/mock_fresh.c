// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program that is notified that the device is done reads the bytes that the device wrote,
 * whether poll, epoll, an eventfd or a call that returned notified it. Bytes that other threads
 * write to the same pages meanwhile are no obstacle.
 */
#include <linux/sync_file.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "keep.h"
#include "slow.h"
#include "vgpu_diff.h"

#define PAGE		4096UL
#define PAGES		4
/* The delay gives the program time to read bytes that the device overwrites. */
#define JOB_MS		200
#define PATIENCE_MS	15000
/* The device does not write to the program's own word. */
#define OWN		0
#define FIRST		8

struct buffer {
	int fd;
	__u32 id;
	unsigned char *memory;
};

static struct buffer make_buffer(__u32 flavour)
{
	struct vgpu_mock_buf_create create = { .size = PAGES * PAGE, .flavour = flavour };
	struct buffer buffer = { .fd = open_device(O_RDWR) };

	MUST(!ioctl(buffer.fd, VGPU_MOCK_IOC_BUF_CREATE, &create));
	buffer.id = create.out_id;
	buffer.memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, buffer.fd,
			     create.out_offset);
	MUST(buffer.memory != MAP_FAILED);
	return buffer;
}

/*
 * Returns true if the device's part of each page has the pattern; the first word is the
 * program's.
 */
static bool shows(const struct buffer *buffer, __u32 seed)
{
	unsigned char want[PAGE];
	unsigned int i;

	for (i = 0; i < PAGES; i++) {
		vgpu_mock_pattern(want, PAGE - FIRST, seed, i * PAGE + FIRST);
		if (memcmp(buffer->memory + i * PAGE + FIRST, want, PAGE - FIRST))
			return false;
	}
	return true;
}

static __u64 own(const struct buffer *buffer, unsigned int page)
{
	return *(volatile __u64 *)(buffer->memory + page * PAGE + OWN);
}

static void set_own(const struct buffer *buffer, unsigned int page, __u64 value)
{
	*(volatile __u64 *)(buffer->memory + page * PAGE + OWN) = value;
}

/* Has the device fill its part of a page. */
static void fill(const struct buffer *buffer, unsigned int page, __u32 seed)
{
	struct vgpu_mock_buf_range range = {
		.id = buffer->id, .seed = seed, .offset = page * PAGE + FIRST,
		.length = PAGE - FIRST,
	};

	MUST(!ioctl(buffer->fd, VGPU_MOCK_IOC_BUF_FILL, &range));
}

static void fill_all(const struct buffer *buffer, __u32 seed)
{
	unsigned int i;

	for (i = 0; i < PAGES; i++)
		fill(buffer, i, seed);
}

/*
 * Starts a job that fills all of the buffer, the program's words as well, after some time, and
 * notifies the program as @flags says.
 */
static int start_job(const struct buffer *buffer, __u32 seed, __u32 flags, int event)
{
	struct vgpu_mock_buf_job job = {
		.id = buffer->id, .seed = seed, .length = PAGES * PAGE, .delay_ms = JOB_MS,
		.flags = flags, .event = event, .out_fence = -1,
	};

	MUST(!ioctl(buffer->fd, VGPU_MOCK_IOC_BUF_JOB, &job));
	return job.out_fence;
}

/* Reads all pages. The guest keeps them until a call or an event makes it drop them. */
static void look(const struct buffer *buffer)
{
	unsigned int i;

	for (i = 0; i < PAGES; i++)
		own(buffer, i);
}

static void await(int fd, int timeout)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };

	MUST(poll(&pollfd, 1, timeout) == 1);
	CHECK(pollfd.revents == POLLIN);
}

DIFF_TEST(poll_fence)
{
	struct buffer buffer = make_buffer(VGPU_MOCK_BUF_PFN);
	__u32 seed;
	int fence;

	fill_all(&buffer, 1);
	for (seed = 2; seed < 5; seed++) {
		fence = start_job(&buffer, seed, VGPU_MOCK_JOB_FENCE, -1);
		look(&buffer);
		await(fence, PATIENCE_MS);
		CHECK(shows(&buffer, seed));
		close(fence);
	}
}

/* A message that the host has sent unasked answers a poll without a call. */
DIFF_TEST(poll_fence_known)
{
	struct buffer buffer = make_buffer(VGPU_MOCK_BUF_PFN);
	struct pollfd pollfd = { .events = POLLIN };
	long long trips;
	__u32 seed;

	fill_all(&buffer, 1);
	for (seed = 2; seed < 5; seed++) {
		pollfd.fd = start_job(&buffer, seed, VGPU_MOCK_JOB_FENCE, -1);
		look(&buffer);
		for (;;) {
			trips = forward_counter(buffer.fd, "round_trips");
			if (poll(&pollfd, 1, 0))
				break;
			sleep_ms(5);
		}
		/* The first fence is excepted: it makes the host watch the later ones. */
		if (seed > 2)
			CHECK(forward_counter(buffer.fd, "round_trips") == trips);
		CHECK(shows(&buffer, seed));
		close(pollfd.fd);
	}
}

/* A poll waits here until programs have done what they do with mapped memory, or are killed. */
#define AWAITS		"vgpu_guest:vgpu_space_await_faults"

/*
 * A task that is killed in poll may not have dropped what the guest has cached. The next task that
 * polls does.
 */
DIFF_TEST_LIMIT(poll_fence_killed, 60)
{
	struct buffer buffer = make_buffer(VGPU_MOCK_BUF_PFN);
	struct vgpu_mock_buf_job job = {
		.id = buffer.id, .seed = 3, .length = PAGES * PAGE, .delay_ms = 5 * JOB_MS,
		.flags = VGPU_MOCK_JOB_FENCE, .event = -1,
	};
	int fence;

	if (geteuid() || !keep_is_on() || !slow_can())
		diff_skip("needs root, the guest module, and kprobes");
	fill_all(&buffer, 1);
	/* This fence makes the host watch the next one. */
	fence = start_job(&buffer, 2, VGPU_MOCK_JOB_FENCE, -1);
	await(fence, PATIENCE_MS);
	close(fence);
	MUST(!ioctl(buffer.fd, VGPU_MOCK_IOC_BUF_JOB, &job));
	look(&buffer);
	sleep_ms(10 * JOB_MS);
	/* The first poll ends as that of a killed task does. */
	if (forwarded)
		MUST(slow_start_with(AWAITS, "go=1 error=4"));
	await(job.out_fence, PATIENCE_MS);
	if (forwarded) {
		CHECK(slow_waits());
		CHECK(slow_stop());
	}
	await(job.out_fence, PATIENCE_MS);
	CHECK(shows(&buffer, 3));
	close(job.out_fence);
}

static void wait_by_epoll(__u32 events)
{
	struct buffer buffer = make_buffer(VGPU_MOCK_BUF_PAGE);
	struct epoll_event event = { .events = events };
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	__u32 seed;
	int fence;

	fill_all(&buffer, 1);
	for (seed = 2; seed < 5; seed++) {
		fence = start_job(&buffer, seed, VGPU_MOCK_JOB_FENCE, -1);
		MUST(!epoll_ctl(epoll, EPOLL_CTL_ADD, fence, &event));
		look(&buffer);
		MUST(epoll_wait(epoll, &event, 1, PATIENCE_MS) == 1);
		CHECK(shows(&buffer, seed));
		event.events = events;
		close(fence);
	}
}

DIFF_TEST(epoll_fence)
{
	wait_by_epoll(EPOLLIN);
}

DIFF_TEST(epoll_fence_edge)
{
	wait_by_epoll(EPOLLIN | EPOLLET);
}

/* The status of a fence that the program asks for agrees with poll. */
DIFF_TEST(fence_status)
{
	struct buffer buffer = make_buffer(VGPU_MOCK_BUF_PFN);
	struct sync_file_info info = { };
	int fence;

	fill_all(&buffer, 1);
	fence = start_job(&buffer, 2, VGPU_MOCK_JOB_FENCE, -1);
	do {
		look(&buffer);
		info = (struct sync_file_info) { };
		MUST(!ioctl(fence, SYNC_IOC_FILE_INFO, &info));
	} while (!info.status);
	CHECK(info.status == 1);
	CHECK(shows(&buffer, 2));
}

static void wait_by_event(bool dirty)
{
	struct buffer buffer = make_buffer(VGPU_MOCK_BUF_PFN);
	int event = eventfd(0, EFD_CLOEXEC);
	__u32 seed;
	__u64 count;

	fill_all(&buffer, 1);
	for (seed = 2; seed < 5; seed++) {
		start_job(&buffer, seed, VGPU_MOCK_JOB_EVENT, event);
		look(&buffer);
		if (dirty)
			set_own(&buffer, 1, seed);
		await(event, PATIENCE_MS);
		MUST(read(event, &count, sizeof(count)) == sizeof(count));
		CHECK(count == 1);
		CHECK(shows(&buffer, seed));
	}
}

DIFF_TEST(eventfd_signal)
{
	wait_by_event(false);
}

/* The program has written to a page, and the device writes to the rest of that page. */
DIFF_TEST(eventfd_signal_dirty)
{
	wait_by_event(true);
}

/* Programs of ALSA read memory after poll, too, so devices are treated like fences. */
DIFF_TEST(poll_device)
{
	struct buffer buffer = make_buffer(VGPU_MOCK_BUF_PFN);
	struct vgpu_mock_poll arm = { };
	__u32 seed;

	fill_all(&buffer, 1);
	for (seed = 2; seed < 5; seed++) {
		arm = (struct vgpu_mock_poll) { };
		MUST(!ioctl(buffer.fd, VGPU_MOCK_IOC_POLL_ARM, &arm));
		start_job(&buffer, seed, 0, -1);
		arm = (struct vgpu_mock_poll) { .events = EPOLLIN, .delay_ms = 2 * JOB_MS };
		MUST(!ioctl(buffer.fd, VGPU_MOCK_IOC_POLL_ARM, &arm));
		look(&buffer);
		await(buffer.fd, PATIENCE_MS);
		/* The job and the event have separate timers, and the machine may be busy. */
		if (!shows(&buffer, seed)) {
			struct vgpu_mock_buf_range sum = { .id = buffer.id, .length = PAGES * PAGE };

			sleep_ms(JOB_MS);
			MUST(!ioctl(buffer.fd, VGPU_MOCK_IOC_BUF_SUM, &sum));
			CHECK(!shows(&buffer, seed));
		}
	}
}

/* --- a page that is never clean -------------------------------------------- */

struct writer {
	struct buffer *buffer;
	unsigned int page;
	volatile bool stop;
	volatile __u64 written;
};

static void *write_own(void *arg)
{
	struct writer *writer = arg;
	__u64 value = 0;

	while (!writer->stop) {
		set_own(writer->buffer, writer->page, ++value);
		writer->written = value;
	}
	return NULL;
}

static void beside_a_writer(__u32 flavour)
{
	struct buffer buffer = make_buffer(flavour);
	struct writer writer = { .buffer = &buffer };
	int i, stale = 0, times = diff_times(60);
	pthread_t thread;

	MUST(!pthread_create(&thread, NULL, write_own, &writer));
	for (i = 1; i <= times; i++) {
		unsigned char want[PAGE];
		__u64 before = writer.written;

		/* The writer has written to the page since the last call, so the page is dirty. */
		while (writer.written == before)
			sched_yield();
		fill(&buffer, 0, i);
		vgpu_mock_pattern(want, PAGE - FIRST, i, FIRST);
		stale += !!memcmp(buffer.memory + FIRST, want, PAGE - FIRST);
	}
	writer.stop = true;
	MUST(!pthread_join(thread, NULL));
	CHECK(!stale);
	if (stale)
		log_line("%d of %d were old", stale, times);
	/* The last word that the writer wrote is in the mapping and at the device. */
	CHECK(own(&buffer, 0) == writer.written);
	{
		__u64 word = writer.written, sum = VGPU_MOCK_SUM_INIT;
		struct vgpu_mock_buf_range range = { .id = buffer.id, .length = sizeof(word) };

		MUST(!ioctl(buffer.fd, VGPU_MOCK_IOC_BUF_SUM, &range));
		CHECK(range.out_sum == vgpu_mock_sum(sum, &word, sizeof(word)));
	}
}

DIFF_TEST_LIMIT(beside_a_writer_pfn, 120)
{
	beside_a_writer(VGPU_MOCK_BUF_PFN);
}

DIFF_TEST_LIMIT(beside_a_writer_page, 120)
{
	beside_a_writer(VGPU_MOCK_BUF_PAGE);
}

/* --- a page that is written to while a call ends ---------------------------- */

/* A call that is stopped here has sent the dirty bytes, and has not dropped any page yet. */
#define FORGETS		"vgpu_guest:vgpu_space_drop_range"

static void *fill_first(void *buffer)
{
	fill(buffer, 0, 2);
	return NULL;
}

static bool await_stop(void)
{
	__u64 end = now_ms() + PATIENCE_MS;

	while (!slow_waits() && now_ms() < end)
		sleep_ms(5);
	return slow_waits();
}

/*
 * The writers above seldom write at that moment if processors are shared. Here the call is
 * stopped at that moment until the store is made.
 */
static void stored_as_a_call_ends(__u32 flavour)
{
	struct buffer buffer = make_buffer(flavour);
	unsigned char want[PAGE];
	pthread_t thread;

	if (geteuid() || !keep_is_on() || !slow_can())
		diff_skip("needs root, the guest module, and kprobes");
	fill(&buffer, 0, 1);
	look(&buffer);
	if (forwarded)
		MUST(slow_start(FORGETS));
	MUST(!pthread_create(&thread, NULL, fill_first, &buffer));
	if (forwarded)
		CHECK(await_stop());
	set_own(&buffer, 0, 7);
	if (forwarded)
		CHECK(tool_write(SLOW_GO, "1"));
	MUST(!pthread_join(thread, NULL));
	if (forwarded)
		CHECK(slow_stop());
	vgpu_mock_pattern(want, PAGE - FIRST, 2, FIRST);
	CHECK(!memcmp(buffer.memory + FIRST, want, PAGE - FIRST));
	CHECK(own(&buffer, 0) == 7);
}

DIFF_TEST_LIMIT(stored_as_a_call_ends_pfn, 120)
{
	stored_as_a_call_ends(VGPU_MOCK_BUF_PFN);
}

DIFF_TEST_LIMIT(stored_as_a_call_ends_page, 120)
{
	stored_as_a_call_ends(VGPU_MOCK_BUF_PAGE);
}

KEEP_MAIN
