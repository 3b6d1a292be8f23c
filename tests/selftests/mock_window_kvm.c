// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test the window with KVM. This program is a hypervisor with one processor, whose machine reads
 * and writes words of the window while a driver moves their pages. KVM must always get a page:
 * it would stop the machine otherwise.
 */
#include <linux/kvm.h>

#include "window.h"

#include "kselftest_harness.h"

#define WINDOW_SIZE	(16UL << 20)
#define HUGE_PFN	(VGPU_MOCK_BUF_PFN | VGPU_MOCK_BUF_HUGE)
/* Addresses of the window and of the code in the machine, offsets in the code, I/O ports */
#define GUEST_WINDOW	0x40000000UL
#define GUEST_CODE	0x1000UL
#define CODE_READ	0
#define CODE_WRITE	32
#define CODE_LOOK	64
#define PORT_DONE	0x10
#define PORT_BAD	0x11

/* Compares a word every ebp bytes from esi to edi with ebx. */
static const unsigned char code_read[] = {
	0x8b, 0x06,		/* mov (%esi), %eax */
	0x39, 0xd8,		/* cmp %ebx, %eax */
	0x75, 0x08,		/* jne 1f */
	0x01, 0xee,		/* add %ebp, %esi */
	0x39, 0xfe,		/* cmp %edi, %esi */
	0x72, 0xf4,		/* jb 0b */
	0xe6, PORT_DONE,	/* out %al, $PORT_DONE */
	0xe6, PORT_BAD,		/* 1: out %al, $PORT_BAD */
};

/* Writes ebx to a word every ebp bytes from esi to edi. */
static const unsigned char code_write[] = {
	0x89, 0x1e,		/* mov %ebx, (%esi) */
	0x01, 0xee,		/* add %ebp, %esi */
	0x39, 0xfe,		/* cmp %edi, %esi */
	0x72, 0xf8,		/* jb 0b */
	0xe6, PORT_DONE,	/* out %al, $PORT_DONE */
};

/* Reads a word every ebp bytes from esi to edi, and accepts any value. */
static const unsigned char code_look[] = {
	0x8b, 0x06,		/* mov (%esi), %eax */
	0x01, 0xee,		/* add %ebp, %esi */
	0x39, 0xfe,		/* cmp %edi, %esi */
	0x72, 0xf8,		/* jb 0b */
	0xe6, PORT_DONE,	/* out %al, $PORT_DONE */
};

FIXTURE(kvm)
{
	struct buffer buffer;
	char *memory;		/* the program's mapping */
	char *window;		/* the hypervisor's mapping */
	unsigned long at;	/* offset of the memory in the window */
	int kvm;
	int vm;
	int vcpu;
	struct kvm_run *run;
};

static bool machine_memory(int vm, int slot, __u64 guest, void *memory, __u64 size)
{
	struct kvm_userspace_memory_region region = {
		.slot = slot, .guest_phys_addr = guest, .memory_size = size,
		.userspace_addr = (unsigned long)memory,
	};

	return !ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region);
}

/* Sets protected mode with flat segments and without paging. */
static bool machine_mode(int vcpu)
{
	struct kvm_segment flat = {
		.limit = 0xffffffff, .selector = 8, .type = 11, .present = 1, .db = 1, .s = 1, .g = 1,
	};
	struct kvm_sregs sregs;

	if (ioctl(vcpu, KVM_GET_SREGS, &sregs))
		return false;
	sregs.cs = flat;
	flat.type = 3;
	flat.selector = 16;
	sregs.ds = sregs.es = sregs.ss = flat;
	sregs.cr0 |= 1;
	return !ioctl(vcpu, KVM_SET_SREGS, &sregs);
}

FIXTURE_SETUP(kvm)
{
	char *code;
	int fd;

	memset(self, 0, sizeof(*self));
	self->kvm = -1;
	if (!window_possible())
		return;
	tool_run("modprobe -q kvm-amd || modprobe -q kvm-intel nested=0");
	self->kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	if (self->kvm < 0)
		return;
	ASSERT_TRUE(window_begin("16M"));
	fd = open(WINDOW_PATH, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, fd);
	self->window = mmap(NULL, WINDOW_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, self->window);
	self->vm = ioctl(self->kvm, KVM_CREATE_VM, 0);
	ASSERT_LE(0, self->vm);
	code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, code);
	memcpy(code + CODE_READ, code_read, sizeof(code_read));
	memcpy(code + CODE_WRITE, code_write, sizeof(code_write));
	memcpy(code + CODE_LOOK, code_look, sizeof(code_look));
	ASSERT_TRUE(machine_memory(self->vm, 0, GUEST_CODE, code, PAGE));
	ASSERT_TRUE(machine_memory(self->vm, 1, GUEST_WINDOW, self->window, WINDOW_SIZE));
	self->vcpu = ioctl(self->vm, KVM_CREATE_VCPU, 0);
	ASSERT_LE(0, self->vcpu);
	self->run = mmap(NULL, ioctl(self->kvm, KVM_GET_VCPU_MMAP_SIZE, 0), PROT_READ | PROT_WRITE,
			 MAP_SHARED, self->vcpu, 0);
	ASSERT_NE(MAP_FAILED, self->run);
	ASSERT_TRUE(machine_mode(self->vcpu));
}

