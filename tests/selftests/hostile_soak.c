// SPDX-License-Identifier: GPL-2.0-only
/*
 * Three hostile guests and an innocent one use one device for a long time: two guests take all that
 * they can get, one gives the device work all the time, and the innocent one is this machine's
 * kernel. No call of the innocent one fails. The test prints how long its calls take beside the
 * others, as multiples of how long they take alone, and what memory the host has in use.
 *
 * VGPU_SOAK_MINUTES says how long (make check-soak).
 */
#include <sys/mman.h>

#include "agent.h"
#include "hostile_hoard.h"
#include "vgpu_mock_pattern.h"

#include "kselftest_harness.h"

#define HOSTILES	3
#define CONF		"/etc/vgpu/exports.d/hostile-soak.conf"
#define NAME		"hostile-soak"
#define SECONDS		20
/* Hostile guests run for this time before the memory in use is read for the first time. */
#define WARM_MS		8000
#define LINE_MS		60000
/* Greatest number of latencies of a kind that are kept; later ones replace random earlier ones. */
#define SAMPLES		65536
/* Time of the device that a call takes, in us: of the innocent guest, and of the greedy one. */
#define WORK_US		2000
#define GREEDY_US	20000
#define GREEDY_LANES	8
#define PAGE		4096UL
#define COUNT		1500	/* elements of an array that spans two pages */
/* Growth of the host's memory in KiB that is no leak: caches and buffers of the test itself. */
#define FLAT_KIB	(16 << 10)

/* --- the greedy guest ---------------------------------------------------------- */

/* Gives the device work on several lanes, as much as it takes, until the host ends the guest. */
static void greedy_round(struct peer *peer)
{
	struct vgpu_mock_work work = { .us = GREEDY_US };
	struct pollfd lanes[GREEDY_LANES];
	uint32_t object[GREEDY_LANES];
	uint64_t seq = 1;
	char answer[4096];
	int i;

	for (i = 0; i < GREEDY_LANES; i++) {
		lanes[i] = (struct pollfd) { .fd = peer_lane(peer, 1 + i / 4), .events = POLLIN };
		object[i] = lanes[i].fd < 0 ? 0 : peer_open_device(peer, lanes[i].fd, 1);
		if (!object[i] || !peer_ioctl_send(lanes[i].fd, object[i], 2, VGPU_MOCK_IOC_WORK,
						   &work, 0x10000000, sizeof(work)))
			return;
	}
	for (seq = 3;; seq++) {
		poll(lanes, GREEDY_LANES, 1000);
		if (!peer_ping(peer))
			return;
		while (recv(peer->control, answer, sizeof(answer), MSG_DONTWAIT) > 0)
			;
		for (i = 0; i < GREEDY_LANES; i++)
			if (lanes[i].revents &&
			    (peer_reply(lanes[i].fd, answer, sizeof(answer), SLACK_MS) ||
			     !peer_ioctl_send(lanes[i].fd, object[i], seq, VGPU_MOCK_IOC_WORK,
					      &work, 0x10000000, sizeof(work))))
				return;
	}
}

static void greedy(int number)
{
	struct peer peer;

	for (;;) {
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (!peer_open(&peer, LOOPBACK, HOARD_PORT + number))
				greedy_round(&peer);
			_exit(0);
		}
		/* The end of the process closes its lanes. */
		wait(NULL);
		usleep(100000);
	}
}

static void (*const hostiles[HOSTILES])(int number) = { hoard, hoard, greedy };

/* --- the innocent guest -------------------------------------------------------- */

static bool make_call(int fd)
{
	return !ioctl(fd, VGPU_MOCK_IOC_NOOP, 0);
}

static bool make_array(int fd, unsigned long cmd)
{
	__u32 data[COUNT];
	struct vgpu_mock_array array = { .ptr = (uintptr_t)data, .count = COUNT };
	unsigned int i;

	for (i = 0; i < COUNT; i++)
		data[i] = i;
	if (ioctl(fd, cmd, &array) < 0)
		return false;
	for (i = 0; i < COUNT; i++)
		if (data[i] != vgpu_mock_mix32(i))
			return false;
	return true;
}

static bool make_data(int fd)
{
	return make_array(fd, VGPU_MOCK_IOC_ARRAY_INOUT);
}

static bool make_fetch(int fd)
{
	return make_array(fd, VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_ARRAY_INOUT));
}

