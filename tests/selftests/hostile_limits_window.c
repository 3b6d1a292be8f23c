// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hostile guest's hypervisor uses as much of the host as a window allows: page tables, faults,
 * and workers that are in drivers. A process that opens the window again gets no more.
 */
#include <ctype.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "hostile_limits.h"
#include "slow.h"

/* --- page tables of a hypervisor --------------------------------------------------- */

#define GROUP		"/sys/fs/cgroup/vgpu-limits"
#define GROUP_BYTES	(16UL << 20)
#define WINDOW_BYTES	(64UL << 30)
/* A page table maps this many bytes. */
#define TABLE_BYTES	(2UL << 20)
/* The kernel charges memory for each processor in advance, and does not limit some of its own. */
#define GROUP_SLACK	(2UL << 20)

static void touch_everywhere(void)
{
	volatile char *memory;
	unsigned long at;
	int fd;

	if (!tool_write(GROUP "/cgroup.procs", "0"))
		_exit(1);
	fd = open("/dev/vgpu-window-1-22600", O_RDWR);
	memory = mmap(NULL, WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		_exit(2);
	for (at = TABLE_BYTES; at < WINDOW_BYTES; at += TABLE_BYTES)
		memory[at] = 1;
	_exit(0);
}

/*
 * A guest can make its hypervisor fault anywhere in the window. The page tables are charged to
 * the hypervisor's control group.
 */
TEST_F(limits, page_tables_of_a_hypervisor)
{
	char line[64];
	int status;
	pid_t pid;

	NEEDS_WINDOWS();
	if (!tool_write("/sys/fs/cgroup/cgroup.subtree_control", "+memory") ||
	    (mkdir(GROUP, 0700) && errno != EEXIST))
		SKIP(return, "no memory controller here");
	snprintf(line, sizeof(line), "%lu", GROUP_BYTES);
	ASSERT_TRUE(tool_write(GROUP "/memory.max", line));
	ASSERT_EQ(0, window_command("create", "--size 64G"));
	pid = fork();
	if (!pid)
		touch_everywhere();
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		TH_LOG("status %x", status);
	tool_read_line(GROUP "/memory.peak", line, sizeof(line));
	EXPECT_NE('\0', line[0]);
	EXPECT_LE(strtoul(line, NULL, 10), GROUP_BYTES + GROUP_SLACK);
	EXPECT_EQ(0, window_command("destroy", ""));
	EXPECT_EQ(0, rmdir(GROUP));
}

/* Returns 0, or the errno with which the mock's driver failed to get the page at @ptr. */
static int driver_faults(int fd, volatile char *ptr, uint32_t mode)
{
	struct vgpu_mock_atomic atomic = {
		.ptr = (uintptr_t)ptr, .length = 1, .mode = mode,
	};

	return ioctl(fd, VGPU_MOCK_IOC_ATOMIC, &atomic) ? errno : 0;
}

/*
 * A device that gets a page by VFIO keeps the page, whatever the window shows there later. So
 * VFIO must not get the window's first page, with which it begins, whether the page is mapped or
 * not. Neither must it get any other page that is not mapped.
 */
TEST_F(limits, faults_for_devices)
{
	volatile char *memory;
	int window, fd;

	NEEDS_WINDOWS();
	ASSERT_EQ(0, window_command("create", "--size 1M"));
	window = open("/dev/vgpu-window-1-22600", O_RDWR | O_CLOEXEC);
	ASSERT_GE(window, 0);
	memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, window, 0);
	ASSERT_NE(MAP_FAILED, memory);
	fd = open(getenv("VGPU_REAL"), O_RDWR | O_CLOEXEC);
	ASSERT_GE(fd, 0);

	EXPECT_EQ(EFAULT, driver_faults(fd, memory, VGPU_MOCK_ATOMIC_DEVICE));
	EXPECT_EQ(EFAULT, driver_faults(fd, memory + VGPU_PAGE_SIZE, VGPU_MOCK_ATOMIC_DEVICE));
	/* The hypervisor has faulted in the first page. */
	EXPECT_EQ(0, driver_faults(fd, memory, VGPU_MOCK_ATOMIC_NO_RETRY));
	EXPECT_EQ(EFAULT, driver_faults(fd, memory, VGPU_MOCK_ATOMIC_DEVICE));
	/* The hypervisor itself gets the other pages. */
	EXPECT_EQ(0, driver_faults(fd, memory + VGPU_PAGE_SIZE, VGPU_MOCK_ATOMIC_NO_RETRY));
	memory[2 * VGPU_PAGE_SIZE] = 1;
	EXPECT_EQ(1, memory[2 * VGPU_PAGE_SIZE]);
	munmap((void *)memory, 1 << 20);
	close(window);
	close(fd);
	EXPECT_EQ(0, window_command("destroy", ""));
}

