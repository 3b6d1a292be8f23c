// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test the window as a program sees it: which memory it shows, which writes the driver is
 * notified of, and what becomes of mappings when drivers, programs and windows end.
 * mock_window_probe.c tests memory that is copied, mock_window_fault.c tests how pages come and go,
 * and mock_window_peer.c tests what a hypervisor sees of the window.
 */
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "window_program.h"

TEST_F(window, shown_by_vgpuctl)
{
	BEGIN(VGPU_MOCK_BUF_PFN, 4 * PAGE);
	EXPECT_EQ(1, window_status("bindings"));
	EXPECT_EQ(4 * PAGE, window_status("bound_bytes"));
	EXPECT_NE(NULL, strstr(tool_run("vgpuctl status")->out, WINDOW_PATH));
	/*
	 * vgpuctl may break the line between the two counters, depending on the numbers before
	 * them.
	 */
	EXPECT_NE(NULL, strstr(tool_run("vgpuctl status")->out, "window mappings 1,"));
	EXPECT_NE(NULL, strstr(tool_run("vgpuctl status")->out, "copy mappings 0"));
	EXPECT_EQ(6, tool_run("vgpuctl window create --to 1 --size 64M")->status);
	EXPECT_EQ(6, tool_run("vgpuctl window destroy --to 1")->status);
	EXPECT_EQ(5, tool_run("vgpuctl window destroy --to 99")->status);
	EXPECT_EQ(5, tool_run("vgpuctl window create --to 99 --size 64M --owner nobody-at-all")->status);
	EXPECT_EQ(2, tool_run("vgpuctl window create --to 99 --size 4097")->status);
	EXPECT_EQ(2, tool_run("vgpuctl window create --to 99 --size much")->status);
	EXPECT_EQ(7, tool_run("vgpuctl export " WINDOW_PATH " --to 99")->status);
	ASSERT_EQ(0, munmap(self->memory, 4 * PAGE));
	EXPECT_TRUE(window_await("bindings", 0));
	EXPECT_EQ(0, window_counter(self->buffer.fwd, "window_mappings"));
}

