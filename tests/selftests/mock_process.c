// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processes of every kind: started by vfork(), in namespaces of their own, with
 * little room, traced, stopped, dumping core. And what others may see of them.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>

#include "vgpu_diff.h"

#define PAGE	4096UL
#define MIB	(1UL << 20)

/* Everything that a process does with a device; the exit status tells how far it came. */
static int use_device(int fd)
{
	struct vgpu_mock_buf_create create = { .size = 4 * PAGE, .flavour = VGPU_MOCK_BUF_PFN };
	__u32 data[3000] = { 1, 2, 3 };
	struct vgpu_mock_array array = { .ptr = (uintptr_t)data, .count = 3000 };
	struct vgpu_mock_fd_out out = { .cookie = 5, .flags = O_CLOEXEC };
	struct vgpu_mock_inout io = { 1, 2, 3 };
	char *memory;

	if (ioctl(fd, VGPU_MOCK_IOC_INOUT, &io) || io.value != vgpu_mock_mix64(1))
		return 1;
	if (ioctl(fd, VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_ARRAY_INOUT), &array) ||
	    data[0] != vgpu_mock_mix32(1))
		return 2;
	if (ioctl(fd, VGPU_MOCK_IOC_FD_OUT, &out) || close(out.out_fd))
		return 3;
	if (ioctl(fd, VGPU_MOCK_IOC_BUF_CREATE, &create))
		return 4;
	memory = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, create.out_offset);
	if (memory == MAP_FAILED)
		return 5;
	memory[PAGE] = 7;
	if (ioctl(fd, VGPU_MOCK_IOC_NOOP) || memory[PAGE] != 7 || munmap(memory, 4 * PAGE))
		return 6;
	return 0;
}

static void log_child(pid_t pid)
{
	int status = -1;

	MUST(pid > 0);
	LOG_CALL(waitpid(pid, &status, 0) == pid);
	log_line("status %x", status);
}

static char number[16];

/* The child is in the parent's memory until it has become another program. */
DIFF_TEST(vfork_and_exec)
{
	int fd = open_device(O_RDWR);
	int kept = open_device(O_RDWR | O_CLOEXEC);
	pid_t pid;

	MUST(use_device(fd) == 0);
	snprintf(number, sizeof(number), "%d", fd);
	pid = vfork();
	if (!pid) {
		if (ioctl(fd, VGPU_MOCK_IOC_NOOP))
			_exit(20);
		execl("/proc/self/exe", "mock_process", "--use-device", number, NULL);
		_exit(21);
	}
	log_child(pid);
	/* Closed on exec. */
	snprintf(number, sizeof(number), "%d", kept);
	pid = vfork();
	if (!pid) {
		execl("/proc/self/exe", "mock_process", "--use-device", number, NULL);
		_exit(21);
	}
	log_child(pid);
	log_line("parent %d", use_device(fd));
	log_line("parent %d", use_device(kept));
}

/* Two processes with one memory: the session is of the memory. */
DIFF_TEST(shared_memory_only)
{
	static char stack[65536] __attribute__((aligned(16)));
	int fd = open_device(O_RDWR);
	pid_t pid;

	snprintf(number, sizeof(number), "%d", fd);
	pid = clone((int (*)(void *))(void *)use_device, stack + sizeof(stack), CLONE_VM | SIGCHLD,
		    (void *)(long)fd);
	log_child(pid);
	log_line("parent %d", use_device(fd));
}

static void in_namespaces(int flags)
{
	int fd = open_device(O_RDWR);
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		if (unshare(flags))
			_exit(100 + (errno == EPERM));
		/* A process namespace is for children. */
		pid = fork();
		if (!pid) {
			int own, ret = use_device(fd);

			own = open(path, O_RDWR);
			_exit(ret ? ret : own < 0 ? 30 : use_device(own));
		}
		log_child(pid);
		_exit(0);
	}
	log_child(pid);
	log_line("parent %d", use_device(fd));
}

DIFF_TEST(user_namespace)
{
	in_namespaces(CLONE_NEWUSER);
}

DIFF_TEST(container)
{
	in_namespaces(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC |
		      CLONE_NEWUTS);
}

