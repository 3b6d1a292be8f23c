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
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "agent.h"
#include "hostile_host.h"

#include "kselftest_harness.h"

#define HOARDERS	10
#define HOARD_PORT	22650
#define ALL		"/sys/fs/cgroup/vgpu/guests"
/* Group of the hoarders' own processes, as their virtual machines would have one. */
#define MACHINES	"/sys/fs/cgroup/test-machines"
/*
 * A guest may have 4% of the memory, so that ten guests do not take what the eleventh needs: all of
 * them may have 50%.
 */
#define SETTINGS	"[limits]\nmemory = 4%%\n"

/* Most samples of a kind of ping, one each 50 ms for more than ten minutes. */
#define SAMPLES		16384
#define CALL_BYTES	(15 << 20)

/* --- hoarders ------------------------------------------------------------------ */

/* Number of lanes that each process of a hoarder keeps; the host ends some of them. */
#define KEPT		8192

/* Keeps a lane, and closes the one that was kept longest if there are too many. */
static void keep(int lane)
{
	static int lanes[KEPT];
	static unsigned int next;

	if (lanes[next])
		close(lanes[next]);
	lanes[next] = lane;
	next = (next + 1) % KEPT;
}

/* Takes as many lanes as the host gives. */
static void hoard_lanes(const struct peer *peer)
{
	uint64_t session = 1000;
	int refused = 0, lane;

	for (;;) {
		lane = peer_lane(peer, session);
		if (lane >= 0) {
			refused = 0;
			keep(lane);
			continue;
		}
		/* The next session may have lanes when this one has none left. */
		if (++refused > 2)
			session = session < 1063 ? session + 1 : 1000;
		usleep(20000);
	}
}

/* Sends nearly all of messages of the greatest length, which the host keeps in memory. */
static void hoard_messages(const struct peer *peer)
{
	static char bytes[65536];
	struct peer_call call;
	uint64_t session = 2000;
	int lane, sent;

	for (;; session = session < 2063 ? session + 1 : 2000) {
		lane = peer_lane(peer, session);
		if (lane < 0) {
			usleep(20000);
			continue;
		}
		keep(lane);
		peer_call_init(&call, VGPU_OP_IOCTL, 1, 1);
		call.msg.hdr.len = htole32(CALL_BYTES);
		/* The host waits ten seconds for the rest, and then ends the lane. */
		if (!peer_send(lane, &call.msg, sizeof(call.msg)))
			continue;
		for (sent = 0; sent < CALL_BYTES - 2 * (int)sizeof(bytes); sent += sizeof(bytes))
			if (!peer_send(lane, bytes, sizeof(bytes)))
				break;
	}
}

/* Answers requests for pages until the call is over. Return: its reply came. */
static bool answer_fetches(int lane)
{
	static struct {
		struct vgpu_fetched msg;
		char pages[256 << 10];
	} answer;
	union {
		struct vgpu_hdr hdr;
		struct vgpu_fetch fetch;
		char bytes[8192];
	} msg;
	uint32_t len;

	while (peer_recv(lane, &msg, sizeof(msg), SLACK_MS) > 0) {
		if (peer_type(&msg) == VGPU_MSG_REPLY)
			return true;
		if (peer_type(&msg) != VGPU_MSG_FETCH)
			return false;
		len = le32toh(msg.fetch.len);
		if (len > sizeof(answer.pages))
			return false;
		answer.msg = (struct vgpu_fetched) {
			.hdr.len = htole32(sizeof(answer.msg) + len),
			.hdr.type = htole16(VGPU_MSG_FETCHED),
			.hdr.seq = msg.hdr.seq,
			.len = htole32(len),
		};
		if (!peer_send(lane, &answer, sizeof(answer.msg) + len))
			return false;
	}
	return false;
}

/* Makes calls whose driver reads as many pages of the program as the host holds at a time. */
static void hoard_pages(const struct peer *peer)
{
	struct vgpu_mock_large large = { .ptr = 0x40000000, .length = CALL_BYTES };
	uint64_t session = 3000, seq;
	uint32_t object;
	int lane;

	for (;; session = session < 3063 ? session + 1 : 3000) {
		lane = peer_lane(peer, session);
		object = lane < 0 ? 0 : peer_open_device(peer, lane, 1);
		for (seq = 2; object; seq++)
			if (!peer_ioctl_send(lane, object, seq,
					     VGPU_MOCK_IOC_LARGE_IN | VGPU_MOCK_UNDESCRIBED_BIT,
					     &large, 0x30000000, sizeof(large)) ||
			    !answer_fetches(lane) || seq > 4)
				break;
		/* The lane stays, and with it the session, which has pages. */
		if (lane >= 0)
			keep(lane);
		if (!object)
			usleep(20000);
	}
}