#define COHERENT(name, flavour)						\
TEST_F(window, coherent_ ## name)					\
{									\
	BEGIN(flavour, 16 * PAGE);					\
	coherent(_metadata, &self->buffer, self->memory, self->device, 20); \
}

COHERENT(pfn, VGPU_MOCK_BUF_PFN)
COHERENT(remap, VGPU_MOCK_BUF_REMAP)
COHERENT(mixed, VGPU_MOCK_BUF_MIXED)
COHERENT(page, VGPU_MOCK_BUF_PAGE)
COHERENT(vmalloc, VGPU_MOCK_BUF_VMALLOC)
COHERENT(pfn_notify, VGPU_MOCK_BUF_PFN | VGPU_MOCK_BUF_NOTIFY)
COHERENT(page_notify, VGPU_MOCK_BUF_PAGE | VGPU_MOCK_BUF_NOTIFY)

/*
 * A program of the host's own kernel sees pages of which KVM could take no reference. Its
 * mapping has the cache attribute that the driver chose.
 */
COHERENT(uncounted, VGPU_MOCK_BUF_UNCOUNTED)
COHERENT(write_combining, VGPU_MOCK_BUF_WC)
COHERENT(write_combining_later, VGPU_MOCK_BUF_WC | VGPU_MOCK_BUF_LATER)

/*
 * The counter window_binds counts each mapping that came into the window, also the mappings that
 * have ended.
 */
TEST_F(window, binds_are_counted)
{
	long long binds;
	char *other;

	BEGIN(VGPU_MOCK_BUF_PFN, 4 * PAGE);
	binds = window_counter(self->buffer.fwd, "window_binds");
	EXPECT_LE(1, binds);
	other = buffer_map(&self->buffer, self->buffer.fwd, PROT_READ | PROT_WRITE);
	ASSERT_NE(NULL, other);
	EXPECT_EQ(binds + 1, window_counter(self->buffer.fwd, "window_binds"));
	ASSERT_EQ(0, munmap(other, 4 * PAGE));
	EXPECT_TRUE(await_mappings(&self->buffer, 1));
	EXPECT_EQ(binds + 1, window_counter(self->buffer.fwd, "window_binds"));
}

/*
 * A driver that wants to be notified of first writes is notified of each page that the program
 * writes to through a writable mapping.
 */
static void notified(struct __test_metadata *_metadata, struct buffer *buffer, char *memory)
{
	struct vgpu_mock_buf_info info = { .id = buffer->id };
	int i;

	for (i = 0; i < 4; i++)
		memory[i * PAGE] = 1;
	ASSERT_EQ(0, ioctl(buffer->real, VGPU_MOCK_IOC_BUF_INFO, &info));
	EXPECT_LE(4, info.out_notified);
}

/* The driver is notified of no other page, also if the program writes to pages in order. */
static void notified_in_order(struct __test_metadata *_metadata, struct buffer *buffer,
			      char *memory)
{
	int i;

	for (i = 0; i < 32; i++)
		memory[i * PAGE] = 1;
	usleep(100000);
	EXPECT_EQ(32, buffer_info(buffer).out_notified);
}

TEST_F(window, driver_hears_of_writes)
{
	BEGIN(VGPU_MOCK_BUF_PFN | VGPU_MOCK_BUF_NOTIFY, 4 * PAGE);
	notified(_metadata, &self->buffer, self->memory);
}

TEST_F(window, driver_hears_of_writes_in_order)
{
	BEGIN(VGPU_MOCK_BUF_PFN | VGPU_MOCK_BUF_NOTIFY, 128 * PAGE);
	notified_in_order(_metadata, &self->buffer, self->memory);
}

TEST_F(window, driver_hears_of_writes_to_pages_in_order)
{
	BEGIN(VGPU_MOCK_BUF_PAGE | VGPU_MOCK_BUF_NOTIFY, 128 * PAGE);
	notified_in_order(_metadata, &self->buffer, self->memory);
}

TEST_F(window, driver_hears_of_writes_to_pages)
{
	BEGIN(VGPU_MOCK_BUF_PAGE | VGPU_MOCK_BUF_NOTIFY, 4 * PAGE);
	notified(_metadata, &self->buffer, self->memory);
}

/* The program sees what the device writes, and makes no system call. */
TEST_F(window, device_writes_by_itself)
{
	uint64_t end;
	long long before;

	BEGIN(VGPU_MOCK_BUF_PFN, 4 * PAGE);
	memset(self->memory, 0, 4 * PAGE);
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_FILL, 5, 200));
	before = traffic(&self->buffer);
	end = tool_now_ms() + 10000;
	while (!memory_is(self->memory, 4 * PAGE, 5) && tool_now_ms() < end)
		;
	EXPECT_TRUE(memory_is(self->memory, 4 * PAGE, 5));
	EXPECT_EQ(before, traffic(&self->buffer));
}

#define REVOKED(name, flavour)						\
TEST_F(window, name)							\
{									\
	BEGIN(flavour, 4 * PAGE);					\
	EXPECT_EQ(0, touch(self->memory, true));			\
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_REVOKE, 0, 0)); \
	EXPECT_EQ(SIGBUS, touch(self->memory, false));			\
	EXPECT_EQ(SIGBUS, touch(self->memory + PAGE, true));		\
	EXPECT_EQ(SIGBUS, touch(self->memory, true));			\
	EXPECT_EQ(0, munmap(self->memory, 4 * PAGE));			\
	EXPECT_TRUE(window_await("bindings", 0));			\
}