/* Maps a buffer, and changes a page of it. */
static bool make_mapping(int fd)
{
	struct vgpu_mock_buf_create create = { .size = PAGE, .flavour = VGPU_MOCK_BUF_PFN };
	struct vgpu_mock_buf_range range = { };
	char *memory;

	if (ioctl(fd, VGPU_MOCK_IOC_BUF_CREATE, &create))
		return false;
	memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, create.out_offset);
	if (memory == MAP_FAILED)
		return false;
	memory[0]++;
	munmap(memory, PAGE);
	range.id = create.out_id;
	return !ioctl(fd, VGPU_MOCK_IOC_BUF_DESTROY, &range);
}

static bool make_work(int fd)
{
	struct vgpu_mock_work work = { .us = WORK_US };

	return !ioctl(fd, VGPU_MOCK_IOC_WORK, &work);
}

/**
 * struct kind - a kind of call, and how long such calls took
 * @name: name of the kind
 * @make: makes a call; false: it has failed, or its bytes are wrong
 * @us: latencies in microseconds, SAMPLES at most
 * @nr: number of calls
 */
struct kind {
	const char *name;
	bool (*make)(int fd);
	unsigned int us[SAMPLES];
	unsigned long nr;
};

static struct kind kinds[] = {
	{ .name = "call", .make = make_call },
	{ .name = "data", .make = make_data },
	{ .name = "page fetches", .make = make_fetch },
	{ .name = "mapping", .make = make_mapping },
	{ .name = "work", .make = make_work },
};

#define KINDS	(sizeof(kinds) / sizeof(kinds[0]))

static unsigned long now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000UL + now.tv_nsec / 1000;
}

static int compare(const void *a, const void *b)
{
	unsigned int one = *(const unsigned int *)a, other = *(const unsigned int *)b;

	return one < other ? -1 : one > other;
}

static unsigned int percentile(struct kind *kind, unsigned int percent)
{
	unsigned long nr = kind->nr < SAMPLES ? kind->nr : SAMPLES;

	qsort(kind->us, nr, sizeof(kind->us[0]), compare);
	return nr ? kind->us[(nr - 1) * percent / 100] : 0;
}

static void sample(struct kind *kind, unsigned long us)
{
	unsigned long at = kind->nr < SAMPLES ? kind->nr : random() % (kind->nr + 1);

	if (at < SAMPLES)
		kind->us[at] = us;
	kind->nr++;
}

/* --- the machine --------------------------------------------------------------- */

/* Returns the memory in KiB that the kernel cannot drop, without that of processes' data. */
static long long kernel_kib(void)
{
	static const char *const parts[] = {
		"SUnreclaim:", "KernelStack:", "PageTables:", "Percpu:", "VmallocUsed:",
	};
	long long sum = 0;
	unsigned int i;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		sum += number_of("/proc/meminfo", parts[i]);
	return sum;
}

static long long used_kib(void)
{
	return number_of("/proc/meminfo", "MemTotal:") - number_of("/proc/meminfo", "MemFree:") -
	       number_of("/proc/meminfo", "Buffers:") - number_of("/proc/meminfo", "Cached:") -
	       number_of("/proc/meminfo", "SReclaimable:");
}

static long long vgpud_kib(void)
{
	char path[64];
	pid_t pid = 0;

	tool_processes("/vgpud", &pid);
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	return number_of(path, "VmRSS:");
}

FIXTURE(soak) {
	pid_t pids[HOSTILES];
	const char *name;
	int fd;
};

FIXTURE_SETUP(soak)
{
	FILE *file;

	NEEDS_HOST();
	self->name = getenv("VGPU_NAME");
	if (access("/sys/fs/cgroup/cgroup.controllers", F_OK))
		SKIP(return, "needs control groups of version 2");
	ASSERT_TRUE(agent_keep_exports());
	file = fopen(CONF, "w");
	ASSERT_NE(NULL, file);
	fprintf(file, "[" NAME "]\npath = %s\nto = %d, %d:%d, %d:%d, %d:%d\nsubmit-ioctls = %#x\n",
		real_path, LOOPBACK, LOOPBACK, HOARD_PORT, LOOPBACK, HOARD_PORT + 1, LOOPBACK,
		HOARD_PORT + 2,
		(unsigned int)(VGPU_MOCK_IOC_TYPE << 8 | _IOC_NR(VGPU_MOCK_IOC_WORK)));
	ASSERT_EQ(0, fclose(file));
	ASSERT_TRUE(agent_start_with(self->name, SETTINGS));
	ASSERT_TRUE(agent_write_env());
	self->fd = tool_open_export(NAME);
	ASSERT_GE(self->fd, 0);
	ASSERT_TRUE(!mkdir(MACHINES, 0755) || errno == EEXIST);
}

