// SPDX-License-Identifier: GPL-2.0-only
/*
 * A driver tries to reach its shadow's own memory by a pointer that only the driver looks at.
 * The test finds addresses in /proc, so it needs the host in the same machine; a guest would
 * have to guess them.
 */
#include <drm/drm.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/vgpu_host.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#include "hostile_host.h"
#include "tool.h"
#include "vgpu_mock.h"

#include "kselftest_harness.h"

#define RESERVED_START	0x3e0000000000ULL
#define RESERVED_END	0x3e0100000000ULL
#define PARTS		512
/* This is a larger number of calls than the processor has keys. */
#define MANY		24
#define NO_KEY		(-1)
#define PATIENCE_MS	60000

/**
 * struct part - writable mapping of a shadow's own
 * @start: first address
 * @end: address behind the last
 * @key: protection key, or NO_KEY
 * @used: true if it has pages
 */
struct part {
	uint64_t start;
	uint64_t end;
	int key;
	bool used;
};

static struct part parts[PARTS];

FIXTURE(reach) {
	int fd;
	pid_t shadow;
	bool keys;
};

/*
 * Finds the writable mappings in the reserved range, without those registered with userfaultfd,
 * which never have pages. Return: the number of parts, or -1 if smaps is not as expected.
 */
static int find_parts(pid_t shadow)
{
	char path[64], line[512], mode[8];
	uint64_t start, end, size;
	int nr = 0, key;
	FILE *smaps;
	bool ours = false;

	snprintf(path, sizeof(path), "/proc/%d/smaps", shadow);
	smaps = fopen(path, "r");
	if (!smaps)
		return -1;
	while (nr < PARTS && fgets(line, sizeof(line), smaps)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &start, &end, mode) == 3) {
			ours = start >= RESERVED_START && start < RESERVED_END && mode[1] == 'w';
			if (ours)
				parts[nr++] = (struct part) {
					.start = start, .end = end, .key = NO_KEY,
				};
			continue;
		}
		if (!ours)
			continue;
		if (sscanf(line, "Rss: %" SCNu64, &size) == 1)
			parts[nr - 1].used = size;
		if (sscanf(line, "ProtectionKey: %d", &key) == 1)
			parts[nr - 1].key = key;
		if (!strncmp(line, "VmFlags:", 8) && strstr(line, " um"))
			nr--;
	}
	fclose(smaps);
	return nr < PARTS ? nr : -1;
}

/* Opens the device. Return: true if this process has a shadow. */
static bool begin(int *fd, pid_t *shadow)
{
	uint64_t end = tool_now_ms() + PATIENCE_MS;

	/* Shadows of earlier tests may still be ending. */
	while (tool_shadow_of("session_reach") && tool_now_ms() < end)
		usleep(20000);
	*fd = open(getenv("VGPU_FWD"), O_RDWR | O_CLOEXEC);
	if (*fd < 0 || ioctl(*fd, VGPU_MOCK_IOC_NOOP, 0))
		return false;
	*shadow = tool_shadow_of("session_reach");
	return *shadow;
}

FIXTURE_SETUP(reach)
{
	self->fd = -1;
	if (!tool_has_host())
		SKIP(return, "needs the host in the same machine");
	ASSERT_TRUE(begin(&self->fd, &self->shadow));
	self->keys = !tool_run("grep -qw ospke /proc/cpuinfo")->status;
}

FIXTURE_TEARDOWN(reach)
{
	if (self->fd >= 0)
		close(self->fd);
}

/*
 * Fills the executable memory of the shadow's program with invalid instructions. Return: true
 * if that was possible; newer kernels allow it to tracers only.
 */
static bool break_program(pid_t shadow)
{
	static const unsigned char ud2[2] = { 0x0f, 0x0b };
	char path[64], line[512], mode[8];
	uint64_t start, end, at;
	bool done = false;
	FILE *maps;
	int mem;

	snprintf(path, sizeof(path), "/proc/%d/mem", shadow);
	mem = open(path, O_RDWR | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/maps", shadow);
	maps = fopen(path, "r");
	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &start, &end, mode) != 3 ||
		    mode[2] != 'x' || start >> 63)
			continue;
		for (at = start, done = true; done && at < end; at += sizeof(ud2))
			done = pwrite(mem, ud2, sizeof(ud2), at) == sizeof(ud2);
	}
	if (maps)
		fclose(maps);
	close(mem);
	return done;
}