REVOKED(revoked, VGPU_MOCK_BUF_PFN)
REVOKED(revoked_remap, VGPU_MOCK_BUF_REMAP)
REVOKED(revoked_mixed, VGPU_MOCK_BUF_MIXED)
REVOKED(revoked_page, VGPU_MOCK_BUF_PAGE)
REVOKED(revoked_vmalloc, VGPU_MOCK_BUF_VMALLOC)
REVOKED(revoked_notify, VGPU_MOCK_BUF_PAGE | VGPU_MOCK_BUF_NOTIFY)
REVOKED(revoked_write_combining, VGPU_MOCK_BUF_WC)

TEST_F(window, forked)
{
	pid_t child;

	BEGIN(VGPU_MOCK_BUF_PFN, 4 * PAGE);
	strcpy(self->memory, "parent");
	child = fork();
	if (!child) {
		if (strcmp(self->memory, "parent"))
			_exit(1);
		strcpy(self->memory + PAGE, "child");
		_exit(strcmp(self->device + PAGE, "child") ? 2 : 0);
	}
	EXPECT_EQ(0, wait_for(child));
	EXPECT_STREQ("child", self->memory + PAGE);
	strcpy(self->memory + 2 * PAGE, "still there");
	EXPECT_STREQ("still there", self->device + 2 * PAGE);
}

/*
 * A child loses a mapping that its parent has unmapped, as the mapping's address in the shadow
 * may mean something else afterwards.
 */
TEST_F(window, lost_by_a_child)
{
	int ready[2], go[2];
	pid_t child;
	char byte;

	BEGIN(VGPU_MOCK_BUF_PFN, 2 * PAGE);
	memset(self->memory, 1, 2 * PAGE);
	ASSERT_EQ(0, pipe(ready));
	ASSERT_EQ(0, pipe(go));
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (touch(self->memory, true) || write(ready[1], "", 1) != 1 ||
		    read(go[0], &byte, 1) != 1)
			_exit(1);
		_exit(touch(self->memory, false) == SIGBUS &&
		      touch(self->memory + PAGE, true) == SIGBUS ? 0 : 2);
	}
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	ASSERT_EQ(0, munmap(self->memory, 2 * PAGE));
	ASSERT_TRUE(window_await("bindings", 0));
	ASSERT_EQ(1, write(go[1], "", 1));
	EXPECT_EQ(0, wait_for(child));
}

TEST_F(window, partly_unmapped)
{
	char *other;

	BEGIN(VGPU_MOCK_BUF_PFN, 8 * PAGE);
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_FILL, 3, 0));
	EXPECT_TRUE(memory_is(self->memory, 8 * PAGE, 3));
	ASSERT_EQ(0, munmap(self->memory + 2 * PAGE, 3 * PAGE));
	EXPECT_EQ(SIGSEGV, touch(self->memory + 2 * PAGE, false));
	EXPECT_EQ(0, memcmp(self->memory, self->device, 2 * PAGE));
	EXPECT_EQ(0, memcmp(self->memory + 5 * PAGE, self->device + 5 * PAGE, 3 * PAGE));
	/* Another part of the buffer is mapped into the hole. */
	other = mmap(self->memory + 2 * PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		     self->buffer.fwd, self->buffer.offset + 7 * PAGE);
	ASSERT_NE(MAP_FAILED, other);
	EXPECT_EQ(2, window_counter(self->buffer.fwd, "window_mappings"));
	strcpy(other, "seventh");
	EXPECT_STREQ("seventh", self->memory + 7 * PAGE);
	EXPECT_STREQ("seventh", self->device + 7 * PAGE);
	self->memory[PAGE] = 77;
	EXPECT_EQ(77, self->device[PAGE]);
	ASSERT_EQ(0, munmap(self->memory, 8 * PAGE));
	EXPECT_TRUE(window_await("bindings", 0));
	EXPECT_EQ(0, window_counter(self->buffer.fwd, "window_mappings"));
}

