// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test the window as a hypervisor sees it. This program maps the device file as QEMU would for a
 * guest, and looks at memory that programs of this machine's own guest have bound there. The
 * hypervisor never gets SIGBUS, and never sees memory that is not bound at that moment.
 */
#include <sys/wait.h>

#include <endian.h>
#include <linux/vgpu_wire.h>
#include "window.h"

#include "kselftest_harness.h"

#define WINDOW_SIZE	(1UL << 20)

FIXTURE(peer)
{
	struct buffer buffer;
	char *memory;		/* the program's mapping */
	char *window;		/* the hypervisor's mapping */
	int fd;
};

static char *window_map(int fd)
{
	char *window = mmap(NULL, WINDOW_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return window == MAP_FAILED ? NULL : window;
}

FIXTURE_SETUP(peer)
{
	memset(self, 0, sizeof(*self));
	if (!window_possible())
		return;
	ASSERT_TRUE(window_begin("1M"));
	self->fd = open(WINDOW_PATH, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->fd);
	self->window = window_map(self->fd);
	ASSERT_NE(NULL, self->window);
}

FIXTURE_TEARDOWN(peer)
{
	if (window_possible())
		window_end();
}

#define BEGIN(flavour, size) do {					\
	NEEDS_WINDOW();							\
	ASSERT_TRUE(buffer_make(&self->buffer, flavour, size));		\
	self->memory = buffer_map(&self->buffer, self->buffer.fwd, PROT_READ | PROT_WRITE); \
	ASSERT_NE(NULL, self->memory);					\
	ASSERT_EQ(1, window_counter(self->buffer.fwd, "window_mappings")); \
} while (0)

/* Kinds of buffers that every hypervisor can map. */
static const __u32 flavours[] = {
	VGPU_MOCK_BUF_PFN, VGPU_MOCK_BUF_REMAP, VGPU_MOCK_BUF_MIXED, VGPU_MOCK_BUF_PAGE,
	VGPU_MOCK_BUF_VMALLOC, VGPU_MOCK_BUF_PFN | VGPU_MOCK_BUF_NOTIFY,
	VGPU_MOCK_BUF_PAGE | VGPU_MOCK_BUF_NOTIFY,
};

static unsigned long find(const char *window, const struct buffer *buffer)
{
	buffer_do(buffer, VGPU_MOCK_IOC_BUF_FILL, 4711, 0);
	return window_find(window, WINDOW_SIZE, buffer->size, 4711);
}

/* Returns the number of first writes of which the driver was notified. */
static unsigned long notified(const struct buffer *buffer)
{
	struct vgpu_mock_buf_info info = { .id = buffer->id };

	return ioctl(buffer->real, VGPU_MOCK_IOC_BUF_INFO, &info) ? 0 : info.out_notified;
}

/* Returns true if all pages but the header are zero. */
static bool is_empty(const char *window)
{
	return vgpu_mock_is_zero(window + PAGE, WINDOW_SIZE - PAGE);
}

TEST_F(peer, file)
{
	const struct vgpu_window_header *header = (void *)self->window;
	struct stat st;

	NEEDS_WINDOW();
	EXPECT_EQ(WINDOW_SIZE, lseek(self->fd, 0, SEEK_END));
	ASSERT_EQ(0, fstat(self->fd, &st));
	EXPECT_TRUE(S_ISCHR(st.st_mode));
	EXPECT_EQ(0600, st.st_mode & 07777);
	EXPECT_EQ(0, memcmp(header->magic, VGPU_WINDOW_MAGIC, 8));
	EXPECT_EQ(WINDOW_SIZE, le64toh(header->size));
	EXPECT_NE(0, header->window);
	/* Private and executable mappings fail, and so do mappings beyond the end of the window. */
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, self->fd, PAGE));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_EXEC, MAP_SHARED, self->fd, PAGE));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, self->fd,
				   WINDOW_SIZE - PAGE));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_READ, MAP_SHARED, self->fd, WINDOW_SIZE));
	/* The device file belongs to the user that --owner names. */
	ASSERT_EQ(0, tool_run("vgpuctl window create --to 55:777 --size 1G --owner daemon")->status);
	ASSERT_EQ(0, stat("/dev/vgpu-window-55-777", &st));
	EXPECT_EQ(1, st.st_uid);
	EXPECT_EQ(0, tool_run("vgpuctl window destroy --to 55:777")->status);
	EXPECT_EQ(-1, stat("/dev/vgpu-window-55-777", &st));
}