/* A shadow that crashes ends, and its program's call fails. */
TEST_F_TIMEOUT(reach, what_it_may_not_run, 120)
{
	uint64_t end = tool_now_ms() + PATIENCE_MS;

	if (!tool_user_engine())
		SKIP(return, "a lane of the module's runs next to nothing of its program");
	if (!break_program(self->shadow))
		SKIP(return, "this kernel lets nobody write to a program");
	EXPECT_EQ(-1, ioctl(self->fd, VGPU_MOCK_IOC_NOOP, 0));
	EXPECT_EQ(ENODEV, errno);
	while (tool_shadow_of("session_reach") && tool_now_ms() < end)
		usleep(20000);
	EXPECT_EQ(0, tool_shadow_of("session_reach"));
}

#define YAMA	"/proc/sys/kernel/yama/ptrace_scope"

/* This fixture has a shadow that only a process with CAP_SYS_PTRACE, as the test, may trace. */
FIXTURE(untraced) {
	int fd;
	pid_t shadow;
	char scope[8];
};

static bool write_line(const char *path, const char *line)
{
	FILE *file = fopen(path, "w");

	if (!file)
		return false;
	fputs(line, file);
	return !fclose(file);
}

FIXTURE_SETUP(untraced)
{
	self->fd = -1;
	if (!tool_user_engine())
		SKIP(return, "a lane of the module's takes no signal in user space");
	tool_read_line(YAMA, self->scope, sizeof(self->scope));
	if (!self->scope[0])
		SKIP(return, "this kernel lets every process trace (no Yama)");
	ASSERT_TRUE(write_line(YAMA, "2"));
	ASSERT_TRUE(begin(&self->fd, &self->shadow));
}

/* The parent restores the setting, whatever became of the test. */
FIXTURE_TEARDOWN_PARENT(untraced)
{
	if (self->scope[0])
		EXPECT_TRUE(write_line(YAMA, self->scope));
}

/* Has a driver copy four bytes from an address, or to it. Return: 0, or the errno. */
static int driver_copies(int fd, unsigned int cmd, uint64_t address)
{
	struct vgpu_mock_array array = { .ptr = address, .count = 1, .total = 1 };

	return ioctl(fd, VGPU_MOCK_UNDESCRIBED(cmd), &array) ? errno : 0;
}

/* --- calls that wait --------------------------------------------------------- */

struct waiter {
	pthread_t thread;
	int fd;
	int error;
	struct vgpu_mock_wait wait;
};

static void on_signal(int signal)
{
}

static void *wait_in_driver(void *arg)
{
	struct waiter *waiter = arg;

	waiter->wait = (struct vgpu_mock_wait) { .slot = 1, .target = 1 };
	waiter->error = ioctl(waiter->fd, VGPU_MOCK_IOC_WAIT, &waiter->wait) ? errno : 0;
	return NULL;
}

/* Waits until exactly @nr calls wait in the driver. Return: true if they do. */
static bool wait_for_waiters(int fd, unsigned int nr)
{
	uint64_t end = tool_now_ms() + PATIENCE_MS;
	struct vgpu_mock_wait wake = { .slot = 1 };

	do {
		if (ioctl(fd, VGPU_MOCK_IOC_WAKE, &wake))
			return false;
		if (wake.out_waiters == nr)
			return true;
		usleep(10000);
	} while (tool_now_ms() < end);
	return false;
}

static bool waiters_start(struct waiter *waiters, unsigned int nr, int fd)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		waiters[i] = (struct waiter) { .fd = fd };
		if (pthread_create(&waiters[i].thread, NULL, wait_in_driver, &waiters[i]))
			return false;
	}
	return wait_for_waiters(fd, nr);
}

/* --- tests ------------------------------------------------------------------- */