/* A compromised hypervisor can open the window of its own guest, but not those of others. */
TEST_F(limits, window_of_one_process)
{
	static const char path[] = "/dev/vgpu-window-1-22600";
	int fd[2], status;
	pid_t pid;

	NEEDS_WINDOWS();
	ASSERT_EQ(0, window_command("create", "--size 1M"));
	fd[0] = open(path, O_RDWR | O_CLOEXEC);
	ASSERT_GE(fd[0], 0);
	pid = fork();
	if (!pid)
		_exit(open(path, O_RDWR) >= 0 ? 0 : errno);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(EBUSY, WEXITSTATUS(status));
	/*
	 * The window can be opened again by the same process, and by another one when all these
	 * files are closed.
	 */
	fd[1] = open(path, O_RDWR | O_CLOEXEC);
	EXPECT_GE(fd[1], 0);
	close(fd[0]);
	close(fd[1]);
	pid = fork();
	if (!pid)
		_exit(open(path, O_RDWR) >= 0 ? 0 : errno);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(0, WEXITSTATUS(status));
	EXPECT_EQ(0, window_command("destroy", ""));
}

/*
 * Starts a child that has the window open and mapped until the other end of @fd is closed, or
 * that opens and maps it and ends if @fd is -1.
 */
static pid_t hypervisor_start(const char *path, int flags, int fd)
{
	pid_t pid = fork();
	char byte;
	int file;

	if (pid)
		return pid;
	file = open(path, O_RDWR | flags);
	if (file < 0)
		_exit(errno);
	if (mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0) == MAP_FAILED ||
	    (fd >= 0 && (write(fd, "", 1) != 1 || read(fd, &byte, 1))))
		_exit(255);
	_exit(0);
}

/* Return: true if the process is in open(); false if it has ended. */
static bool is_in_open(void *data)
{
	pid_t *pid = data;
	char path[40], line[32];

	snprintf(path, sizeof(path), "/proc/%d/syscall", *pid);
	tool_read_line(path, line, sizeof(line));
	return atoi(line) == SYS_openat;
}

/* A hypervisor that is started again while the old one is just ending gets its window. */
TEST_F_TIMEOUT(limits, window_of_restarted_process, 120)
{
	static const char path[] = "/dev/vgpu-window-1-22600";
	int fd[2], status = 0, turn;
	bool waited = false;
	pid_t old, next;
	char byte;

	NEEDS_WINDOWS();
	ASSERT_EQ(0, window_command("create", "--size 1M"));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd));
	for (turn = 0; turn < 3; turn++) {
		old = hypervisor_start(path, 0, fd[1]);
		ASSERT_EQ(1, read(fd[0], &byte, 1));
		/* The open fails at once with O_NONBLOCK. */
		next = hypervisor_start(path, O_NONBLOCK, -1);
		ASSERT_EQ(next, waitpid(next, &status, 0));
		EXPECT_EQ(EBUSY, WEXITSTATUS(status));
		next = hypervisor_start(path, 0, -1);
		waited = eventually(is_in_open, &next, 1000);
		kill(old, SIGKILL);
		ASSERT_EQ(old, waitpid(old, NULL, 0));
		ASSERT_EQ(next, waitpid(next, &status, 0));
		/*
		 * The test is repeated if it was delayed and killed the old hypervisor too
		 * late.
		 */
		if (!WIFEXITED(status) || WEXITSTATUS(status) != EBUSY)
			break;
	}
	EXPECT_TRUE(waited);
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(0, WEXITSTATUS(status));
	close(fd[0]);
	close(fd[1]);
	EXPECT_EQ(0, window_command("destroy", ""));
}

/* --- workers of a window ------------------------------------------------------------ */

#define SLOW_MS		3000

/* Return: true if a kernel thread works for a workqueue of that name. */
static bool worker_of(void *name)
{
	char path[300], line[512];
	struct dirent *entry;
	bool found = false;
	DIR *proc = opendir("/proc");

	while (proc && !found && (entry = readdir(proc))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		tool_read_line(path, line, sizeof(line));
		found = !strncmp(line, "kworker/", 8) && strstr(line, name);
	}
	if (proc)
		closedir(proc);
	return found;
}

