// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test what a hypervisor sees of the window: each kind of memory that is bound, and nothing of what
 * was unbound, revoked or destroyed.
 */
#include <endian.h>
#include <linux/vgpu_wire.h>
#include <sys/wait.h>

#include "window_peer.h"

/* Kinds of buffers that every hypervisor can map. */
static const __u32 flavours[] = {
	VGPU_MOCK_BUF_PFN, VGPU_MOCK_BUF_REMAP, VGPU_MOCK_BUF_MIXED, VGPU_MOCK_BUF_PAGE,
	VGPU_MOCK_BUF_VMALLOC, VGPU_MOCK_BUF_PFN | VGPU_MOCK_BUF_NOTIFY,
	VGPU_MOCK_BUF_PAGE | VGPU_MOCK_BUF_NOTIFY,
};

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