/* The status of vgpuctl says whether the processor has keys. */
TEST_F(reach, status)
{
	const char *says = self->keys ? "\"scratch\":\"keys\"" : "\"scratch\":\"random\"";

	EXPECT_NE(NULL, strstr(tool_run("vgpuctl status --json")->out, says))
		TH_LOG("no %s", says);
}

/*
 * A driver that is given an address of stacks, data or other lanes' arguments fails with
 * EFAULT. The arguments of the driver's own call can be reached.
 */
TEST_F(reach, not_the_program)
{
	struct vgpu_mock_wait wake = { .slot = 1, .target = 1 };
	struct waiter waiters[2];
	int nr, i, reached = 0, keys = 0, error;
	uint32_t seen = 0;

	if (!self->keys)
		SKIP(return, "the processor has no protection keys");
	ASSERT_TRUE(waiters_start(waiters, 2, self->fd));
	nr = find_parts(self->shadow);
	ASSERT_GT(nr, 0);
	for (i = 0; i < nr; i++) {
		struct part *part = &parts[i];

		if (part->key >= 0 && part->used && !(seen >> part->key & 1)) {
			seen |= 1U << part->key;
			keys++;
		}
		error = driver_copies(self->fd, VGPU_MOCK_IOC_ARRAY_IN, part->start);
		EXPECT_EQ(error, driver_copies(self->fd, VGPU_MOCK_IOC_ARRAY_IN, part->end - 4));
		if (!error) {
			TH_LOG("%" PRIx64 "-%" PRIx64 " key %d", part->start, part->end,
			       part->key);
			reached++;
			continue;
		}
		EXPECT_EQ(EFAULT, error);
		/*
		 * The test has left out the write if the part could be read: such a part is the
		 * call's own argument, which the write would change.
		 */
		EXPECT_EQ(EFAULT, driver_copies(self->fd, VGPU_MOCK_IOC_ARRAY_OUT, part->start));
		EXPECT_EQ(EFAULT, driver_copies(self->fd, VGPU_MOCK_IOC_ARRAY_OUT,
						part->end - 4));
	}
	EXPECT_EQ(1, reached);
	/*
	 * The keys are that of the shadow's program, those of the two waiting calls, and that
	 * of the call made meanwhile.
	 */
	EXPECT_LE(4, keys);

	ASSERT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_WAKE, &wake));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, pthread_join(waiters[i].thread, NULL));
		EXPECT_EQ(0, waiters[i].error);
		EXPECT_EQ(1, waiters[i].wait.out_count);
	}
	EXPECT_EQ(self->shadow, tool_shadow_of("session_reach"));
}

/* --- another driver ------------------------------------------------------------ */

FIXTURE(syncobj) {
	struct peer peer;
	bool exported;
	int lane;
	uint64_t seq;
	uint32_t object;
	uint32_t handle;
};

FIXTURE_SETUP(syncobj)
{
	struct drm_syncobj_create create = { .flags = DRM_SYNCOBJ_CREATE_SIGNALED };
	const char *render = getenv("VGPU_REAL_GPU_RENDER");
	struct {
		struct vgpu_reply reply;
		struct drm_syncobj_create create;
	} answer;

	self->peer.control = -1;
	self->lane = -1;
	NEEDS_HOST();
	if (!render)
		SKIP(return, "no virtio-gpu");
	ASSERT_EQ(0, export_as("reach", render, LOOPBACK, PORT, false));
	self->exported = true;
	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	self->lane = peer_lane(&self->peer, 1);
	ASSERT_GE(self->lane, 0);
	self->object = peer_open_device(&self->peer, self->lane, ++self->seq);
	ASSERT_NE(0, self->object);
	ASSERT_TRUE(peer_ioctl_send(self->lane, self->object, ++self->seq, DRM_IOCTL_SYNCOBJ_CREATE,
				    &create, 0, sizeof(create)));
	if (peer_reply(self->lane, &answer, sizeof(answer), SLACK_MS)) {
		ASSERT_TRUE(tool_kernel_before(6, 12));
		SKIP(return, "virtio-gpu has no syncobjs in this kernel");
	}
	self->handle = answer.create.handle;
}

