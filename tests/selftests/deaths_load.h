/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programs that use the mock device in all ways at once, to be killed at any moment: calls with
 * and without a schema, reads and writes, mappings with page faults, polls, files that are passed
 * on, children. What they read is checked.
 */
#ifndef DEATHS_LOAD_H
#define DEATHS_LOAD_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "agent.h"
#include "baseline.h"
#include "vgpu_mock.h"
#include "vgpu_mock_pattern.h"

#define LOAD_PAGE	4096UL
#define LOAD_PAGES	8
#define LOAD_COUNT	1500	/* elements of an array that spans two pages */
#define LOAD_PROGRAMS	12
#define LOAD_ERRNOS	256

#define LOAD_STEPS	9	/* kinds of steps */

/**
 * struct load_slot - a program and its member
 * @pid: pid of the program
 * @member: pid of a task that has the program's memory and no other thread; 0: none
 * @step: kind of the step that the program has begun last; LOAD_STEPS: it opens or closes
 */
struct load_slot {
	pid_t pid;
	pid_t member;
	unsigned int step;
};

/**
 * struct load - what programs and their killer share
 * @export: name of the export
 * @pass: socket pair by which programs pass files on
 * @steps: number of steps that programs have finished without an error
 * @wrong: number of bytes, numbers or words that were wrong
 * @errors: number of steps that failed, by errno
 * @lost: number of times that memory of the device was lost
 * @slots: programs
 */
struct load {
	char export[64];
	int pass[2];
	unsigned long steps;
	unsigned long wrong;
	unsigned long errors[LOAD_ERRNOS];
	unsigned long lost;
	struct load_slot slots[LOAD_PROGRAMS];
};

static struct load *load;
static __thread sigjmp_buf load_jump;
static __thread bool load_jumps;

/* Returns the next number of a sequence that depends on the seed alone. */
static inline unsigned int load_random(unsigned long *state)
{
	*state = *state * 6364136223846793005UL + 1442695040888963407UL;
	return *state >> 33;
}

static inline void load_on_fault(int signal)
{
	if (load_jumps)
		siglongjmp(load_jump, 1);
	_exit(128 + signal);
}

static inline void load_wrong(const char *what)
{
	__atomic_add_fetch(&load->wrong, 1, __ATOMIC_RELAXED);
	dprintf(2, "# wrong: %s\n", what);
}

/* Each step returns 0, or -1 with errno. */

static inline int load_array(int fd, unsigned int salt, bool described)
{
	unsigned long cmd = VGPU_MOCK_IOC_ARRAY_INOUT;
	__u32 data[LOAD_COUNT];
	struct vgpu_mock_array array = { .ptr = (uintptr_t)data, .count = LOAD_COUNT };
	unsigned int i;

	for (i = 0; i < LOAD_COUNT; i++)
		data[i] = salt + i;
	if (!described)
		cmd = VGPU_MOCK_UNDESCRIBED(cmd);
	if (ioctl(fd, cmd, &array) < 0)
		return -1;
	for (i = 0; i < LOAD_COUNT; i++)
		if (data[i] != vgpu_mock_mix32(salt + i)) {
			load_wrong("element of an array");
			break;
		}
	return 0;
}

/* Each thread has bytes of its own in the file. */
static inline int load_bytes(int fd, unsigned int salt, unsigned int thread)
{
	unsigned char there[6000], here[6000];

	memset(there, salt, sizeof(there));
	if (pwrite(fd, there, sizeof(there), 8192 * thread) < 0)
		return -1;
	memset(here, ~salt, sizeof(here));
	if (pread(fd, here, sizeof(here), 8192 * thread) < 0)
		return -1;
	if (memcmp(there, here, sizeof(here)))
		load_wrong("bytes of a file");
	return 0;
}

static inline int load_map(int fd, unsigned int salt)
{
	static const __u32 flavours[] = {
		VGPU_MOCK_BUF_PFN, VGPU_MOCK_BUF_REMAP, VGPU_MOCK_BUF_MIXED, VGPU_MOCK_BUF_PAGE,
	};
	struct vgpu_mock_buf_create create = {
		.size = LOAD_PAGES * LOAD_PAGE, .flavour = flavours[salt % 4],
	};
	struct vgpu_mock_buf_range range = { };
	volatile __u32 *memory;
	volatile int ret = 0;
	unsigned int i;

	if (ioctl(fd, VGPU_MOCK_IOC_BUF_CREATE, &create))
		return -1;
	memory = mmap(NULL, create.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		      create.out_offset);
	if (memory == MAP_FAILED)
		return -1;
	load_jumps = true;
	if (!sigsetjmp(load_jump, 1)) {
		for (i = 0; i < LOAD_PAGES; i++)
			memory[i * LOAD_PAGE / 4] = salt + i;
		ret = ioctl(fd, VGPU_MOCK_IOC_NOOP, 0);
		for (i = 0; !ret && i < LOAD_PAGES; i++)
			if (memory[i * LOAD_PAGE / 4] != salt + i)
				load_wrong("word of a mapping");
	} else {
		__atomic_add_fetch(&load->lost, 1, __ATOMIC_RELAXED);
		errno = ENODEV;
		ret = -1;
	}
	load_jumps = false;
	i = errno;
	munmap((void *)memory, create.size);
	range.id = create.out_id;
	if (!ret && salt & 16)
		ret = ioctl(fd, VGPU_MOCK_IOC_BUF_DESTROY, &range);
	else
		errno = i;
	return ret;
}

