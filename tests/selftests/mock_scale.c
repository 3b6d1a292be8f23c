// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test that the host's work does not grow
 *
 * - for a mapping, with the number of mappings;
 * - for an event, with the number of windows;
 * - for a call that fails, with the number of events that drivers have yet to signal;
 * - for any call, with the number of pages that another call has used.
 *
 * The kernel's function_graph tracer says how often functions of the module were called, and how
 * long they took. The host has to be in the same machine and has to be the module.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tool.h"
#include "vgpu_mock.h"

#include "kselftest_harness.h"

#define TRACING		"/sys/kernel/tracing/"
#define TIMES_MAX	4096
#define MAPS		2500
#define SOME		100
/* The number is below the limit of one process's pages at the host. */
#define PAGES		4000
#define EVENTS		4096
/* Events last no longer than this, and the last one is asked for within half of the time. */
#define EVENTS_MS_MAX	60000
/* EVENT_DROP of the host: number of events that it removes in a row with interrupts off. */
#define EVENTS_AT_ONCE	64

/* Traces these functions of the module. Return: true if the kernel can trace them. */
static bool trace_begin(const char *functions)
{
	return !tool_run("cd " TRACING " && echo 0 >tracing_on && echo nop >current_tracer && "
			 "echo '%s' >set_ftrace_filter && echo function_graph >current_tracer && "
			 "echo >trace && echo 1 >tracing_on", functions)->status;
}

static void trace_end(void)
{
	tool_run("cd " TRACING " && echo 0 >tracing_on; echo nop >current_tracer; "
		 "echo >set_ftrace_filter; echo >set_graph_function; echo 1 >tracing_on");
}

/*
 * Gets the durations of the calls of a function in microseconds. trace_end() forgets them.
 * Return: number of calls.
 */
static unsigned int trace_times(const char *function, double times[TIMES_MAX])
{
	FILE *file = fopen(TRACING "trace", "r");
	unsigned int nr = 0;
	char line[512];
	char *unit, *at;

	while (file && nr < TIMES_MAX && fgets(line, sizeof(line), file)) {
		unit = strstr(line, " us ");
		if (!unit || !strstr(unit, function))
			continue;
		*unit = '\0';
		at = unit;
		while (at > line && at[-1] != ' ')
			at--;
		times[nr++] = atof(at);
	}
	if (file)
		fclose(file);
	return nr;
}

/*
 * Returns the duration of the quickest call. Slower calls were interrupted, or missed processor
 * caches.
 */
static double least(const double *times, unsigned int nr)
{
	double found = times[0];
	unsigned int i;

	for (i = 1; i < nr; i++)
		if (times[i] < found)
			found = times[i];
	return found;
}

FIXTURE(scale) {
	int fd;
	double times[TIMES_MAX];
};

FIXTURE_SETUP(scale)
{
	self->fd = -1;
	if (!tool_has_host() || tool_user_engine() || geteuid() || !getenv("VGPU_FWD"))
		SKIP(return, "needs the host module in the same machine, and root");
	if (!trace_begin("vgpuh_page_expire"))
		SKIP(return, "needs the function_graph tracer");
	self->fd = open(getenv("VGPU_FWD"), O_RDWR | O_CLOEXEC);
	ASSERT_GE(self->fd, 0);
	trace_end();
}

FIXTURE_TEARDOWN(scale)
{
	trace_end();
	if (self->fd >= 0)
		close(self->fd);
}

/* Each mapping of the device file has other bytes. */
TEST_F_TIMEOUT(scale, mappings, 200)
{
	struct vgpu_mock_buf_create create = { .size = MAPS * 4096UL };
	double first, last;
	unsigned int i, nr;

	ASSERT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_BUF_CREATE, &create));
	ASSERT_TRUE(trace_begin("vgpu_extent_add"));
	for (i = 0; i < MAPS; i++)
		ASSERT_NE(MAP_FAILED, mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd,
					   create.out_offset + i * 4096UL));
	nr = trace_times("vgpu_extent_add", self->times);
	ASSERT_LE(MAPS, nr);
	first = least(self->times, SOME);
	last = least(self->times + nr - SOME, SOME);
	TH_LOG("one mapping among few: %.1f us, among %u: %.1f us", first, nr, last);
	EXPECT_GE(4 * first, last);
}

/* --- pages of other calls -------------------------------------------------------- */

struct sleeper {
	pthread_t thread;
	int fd;
};

static void on_signal(int signal)
{
}