FIXTURE_TEARDOWN(kvm)
{
	if (self->kvm >= 0)
		window_end();
}

/* Maps a new buffer in a program, sets its words to @value, and finds it in the window. */
#define BEGIN(flavour, size, value) do {				\
	NEEDS_WINDOW();							\
	if (self->kvm < 0)						\
		SKIP(return, "no KVM in this machine");			\
	ASSERT_TRUE(buffer_make(&self->buffer, flavour, size));		\
	self->memory = buffer_map(&self->buffer, self->buffer.fwd, PROT_READ | PROT_WRITE); \
	ASSERT_NE(NULL, self->memory);					\
	ASSERT_EQ(1, window_counter(self->buffer.fwd, "window_mappings")); \
	memory_set(self->memory, size, value);				\
	self->at = find(self->window, size, value);			\
	ASSERT_NE(0, self->at);						\
} while (0)

static void memory_set(char *memory, size_t size, uint32_t value)
{
	size_t i;

	for (i = 0; i < size; i += 4)
		*(volatile uint32_t *)(memory + i) = value;
}

/*
 * Returns the offset of a buffer with that value in the window; 0: not found. For 2 MiB or more
 * only offsets where a PMD mapping fits are tried, so no other page is accessed.
 */
static unsigned long find(const char *window, size_t size, uint32_t value)
{
	size_t at, step = size >= HUGE ? HUGE : PAGE;

	for (at = step; at < WINDOW_SIZE; at += step)
		if (*(volatile uint32_t *)(window + at) == value)
			return at;
	return 0;
}

/*
 * Runs the machine's code over @size bytes. Return: PORT_DONE, PORT_BAD, -errno, or -1000 minus
 * an unexpected exit reason.
 */
static int pass(int vcpu, struct kvm_run *run, int code, unsigned long at, size_t size,
		uint32_t step, uint32_t value)
{
	struct kvm_regs regs = {
		.rip = GUEST_CODE + code, .rflags = 2, .rbx = value, .rbp = step,
		.rsi = GUEST_WINDOW + at, .rdi = GUEST_WINDOW + at + size,
	};

	if (ioctl(vcpu, KVM_SET_REGS, &regs) || (ioctl(vcpu, KVM_RUN, 0) && errno != EINTR))
		return -errno;
	if (run->exit_reason != KVM_EXIT_IO)
		return -1000 - run->exit_reason;
	return run->io.port;
}

#define READ(step, value) \
	pass(self->vcpu, self->run, CODE_READ, self->at, self->buffer.size, step, value)
#define WRITE(step, value) \
	pass(self->vcpu, self->run, CODE_WRITE, self->at, self->buffer.size, step, value)

/* Returns the number of PMD mappings in all page tables of KVM; -1: unknown. */
static long kvm_has_huge(void)
{
	char line[64];

	tool_run("mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug");
	tool_read_line("/sys/kernel/debug/kvm/pages_2m", line, sizeof(line));
	return line[0] ? atol(line) : -1;
}

TEST_F_TIMEOUT(kvm, reads_and_writes, 60)
{
	BEGIN(VGPU_MOCK_BUF_PFN, 8 * PAGE, 11);
	EXPECT_EQ(PORT_DONE, READ(4, 11));
	self->memory[3 * PAGE] = 12;
	EXPECT_EQ(PORT_BAD, READ(4, 11));
	EXPECT_EQ(PORT_DONE, WRITE(4, 13));
	EXPECT_EQ(13, *(uint32_t *)(self->memory + 8 * PAGE - 4));
	EXPECT_EQ(PORT_DONE, READ(4, 13));
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_INVALIDATE, 0, 0));
	EXPECT_EQ(PORT_DONE, READ(4, 13));
	ASSERT_EQ(0, munmap(self->memory, 8 * PAGE));
	ASSERT_TRUE(window_await("bindings", 0));
	EXPECT_EQ(PORT_DONE, READ(4, 0));
	EXPECT_EQ(0, window_status("failures"));
}