TEST_F(peer, nothing_bound)
{
	NEEDS_WINDOW();
	EXPECT_TRUE(is_empty(self->window));
	EXPECT_EQ(0, touch(self->window + WINDOW_SIZE - 1, true));
	/* A write to the header, which is read-only, causes no signal either. */
	EXPECT_EQ(0, touch(self->window, true));
}

TEST_F(peer, sees_what_is_bound)
{
	unsigned long at;
	int i;

	BEGIN(VGPU_MOCK_BUF_PFN, 8 * PAGE);
	EXPECT_EQ(0, tool_run("vgpuctl window list | grep ' by hand  *1  *1 of 1  *32 KiB$'")->status);
	at = find(self->window, &self->buffer);
	ASSERT_NE(0, at);
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_FILL, i, 0));
		ASSERT_TRUE(memory_is(self->window + at, 8 * PAGE, i));
		vgpu_mock_pattern(self->window + at, 8 * PAGE, 100 + i, 0);
		ASSERT_TRUE(memory_is(self->memory, 8 * PAGE, 100 + i));
		ASSERT_EQ(memory_sum(self->memory, 8 * PAGE), buffer_sum(&self->buffer));
	}
	/* The window is empty on both sides of the bound range. */
	EXPECT_EQ(0, self->window[at + 8 * PAGE]);
	EXPECT_TRUE(at == PAGE || !self->window[at - 1]);
	ASSERT_EQ(0, munmap(self->memory, 8 * PAGE));
	ASSERT_TRUE(window_await("bindings", 0));
	EXPECT_TRUE(is_empty(self->window));
}

/* A hypervisor whose guest accesses memory in order waits for few answers of the driver. */
TEST_F(peer, in_order)
{
	unsigned long at;
	long resolved;
	int i;

	BEGIN(VGPU_MOCK_BUF_PFN, 128 * PAGE);
	at = find(self->window, &self->buffer);
	ASSERT_NE(0, at);
	/* The driver zaps all PTEs, in this process and in the shadow. */
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_INVALIDATE, 0, 0));
	resolved = window_status("resolved");
	for (i = 0; i < 128; i++)
		self->window[at + i * PAGE] = i;
	resolved = window_status("resolved") - resolved;
	EXPECT_LE(1, resolved);
	EXPECT_GE(128 / 4, resolved);
	for (i = 0; i < 128; i++)
		ASSERT_EQ(i, self->memory[i * PAGE]);
	EXPECT_EQ(0, window_status("failures"));
}

TEST_F(peer, every_kind)
{
	unsigned long at;
	unsigned int i, k;

	NEEDS_WINDOW();
	for (i = 0; i < ARRAY_SIZE(flavours); i++) {
		BEGIN(flavours[i], 4 * PAGE);
		at = find(self->window, &self->buffer);
		ASSERT_NE(0, at) TH_LOG("kind %x", flavours[i]);
		/* The hypervisor has read all pages, and the program has accessed none. */
		for (k = 0; k < 4; k++)
			self->window[at + k * PAGE + 7] = 7;
		if (flavours[i] & VGPU_MOCK_BUF_NOTIFY)
			EXPECT_LE(4, notified(&self->buffer)) TH_LOG("kind %x", flavours[i]);
		EXPECT_EQ(7, self->memory[7]);
		munmap(self->memory, 4 * PAGE);
		buffer_end(&self->buffer);
		ASSERT_TRUE(window_await("bindings", 0));
		EXPECT_TRUE(is_empty(self->window));
	}
	EXPECT_EQ(0, window_status("failures"));
}

/*
 * A mapping whose pages KVM cannot take, or the host cannot find, goes by copy before the
 * program writes to it.
 */
