// SPDX-License-Identifier: GPL-2.0-only
/*
 * nvidia_events CONTROL CARD CASE: uses OS events of the stand-in for NVIDIA's driver, by its
 * control file and the file of a card, natively or from a guest. That driver finds an event by
 * its client and by an fd of the calling process, in calls that come one after the other from any
 * thread. Exit status 1 if a result is wrong.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../drivers/common/nvidia_rm.h"
#include "vgpu_mock_nvidia.h"

#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))

#define THREADS		4
/*
 * Number of events that each thread uses, one after the other, or of files that are closed, one
 * after the other.
 */
#define ROUNDS		40
/* An event comes at once unless the machine is slow. */
#define PATIENCE_MS	30000

static const char *control_path, *card_path;
/* @card stays open, as the driver looks for a file of the card in the caller's fd table. */
static int control, card;
static unsigned int client, device, subdevice;

/* Returns how often to repeat something: @wanted times, or less on slow machines. */
static unsigned int times(unsigned int wanted)
{
	const char *limit = getenv("VGPU_TIMES");
	unsigned int most = limit ? atoi(limit) : 0;

	return most && most < wanted ? most : wanted;
}

static int open_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		err(1, "%s", path);
	return fd;
}

static unsigned int alloc(unsigned int class, unsigned int parent, void *params, unsigned int size,
			  unsigned int *handle)
{
	struct rm_alloc args = {
		.client = client, .parent = parent, .class = class,
		.params = (unsigned long)params, .params_size = size, .status = 77,
	};

	if (ioctl(control, RM_IOCTL_ALLOC, &args))
		err(1, "class %#x", class);
	*handle = args.object;
	return args.status;
}

static void command(unsigned int cmd, void *params, unsigned int size)
{
	struct vgpu_mock_nvidia_control args = {
		.client = client, .object = subdevice, .cmd = cmd,
		.params = (unsigned long)params, .size = size, .status = 77,
	};

	if (ioctl(control, VGPU_MOCK_NVIDIA_CONTROL, &args))
		err(1, "command %#x", cmd);
	if (args.status)
		errx(1, "command %#x: status %#x", cmd, args.status);
}

static void begin(void)
{
	struct vgpu_mock_nvidia_notify notify = { .action = VGPU_MOCK_NVIDIA_NOTIFY_AGAIN };
	struct rm_subdevice second = {};
	struct rm_device first = {};

	control = open_file(control_path);
	card = open_file(card_path);
	if (alloc(RM_CLASS_CLIENT, 0, NULL, 0, &client) ||
	    alloc(RM_CLASS_DEVICE, client, &first, sizeof(first), &device) ||
	    alloc(RM_CLASS_SUBDEVICE, device, &second, sizeof(second), &subdevice))
		errx(1, "no subdevice");
	command(VGPU_MOCK_NVIDIA_NOTIFY, &notify, sizeof(notify));
}

/* Makes or frees an OS event. Return: the status, as in the following functions. */
static unsigned int os_event(unsigned long cmd, int fd)
{
	struct vgpu_mock_nvidia_os_event args = { .client = client, .fd = fd, .status = 77 };

	if (ioctl(fd, cmd, &args))
		err(1, "an OS event");
	if (args.fd != (unsigned int)fd)
		errx(1, "file %d is %u to the driver", fd, args.fd);
	return args.status;
}

static unsigned int event_alloc(int fd)
{
	return os_event(VGPU_MOCK_NVIDIA_ALLOC_OS_EVENT, fd);
}

static unsigned int event_free(int fd)
{
	return os_event(VGPU_MOCK_NVIDIA_FREE_OS_EVENT, fd);
}

static unsigned int event_use(int fd, unsigned int *handle)
{
	struct vgpu_mock_nvidia_event params = {
		.source = subdevice, .class = VGPU_MOCK_NVIDIA_EVENT,
		.index = VGPU_MOCK_NVIDIA_NO_DATA, .fd = fd,
	};

	return alloc(VGPU_MOCK_NVIDIA_EVENT, subdevice, &params, sizeof(params), handle);
}