/* Fills the vsock buffers of lanes whose threads sleep in the driver. */
static void hoard_buffers(const struct peer *peer)
{
	struct vgpu_mock_sleep sleep = { .ms = 20000, .mode = VGPU_MOCK_SLEEP_KILLABLE };
	static char bytes[65536];
	uint64_t session = 4000;
	uint32_t object = 0;
	int lane;

	for (;; session = session < 4063 ? session + 1 : 4000) {
		lane = peer_lane(peer, session);
		if (lane >= 0)
			keep(lane);
		object = lane < 0 ? 0 : peer_open_device(peer, lane, 1);
		if (!object || !peer_ioctl_send(lane, object, 2, VGPU_MOCK_IOC_SLEEP, &sleep,
						0x1000000, sizeof(sleep))) {
			usleep(20000);
			continue;
		}
		while (send(lane, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
			;
	}
}

/* Begins sessions and ends them, as fast as it may: their shadows are zombies for a time. */
static void hoard_zombies(const struct peer *peer)
{
	struct vgpu_session_close end = {
		.hdr.len = htole32(sizeof(end)),
		.hdr.type = htole16(VGPU_MSG_SESSION_CLOSE),
	};
	uint64_t session = 5000, seq = 1;
	char drop[4096];
	int lane;

	do {
		lane = peer_lane(peer, ++session);
		if (lane >= 0)
			close(lane);
		end.session = htole64(session);
		end.hdr.seq = htole64(seq++);
		while (recv(peer->control, drop, sizeof(drop), MSG_DONTWAIT) > 0)
			;
		usleep(10000);
	} while (peer_send(peer->control, &end, sizeof(end)));
}

static void (*const ways[])(const struct peer *peer) = {
	hoard_lanes, hoard_messages, hoard_pages, hoard_buffers,
};

#define WAYS	(int)(sizeof(ways) / sizeof(ways[0]))

/* Hoards in all ways at once, and connects anew whenever the host has ended the guest. */
static void hoard(int number)
{
	struct rlimit limit = { 65536, 65536 };
	pid_t pids[WAYS];
	struct peer peer;
	int i;

	setrlimit(RLIMIT_NOFILE, &limit);
	for (;;) {
		if (peer_open(&peer, LOOPBACK, HOARD_PORT + number)) {
			peer_close(&peer);
			usleep(100000);
			continue;
		}
		for (i = 0; i < WAYS; i++) {
			pids[i] = fork();
			if (!pids[i]) {
				ways[i](&peer);
				_exit(0);
			}
		}
		hoard_zombies(&peer);
		for (i = 0; i < WAYS; i++) {
			kill(pids[i], SIGKILL);
			waitpid(pids[i], NULL, 0);
		}
		peer_close(&peer);
	}
}

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

/* --- the machine ---------------------------------------------------------------- */

/* Reads the number after a word of a file; 0: the word is not there. */
static long long number_of(const char *path, const char *word)
{
	FILE *stream = fopen(path, "r");
	long long number = 0;
	char line[128];

	while (stream && fgets(line, sizeof(line), stream))
		if (!strncmp(line, word, strlen(word)))
			number = atoll(line + strlen(word));
	if (stream)
		fclose(stream);
	return number;
}

#define KILLS()		number_of("/proc/vmstat", "oom_kill ")
#define GUESTS_KILLS()	number_of(ALL "/memory.events", "oom_kill ")

static bool groups_are_gone(void *unused)
{
	return tool_run("ls -d " ALL "/vgpu-*-226[5-9]* 2>/dev/null")->status;
}

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

/* Starts a hoarder, whose processes are in a process group and in a control group. */
static pid_t hoarder_start(int number)
{
	pid_t pid = fork();

	if (pid) {
		setpgid(pid, pid);
		return pid;
	}
	setpgid(0, 0);
	tool_write(MACHINES "/cgroup.procs", "0");
	hoard(number);
	_exit(0);
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
		self->pids[i] = hoarder_start(i);
	ping_until(peer_now_ms() + length, self->fd, &failed);
	peak = number_of(ALL "/memory.peak", "");
	TH_LOG("%u pings; a program takes %u ms (at most %u), vgpud %u ms (at most %u), a call %u ms (at most %u); bound %u",
	       programs.nr, percentile(&programs, 95), percentile(&programs, 100),
	       percentile(&asks, 95), percentile(&asks, 100), percentile(&calls, 95),
	       percentile(&calls, 100), bound);
	TH_LOG("guests: %lld MiB at most, %lld threads now; %lld of their processes were killed",
	       peak >> 20, number_of(ALL "/pids.current", ""), GUESTS_KILLS() - guests_kills);
	for (i = 0; i < HOARDERS; i++)
		kill(-self->pids[i], SIGKILL);
	for (i = 0; i < HOARDERS; i++)
		waitpid(self->pids[i], NULL, 0);

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