FIXTURE_TEARDOWN(syncobj)
{
	if (!self->exported)
		return;
	close(self->lane);
	peer_close(&self->peer);
	EXPECT_TRUE(eventually(no_guest, NULL, SLACK_MS));
	EXPECT_EQ(0, unexport("reach"));
}

/*
 * Has the driver write a point to address @points, or to a segment of the call if @points is 0.
 * Return: the result.
 */
static int64_t syncobj_query(FIXTURE_DATA(syncobj) *self, uint64_t points)
{
	const uint32_t both = VGPU_SEG_IN | VGPU_SEG_OUT;
	struct {
		struct vgpu_call call;
		struct vgpu_seg segs[3];
		struct vgpu_fixup fixups[2];
		struct drm_syncobj_timeline_array arg;
		uint32_t handle;
		uint32_t pad;
		uint64_t point;
	} msg = {
		.call = {
			.hdr = {
				.len = htole32(sizeof(msg)), .type = htole16(VGPU_MSG_CALL),
				.seq = htole64(++self->seq),
			},
			.op = htole16(VGPU_OP_IOCTL),
			.object = htole32(self->object),
			.nr_segs = htole16(3),
			.nr_fixups = htole16(2),
			.args.ioctl.cmd = htole32(DRM_IOCTL_SYNCOBJ_QUERY),
			.args.ioctl.arg_kind = htole32(VGPU_IOCTL_ARG_SEG),
		},
		.segs = {
			{ .len = htole32(sizeof(msg.arg)), .flags = htole32(both) },
			{ .len = htole32(sizeof(msg.handle)), .flags = htole32(VGPU_SEG_IN) },
			{ .len = htole32(sizeof(msg.point)), .flags = htole32(both) },
		},
		.fixups = {
			{
				.type = htole16(VGPU_FIXUP_PTR), .target = htole32(1),
				.offset = htole32(offsetof(typeof(msg.arg), handles)),
			},
			{
				/*
				 * If @points is given, this fixup goes to a place where no
				 * driver looks.
				 */
				.type = htole16(VGPU_FIXUP_PTR),
				.seg = htole16(points ? 2 : 0), .target = htole32(2),
				.offset = htole32(points ? 0 :
						  offsetof(typeof(msg.arg), points)),
			},
		},
		.arg = { .points = points, .count_handles = 1 },
		.handle = self->handle,
	};
	char answer[512];

	return peer_send(self->lane, &msg, sizeof(msg)) ?
		peer_reply(self->lane, answer, sizeof(answer), SLACK_MS) : INT64_MIN;
}

/* DRM's code fails with EFAULT if it is given an address of the shadow's own stacks and data. */
TEST_F(syncobj, query_into_the_program)
{
	int nr, i, own = 0;
	pid_t shadow = tool_shadow_of("hostile");

	if (tool_run("grep -qw ospke /proc/cpuinfo")->status)
		SKIP(return, "the processor has no protection keys");
	ASSERT_NE(0, shadow);
	ASSERT_EQ(0, syncobj_query(self, 0));
	nr = find_parts(shadow);
	ASSERT_GT(nr, 0);
	for (i = 0; i < nr; i++) {
		if (parts[i].key != VGPU_KEY_OWN)
			continue;
		own++;
		EXPECT_EQ(-EFAULT, syncobj_query(self, parts[i].start))
			TH_LOG("%" PRIx64 "-%" PRIx64, parts[i].start, parts[i].end);
		EXPECT_EQ(-EFAULT, syncobj_query(self, parts[i].end - 8))
			TH_LOG("%" PRIx64 "-%" PRIx64, parts[i].start, parts[i].end);
	}
	/* There are data, and the stack of each thread. */
	EXPECT_LE(2, own);
	/* The shadow is alive. */
	EXPECT_EQ(0, syncobj_query(self, 0));
	EXPECT_EQ(shadow, tool_shadow_of("hostile"));
}

/* --- operations other than ioctls ---------------------------------------------- */

#define PAGE	4096UL

static struct vgpu_mock_reach driver_reach(int fd, uint64_t address)
{
	struct vgpu_mock_reach reach = { .address = address };

	if (ioctl(fd, VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_REACH), &reach))
		reach.out_reached = ~0U;
	return reach;
}