static void event_unuse(unsigned int handle)
{
	struct rm_free args = { .client = client, .object = handle, .status = 77 };

	if (ioctl(control, RM_IOCTL_FREE, &args) || args.status)
		errx(1, "an event's object is not freed: status %#x", args.status);
}

static void is(unsigned int status, unsigned int wanted, const char *what)
{
	if (status != wanted)
		errx(1, "%s: status %#x, not %#x", what, status, wanted);
}

static void trigger(void)
{
	command(VGPU_MOCK_NVIDIA_TRIGGER, NULL, 0);
}

static bool has_happened(int fd, int ms)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN | POLLPRI };
	int ret = poll(&wait, 1, ms);

	if (ret < 0 || (ret && wait.revents != (POLLIN | POLLPRI)))
		errx(1, "poll of %d: %d, %#x", fd, ret, wait.revents);
	return ret;
}

static void happens(int fd, const char *what)
{
	if (!has_happened(fd, PATIENCE_MS))
		errx(1, "%s: nothing happened", what);
	if (has_happened(fd, 0))
		errx(1, "%s: it happened twice", what);
}

static void happens_not(int fd, const char *what)
{
	if (has_happened(fd, 0))
		errx(1, "%s: it happened", what);
}

/*
 * Makes calls that hand over other files. In the host's process, these files have the fds of
 * event files for a moment.
 */
static void use_others(int file)
{
	int other = open_file(control_path), fds[] = { control, other, control };
	unsigned int i;

	for (i = 0; i < COUNT(fds); i++)
		/* A file can be registered only once. */
		if (ioctl(file, VGPU_MOCK_NVIDIA_REGISTER, &fds[i]) && errno != EINVAL)
			err(1, "a control file");
	close(other);
}

/* Uses several events of one client, one for each file. */
static void use_plain(void)
{
	int fds[] = { open_file(control_path), open_file(control_path), card };
	int never = open_file(control_path);
	unsigned int handles[COUNT(fds)], none, i;

	for (i = 0; i < COUNT(fds); i++) {
		is(event_alloc(fds[i]), RM_OK, "an event");
		is(event_alloc(fds[i]), RM_INSUFFICIENT_RESOURCES, "a file's second event");
		use_others(fds[i]);
	}
	is(event_use(never, &none), RM_OBJECT_NOT_FOUND, "an event that nobody made");
	is(event_free(never), VGPU_MOCK_NVIDIA_INVALID_EVENT, "freeing one that nobody made");
	for (i = 0; i < COUNT(fds); i++) {
		if (i == 1)
			continue;
		is(event_use(fds[i], &handles[i]), RM_OK, "an event's object");
		use_others(fds[i]);
	}
	happens_not(fds[0], "before anything was done");
	trigger();
	happens(fds[0], "the first file");
	happens_not(fds[1], "the second file, whose event is unused");
	happens(fds[2], "the card's file");
	happens_not(never, "a file without event");
	/* Each event is freed alone, and once. */
	is(event_free(fds[1]), RM_OK, "freeing the second");
	is(event_free(fds[1]), VGPU_MOCK_NVIDIA_INVALID_EVENT, "freeing the second again");
	is(event_free(fds[0]), RM_OK, "freeing the first");
	is(event_use(fds[0], &none), RM_OBJECT_NOT_FOUND, "an event that was freed");
	trigger();
	happens_not(fds[0], "an event that was freed");
	happens(fds[2], "the card's file again");
	/* A file may have another event afterwards. */
	is(event_alloc(fds[0]), RM_OK, "an event after another");
	is(event_use(fds[0], &none), RM_OK, "its object");
	trigger();
	happens(fds[0], "an event after another");
	happens(fds[2], "the card's file beside it");
	event_unuse(handles[0]);
	event_unuse(handles[2]);
	trigger();
	happens(fds[0], "an event whose predecessor's object is freed");
	happens_not(fds[2], "an event whose object is freed");
}

/* --- threads -------------------------------------------------------------------------- */

static void on_signal(int signr)
{
	(void)signr;
}

/* Sleeps in a call until a signal comes. */
static void *sleep_in_driver(void *unused)
{
	unsigned long long word = 0;

	if (!ioctl(control, VGPU_MOCK_NVIDIA_SLEEP, &word) || errno != EINTR)
		err(1, "sleep in the driver");
	return unused;
}