/*
 * Workers that are stuck in a guest's driver are those of the guest's own window, and no other
 * window's.
 */
TEST_F(limits, workers_of_a_window)
{
	struct vgpu_mock_buf_create create = { .size = 8192, .flavour = VGPU_MOCK_BUF_PFN };
	struct vgpu_mock_buf_range range = {
		.delay_ms = SLOW_MS, .seed = VGPU_MOCK_SLOW_UNLOCKED,
	};
	struct {
		struct vgpu_reply reply;
		union {
			struct vgpu_mock_buf_create create;
			struct vgpu_mock_buf_range range;
		};
	} answer;
	union {
		struct vgpu_window_info info;
		char bytes[VGPU_CONTROL_MSG_MAX];
	} msg;
	struct peer_call call;
	uint32_t object;
	int lane;

	NEEDS_WINDOWS();
	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	ASSERT_EQ(0, window_command("create", "--size 1M"));
	ASSERT_TRUE(control_next(self->peer.control, VGPU_MSG_WINDOW, &msg, sizeof(msg)));
	lane = peer_lane(&self->peer, 1);
	ASSERT_GE(lane, 0);
	object = peer_open_device(&self->peer, lane, 1);
	ASSERT_NE(0, object);
	ASSERT_TRUE(peer_ioctl_send(lane, object, 2, VGPU_MOCK_IOC_BUF_CREATE, &create, 0,
				    sizeof(create)));
	ASSERT_EQ(0, peer_reply(lane, &answer, sizeof(answer), SLACK_MS));
	range.id = answer.create.out_id;
	peer_mmap_init(&call, object, 4, 0x20000000, 8192, answer.create.out_offset,
		       PROT_READ | PROT_WRITE);
	call.msg.args.mmap.window = htole64(le64toh(msg.info.window));
	call.msg.args.mmap.window_offset = htole64(8192);
	ASSERT_TRUE(peer_ioctl_send(lane, object, 3, VGPU_MOCK_IOC_BUF_SLOW, &range, 0,
				    sizeof(range)));
	ASSERT_EQ(0, peer_reply(lane, &answer, sizeof(answer), SLACK_MS));
	/* The probe of this mapping stays in the driver for a while. */
	ASSERT_TRUE(peer_call_send(lane, &call, 0, 0));
	EXPECT_TRUE(eventually(worker_of, "+vgpu-window-1-22600", SLOW_MS));
	peer_close(&self->peer);
	close(lane);
	EXPECT_EQ(0, window_command("destroy", "--force"));
	/* The driver's fault holds the shadow, and so the guest, until the fault returns. */
	EXPECT_TRUE(eventually(no_guest, NULL, SLOW_MS + SLACK_MS));
}

/* --- ends of bindings --------------------------------------------------------------- */

/* This is more than the number of work items that a workqueue runs at once. */
#define BINDINGS	2100

/* Has the device invalidate all mappings of a buffer. */
static pid_t invalidate_start(uint32_t id)
{
	struct vgpu_mock_buf_range range = { .id = id };
	pid_t pid = fork();
	int fd;

	if (pid)
		return pid;
	fd = open(VGPU_MOCK_PATH_ITER, O_RDWR | O_CLOEXEC);
	_exit(fd < 0 || ioctl(fd, VGPU_MOCK_IOC_BUF_INVALIDATE, &range));
}

static bool is_stopped(void *unused)
{
	return slow_waits();
}

/* Starts a program of another guest, which makes calls after closes and waits for an event. */
static pid_t other_guest_start(void)
{
	struct vgpu_mock_poll arm = { .events = POLLIN, .delay_ms = 200 }, none = { .events = 0 };
	struct pollfd pfd = { .events = POLLIN };
	pid_t pid = fork();
	int i;

	if (pid)
		return pid;
	for (i = 0; i < 3; i++)
		if (!witness())
			_exit(1);
	pfd.fd = open(fwd_path, O_RDWR | O_CLOEXEC);
	_exit(pfd.fd < 0 || ioctl(pfd.fd, VGPU_MOCK_IOC_POLL_ARM, &none) ||
	      ioctl(pfd.fd, VGPU_MOCK_IOC_POLL_ARM, &arm) || poll(&pfd, 1, SLACK_MS) != 1);
}

