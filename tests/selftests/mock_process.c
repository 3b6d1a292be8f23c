// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test processes of many kinds: made by vfork(), in namespaces of their own, with low limits,
 * traced, stopped, dumping core. Test what other processes can read of them.
 */
#include <elf.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>

#include "tool.h"
#include "vgpu_diff.h"

#define PAGE	4096UL
#define MIB	(1UL << 20)

/* Uses the device in each way that a process can. The result says which step failed; 0: none. */
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

/* The child uses the parent's memory until it executes another program. */
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
	/* The fd is closed on exec. */
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

/* Two processes share one address space, which has one session. */
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
		/* unshare() moves only later children into a PID namespace. */
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

/* The limits leave little room, which memory of the forwarder must not need. */
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

/* The process asks to lock all its memory, and an ordinary user may lock little. */
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

/* Returns the number of sleeping calls that the driver has had. */
static __u64 sleeps(int fd)
{
	struct vgpu_mock_counters now;

	MUST(!ioctl(fd, VGPU_MOCK_IOC_COUNTERS, &now));
	return now.out_calls[_IOC_NR(VGPU_MOCK_IOC_SLEEP)];
}

/* Waits for at most ten seconds until the process sleeps or has ended. */
static void await_asleep(pid_t pid)
{
	char file[64], state = 0;
	int tries;
	FILE *stat;

	snprintf(file, sizeof(file), "/proc/%d/stat", pid);
	for (tries = 0; tries < 1000 && state != 'S' && state != 'Z'; tries++) {
		sleep_ms(10);
		stat = fopen(file, "r");
		MUST(stat && fscanf(stat, "%*d %*s %c", &state) == 1);
		fclose(stat);
	}
}

static pid_t sleeper(int fd, __u32 ms, __u32 on_signal_)
{
	__u64 before = sleeps(fd), start = now_ms();
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
	while (sleeps(fd) == before) {
		MUST(now_ms() - start < 10000);
		sleep_ms(10);
	}
	sleep_ms(100);
	return pid;
}

