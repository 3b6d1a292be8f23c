// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ten hostile guests each take as much of the host as they can get: lanes, long messages, demand
 * pages, zombies and vsock buffers. Meanwhile vgpud answers, the host starts programs, and another
 * guest works. The kernel kills processes of the ten guests at most.
 *
 * The test takes half a minute, or ten minutes in a machine with 6 GiB or more (make check-hoard).
 * Time limits depend on how long the idle machine takes to start a program.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/un.h>

#include "agent.h"
#include "hostile_hoard.h"

#include "kselftest_harness.h"

#define HOARDERS	10

/* Most samples of a kind of ping, one each 50 ms for more than ten minutes. */
#define SAMPLES		16384

/* --- pings --------------------------------------------------------------------- */

struct samples {
	unsigned int ms[SAMPLES];
	unsigned int nr;
};

static int compare(const void *a, const void *b)
{
	return (int)*(const unsigned int *)a - (int)*(const unsigned int *)b;
}

static unsigned int percentile(struct samples *samples, unsigned int percent)
{
	qsort(samples->ms, samples->nr, sizeof(samples->ms[0]), compare);
	return samples->nr ? samples->ms[(samples->nr - 1) * percent / 100] : UINT32_MAX;
}

static void sample(struct samples *samples, uint64_t start, bool done)
{
	if (samples->nr < SAMPLES)
		samples->ms[samples->nr++] = done ? peer_now_ms() - start : UINT32_MAX / 2;
}

/* Starts a program, and waits for its end. */
static bool start_program(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status);
}

/* Asks vgpud for the list of exports. */
static bool ask(void)
{
	const struct sockaddr_un addr = { .sun_family = AF_UNIX, .sun_path = "/run/vgpu/vgpud.sock" };
	static const char request[] = "{\"op\":\"list\"}\n";
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const struct timeval patience = { .tv_sec = 60 };
	char answer[16384] = "";
	size_t len = 0;
	ssize_t got;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (!connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) &&
	    write(fd, request, strlen(request)) == (ssize_t)strlen(request))
		while (len < sizeof(answer) && (!len || answer[len - 1] != '\n') &&
		       (got = read(fd, answer + len, sizeof(answer) - len)) > 0)
			len += got;
	close(fd);
	return len && answer[len - 1] == '\n';
}

static struct samples programs, asks, calls;

/* Pings for some time. The witness is a program of another guest. */
static void ping_until(uint64_t end, int witness_fd, bool *witness_failed)
{
	uint64_t start;

	programs.nr = 0;
	asks.nr = 0;
	calls.nr = 0;
	while (peer_now_ms() < end) {
		start = peer_now_ms();
		sample(&programs, start, start_program());
		start = peer_now_ms();
		sample(&asks, start, ask());
		start = peer_now_ms();
		if (ioctl(witness_fd, VGPU_MOCK_IOC_NOOP, 0))
			*witness_failed = true;
		sample(&calls, start, true);
		usleep(50000);
	}
}

#define KILLS()		number_of("/proc/vmstat", "oom_kill ")
#define GUESTS_KILLS()	number_of(ALL "/memory.events", "oom_kill ")

FIXTURE(hoard) {
	pid_t pids[HOARDERS];
	const char *name;
	int fd;
};

FIXTURE_SETUP(hoard)
{
	char name[16];
	int i;

	NEEDS_HOST();
	self->name = getenv("VGPU_NAME");
	if (access("/sys/fs/cgroup/cgroup.controllers", F_OK))
		SKIP(return, "needs control groups of version 2");
	ASSERT_TRUE(agent_keep_exports());
	ASSERT_TRUE(agent_start_with(self->name, SETTINGS));
	ASSERT_TRUE(agent_write_env());
	for (i = 0; i < HOARDERS; i++) {
		snprintf(name, sizeof(name), "hoard%d", i);
		ASSERT_EQ(0, export_as(name, NULL, LOOPBACK, HOARD_PORT + i, false));
	}
	self->fd = agent_open(self->name);
	ASSERT_GE(self->fd, 0);
	ASSERT_TRUE(!mkdir(MACHINES, 0755) || errno == EEXIST);
}

FIXTURE_TEARDOWN(hoard)
{
	char name[16];
	int i;

	if (!real_path)
		return;
	close(self->fd);
	for (i = 0; i < HOARDERS; i++) {
		snprintf(name, sizeof(name), "hoard%d", i);
		unexport(name);
	}
	rmdir(MACHINES);
	EXPECT_TRUE(agent_start_with(self->name, ""));
	EXPECT_TRUE(agent_write_env());
}

TEST_F_TIMEOUT(hoard, ten_guests, 1500)
{
	bool is_long = number_of("/proc/meminfo", "MemTotal:") > 6 << 20, failed = false;
	uint64_t length = is_long ? 600000 : 30000;
	long long kills, guests_kills, peak;
	unsigned int pace, bound;
	int i;

	if (getenv("VGPU_HOARD_SECONDS"))
		length = 1000 * atoi(getenv("VGPU_HOARD_SECONDS"));
	ping_until(peer_now_ms() + 5000, self->fd, &failed);
	ASSERT_FALSE(failed);
	/* A machine of today starts a program in a few milliseconds, and has 100 ms for a ping. */
	pace = percentile(&programs, 90);
	bound = pace > 5 ? pace * 20 : 100;
	TH_LOG("idle: a program takes %u ms, vgpud %u ms, a call %u ms", pace,
	       percentile(&asks, 90), percentile(&calls, 90));
	kills = KILLS();
	guests_kills = GUESTS_KILLS();

	for (i = 0; i < HOARDERS; i++)
		self->pids[i] = guest_start(hoard, i);
	ping_until(peer_now_ms() + length, self->fd, &failed);
	peak = number_of(ALL "/memory.peak", "");
	TH_LOG("%u pings; a program takes %u ms (at most %u), vgpud %u ms (at most %u), a call %u ms (at most %u); bound %u",
	       programs.nr, percentile(&programs, 95), percentile(&programs, 100),
	       percentile(&asks, 95), percentile(&asks, 100), percentile(&calls, 95),
	       percentile(&calls, 100), bound);
	TH_LOG("guests: %lld MiB at most, %lld threads now; %lld of their processes were killed",
	       peak >> 20, number_of(ALL "/pids.current", ""), GUESTS_KILLS() - guests_kills);
	guests_end(self->pids, HOARDERS);

	/* The other guest was served all the time, and its shadow was not killed. */
	EXPECT_FALSE(failed);
	/* All processes that were killed for lack of memory were those of guests. */
	EXPECT_EQ(KILLS() - kills, GUESTS_KILLS() - guests_kills);
	EXPECT_GE(bound, percentile(&programs, 95));
	EXPECT_GE(bound, percentile(&asks, 95));
	/* The hoarders got so much that the limits mattered: five of them had all that they may. */
	EXPECT_LE(number_of("/proc/meminfo", "MemTotal:") * 1024 / 5, peak);
	EXPECT_TRUE(eventually(groups_are_gone, NULL, 6 * SLACK_MS));
	EXPECT_FALSE(ioctl(self->fd, VGPU_MOCK_IOC_NOOP, 0));
}

TEST_HARNESS_MAIN