/*
 * Reads and writes a page of a buffer as a program, and as a debugger if the flavour has
 * ->access.
 */
static bool page_used(int fd, uint32_t flavour)
{
	struct vgpu_mock_buf_create create = { .size = PAGE, .flavour = flavour };
	volatile unsigned char *page;
	unsigned char byte;
	int mem;

	if (ioctl(fd, VGPU_MOCK_IOC_BUF_CREATE, &create))
		return false;
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, create.out_offset);
	if (page == MAP_FAILED)
		return false;
	mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	byte = *page;
	*page = byte + 1;
	/* The host has the written byte by the time of the next call. */
	if (ioctl(fd, VGPU_MOCK_IOC_NOOP, 0) || *page != (unsigned char)(byte + 1) ||
	    ((flavour & VGPU_MOCK_BUF_ACCESS) &&
	     (pread(mem, &byte, 1, (uintptr_t)page) != 1 || byte != *page)))
		return false;
	close(mem);
	return !munmap((void *)page, PAGE);
}

/*
 * Makes all operations of a program other than calls with arguments. Return: true if all
 * succeeded.
 */
static bool operations(void)
{
	int fd = open(getenv("VGPU_FWD"), O_RDWR | O_CLOEXEC);

	return fd >= 0 && page_used(fd, VGPU_MOCK_BUF_PFN | VGPU_MOCK_BUF_NOTIFY) &&
	       page_used(fd, VGPU_MOCK_BUF_PFN | VGPU_MOCK_BUF_ACCESS) &&
	       lseek(fd, 1, SEEK_SET) == 1 && !close(fd);
}

/*
 * Drivers reach nothing but the guest's memory in operations other than ioctl, read and write,
 * either. There is one exception: an operation that copies a page can reach its call's room, the
 * memory for that call's arguments.
 */
TEST_F(reach, other_operations)
{
	const uint32_t copies = VGPU_MOCK_REACH_FAULT | VGPU_MOCK_REACH_WRITE |
				VGPU_MOCK_REACH_ACCESS;
	struct vgpu_mock_wait wake = { .slot = 1, .target = 1 };
	uint32_t wanted = copies | VGPU_MOCK_REACH_MMAP, tried = 0, seen = 0;
	struct vgpu_mock_reach reach;
	struct waiter waiters[2];
	int nr, i, reached = 0;

	if (!self->keys)
		SKIP(return, "the processor has no protection keys");
	ASSERT_TRUE(waiters_start(waiters, 2, self->fd));
	nr = find_parts(self->shadow);
	ASSERT_GT(nr, 0);
	for (i = 0; i < nr; i++) {
		struct part *part = &parts[i];

		if (part->key <= 0 || !part->used || (seen >> part->key & 1))
			continue;
		seen |= 1U << part->key;
		driver_reach(self->fd, part->start);
		EXPECT_TRUE(operations());
		reach = driver_reach(self->fd, 0);
		tried |= reach.out_tried;
		if (!reach.out_reached)
			continue;
		TH_LOG("key %d: %x", part->key, reach.out_reached);
		EXPECT_EQ(0, reach.out_reached & ~copies);
		EXPECT_NE(VGPU_KEY_OWN, part->key);
		reached++;
	}
	EXPECT_GE(1, reached);
	/* The keys are that of the shadow's program and those of the two waiting calls. */
	EXPECT_LE(3, __builtin_popcount(seen));
	/* The module does not use a driver's ->access for debuggers. */
	if (!tool_user_engine())
		wanted &= ~VGPU_MOCK_REACH_ACCESS;
	EXPECT_EQ(wanted, tried & wanted);

	ASSERT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_WAKE, &wake));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_join(waiters[i].thread, NULL));
	EXPECT_EQ(self->shadow, tool_shadow_of("session_reach"));
}

/* A long argument has memory of its own, with nothing else in it. */
TEST_F(reach, long_arguments)
{
	const uint32_t count = 64 << 10;
	struct vgpu_mock_array array = { .count = count };
	uint32_t *data = calloc(count, sizeof(*data));
	unsigned int i;

	ASSERT_NE(NULL, data);
	array.ptr = (uintptr_t)data;
	ASSERT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_ARRAY_INOUT, &array));
	EXPECT_EQ(count, array.out_count);
	for (i = 1; i < count && data[i] == data[0]; i++)
		;
	EXPECT_EQ(count, i);
	EXPECT_NE(0, data[0]);
	free(data);
}