static void *sleep_in_driver(void *data)
{
	struct vgpu_mock_sleep sleep = { .ms = 60000, .mode = VGPU_MOCK_SLEEP_INTERRUPTIBLE };
	struct sleeper *sleeper = data;

	ioctl(sleeper->fd, VGPU_MOCK_IOC_SLEEP, &sleep);
	return NULL;
}

static uint64_t sleeps(int fd)
{
	static struct vgpu_mock_counters counters;

	return ioctl(fd, VGPU_MOCK_IOC_COUNTERS, &counters) ? 0 :
		counters.out_calls[_IOC_NR(VGPU_MOCK_IOC_SLEEP)];
}

/*
 * Gets the durations of the ends of SOME calls that do nothing, in order. Return: false if they
 * were not traced.
 */
static bool calls_end(int fd, double times[TIMES_MAX])
{
	unsigned int i, nr;

	if (!trace_begin("vgpuh_page_expire"))
		return false;
	for (i = 0; i < SOME; i++)
		ioctl(fd, VGPU_MOCK_IOC_NOOP, 0);
	nr = trace_times("vgpuh_page_expire", times);
	trace_end();
	return nr >= SOME;
}

/*
 * A call goes on while another call of the process leaves many pages behind. The pages are too
 * old for all calls when the next call starts, and are freed when that call ends. Later calls
 * have no pages to look at.
 */
TEST_F_TIMEOUT(scale, calls_beside_pages, 120)
{
	struct vgpu_mock_large large = { .length = PAGES * 4096UL };
	const struct sigaction action = { .sa_handler = on_signal };
	struct sleeper sleeper = { .fd = self->fd };
	uint64_t before = sleeps(self->fd), end = tool_now_ms() + 20000;
	double few, many, first;
	void *memory;

	memory = mmap(NULL, large.length, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	ASSERT_NE(MAP_FAILED, memory);
	large.ptr = (uintptr_t)memory;
	ASSERT_TRUE(calls_end(self->fd, self->times));
	few = least(self->times, SOME);
	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	ASSERT_EQ(0, pthread_create(&sleeper.thread, NULL, sleep_in_driver, &sleeper));
	while (sleeps(self->fd) == before && tool_now_ms() < end)
		usleep(10000);
	ASSERT_EQ(0, ioctl(self->fd, VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_LARGE_IN), &large));
	ASSERT_TRUE(calls_end(self->fd, self->times));
	first = self->times[0];
	many = least(self->times, SOME);
	TH_LOG("the end of a call: %.1f us; behind one that left %u pages: %.1f us, later: %.1f us",
	       few, PAGES, first, many);
	EXPECT_LT(4 * few, first);
	EXPECT_GE(4 * few, many);
	ASSERT_EQ(0, pthread_kill(sleeper.thread, SIGUSR1));
	ASSERT_EQ(0, pthread_join(sleeper.thread, NULL));
	munmap(memory, large.length);
}

/*
 * Program memory that a driver may reach is unmapped before the next call, which flushes the
 * processors' TLBs. The number of flushes is that of the calls that mapped pages: a call that
 * leaves none causes no flush.
 */
TEST_F_TIMEOUT(scale, flushes, 120)
{
	static unsigned char memory[16 * 4096];
	struct vgpu_mock_large large = { .length = sizeof(memory), .ptr = (uintptr_t)memory };
	unsigned int i, nr;

	memset(memory, 1, sizeof(memory));
	/* The kernel's function is traced where the module calls it for pages of programs. */
	ASSERT_EQ(0, tool_run("echo vgpu_demand_begin vgpuh_page_expire >" TRACING
			      "set_graph_function")->status);
	ASSERT_TRUE(trace_begin("vgpu_demand_begin vgpuh_page_expire unmap_mapping_range"));
	ASSERT_EQ(0, ioctl(self->fd, VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_LARGE_IN), &large));
	for (i = 0; i < SOME; i++)
		ASSERT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_NOOP, 0));
	EXPECT_LE(SOME, trace_times("vgpuh_page_expire", self->times));
	nr = trace_times("unmap_mapping_range", self->times);
	TH_LOG("%u times unmapped for %u calls", nr, 1 + SOME);
	EXPECT_LE(1, nr);
	EXPECT_GE(2, nr);
}

