// SPDX-License-Identifier: GPL-2.0-only
/*
 * These tests run the host module with hostile shadows: ../tools/rogue_shadow.c in place of
 * vgpu-shadow. Programs of a guest may get any error then, but they can be killed, and nothing
 * is left of the shadows when the agent has ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/vgpu_host.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "agent.h"
#include "agent_played.h"
#include "hostile_peer.h"
#include "slow.h"
#include "vgpu_mock.h"

#include "kselftest_harness.h"

#define HOSTILE		"/usr/lib/vgpu-test/tools/rogue_shadow"
/* All hostile threads of this version of rogue_shadow only call claim_mapping(). */
#define CLAIMS		"/usr/lib/vgpu-test/tools/rogue_claims"
/* This program serves a lane that another program has served. */
#define LANE_ENTER	"/usr/lib/vgpu-test/tools/lane_enter"
#define SCRATCH_SIZE	0x10000
#define PAGE		4096
/* rogue_shadow.c expects mappings of programs here. */
#define TARGET		((char *)0x200000000000UL)
#define TARGET_PAGES	16
#define PROGRAMS	3
#define TRIES		40
#define MAPS		200
/* Programs without progress are killed after this time in ms. The first open needs longer. */
#define PATIENCE	1500
#define PATIENCE_FIRST	12000
/* The time for the first open is doubled up to this, as a machine may be busy. */
#define PATIENCE_MOST	240000

/* struct done: counts what the programs could do despite their shadows; they share this memory. */
struct done {
	unsigned int opens;
	unsigned int calls;
	unsigned int mappings;
	unsigned int touches;
};

/*
 * Return: true if the module was reached. The shadows choose their actions at random, so this
 * may take a few rounds.
 */
static bool is_enough(const struct done *done)
{
	return done->opens && done->calls && done->mappings;
}

static sigjmp_buf touched;

static void touch_failed(int signr)
{
	siglongjmp(touched, 1);
}

static bool touch(volatile char *page)
{
	if (sigsetjmp(touched, 1))
		return false;
	page[0] = page[1] + 1;
	return true;
}

static void use_mapping(int fd, struct done *done, unsigned int try)
{
	struct vgpu_mock_buf_create create = {
		.size = TARGET_PAGES * PAGE,
		.flavour = try % 2 ? VGPU_MOCK_BUF_PFN : VGPU_MOCK_BUF_PAGE,
	};
	char *memory;
	int i;

	if (ioctl(fd, VGPU_MOCK_IOC_BUF_CREATE, &create))
		return;
	memory = mmap(TARGET, TARGET_PAGES * PAGE, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_FIXED_NOREPLACE, fd, create.out_offset);
	if (memory != TARGET)
		return;
	__atomic_add_fetch(&done->mappings, 1, __ATOMIC_RELAXED);
	for (i = 0; i < TARGET_PAGES; i += 1 + try % 3)
		__atomic_add_fetch(&done->touches, touch(memory + i * PAGE), __ATOMIC_RELAXED);
	munmap(memory, TARGET_PAGES * PAGE);
}

/* Makes calls with described arguments, and one that the module serves page by page. */
static void make_calls(int fd, struct done *done)
{
	static const char text[] = "nothing that anybody has described";
	struct vgpu_mock_string string = { .ptr = (uintptr_t)text };
	struct vgpu_mock_out out;
	unsigned int good = 0;

	good += !ioctl(fd, VGPU_MOCK_IOC_NOOP, 0);
	good += !ioctl(fd, VGPU_MOCK_IOC_OUT, &out);
	good += !ioctl(fd, VGPU_MOCK_IOC_STRING, &string) && string.out_length == sizeof(text) - 1;
	__atomic_add_fetch(&done->calls, good, __ATOMIC_RELAXED);
}

static void *call_again(void *data)
{
	struct vgpu_mock_out out;
	int fd = *(int *)data, i;

	for (i = 0; i < TRIES; i++)
		ioctl(fd, VGPU_MOCK_IOC_OUT, &out);
	return NULL;
}

