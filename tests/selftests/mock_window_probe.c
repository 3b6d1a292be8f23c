// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test what a mapping does before the window shows it: the host probes the driver's memory, and
 * memory that the window cannot show is copied. Drivers are slow, stuck or gone meanwhile.
 */
#include <sys/prctl.h>
#include <sys/wait.h>

#include "window_program.h"

/*
 * The host cannot find these pages (special PTEs), so the mapping goes by copy from the
 * beginning.
 */
TEST_F(window, copied)
{
	struct buffer *buffer = &self->buffer;
	char *memory;
	int i;

	NEEDS_WINDOW();
	ASSERT_TRUE(buffer_make(buffer, VGPU_MOCK_BUF_RAW, 32 * PAGE));
	memory = buffer_map(buffer, buffer->fwd, PROT_READ | PROT_WRITE);
	ASSERT_NE(NULL, memory);
	EXPECT_EQ(0, window_counter(buffer->fwd, "window_mappings"));
	EXPECT_EQ(1, window_counter(buffer->fwd, "copy_mappings"));
	EXPECT_TRUE(window_await("bindings", 0));
	for (i = 1; i <= 3; i++) {
		vgpu_mock_pattern(memory, 32 * PAGE, i, 0);
		ASSERT_EQ(0, buffer_settle(buffer));
		EXPECT_EQ(memory_sum(memory, 32 * PAGE), buffer_sum(buffer));
		memory[i * PAGE] = i;
		ASSERT_EQ(0, buffer_settle(buffer));
		EXPECT_EQ(memory_sum(memory, 32 * PAGE), buffer_sum(buffer));
	}
	munmap(memory, 32 * PAGE);
	buffer_end(buffer);
	EXPECT_EQ(0, window_status("failures"));
}

/* Makes a buffer whose offset in the device file is higher than that of @before. */
static bool buffer_make_behind(struct buffer *buffer, __u32 flavour, size_t size,
			       const struct buffer *before)
{
	/*
	 * A buffer with a lower offset is left as it is, so that the next one gets a higher
	 * offset.
	 */
	do {
		if (!buffer_make(buffer, flavour, size))
			return false;
	} while (buffer->offset < before->offset);
	return true;
}

/*
 * The next three functions use a copy mapping in one way each. A call then zaps the copies'
 * PTEs.
 */
static void copies_read(const struct buffer *buffer, char *memory)
{
	(void)*(volatile char *)memory;
}

static void copies_written(const struct buffer *buffer, char *memory)
{
	memory[0]++;
}

static void copies_unmapped(const struct buffer *buffer, char *memory)
{
	memory[PAGE]++;
	munmap(memory, 2 * PAGE);
	/* A new mapping takes the place, so that the next round has something to unmap. */
	mmap(memory, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, buffer->fwd,
	     buffer->offset);
}

#define BETWEEN_TIMES	10

/*
 * PTEs of copy mappings are zapped by a call and by munmap(). A mapping in the window keeps its
 * PTEs, although its offset in the device file lies between those of the copies.
 */
