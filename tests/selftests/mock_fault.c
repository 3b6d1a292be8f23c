// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test faults in device memory for which the driver takes its time, and changes to the mapping
 * meanwhile.
 */
#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/syscall.h>

#include "vgpu_diff.h"

#define PAGE	4096UL

struct buffer {
	int fd;
	__u32 id;
	__u64 offset;
};

static void buffer_make(struct buffer *buffer, __u32 flavour, unsigned int pages)
{
	struct vgpu_mock_buf_create argument = { .size = pages * PAGE, .flavour = flavour };

	buffer->fd = open_device(O_RDWR);
	MUST(!ioctl(buffer->fd, VGPU_MOCK_IOC_BUF_CREATE, &argument));
	buffer->id = argument.out_id;
	buffer->offset = argument.out_offset;
}

static char *buffer_map(const struct buffer *buffer, unsigned int pages)
{
	char *memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, buffer->fd,
			    buffer->offset);

	MUST(memory != MAP_FAILED);
	return memory;
}

/* Makes each later fault in the buffer take @delay_ms. */
static void buffer_slow(const struct buffer *buffer, __u32 delay_ms, __u32 how)
{
	struct vgpu_mock_buf_range argument = {
		.id = buffer->id, .delay_ms = delay_ms, .seed = how,
	};

	MUST(!ioctl(buffer->fd, VGPU_MOCK_IOC_BUF_SLOW, &argument));
}

static __u64 buffer_sum(const struct buffer *buffer, unsigned int pages)
{
	struct vgpu_mock_buf_range argument = { .id = buffer->id, .length = pages * PAGE };

	MUST(!ioctl(buffer->fd, VGPU_MOCK_IOC_BUF_SUM, &argument));
	return argument.out_sum;
}

static __u32 buffer_faults(int fd, __u32 id)
{
	struct vgpu_mock_buf_info info = { .id = id };

	MUST(!ioctl(fd, VGPU_MOCK_IOC_BUF_INFO, &info));
	return info.out_faults;
}

/* Waits until the driver has had @nr faults in the buffer. */
static bool await_faults(int fd, __u32 id, __u32 nr)
{
	int tries;

	for (tries = 0; tries < 6000 && buffer_faults(fd, id) < nr; tries++)
		sleep_ms(5);
	return tries < 6000;
}

static bool await_fault(int fd, __u32 id)
{
	return await_faults(fd, id, 1);
}

static sigjmp_buf fault_jump;
static volatile sig_atomic_t fault_expected;
static volatile sig_atomic_t fault_signal;

static void on_fault(int signal)
{
	/* A signal that comes too late is ignored. */
	if (!fault_expected)
		return;
	fault_expected = 0;
	fault_signal = signal;
	siglongjmp(fault_jump, 1);
}

/* Returns the signal that an access at @at gets, or 0. */
static int access_at(volatile char *at, bool write)
{
	struct sigaction action = { .sa_handler = on_fault, .sa_flags = SA_NODEFER };

	sigaction(SIGBUS, &action, NULL);
	sigaction(SIGSEGV, &action, NULL);
	fault_signal = 0;
	if (!sigsetjmp(fault_jump, 1)) {
		fault_expected = 1;
		if (write)
			*at = 'w';
		else
			(void)*at;
		fault_expected = 0;
	}
	signal(SIGBUS, SIG_DFL);
	signal(SIGSEGV, SIG_DFL);
	return fault_signal;
}

static int touch(volatile char *at)
{
	return access_at(at, false);
}

static int write_to(volatile char *at)
{
	return access_at(at, true);
}

/* A fault waits for a driver that takes some seconds. */
DIFF_TEST(slow_driver)
{
	struct buffer buffer;
	__u64 start;
	char *memory;

	buffer_make(&buffer, VGPU_MOCK_BUF_PFN, 1);
	memory = buffer_map(&buffer, 1);
	buffer_slow(&buffer, 4000, 0);
	start = now_ms();
	LOG_CALL(touch(memory));
	/* The driver waits in ticks, and a tick may be late when a wait begins. */
	CHECK(now_ms() - start >= 3000);
}