FIXTURE_TEARDOWN(soak)
{
	if (!real_path)
		return;
	close(self->fd);
	unlink(CONF);
	rmdir(MACHINES);
	EXPECT_TRUE(agent_start_with(self->name, ""));
	EXPECT_TRUE(agent_write_env());
}

static void hostiles_start(FIXTURE_DATA(soak) *self)
{
	int i;

	for (i = 0; i < HOSTILES; i++)
		self->pids[i] = guest_start(hostiles[i], i);
}

static bool hostiles_end(FIXTURE_DATA(soak) *self)
{
	guests_end(self->pids, HOSTILES);
	return eventually(groups_are_gone, NULL, 6 * SLACK_MS);
}

/* Uses the device until @ms have passed. Return: no call failed. */
static bool use(struct __test_metadata *_metadata, FIXTURE_DATA(soak) *self, uint64_t ms)
{
	uint64_t end = peer_now_ms() + ms, line = peer_now_ms() + LINE_MS;
	unsigned long start, longest = 0;
	unsigned int i;

	for (i = 0; i < KINDS; i++)
		kinds[i].nr = 0;
	while (peer_now_ms() < end) {
		for (i = 0; i < KINDS; i++) {
			start = now_us();
			if (!kinds[i].make(self->fd)) {
				TH_LOG("%s failed: %s", kinds[i].name, strerror(errno));
				return false;
			}
			sample(&kinds[i], now_us() - start);
			longest = now_us() - start > longest ? now_us() - start : longest;
		}
		if (peer_now_ms() >= line) {
			TH_LOG("%lu rounds, the longest call took %lu ms; %lld KiB in use, %lld KiB of them the kernel's, vgpud %lld KiB",
			       kinds[0].nr, longest / 1000, used_kib(), kernel_kib(), vgpud_kib());
			line += LINE_MS;
			longest = 0;
		}
		usleep(2000);
	}
	return true;
}

TEST_F_TIMEOUT(soak, innocent, 7200)
{
	uint64_t length = 60000 * atoi(getenv("VGPU_SOAK_MINUTES") ?: "0");
	unsigned int alone[KINDS][2], i;
	long long kernel, used, vgpud;
	unsigned long calls = 0;

	if (!length)
		length = 1000 * SECONDS;
	ASSERT_TRUE(use(_metadata, self, 5000));
	ASSERT_TRUE(use(_metadata, self, length > 100000 ? length / 10 : 10000));
	for (i = 0; i < KINDS; i++) {
		alone[i][0] = percentile(&kinds[i], 50);
		alone[i][1] = percentile(&kinds[i], 99);
	}
	hostiles_start(self);
	ASSERT_TRUE(use(_metadata, self, WARM_MS));
	ASSERT_TRUE(hostiles_end(self));
	usleep(2000000);
	kernel = kernel_kib();
	used = used_kib();
	vgpud = vgpud_kib();

	hostiles_start(self);
	EXPECT_TRUE(use(_metadata, self, length));
	for (i = 0; i < KINDS; i++) {
		unsigned int half = percentile(&kinds[i], 50), most = percentile(&kinds[i], 99);

		TH_LOG("%s: alone p50 %u us, p99 %u us; beside the others %u us and %u us: %.2f and %.2f times",
		       kinds[i].name, alone[i][0], alone[i][1], half, most,
		       (double)half / alone[i][0], (double)most / alone[i][1]);
		calls += kinds[i].nr;
	}
	EXPECT_TRUE(hostiles_end(self));
	usleep(2000000);
	TH_LOG("%lu calls in %lu s; in use: %lld KiB before, %+lld now; the kernel's: %lld KiB, %+lld; vgpud: %lld KiB, %+lld",
	       calls, (unsigned long)length / 1000, used, used_kib() - used, kernel,
	       kernel_kib() - kernel, vgpud, vgpud_kib() - vgpud);
	EXPECT_GT(FLAT_KIB, kernel_kib() - kernel);
	EXPECT_GT(FLAT_KIB, vgpud_kib() - vgpud);
}

TEST_HARNESS_MAIN
