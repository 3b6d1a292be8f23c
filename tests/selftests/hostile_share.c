// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two guests share a device: one has eight programs that give the device work all the time, the
 * other one program, which the test plays. The device counts the time for which it has worked for
 * each of them. The first guest is this machine's kernel, so the programs use the guest module. The
 * tests run where the host is, as root, and with the host module.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "hostile_host.h"

#include "kselftest_harness.h"

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
 * @stop: true if the programs are to end
 * @failed: number of programs whose call has failed
 */
struct common {
	uint64_t done[PROGRAMS];
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

static bool run(const char *command)
{
	const struct tool_run *run = tool_run("%s", command);

	if (run->status)
		fprintf(stderr, "# %s: %s\n", command, run->out);
	return !run->status;
}

/* Sets limits of this machine's guest, and of the guest that the test plays. */
static bool weigh(const char *many, const char *one)
{
	return !tool_run("vgpuctl limit %d device-weight=%s", LOOPBACK, many)->status &&
	       !tool_run("vgpuctl limit %d:%d device-weight=%s", LOOPBACK, PORT, one)->status;
}

/* Returns a number that vgpuctl shows for a guest; -1: there is none. */
static long long shown(const char *guest, const char *what)
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
	if (tool_user_engine())
		SKIP(return, "needs the host module: a user-space engine has no queue");

	self->peer.control = -1;
	self->fd = -1;
	self->lane = -1;
	self->common = mmap(NULL, sizeof(*self->common), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->common);
	ASSERT_TRUE(run("mkdir -p /etc/vgpu/exports.d"));
	file = fopen(CONF, "w");
	ASSERT_NE(NULL, file);
	fprintf(file, "[" NAME "]\npath = %s\nto = %d, %d:%d\nsubmit-ioctls = %#x, %#x\n",
		real_path, LOOPBACK, LOOPBACK, PORT,
		(unsigned int)(VGPU_MOCK_IOC_TYPE << 8 | _IOC_NR(VGPU_MOCK_IOC_WORK)),
		(unsigned int)(VGPU_MOCK_IOC_TYPE << 8 | _IOC_NR(VGPU_MOCK_IOC_WAIT)));
	ASSERT_EQ(0, fclose(file));
	ASSERT_TRUE(run("vgpuctl reload"));
	self->fd = tool_open_export(NAME);
	ASSERT_GE(self->fd, 0);
	HOST_BEGIN(&self->peer, self->lane, self->object);
	self->seq = 1;
}

static void programs_end(FIXTURE_DATA(share) *self)
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
	programs_end(self);
	close(self->fd);
	close(self->lane);
	peer_close(&self->peer);
	EXPECT_TRUE(eventually(no_guest, NULL, SLACK_MS));
	unlink(CONF);
	EXPECT_TRUE(run("vgpuctl reload"));
	EXPECT_TRUE(witness());
}

/* Gives the device work until the test is over. */
static void program_run(struct common *common, int number)
{
	struct vgpu_mock_work work = { .us = WORK_US };
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = tool_open_export(NAME);
	while (fd >= 0 && !__atomic_load_n(&common->stop, __ATOMIC_RELAXED)) {
		if (ioctl(fd, VGPU_MOCK_IOC_WORK, &work))
			break;
		__atomic_store_n(&common->done[number], work.out_total_us, __ATOMIC_RELAXED);
	}
	if (!__atomic_load_n(&common->stop, __ATOMIC_RELAXED))
		__atomic_add_fetch(&common->failed, 1, __ATOMIC_RELAXED);
	_exit(0);
}

static bool programs_begin(FIXTURE_DATA(share) *self)
{
	int i;

	for (i = 0; i < PROGRAMS; i++) {
		self->pids[i] = fork();
		if (!self->pids[i])
			program_run(self->common, i);
		if (self->pids[i] < 0)
			return false;
	}
	return true;
}

static uint64_t programs_done(const FIXTURE_DATA(share) *self)
{
	uint64_t done = 0;
	int i;

	for (i = 0; i < PROGRAMS; i++)
		done += __atomic_load_n(&self->common->done[i], __ATOMIC_RELAXED);
	return done;
}

static bool send_call(FIXTURE_DATA(share) *self, int lane, uint32_t cmd, const void *arg,
		      size_t len)
{
	return peer_ioctl_send(lane, self->object, ++self->seq, cmd, arg, 0x10000000, len);
}

static bool send_work(FIXTURE_DATA(share) *self, int lane, uint32_t us)
{
	struct vgpu_mock_work work = { .us = us };

	return send_call(self, lane, VGPU_MOCK_IOC_WORK, &work, sizeof(work));
}

static int64_t reply(int lane)
{
	char answer[4096];

	return peer_reply(lane, answer, sizeof(answer), 3 * SLACK_MS);
}

/* The guest of one program gives the device work once. */
static bool work(FIXTURE_DATA(share) *self)
{
	if (!send_work(self, self->lane, WORK_US) || reply(self->lane))
		return false;
	self->done += WORK_US;
	/* The host drops a guest that is silent. */
	return self->seq % 64 || peer_ping(&self->peer);
}