TEST_F(window, protected)
{
	BEGIN(VGPU_MOCK_BUF_PFN, 4 * PAGE);
	memset(self->memory, 1, 4 * PAGE);
	ASSERT_EQ(0, mprotect(self->memory, PAGE, PROT_READ));
	EXPECT_EQ(SIGSEGV, touch(self->memory, true));
	EXPECT_EQ(0, touch(self->memory, false));
	EXPECT_EQ(0, touch(self->memory + PAGE, true));
	ASSERT_EQ(0, mprotect(self->memory, PAGE, PROT_NONE));
	EXPECT_EQ(SIGSEGV, touch(self->memory, false));
	ASSERT_EQ(0, mprotect(self->memory, PAGE, PROT_READ | PROT_WRITE));
	self->memory[5] = 55;
	EXPECT_EQ(55, self->device[5]);
}

static void *reader_run(void *data)
{
	return (void *)(uintptr_t)*(volatile unsigned char *)data;
}

/*
 * A mapping becomes writable while the driver is asked for a page for reading. The page found so
 * is not inserted, so the driver is still notified of the first write.
 */
TEST_F_TIMEOUT(window, writable_meanwhile, 120)
{
	struct buffer *buffer = &self->buffer;
	unsigned long before;
	pthread_t thread;
	void *seen;

	NEEDS_WINDOW();
	ASSERT_TRUE(buffer_make(buffer, VGPU_MOCK_BUF_PAGE | VGPU_MOCK_BUF_NOTIFY, 4 * PAGE));
	ASSERT_EQ(0, buffer_do(buffer, VGPU_MOCK_IOC_BUF_FILL, 6, 0));
	self->memory = buffer_map(buffer, buffer->fwd, PROT_READ);
	ASSERT_NE(NULL, self->memory);
	ASSERT_EQ(1, window_counter(buffer->fwd, "window_mappings"));
	ASSERT_EQ(0, buffer_do(buffer, VGPU_MOCK_IOC_BUF_SLOW, VGPU_MOCK_SLOW_UNLOCKED, 60000));
	before = buffer_faults(buffer);
	ASSERT_EQ(0, pthread_create(&thread, NULL, reader_run, self->memory + 2 * PAGE));
	ASSERT_TRUE(buffer_await_fault(buffer, before));
	ASSERT_EQ(0, mprotect(self->memory, 4 * PAGE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(0, buffer_info(buffer).out_notified);
	ASSERT_EQ(0, buffer_do(buffer, VGPU_MOCK_IOC_BUF_SLOW, VGPU_MOCK_SLOW_END, 0));
	ASSERT_EQ(0, pthread_join(thread, &seen));
	EXPECT_EQ((unsigned char)self->memory[2 * PAGE], (uintptr_t)seen);
	self->memory[2 * PAGE] = 66;
	EXPECT_LE(1, buffer_info(buffer).out_notified);
	self->device = buffer_map(buffer, buffer->real, PROT_READ);
	ASSERT_NE(NULL, self->device);
	EXPECT_EQ(66, self->device[2 * PAGE]);
}

TEST_F(window, read_only)
{
	static const __u32 flavours[] = {
		VGPU_MOCK_BUF_PFN, VGPU_MOCK_BUF_REMAP, VGPU_MOCK_BUF_MIXED, VGPU_MOCK_BUF_PAGE,
		VGPU_MOCK_BUF_VMALLOC, VGPU_MOCK_BUF_PFN | VGPU_MOCK_BUF_NOTIFY,
	};
	unsigned int i;
	int reader;

	NEEDS_WINDOW();
	reader = open(getenv("VGPU_FWD"), O_RDONLY);
	ASSERT_LE(0, reader);
	for (i = 0; i < ARRAY_SIZE(flavours); i++) {
		ASSERT_TRUE(buffer_make(&self->buffer, flavours[i], 4 * PAGE));
		read_only(_metadata, &self->buffer, reader, true);
		read_only(_metadata, &self->buffer, self->buffer.fwd, false);
		made_writable(_metadata, &self->buffer);
		buffer_end(&self->buffer);
	}
	close(reader);
}

/*
 * A mapping that finds no room in a full window goes by copy, and moves into the window when
 * there is room.
 */
TEST_F(window, exhausted)
{
	struct buffer *buffer = &self->buffer, other;
	char *first, *second;

	NEEDS_WINDOW();
	ASSERT_TRUE(window_begin("64K"));
	ASSERT_TRUE(buffer_make(buffer, VGPU_MOCK_BUF_PFN, 10 * PAGE));
	ASSERT_TRUE(buffer_make(&other, VGPU_MOCK_BUF_PFN, 10 * PAGE));
	first = buffer_map(&other, other.fwd, PROT_READ | PROT_WRITE);
	second = buffer_map(buffer, buffer->fwd, PROT_READ | PROT_WRITE);
	ASSERT_TRUE(first && second);
	EXPECT_EQ(1, window_counter(buffer->fwd, "window_mappings"));
	EXPECT_EQ(1, window_counter(buffer->fwd, "copy_mappings"));
	ASSERT_EQ(0, buffer_do(buffer, VGPU_MOCK_IOC_BUF_FILL, 4, 0));
	EXPECT_TRUE(memory_is(second, 10 * PAGE, 4));
	second[100] = 42;
	ASSERT_EQ(0, munmap(first, 10 * PAGE));
	/* The mapping moves without a call of the program. */
	EXPECT_TRUE(await_mappings(buffer, 1));
	EXPECT_EQ(42, second[100]);
	ASSERT_EQ(0, buffer_do(buffer, VGPU_MOCK_IOC_BUF_FILL, 5, 0));
	EXPECT_TRUE(memory_is(second, 10 * PAGE, 5));
}

/* Mappings that use a range one after another each show their own memory. */
TEST_F_TIMEOUT(window, reused, 60)
{
	int i, in_window = 0, times = getenv("VGPU_TIMES") ? 50 : 300;
	struct buffer *buffer = &self->buffer;
	char *memory;

	NEEDS_WINDOW();
	ASSERT_TRUE(window_begin("64K"));
	for (i = 0; i < times; i++) {
		ASSERT_TRUE(buffer_make(buffer, i % 5, 4 * PAGE));
		memory = buffer_map(buffer, buffer->fwd, PROT_READ | PROT_WRITE);
		ASSERT_NE(NULL, memory);
		in_window += window_counter(buffer->fwd, "window_mappings");
		ASSERT_EQ(0, buffer_do(buffer, VGPU_MOCK_IOC_BUF_FILL, i, 0));
		ASSERT_TRUE(memory_is(memory, 4 * PAGE, i)) TH_LOG("time %d", i);
		memory[9] = 9;
		munmap(memory, 4 * PAGE);
		buffer_end(buffer);
	}
	EXPECT_LT(times / 4, in_window);
	EXPECT_TRUE(window_await("bindings", 0));
}

/* A program that is killed leaves nothing bound. */
TEST_F(window, program_dies)
{
	pid_t child;
	char *memory;
	int i;

	NEEDS_WINDOW();
	for (i = 0; i < 10; i++) {
		child = fork();
		if (!child) {
			if (!buffer_make(&self->buffer, VGPU_MOCK_BUF_PFN, 16 * PAGE))
				_exit(1);
			memory = buffer_map(&self->buffer, self->buffer.fwd, PROT_READ | PROT_WRITE);
			if (!memory)
				_exit(2);
			memset(memory, 1, 16 * PAGE);
			kill(getpid(), SIGKILL);
		}
		ASSERT_EQ(-1, wait_for(child));
	}
	EXPECT_TRUE(window_await("bindings", 0));
	EXPECT_EQ(0, window_status("bound_bytes"));
}

/* Mappings of a window that is destroyed go on by copy. */
TEST_F(window, destroyed)
{
	struct vgpu_mock_buf_range sync;
	char *memory;

	BEGIN(VGPU_MOCK_BUF_PFN, 4 * PAGE);
	memset(self->memory, 7, 4 * PAGE);
	ASSERT_EQ(0, tool_run("vgpuctl window destroy --to 1 --force")->status);
	EXPECT_EQ(7, self->memory[5]);
	self->memory[PAGE + 6] = 8;
	sync = (struct vgpu_mock_buf_range){ .id = self->buffer.id };
	ASSERT_EQ(0, ioctl(self->buffer.fwd, VGPU_MOCK_IOC_BUF_SYNC, &sync));
	EXPECT_EQ(8, self->device[PAGE + 6]);
	memory = buffer_map(&self->buffer, self->buffer.fwd, PROT_READ | PROT_WRITE);
	ASSERT_NE(NULL, memory);
	EXPECT_EQ(7, memory[5]);
	EXPECT_EQ(2, window_counter(self->buffer.fwd, "copy_mappings"));
	EXPECT_EQ(0, munmap(self->memory, 4 * PAGE));
	/* The mappings move into a window that is created later. */
	ASSERT_EQ(0, tool_run("vgpuctl window create --to 1 --size 1M")->status);
	EXPECT_TRUE(window_await("bindings", 1));
	/* The host binds the mapping first, and the guest counts it afterwards. */
	EXPECT_TRUE(await_mappings(&self->buffer, 1));
	EXPECT_EQ(7, memory[6]);
	memory[7] = 70;
	EXPECT_EQ(70, self->device[7]);
}

/* Two programs and the device see the same bytes of a page that both programs map. */
TEST_F(window, two_programs)
{
	pid_t child;
	char *memory;

	BEGIN(VGPU_MOCK_BUF_PFN, 4 * PAGE);
	strcpy(self->memory, "one");
	child = fork();
	if (!child) {
		int fwd = open(getenv("VGPU_FWD"), O_RDWR);

		munmap(self->memory, 4 * PAGE);
		memory = fwd < 0 ? NULL : buffer_map(&self->buffer, fwd, PROT_READ | PROT_WRITE);
		if (!memory || strcmp(memory, "one"))
			_exit(1);
		strcpy(memory + PAGE, "two");
		_exit(0);
	}
	EXPECT_EQ(0, wait_for(child));
	EXPECT_STREQ("two", self->memory + PAGE);
	EXPECT_STREQ("two", self->device + PAGE);
}

/* Expects that all tests of @program pass, except those whose names end with @but. */
static void same(struct __test_metadata *_metadata, const char *program, const char *but)
{
	struct tool_run *run = tool_run("%s", program);
	unsigned int passed = 0, excused = 0;
	char *line, *rest;

	for (line = strtok_r(run->out, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		passed += !strncmp(line, "ok ", 3);
		if (strncmp(line, "not ok ", 7))
			continue;
		if (but && !strcmp(line + strlen(line) - strlen(but), but))
			excused++;
		else
			EXPECT_STREQ("", line) TH_LOG("%s: %s", program, line);
	}
	EXPECT_LT(5, passed);
	/* The excuse must still be needed: some excused test fails. */
	EXPECT_EQ(!but, !excused);
}

/* All tests of mappings without a window pass with one. */
TEST_F_TIMEOUT(window, same_mmap, 500)
{
	NEEDS_WINDOW();
	same(_metadata, "./mock_mmap", NULL);
}

/*
 * Tests of processes pass with a window, too, except those in which the kernel takes a reference
 * of a page. Ten seconds of killing are enough: without a window there are ten thousand kills.
 */
TEST_F_TIMEOUT(window, same_process, 300)
{
	NEEDS_WINDOW();
	if (getenv("VGPU_TIMES"))
		SKIP(return, "takes long: one bed does for all");
	same(_metadata, "VGPU_TIMES=40 ./mock_process", "_page");
}

TEST_HARNESS_MAIN
