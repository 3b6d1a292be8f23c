// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory runs out in a program's control group, in the group of a guest's shadows, and in the whole
 * machine. The kernel kills that program or its shadow, in the middle of calls, mmaps and page
 * faults. Other programs go on, and nothing stays.
 */
#include "deaths_load.h"
#include "hostile_host.h"
#include "window.h"

#include "kselftest_harness.h"

#define GROUP		"/sys/fs/cgroup/test-oom"
#define MIB		(1UL << 20)
#define ROUNDS		8
#define HURRIED		3
/* Memory of a program's group. */
#define PROGRAM_MAX	(24 * MIB)
/* The group of this machine's guest, what its shadows may take in addition, and what one asks for. */
#define GUEST_GROUP	BASELINE_GROUPS "/vgpu-guest-1-22586"
#define SHADOW_MORE	(12 * MIB)
#define ASKED		MIB
#define ASKERS		24

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

/*
 * Lets the other guest of in_a_shadow connect for the first time: a host remembers a guest's rates
 * and its budget of waiting time when it is gone.
 */
static bool meet_other(void)
{
	struct peer peer = { .control = -1 };
	bool met;

	real_path = getenv("VGPU_REAL");
	met = !export_as("oom", NULL, LOOPBACK, PORT, false) && !peer_open(&peer, LOOPBACK, PORT);
	peer_close(&peer);
	met &= eventually(no_guest, NULL, SLACK_MS);
	return !unexport("oom") && met;
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
	if (tool_has_host())
		ASSERT_TRUE(meet_other());
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

/*
 * Maps the device again and again: more pages than the group may have. Each buffer is destroyed:
 * memory of the device is not the group's, and would run out before the program's in a window.
 */
static void *map_for_ever(void *data)
{
	struct vgpu_mock_buf_create create = {
		.size = 2 * PROGRAM_MAX, .flavour = VGPU_MOCK_BUF_PFN,
	};
	struct vgpu_mock_buf_range range = { };
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
		range.id = create.out_id;
		if (ioctl(fd, VGPU_MOCK_IOC_BUF_DESTROY, &range))
			_exit(109);
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

/*
 * Makes calls with much memory until one fails because the shadow is gone. The host may have no
 * memory for a call instead: ENOMEM. Return: NULL if that was the error.
 */
static void *ask_for_ever(void *data)
{
	int fd = *(int *)data, error;
	struct vgpu_mock_large large = { .length = ASKED };

	large.ptr = (uintptr_t)malloc(ASKED);
	while (!ioctl(fd, VGPU_MOCK_IOC_LARGE_INOUT, &large) || errno == ENOMEM)
		;
	error = errno;
	free((void *)(uintptr_t)large.ptr);
	return error == ENODEV ? NULL : strerror(error);
}

/*
 * A program whose threads ask for more memory at once than the guest's group may have. Return: its
 * pid. The program ends with status 0 when its shadow is gone and it has got another one.
 */
static pid_t asking(void)
{
	pthread_t threads[ASKERS];
	unsigned int i, wrong = 0;
	pid_t pid = fork();
	void *error;
	int fd;

	if (pid)
		return pid;
	prctl(PR_SET_NAME, "asking");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = load_open();
	for (i = 0; i < ASKERS; i++)
		if (pthread_create(&threads[i], NULL, ask_for_ever, &fd))
			_exit(111);
	for (i = 0; i < ASKERS; i++) {
		pthread_join(threads[i], &error);
		if (error)
			fprintf(stderr, "# a call of the killed shadow: %s\n", (char *)error);
		wrong += !!error;
	}
	if (wrong || !ioctl(fd, VGPU_MOCK_IOC_NOOP, 0) || errno != ENODEV)
		_exit(112);
	close(fd);
	fd = open(getenv("VGPU_FWD"), O_RDWR | O_CLOEXEC);
	_exit(fd < 0 || ioctl(fd, VGPU_MOCK_IOC_NOOP, 0) ? 113 : 0);
}

/**
 * struct other - another guest, played by a thread of the test
 * @peer: its connection
 * @lane: its only lane
 * @object: its file of the device
 * @stop: true if it is to end
 * @calls: number of its calls that succeeded
 * @failed: true if a call did not
 */
struct other {
	struct peer peer;
	int lane;
	uint32_t object;
	bool stop;
	unsigned long calls;
	bool failed;
};

/* Returns the time since which this machine's guest is connected; 0: it is not. */
static uint64_t connected_since(void)
{
	struct vgpu_host_info *info;
	struct vgpu_agent *agent;
	uint64_t since = 0;
	size_t i;

	if (vgpu_agent_open(NULL, &agent))
		return 0;
	if (!vgpu_agent_status(agent, &info)) {
		for (i = 0; i < info->nr_guests; i++)
			if (info->guests[i]->port != PORT)
				since = info->guests[i]->since;
		vgpu_host_info_free(info);
	}
	vgpu_agent_close(agent);
	return since;
}

static void *other_run(void *data)
{
	struct other *other = data;
	char answer[4096];

	while (!__atomic_load_n(&other->stop, __ATOMIC_RELAXED) && !other->failed) {
		if (!peer_ioctl_send(other->lane, other->object, other->calls + 2,
				     VGPU_MOCK_IOC_NOOP, NULL, 0, 0) ||
		    peer_reply(other->lane, answer, sizeof(answer), SLACK_MS) ||
		    !peer_ping(&other->peer))
			other->failed = true;
		while (recv(other->peer.control, answer, sizeof(answer), MSG_DONTWAIT) > 0)
			;
		other->calls++;
		usleep(20000);
	}
	return NULL;
}

/*
 * The group of a guest's shadows has no more memory: the kernel kills the shadow. Its program sees
 * ENODEV and begins again. The guest stays connected, and another guest notices nothing. The guest
 * has no other programs: the kernel compares memory of processes, and not what drivers allocate for
 * them, so it might kill their shadows first.
 */
TEST_F_TIMEOUT(oom, in_a_shadow, 120)
{
	struct other other = { };
	long long kills, now;
	pthread_t thread;
	unsigned int i;
	uint64_t since;
	int status;

	if (!tool_has_host())
		SKIP(return, "needs the host in the same machine");
	NEEDS_HOST();
	load_end();
	/* The teardown calls it again. */
	memset(load->slots, 0, sizeof(load->slots));
	load->pass[0] = -1;
	load->pass[1] = -1;
	ASSERT_TRUE(baseline_is(&self->before, self->name));
	ASSERT_EQ(0, export_as("oom", NULL, LOOPBACK, PORT, false));
	HOST_BEGIN(&other.peer, other.lane, other.object);
	ASSERT_EQ(0, pthread_create(&thread, NULL, other_run, &other));
	since = connected_since();
	kills = baseline_field(GUEST_GROUP "/memory.events", "oom_kill ");
	EXPECT_LE(0, kills);
	for (i = 0; i < rounds() && !_metadata->exit_code; i++) {
		now = baseline_field(GUEST_GROUP "/memory.current", "");
		EXPECT_EQ(0, tool_run("vgpuctl limit 1 memory=%lld", now + SHADOW_MORE)->status);
		status = -1;
		EXPECT_LT(0, waitpid(asking(), &status, 0));
		EXPECT_EQ(0, status);
	}
	EXPECT_EQ(0, tool_run("vgpuctl limit 1 memory=")->status);
	kills = baseline_field(GUEST_GROUP "/memory.events", "oom_kill ") - kills;
	EXPECT_EQ(i, kills);
	EXPECT_EQ(since, connected_since());
	EXPECT_EQ(0, load_errors_but(ENODEV, ENOMEM));
	__atomic_store_n(&other.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	TH_LOG("%lld shadows killed in %u rounds; the other guest made %lu calls", kills, i,
	       other.calls);
	EXPECT_FALSE(other.failed);
	close(other.lane);
	peer_close(&other.peer);
	EXPECT_TRUE(eventually(no_guest, NULL, SLACK_MS));
	unexport("oom");
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