/* Measures the share of the guest of one program, which has to be @percent. */
static void measure(struct __test_metadata *_metadata, FIXTURE_DATA(share) *self, const char *many,
		    const char *one, unsigned int percent)
{
	uint64_t before, before_one, all;
	unsigned int share;
	long long used;

	ASSERT_TRUE(weigh(many, one));
	ASSERT_TRUE(programs_begin(self));
	used = shown("1:22600", "device_ns");
	/* All programs run, and the first turns are over. */
	while (programs_done(self) < 2 * PROGRAMS * WORK_US && !self->common->failed)
		ASSERT_TRUE(work(self));
	before = programs_done(self);
	before_one = self->done;
	do {
		ASSERT_TRUE(work(self));
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
	/* The calls took longer than the device has worked for them. */
	EXPECT_GE(used, (long long)self->done * 1000);
	EXPECT_GT(shown("1", "queued"), 0);
}

TEST_F_TIMEOUT(share, equal, 120)
{
	measure(_metadata, self, "100", "100", 50);
}

TEST_F_TIMEOUT(share, one_has_more, 120)
{
	measure(_metadata, self, "100", "300", 75);
}

TEST_F_TIMEOUT(share, many_have_more, 120)
{
	measure(_metadata, self, "300", "100", 25);
}

/* The programs of a guest that is alone do not wait for each other. */
TEST_F_TIMEOUT(share, alone, 60)
{
	const long long before = shown("1", "queued");

	ASSERT_TRUE(programs_begin(self));
	while (programs_done(self) < 4 * PROGRAMS * WORK_US && !self->common->failed)
		usleep(20000);
	programs_end(self);
	EXPECT_EQ(0, self->common->failed);
	EXPECT_EQ(before, shown("1", "queued"));
}

/* Calls that never end do not keep the device from others. */
TEST_F_TIMEOUT(share, never_ends, 120)
{
	struct vgpu_mock_wait wait = { .target = 1 };
	int lanes[3], i;

	for (i = 0; i < 3; i++) {
		lanes[i] = peer_lane(&self->peer, 1);
		ASSERT_GE(lanes[i], 0);
		ASSERT_TRUE(send_call(self, lanes[i], VGPU_MOCK_IOC_WAIT, &wait, sizeof(wait)));
	}
	ASSERT_TRUE(programs_begin(self));
	while (programs_done(self) < 4 * PROGRAMS * WORK_US && !self->common->failed) {
		ASSERT_TRUE(peer_ping(&self->peer));
		usleep(100000);
	}
	programs_end(self);
	EXPECT_EQ(0, self->common->failed);
	for (i = 0; i < 3; i++)
		close(lanes[i]);
}

/* A guest with a cap gets no more, although it is alone. A slow machine can only give it less. */
TEST_F_TIMEOUT(share, cap, 60)
{
	uint64_t start, before, done, ms;

	ASSERT_TRUE(run("vgpuctl limit 1 device-cap=20"));
	ASSERT_TRUE(programs_begin(self));
	while (programs_done(self) < 4 * WORK_US && !self->common->failed)
		usleep(20000);
	before = programs_done(self);
	start = tool_now_ms();
	while (tool_now_ms() < start + 5000)
		usleep(20000);
	done = programs_done(self) - before;
	ms = tool_now_ms() - start;
	EXPECT_TRUE(run("vgpuctl limit 1 device-cap="));
	programs_end(self);
	EXPECT_EQ(0, self->common->failed);
	EXPECT_GT(done, 0);
	/* Calls of all programs may begin at once, and again when their time is over. */
	EXPECT_LE(done / 1000, ms / 5 + 2 * PROGRAMS * WORK_US / 1000);
}

/* Waits until @nr calls of a guest have had to wait, beyond @before. */
static void await_queued(const char *guest, long long before, int nr)
{
	while (shown(guest, "queued") < before + nr)
		usleep(20000);
}

/* A frozen guest waits, others do not; its programs can be killed, and go on when it is thawed. */
TEST_F_TIMEOUT(share, frozen, 120)
{
	const long long before = shown("1", "queued");
	int i, status;

	ASSERT_TRUE(weigh("0", "100"));
	ASSERT_TRUE(programs_begin(self));
	await_queued("1", before, PROGRAMS);
	for (i = 0; i < 10; i++)
		ASSERT_TRUE(work(self));
	EXPECT_EQ(0, programs_done(self));
	for (i = 0; i < PROGRAMS / 2; i++) {
		kill(self->pids[i], SIGKILL);
		EXPECT_EQ(self->pids[i], waitpid(self->pids[i], &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status));
		self->pids[i] = 0;
	}
	ASSERT_TRUE(weigh("100", "100"));
	for (i = PROGRAMS / 2; i < PROGRAMS; i++)
		while (!__atomic_load_n(&self->common->done[i], __ATOMIC_RELAXED))
			ASSERT_TRUE(work(self));
	programs_end(self);
	EXPECT_EQ(0, self->common->failed);
	for (i = 0; i < PROGRAMS / 2; i++)
		EXPECT_EQ(0, self->common->done[i]);
}

/* A call that waits is cancelled as one that runs, and a guest can go while its calls wait. */
TEST_F_TIMEOUT(share, cancelled, 60)
{
	struct vgpu_hdr cancel = {
		.len = htole32(sizeof(cancel)),
		.type = htole16(VGPU_MSG_CANCEL),
	};

	ASSERT_TRUE(weigh("100", "0"));
	ASSERT_TRUE(send_work(self, self->lane, WORK_US));
	await_queued("1:22600", 0, 1);
	cancel.seq = htole64(self->seq);
	ASSERT_TRUE(peer_send(self->lane, &cancel, sizeof(cancel)));
	/* -ERESTARTSYS, as nothing was run. */
	EXPECT_EQ(-512, reply(self->lane));
	ASSERT_TRUE(weigh("100", "100"));
	ASSERT_TRUE(work(self));
	ASSERT_TRUE(weigh("100", "0"));
	ASSERT_TRUE(send_work(self, self->lane, WORK_US));
	await_queued("1:22600", 0, 2);
	/* The call still waits when the lane ends, and when the guest goes. */
}

TEST_HARNESS_MAIN
