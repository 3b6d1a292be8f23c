/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The programs of session_pins.c. Each is a process that carries out orders: it opens files, pins
 * memory, shares objects and passes files to other programs.
 */
#ifndef PINS_PROGRAM_H
#define PINS_PROGRAM_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <drm/drm.h>
#include <drm/drm_mode.h>

#include "../../drivers/common/nvidia_rm.h"
#include "pins_host.h"
#include "vgpu_mock.h"
#include "vgpu_mock_nvidia.h"

#define PAGE		4096UL
/* A call pins at most this much. */
#define LARGE		(4UL << 20)
/* Scattered memory consists of this many pages, hardly any two of them adjacent. */
#define SCATTERED	512
#define OS_DESCRIPTOR	0x71
#define FILES		8
/* These are two commands of RM_CONTROL: one that shares nothing, and one that shares an object. */
#define CMD_ANY		0x00000d01
#define CMD_SHARE	0x00000d06

/* The nodes have the names of their exports. */
enum { CONTROL, MODESET, OTHER, CARD, NODES };

static const char *const node_names[NODES] = { "control", "modeset", "other", "card" };

/* These ioctls give a buffer a number, and those in taking[] get a buffer by its number. */
static const unsigned int giving[] = {
	DRM_IOCTL_GEM_FLINK, DRM_IOCTL_MODE_ADDFB, DRM_IOCTL_MODE_ADDFB2,
};

static const unsigned int taking[] = {
	DRM_IOCTL_GEM_OPEN, DRM_IOCTL_MODE_GETFB, DRM_IOCTL_MODE_GETFB2,
};

#define NUMBERS	(sizeof(giving) / sizeof(giving[0]))

/**
 * struct order - what a program is to do; an fd may come with it
 * @what: letter of the action, see obey()
 * @a: number of a file of the program, or of a node
 * @b: number of another file, or another argument
 */
struct order {
	char what;
	int a;
	int b;
};

/* struct program: a process, and the socket by which it gets its orders. */
struct program {
	pid_t pid;
	int socket;
};

static inline bool send_fd(int socket, const void *data, size_t len, int fd)
{
	char control_data[CMSG_SPACE(sizeof(int))] = {};
	struct iovec iov = { .iov_base = (void *)data, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *cmsg;

	if (fd >= 0) {
		msg.msg_control = control_data;
		msg.msg_controllen = sizeof(control_data);
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	}
	return sendmsg(socket, &msg, MSG_NOSIGNAL) == (ssize_t)len;
}

static inline bool receive_fd(int socket, void *data, size_t len, int *fd)
{
	char control_data[CMSG_SPACE(sizeof(int))] = {};
	struct iovec iov = { .iov_base = data, .iov_len = len };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control_data, .msg_controllen = sizeof(control_data),
	};
	struct cmsghdr *cmsg;

	if (recvmsg(socket, &msg, 0) != (ssize_t)len)
		return false;
	cmsg = CMSG_FIRSTHDR(&msg);
	*fd = -1;
	if (cmsg)
		memcpy(fd, CMSG_DATA(cmsg), sizeof(*fd));
	return true;
}

static inline long pinned_kib(void)
{
	char line[128];
	long kib = -1;
	FILE *file = fopen("/proc/self/status", "r");

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "VmPin: %ld", &kib) == 1)
			break;
	if (file)
		fclose(file);
	return kib;
}

/*
 * Hands memory to the driver. The host does nothing with it, but the guest must assume that the
 * driver has it.
 */
static inline int pin(int fd, const char *p, size_t len)
{
	struct rm_alloc_memory args = {
		.class = OS_DESCRIPTOR, .addr = (uintptr_t)p, .limit = len - 1, .fd = -1,
	};

	if (ioctl(fd, RM_IOCTL_ALLOC_MEMORY, &args))
		return errno == EOPNOTSUPP ? 0 : -1;
	/* The guest reports the error as the driver does. */
	errno = args.status == RM_NO_MEMORY ? ENOMEM : EPROTO;
	return -1;
}