static bool has_ended(void *pid)
{
	siginfo_t info = { .si_pid = 0 };

	return !waitid(P_PID, *(pid_t *)pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid;
}

/*
 * A driver is slow to invalidate what a guest's program has mapped, as one that waits for its
 * device in a notifier. The guest unbinds all of the program's mappings meanwhile, and other
 * guests do not wait.
 */
TEST_F_TIMEOUT(limits, ends_of_bindings, 240)
{
	struct vgpu_mock_buf_create create = {
		.size = VGPU_PAGE_SIZE, .flavour = VGPU_MOCK_BUF_PFN,
	};
	struct vgpu_window_part unbind = {
		.hdr.len = htole32(sizeof(unbind)),
		.hdr.type = htole16(VGPU_MSG_UNBIND),
		.hdr.seq = htole64(1),
		.offset = htole64(VGPU_PAGE_SIZE),
		.len = htole64(BINDINGS * VGPU_PAGE_SIZE),
	};
	struct {
		struct vgpu_reply reply;
		struct vgpu_mock_buf_create create;
	} answer;
	union {
		struct vgpu_window_info info;
		char bytes[VGPU_CONTROL_MSG_MAX];
	} msg;
	uint64_t seq = 1, i;
	pid_t device, other;
	uint32_t object;
	int lane, status;

	NEEDS_WINDOWS();
	if (!slow_can())
		SKIP(return, "needs a kernel with kprobes");
	/* A slow device delays all its users, so the other guest uses another device. */
	ASSERT_EQ(0, unexport("limits"));
	ASSERT_EQ(0, export_as("limits", VGPU_MOCK_PATH_ITER, LOOPBACK, PORT, false));
	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	ASSERT_EQ(0, window_command("create", "--size 16M"));
	ASSERT_TRUE(control_next(self->peer.control, VGPU_MSG_WINDOW, &msg, sizeof(msg)));
	unbind.window = msg.info.window;
	lane = peer_lane(&self->peer, 1);
	ASSERT_GE(lane, 0);
	object = peer_open_device(&self->peer, lane, seq);
	ASSERT_NE(0, object);
	ASSERT_TRUE(peer_ioctl_send(lane, object, ++seq, VGPU_MOCK_IOC_BUF_CREATE, &create, 0,
				    sizeof(create)));
	ASSERT_EQ(0, peer_reply(lane, &answer, sizeof(answer), SLACK_MS));
	create = answer.create;
	for (i = 0; i < BINDINGS; i++) {
		ASSERT_TRUE(mmap_send_for(lane, object, ++seq, 0x20000000 + 2 * i * VGPU_PAGE_SIZE,
					  create.out_offset, le64toh(unbind.window),
					  (1 + i) * VGPU_PAGE_SIZE));
		ASSERT_EQ(0, peer_reply(lane, &answer, sizeof(answer), SLACK_MS));
		ASSERT_TRUE(le32toh(answer.reply.out.mmap.flags) & VGPU_MAP_WINDOW);
		if (i % 100 == 0)
			ASSERT_TRUE(peer_ping(&self->peer));
	}

	ASSERT_TRUE(peer_ping(&self->peer));
	ASSERT_TRUE(slow_start("vgpu_host:binding_invalidate"));
	ASSERT_TRUE(peer_ping(&self->peer));
	device = invalidate_start(create.out_id);
	ASSERT_TRUE(eventually(is_stopped, NULL, SLACK_MS));
	ASSERT_TRUE(peer_send(self->peer.control, &unbind, sizeof(unbind)));
	ASSERT_TRUE(control_next(self->peer.control, VGPU_MSG_UNBOUND, &msg, sizeof(msg)));
	/* The worker that waits for the driver belongs to the window. */
	EXPECT_TRUE(eventually(worker_of, "+vgpu-window-1-22600", SLACK_MS));
	other = other_guest_start();
	EXPECT_TRUE(eventually(has_ended, &other, SLACK_MS));
	EXPECT_FALSE(has_ended(&device));

	ASSERT_TRUE(tool_write(SLOW_GO, "1"));
	ASSERT_EQ(other, waitpid(other, &status, 0));
	EXPECT_EQ(0, status);
	ASSERT_EQ(device, waitpid(device, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_TRUE(slow_stop());
	peer_close(&self->peer);
	close(lane);
	EXPECT_EQ(0, window_command("destroy", "--force"));
}

TEST_HARNESS_MAIN