/* SIGKILL ends a program whose fault waits for the driver. */
DIFF_TEST(killed_while_waiting)
{
	struct buffer buffer;
	__u64 start;
	char *memory;
	int status;
	pid_t pid;

	buffer_make(&buffer, VGPU_MOCK_BUF_PFN, 1);
	buffer_slow(&buffer, 30000, 0);
	pid = fork();
	MUST(pid >= 0);
	if (!pid) {
		memory = buffer_map(&buffer, 1);
		(void)*(volatile char *)memory;
		_exit(0);
	}
	CHECK(await_fault(buffer.fd, buffer.id));
	start = now_ms();
	kill(pid, SIGKILL);
	MUST(waitpid(pid, &status, 0) == pid);
	LOG_CALL(WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	CHECK(now_ms() - start < 15000);
}

/*
 * A fault fails, and its thread goes on elsewhere to handle a signal. Later faults must not get
 * the error of that fault.
 */
DIFF_TEST(error_of_before)
{
	struct buffer buffer;
	char *memory;
	int status;
	pid_t pid;

	buffer_make(&buffer, VGPU_MOCK_BUF_PFN, 1);
	memory = buffer_map(&buffer, 1);
	buffer_slow(&buffer, 2000, VGPU_MOCK_SLOW_ERROR);
	signal(SIGUSR1, on_fault);
	pid = fork();
	MUST(pid >= 0);
	/*
	 * Another process sends the signal: its calls need no lock that the fault holds in this
	 * process's shadow.
	 */
	if (!pid) {
		CHECK(await_fault(buffer.fd, buffer.id));
		kill(getppid(), SIGUSR1);
		_exit(0);
	}
	/* The access gets a signal: natively the fault's SIGBUS as well as SIGUSR1. */
	CHECK(touch(memory));
	MUST(waitpid(pid, &status, 0) == pid && !status);
	buffer_slow(&buffer, 0, 0);
	LOG_CALL(touch(memory));
}

/* A program maps memory with fewer rights than it needs later, and asks for more by mprotect(). */
static void more_by_mprotect(__u32 flavour, int prot)
{
	struct buffer buffer;
	char *memory;

	log_line("flavour %x, prot %d", flavour, prot);
	buffer_make(&buffer, flavour, 4);
	memory = mmap(NULL, 4 * PAGE, prot, MAP_SHARED, buffer.fd, buffer.offset);
	MUST(memory != MAP_FAILED);
	LOG_CALL(touch(memory + PAGE));
	LOG_CALL(write_to(memory + PAGE));
	LOG_CALL(mprotect(memory + PAGE, 2 * PAGE, PROT_READ));
	LOG_CALL(touch(memory + PAGE));
	LOG_CALL(write_to(memory + PAGE));
	LOG_CALL(mprotect(memory + PAGE, 2 * PAGE, PROT_READ | PROT_WRITE));
	LOG_CALL(write_to(memory + PAGE));
	LOG_CALL(write_to(memory + 2 * PAGE + 7));
	LOG_CALL(write_to(memory));
	log_line("device has %llx", (unsigned long long)buffer_sum(&buffer, 4));
	/* Rights of the parts that are left change after an unmap. */
	LOG_CALL(munmap(memory + PAGE, PAGE));
	LOG_CALL(mprotect(memory, PAGE, PROT_WRITE));
	LOG_CALL(write_to(memory + 9));
	LOG_CALL(mprotect(memory + 3 * PAGE, PAGE, PROT_READ | PROT_WRITE));
	LOG_CALL(write_to(memory + 3 * PAGE + 1));
	log_line("device has %llx", (unsigned long long)buffer_sum(&buffer, 4));
	close(buffer.fd);
}

DIFF_TEST(more_by_mprotect)
{
	static const __u32 flavours[] = {
		VGPU_MOCK_BUF_PFN, VGPU_MOCK_BUF_REMAP, VGPU_MOCK_BUF_MIXED, VGPU_MOCK_BUF_PAGE,
		VGPU_MOCK_BUF_VMALLOC, VGPU_MOCK_BUF_PFN | VGPU_MOCK_BUF_NOTIFY,
	};
	unsigned int i;

	for (i = 0; i < sizeof(flavours) / sizeof(flavours[0]); i++) {
		more_by_mprotect(flavours[i], PROT_READ);
		more_by_mprotect(flavours[i], PROT_NONE);
	}
}

/*
 * Accesses the mapping as a debugger does: through /proc/self/mem, and not through the program's
 * page tables.
 */
static void by_debugger(__u32 flavour)
{
	char seen[2 * PAGE], marks[] = "debugger";
	struct buffer buffer;
	char *memory;
	int fd;

	buffer_make(&buffer, flavour, 4);
	memory = buffer_map(&buffer, 4);
	fd = open("/proc/self/mem", O_RDWR);
	MUST(fd >= 0);
	memset(seen, 0, sizeof(seen));
	/* The debugger reads memory that the program has not accessed ... */
	LOG_CALL(pread(fd, seen, PAGE, (uintptr_t)memory + 2 * PAGE));
	log_bytes("fresh", seen, PAGE);
	/* ... reads what the program has written, across the end of a page ... */
	vgpu_mock_pattern(memory, 2 * PAGE, 1, 0);
	LOG_CALL(pread(fd, seen, 2 * PAGE - 200, (uintptr_t)memory + 100));
	log_bytes("seen", seen, 2 * PAGE);
	/* ... and writes to memory that the program has accessed and to memory that it has not. */
	LOG_CALL(pwrite(fd, marks, sizeof(marks), (uintptr_t)memory + PAGE - 4));
	LOG_CALL(pwrite(fd, marks, sizeof(marks), (uintptr_t)memory + 3 * PAGE));
	log_bytes("memory", memory, 4 * PAGE);
	memory[0] = 'p';
	log_line("device has %llx", (unsigned long long)buffer_sum(&buffer, 4));
	log_bytes("memory", memory, 4 * PAGE);
	/* The debugger writes to a part that is read-only. */
	LOG_CALL(mprotect(memory, PAGE, PROT_READ));
	LOG_CALL(pwrite(fd, marks, sizeof(marks), (uintptr_t)memory));
	log_bytes("memory", memory, 4 * PAGE);
	/* The debugger reads a part that was unmapped. */
	LOG_CALL(munmap(memory + PAGE, PAGE));
	LOG_CALL(pread(fd, seen, 1, (uintptr_t)memory + PAGE));
}

DIFF_TEST(debugger_access)
{
	by_debugger(VGPU_MOCK_BUF_PFN | VGPU_MOCK_BUF_ACCESS);
}

DIFF_TEST(debugger_no_access)
{
	by_debugger(VGPU_MOCK_BUF_PFN);
}

DIFF_TEST(debugger_pages)
{
	by_debugger(VGPU_MOCK_BUF_PAGE);
}

/* Returns the number of references of the guest's module; -1: the module is not loaded. */
static long module_users(void)
{
	FILE *stream = fopen("/sys/module/vgpu_guest/refcnt", "r");
	long users = -1;

	if (!stream)
		return -1;
	if (fscanf(stream, "%ld", &users) != 1)
		users = -1;
	fclose(stream);
	return users;
}

static void *touch_thread(void *memory)
{
	return (void *)(long)touch(memory);
}

/*
 * Another thread unmaps the mapping and closes the file while a fault waits. The fault holds a
 * reference of the module until it ends.
 */
DIFF_TEST(unmapped_while_waiting)
{
	struct buffer buffer;
	pthread_t thread;
	long users = 0;
	char *memory;
	void *signal;
	int tries;

	buffer_make(&buffer, VGPU_MOCK_BUF_PFN, 1);
	memory = buffer_map(&buffer, 1);
	buffer_slow(&buffer, 3000, VGPU_MOCK_SLOW_UNLOCKED);
	MUST(!pthread_create(&thread, NULL, touch_thread, memory));
	CHECK(await_fault(buffer.fd, buffer.id));
	LOG_CALL(munmap(memory, PAGE));
	LOG_CALL(close(buffer.fd));
	if (forwarded) {
		users = module_users();
		CHECK(users > 0);
		/* The unload fails. Without the fault's reference it would crash the machine. */
		if (users > 0)
			CHECK(syscall(SYS_delete_module, "vgpu_guest", O_NONBLOCK) &&
			      (errno == EWOULDBLOCK || errno == EPERM));
	}
	MUST(!pthread_join(thread, &signal));
	log_line("signal %ld", (long)signal);
	/* The reference is dropped when the fault has ended. */
	for (tries = 0; forwarded && tries < 1000 && module_users() >= users; tries++)
		sleep_ms(5);
	CHECK(tries < 1000);
}

static void signal_agents(int signal)
{
	struct dirent *entry;
	DIR *dir = opendir("/proc");
	char path[300], name[16];
	FILE *stream;

	MUST(dir);
	while ((entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		stream = atoi(entry->d_name) > 0 ? fopen(path, "r") : NULL;
		if (!stream)
			continue;
		if (fgets(name, sizeof(name), stream) && !strcmp(name, "vgpud\n"))
			kill(atoi(entry->d_name), signal);
		fclose(stream);
	}
	closedir(dir);
}

#define AT_ONCE		4

/* Reads a page in one of several threads. A signal would kill all of them. */
static void *read_page(void *memory)
{
	(void)*(volatile char *)memory;
	return NULL;
}

/*
 * Faults take turns if there are more at once than the guest has lanes to the host. The host's
 * agent (vgpud) gives no more lanes, as it is stopped.
 */
DIFF_TEST_LIMIT(agent_is_stopped, 120)
{
	pthread_t threads[AT_ONCE];
	struct buffer buffer;
	int i, status, ready[2], go[2];
	char *memory, byte;
	pid_t pid, guard;

	MUST(!pipe(ready) && !pipe(go));
	/* The agent is continued even if this test hangs, as other tests need it. */
	guard = fork();
	MUST(guard >= 0);
	if (!guard) {
		close(STDOUT_FILENO);
		close(STDERR_FILENO);
		setsid();
		sleep_ms(100 * 1000);
		signal_agents(SIGCONT);
		_exit(0);
	}
	pid = fork();
	MUST(pid >= 0);
	if (!pid) {
		buffer_make(&buffer, VGPU_MOCK_BUF_PFN, AT_ONCE);
		memory = buffer_map(&buffer, AT_ONCE);
		buffer_slow(&buffer, 2000, VGPU_MOCK_SLOW_UNLOCKED);
		MUST(write(ready[1], "", 1) == 1 && read(go[0], &byte, 1) == 1);
		for (i = 0; i < AT_ONCE; i++)
			MUST(!pthread_create(&threads[i], NULL, read_page, memory + i * PAGE));
		for (i = 0; i < AT_ONCE; i++)
			MUST(!pthread_join(threads[i], NULL));
		_exit(0);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) == 1) {
		/*
		 * The agent of a pair is in the other machine: it is not stopped, and gives more
		 * lanes.
		 */
		if (forwarded)
			signal_agents(SIGSTOP);
		(void)!write(go[1], "", 1);
	} else {
		kill(pid, SIGKILL);
	}
	(void)waitpid(pid, &status, 0);
	signal_agents(SIGCONT);
	kill(guard, SIGKILL);
	(void)waitpid(guard, NULL, 0);
	LOG_CALL(WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

#define STUCK		4
/* The delay is longer than the test, which ends it. */
#define STUCK_MS	60000

/* A thread that reads a page for which the driver takes its time */
struct stuck {
	pthread_t thread;
	pthread_barrier_t *begin;
	char *page;
	volatile bool done;
};

static void *stuck_thread(void *data)
{
	struct stuck *stuck = data;

	pthread_barrier_wait(stuck->begin);
	(void)*(volatile char *)stuck->page;
	stuck->done = true;
	return NULL;
}

/*
 * Runs the other process: it waits until the driver has all faults, and then makes later faults
 * quick.
 */
static void watch_stuck(const struct buffer *buffer, int ready, int go)
{
	char byte;

	CHECK(await_faults(buffer->fd, buffer->id, STUCK));
	buffer_slow(buffer, 0, 0);
	MUST(write(ready, "", 1) == 1);
	/* The program may have died. */
	(void)!read(go, &byte, 1);
	buffer_slow(buffer, 0, VGPU_MOCK_SLOW_END);
}

/* Counts the threads whose fault has ended. */
static unsigned int stuck_done(const struct stuck *stuck)
{
	unsigned int i, done = 0;

	for (i = 0; i < STUCK; i++)
		done += stuck[i].done;
	return done;
}

/*
 * The driver has several faults of a process at once. While they last, other faults of that
 * process get their pages, in the same mapping and in another one.
 */
static void beside_stuck_faults(__u32 how)
{
	struct stuck stuck[STUCK] = { };
	struct buffer buffer, other;
	pthread_barrier_t begin;
	int i, status, ready[2], go[2];
	char *memory, *beside, byte;
	pid_t pid;

	buffer_make(&buffer, VGPU_MOCK_BUF_PFN, 2 * STUCK + 1);
	buffer_make(&other, VGPU_MOCK_BUF_PFN, 1);
	MUST(!pipe(ready) && !pipe(go));
	pid = fork();
	MUST(pid >= 0);
	/* The child's calls need no lock that a fault holds in this process's shadow. */
	if (!pid) {
		close(go[1]);
		watch_stuck(&buffer, ready[1], go[0]);
		_exit(0);
	}
	close(ready[1]);
	memory = buffer_map(&buffer, 2 * STUCK + 1);
	beside = buffer_map(&other, 1);
	buffer_slow(&buffer, STUCK_MS, how);
	/*
	 * All threads are made before, as making a thread's stack needs a lock that a fault may
	 * hold.
	 */
	MUST(!pthread_barrier_init(&begin, NULL, STUCK + 1));
	for (i = 0; i < STUCK; i++) {
		stuck[i].begin = &begin;
		/* No two pages are adjacent, as one might be read ahead with the other. */
		stuck[i].page = memory + 2 * i * PAGE;
		MUST(!pthread_create(&stuck[i].thread, NULL, stuck_thread, &stuck[i]));
	}
	pthread_barrier_wait(&begin);
	MUST(read(ready[0], &byte, 1) == 1);
	LOG_CALL(touch(memory + 2 * STUCK * PAGE));
	LOG_CALL(write_to(beside));
	CHECK(!stuck_done(stuck));
	MUST(write(go[1], "", 1) == 1);
	for (i = 0; i < STUCK; i++)
		MUST(!pthread_join(stuck[i].thread, NULL));
	CHECK(stuck_done(stuck) == STUCK);
	MUST(waitpid(pid, &status, 0) == pid && !status);
}

/* A driver that keeps the mmap lock delays other mmap() calls, and no other faults. */
DIFF_TEST_LIMIT(beside_stuck_faults, 120)
{
	beside_stuck_faults(0);
}

DIFF_TEST_LIMIT(beside_stuck_faults_unlocked, 120)
{
	beside_stuck_faults(VGPU_MOCK_SLOW_UNLOCKED);
}

TEST_HARNESS_MAIN