static volatile bool fetching;

static void *fetch_again(void *arg)
{
	const int *fd = arg;
	uint32_t data = 0;

	while (fetching)
		if (driver_copies(*fd, VGPU_MOCK_IOC_ARRAY_IN, (uintptr_t)&data))
			return (void *)"a fetch fails";
	return NULL;
}

/* Returns the number of integers that are not what the driver should have made of them, or -1. */
static int array_wrong(int fd, uint32_t *data, uint32_t count, uint32_t *wanted)
{
	struct vgpu_mock_array array = { .ptr = (uintptr_t)data, .count = count };
	uint32_t i;
	int wrong = 0;

	for (i = 0; i < count; i++)
		data[i] = 0x12345678;
	if (ioctl(fd, VGPU_MOCK_IOC_ARRAY_INOUT, &array))
		return -1;
	if (!*wanted)
		*wanted = data[0];
	for (i = 0; i < count; i++)
		wrong += data[i] != *wanted;
	return wrong;
}

/*
 * Arguments of a driver stay as they are, short or long, while pages of another call come and
 * go.
 */
TEST_F(reach, arguments_beside_demand_pages)
{
	const uint32_t counts[] = { 4 << 10, 64 << 10 };
	uint32_t *data = calloc(counts[1], sizeof(*data)), wanted = 0;
	unsigned int i, times;
	pthread_t thread;
	void *said;

	ASSERT_NE(NULL, data);
	ASSERT_EQ(0, array_wrong(self->fd, data, 1, &wanted));
	ASSERT_NE(0x12345678, wanted);
	fetching = true;
	ASSERT_EQ(0, pthread_create(&thread, NULL, fetch_again, &self->fd));
	for (i = 0; i < 2; i++)
		for (times = 0; times < 100; times++)
			ASSERT_EQ(0, array_wrong(self->fd, data, counts[i], &wanted));
	fetching = false;
	ASSERT_EQ(0, pthread_join(thread, &said));
	EXPECT_EQ(NULL, said);
	free(data);
}

/*
 * More calls than there are keys run at once: each can be interrupted, and the others are not
 * affected.
 */
TEST_F(reach, many_at_once)
{
	struct sigaction action = { .sa_handler = on_signal };
	static struct waiter waiters[MANY];
	struct vgpu_mock_array array;
	unsigned int i;
	uint32_t data;

	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	ASSERT_TRUE(waiters_start(waiters, MANY, self->fd));
	for (i = 0; i < MANY; i++) {
		data = 0;
		array = (struct vgpu_mock_array) { .ptr = (uintptr_t)&data, .count = 1 };
		EXPECT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_ARRAY_INOUT, &array));
		EXPECT_NE(0, data);
		ASSERT_EQ(0, pthread_kill(waiters[i].thread, SIGUSR1));
		ASSERT_EQ(0, pthread_join(waiters[i].thread, NULL));
		EXPECT_EQ(EINTR, waiters[i].error);
		ASSERT_TRUE(wait_for_waiters(self->fd, MANY - 1 - i));
	}
	EXPECT_EQ(self->shadow, tool_shadow_of("session_reach"));
}

/* --- the signal of a CANCEL ---------------------------------------------------- */

/* Returns the shadow's thread that makes this ioctl, or 0. */
static pid_t find_thread(pid_t shadow, unsigned int cmd)
{
	char path[64], line[256];
	unsigned long nr, fd, its;
	struct dirent *entry;
	pid_t found = 0;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", shadow);
	tasks = opendir(path);
	while (tasks && !found && (entry = readdir(tasks))) {
		snprintf(path, sizeof(path), "/proc/%d/task/%.20s/syscall", shadow, entry->d_name);
		tool_read_line(path, line, sizeof(line));
		if (sscanf(line, "%lu 0x%lx 0x%lx", &nr, &fd, &its) == 3 && its == cmd)
			found = atoi(entry->d_name);
	}
	if (tasks)
		closedir(tasks);
	return found;
}