static inline int load_poll(int fd, unsigned int salt)
{
	struct vgpu_mock_poll arm = { .events = 0 };
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	if (ioctl(fd, VGPU_MOCK_IOC_POLL_ARM, &arm))
		return -1;
	arm.events = POLLIN;
	arm.delay_ms = 1 + salt % 20;
	if (ioctl(fd, VGPU_MOCK_IOC_POLL_ARM, &arm))
		return -1;
	poll(&pfd, 1, 60);
	return 0;
}

static inline int load_pass(int fd)
{
	union {
		struct cmsghdr hdr;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { .hdr.cmsg_len = CMSG_LEN(sizeof(int)), .hdr.cmsg_level = SOL_SOCKET,
		      .hdr.cmsg_type = SCM_RIGHTS };
	char byte = 'f';
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	struct vgpu_mock_fd_out out = { .cookie = 5, .flags = O_CLOEXEC };
	struct vgpu_mock_obj_info info;
	int got;

	if (ioctl(fd, VGPU_MOCK_IOC_FD_OUT, &out))
		return -1;
	memcpy(CMSG_DATA(&control.hdr), &out.out_fd, sizeof(int));
	/* Other programs get the file, or this one. A full queue takes none. */
	sendmsg(load->pass[0], &msg, MSG_DONTWAIT);
	close(out.out_fd);
	msg.msg_controllen = sizeof(control);
	if (recvmsg(load->pass[1], &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != 1 ||
	    msg.msg_controllen < CMSG_LEN(sizeof(int)))
		return 0;
	memcpy(&got, CMSG_DATA(&control.hdr), sizeof(int));
	/* The file may be one of a host that is gone. */
	if (!ioctl(got, VGPU_MOCK_IOC_OBJ_INFO, &info) && info.out_cookie != 5)
		load_wrong("cookie of a file");
	close(got);
	return 0;
}

static inline int load_sleep(int fd, unsigned int salt)
{
	struct vgpu_mock_sleep sleep = {
		.ms = salt % 40, .mode = salt & 64 ? VGPU_MOCK_SLEEP_KILLABLE :
						     VGPU_MOCK_SLEEP_INTERRUPTIBLE,
	};

	return ioctl(fd, VGPU_MOCK_IOC_SLEEP, &sleep);
}

/* A child has a session of its own with its first call. */
static inline int load_child(int fd, unsigned int salt)
{
	pid_t parent = getpid(), pid = fork();
	int status;

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(0);
		if (ioctl(fd, VGPU_MOCK_IOC_NOOP, 0))
			_exit(errno & 127);
		if (salt & 64)
			load_map(fd, salt);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 0;
	errno = WEXITSTATUS(status);
	return errno ? -1 : 0;
}

static inline int load_step(int fd, unsigned int salt, unsigned int thread)
{
	switch (salt % LOAD_STEPS) {
	case 0:
		return load_array(fd, salt, true);
	case 1:
		return load_array(fd, salt, false);
	case 2:
		return load_bytes(fd, salt, thread);
	case 3:
	case 4:
		return load_map(fd, salt >> 8);
	case 5:
		return load_poll(fd, salt);
	case 6:
		return load_pass(fd);
	case 7:
		return load_sleep(fd, salt);
	default:
		return load_child(fd, salt);
	}
}

/* Opens the device, which may have another number than before, and waits while there is none. */
static inline int load_open(void)
{
	char node[64];
	int fd;

	for (;;) {
		fd = agent_node(load->export, node) ? open(node, O_RDWR | O_CLOEXEC) : -1;
		if (fd >= 0)
			return fd;
		/* A device that is not there has no node, or one whose device is gone. */
		__atomic_add_fetch(&load->errors[fd < 0 && errno == EMFILE ? EMFILE : ENODEV], 1,
				   __ATOMIC_RELAXED);
		usleep(50000);
	}
}

struct load_thread {
	unsigned int number;
	unsigned long state;
	struct load_slot *slot;
};

/* Opens the device, makes some steps, and begins again. */
static inline void *load_thread_run(void *data)
{
	struct load_thread *thread = data;
	unsigned int steps, salt;
	int fd;

	for (;;) {
		thread->slot->step = LOAD_STEPS;
		fd = load_open();
		for (steps = load_random(&thread->state) % 60; steps; steps--) {
			salt = load_random(&thread->state);
			thread->slot->step = salt % LOAD_STEPS;
			if (load_step(fd, salt, thread->number)) {
				__atomic_add_fetch(&load->errors[errno % LOAD_ERRNOS], 1,
						   __ATOMIC_RELAXED);
				break;
			}
			__atomic_add_fetch(&load->steps, 1, __ATOMIC_RELAXED);
		}
		close(fd);
	}
	return NULL;
}

/*
 * A task of its own with the memory of the program, and so with its session. It uses the thread's
 * storage of its parent, which waits meanwhile.
 */
static inline int load_member(void *data)
{
	struct vgpu_mock_sleep sleep = { .ms = 5, .mode = VGPU_MOCK_SLEEP_INTERRUPTIBLE };
	int fd = (long)data;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == 1)
		return 0;
	while (!ioctl(fd, VGPU_MOCK_IOC_NOOP, 0) && !ioctl(fd, VGPU_MOCK_IOC_SLEEP, &sleep))
		;
	return 0;
}

/* Starts members, one after the other has died. */
static inline void *load_members_run(void *data)
{
	static char stack[65536] __attribute__((aligned(16)));
	struct load_slot *slot = data;
	pid_t pid;
	int fd;

	for (;;) {
		fd = load_open();
		pid = clone(load_member, stack + sizeof(stack), CLONE_VM | CLONE_FILES | SIGCHLD,
			    (void *)(long)fd);
		slot->member = pid > 0 ? pid : 0;
		if (pid > 0)
			waitpid(pid, NULL, 0);
		slot->member = 0;
		close(fd);
	}
	return NULL;
}

/* Runs a program until it is killed. */
static inline void load_program(unsigned int nr, unsigned long state)
{
	struct load_thread threads[2];
	pthread_t thread;
	unsigned int i;

	prctl(PR_SET_NAME, "deaths_program");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGBUS, load_on_fault);
	for (i = 0; i < 2; i++)
		threads[i] = (struct load_thread) { i, state + i, &load->slots[nr] };
	/* One of two programs has another thread, and a task with its memory. */
	if (nr % 2) {
		pthread_create(&thread, NULL, load_thread_run, &threads[1]);
		pthread_create(&thread, NULL, load_members_run, &load->slots[nr]);
	}
	load_thread_run(&threads[0]);
}