TEST_F(window, between_copies)
{
	static void (*const uses[])(const struct buffer *, char *) = {
		copies_read, copies_written, copies_unmapped,
	};
	struct buffer copies[2];
	unsigned int i, faulted;
	char *memory[2];
	int n;

	NEEDS_WINDOW();
	ASSERT_TRUE(buffer_make(&copies[0], VGPU_MOCK_BUF_RAW, 4 * PAGE));
	ASSERT_TRUE(buffer_make_behind(&self->buffer, VGPU_MOCK_BUF_PFN, 8 * PAGE, &copies[0]));
	ASSERT_TRUE(buffer_make_behind(&copies[1], VGPU_MOCK_BUF_RAW, 4 * PAGE, &self->buffer));
	for (i = 0; i < 2; i++) {
		memory[i] = buffer_map(&copies[i], copies[i].fwd, PROT_READ | PROT_WRITE);
		ASSERT_NE(NULL, memory[i]);
	}
	self->memory = buffer_map(&self->buffer, self->buffer.fwd, PROT_READ | PROT_WRITE);
	ASSERT_NE(NULL, self->memory);
	ASSERT_EQ(1, window_counter(self->buffer.fwd, "window_mappings"));
	ASSERT_EQ(2, window_counter(self->buffer.fwd, "copy_mappings"));
	EXPECT_LE(1, looked_faults(self->memory, 8 * PAGE));
	for (i = 0; i < ARRAY_SIZE(uses); i++) {
		faulted = 0;
		for (n = 0; n < BETWEEN_TIMES; n++) {
			uses[i](&copies[0], memory[0]);
			uses[i](&copies[1], memory[1]);
			ASSERT_EQ(0, buffer_settle(&copies[0]));
			faulted += !!looked_faults(self->memory, 8 * PAGE);
			EXPECT_LE(1, looked_faults(memory[0], PAGE)) TH_LOG("use %u", i);
		}
		/* A single round may have a fault for another reason. */
		EXPECT_GE(1, faulted) TH_LOG("use %u", i);
	}
}

/*
 * A mapping that the window cannot map stays a copy when a window is created later. A mapping
 * that the window can map moves into it.
 */
TEST_F_TIMEOUT(window, copied_when_moved, 60)
{
	struct buffer other;
	long long calls;
	char *memory;

	NEEDS_WINDOW();
	window_end();
	ASSERT_TRUE(buffer_make(&self->buffer, VGPU_MOCK_BUF_RAW, 4 * PAGE));
	ASSERT_NE(NULL, buffer_map(&self->buffer, self->buffer.fwd, PROT_READ | PROT_WRITE));
	ASSERT_TRUE(buffer_make(&other, VGPU_MOCK_BUF_WC, 4 * PAGE));
	memory = buffer_map(&other, other.fwd, PROT_READ | PROT_WRITE);
	ASSERT_NE(NULL, memory);
	EXPECT_EQ(2, window_counter(other.fwd, "copy_mappings"));
	strcpy(memory, "before");
	ASSERT_EQ(0, tool_run("vgpuctl window create --to 1 --size 1M")->status);
	EXPECT_TRUE(await_mappings(&other, 1));
	EXPECT_EQ(1, window_counter(other.fwd, "copy_mappings"));
	/* The mapping that stays a copy was bound only for the time of its probe. */
	EXPECT_TRUE(window_await("bindings", 1));
	EXPECT_STREQ("before", memory);
	/* The guest does not ask again for the mapping that stays a copy. */
	usleep(200000);
	calls = window_counter(other.fwd, "calls");
	ASSERT_EQ(0, tool_run("vgpuctl window fill --to 1")->status);
	sleep(4);
	EXPECT_EQ(calls, window_counter(other.fwd, "calls"));
	buffer_end(&other);
}

/* The probe asks the driver for a page for reading, so the driver is not notified of a write. */
TEST_F(window, probe_writes_nothing)
{
	struct vgpu_mock_buf_info info;

	BEGIN(VGPU_MOCK_BUF_PFN | VGPU_MOCK_BUF_NOTIFY, 64 * PAGE);
	info = (struct vgpu_mock_buf_info){ .id = self->buffer.id };
	ASSERT_EQ(0, ioctl(self->buffer.real, VGPU_MOCK_IOC_BUF_INFO, &info));
	EXPECT_EQ(0, info.out_notified);
	EXPECT_EQ(1, info.out_pages);
}

/*
 * A driver that needs 5 s for the first page neither delays the program for all of that time nor
 * keeps its mapping out of the window.
 */