/* A tracer stops a process in the middle of a call, looks at it, and lets it go on. */
DIFF_TEST_LIMIT(traced, 60)
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
		/*
		 * The call is long enough for a busy machine, and the test waits for the end of
		 * one only.
		 */
		pid = sleeper(fd, i ? 20000 : 4000, hows[i]);
		LOG_CALL(ptrace(PTRACE_SEIZE, pid, 0, 0));
		for (j = 0; j < 3; j++) {
			LOG_CALL(ptrace(PTRACE_INTERRUPT, pid, 0, 0));
			LOG_CALL(waitpid(pid, &status, 0) == pid);
			log_line("stopped %x", status);
			if (!WIFSTOPPED(status))
				break;
			LOG_CALL(ptrace(PTRACE_CONT, pid, 0, 0));
			await_asleep(pid);
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

/* A tracer that exits leaves the call as it was. */
DIFF_TEST(tracer_dies)
{
	int fd = open_device(O_RDWR);
	pid_t tracer, pid;
	int status;

	pid = sleeper(fd, 4000, VGPU_MOCK_SIGNAL_ERESTARTNOHAND);
	tracer = fork();
	if (!tracer) {
		if (ptrace(PTRACE_ATTACH, pid, 0, 0) || waitpid(pid, &status, 0) != pid)
			_exit(50);
		_exit(0);
	}
	log_child(tracer);
	log_child(pid);
}

/* Job control stops and continues a process again and again. */
DIFF_TEST(stopped_often)
{
	int fd = open_device(O_RDWR);
	pid_t pid = sleeper(fd, 4000, VGPU_MOCK_SIGNAL_ERESTARTSYS);
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

/* A process reads another process's mapping. */
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
		/* No process has accessed this page. */
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

/* Device memory is transferred to another file and from it. */
static void direct_transfers(__u32 flavour)
{
	int fd = open_device(O_RDWR);
	char *memory = map_buffer(fd, flavour, 4 * PAGE);
	char copy[PAGE];
	int pipes[2];

	vgpu_mock_pattern(memory, 4 * PAGE, 3, 0);
	MUST(!pipe(pipes));
	/* A transfer by copies always works. */
	LOG_CALL(write(pipes[1], memory + 100, 2000));
	LOG_CALL(read(pipes[0], copy, sizeof(copy)));
	CHECK(!memcmp(copy, memory + 100, 2000));
	LOG_CALL(write(pipes[1], copy, 1000));
	LOG_CALL(read(pipes[0], memory + 2 * PAGE, 1000));
	CHECK(!memcmp(copy, memory + 2 * PAGE, 1000));
	/* A transfer by references needs ordinary pages. */
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

/*
 * Returns 1 if a core file has the bytes at an address, 0 if it only says that memory was mapped
 * there, or -1.
 */
static int core_read(const char *file, const void *at, void *bytes, size_t size)
{
	unsigned long address = (uintptr_t)at;
	int fd = open(file, O_RDONLY), found = -1;
	Elf64_Ehdr head;
	Elf64_Phdr part;
	unsigned int i;

	MUST(fd >= 0 && pread(fd, &head, sizeof(head), 0) == sizeof(head));
	MUST(!memcmp(head.e_ident, ELFMAG, SELFMAG) && head.e_type == ET_CORE);
	for (i = 0; i < head.e_phnum && found < 0; i++) {
		MUST(pread(fd, &part, sizeof(part), head.e_phoff + i * sizeof(part)) ==
		     sizeof(part));
		if (part.p_type != PT_LOAD || address - part.p_vaddr >= part.p_memsz)
			continue;
		found = address - part.p_vaddr < part.p_filesz;
		if (found)
			MUST(pread(fd, bytes, size, part.p_offset + address - part.p_vaddr) ==
			     (ssize_t)size);
	}
	close(fd);
	return found;
}

/*
 * A program with device memory mapped crashes: the dump ends soon, and has the program's own
 * memory.
 */
static void dump_core(__u32 flavour)
{
	static const char text[] = "what the program has itself";
	struct rlimit limit = { 64 * MIB, 64 * MIB };
	int fd = open_device(O_RDWR);
	char folder[] = "/tmp/core-XXXXXX", copy[sizeof(text)] = "", pattern[64];
	struct places {
		char *device, *own;
	} *places;
	char *memory;
	FILE *filter;
	__u64 start;
	int status;
	pid_t pid;

	if (access("/proc/self/coredump_filter", F_OK))
		diff_skip("this kernel dumps no core");
	tool_read_line("/proc/sys/kernel/core_pattern", pattern, sizeof(pattern));
	if (strcmp(pattern, "core"))
		diff_skip("cores go elsewhere");
	MUST(mkdtemp(folder) && !chdir(folder));
	places = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	MUST(places != MAP_FAILED);
	fflush(NULL);
	start = now_ms();
	pid = fork();
	if (!pid) {
		MUST(!setrlimit(RLIMIT_CORE, &limit));
		MUST(!prctl(PR_SET_DUMPABLE, 1));
		/* The dump has shared memory and mappings of files as well. */
		filter = fopen("/proc/self/coredump_filter", "w");
		MUST(filter && fputs("0x7f", filter) > 0 && !fclose(filter));
		memory = map_buffer(fd, flavour, 64 * PAGE);
		memory[3 * PAGE] = 1;
		places->device = memory;
		places->own = strcpy(alloc_pages(1), text);
		abort();
	}
	MUST(waitpid(pid, &status, 0) == pid);
	log_line("status %x", status);
	CHECK(now_ms() - start < 30000);
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_NOOP));

	MUST(!system("[ -e core ] || mv core.* core"));
	CHECK(core_read("core", places->own, copy, sizeof(copy)) == 1 && !strcmp(copy, text));
	/* The dump leaves out mappings of PFNs and has ordinary pages, as natively. */
	log_line("device memory: %d", core_read("core", places->device + 3 * PAGE, copy, 2));
	log_line("%d %d", copy[0], copy[1]);
	log_line("device memory that was not touched: %d",
		 core_read("core", places->device + 9 * PAGE, copy, 2));
	log_line("%d %d", copy[0], copy[1]);
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

/* Sleeps in a call while another thread of the process dumps core. */
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

#define NR_KILLED	8	/* at the same time */
#define NR_OF_OWN	5	/* processes among them with a session of their own */
#define HURRY_MS	10000

/* Number of tasks of this round that hold everything they want; in shared memory */
static unsigned int *begun;

static int call_for_ever(void *argument)
{
	struct vgpu_mock_sleep sleep = { .ms = 50, .mode = VGPU_MOCK_SLEEP_INTERRUPTIBLE };
	int fd = (long)argument;

	ioctl(fd, VGPU_MOCK_IOC_NOOP);
	__atomic_add_fetch(begun, 1, __ATOMIC_RELAXED);
	for (;;) {
		ioctl(fd, VGPU_MOCK_IOC_SLEEP, &sleep);
		ioctl(fd, VGPU_MOCK_IOC_NOOP);
	}
	return 0;
}

/* Makes calls for ever, with a file, an object, a buffer and a mapping of its own. */
static int own_and_call_for_ever(void *argument)
{
	struct vgpu_mock_fd_out out = { .cookie = 5, .flags = O_CLOEXEC };
	int fd = open(path, O_RDWR);
	char *memory;

	if (fd < 0 || ioctl(fd, VGPU_MOCK_IOC_FD_OUT, &out))
		return 1;
	memory = map_buffer(fd, VGPU_MOCK_BUF_PFN, 4 * PAGE);
	memory[PAGE] = 7;
	return call_for_ever((void *)(long)fd);
}

/*
 * Lists what is held for programs: in the mock, in the guest, and in the host if that is this
 * machine, with its shadows and their threads.
 */
static void held_now(int fd, char *text, size_t size)
{
	struct vgpu_mock_counters now;

	MUST(!ioctl(fd, VGPU_MOCK_IOC_COUNTERS, &now));
	snprintf(text, size, "files %llu objects %llu buffers %llu pages %llu maps %llu\n%.3800s",
		 now.out_files, now.out_objects, now.out_bufs, now.out_buf_pages, now.out_maps,
		 forwarded ? tool_run(
		 "vgpuctl status --json | tr -d ' ,' | sed 's/shadow_pid.*/session/' | grep -E "
		 "'session|\"(lanes|objects|mappings|(window|copy)_mappings|bindings)\"' | sort | uniq -c; "
		 "find /proc/[0-9]*/exe -maxdepth 0 -lname '*%s' 2>/dev/null | "
		 "while read -r exe; do echo shadow; ls ${exe%%/exe}/task | sed 's/.*/its thread/'; done | "
		 "sort | uniq -c; grep -H . /sys/module/vgpu_*/refcnt", tool_shadow())->out : "");
}

/* Waits until nothing changes: files of earlier tests may still be released. */
static void held_at_rest(int fd, char *text, size_t size)
{
	__u64 start = now_ms(), changed = start;
	char again[4096];

	held_now(fd, text, size);
	do {
		/* Each listing takes a dozen processes. */
		sleep_ms(600);
		held_now(fd, again, sizeof(again));
		if (strcmp(text, again))
			changed = now_ms();
		snprintf(text, size, "%s", again);
	} while (now_ms() - changed < 3000 && now_ms() - start < 40000);
	CHECK(now_ms() - changed >= 3000);
}

/* Starts a round's tasks, and kills them at any time or when they hold everything they want. */
static void kill_some(int fd, unsigned int round)
{
	static char stacks[NR_KILLED][32768] __attribute__((aligned(16)));
	__u64 deadline = now_ms() + 40000;
	pid_t pids[NR_KILLED];
	unsigned int i;

	*begun = 0;
	for (i = 0; i < NR_KILLED; i++) {
		bool own = i < NR_OF_OWN;

		pids[i] = clone(own ? own_and_call_for_ever : call_for_ever,
				stacks[i] + sizeof(stacks[i]), (own ? 0 : CLONE_VM) | SIGCHLD,
				(void *)(long)fd);
		MUST(pids[i] > 0);
	}
	while (round % 2 && __atomic_load_n(begun, __ATOMIC_RELAXED) < NR_KILLED) {
		MUST(now_ms() < deadline);
		/* A busy loop would take processor time from the tasks. */
		usleep(2000);
	}
	usleep(round * 37 % 5000);
	for (i = 0; i < NR_KILLED; i++)
		kill(pids[i], SIGKILL);
	for (i = 0; i < NR_KILLED; i++)
		MUST(waitpid(pids[i], NULL, 0) == pids[i]);
}

/*
 * A task is killed somewhere in a call ten thousand times (forwarded). Most tasks are processes
 * of their own; the others share the memory of one process, and so its session. Nothing of them
 * is left in either machine.
 */
DIFF_TEST_LIMIT(killed_ten_thousand_times, 600)
{
	const unsigned int all = (forwarded ? 10000 : 1000) / NR_KILLED;
	/* The native run is only there to be compared with, so it gets less time. */
	const unsigned int hurry_ms = forwarded ? HURRY_MS : HURRY_MS / 10;
	const bool hurry = diff_times(all) != all;
	char before[4096], after[4096];
	int fd = open_device(O_RDWR);
	unsigned int i;
	__u64 start;
	pid_t pid;

	begun = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	MUST(begun != MAP_FAILED);
	held_at_rest(fd, before, sizeof(before));
	fflush(NULL);
	start = now_ms();
	pid = fork();
	if (!pid) {
		for (i = 0; i < all && (i < 2 || !hurry || now_ms() - start < hurry_ms); i++)
			kill_some(fd, i);
		if (hurry || getenv("VGPU_VERBOSE"))
			printf("# %u killed in %llu ms\n", NR_KILLED * i, now_ms() - start);
		fflush(NULL);
		_exit(use_device(open(path, O_RDWR)));
	}
	log_child(pid);
	/* Files of killed processes may still be released. */
	start = now_ms();
	do {
		sleep_ms(100);
		held_now(fd, after, sizeof(after));
	} while (strcmp(before, after) && now_ms() - start < 40000);
	if (!CHECK(!strcmp(before, after)))
		log_line("before: %s, now: %s", before, after);
	log_line("afterwards %d", use_device(fd));
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--use-device"))
		return use_device(atoi(argv[2]));
	return test_harness_run(argc, argv);
}