static inline bool load_start(unsigned int nr, unsigned long state)
{
	pid_t pid = fork();

	if (!pid) {
		load_program(nr, state);
		_exit(0);
	}
	load->slots[nr].member = 0;
	load->slots[nr].step = LOAD_STEPS;
	load->slots[nr].pid = pid;
	return pid > 0;
}

/* Reaps tasks whose program is gone. A program that has ended by itself starts again. */
static inline void load_reap(unsigned long state)
{
	unsigned int i;
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		for (i = 0; i < LOAD_PROGRAMS; i++)
			if (load->slots[i].pid == pid) {
				load_wrong("a program has ended");
				load_start(i, state + i);
			}
}

/* Starts all programs. Return: they run. */
static inline bool load_begin(const char *export, unsigned long seed)
{
	unsigned int i;

	load = mmap(NULL, sizeof(*load), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		    0);
	if (load == MAP_FAILED || socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, load->pass))
		return false;
	snprintf(load->export, sizeof(load->export), "%s", export);
	/* Tasks whose program is killed become children of this process. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (i = 0; i < LOAD_PROGRAMS; i++)
		if (!load_start(i, seed * LOAD_PROGRAMS + i))
			return false;
	return true;
}

/* Prints which steps failed, and how often. */
static inline void load_print_errors(void)
{
	unsigned int i;

	for (i = 0; i < LOAD_ERRNOS; i++)
		if (load->errors[i])
			fprintf(stderr, "# %lu steps failed: %s\n", load->errors[i], strerror(i));
}

/* Returns the number of steps that failed with other errors than these two. */
static inline unsigned long load_errors_but(int one, int other)
{
	unsigned long nr = 0;
	int i;

	for (i = 0; i < LOAD_ERRNOS; i++)
		if (i != one && i != other)
			nr += load->errors[i];
	return nr;
}

/*
 * Runs a function in a process of its own: a process that uses the device has a session as long as
 * it lives, which would be counted. Return: the function's result.
 */
static inline bool load_apart(bool (*function)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(!function());
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

static inline bool load_use_once(void)
{
	return agent_await(getenv("VGPU_NAME")) >= 0;
}

/*
 * Reads what is held when nothing is used. The first session of a guest makes the guest's group,
 * which stays as long as the guest is connected. Return: false if something changes all the time.
 */
static inline bool load_rest(struct baseline *before)
{
	return load_apart(load_use_once) && baseline_rest(before, getenv("VGPU_NAME"));
}

/* Kills all programs, and closes the files that no program has received. */
static inline void load_end(void)
{
	unsigned int i;

	for (i = 0; i < LOAD_PROGRAMS; i++)
		if (load->slots[i].pid > 0)
			kill(load->slots[i].pid, SIGKILL);
	for (i = 0; i < LOAD_PROGRAMS; i++)
		waitpid(load->slots[i].pid, NULL, 0);
	close(load->pass[0]);
	close(load->pass[1]);
}

#endif /* DEATHS_LOAD_H */