TEST_F_TIMEOUT(window, probe_of_a_slow_driver, 60)
{
	uint64_t start;

	NEEDS_WINDOW();
	ASSERT_TRUE(buffer_make(&self->buffer, VGPU_MOCK_BUF_PFN, 4 * PAGE));
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_SLOW, 0, 5000));
	start = tool_now_ms();
	self->memory = buffer_map(&self->buffer, self->buffer.fwd, PROT_READ | PROT_WRITE);
	ASSERT_NE(NULL, self->memory);
	EXPECT_GT(4500, tool_now_ms() - start);
	EXPECT_EQ(1, window_counter(self->buffer.fwd, "window_mappings"));
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_SLOW, 0, 0));
	EXPECT_EQ(0, touch(self->memory, true));
}

/*
 * A driver that refuses the first page to the probe does not keep the mapping out of the window,
 * as the driver may give the page when the program accesses it.
 */
TEST_F(window, probe_gets_nothing)
{
	static const __u32 flavours[] = { VGPU_MOCK_BUF_PFN, VGPU_MOCK_BUF_PAGE };
	unsigned int i;

	NEEDS_WINDOW();
	for (i = 0; i < ARRAY_SIZE(flavours); i++) {
		ASSERT_TRUE(buffer_make(&self->buffer, flavours[i], 4 * PAGE));
		ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_SLOW,
				       VGPU_MOCK_SLOW_ERROR, 0));
		self->memory = buffer_map(&self->buffer, self->buffer.fwd, PROT_READ | PROT_WRITE);
		ASSERT_NE(NULL, self->memory);
		EXPECT_EQ(i + 1, window_counter(self->buffer.fwd, "window_mappings"));
		EXPECT_EQ(0, touch(self->memory, true));
	}
	EXPECT_EQ(0, window_counter(self->buffer.fwd, "copy_mappings"));
}

#define STUCK		12	/* number of programs */
#define STUCK_MS	15000	/* time for which their drivers are stuck */
#define STUCK_PROBES	8	/* number of probes of a window at a time */

/* Runs a program whose driver is stuck. Exits with 1 if the driver was asked for a page. */
static void stuck_program(void)
{
	uint64_t end = tool_now_ms() + 60000;
	struct vgpu_mock_buf_info info;
	struct buffer buffer;

	/* A busy machine may have no time for so many sessions at once. */
	while (!buffer_make(&buffer, VGPU_MOCK_BUF_PFN, PAGE))
		if (tool_now_ms() > end)
			_exit(2);
	if (buffer_do(&buffer, VGPU_MOCK_IOC_BUF_SLOW, VGPU_MOCK_SLOW_UNLOCKED, STUCK_MS))
		_exit(2);
	info = (struct vgpu_mock_buf_info){ .id = buffer.id };
	if (!buffer_map(&buffer, buffer.fwd, PROT_READ | PROT_WRITE) ||
	    ioctl(buffer.real, VGPU_MOCK_IOC_BUF_INFO, &info))
		_exit(3);
	_exit(!!info.out_faults);
}

/*
 * A stuck driver delays its program only at the first mapping. The stuck drivers of many
 * programs occupy at most STUCK_PROBES probes, and programs with other drivers are not delayed
 * for long.
 */