/* Makes calls by two threads, so that there is a second lane. */
static void program(const char *name, struct done *done)
{
	struct sigaction action = { .sa_handler = touch_failed };
	char node[64] = "";
	pthread_t other;
	bool there;
	int fd, i;

	sigaction(SIGBUS, &action, NULL);
	sigaction(SIGSEGV, &action, NULL);
	for (i = 0; i < TRIES; i++) {
		fd = open(node, O_RDWR);
		if (fd < 0) {
			usleep(20000);
			agent_node(name, node);
			continue;
		}
		__atomic_add_fetch(&done->opens, 1, __ATOMIC_RELAXED);
		there = !pthread_create(&other, NULL, call_again, &fd);
		make_calls(fd, done);
		use_mapping(fd, done, i);
		if (there)
			pthread_join(other, NULL);
		close(fd);
	}
	_exit(0);
}

/* Maps the device, and still has the mapping when its shadow ends. */
static void program_that_maps(const char *name, struct done *done)
{
	struct vgpu_mock_buf_create create = {
		.size = TARGET_PAGES * PAGE, .flavour = VGPU_MOCK_BUF_PFN,
	};
	char node[64] = "", *memory = NULL;
	int fd = -1, i;

	for (i = 0; fd < 0 && i < 500; i++) {
		usleep(20000);
		agent_node(name, node);
		fd = open(node, O_RDWR);
	}
	if (fd < 0)
		_exit(1);
	__atomic_add_fetch(&done->opens, 1, __ATOMIC_RELAXED);
	make_calls(fd, done);
	if (ioctl(fd, VGPU_MOCK_IOC_BUF_CREATE, &create))
		_exit(1);
	for (i = 0; i < MAPS && memory != TARGET; i++)
		memory = mmap(TARGET, TARGET_PAGES * PAGE, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_FIXED_NOREPLACE, fd, create.out_offset);
	__atomic_add_fetch(&done->mappings, memory == TARGET, __ATOMIC_RELAXED);
	for (i = 0; i < MAPS && !ioctl(fd, VGPU_MOCK_IOC_NOOP, 0); i++)
		usleep(10000);
	_exit(0);
}

/*
 * Returns the number of the module's references: those of an agent and of all that is left of
 * shadows.
 */
static int references(void)
{
	FILE *stream = fopen("/sys/module/vgpu_host/refcnt", "r");
	int count = -1;

	if (stream) {
		if (fscanf(stream, "%d", &count) != 1)
			count = -1;
		fclose(stream);
	}
	return count;
}

static unsigned int sum(const struct done *done)
{
	return done->opens + done->calls + done->mappings + done->touches;
}

/*
 * Waits for programs, whose shadow may not answer any more, and kills them when none of them
 * has made progress for @patience ms. Return: true if all have ended.
 */
static bool end_all(pid_t *pids, int nr, const struct done *done, unsigned int patience)
{
	uint64_t now = tool_now_ms(), on = now, enough = now + 20000 + patience;
	uint64_t end = enough + 90000;
	unsigned int before = sum(done);
	int i, left = nr;

	for (; left && now < end; now = tool_now_ms()) {
		if (sum(done) != before)
			on = now;
		before = sum(done);
		for (i = 0; i < nr; i++) {
			if (!pids[i])
				continue;
			if (now - on > patience || now > enough)
				kill(pids[i], SIGKILL);
			if (waitpid(pids[i], NULL, WNOHANG) == pids[i]) {
				pids[i] = 0;
				left--;
			}
		}
		usleep(20000);
	}
	return !left;
}

FIXTURE(shadow) {
	const char *name;
	struct done *done;
};

FIXTURE_SETUP(shadow)
{
	if (!tool_has_host() || tool_user_engine())
		SKIP(return, "needs the host module in the same machine: loopback");
	self->name = getenv("VGPU_NAME");
	self->done = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->done);
	ASSERT_TRUE(agent_keep_exports());
	ASSERT_TRUE(agent_end(self->name, SIGTERM));
}