static void with_limit(int what, rlim_t limit)
{
	struct rlimit value = { limit, limit };
	pid_t pid;
	int fd;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		MUST(!setrlimit(what, &value));
		fd = open(path, O_RDWR);
		_exit(fd < 0 ? 40 : use_device(fd));
	}
	log_child(pid);
}

/* Little room for memory: what the forwarder keeps for itself must not need it. */
DIFF_TEST(address_space_limit)
{
	with_limit(RLIMIT_AS, 256 * MIB);
	with_limit(RLIMIT_DATA, 64 * MIB);
	with_limit(RLIMIT_STACK, MIB);
}

DIFF_TEST(few_fds)
{
	with_limit(RLIMIT_NOFILE, 64);
}

/* All memory is to be locked, and an ordinary user may lock little. */
DIFF_TEST(locked_memory)
{
	struct rlimit limit = { 8 * MIB, 8 * MIB };
	pid_t pid;
	int fd;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		MUST(!setrlimit(RLIMIT_MEMLOCK, &limit));
		MUST(getuid() || !setresuid(65534, 65534, 65534));
		MUST(!mlockall(MCL_FUTURE));
		fd = open(path, O_RDWR);
		_exit(fd < 0 ? 40 : use_device(fd));
	}
	log_child(pid);
}

/* --- tracing -------------------------------------------------------------- */

static pid_t sleeper(int fd, __u32 ms, __u32 on_signal_)
{
	struct vgpu_mock_sleep sleep = {
		.ms = ms, .mode = VGPU_MOCK_SLEEP_INTERRUPTIBLE, .on_signal = on_signal_,
	};
	int ret;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		errno = 0;
		ret = ioctl(fd, VGPU_MOCK_IOC_SLEEP, &sleep);
		_exit(ret ? 128 | errno : sleep.out_woken);
	}
	sleep_ms(200);
	return pid;
}

/* A tracer stops it in the middle of a call, looks at it, and lets it go on. */
DIFF_TEST(traced)
{
	static const __u32 hows[] = {
		VGPU_MOCK_SIGNAL_ERESTARTSYS, VGPU_MOCK_SIGNAL_EINTR,
		VGPU_MOCK_SIGNAL_ERESTARTNOINTR, VGPU_MOCK_SIGNAL_ERESTARTNOHAND,
	};
	int fd = open_device(O_RDWR);
	unsigned int i, j;
	pid_t pid;
	int status;

	for (i = 0; i < ARRAY_SIZE(hows); i++) {
		log_line("how %u", hows[i]);
		/* Long enough on a busy machine; only one is waited for. */
		pid = sleeper(fd, i ? 10000 : 2000, hows[i]);
		LOG_CALL(ptrace(PTRACE_SEIZE, pid, 0, 0));
		for (j = 0; j < 3; j++) {
			LOG_CALL(ptrace(PTRACE_INTERRUPT, pid, 0, 0));
			LOG_CALL(waitpid(pid, &status, 0) == pid);
			log_line("stopped %x", status);
			if (!WIFSTOPPED(status))
				break;
			LOG_CALL(ptrace(PTRACE_CONT, pid, 0, 0));
			sleep_ms(50);
		}
		if (j < 3)
			continue;
		if (i)
			kill(pid, SIGKILL);
		LOG_CALL(waitpid(pid, &status, 0) == pid);
		log_line("ended %x", status);
	}
}

/* A tracer that ends leaves the call as it was. */
DIFF_TEST(tracer_dies)
{
	int fd = open_device(O_RDWR);
	pid_t pid = sleeper(fd, 1500, VGPU_MOCK_SIGNAL_ERESTARTNOHAND);
	pid_t tracer;
	int status;

	tracer = fork();
	if (!tracer) {
		if (ptrace(PTRACE_ATTACH, pid, 0, 0) || waitpid(pid, &status, 0) != pid)
			_exit(50);
		_exit(0);
	}
	log_child(tracer);
	log_child(pid);
}

