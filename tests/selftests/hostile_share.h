/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two guests share a device: one has eight programs that give the device work all the time, the
 * other one program, which the test plays. The first guest is this machine's kernel, so the
 * programs use the guest module. The tests run where the host is, as root.
 */
#ifndef HOSTILE_SHARE_H
#define HOSTILE_SHARE_H

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "hostile_host.h"

#include "kselftest_harness.h"

/* True for tests of work that a driver queues. */
#ifndef SHARE_BY_FENCES
#define SHARE_BY_FENCES	false
#endif

#define CONF		"/etc/vgpu/exports.d/hostile-share.conf"
#define NAME		"hostile-share"
#define PROGRAMS	8
/* Time of the device that a call takes, much longer than a busy machine needs between two calls. */
#define WORK_US		40000
/* Number of calls in which the shares are measured. */
#define WORKS		150

/**
 * struct common - memory that all programs of a test share
 * @done: time in us for which the device has worked for each program
 * @longest: longest time in us that it has needed for a call of each program, if that is counted
 * @stop: true if the programs are to end
 * @failed: number of programs whose call has failed
 */
struct common {
	uint64_t done[PROGRAMS];
	uint64_t longest[PROGRAMS];
	bool stop;
	int failed;
};

FIXTURE(share) {
	struct peer peer;
	struct common *common;
	pid_t pids[PROGRAMS];
	int fd;
	int lane;
	uint32_t object;
	uint64_t seq;
	uint64_t done;
};

static inline bool run(const char *command)
{
	const struct tool_run *run = tool_run("%s", command);

	if (run->status)
		fprintf(stderr, "# %s: %s\n", command, run->out);
	return !run->status;
}

/* Sets limits of this machine's guest, and of the guest that the test plays. */
static inline bool weigh(const char *many, const char *one)
{
	return !tool_run("vgpuctl limit %d device-weight=%s", LOOPBACK, many)->status &&
	       !tool_run("vgpuctl limit %d:%d device-weight=%s", LOOPBACK, PORT, one)->status;
}

/* Returns a number that vgpuctl shows for a guest; -1: there is none. */
static inline long long shown(const char *guest, const char *what)
{
	const char *at = tool_run("vgpuctl limit %s --json", guest)->out;
	char key[32];

	snprintf(key, sizeof(key), "\"%s\":", what);
	at = strstr(at, key);
	return at ? atoll(at + strlen(key)) : -1;
}

FIXTURE_SETUP(share)
{
	FILE *file;

	NEEDS_HOST();
	if (SHARE_BY_FENCES && tool_user_engine())
		SKIP(return, "needs the host module: a user-space engine looks for no fences");

	self->peer.control = -1;
	self->fd = -1;
	self->lane = -1;
	self->common = mmap(NULL, sizeof(*self->common), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->common);
	ASSERT_TRUE(run("mkdir -p /etc/vgpu/exports.d"));
	file = fopen(CONF, "w");
	ASSERT_NE(NULL, file);
	fprintf(file, "[" NAME "]\npath = %s\nto = %d, %d:%d\n"
		"submit-ioctls = %#x, %#x, %#x\n", real_path, LOOPBACK, LOOPBACK, PORT,
		(unsigned int)(VGPU_MOCK_IOC_TYPE << 8 | _IOC_NR(VGPU_MOCK_IOC_WORK)),
		(unsigned int)(VGPU_MOCK_IOC_TYPE << 8 | _IOC_NR(VGPU_MOCK_IOC_WAIT)),
		(unsigned int)(VGPU_MOCK_IOC_TYPE << 8 | _IOC_NR(VGPU_MOCK_IOC_QUEUE)));
	ASSERT_EQ(0, fclose(file));
	ASSERT_TRUE(run("vgpuctl reload"));
	self->fd = tool_open_export(NAME);
	ASSERT_GE(self->fd, 0);
	HOST_BEGIN(&self->peer, self->lane, self->object);
	self->seq = 1;
}

static inline void programs_end(FIXTURE_DATA(share) *self)
{
	int i;

	__atomic_store_n(&self->common->stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < PROGRAMS; i++)
		if (self->pids[i])
			waitpid(self->pids[i], NULL, 0);
	memset(self->pids, 0, sizeof(self->pids));
}

FIXTURE_TEARDOWN(share)
{
	if (!self->common)
		return;
	EXPECT_TRUE(weigh("", ""));
	EXPECT_TRUE(run("vgpuctl limit 1 device-cap="));
	EXPECT_TRUE(run("vgpuctl limit 1:22600 device-priority= device-cap="));
	programs_end(self);
	close(self->fd);
	close(self->lane);
	peer_close(&self->peer);
	EXPECT_TRUE(eventually(no_guest, NULL, SLACK_MS));
	unlink(CONF);
	EXPECT_TRUE(run("vgpuctl reload"));
	EXPECT_TRUE(witness());
}