/*
 * Runs through an event's life in a thread, while other threads do the same and all events
 * happen at once.
 */
static void *use_own(void *unused)
{
	unsigned int i, handle, none;
	int fd;

	for (i = 0; i < (times(ROUNDS * THREADS) + THREADS - 1) / THREADS; i++) {
		fd = open_file(i % 2 ? control_path : card_path);
		is(event_alloc(fd), RM_OK, "an event of a thread");
		use_others(fd);
		is(event_alloc(fd), RM_INSUFFICIENT_RESOURCES, "a thread's second event");
		is(event_use(fd, &handle), RM_OK, "an object of a thread");
		trigger();
		if (!has_happened(fd, PATIENCE_MS))
			errx(1, "nothing happened in a thread");
		is(event_free(fd), RM_OK, "freeing an event of a thread");
		is(event_free(fd), VGPU_MOCK_NVIDIA_INVALID_EVENT, "freeing it twice");
		is(event_use(fd, &none), RM_OBJECT_NOT_FOUND, "an object without event");
		event_unuse(handle);
		close(fd);
	}
	return unused;
}

/* struct step: one step of an event's life, made by a thread of its own. */
struct step {
	unsigned int (*run)(int fd);
	unsigned int status;
	int fd;
};

static unsigned int event_use_only(int fd)
{
	unsigned int handle;

	return event_use(fd, &handle);
}

static void *take_step(void *data)
{
	const struct step *step = data;

	is(step->run(step->fd), step->status, "a step in a thread of its own");
	return NULL;
}

static pthread_t start(void *(*fn)(void *), void *data)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, fn, data))
		errx(1, "no thread");
	return thread;
}

/* Has another thread make each step, while one call more than before is running. */
static void use_steps(void)
{
	const struct sigaction action = { .sa_handler = on_signal };
	struct step steps[] = {
		{ event_alloc, RM_OK, 0 },
		{ event_alloc, RM_INSUFFICIENT_RESOURCES, 0 },
		{ event_use_only, RM_OK, 0 },
		{ event_free, RM_OK, 0 },
		{ event_free, VGPU_MOCK_NVIDIA_INVALID_EVENT, 0 },
		{ event_use_only, RM_OBJECT_NOT_FOUND, 0 },
	};
	pthread_t sleepers[COUNT(steps)];
	int other = open_file(control_path), fd = open_file(control_path);
	unsigned int i;

	sigaction(SIGUSR1, &action, NULL);
	is(event_alloc(other), RM_OK, "the event of another file");
	for (i = 0; i < COUNT(steps); i++) {
		steps[i].fd = fd;
		pthread_join(start(take_step, &steps[i]), NULL);
		use_others(fd);
		if (steps[i].run == event_use_only && !steps[i].status) {
			trigger();
			happens(fd, "after the steps of several threads");
			happens_not(other, "the file beside it");
		}
		sleepers[i] = start(sleep_in_driver, NULL);
	}
	is(event_free(other), RM_OK, "freeing the event of another file");
	for (i = 0; i < COUNT(steps); i++) {
		/* A thread that has not made its call yet gets another signal. */
		while (pthread_kill(sleepers[i], SIGUSR1) || pthread_tryjoin_np(sleepers[i], NULL))
			usleep(1000);
	}
}

