// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzzer of the guest: its host lies. A thread of this program is the host to which vgpu_guest
 * connects (host_play.c), and the main thread is a program that uses the host's device. The guest
 * must stay whole, end each call, and connect again.
 *
 * The guest module is loaded anew for this host, and for its real one at the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "draw.h"
#include "fuzz.h"
#include "host.h"
#include "vgpu_mock.h"

#define PAGE		4096U
#define ARENA		(64U << 10)
/* Time in s after which the host ends all its lanes, so that a call has to end. */
#define PATIENCE_S	1
/*
 * Number of such times after which the host answers honestly: natively, too, a call goes on for as
 * long as the driver has it restarted ...
 */
#define HONEST_TIMES	5
/* ... and after which a call that does not end is a finding. */
#define PATIENCE_TIMES	60
/* Time in units of 20 ms for the device to come back after the end of a connection. */
#define BACK_TRIES	1500

static int fds[HOST_FILES] = { -1, -1 };
static uint8_t *arena;
static sigjmp_buf fault;
static volatile sig_atomic_t alarms;

static void on_fault(int signr)
{
	siglongjmp(fault, signr);
}

/* Has the host end its lanes. Only async-signal-safe functions are called here. */
static void on_alarm(int signr)
{
	static const char text[] = "# fuzz_host: found: a call does not end although its lane has\n";

	(void)signr;
	host_kill_later(++alarms > HONEST_TIMES);
	if (alarms < PATIENCE_TIMES)
		return;
	if (write(STDOUT_FILENO, text, sizeof(text) - 1) < 0)
		_exit(1);
	_exit(FUZZ_FOUND);
}

static void set_alarm(unsigned int seconds)
{
	const struct itimerval timer = {
		.it_value.tv_sec = seconds, .it_interval.tv_sec = seconds,
	};

	alarms = 0;
	setitimer(ITIMER_REAL, &timer, NULL);
}

/* Finds the node of the host's device. Return: false: there is none. */
static bool find_node(char *node, size_t size)
{
	char name[40];
	bool found = false;
	glob_t paths;
	FILE *file;
	size_t i;

	if (glob("/sys/class/vgpu/vgpu*/name", 0, NULL, &paths))
		return false;
	for (i = 0; i < paths.gl_pathc && !found; i++) {
		file = fopen(paths.gl_pathv[i], "r");
		if (!file)
			continue;
		found = fgets(name, sizeof(name), file) && !strcmp(name, HOST_EXPORT "\n");
		fclose(file);
		if (found)
			snprintf(node, size, "/dev/%.*s",
				 (int)strcspn(paths.gl_pathv[i] + strlen("/sys/class/vgpu/"), "/"),
				 paths.gl_pathv[i] + strlen("/sys/class/vgpu/"));
	}
	globfree(&paths);
	return found;
}

static const char *await_node(char *node, size_t size)
{
	unsigned int i;

	for (i = 0; i < BACK_TRIES; i++) {
		if (find_node(node, size) && !access(node, F_OK))
			return NULL;
		/* A step may have taken the export away; it comes back with a connection. */
		if (i % 50 == 49)
			host_kill(true);
		usleep(20000);
	}
	return "the guest does not connect again";
}