static void copied(struct __test_metadata *_metadata, FIXTURE_DATA(peer) *self, __u32 flavour)
{
	struct buffer *buffer = &self->buffer;

	ASSERT_TRUE(buffer_make(buffer, flavour, 32 * PAGE));
	self->memory = buffer_map(buffer, buffer->fwd, PROT_READ | PROT_WRITE);
	ASSERT_NE(NULL, self->memory);
	EXPECT_EQ(0, window_counter(buffer->fwd, "window_mappings"));
	EXPECT_EQ(1, window_counter(buffer->fwd, "copy_mappings"));
	vgpu_mock_pattern(self->memory, 32 * PAGE, 12, 0);
	EXPECT_TRUE(is_empty(self->window));
	ASSERT_EQ(0, buffer_settle(buffer));
	EXPECT_EQ(memory_sum(self->memory, 32 * PAGE), buffer_sum(buffer));
	EXPECT_EQ(0, window_status("failures"));
}

/* The mapping is in the window, and the hypervisor sees all of it. */
static void shown(struct __test_metadata *_metadata, FIXTURE_DATA(peer) *self, __u32 flavour)
{
	unsigned long at;

	BEGIN(flavour, 32 * PAGE);
	at = find(self->window, &self->buffer);
	ASSERT_NE(0, at);
	vgpu_mock_pattern(self->window + at, 32 * PAGE, 13, 0);
	EXPECT_EQ(memory_sum(self->memory, 32 * PAGE), buffer_sum(&self->buffer));
	EXPECT_EQ(0, window_status("failures"));
}

TEST_F(peer, uncounted)
{
	NEEDS_WINDOW();
	if (tool_kvm_counts())
		copied(_metadata, self, VGPU_MOCK_BUF_UNCOUNTED);
	else
		shown(_metadata, self, VGPU_MOCK_BUF_UNCOUNTED);
}

TEST_F(peer, write_combining)
{
	NEEDS_WINDOW();
	shown(_metadata, self, VGPU_MOCK_BUF_WC);
}

TEST_F(peer, raw_mixed)
{
	NEEDS_WINDOW();
	copied(_metadata, self, VGPU_MOCK_BUF_RAW);
}

/*
 * Pages with another cache attribute than the first page are shown as they are, and no write to
 * them is lost.
 */
TEST_F(peer, write_combining_later)
{
	NEEDS_WINDOW();
	shown(_metadata, self, VGPU_MOCK_BUF_WC | VGPU_MOCK_BUF_LATER);
	EXPECT_EQ(1, window_counter(self->buffer.fwd, "window_mappings"));
}

/*
 * KVM can take no reference of a page behind the first ones. The page fails when the hypervisor
 * accesses it: the hypervisor sees the window's own page, and finally the mapping goes by copy.
 */
TEST_F_TIMEOUT(peer, uncounted_later, 60)
{
	unsigned long at;
	int i, tries;

	NEEDS_WINDOW();
	if (!tool_kvm_counts())
		SKIP(return, "KVM of this kernel takes every page");
	BEGIN(VGPU_MOCK_BUF_UNCOUNTED | VGPU_MOCK_BUF_LATER, 32 * PAGE);
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_FILL, 4711, 0));
	at = window_find(self->window, WINDOW_SIZE, 16 * PAGE, 4711);
	ASSERT_NE(0, at);
	EXPECT_EQ(0, window_status("failures"));
	/* The second failure tells the guest that the window cannot show the page. */
	for (i = 0; i < 2; i++) {
		/*
		 * The window's own page, mapped by the last failure, stays until the guest has
		 * been notified and has asked for the page.
		 */
		for (tries = 0; tries < 100 && window_status("failures") <= i; tries++) {
			EXPECT_EQ(0, self->window[at + 21 * PAGE + 8]);
			usleep(100000);
		}
		EXPECT_LT(i, window_status("failures"));
		usleep(200000);
		EXPECT_TRUE(memory_is(self->memory, 32 * PAGE, 4711));
	}
	EXPECT_TRUE(window_await("bindings", 0));
	EXPECT_EQ(1, window_counter(self->buffer.fwd, "copy_mappings"));
	EXPECT_TRUE(memory_is(self->memory, 32 * PAGE, 4711));
}

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

/*
 * A page that was resolved for a process that has died is not used for a later fault, as the
 * driver may have moved the page since.
 */