static void use_threads(void)
{
	pthread_t threads[THREADS];
	unsigned int i;

	use_steps();
	for (i = 0; i < THREADS; i++)
		threads[i] = start(use_own, NULL);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* --- ends ----------------------------------------------------------------------------- */

/* Allocates a page of the system's memory that a control file maps, and maps it. */
static void *map_page(int fd)
{
	unsigned char params[128] = {};
	const unsigned long long size = 4096;
	struct rm_map args = { .client = client, .device = device, .len = size, .fd = fd };
	void *memory;

	memcpy(params + VGPU_MOCK_NVIDIA_VIDEO_SIZE, &size, sizeof(size));
	if (alloc(RM_CLASS_SYSTEM, device, params, sizeof(params), &args.memory) ||
	    ioctl(control, RM_IOCTL_MAP, &args) || args.status)
		errx(1, "a control file maps no memory");
	memory = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		err(1, "mmap");
	return memory;
}

/*
 * Closes files that have events. An event ends with its file, whose fd the next file gets. The
 * event of a file that is still mapped stays.
 */
static void use_closes(void)
{
	int other = open_file(control_path), fd;
	unsigned int i, handle;
	void *memory;

	is(event_alloc(other), RM_OK, "an event that stays");
	for (i = 0; i < times(ROUNDS); i++) {
		fd = open_file(i % 2 ? control_path : card_path);
		is(event_alloc(fd), RM_OK, "an event of a file that is closed");
		is(event_use(fd, &handle), RM_OK, "its object");
		close(fd);
		trigger();
		event_unuse(handle);
		happens_not(other, "one that is unused");
	}
	is(event_use(other, &handle), RM_OK, "the object of the one that stays");
	trigger();
	happens(other, "the one that stays");

	fd = open_file(control_path);
	close(other);
	other = open_file(control_path);
	is(event_alloc(other), RM_OK, "an event of a file that is mapped");
	memory = map_page(other);
	close(other);
	is(event_alloc(fd), RM_OK, "an event beside that of a mapped file");
	munmap(memory, 4096);
	is(event_free(fd), RM_OK, "freeing it after munmap");
}

/* Makes a client of a control file of its own, until @control is restored. */
static void begin_client(void)
{
	control = open_file(control_path);
	if (alloc(RM_CLASS_CLIENT, 0, NULL, 0, &client))
		errx(1, "no client");
}

/*
 * An event ends with its client, but not with the client's control file. The host lets a guest
 * name its own clients only, and so none whose file is closed.
 */
static void use_clients(void)
{
	const bool forwarded = strcmp(control_path, "/dev/nvidiactl");
	int fd = open_file(control_path), first = control;

	begin_client();
	is(event_alloc(fd), RM_OK, "an event of a client");
	event_unuse(client);
	is(event_free(fd), forwarded ? RM_NOT_SUPPORTED : VGPU_MOCK_NVIDIA_INVALID_EVENT,
	   "freeing that of a client that was freed");
	close(control);

	begin_client();
	is(event_alloc(fd), RM_OK, "an event of another client");
	close(control);
	control = first;
	if (forwarded) {
		is(event_alloc(fd), RM_NOT_SUPPORTED, "a client whose control file is closed");
		is(event_free(fd), RM_NOT_SUPPORTED, "freeing that of such a client");
		return;
	}
	is(event_alloc(fd), RM_INSUFFICIENT_RESOURCES,
	   "a second event of a client whose control file is closed");
	is(event_free(fd), RM_OK, "freeing that of a client whose control file is closed");
	is(event_free(fd), VGPU_MOCK_NVIDIA_INVALID_EVENT, "freeing it twice");
}

/* A child has its parent's file numbers. */
static void use_child(void)
{
	int fd = open_file(control_path), other = open_file(control_path), status;
	pid_t pid;

	is(event_alloc(other), RM_OK, "an event");
	is(event_alloc(fd), RM_OK, "another event");
	pid = fork();
	if (!pid) {
		is(event_free(fd), RM_OK, "freeing the parent's");
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		errx(1, "the child ends with status %#x", status);
	is(event_free(fd), VGPU_MOCK_NVIDIA_INVALID_EVENT, "freeing what the child has freed");
	is(event_free(other), RM_OK, "freeing what the child has not freed");
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "plain", use_plain },
	{ "threads", use_threads },
	{ "closes", use_closes },
	{ "clients", use_clients },
	{ "child", use_child },
};

int main(int argc, char **argv)
{
	unsigned int i;

	for (i = 0; argc == 4 && i < COUNT(cases); i++) {
		if (strcmp(argv[3], cases[i].name))
			continue;
		control_path = argv[1];
		card_path = argv[2];
		/*
		 * Lines are written as a whole, so that one thread's message is not cut when
		 * another thread exits.
		 */
		setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
		begin();
		cases[i].run();
		return 0;
	}
	errx(2, "usage: nvidia_events CONTROL CARD plain|threads|closes|clients|child");
}