TEST_F_TIMEOUT(window, probe_of_a_stuck_driver, 100)
{
	uint64_t began, start, took, quickest = UINT64_MAX;
	int i, status, probed = 0;
	pid_t children[STUCK];

	NEEDS_WINDOW();
	ASSERT_TRUE(buffer_make(&self->buffer, VGPU_MOCK_BUF_PFN, 4 * PAGE));
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_SLOW, VGPU_MOCK_SLOW_UNLOCKED,
			       STUCK_MS));
	began = tool_now_ms();
	for (i = 0; i < 20; i++) {
		start = tool_now_ms();
		self->memory = buffer_map(&self->buffer, self->buffer.fwd, PROT_READ | PROT_WRITE);
		ASSERT_NE(NULL, self->memory);
		took = tool_now_ms() - start;
		/*
		 * The probe's limit is a second in ticks of the host. The wait is shorter if a
		 * tick is late when the wait begins.
		 */
		if (!i) {
			EXPECT_LE(500, took);
		} else if (took < quickest) {
			quickest = took;
		}
	}
	EXPECT_GT(500, quickest);
	EXPECT_EQ(20, window_counter(self->buffer.fwd, "window_mappings"));
	for (i = 0; i < STUCK; i++) {
		children[i] = fork();
		if (!children[i])
			stuck_program();
	}
	for (i = 0; i < STUCK; i++) {
		status = wait_for(children[i]);
		EXPECT_TRUE(status == 0 || status == 1) TH_LOG("program %d: %d", i, status);
		probed += status == 1;
	}
	EXPECT_LT(0, probed);
	/* The eighth probe is that of this program, if its driver is still stuck. */
	if (tool_now_ms() - began < STUCK_MS)
		EXPECT_GT(STUCK_PROBES, probed);
	/* Faults have workers of their own, so a driver that is not stuck answers them. */
	ASSERT_TRUE(buffer_make(&self->buffer, VGPU_MOCK_BUF_PFN, 4 * PAGE));
	start = tool_now_ms();
	self->memory = buffer_map(&self->buffer, self->buffer.fwd, PROT_READ | PROT_WRITE);
	ASSERT_NE(NULL, self->memory);
	EXPECT_EQ(0, touch(self->memory, true));
	EXPECT_GT(5000, tool_now_ms() - start);
}

/* An access waits for a slow driver, but the death of a killed program does not. */
TEST_F_TIMEOUT(window, slow_driver, 60)
{
	uint64_t start;
	pid_t child;

	BEGIN(VGPU_MOCK_BUF_PFN, 4 * PAGE);
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_SLOW, 0, 1000));
	/* The probe has made the first page present. */
	start = tool_now_ms();
	EXPECT_EQ(0, touch(self->memory + 3 * PAGE, true));
	EXPECT_LE(500, tool_now_ms() - start);
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_SLOW, 0, 4000));
	start = tool_now_ms();
	child = fork();
	if (!child)
		_exit(touch(self->memory + PAGE, true));
	usleep(300000);
	kill(child, SIGKILL);
	EXPECT_EQ(-1, wait_for(child));
	EXPECT_GT(3500, tool_now_ms() - start);
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_SLOW, 0, 0));
	EXPECT_EQ(0, touch(self->memory + PAGE, true));
	EXPECT_EQ(1, self->device[PAGE]);
}

/*
 * A program is killed before the driver has answered: in mmap() if @in_mmap is set, else in a
 * fault.
 */
static void ends_before_the_driver(struct __test_metadata *_metadata, struct buffer *buffer,
				   bool in_mmap)
{
	pid_t child;
	char *memory;

	NEEDS_WINDOW();
	child = fork();
	if (!child) {
		if (!buffer_make(buffer, VGPU_MOCK_BUF_PFN, 4 * PAGE) ||
		    (in_mmap && buffer_do(buffer, VGPU_MOCK_IOC_BUF_SLOW, 0, 9000)))
			_exit(1);
		memory = buffer_map(buffer, buffer->fwd, PROT_READ | PROT_WRITE);
		if (!memory || (!in_mmap && buffer_do(buffer, VGPU_MOCK_IOC_BUF_SLOW, 0, 9000)))
			_exit(1);
		/* The probe has made the first page present, if the driver was quick. */
		memory[PAGE] = 1;
		_exit(2);
	}
	usleep(700000);
	kill(child, SIGKILL);
	EXPECT_EQ(-1, wait_for(child));
	/* Nothing stays bound, although the driver has not returned. */
	EXPECT_TRUE(window_await("bindings", 0));
	/* Nothing is bound after the driver has returned. */
	sleep(9);
	EXPECT_EQ(0, window_status("bindings"));
}

TEST_F_TIMEOUT(window, ends_before_the_driver, 60)
{
	ends_before_the_driver(_metadata, &self->buffer, false);
}

TEST_F_TIMEOUT(window, ends_before_the_probe, 60)
{
	ends_before_the_driver(_metadata, &self->buffer, true);
}

TEST_HARNESS_MAIN