/* Stopped and continued, again and again, by job control. */
DIFF_TEST(stopped_often)
{
	int fd = open_device(O_RDWR);
	pid_t pid = sleeper(fd, 1500, VGPU_MOCK_SIGNAL_ERESTARTSYS);
	int status, i;

	for (i = 0; i < 5; i++) {
		kill(pid, SIGSTOP);
		LOG_CALL(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
		kill(pid, SIGCONT);
		LOG_CALL(waitpid(pid, &status, WCONTINUED) == pid && WIFCONTINUED(status));
		sleep_ms(30);
	}
	log_child(pid);
}

/* --- what others see ------------------------------------------------------ */

static char *map_buffer(int fd, __u32 flavour, __u64 size)
{
	struct vgpu_mock_buf_create create = { .size = size, .flavour = flavour };
	char *memory;

	MUST(!ioctl(fd, VGPU_MOCK_IOC_BUF_CREATE, &create));
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, create.out_offset);
	MUST(memory != MAP_FAILED);
	return memory;
}

/* One process reads another one's mapping. */
static void read_by_another(__u32 flavour)
{
	char copy[64] = "";
	struct iovec to = { copy, sizeof(copy) }, from;
	int fd = open_device(O_RDWR);
	char *memory = map_buffer(fd, flavour, 4 * PAGE);
	ssize_t got;
	pid_t pid;

	strcpy(memory + PAGE, "written by its owner");
	from = (struct iovec) { memory + PAGE, sizeof(copy) };
	fflush(NULL);
	pid = fork();
	if (!pid) {
		from.iov_base = memory + PAGE;
		got = process_vm_readv(getppid(), &to, 1, &from, 1, 0);
		log_line("%zd %s '%s'", got, got < 0 ? strerrorname_np(errno) : "", copy);
		/* A page that nobody has touched. */
		from.iov_base = memory + 3 * PAGE;
		got = process_vm_readv(getppid(), &to, 1, &from, 1, 0);
		log_line("%zd %s", got, got < 0 ? strerrorname_np(errno) : "");
		_exit(0);
	}
	log_child(pid);
}

DIFF_TEST(read_by_another_pfn)
{
	read_by_another(VGPU_MOCK_BUF_PFN);
}

DIFF_TEST(read_by_another_page)
{
	read_by_another(VGPU_MOCK_BUF_PAGE);
}

/* Where device memory comes from or goes to another file, without a copy. */
static void direct_transfers(__u32 flavour)
{
	int fd = open_device(O_RDWR);
	char *memory = map_buffer(fd, flavour, 4 * PAGE);
	char copy[PAGE];
	int pipes[2];

	vgpu_mock_pattern(memory, 4 * PAGE, 3, 0);
	MUST(!pipe(pipes));
	/* By copies, which always work. */
	LOG_CALL(write(pipes[1], memory + 100, 2000));
	LOG_CALL(read(pipes[0], copy, sizeof(copy)));
	CHECK(!memcmp(copy, memory + 100, 2000));
	LOG_CALL(write(pipes[1], copy, 1000));
	LOG_CALL(read(pipes[0], memory + 2 * PAGE, 1000));
	CHECK(!memcmp(copy, memory + 2 * PAGE, 1000));
	/* By references to pages. */
	LOG_CALL(vmsplice(pipes[1], &(struct iovec) { memory, PAGE }, 1, 0));
}

DIFF_TEST(direct_transfers_pfn)
{
	direct_transfers(VGPU_MOCK_BUF_PFN);
}

DIFF_TEST(direct_transfers_page)
{
	direct_transfers(VGPU_MOCK_BUF_PAGE);
}

/* A program that crashes with device memory mapped: the dump ends, and soon. */
static void dump_core(__u32 flavour)
{
	struct rlimit limit = { 64 * MIB, 64 * MIB };
	int fd = open_device(O_RDWR);
	char folder[] = "/tmp/core-XXXXXX";
	__u64 start;
	char *memory;
	FILE *filter;
	int status;
	pid_t pid;

	if (access("/proc/self/coredump_filter", F_OK)) {
		log_line("this kernel dumps no core");
		return;
	}
	MUST(mkdtemp(folder));
	fflush(NULL);
	start = now_ms();
	pid = fork();
	if (!pid) {
		MUST(!chdir(folder) && !setrlimit(RLIMIT_CORE, &limit));
		MUST(!prctl(PR_SET_DUMPABLE, 1));
		/* Also what is shared, and what is mapped from files. */
		filter = fopen("/proc/self/coredump_filter", "w");
		MUST(filter && fputs("0x7f", filter) > 0 && !fclose(filter));
		memory = map_buffer(fd, flavour, 64 * PAGE);
		memory[3 * PAGE] = 1;
		abort();
	}
	MUST(waitpid(pid, &status, 0) == pid);
	log_line("status %x", status);
	CHECK(now_ms() - start < 30000);
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_NOOP));
	LOG_CALL(system("rm -rf /tmp/core-*"));
}