/*
 * Drivers, and devices with pinned pages, can reach the stack frame that the kernel makes for
 * the signal of a CANCEL. The test overwrites the frame when the handler starts: the shadow
 * must use nothing of it but the driver's result. A traced shadow gets no such signal, so only
 * this test traces it.
 */
TEST_F_TIMEOUT(untraced, stack_of_the_cancel, 120)
{
	struct sigaction action = { .sa_handler = on_signal };
	static const char nothing[1024];
	struct user_regs_struct regs;
	struct vgpu_mock_array array;
	uint64_t end = tool_now_ms() + PATIENCE_MS;
	struct waiter waiter;
	pid_t thread = 0;
	uint32_t data = 0;
	char path[64];
	int status, mem;

	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	ASSERT_TRUE(waiters_start(&waiter, 1, self->fd));
	/* The kernel shows no system call for a running thread. */
	while (!thread && tool_now_ms() < end)
		thread = find_thread(self->shadow, VGPU_MOCK_IOC_WAIT);
	ASSERT_NE(0, thread);
	ASSERT_EQ(0, ptrace(PTRACE_SEIZE, thread, NULL, NULL));
	ASSERT_EQ(0, pthread_kill(waiter.thread, SIGUSR1));
	ASSERT_EQ(thread, waitpid(thread, &status, __WALL));
	ASSERT_TRUE(WIFSTOPPED(status));
	ASSERT_EQ(VGPU_LANE_SIGNAL, WSTOPSIG(status));
	/* The thread is stopped before the handler's first instruction. */
	ASSERT_EQ(0, ptrace(PTRACE_SINGLESTEP, thread, NULL, VGPU_LANE_SIGNAL));
	ASSERT_EQ(thread, waitpid(thread, &status, __WALL));
	ASSERT_TRUE(WIFSTOPPED(status));
	ASSERT_EQ(SIGTRAP, WSTOPSIG(status));
	ASSERT_EQ(0, ptrace(PTRACE_GETREGS, thread, NULL, &regs));
	snprintf(path, sizeof(path), "/proc/%d/mem", self->shadow);
	mem = open(path, O_RDWR | O_CLOEXEC);
	ASSERT_GE(mem, 0);
	EXPECT_EQ(sizeof(nothing), pwrite(mem, nothing, sizeof(nothing), regs.rsp));
	close(mem);
	ASSERT_EQ(0, ptrace(PTRACE_DETACH, thread, NULL, NULL));
	ASSERT_EQ(0, pthread_join(waiter.thread, NULL));
	/* The shadow serves the next call. */
	EXPECT_EQ(self->shadow, tool_shadow_of("session_reach"));
	array = (struct vgpu_mock_array) { .ptr = (uintptr_t)&data, .count = 1 };
	EXPECT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_ARRAY_INOUT, &array));
	EXPECT_NE(0, data);
}

/*
 * A guest has to guess the addresses of data, stacks and the rest, which matters where there
 * are no keys.
 */
TEST_F(reach, addresses_are_random)
{
	static uint64_t before[PARTS];
	int nr, nr_before, i, j, same = 0, status;
	pid_t child;

	nr_before = find_parts(self->shadow);
	ASSERT_GT(nr_before, 1);
	for (i = 0; i < nr_before; i++)
		before[i] = parts[i].start;
	child = fork();
	ASSERT_GE(child, 0);
	if (!child) {
		int fd;

		/* The shadow gets the name that the program has at its first call. */
		if (!tool_write("/proc/self/comm", "session_reach2"))
			_exit(2);
		fd = open(getenv("VGPU_FWD"), O_RDWR);
		if (fd < 0 || ioctl(fd, VGPU_MOCK_IOC_NOOP, 0))
			_exit(3);
		nr = find_parts(tool_shadow_of("session_reach2"));
		if (nr <= 1)
			_exit(4);
		for (i = 0; i < nr; i++)
			for (j = 0; j < nr_before; j++)
				same += before[j] == parts[i].start;
		_exit(same ? 5 : 0);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(0, WEXITSTATUS(status));
}

TEST_HARNESS_MAIN