static bool start(void)
{
	struct sigaction faults = { .sa_handler = on_fault, .sa_flags = SA_NODEFER };
	struct sigaction alarm_action = { .sa_handler = on_alarm };
	char node[64], command[192];

	sigaction(SIGBUS, &faults, NULL);
	sigaction(SIGSEGV, &faults, NULL);
	sigaction(SIGALRM, &alarm_action, NULL);
	arena = mmap((void *)0x300000000000, ARENA, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (arena == MAP_FAILED || !host_start())
		return false;
	/* The planted bug, which some modules have, stays chosen although the module is loaded anew. */
	snprintf(command, sizeof(command),
		 "p=$(cat /sys/module/vgpu_guest/parameters/plant 2>/dev/null); rmmod vgpu_guest; "
		 "modprobe vgpu_guest cid=1 port=%d ${p:+plant=$p}", HOST_PORT);
	return !system(command) && !await_node(node, sizeof(node));
}

static void open_file(unsigned int where)
{
	char node[64];

	if (fds[where] >= 0)
		close(fds[where]);
	fds[where] = find_node(node, sizeof(node)) ? open(node, O_RDWR | O_NONBLOCK | O_CLOEXEC) : -1;
}

/* Closes a file that the host has given, and nothing else that it may have named. */
static void close_one(int fd)
{
	static const char *const names[] = { "/[vgpu]", "/dmabuf", "/sync_file" };
	char path[40], link[40] = "";
	unsigned int i;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (readlink(path, link, sizeof(link) - 1) <= 0)
		return;
	for (i = 0; i < 3; i++) {
		if (strncmp(link, names[i], strlen(names[i])))
			continue;
		close(fd);
		return;
	}
}

static void close_given(uint32_t cmd)
{
	const struct vgpu_mock_fd_out *out = (const void *)arena;
	const int *more = (const int *)(arena + 1024);
	unsigned int i;

	if (cmd == VGPU_MOCK_IOC_FD_OUT)
		close_one(out->out_fd);
	for (i = 0; cmd == VGPU_MOCK_IOC_FDS_OUT && i < arena[8]; i++)
		close_one(more[i]);
}

static void use_mapping(int fd, const struct host_args *args)
{
	size_t len = (1 + args->number % 4) * PAGE;
	int prot = args->number / 4 % 2 ? PROT_READ : PROT_READ | PROT_WRITE;
	volatile uint8_t *memory = mmap(NULL, len, prot, MAP_SHARED, fd, args->position & ~0xfffULL);
	size_t i;

	if (memory == MAP_FAILED)
		return;
	if (!sigsetjmp(fault, 1))
		for (i = 0; i < len; i += PAGE)
			memory[i + 1] = prot & PROT_WRITE ? memory[i] + 1 : memory[i];
	munmap((void *)memory, len);
}

static void run_call(const struct step *step)
{
	const struct host_args *args = (const struct host_args *)step->data;
	unsigned int where = step->where % HOST_FILES;
	int fd = fds[where];
	struct pollfd pfd = { .fd = fd, .events = args->number };
	uint64_t pointer = (uintptr_t)arena + 1024;

	memset(arena, 0, 1024);
	memcpy(arena, &pointer, sizeof(pointer));
	arena[8] = 3;
	switch (step->kind) {
	case HOST_OPEN:
		open_file(where);
		break;
	case HOST_CLOSE:
		if (fd >= 0)
			close(fd);
		fds[where] = -1;
		break;
	case HOST_READ:
		(void)!read(fd, arena + PAGE, args->number % (ARENA / 2));
		break;
	case HOST_WRITE:
		(void)!write(fd, arena + PAGE, args->number % (ARENA / 2));
		break;
	case HOST_SEEK:
		lseek(fd, args->position, args->number % 6);
		break;
	case HOST_IOCTL:
		if (!ioctl(fd, args->number, arena))
			close_given(args->number);
		break;
	case HOST_POLL:
		poll(&pfd, 1, 10);
		break;
	case HOST_MMAP:
		use_mapping(fd, args);
		break;
	}
}

static const char *run(struct input *input)
{
	struct step *step = NULL;
	const char *wrong;
	char node[64];
	unsigned int i;

	wrong = await_node(node, sizeof(node));
	if (wrong)
		return wrong;
	set_alarm(PATIENCE_S);
	for (i = 0; i < HOST_FILES; i++)
		if (fds[i] < 0 || draw_one_in(4))
			open_file(i);
	while ((step = input_next(input, step))) {
		const struct host_args *args = (const struct host_args *)step->data;

		/* A call is answered, and there may be a question before the answer. */
		fuzz_messages += step->kind != HOST_KILL;
		if (step->kind == HOST_SEND) {
			host_send(step->data, step->len);
			continue;
		}
		if (step->len < sizeof(*args))
			continue;
		host_follow(step);
		if (step->kind == HOST_KILL)
			host_kill(args->position & 1);
		else
			run_call(step);
		host_follow(NULL);
		set_alarm(PATIENCE_S);
	}
	set_alarm(0);
	usleep(2000);
	return NULL;
}

static const char *stop(void)
{
	unsigned int i;

	for (i = 0; i < HOST_FILES; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	/* A host may put the number of a file where no program looks for it. */
	for (i = 3; i < 1024; i++)
		close_one(i);
	if (system("for i in $(seq 100); do rmmod vgpu_guest && exit; busybox usleep 50000; done; exit 1"))
		return "the guest module cannot be unloaded";
	if (system("/usr/lib/vgpu-test/setup guest 1 $(cat /run/vgpu-exports) >/dev/null && "
		   "/usr/lib/vgpu-test/setup env >/dev/null"))
		return "the real host's devices do not come back";
	return NULL;
}

static const struct fuzz fuzz_host = {
	.name = "fuzz_host",
	.own = true,
	.start = start,
	.make = host_make,
	.change = host_change,
	.run = run,
	.stop = stop,
};

int main(int argc, char **argv)
{
	return fuzz_main(&fuzz_host, argc, argv);
}