/* The guest is notified of wakeups, and no window has changed meanwhile. */
TEST_F_TIMEOUT(scale, poll_events, 60)
{
	struct vgpu_mock_poll arm = { .events = 0 };
	struct pollfd pfd = { .fd = self->fd, .events = POLLIN };
	unsigned int i;

	ASSERT_TRUE(trace_begin("vgpuh_window_find vgpu_poll_announce"));
	for (i = 0; i < SOME; i++) {
		arm.events = 0;
		arm.delay_ms = 0;
		ASSERT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_POLL_ARM, &arm));
		arm.events = POLLIN;
		arm.delay_ms = 20;
		ASSERT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_POLL_ARM, &arm));
		ASSERT_EQ(1, poll(&pfd, 1, 20000));
	}
	EXPECT_LE(SOME / 4, trace_times("vgpu_poll_announce", self->times));
	/* Another program's mapping and a window that comes or goes are rare. */
	EXPECT_GE(5, trace_times("vgpuh_window_find", self->times));
}

/*
 * Starts a job of the mock that signals the eventfd when it is done. Return: true if it has
 * begun.
 */
static bool job_begin(int fd, unsigned int buf, int event, unsigned int delay_ms, bool wrong)
{
	struct vgpu_mock_buf_job job = {
		.id = buf, .offset = wrong, .length = 8, .delay_ms = delay_ms,
		.flags = VGPU_MOCK_JOB_EVENT, .event = event,
	};

	return !ioctl(fd, VGPU_MOCK_IOC_BUF_JOB, &job);
}

/*
 * Measures how long the host takes to forget the event of a failed call. Return: microseconds of
 * the quickest call; 0: none was traced.
 */
static double forget_time(int fd, unsigned int buf, int event, double times[TIMES_MAX])
{
	unsigned int i, nr;

	if (!trace_begin("vgpuh_event_cancel"))
		return 0;
	for (i = 0; i < SOME; i++)
		if (job_begin(fd, buf, event, 0, true))
			return 0;
	nr = trace_times("vgpuh_event_cancel", times);
	trace_end();
	return nr < SOME ? 0 : least(times, nr);
}

static int mock_references(void)
{
	char line[32];

	tool_read_line("/sys/module/vgpu_mock/refcnt", line, sizeof(line));
	return atoi(line);
}

/*
 * Calls fail on a file on which a driver has yet to signal many eventfds, and the file is closed
 * then.
 */
TEST_F_TIMEOUT(scale, events, 300)
{
	struct vgpu_mock_buf_create create = { .size = 4096 };
	int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), references;
	unsigned int nr, delay_ms, turns = 0;
	uint64_t start, fired = 0;
	double few, many;

	ASSERT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_BUF_CREATE, &create));
	references = mock_references();
	few = forget_time(self->fd, create.out_id, event, self->times);
	ASSERT_LT(0, few);
	start = tool_now_ms();
	for (nr = 0; nr < SOME; nr++)
		ASSERT_FALSE(job_begin(self->fd, create.out_id, event, 0, true));
	/* All events are still there at the end, if the machine does not get slower. */
	delay_ms = 4 * (tool_now_ms() - start) * EVENTS / SOME;
	delay_ms = delay_ms < EVENTS_MS_MAX ? delay_ms : EVENTS_MS_MAX;
	start = tool_now_ms();
	for (nr = 0; nr < EVENTS && tool_now_ms() < start + delay_ms / 2; nr++)
		ASSERT_TRUE(job_begin(self->fd, create.out_id, event, delay_ms, false));
	many = forget_time(self->fd, create.out_id, event, self->times);
	TH_LOG("one event among few: %.1f us, among %u: %.1f us", few, nr, many);
	EXPECT_LT(0, many);
	EXPECT_GE(4 * few, many);

	/* All events are removed with their file, and interrupts are on in between. */
	ASSERT_TRUE(tool_write(TRACING "set_graph_function", "vgpuh_event_drop_all"));
	ASSERT_TRUE(trace_begin("vgpuh_event_drop_all _raw_spin_lock_irq"));
	close(self->fd);
	self->fd = -1;
	if (read(event, &fired, sizeof(fired)) == sizeof(fired))
		nr -= fired;
	close(event);
	start = tool_now_ms();
	do {
		turns = trace_times("_raw_spin_lock_irq", self->times);
		usleep(20000);
	} while (turns < nr / EVENTS_AT_ONCE && tool_now_ms() < start + EVENTS_MS_MAX);
	trace_end();
	TH_LOG("%u events are gone in %u turns", nr, turns);
	EXPECT_LE(nr / EVENTS_AT_ONCE, turns);
	/* The mock cannot be unloaded before all jobs are done. */
	start = tool_now_ms();
	while (mock_references() >= references && tool_now_ms() < start + 2 * EVENTS_MS_MAX)
		usleep(50000);
	EXPECT_GT(references, mock_references());
}

TEST_HARNESS_MAIN