/* KVM maps 2 MiB by one PMD mapping as well, and zaps it as a whole. */
TEST_F_TIMEOUT(kvm, huge, 60)
{
	long before;

	NEEDS_THP();
	NEEDS_WINDOW();
	before = kvm_has_huge();
	BEGIN(HUGE_PFN, 2 * HUGE, 21);
	EXPECT_EQ(PORT_DONE, READ(PAGE, 21));
	if (window_huge_possible()) {
		/* Program and hypervisor have two PMD mappings each. */
		EXPECT_EQ(4, window_status("huge"));
		if (before >= 0)
			EXPECT_EQ(before + 2, kvm_has_huge());
	}
	EXPECT_EQ(PORT_DONE, WRITE(PAGE / 2, 22));
	EXPECT_EQ(22, *(uint32_t *)(self->memory + HUGE + PAGE / 2));
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_INVALIDATE, 0, 0));
	if (before >= 0)
		EXPECT_EQ(before, kvm_has_huge());
	EXPECT_EQ(PORT_DONE, READ(PAGE / 2, 22));
	EXPECT_EQ(0, window_status("failures"));
	/* A part of a PMD mapping is unmapped. */
	ASSERT_EQ(0, munmap(self->memory, PAGE));
	ASSERT_EQ(0, buffer_settle(&self->buffer));
	EXPECT_EQ(PORT_DONE, pass(self->vcpu, self->run, CODE_READ, self->at, PAGE, 4, 0));
	EXPECT_EQ(PORT_DONE, pass(self->vcpu, self->run, CODE_READ, self->at + PAGE,
				  2 * HUGE - PAGE, PAGE / 2, 22));
	ASSERT_EQ(0, munmap(self->memory, 2 * HUGE));
	ASSERT_TRUE(window_await("bindings", 0));
	EXPECT_EQ(PORT_DONE, READ(PAGE, 0));
	TH_LOG("KVM had %ld before", before);
}

/*
 * A slow driver does not stop the machine, and the machine gets the page when the driver is
 * quick again.
 */
TEST_F_TIMEOUT(kvm, slow_driver, 60)
{
	uint64_t start, took;
	int i;

	BEGIN(VGPU_MOCK_BUF_PFN, 4 * PAGE, 51);
	ASSERT_EQ(PORT_DONE, READ(4, 51));
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_SLOW, 0, 8000));
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_INVALIDATE, 0, 0));
	start = tool_now_ms();
	/*
	 * The machine gets the window's own page after two seconds, which count from the last
	 * tick: they may be shorter.
	 */
	EXPECT_EQ(PORT_BAD, READ(4, 51));
	took = tool_now_ms() - start;
	EXPECT_LE(1000, took);
	EXPECT_GT(7500, took);
	EXPECT_EQ(1, window_status("timeouts"));
	/* The window's own page is mapped by now, and other pages are not delayed in any case. */
	start = tool_now_ms();
	EXPECT_EQ(PORT_DONE, pass(self->vcpu, self->run, CODE_READ, self->at, PAGE, 4, 0));
	EXPECT_EQ(PORT_DONE, pass(self->vcpu, self->run, CODE_READ, WINDOW_SIZE / 2, 4 * PAGE, 4, 0));
	EXPECT_GT(1900, tool_now_ms() - start);
	/* The guest asks for the page, and is answered when the driver has returned. */
	ASSERT_EQ(0, buffer_do(&self->buffer, VGPU_MOCK_IOC_BUF_SLOW, 0, 0));
	for (i = 0; i < 100 && touch(self->memory, false); i++)
		usleep(100000);
	EXPECT_EQ(51, *(volatile uint32_t *)self->memory);
	for (i = 0; i < 100 && READ(4, 51) != PORT_DONE; i++)
		usleep(100000);
	EXPECT_EQ(PORT_DONE, READ(4, 51));
	EXPECT_EQ(PORT_DONE, WRITE(4, 52));
	EXPECT_EQ(52, *(volatile uint32_t *)self->memory);
	TH_LOG("the machine waited for %llu ms", (unsigned long long)took);
}

/*
 * The hypervisor reads the memory, too. So KVM's faults find pages that were resolved for
 * another fault, and insert them at the first attempt.
 */
struct looker {
	const struct mover *mover;
	const char *memory;
	size_t size;
};

static void *looker(void *data)
{
	const struct looker *looker = data;
	size_t at;

	while (!looker->mover->stop)
		for (at = 0; at < looker->size; at += PAGE)
			*(volatile char *)(looker->memory + at);
	return NULL;
}