FIXTURE_TEARDOWN(shadow)
{
	int fd;

	if (!self->done)
		return;
	/* A failed test would leave its agent, and so its shadows, to all later tests. */
	if (tool_processes("/vgpud", NULL))
		EXPECT_TRUE(agent_gone(agent_kill(SIGKILL)));
	fd = agent_start(self->name);
	EXPECT_GE(fd, 0);
	close(fd);
	EXPECT_TRUE(agent_write_env());
}

/*
 * Runs programs in @rounds rounds, or in more until they have reached the module. Return: true
 * if they have, and all have ended.
 */
static bool run_programs(const char *name, struct done *done, int rounds, unsigned int patience,
			 void (*run)(const char *name, struct done *done))
{
	uint64_t end = tool_now_ms() + 1200000;
	unsigned int first = PATIENCE_FIRST;
	pid_t pids[PROGRAMS];
	int round, i;

	for (round = 0; round < rounds || (!is_enough(done) && tool_now_ms() < end); round++) {
		for (i = 0; i < PROGRAMS; i++) {
			pids[i] = fork();
			if (!pids[i])
				run(name, done);
		}
		if (!end_all(pids, PROGRAMS, done, is_enough(done) ? patience : first))
			return false;
		if (!is_enough(done) && first < PATIENCE_MOST)
			first *= 2;
	}
	printf("# %u opens, %u calls, %u mappings, %u touches\n", done->opens, done->calls,
	       done->mappings, done->touches);
	return is_enough(done);
}

/*
 * Ends the agent. Return: true if all its shadows have ended, and the module has nothing left
 * of them.
 */
static bool nothing_is_left(const char *shadow)
{
	bool gone = agent_gone(agent_kill(SIGTERM));
	uint64_t end = tool_now_ms() + AGENT_END_MS;

	gone = agent_await_none(shadow, end) && gone;
	while (references() && tool_now_ms() < end)
		usleep(50000);
	return gone && !references();
}

/* The test itself does not open the device: a hostile shadow may never let it be opened. */
TEST_F_TIMEOUT(shadow, does_what_it_may, 600)
{
	agent_run(HOSTILE);
	EXPECT_TRUE(run_programs(self->name, self->done, getenv("VGPU_TIMES") ? 3 : 6, PATIENCE,
				 program));
	EXPECT_TRUE(nothing_is_left("/rogue_shadow"));
}

/*
 * Threads map the shadow's own file all the time where a lane is mapping the device, also
 * before the module has looked at that mapping. If the module took a reference of that file, it
 * would never be dropped, because the file holds the session, which holds its mappings.
 */
TEST_F_TIMEOUT(shadow, maps_itself, 600)
{
	const int rounds = getenv("VGPU_TIMES") ? 3 : 5;

	agent_run(CLAIMS);
	EXPECT_TRUE(run_programs(self->name, self->done, rounds, PATIENCE_FIRST,
				 program_that_maps));
	EXPECT_TRUE(nothing_is_left("/rogue_claims"));
}

static void on_signal(int signr)
{
}

/*
 * Plays a shadow without confinement. When it is interrupted it executes another program, which
 * has only the lane open. Exits with 0 if it does not get so far.
 */
static void serve_and_exec(int shadow, int sock)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct vgpu_shadow_lane lane = {
		.size = sizeof(lane), .sock_fd = sock, .out_fd = -1,
	};
	struct vgpu_lane_serve serve = {
		.size = sizeof(serve), .scratch = RESERVED_START, .scratch_len = SCRATCH_SIZE,
		.event_fd = -1,
	};

	if (sigaction(VGPU_LANE_SIGNAL, &action, NULL) || ioctl(shadow, VGPU_SHADOW_LANE, &lane) ||
	    dup2(lane.out_fd, 0) || close_range(1, ~0U, 0))
		_exit(0);
	if (ioctl(0, VGPU_LANE_SERVE, &serve) == VGPU_LANE_NEEDS_EVENT)
		execl(LANE_ENTER, "lane_enter", NULL);
	_exit(0);
}