static inline char *alloc(size_t len)
{
	char *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static inline int do_pin(int fd)
{
	char *p = alloc(PAGE);

	return p ? pin(fd, p, PAGE) : -1;
}

/*
 * Pins memory until a limit is reached. Each call pins the last call's pages again but one, and
 * they count again. Return: the kilobytes that are pinned, or -1.
 */
static inline int do_pin_most(int fd)
{
	size_t len;
	char *p;

	do {
		p = alloc(LARGE);
		for (len = LARGE; p && len && !pin(fd, p, len); len -= PAGE)
			;
	} while (!len);
	return p && errno == ENOMEM ? pinned_kib() : -1;
}

/*
 * Waits until nothing is pinned, or nothing has been released for some time. Return: the
 * kilobytes that are still pinned.
 */
static inline int do_wait_unpinned(void)
{
	unsigned int tries = 0;
	int kib, last = -1;

	while ((kib = pinned_kib()) && tries < PATIENCE_MS / 10) {
		tries = kib == last ? tries + 1 : 0;
		last = kib;
		usleep(10000);
	}
	return kib;
}

/* Pins page by page, up to @most or a limit. Return: the number of pages, or -1. */
static inline int do_pin_pages(int fd, int most)
{
	char *p = alloc(most * PAGE);
	int i = 0;

	while (p && i < most && !pin(fd, p + i * PAGE, PAGE))
		i++;
	return i == most || errno == ENOMEM ? i : -1;
}

/*
 * Pins SCATTERED pages, hardly any two of which are adjacent, @times times each in one call.
 * Return: 0, an errno, or -1.
 */
static inline int do_pin_scattered(int fd, int times)
{
	size_t len = SCATTERED * PAGE;
	int memory = memfd_create("scattered", MFD_CLOEXEC), i;
	char *p = mmap(NULL, times * len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory < 0 || p == MAP_FAILED)
		return -1;
	/* Memory is allocated in the order of the writes: the even pages come first. */
	for (i = 0; i < SCATTERED; i++)
		if (pwrite(memory, "", 1, (i * 2 % SCATTERED + i * 2 / SCATTERED) * PAGE) != 1)
			return -1;
	for (i = 0; i < times; i++)
		if (mmap(p + i * len, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory,
			 0) == MAP_FAILED)
			return -1;
	close(memory);
	return pin(fd, p, times * len) ? errno : 0;
}

/*
 * Makes a call that shares an object, or one that does not, either directly or wrapped in
 * another ioctl.
 */
static inline int do_share(int fd, int how)
{
	struct vgpu_mock_nvidia_control control_args = { .cmd = how & 2 ? CMD_SHARE : CMD_ANY };
	struct rm_share share_args = {};
	struct vgpu_mock_nvidia_xfer xfer = {
		.nr = _IOC_NR(VGPU_MOCK_NVIDIA_CONTROL), .size = sizeof(control_args),
		.arg = (uintptr_t)&control_args,
	};

	if (how & 4)
		return ioctl(fd, RM_IOCTL_SHARE, &share_args);
	if (how & 1)
		return ioctl(fd, VGPU_MOCK_NVIDIA_XFER, &xfer);
	return ioctl(fd, VGPU_MOCK_NVIDIA_CONTROL, &control_args);
}

static pthread_t slow_thread;
static pthread_mutex_t slow_may_end = PTHREAD_MUTEX_INITIALIZER;
static bool slow_is_over;

/* The thread stays after the call, as its end would wait for an mmap(). */
static inline void *call_slow(void *file)
{
	ioctl((intptr_t)file, IOCTL_SLOW, 0);
	__atomic_store_n(&slow_is_over, true, __ATOMIC_RELEASE);
	pthread_mutex_lock(&slow_may_end);
	return NULL;
}

static inline int map(void *file)
{
	return mmap(NULL, PAGE, PROT_READ, MAP_SHARED, (intptr_t)file, 0) != MAP_FAILED;
}

/*
 * Starts a process with the same mm that maps a file. Until mmap() returns, none of the mm's
 * pages can come or go.
 */
static inline int do_map(int fd)
{
	static char stack[16 * PAGE];

	return clone(map, stack + sizeof(stack), CLONE_VM | SIGCHLD, (void *)(intptr_t)fd);
}

static inline int do_wait(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid ? status : -1;
}

/* Imports a buffer into the card's driver. */
static inline int do_import(int fd, int named)
{
	struct drm_prime_handle args = { .fd = named };

	return ioctl(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &args);
}

/*
 * Makes an ioctl that gives or takes a number of a buffer; the argument's contents do not
 * matter.
 */
static inline int do_number(int fd, unsigned int cmd)
{
	uint64_t args[16] = {};

	return ioctl(fd, cmd, args);
}

/*
 * Carries an order out. @came: fd that came with the order, or -1; @go: fd that goes with the
 * answer. Return: the answer.
 */
static inline int obey(const struct order *order, int *files, int came, int *go)
{
	struct vgpu_mock_fd_in named = {};
	struct rm_register args;
	int i = 0;

	switch (order->what) {
	case 'o':
	case 't':
		while (i < FILES && files[i] >= 0)
			i++;
		if (i == FILES)
			return -1;
		files[i] = order->what == 't' ? came : tool_open_export(node_names[order->a]);
		return files[i] < 0 ? -1 : i;
	case 'p':
		return do_pin(files[order->a]);
	case 'l':
		return do_pin_most(files[order->a]);
	case 'h':
		return do_pin_pages(files[order->a], order->b);
	case 'r':
		return do_pin_scattered(files[order->a], order->b);
	case 'i':
		return setresuid(order->a, order->a, order->a);
	case 'u':
		return ioctl(files[order->a], IOCTL_UNKNOWN, 0) && errno == EOPNOTSUPP ? 0 : -1;
	case 'w':
		pthread_mutex_lock(&slow_may_end);
		/*
		 * The page of the variable is faulted in here, before another thread holds
		 * mmap_lock.
		 */
		slow_is_over = false;
		return pthread_create(&slow_thread, NULL, call_slow,
				      (void *)(intptr_t)files[order->a]);
	case 'e':
		return __atomic_load_n(&slow_is_over, __ATOMIC_ACQUIRE);
	case 'j':
		pthread_mutex_unlock(&slow_may_end);
		return pthread_join(slow_thread, NULL);
	case 'v':
		return do_map(files[order->a]);
	case 'q':
		return do_wait(order->a);
	case 'b':
		return do_import(files[order->a], files[order->b]) &&
		       errno == EOPNOTSUPP ? 0 : -1;
	case 'x':
		return do_number(files[order->a], giving[order->b]) &&
		       errno == EOPNOTSUPP ? 0 : -1;
	case 'y':
		return do_number(files[order->a], taking[order->b]) &&
		       errno == EOPNOTSUPP ? 0 : -1;
	case 'n':
		args.control = files[order->b];
		return ioctl(files[order->a], RM_IOCTL_REGISTER, &args) &&
		       errno == EOPNOTSUPP ? 0 : -1;
	case 'm':
		named.fd = files[order->b];
		return ioctl(files[order->a], VGPU_MOCK_IOC_FD_IN, &named) &&
		       errno == EOPNOTSUPP ? 0 : -1;
	case 's':
		return do_share(files[order->a], order->b) && errno == EOPNOTSUPP ? 0 : -1;
	case 'c':
		i = close(files[order->a]);
		files[order->a] = -1;
		return i;
	case 'g':
		*go = files[order->a];
		return 0;
	case 'k':
		return pinned_kib();
	case 'z':
		return do_wait_unpinned();
	}
	return -1;
}

/* Carries orders out until the test closes the socket. */
static inline void be_program(int socket)
{
	int files[FILES], came, go, answer, i;
	struct order order;

	for (i = 0; i < FILES; i++)
		files[i] = -1;
	while (receive_fd(socket, &order, sizeof(order), &came)) {
		/*
		 * A child has the same files and gets its own orders. The test is its parent
		 * (CLONE_PARENT), so that the test can wait for it.
		 */
		if (order.what == 'f') {
			answer = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL);
			if (!answer)
				dup2(came, socket);
			close(came);
			if (!answer)
				continue;
			go = -1;
		} else {
			go = -1;
			answer = obey(&order, files, came, &go);
		}
		if (!send_fd(socket, &answer, sizeof(answer), go))
			break;
	}
	_exit(0);
}