DIFF_TEST_LIMIT(dump_core_pfn, 60)
{
	dump_core(VGPU_MOCK_BUF_PFN);
}

DIFF_TEST_LIMIT(dump_core_page, 60)
{
	dump_core(VGPU_MOCK_BUF_PAGE);
}

/* One of its threads is in a call meanwhile. */
static void *sleep_long(void *argument)
{
	struct vgpu_mock_sleep sleep = {
		.ms = 30000, .mode = VGPU_MOCK_SLEEP_INTERRUPTIBLE,
	};

	ioctl(*(int *)argument, VGPU_MOCK_IOC_SLEEP, &sleep);
	return NULL;
}

DIFF_TEST_LIMIT(dump_core_of_threads, 60)
{
	struct rlimit limit = { 64 * MIB, 64 * MIB };
	int fd = open_device(O_RDWR);
	pthread_t thread;
	__u64 start = now_ms();
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		MUST(!chdir("/tmp") && !setrlimit(RLIMIT_CORE, &limit));
		MUST(!pthread_create(&thread, NULL, sleep_long, &fd));
		sleep_ms(200);
		abort();
	}
	MUST(waitpid(pid, &status, 0) == pid);
	log_line("status %x", status);
	CHECK(now_ms() - start < 30000);
	LOG_CALL(system("rm -f /tmp/core*"));
}

/* --- many kills ----------------------------------------------------------- */

static int call_for_ever(void *argument)
{
	struct vgpu_mock_sleep sleep = { .ms = 50, .mode = VGPU_MOCK_SLEEP_INTERRUPTIBLE };
	int fd = (long)argument;

	for (;;) {
		ioctl(fd, VGPU_MOCK_IOC_SLEEP, &sleep);
		ioctl(fd, VGPU_MOCK_IOC_NOOP);
	}
	return 0;
}

/*
 * Ten thousand times (forwarded) a task is killed somewhere in a call. Most have the memory
 * of this process and so its session; some are processes of their own.
 */
DIFF_TEST_LIMIT(killed_ten_thousand_times, 500)
{
	static char stacks[8][32768] __attribute__((aligned(16)));
	struct vgpu_mock_counters before, after;
	int fd = open_device(O_RDWR);
	int i, times = diff_times(forwarded ? 10000 : 1000) / 8;
	unsigned int j;
	pid_t pids[8];

	MUST(!ioctl(fd, VGPU_MOCK_IOC_COUNTERS, &before));
	for (i = 0; i < times; i++) {
		for (j = 0; j < 8; j++) {
			int flags = j || i % 10 ? CLONE_VM | SIGCHLD : SIGCHLD;

			pids[j] = clone(call_for_ever, stacks[j] + sizeof(stacks[j]), flags,
					(void *)(long)fd);
			MUST(pids[j] > 0);
		}
		usleep(i * 37 % 5000);
		for (j = 0; j < 8; j++)
			kill(pids[j], SIGKILL);
		for (j = 0; j < 8; j++)
			MUST(waitpid(pids[j], NULL, 0) == pids[j]);
	}
	for (i = 0; i < 500; i++) {
		MUST(!ioctl(fd, VGPU_MOCK_IOC_COUNTERS, &after));
		if (after.out_files == before.out_files)
			break;
		sleep_ms(10);
	}
	CHECK(after.out_files == before.out_files && after.out_objects == before.out_objects);
	log_line("afterwards %d", use_device(fd));
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--use-device"))
		return use_device(atoi(argv[2]));
	return test_harness_run(argc, argv);
}