/*
 * Returns the error of a thread that serves a lane again after it has executed a program, or
 * minus the signal that killed the thread.
 */
static int error_after_exec(int agent)
{
	int control[2], lane[2], shadow, status = 0;
	struct vgpu_hdr ready;
	pid_t child;

	if (!connect_ends(control) || !connect_ends(lane))
		return 0;
	shadow = begin_agent(agent, control[1]);
	child = shadow < 0 ? -1 : fork();
	if (!child)
		serve_and_exec(shadow, lane[1]);
	close(shadow);
	close(lane[1]);
	if (child > 0) {
		if (peer_recv(lane[0], &ready, sizeof(ready), 20000) == sizeof(ready) &&
		    peer_type(&ready) == VGPU_MSG_LANE_READY)
			kill(child, VGPU_LANE_SIGNAL);
		else
			kill(child, SIGKILL);
		waitpid(child, &status, 0);
	}
	close(lane[0]);
	close(control[0]);
	close(control[1]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/*
 * A thread that has served a lane is the same thread after it has executed a program, but has
 * another mm, which the module does not know.
 */
TEST_F(shadow, executes_a_program)
{
	int agent = open(VGPU_HOST_DEVICE, O_RDWR | O_CLOEXEC);
	uint64_t end = tool_now_ms() + 20000;

	EXPECT_EQ(EINVAL, error_after_exec(agent));
	/* Nothing of the shadow is left in the module. */
	close(agent);
	while (references() && tool_now_ms() < end)
		usleep(20000);
	EXPECT_EQ(0, references());
}

/**
 * struct race - two threads of a shadow that become the first server of one lane at once
 * @step: 1: the shadow has the lane; 2: the first thread may begin, and is stopped in the module;
 *	3: the second thread may begin
 * @loser: errno of the first thread, or -1 while it has none
 */
struct race {
	int step;
	int loser;
};

static struct race *race;

/* Waits until the value is @least or more. Return: it is. */
static bool await(int *value, int least)
{
	uint64_t end = tool_now_ms() + 20000;

	while (__atomic_load_n(value, __ATOMIC_ACQUIRE) < least && tool_now_ms() < end)
		usleep(1000);
	return __atomic_load_n(value, __ATOMIC_ACQUIRE) >= least;
}

static void set_step(int step)
{
	__atomic_store_n(&race->step, step, __ATOMIC_RELEASE);
}

/* Serves lane 0 with scratch memory at @scratch. Return: 0, or the errno that ends it. */
static int serve_from(uint64_t scratch)
{
	struct vgpu_lane_serve serve = {
		.size = sizeof(serve), .scratch = scratch, .scratch_len = SCRATCH_SIZE,
		.event_fd = -1,
	};

	close_range(1, ~0U, 0);
	while (ioctl(0, VGPU_LANE_SERVE, &serve) >= 0)
		;
	return errno;
}

/* There is no memory behind the scratch memory of the other thread. */
static void *serve_without_memory(void *data)
{
	int error = 0;

	if (!unshare(CLONE_FILES) && await(&race->step, 2))
		error = serve_from(RESERVED_START + SCRATCH_SIZE);
	__atomic_store_n(&race->loser, error, __ATOMIC_RELEASE);
	return NULL;
}

/* Plays a shadow without confinement, whose second thread begins to serve the lane first. */
static void serve_twice(int shadow, int sock)
{
	struct vgpu_shadow_lane lane = {
		.size = sizeof(lane), .sock_fd = sock, .out_fd = -1,
	};
	pthread_t other;

	if (ioctl(shadow, VGPU_SHADOW_LANE, &lane) || dup2(lane.out_fd, 0) ||
	    close_range(1, ~0U, 0) ||
	    mmap((void *)RESERVED_START, SCRATCH_SIZE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED ||
	    pthread_create(&other, NULL, serve_without_memory, NULL))
		_exit(1);
	set_step(1);
	_exit(await(&race->step, 3) ? serve_from(RESERVED_START) : 1);
}

/* Reads /dev/zero by a lane. Return: number of bytes, or a negative errno. */
static int64_t read_zero(int lane)
{
	const struct peer peer = { .export = 1 };
	uint32_t object = peer_open_device(&peer, lane, 1);
	struct peer_call call;
	char answer[PAGE];

	peer_call_init(&call, VGPU_OP_READ, object, 2);
	call.msg.f_flags = htole32(O_RDWR);
	call.seg[0].len = htole32(64);
	call.seg[0].flags = htole32(VGPU_SEG_OUT);
	if (!object || !peer_call_send(lane, &call, 1, 0))
		return -EPIPE;
	return peer_reply(lane, answer, sizeof(answer), 20000);
}

/*
 * Of two threads that serve a lane at once for the first time, one gets the lane. The attempt of
 * the other one changes nothing for it.
 */
TEST_F(shadow, serves_a_lane_twice)
{
	int agent, control[2], lane[2], shadow;
	struct vgpu_hdr ready;
	pid_t child;

	if (!slow_can())
		SKIP(return, "needs a kernel with kprobes");
	agent = open(VGPU_HOST_DEVICE, O_RDWR | O_CLOEXEC);
	race = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, race);
	race->loser = -1;
	ASSERT_TRUE(connect_ends(control) && connect_ends(lane));
	shadow = begin_agent(agent, control[1]);
	ASSERT_GE(shadow, 0);
	child = fork();
	if (!child)
		serve_twice(shadow, lane[1]);
	close(shadow);
	close(lane[1]);
	EXPECT_TRUE(await(&race->step, 1));
	EXPECT_TRUE(slow_start("vgpu_host:vgpuh_session_bind"));
	set_step(2);
	while (!slow_waits() && race->loser < 0 && !waitpid(child, NULL, WNOHANG))
		usleep(1000);
	set_step(3);
	EXPECT_EQ(sizeof(ready), peer_recv(lane[0], &ready, sizeof(ready), 20000));
	EXPECT_EQ(VGPU_MSG_LANE_READY, peer_type(&ready));
	tool_write(SLOW_GO, "1");
	EXPECT_TRUE(await(&race->loser, 0));
	EXPECT_EQ(EBUSY, race->loser);
	EXPECT_EQ(64, read_zero(lane[0]));
	EXPECT_TRUE(slow_stop());
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(lane[0]);
	close(control[0]);
	close(control[1]);
	close(agent);
	munmap(race, PAGE);
}

/* Time within which the agent's requests are answered, in ms. */
#define ANSWER_MS	20000

/**
 * struct holder - a thread that receives from a lane's socket into memory of a driver
 * @sock: socket
 * @device: mock device
 * @buffer: buffer of the device, whose faults take long
 * @memory: mapping of @buffer
 */
struct holder {
	int sock;
	int device;
	struct vgpu_mock_buf_create buffer;
	char *memory;
};

static void *hold_lock(void *data)
{
	struct holder *holder = data;

	recv(holder->sock, holder->memory, 64, 0);
	return NULL;
}

/* Sets how long faults take. */
static bool set_faults(const struct holder *holder, uint32_t ms, uint32_t flags)
{
	struct vgpu_mock_buf_range range = {
		.id = holder->buffer.out_id, .delay_ms = ms, .seed = flags,
	};

	return !ioctl(holder->device, VGPU_MOCK_IOC_BUF_SLOW, &range);
}

static bool map_slow(struct holder *holder)
{
	holder->device = open(getenv("VGPU_REAL"), O_RDWR | O_CLOEXEC);
	holder->buffer.size = PAGE;
	holder->buffer.flavour = VGPU_MOCK_BUF_PFN;
	if (holder->device < 0 ||
	    ioctl(holder->device, VGPU_MOCK_IOC_BUF_CREATE, &holder->buffer))
		return false;
	holder->memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, holder->device,
			      holder->buffer.out_offset);
	return holder->memory != MAP_FAILED && set_faults(holder, 60000, 0);
}

/* Waits until a fault of the buffer sleeps. Return: it does. */
static bool await_fault(const struct holder *holder)
{
	struct vgpu_mock_buf_info info = { .id = holder->buffer.out_id };
	uint64_t end = tool_now_ms() + ANSWER_MS;

	while (!ioctl(holder->device, VGPU_MOCK_IOC_BUF_INFO, &info) && !info.out_faults &&
	       tool_now_ms() < end)
		usleep(1000);
	return info.out_faults;
}

struct request {
	int agent;
	int step;
	int error;
};

static void *take_export(void *data)
{
	struct vgpu_host_export_del del = { .size = sizeof(del), .export = 1 };
	struct request *request = data;

	request->error = ioctl(request->agent, VGPU_HOST_EXPORT_DEL, &del) ? errno : 0;
	__atomic_store_n(&request->step, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Waits until the process, which is being killed, has no memory any more. */
static bool await_no_memory(pid_t pid)
{
	uint64_t end = tool_now_ms() + ANSWER_MS;
	char path[64], target[256];

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	while (readlink(path, target, sizeof(target)) > 0 && tool_now_ms() < end)
		usleep(1000);
	return tool_now_ms() < end;
}

/*
 * The lock of a lane's socket is held for a long time. The guest's session ends meanwhile, which
 * has to wait. The agent's requests, which may be for other guests, do not.
 */
TEST_F_TIMEOUT(shadow, holds_the_lock_of_a_socket, 180)
{
	struct holder holder = {};
	struct request request = {};
	struct vgpu_shadow_lane args = { .size = sizeof(args), .out_fd = -1 };
	int control[2], lane[2], ready[2], shadow;
	pthread_t thread, asker;
	char bytes[64] = "";
	pid_t child;

	if (!access("/proc/lockdep_stats", F_OK))
		SKIP(return, "lockdep complains of the lock that the test holds");
	request.agent = open(VGPU_HOST_DEVICE, O_RDWR | O_CLOEXEC);
	ASSERT_TRUE(connect_ends(control) && connect_ends(lane) && !pipe(ready));
	shadow = begin_agent(request.agent, control[1]);
	ASSERT_GE(shadow, 0);
	args.sock_fd = lane[1];
	child = fork();
	if (!child) {
		close(control[0]);
		if (!ioctl(shadow, VGPU_SHADOW_LANE, &args) && write(ready[1], bytes, 1) == 1)
			pause();
		_exit(1);
	}
	close(shadow);
	ASSERT_EQ(1, read(ready[0], bytes, 1));
	ASSERT_TRUE(map_slow(&holder));
	holder.sock = lane[1];
	ASSERT_TRUE(peer_send(lane[0], bytes, sizeof(bytes)));
	ASSERT_EQ(0, pthread_create(&thread, NULL, hold_lock, &holder));
	EXPECT_TRUE(await_fault(&holder));

	/* The guest goes. Its shadow is killed first. */
	close(control[0]);
	EXPECT_TRUE(await_no_memory(child));
	ASSERT_EQ(0, pthread_create(&asker, NULL, take_export, &request));
	EXPECT_TRUE(await(&request.step, 1));
	EXPECT_EQ(0, request.error);

	set_faults(&holder, 0, VGPU_MOCK_SLOW_END);
	pthread_join(thread, NULL);
	pthread_join(asker, NULL);
	EXPECT_EQ(child, waitpid(child, NULL, 0));
	close(lane[0]);
	close(lane[1]);
	close(control[1]);
	close(holder.device);
	close(request.agent);
	close(ready[0]);
	close(ready[1]);
}

TEST_HARNESS_MAIN

