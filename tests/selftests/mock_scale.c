// SPDX-License-Identifier: GPL-2.0-only
/*
 * The host's work for one mapping does not grow with the number of mappings, nor that for one event
 * with the number of windows. The kernel's function_graph tracer says how often the module's
 * functions were called, and for how long. The host has to be in the same machine, as the module.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
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

/* Functions of the module that are called while traced. Return: the kernel can do it. */
static bool trace_begin(const char *functions)
{
	return !tool_run("cd " TRACING " && echo 0 >tracing_on && echo nop >current_tracer && "
			 "echo '%s' >set_ftrace_filter && echo function_graph >current_tracer && "
			 "echo >trace && echo 1 >tracing_on", functions)->status;
}

static void trace_end(void)
{
	tool_run("cd " TRACING " && echo 0 >tracing_on; echo nop >current_tracer; "
		 "echo >set_ftrace_filter; echo 1 >tracing_on");
}

/*
 * How long each call of the function took, microseconds. Before trace_end(), which forgets it.
 * Return: their number.
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

static int compare(const void *a, const void *b)
{
	const double *first = a, *second = b;

	return *first < *second ? -1 : *first > *second;
}

static double median(double *times, unsigned int nr)
{
	qsort(times, nr, sizeof(*times), compare);
	return times[nr / 2];
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
	if (!trace_begin("vgpu_page_expire"))
		SKIP(return, "needs the function_graph tracer");
	self->fd = open(getenv("VGPU_FWD"), O_RDWR | O_CLOEXEC);
	ASSERT_GE(self->fd, 0);
	trace_end();
}

FIXTURE_TEARDOWN(scale)
{
	if (self->fd < 0)
		return;
	trace_end();
	close(self->fd);
}

/* Mappings of one device file, each of other bytes. */
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
	first = median(self->times, SOME);
	last = median(self->times + nr - SOME, SOME);
	TH_LOG("one mapping among few: %.1f us, among %u: %.1f us", first, nr, last);
	EXPECT_GE(4 * first, last);
}

/* Wakeups that the guest is told of. No window has changed meanwhile. */
TEST_F_TIMEOUT(scale, poll_events, 60)
{
	struct vgpu_mock_poll arm = { .events = 0 };
	struct pollfd pfd = { .fd = self->fd, .events = POLLIN };
	unsigned int i;

	ASSERT_TRUE(trace_begin("vgpu_window_find vgpu_poll_announce"));
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
	/* Another program's mapping, or a window that comes or goes, is rare. */
	EXPECT_GE(5, trace_times("vgpu_window_find", self->times));
}

TEST_HARNESS_MAIN