TEST_F_TIMEOUT(peer, left_behind, 60)
{
	unsigned long at;
	pid_t child;

	BEGIN(VGPU_MOCK_BUF_PFN, 4 * PAGE);
	at = find(self->window, &self->buffer);
	ASSERT_NE(0, at);
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_SLOW, 0, 700));
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_INVALIDATE, 0, 0));
	child = fork();
	if (!child) {
		char *mine = window_map(self->fd);

		_exit(!mine || touch(mine + at + PAGE, false));
	}
	usleep(300000);
	kill(child, SIGKILL);
	ASSERT_EQ(child, waitpid(child, NULL, 0));
	sleep(3);
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_SLOW, 0, 0));
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_INVALIDATE, 0, 0));
	EXPECT_TRUE(memory_is(self->window + at, 4 * PAGE, 4711));
	EXPECT_EQ(0, window_status("failures"));
}

/*
 * A page that the driver has revoked shows the hypervisor the window's own page, and never
 * causes a signal there. The program gets SIGBUS.
 */
TEST_F(peer, revoked)
{
	unsigned long at;
	unsigned int i;
	long before;

	NEEDS_WINDOW();
	for (i = 0; i < ARRAY_SIZE(flavours); i++) {
		BEGIN(flavours[i], 4 * PAGE);
		at = find(self->window, &self->buffer);
		ASSERT_NE(0, at) TH_LOG("kind %x", flavours[i]);
		before = window_status("failures");
		ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_REVOKE, 0, 0));
		EXPECT_EQ(0, touch(self->window + at, false));
		EXPECT_EQ(0, self->window[at]) TH_LOG("kind %x", flavours[i]);
		EXPECT_EQ(0, touch(self->window + at + PAGE, true));
		/*
		 * The window's own page is seen wherever a page fails, so it has to be zero
		 * again.
		 */
		self->window[at + PAGE] = 0;
		EXPECT_EQ(SIGBUS, touch(self->memory, false)) TH_LOG("kind %x", flavours[i]);
		EXPECT_EQ(SIGBUS, touch(self->memory + PAGE, true)) TH_LOG("kind %x", flavours[i]);
		EXPECT_EQ(SIGBUS, touch(self->memory + 2 * PAGE, true));
		EXPECT_LT(before, window_status("failures"));
		EXPECT_EQ(0, munmap(self->memory, 4 * PAGE));
		buffer_end(&self->buffer);
		ASSERT_TRUE(window_await("bindings", 0));
	}
}

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