#define MOVED(flavour, size, step) do {					\
	struct mover mover = { .buffer = &self->buffer };		\
	struct looker looked;						\
	pthread_t thread, other;					\
	uint32_t value = 31;						\
	uint64_t end;							\
									\
	BEGIN(flavour, size, value);					\
	looked = (struct looker){ &mover, self->window + self->at, size }; \
	ASSERT_EQ(0, pthread_create(&thread, NULL, mover_run, &mover));	\
	ASSERT_EQ(0, pthread_create(&other, NULL, looker, &looked));	\
	end = tool_now_ms() + (getenv("VGPU_TIMES") ? 1000 : 5000);	\
	for (; tool_now_ms() < end || mover.moves <= 5; value++) {	\
		ASSERT_EQ(PORT_DONE, READ(step, value)) TH_LOG("pass %u", value); \
		ASSERT_EQ(PORT_DONE, WRITE(step, value + 1)) TH_LOG("pass %u", value); \
	}								\
	mover.stop = true;						\
	pthread_join(thread, NULL);					\
	pthread_join(other, NULL);					\
	EXPECT_LT(5, mover.moves);					\
	EXPECT_EQ(0, window_status("failures"));			\
	TH_LOG("%u passes over %u moves", value - 31, mover.moves);	\
} while (0)

TEST_F_TIMEOUT(kvm, moved, 60)
{
	MOVED(VGPU_MOCK_BUF_PFN, 8 * PAGE, 64);
}

TEST_F_TIMEOUT(kvm, moved_huge, 60)
{
	NEEDS_THP();
	MOVED(HUGE_PFN, HUGE, 4096);
}

/*
 * A program maps and unmaps memory again and again, so the window shows its own page and the
 * program's pages in turn. KVM's faults insert the window's own page at the first attempt. The
 * machine reads the window meanwhile. The machine finds nothing of the program's memory after a
 * call of the program has returned, as the memory is unbound by then.
 */
enum binder_state { BINDER_GOES_ON, BINDER_BOUND, BINDER_UNBOUND, BINDER_FAILED };

struct binder {
	const struct buffer *buffer;
	volatile enum binder_state state;
	volatile bool stop;
	unsigned int mappings;
};

/* Sets the state, and waits until the machine has read the window once more. */
static void binder_tell(struct binder *binder, enum binder_state state)
{
	binder->state = state;
	while (!binder->stop && binder->state == state)
		usleep(100);
}

static void *binder_run(void *data)
{
	struct binder *binder = data;
	const struct buffer *buffer = binder->buffer;

	while (!binder->stop) {
		char *memory = buffer_map(buffer, buffer->fwd, PROT_READ | PROT_WRITE);

		if (!memory)
			break;
		binder_tell(binder, BINDER_BOUND);
		munmap(memory, buffer->size);
		if (buffer_settle(buffer))
			break;
		binder_tell(binder, BINDER_UNBOUND);
		binder->mappings++;
	}
	binder->state = BINDER_FAILED;
	return NULL;
}

/* Runs the code over a word of each page of the window, except for the header. */
#define ALL(code) \
	pass(self->vcpu, self->run, code, PAGE, WINDOW_SIZE - PAGE, PAGE, 0)

TEST_F_TIMEOUT(kvm, bound_and_unbound, 60)
{
	uint64_t end = tool_now_ms() + (getenv("VGPU_TIMES") ? 1000 : 5000);
	struct binder binder = { .buffer = &self->buffer };
	enum binder_state state;
	unsigned int passes;
	pthread_t thread;

	BEGIN(VGPU_MOCK_BUF_PFN, 256 * PAGE, 0x5ec7e7);
	ASSERT_EQ(0, munmap(self->memory, 256 * PAGE));
	ASSERT_EQ(0, buffer_settle(&self->buffer));
	ASSERT_EQ(PORT_DONE, ALL(CODE_READ));
	ASSERT_EQ(0, pthread_create(&thread, NULL, binder_run, &binder));
	for (passes = 0; tool_now_ms() < end || binder.mappings < 6; passes++) {
		state = binder.state;
		ASSERT_NE(BINDER_FAILED, state);
		if (state == BINDER_GOES_ON) {
			ASSERT_EQ(PORT_DONE, ALL(CODE_LOOK)) TH_LOG("pass %u", passes);
			continue;
		}
		ASSERT_EQ(state == BINDER_BOUND ? PORT_BAD : PORT_DONE, ALL(CODE_READ))
			TH_LOG("pass %u, mapping %u", passes, binder.mappings);
		/* KVM's page tables have all of the window by now. */
		ASSERT_EQ(PORT_DONE, ALL(CODE_LOOK)) TH_LOG("pass %u", passes);
		binder.state = BINDER_GOES_ON;
	}
	binder.stop = true;
	pthread_join(thread, NULL);
	EXPECT_EQ(0, window_status("failures"));
	TH_LOG("%u passes over %u mappings", passes, binder.mappings);
}

TEST_HARNESS_MAIN
