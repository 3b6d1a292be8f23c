// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory runs out in a program's control group and in the whole machine. The kernel kills that
 * program, in the middle of calls, mmaps and page faults. Other programs go on, and nothing stays.
 */
#include "deaths_load.h"
#include "window.h"

#include "kselftest_harness.h"

#define GROUP		"/sys/fs/cgroup/test-oom"
#define MIB		(1UL << 20)
#define ROUNDS		8
#define HURRIED		3
/* Memory of a program's group. */
#define PROGRAM_MAX	(24 * MIB)

FIXTURE(oom) {
	const char *name;
	struct baseline before;
	unsigned long state;
	bool window;
};

FIXTURE_VARIANT(oom) {
	bool window;
};

FIXTURE_VARIANT_ADD(oom, copies) {
};

FIXTURE_VARIANT_ADD(oom, window) {
	.window = true,
};

static unsigned int rounds(void)
{
	return getenv("VGPU_TIMES") ? HURRIED : ROUNDS;
}

static bool make_window(void)
{
	return window_begin("64M");
}

FIXTURE_SETUP(oom)
{
	const char *seed = getenv("VGPU_SEED");

	self->name = getenv("VGPU_NAME");
	if (geteuid() || !getenv("VGPU_FWD") || !strcmp(getenv("VGPU_TIER") ?: "", "native"))
		SKIP(return, "needs root and a forwarded device");
	if (access("/sys/fs/cgroup/cgroup.controllers", F_OK))
		SKIP(return, "needs control groups of version 2");
	if (variant->window && !window_possible())
		SKIP(return, "needs the host module in the same machine");
	self->state = seed ? strtoul(seed, NULL, 0) : tool_now_ms() * 1000003 + getpid();
	TH_LOG("seed %lu", self->state);
	if (variant->window)
		ASSERT_TRUE(load_apart(make_window));
	self->window = variant->window;
	/* vgpud has done this where it is in the same machine. */
	tool_write("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	ASSERT_TRUE(!mkdir(GROUP, 0755) || errno == EEXIST);
	ASSERT_TRUE(load_rest(&self->before)) TH_LOG("%s", self->before.text);
	ASSERT_TRUE(load_begin(self->name, self->state));
}

FIXTURE_TEARDOWN(oom)
{
	if (!load)
		return;
	load_end();
	load_print_errors();
	EXPECT_EQ(0, load->wrong);
	EXPECT_TRUE(baseline_is(&self->before, self->name));
	if (self->window)
		window_end();
	rmdir(GROUP);
}

/* Maps the device again and again: more pages than the group may have. */
static void *map_for_ever(void *data)
{
	struct vgpu_mock_buf_create create = {
		.size = 2 * PROGRAM_MAX, .flavour = VGPU_MOCK_BUF_PFN,
	};
	int fd = *(int *)data;
	volatile char *memory;
	unsigned long at;

	for (;;) {
		if (ioctl(fd, VGPU_MOCK_IOC_BUF_CREATE, &create))
			_exit(101);
		memory = mmap(NULL, create.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			      create.out_offset);
		if (memory == MAP_FAILED)
			_exit(102);
		for (at = 0; at < create.size; at += LOAD_PAGE)
			memory[at] = at;
		munmap((void *)memory, create.size);
	}
	return NULL;
}

static void *call_for_ever(void *data)
{
	int fd = *(int *)data;
	unsigned int salt = 0;

	/* The call may get no memory. */
	while (!load_array(fd, salt, salt % 2) || errno == ENOMEM)
		salt++;
	_exit(103);
}

/* Writes memory until the kernel kills the program. */
static void grow(size_t step, unsigned int pause_us)
{
	char *memory;

	for (;;) {
		memory = mmap(NULL, step, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		if (memory == MAP_FAILED)
			_exit(104);
		memset(memory, 1, step);
		usleep(pause_us);
	}
}

/* A program that uses the device and needs more and more memory. Return: its pid. */
static pid_t hungry(const char *name, const char *group, size_t step, unsigned int pause_us)
{
	pthread_t thread;
	pid_t pid = fork();
	int fd;

	if (pid)
		return pid;
	prctl(PR_SET_NAME, "hungry");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (group && !tool_write(group, "0"))
		_exit(105);
	if (!tool_write("/proc/self/oom_score_adj", "1000"))
		_exit(106);
	fd = load_open();
	if (pthread_create(&thread, NULL, map_for_ever, &fd) ||
	    pthread_create(&thread, NULL, call_for_ever, &fd))
		_exit(107);
	grow(step, pause_us);
	_exit(108);
}

/* Expects that the kernel kills the program. */
static void expect_killed(struct __test_metadata *_metadata, pid_t pid)
{
	int status = 0;

	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) TH_LOG("status %x", status);
}

/* A program's group has no more memory: the kernel kills that program. No call of others fails. */
TEST_F_TIMEOUT(oom, in_a_program, 120)
{
	char limit[32];
	long long kills;
	unsigned int i;

	snprintf(limit, sizeof(limit), "%lu", PROGRAM_MAX);
	ASSERT_TRUE(tool_write(GROUP "/memory.max", limit));
	/* A kernel without swap does not have the file. */
	tool_write(GROUP "/memory.swap.max", "0");
	kills = baseline_field(GROUP "/memory.events", "oom_kill ");
	for (i = 0; i < rounds() && !_metadata->exit_code; i++)
		expect_killed(_metadata, hungry(self->name, GROUP "/cgroup.procs", 65536,
						load_random(&self->state) % 8000));
	EXPECT_EQ(kills + i, baseline_field(GROUP "/memory.events", "oom_kill "));
	EXPECT_EQ(0, load_errors_but(0, 0));
	EXPECT_EQ(0, load->lost);
}

/* The whole machine has no more memory. */
TEST_F_TIMEOUT(oom, in_the_machine, 240)
{
	long long kills = baseline_field("/proc/vmstat", "oom_kill ");

	if (variant->window)
		SKIP(return, "memory of the machine does not depend on the window");
	expect_killed(_metadata, hungry(self->name, NULL, 4 * MIB, 100));
	EXPECT_EQ(kills + 1, baseline_field("/proc/vmstat", "oom_kill "));
	EXPECT_EQ(0, load_errors_but(0, 0));
	EXPECT_EQ(0, load->lost);
}

TEST_HARNESS_MAIN