static inline bool stopped(const struct common *common)
{
	return __atomic_load_n(&common->stop, __ATOMIC_RELAXED);
}

/* Opens the device and calls @run until the test is over. */
static inline void program_run(struct common *common, int number,
			       bool (*run)(int fd, struct common *common, int number))
{
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = tool_open_export(NAME);
	if (fd < 0 || !run(fd, common, number))
		__atomic_add_fetch(&common->failed, 1, __ATOMIC_RELAXED);
	_exit(0);
}

/* Starts programs, each of which calls @run. */
static inline bool programs_begin(FIXTURE_DATA(share) *self,
				  bool (*run)(int fd, struct common *common, int number))
{
	int i;

	for (i = 0; i < PROGRAMS; i++) {
		self->pids[i] = fork();
		if (!self->pids[i])
			program_run(self->common, i, run);
		if (self->pids[i] < 0)
			return false;
	}
	return true;
}

static inline uint64_t programs_done(const FIXTURE_DATA(share) *self)
{
	uint64_t done = 0;
	int i;

	for (i = 0; i < PROGRAMS; i++)
		done += __atomic_load_n(&self->common->done[i], __ATOMIC_RELAXED);
	return done;
}

static inline bool send_call(FIXTURE_DATA(share) *self, int lane, uint32_t cmd, const void *arg,
			     size_t len)
{
	return peer_ioctl_send(lane, self->object, ++self->seq, cmd, arg, 0x10000000, len);
}

/* Waits for a reply, in which time the host must not take the guest for a silent one. */
static inline bool await_reply(const FIXTURE_DATA(share) *self, int lane)
{
	struct pollfd pfd = { .fd = lane, .events = POLLIN };
	uint64_t end = tool_now_ms() + 3 * SLACK_MS;

	while (poll(&pfd, 1, 1000) != 1)
		if (tool_now_ms() > end || !peer_ping(&self->peer))
			return false;
	return true;
}

static inline int64_t reply(const FIXTURE_DATA(share) *self, int lane)
{
	char answer[4096];

	if (!await_reply(self, lane))
		return INT64_MIN;
	return peer_reply(lane, answer, sizeof(answer), SLACK_MS);
}

/**
 * struct ways - how the guests give the device work
 * @run: gives the device work until the test is over, and counts it in common->done[number]
 * @work: the guest of one program gives the device work once, and waits for its end
 */
struct ways {
	bool (*run)(int fd, struct common *common, int number);
	bool (*work)(FIXTURE_DATA(share) *self);
};

/* Measures the share of the guest of one program, which has to be @percent. */
static inline void measure(struct __test_metadata *_metadata, FIXTURE_DATA(share) *self,
			   const struct ways *ways, const char *many, const char *one,
			   unsigned int percent)
{
	uint64_t before, before_one, all;
	unsigned int share;
	long long used;

	ASSERT_TRUE(weigh(many, one));
	ASSERT_TRUE(programs_begin(self, ways->run));
	used = shown("1:22600", "device_ns");
	/* All programs run, and the first turns are over. */
	while (programs_done(self) < 2 * PROGRAMS * WORK_US && !self->common->failed)
		ASSERT_TRUE(ways->work(self));
	before = programs_done(self);
	before_one = self->done;
	do {
		ASSERT_TRUE(ways->work(self));
		all = programs_done(self) - before + self->done - before_one;
	} while (all < WORKS * WORK_US && !self->common->failed);
	share = (self->done - before_one) * 100 / all;
	used = shown("1:22600", "device_ns") - used;
	programs_end(self);
	EXPECT_EQ(0, self->common->failed);
	TH_LOG("%u %% of the device's time; %lld ms of %llu ms were charged", share, used / 1000000,
	       (unsigned long long)self->done / 1000);
	EXPECT_GE(share, percent - 5);
	EXPECT_LE(share, percent + 5);
	/*
	 * The calls took longer than the device has worked for them. The host may not have heard of
	 * the end of the last one yet.
	 */
	EXPECT_GE(used, (long long)(self->done - WORK_US) * 1000);
	EXPECT_GT(shown("1", "queued"), 0);
}

/* Tests of shares by weight. @ways: how the programs of both guests give the device work */
#define TESTS_OF_WEIGHTS(ways)						\
TEST_F_TIMEOUT(share, equal, 120)					\
{									\
	measure(_metadata, self, ways, "100", "100", 50);		\
}									\
TEST_F_TIMEOUT(share, one_has_more, 120)				\
{									\
	measure(_metadata, self, ways, "100", "300", 75);		\
}									\
TEST_F_TIMEOUT(share, many_have_more, 120)				\
{									\
	measure(_metadata, self, ways, "300", "100", 25);		\
}

#endif /* HOSTILE_SHARE_H */