static inline int tell_with(const struct program *program, char what, int a, int b, int fd,
			    int *got)
{
	struct order order = { .what = what, .a = a, .b = b };
	int answer;

	if (!send_fd(program->socket, &order, sizeof(order), fd) ||
	    !receive_fd(program->socket, &answer, sizeof(answer), got))
		return -1;
	return answer;
}

static inline int tell(const struct program *program, char what, int a, int b)
{
	int got;

	return tell_with(program, what, a, b, -1, &got);
}

static inline bool program_begin(struct program *program)
{
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets))
		return false;
	program->pid = fork();
	if (!program->pid) {
		close(sockets[0]);
		be_program(sockets[1]);
	}
	close(sockets[1]);
	program->socket = sockets[0];
	return program->pid > 0;
}

/* Ends a program. All its files are closed when this returns. Return: true if it has ended. */
static inline bool program_end(struct program *program)
{
	int status;

	if (program->pid <= 0)
		return false;
	/*
	 * Programs that were started later have the socket, too, so closing alone does not end
	 * it.
	 */
	shutdown(program->socket, SHUT_RDWR);
	close(program->socket);
	status = waitpid(program->pid, &status, 0) == program->pid;
	program->pid = 0;
	return status;
}

static inline bool program_fork(const struct program *program, struct program *child)
{
	int sockets[2], got;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets))
		return false;
	child->pid = tell_with(program, 'f', 0, 0, sockets[1], &got);
	child->socket = sockets[0];
	close(sockets[1]);
	return child->pid > 0;
}

/* Passes a file to another program. Return: the file's number in @to, or -1. */
static inline int pass(const struct program *from, int file, const struct program *to)
{
	int fd, got, number;

	if (tell_with(from, 'g', file, 0, -1, &fd) || fd < 0)
		return -1;
	number = tell_with(to, 't', 0, 0, fd, &got);
	close(fd);
	return number;
}

#endif /* PINS_PROGRAM_H */