/* The hypervisor cannot write to memory that the program maps read-only. */
TEST_F(peer, read_only)
{
	unsigned long at;

	NEEDS_WINDOW();
	ASSERT_TRUE(buffer_make(&self->buffer, VGPU_MOCK_BUF_PFN, 4 * PAGE));
	self->memory = buffer_map(&self->buffer, self->buffer.fwd, PROT_READ);
	ASSERT_NE(NULL, self->memory);
	at = find(self->window, &self->buffer);
	ASSERT_NE(0, at);
	EXPECT_EQ(0, touch(self->window + at, true));
	EXPECT_EQ(0, touch(self->window + at + 3 * PAGE + 5, true));
	EXPECT_TRUE(memory_is(self->memory, 4 * PAGE, 4711));
	/* Changes of page tables by mprotect() give no write access either. */
	ASSERT_EQ(0, mprotect(self->window, WINDOW_SIZE, PROT_READ));
	EXPECT_EQ(0, memcmp(self->window + at + PAGE, self->memory + PAGE, PAGE));
	ASSERT_EQ(0, mprotect(self->window, WINDOW_SIZE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(0, touch(self->window + at + PAGE, true));
	EXPECT_EQ(0, touch(self->window + at + 2 * PAGE, true));
	EXPECT_TRUE(memory_is(self->memory, 4 * PAGE, 4711));
	EXPECT_LE(3, window_status("failures"));
	/* Writes do not change the header. */
	EXPECT_EQ(0, touch(self->window, true));
	EXPECT_EQ(0, touch(self->window, true));
	munmap(self->window, WINDOW_SIZE);
	self->window = window_map(self->fd);
	ASSERT_NE(NULL, self->window);
	EXPECT_EQ(0, memcmp(self->window, VGPU_WINDOW_MAGIC, 8));
}

/* A hypervisor maps the window for reading first, and makes its mapping writable later. */
TEST_F(peer, writable_later)
{
	unsigned long at;

	BEGIN(VGPU_MOCK_BUF_PFN, 4 * PAGE);
	ASSERT_EQ(0, mprotect(self->window, WINDOW_SIZE, PROT_READ));
	at = find(self->window, &self->buffer);
	ASSERT_NE(0, at);
	ASSERT_EQ(0, mprotect(self->window, WINDOW_SIZE, PROT_READ | PROT_WRITE));
	self->window[at + 3] = 33;
	EXPECT_EQ(33, self->memory[3]);
	EXPECT_EQ(0, window_status("failures"));
}

/* A process that has all of the window mapped dies, and another process still has it mapped. */
TEST_F(peer, dies)
{
	unsigned long at;
	pid_t child;
	int status;
	char *mine;
	int fd;

	BEGIN(VGPU_MOCK_BUF_PFN, 4 * PAGE);
	at = find(self->window, &self->buffer);
	ASSERT_NE(0, at);
	child = fork();
	if (!child) {
		/* A child does not inherit the mapping. */
		if (touch(self->window + at, false) != SIGSEGV)
			_exit(1);
		/* A child cannot open the window anew: one process at a time may have it open. */
		fd = open(WINDOW_PATH, O_RDWR);
		if (fd >= 0 || errno != EBUSY)
			_exit(3);
		mine = window_map(self->fd);
		if (!mine || !memory_is(mine + at, 4 * PAGE, 4711))
			_exit(2);
		vgpu_mock_pattern(mine + at, 4 * PAGE, 4712, 0);
		kill(getpid(), SIGKILL);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status)) TH_LOG("status %x", status);
	EXPECT_TRUE(memory_is(self->window + at, 4 * PAGE, 4712));
	EXPECT_TRUE(memory_is(self->memory, 4 * PAGE, 4712));
	EXPECT_EQ(1, window_status("bindings"));
}

/* A hypervisor that maps a window sees nothing of the window's last hypervisor. */
TEST_F(peer, next)
{
	struct vgpu_window_header first;
	char *window;
	int fd;

	NEEDS_WINDOW();
	/*
	 * The guest of this window does not exist: this machine's own guest would hold the
	 * window.
	 */
	ASSERT_EQ(0, tool_run("vgpuctl window create --to 66 --size 1M")->status);
	fd = open("/dev/vgpu-window-66", O_RDWR);
	ASSERT_LE(0, fd);
	window = window_map(fd);
	ASSERT_NE(NULL, window);
	memcpy(&first, window, sizeof(first));
	memset(window + PAGE, 1, PAGE);
	EXPECT_EQ(1, window[2 * PAGE]);
	close(fd);
	EXPECT_EQ(1, window[3 * PAGE]);
	munmap(window, WINDOW_SIZE);
	fd = open("/dev/vgpu-window-66", O_RDWR);
	ASSERT_LE(0, fd);
	window = window_map(fd);
	ASSERT_NE(NULL, window);
	EXPECT_NE(0, ((struct vgpu_window_header *)window)->window);
	EXPECT_NE(first.window, ((struct vgpu_window_header *)window)->window);
	EXPECT_TRUE(is_empty(window));
	munmap(window, WINDOW_SIZE);
	close(fd);
	EXPECT_EQ(0, tool_run("vgpuctl window destroy --to 66")->status);
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

/* The window shows neither a part that was unmapped nor memory that was mapped in its place. */
TEST_F(peer, partly_unmapped)
{
	struct buffer other;
	unsigned long at;
	char *place;

	BEGIN(VGPU_MOCK_BUF_PFN, 8 * PAGE);
	at = find(self->window, &self->buffer);
	ASSERT_NE(0, at);
	ASSERT_TRUE(buffer_make(&other, VGPU_MOCK_BUF_PFN, 3 * PAGE));
	place = mmap(self->memory + 2 * PAGE, 3 * PAGE, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_FIXED, other.fwd, other.offset);
	ASSERT_EQ(self->memory + 2 * PAGE, place);
	ASSERT_EQ(0, buffer_do(&other, VGPU_MOCK_IOC_BUF_FILL, 99, 0));
	EXPECT_TRUE(memory_is(place, 3 * PAGE, 99));
	EXPECT_EQ(0, memcmp(self->window + at, self->memory, 2 * PAGE));
	EXPECT_NE(0, memcmp(self->window + at + 2 * PAGE, place, PAGE));
	EXPECT_EQ(0, self->window[at + 2 * PAGE + 8]);
	EXPECT_EQ(0, self->window[at + 5 * PAGE - 8]);
	EXPECT_EQ(0, memcmp(self->window + at + 5 * PAGE, self->memory + 5 * PAGE, 3 * PAGE));
	/* The other buffer is seen at the offset where it is bound. */
	EXPECT_NE(0, find(self->window, &other));
	ASSERT_EQ(0, munmap(place, 3 * PAGE));
	EXPECT_EQ(0, self->window[at + 3 * PAGE]);
	buffer_end(&other);
}

/*
 * The window is destroyed while a hypervisor has it mapped: the hypervisor sees nothing and gets
 * no signal.
 */
TEST_F(peer, destroyed)
{
	unsigned long at;

	BEGIN(VGPU_MOCK_BUF_PFN, 4 * PAGE);
	at = find(self->window, &self->buffer);
	ASSERT_NE(0, at);
	ASSERT_EQ(0, tool_run("vgpuctl window destroy --to 1 --force")->status);
	EXPECT_TRUE(is_empty(self->window));
	EXPECT_EQ(0, touch(self->window + at, true));
	EXPECT_EQ(-1, open(WINDOW_PATH, O_RDWR));
	/*
	 * Another window of the same name shows the program's memory. The mapping of the
	 * destroyed window does not.
	 */
	ASSERT_EQ(0, tool_run("vgpuctl window create --to 1 --size 1M")->status);
	ASSERT_TRUE(window_await("bindings", 1));
	EXPECT_EQ(0, find(self->window, &self->buffer));
	self->fd = open(WINDOW_PATH, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->fd);
	self->window = window_map(self->fd);
	ASSERT_NE(NULL, self->window);
	EXPECT_NE(0, find(self->window, &self->buffer));
}

/* Programs with secrets come and go, drivers move and free pages: no secret stays visible. */
TEST_F_TIMEOUT(peer, hunt, 120)
{
	uint64_t end = tool_now_ms() + (getenv("VGPU_TIMES") ? 2000 : 10000);
	unsigned long looked = 0, found = 0, i;
	unsigned int made = 0;
	volatile uint32_t *at;
	volatile bool *over;
	pid_t children[2];
	int status, c;

	NEEDS_WINDOW();
	over = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, over);
	for (c = 0; c < 2; c++) {
		children[c] = fork();
		if (children[c])
			continue;
		/*
		 * Each child writes secrets to buffers, moves some buffers, and unmaps some in
		 * parts.
		 */
		for (; !*over; made++) {
			struct buffer buffer;
			char *memory;

			if (!buffer_make(&buffer, made % 4, 8 * PAGE))
				_exit(1);
			memory = buffer_map(&buffer, buffer.fwd, PROT_READ | PROT_WRITE);
			if (!memory)
				_exit(2);
			for (i = 0; i < buffer.size; i += 4)
				*(uint32_t *)(memory + i) = 0x5ec4e700 + c;
			if (made % 3 == 0)
				buffer_do(&buffer, VGPU_MOCK_IOC_BUF_INVALIDATE, 0, 0);
			if (made % 5 == 0)
				munmap(memory + 2 * PAGE, 3 * PAGE);
			for (i = 0; i < 2 * PAGE; i += 4)
				if (*(uint32_t *)(memory + i) != 0x5ec4e700 + (unsigned int)c)
					_exit(3);
			munmap(memory, buffer.size);
			buffer_end(&buffer);
		}
		_exit(0);
	}
	/* Each word is a secret of one of the children or 0: neither poison nor a mix of words. */
	while (tool_now_ms() < end || (!found && tool_now_ms() < end + 30000)) {
		for (i = PAGE; i < WINDOW_SIZE; i += 1020) {
			at = (void *)(self->window + i);
			looked++;
			switch (*at) {
			case 0x5ec4e700:
			case 0x5ec4e701:
				found++;
				break;
			case 0:
				break;
			default:
				ASSERT_TRUE(false) TH_LOG("%#x at %#lx", *at, i);
			}
		}
	}
	*over = true;
	for (c = 0; c < 2; c++) {
		ASSERT_EQ(children[c], waitpid(children[c], &status, 0));
		EXPECT_EQ(0, status);
	}
	ASSERT_TRUE(window_await("bindings", 0));
	EXPECT_TRUE(is_empty(self->window));
	EXPECT_LT(0, found);
	TH_LOG("looked %lu times, at something %lu times, %ld moves", looked, found,
	       window_status("zaps"));
}

TEST_HARNESS_MAIN
