// SPDX-License-Identifier: GPL-2.0-only
/*
 * These tests show which files keep memory pinned that was given to NVIDIA's driver: all files
 * to which the driver could hand the memory, and no other program's. The test is the host, so
 * it knows when the guest releases memory. It has no such driver and carries nothing out.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>

#include <drm/drm.h>
#include <drm/drm_mode.h>

#include "../../drivers/common/nvidia_rm.h"
#include "host_played.h"
#include "kernel_log.h"
#include "vgpu_mock.h"
#include "vgpu_mock_nvidia.h"

#include "kselftest_harness.h"

#define PAGE		4096UL
/* A call pins at most this much. */
#define LARGE		(4UL << 20)
/* Scattered memory consists of this many pages, hardly any two of them adjacent. */
#define SCATTERED	512
#define OS_DESCRIPTOR	0x71
#define PATIENCE_MS	30000
#define FILES		8
/* These are two commands of RM_CONTROL: one that shares nothing, and one that shares an object. */
#define CMD_ANY		0x00000d01
#define CMD_SHARE	0x00000d06

/* The nodes have the names of their exports. */
enum { CONTROL, MODESET, OTHER, CARD, NODES };

static const char *const node_names[NODES] = { "control", "modeset", "other", "card" };

/* No schema describes these ioctls. The host delays its answer to the second one. */
#define IOCTL_UNKNOWN	_IO('F', 0xd4)
#define IOCTL_SLOW	_IO('F', 0xd5)

/* These ioctls give a buffer a number, and those in taking[] get a buffer by its number. */
static const unsigned int giving[] = {
	DRM_IOCTL_GEM_FLINK, DRM_IOCTL_MODE_ADDFB, DRM_IOCTL_MODE_ADDFB2,
};

static const unsigned int taking[] = {
	DRM_IOCTL_GEM_OPEN, DRM_IOCTL_MODE_GETFB, DRM_IOCTL_MODE_GETFB2,
};

#define NUMBERS	(sizeof(giving) / sizeof(giving[0]))
#define LANES	64
#define ROOM	(64UL << 10)

/* --- the host ------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
/*
 * The lock protects these: number of the last object opened, of the last object closed by a
 * message, and number of RELEASEs.
 */
static uint32_t opened, closed;
static unsigned int released;
/*
 * The lock protects these, too: the open lanes, the newest session, the session whose shadow
 * has died, and the states of calls. slow: IOCTL_SLOW has come; answers_slow: it may be
 * answered; maps: an MMAP has come, which is never answered.
 */
static struct {
	uint64_t session;
	int fd;
} lanes[LANES];
static uint64_t newest, ended;
static bool slow, answers_slow, maps;

/* Receives in parts, as vsock waits for no more bytes than a socket has room for. */
static bool receive(int fd, char *data, size_t len)
{
	size_t part;

	for (; len; data += part, len -= part) {
		part = len < ROOM ? len : ROOM;
		if (recv(fd, data, part, MSG_WAITALL) != (ssize_t)part)
			return false;
	}
	return true;
}

static void answer_call(int lane, const struct vgpu_call *call)
{
	struct {
		struct vgpu_reply reply;
		struct vgpu_object_desc object;
	} answer = {};
	size_t len = sizeof(answer.reply);
	struct vgpu_hdr ack;

	answer.reply.hdr.type = htole16(VGPU_MSG_REPLY);
	answer.reply.hdr.seq = call->hdr.seq;
	switch (le16toh(call->op)) {
	case VGPU_OP_OPEN:
		len = sizeof(answer);
		answer.reply.nr_objects = htole16(1);
		pthread_mutex_lock(&lock);
		answer.object.object = htole32(++opened);
		pthread_mutex_unlock(&lock);
		answer.object.kind = htole32(VGPU_OBJECT_DEVICE);
		answer.object.fops = htole32(VGPU_FOP_IOCTL | VGPU_FOP_MMAP);
		answer.object.flags = htole32(VGPU_OBJECT_READ | VGPU_OBJECT_WRITE);
		answer.object.f_flags = htole32(O_RDWR);
		break;
	case VGPU_OP_IOCTL:
		pthread_mutex_lock(&lock);
		if (le32toh(call->args.ioctl.cmd) == IOCTL_SLOW) {
			slow = true;
			pthread_cond_broadcast(&changed);
			while (!answers_slow)
				pthread_cond_wait(&changed, &lock);
		}
		pthread_mutex_unlock(&lock);
		answer.reply.flags = htole32(VGPU_REPLY_REFUSED);
		answer.reply.result = htole64(-EOPNOTSUPP);
		break;
	case VGPU_OP_MMAP:
		pthread_mutex_lock(&lock);
		maps = true;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
		return;
	}
	answer.reply.hdr.len = htole32(len);
	if (send(lane, &answer, len, MSG_NOSIGNAL) == (ssize_t)len && answer.reply.nr_objects)
		receive(lane, (char *)&ack, sizeof(ack));
}

/* Adds a lane of the session. Return: 0, or the error of the REFUSE. */
static int lane_add(uint64_t session, int fd)
{
	int error = EMFILE;
	size_t i = 0;

	pthread_mutex_lock(&lock);
	newest = session > newest ? session : newest;
	while (i < LANES && lanes[i].session)
		i++;
	if (session == ended) {
		error = ENODEV;
	} else if (i < LANES) {
		lanes[i].session = session;
		lanes[i].fd = fd;
		error = 0;
	}
	pthread_mutex_unlock(&lock);
	return error;
}

static void lane_close(int fd)
{
	size_t i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < LANES; i++)
		if (lanes[i].fd == fd)
			lanes[i].session = 0;
	close(fd);
	pthread_mutex_unlock(&lock);
}

/* Ends the lanes of a session, as if its shadow had died. */
static void end_session(uint64_t session)
{
	size_t i;

	pthread_mutex_lock(&lock);
	ended = session;
	for (i = 0; i < LANES; i++)
		if (lanes[i].session == session)
			shutdown(lanes[i].fd, SHUT_RDWR);
	pthread_mutex_unlock(&lock);
}

/* Serves one lane until the guest closes it. */
static void *serve_lane(void *data)
{
	struct vgpu_hdr ready = {
		.len = htole32(sizeof(ready)), .type = htole16(VGPU_MSG_LANE_READY),
	};
	struct vgpu_refuse refuse = {
		.hdr.len = htole32(sizeof(refuse)), .hdr.type = htole16(VGPU_MSG_REFUSE),
	};
	int lane = (intptr_t)data, error;
	struct vgpu_lane_hello hello;
	struct vgpu_call call;
	char rest[VGPU_CALL_BYTES_MIN];
	size_t len;

	if (!receive(lane, (char *)&hello, sizeof(hello)))
		goto out;
	error = lane_add(le64toh(hello.session), lane);
	if (error) {
		refuse.error = htole32(error);
		send(lane, &refuse, sizeof(refuse), MSG_NOSIGNAL);
		goto out;
	}
	if (send(lane, &ready, sizeof(ready), MSG_NOSIGNAL) != sizeof(ready))
		goto out;
	while (receive(lane, (char *)&call, sizeof(call))) {
		len = le32toh(call.hdr.len) - sizeof(call);
		if (len > sizeof(rest) || (len && !receive(lane, rest, len)))
			break;
		answer_call(lane, &call);
	}
out:
	lane_close(lane);
	return NULL;
}

static void *accept_lanes(void *unused)
{
	pthread_t thread;
	int lane;

	for (;;) {
		lane = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		/* The listener's timeout is no reason to stop. */
		if (lane < 0 && errno != EAGAIN)
			return NULL;
		if (lane >= 0 &&
		    pthread_create(&thread, NULL, serve_lane, (void *)(intptr_t)lane))
			close(lane);
	}
}

/* Receives the guest's messages on the control connection. */
static void *serve_control(void *unused)
{
	union {
		struct vgpu_hdr hdr;
		struct vgpu_close close;
		struct vgpu_release release;
		char bytes[4096];
	} msg;
	size_t len;

	for (;;) {
		/* The guest may send nothing for any time. */
		while (recv(control, &msg.hdr, 1, MSG_PEEK) < 0 && errno == EAGAIN)
			;
		if (!receive(control, msg.bytes, sizeof(msg.hdr)))
			return NULL;
		len = le32toh(msg.hdr.len) - sizeof(msg.hdr);
		if (len > sizeof(msg) - sizeof(msg.hdr) ||
		    !receive(control, msg.bytes + sizeof(msg.hdr), len))
			return NULL;
		pthread_mutex_lock(&lock);
		if (le16toh(msg.hdr.type) == VGPU_MSG_CLOSE) {
			closed = le32toh(msg.close.object);
		} else if (le16toh(msg.hdr.type) == VGPU_MSG_RELEASE) {
			released++;
			send_all(&msg, sizeof(msg.release));
		}
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
	}
}

static void until(const bool *happened)
{
	pthread_mutex_lock(&lock);
	while (!*happened)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static void answer_slow(void)
{
	pthread_mutex_lock(&lock);
	answers_slow = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void time_out(struct timespec *end)
{
	clock_gettime(CLOCK_REALTIME, end);
	end->tv_sec += PATIENCE_MS / 1000;
}

/*
 * Waits until @number RELEASEs have come, as long as more of them come. Return: true if exactly
 * so many have.
 */
static bool releases(unsigned int number)
{
	unsigned int last = 0;
	struct timespec end;
	bool right;

	time_out(&end);
	pthread_mutex_lock(&lock);
	while (released < number && !pthread_cond_timedwait(&changed, &lock, &end)) {
		if (released != last)
			time_out(&end);
		last = released;
	}
	right = released == number;
	pthread_mutex_unlock(&lock);
	return right;
}

/* --- programs ------------------------------------------------------------- */

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

static bool send_fd(int socket, const void *data, size_t len, int fd)
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

static bool receive_fd(int socket, void *data, size_t len, int *fd)
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

static long pinned_kib(void)
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
static int pin(int fd, const char *p, size_t len)
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

static char *alloc(size_t len)
{
	char *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static int do_pin(int fd)
{
	char *p = alloc(PAGE);

	return p ? pin(fd, p, PAGE) : -1;
}

/*
 * Pins memory until a limit is reached. Each call pins the last call's pages again but one, and
 * they count again. Return: the kilobytes that are pinned, or -1.
 */
static int do_pin_most(int fd)
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
static int do_wait_unpinned(void)
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
static int do_pin_pages(int fd, int most)
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
static int do_pin_scattered(int fd, int times)
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
static int do_share(int fd, int how)
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
static void *call_slow(void *file)
{
	ioctl((intptr_t)file, IOCTL_SLOW, 0);
	__atomic_store_n(&slow_is_over, true, __ATOMIC_RELEASE);
	pthread_mutex_lock(&slow_may_end);
	return NULL;
}

static int map(void *file)
{
	return mmap(NULL, PAGE, PROT_READ, MAP_SHARED, (intptr_t)file, 0) != MAP_FAILED;
}

/*
 * Starts a process with the same mm that maps a file. Until mmap() returns, none of the mm's
 * pages can come or go.
 */
static int do_map(int fd)
{
	static char stack[16 * PAGE];

	return clone(map, stack + sizeof(stack), CLONE_VM | SIGCHLD, (void *)(intptr_t)fd);
}

static int do_wait(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid ? status : -1;
}

/* Imports a buffer into the card's driver. */
static int do_import(int fd, int named)
{
	struct drm_prime_handle args = { .fd = named };

	return ioctl(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &args);
}

/*
 * Makes an ioctl that gives or takes a number of a buffer; the argument's contents do not
 * matter.
 */
static int do_number(int fd, unsigned int cmd)
{
	uint64_t args[16] = {};

	return ioctl(fd, cmd, args);
}

/*
 * Carries an order out. @came: fd that came with the order, or -1; @go: fd that goes with the
 * answer. Return: the answer.
 */
static int obey(const struct order *order, int *files, int came, int *go)
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
static void be_program(int socket)
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

static int tell_with(const struct program *program, char what, int a, int b, int fd, int *got)
{
	struct order order = { .what = what, .a = a, .b = b };
	int answer;

	if (!send_fd(program->socket, &order, sizeof(order), fd) ||
	    !receive_fd(program->socket, &answer, sizeof(answer), got))
		return -1;
	return answer;
}

static int tell(const struct program *program, char what, int a, int b)
{
	int got;

	return tell_with(program, what, a, b, -1, &got);
}

static bool program_begin(struct program *program)
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
static bool program_end(struct program *program)
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

static bool program_fork(const struct program *program, struct program *child)
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
static int pass(const struct program *from, int file, const struct program *to)
{
	int fd, got, number;

	if (tell_with(from, 'g', file, 0, -1, &fd) || fd < 0)
		return -1;
	number = tell_with(to, 't', 0, 0, fd, &got);
	close(fd);
	return number;
}

/* --- tests ---------------------------------------------------------------- */

/* The server has a file of NVIDIA's driver open all the time. The other programs come and go. */
FIXTURE(pins) {
	struct program server;
	struct program one;
	struct program two;
	struct program three;
};

static bool send_node(int which, const char *title, const char *driver, const char *path)
{
	struct vgpu_export_add add;

	fill_export(&add, node_names[which], NULL);
	add.kind = htole32(title[0] ? VGPU_EXPORT_NVIDIA :
			   which == CARD ? VGPU_EXPORT_DRM_RENDER : VGPU_EXPORT_PLAIN);
	snprintf((char *)add.title, sizeof(add.title), "%s", title);
	snprintf((char *)add.driver, sizeof(add.driver), "%s", driver);
	snprintf((char *)add.path, sizeof(add.path), "%s", path);
	return send_all(&add, sizeof(add));
}

FIXTURE_SETUP(pins)
{
	pthread_t thread;

	if (native())
		SKIP(return, "nothing is forwarded");
	ASSERT_EQ(host_begin_again(), 0);
	ASSERT_EQ(pthread_create(&thread, NULL, accept_lanes, NULL), 0);
	ASSERT_EQ(pthread_create(&thread, NULL, serve_control, NULL), 0);
	ASSERT_TRUE(send_node(CONTROL, "nvidiactl", "nvidia", "/dev/nvidiactl"));
	ASSERT_TRUE(send_node(MODESET, "nvidia-modeset", "nvidia", "/dev/nvidia-modeset"));
	ASSERT_TRUE(send_node(OTHER, "", "vgpu-mock", "/dev/vgpu-mock"));
	ASSERT_TRUE(send_node(CARD, "", "i915", "/dev/dri/renderD128"));
	ASSERT_TRUE(program_begin(&self->server));
	ASSERT_EQ(tell(&self->server, 'o', CONTROL, 0), 0);
}

FIXTURE_TEARDOWN(pins)
{
	struct program *programs[] = { &self->server, &self->one, &self->two, &self->three };
	size_t i;

	for (i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		program_end(programs[i]);
	/* The thread that receives would keep the connection open. */
	shutdown(control, SHUT_RDWR);
	host_leave();
}

/*
 * Waits until the host has received all RELEASEs that were sent so far: the CLOSE of a file
 * that is closed now comes after them. The server's group has no memory. Return: true if the
 * CLOSE came.
 */
static bool settles(const struct program *server)
{
	int file = tell(server, 'o', CONTROL, 0);
	struct timespec end;
	uint32_t last;
	bool right;

	if (file < 0)
		return false;
	pthread_mutex_lock(&lock);
	last = opened;
	pthread_mutex_unlock(&lock);
	if (tell(server, 'c', file, 0))
		return false;
	time_out(&end);
	pthread_mutex_lock(&lock);
	while (closed != last && !pthread_cond_timedwait(&changed, &lock, &end))
		;
	right = closed == last;
	pthread_mutex_unlock(&lock);
	return right;
}

/* Expects that exactly @number pins were released. */
#define EXPECT_RELEASED(number) do { \
	EXPECT_TRUE(settles(&self->server)); \
	EXPECT_EQ(released, number); \
} while (0)

/* Starts a program with a file and with memory that it has handed to the file's driver. */
#define BEGIN_PINNED(program) do { \
	ASSERT_TRUE(program_begin(program)); \
	ASSERT_EQ(tell(program, 'o', CONTROL, 0), 0); \
	ASSERT_EQ(tell(program, 'p', 0, 0), 0); \
	ASSERT_EQ(tell(program, 'k', 0, 0), (int)PAGE / 1024); \
} while (0)

/*
 * Starts such a program, and has one of its calls wait in the driver while a process with the
 * same mm maps a file.
 */
#define BEGIN_MAPPING(program) \
	pid_t mapper; \
\
	BEGIN_PINNED(program); \
	ASSERT_EQ(tell(program, 'o', OTHER, 0), 1); \
	ASSERT_EQ(tell(program, 'w', 0, 0), 0); \
	until(&slow); \
	mapper = tell(program, 'v', 1, 0); \
	ASSERT_GT(mapper, 0); \
	until(&maps)

/* Files of other programs do not keep a program's memory pinned. */
TEST_F_TIMEOUT(pins, released_beside_a_server, 120)
{
	BEGIN_PINNED(&self->one);
	EXPECT_RELEASED(0);
	EXPECT_EQ(tell(&self->one, 'c', 0, 0), 0);
	EXPECT_TRUE(releases(1));
	EXPECT_EQ(tell(&self->one, 'z', 0, 0), 0);
	BEGIN_PINNED(&self->two);
	EXPECT_TRUE(program_end(&self->two));
	EXPECT_TRUE(releases(2));
}

/* Files of one program are a group: each may have memory that was handed over on another one. */
TEST_F_TIMEOUT(pins, kept_for_files_of_a_program, 120)
{
	BEGIN_PINNED(&self->one);
	EXPECT_EQ(tell(&self->one, 'o', CONTROL, 0), 1);
	EXPECT_EQ(tell(&self->one, 'c', 0, 0), 0);
	EXPECT_RELEASED(0);
	EXPECT_EQ(tell(&self->one, 'c', 1, 0), 0);
	EXPECT_TRUE(releases(1));
}

/* The files of a child that has used an inherited file may have the parent's memory. */
TEST_F_TIMEOUT(pins, kept_for_a_child, 120)
{
	BEGIN_PINNED(&self->one);
	ASSERT_TRUE(program_fork(&self->one, &self->two));
	EXPECT_EQ(tell(&self->two, 'o', CONTROL, 0), 1);
	EXPECT_EQ(tell(&self->two, 'u', 0, 0), 0);
	EXPECT_TRUE(program_end(&self->one));
	EXPECT_RELEASED(0);
	EXPECT_EQ(tell(&self->two, 'c', 0, 0), 0);
	EXPECT_RELEASED(0);
	EXPECT_TRUE(program_end(&self->two));
	EXPECT_TRUE(releases(1));
}

/* A child keeps an inherited file open even if it has not used the file. */
TEST_F_TIMEOUT(pins, kept_for_what_a_child_inherited, 120)
{
	BEGIN_PINNED(&self->one);
	ASSERT_TRUE(program_fork(&self->one, &self->two));
	EXPECT_EQ(tell(&self->two, 'o', CONTROL, 0), 1);
	EXPECT_TRUE(program_end(&self->one));
	EXPECT_RELEASED(0);
	EXPECT_EQ(tell(&self->two, 'c', 0, 0), 0);
	EXPECT_TRUE(releases(1));
}

/* The files of a program that has named a file passed to it may have that file's memory. */
TEST_F_TIMEOUT(pins, kept_for_who_names_a_file, 120)
{
	ASSERT_TRUE(program_begin(&self->two));
	ASSERT_EQ(tell(&self->two, 'o', CONTROL, 0), 0);
	BEGIN_PINNED(&self->one);
	ASSERT_EQ(pass(&self->one, 0, &self->two), 1);
	EXPECT_TRUE(program_end(&self->one));
	EXPECT_RELEASED(0);
	EXPECT_EQ(tell(&self->two, 'n', 0, 1), 0);
	EXPECT_EQ(tell(&self->two, 'c', 1, 0), 0);
	EXPECT_RELEASED(0);
	EXPECT_TRUE(program_end(&self->two));
	EXPECT_TRUE(releases(1));
}

/*
 * Groups are merged in a row: the third program shares a file with the second, and the second
 * one with the first.
 */
TEST_F_TIMEOUT(pins, kept_for_others_in_a_row, 120)
{
	ASSERT_TRUE(program_begin(&self->three));
	ASSERT_EQ(tell(&self->three, 'o', CONTROL, 0), 0);
	ASSERT_TRUE(program_begin(&self->two));
	ASSERT_EQ(tell(&self->two, 'o', CONTROL, 0), 0);
	BEGIN_PINNED(&self->one);
	ASSERT_EQ(pass(&self->two, 0, &self->three), 1);
	EXPECT_EQ(tell(&self->three, 'u', 1, 0), 0);
	EXPECT_EQ(tell(&self->three, 'c', 1, 0), 0);
	ASSERT_EQ(pass(&self->one, 0, &self->two), 1);
	EXPECT_EQ(tell(&self->two, 'u', 1, 0), 0);
	EXPECT_TRUE(program_end(&self->one));
	EXPECT_TRUE(program_end(&self->two));
	EXPECT_RELEASED(0);
	EXPECT_TRUE(program_end(&self->three));
	EXPECT_TRUE(releases(1));
}

/* A file of another driver may have the memory of a file that was imported into it. */
TEST_F_TIMEOUT(pins, kept_for_other_drivers, 120)
{
	BEGIN_PINNED(&self->one);
	EXPECT_EQ(tell(&self->one, 'o', OTHER, 0), 1);
	EXPECT_EQ(tell(&self->one, 'o', OTHER, 0), 2);
	EXPECT_EQ(tell(&self->one, 'm', 1, 0), 0);
	EXPECT_EQ(tell(&self->one, 'c', 0, 0), 0);
	EXPECT_RELEASED(0);
	EXPECT_EQ(tell(&self->one, 'c', 1, 0), 0);
	EXPECT_TRUE(releases(1));
}

/*
 * A program that starts later has no part in the group: while a file is open, the host gives
 * the pid of the shadow that used the file to no other process.
 */
TEST_F_TIMEOUT(pins, released_beside_a_later_program, 120)
{
	ASSERT_TRUE(program_begin(&self->two));
	ASSERT_EQ(tell(&self->two, 'o', CONTROL, 0), 0);
	BEGIN_PINNED(&self->one);
	ASSERT_EQ(pass(&self->one, 0, &self->two), 1);
	EXPECT_TRUE(program_end(&self->one));
	ASSERT_TRUE(program_begin(&self->three));
	ASSERT_EQ(tell(&self->three, 'o', CONTROL, 0), 0);
	EXPECT_RELEASED(0);
	EXPECT_EQ(tell(&self->two, 'c', 1, 0), 0);
	EXPECT_TRUE(releases(1));
}

/* A shared object can be named by its handles, so any file in the guest may get it. */
TEST_F_TIMEOUT(pins, kept_where_it_was_shared, 240)
{
	static const struct {
		int how;
		bool shares;
	} cases[] = { { 0, false }, { 1, false }, { 2, true }, { 3, true }, { 4, true } };
	unsigned int number = 0, waiting = 0;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		BEGIN_PINNED(&self->one);
		EXPECT_EQ(tell(&self->one, 's', 0, cases[i].how), 0);
		EXPECT_TRUE(program_end(&self->one));
		if (cases[i].shares)
			waiting++;
		else
			number++;
		EXPECT_RELEASED(number);
	}
	EXPECT_TRUE(program_end(&self->server));
	EXPECT_TRUE(releases(number + waiting));
}

/* Any client's memory may have been taken by nvidia-modeset, too. */
TEST_F_TIMEOUT(pins, kept_for_nvidia_modeset, 120)
{
	ASSERT_TRUE(program_begin(&self->two));
	ASSERT_EQ(tell(&self->two, 'o', MODESET, 0), 0);
	BEGIN_PINNED(&self->one);
	EXPECT_TRUE(program_end(&self->one));
	EXPECT_RELEASED(0);
	EXPECT_TRUE(program_end(&self->two));
	BEGIN_PINNED(&self->one);
	EXPECT_TRUE(program_end(&self->one));
	EXPECT_TRUE(releases(1));
	EXPECT_TRUE(program_end(&self->server));
	EXPECT_TRUE(releases(2));
}

/*
 * A buffer with a number may come to another file of the device, which then keeps the memory
 * for longer than any file of the group is open.
 */
TEST_F_TIMEOUT(pins, kept_for_numbers_of_buffers, 240)
{
	unsigned int i;

	for (i = 0; i < NUMBERS; i++) {
		ASSERT_TRUE(program_begin(&self->two));
		ASSERT_EQ(tell(&self->two, 'o', CARD, 0), 0);
		BEGIN_PINNED(&self->one);
		ASSERT_EQ(tell(&self->one, 'o', CARD, 0), 1);
		EXPECT_EQ(tell(&self->one, 'b', 1, 0), 0);
		EXPECT_EQ(tell(&self->one, 'x', 1, i), 0);
		EXPECT_EQ(tell(&self->two, 'y', 0, i), 0);
		EXPECT_TRUE(program_end(&self->one));
		EXPECT_RELEASED(i);
		EXPECT_TRUE(program_end(&self->server));
		EXPECT_TRUE(settles(&self->two));
		EXPECT_EQ(released, i);
		EXPECT_TRUE(program_end(&self->two));
		EXPECT_TRUE(releases(i + 1));
		ASSERT_TRUE(program_begin(&self->server));
		ASSERT_EQ(tell(&self->server, 'o', CONTROL, 0), 0);
	}
}

/*
 * The same holds if the file gave the number before it came into a group, as the two calls may
 * have raced.
 */
TEST_F_TIMEOUT(pins, kept_for_a_number_of_before, 120)
{
	BEGIN_PINNED(&self->one);
	ASSERT_EQ(tell(&self->one, 'o', CARD, 0), 1);
	EXPECT_EQ(tell(&self->one, 'x', 1, 0), 0);
	EXPECT_EQ(tell(&self->one, 'b', 1, 0), 0);
	EXPECT_TRUE(program_end(&self->one));
	EXPECT_RELEASED(0);
	EXPECT_TRUE(program_end(&self->server));
	EXPECT_TRUE(releases(1));
}

/* A driver may find an fd in a call that no schema describes. */
TEST_F_TIMEOUT(pins, kept_for_what_is_not_described, 120)
{
	BEGIN_PINNED(&self->one);
	EXPECT_EQ(tell(&self->one, 'o', OTHER, 0), 1);
	EXPECT_EQ(tell(&self->one, 'u', 1, 0), 0);
	EXPECT_EQ(tell(&self->one, 'c', 0, 0), 0);
	EXPECT_RELEASED(0);
	EXPECT_EQ(tell(&self->one, 'c', 1, 0), 0);
	EXPECT_TRUE(releases(1));
	EXPECT_TRUE(program_end(&self->one));
	/*
	 * A described call that names no file of the group does not bring its own file into the
	 * group.
	 */
	BEGIN_PINNED(&self->one);
	EXPECT_EQ(tell(&self->one, 'o', OTHER, 0), 1);
	EXPECT_EQ(tell(&self->one, 'm', 1, 2), 0);
	EXPECT_EQ(tell(&self->one, 'c', 0, 0), 0);
	EXPECT_TRUE(releases(2));
	/* The driver finds no file by its fd in a call if the program had closed it before. */
	EXPECT_EQ(tell(&self->one, 'u', 1, 0), 0);
	EXPECT_EQ(tell(&self->one, 'o', CONTROL, 0), 0);
	EXPECT_EQ(tell(&self->one, 'p', 0, 0), 0);
	EXPECT_EQ(tell(&self->one, 'c', 0, 0), 0);
	EXPECT_TRUE(releases(3));
}

/* A program that never had a file of NVIDIA's driver has nothing that others share. */
TEST_F_TIMEOUT(pins, released_beside_calls_of_others, 120)
{
	ASSERT_TRUE(program_begin(&self->two));
	ASSERT_EQ(tell(&self->two, 'o', OTHER, 0), 0);
	BEGIN_PINNED(&self->one);
	EXPECT_EQ(tell(&self->one, 's', 0, 4), 0);
	EXPECT_TRUE(program_end(&self->one));
	EXPECT_RELEASED(0);
	EXPECT_EQ(tell(&self->two, 'u', 0, 0), 0);
	/* A program may still get a file of NVIDIA's driver while its call is running. */
	ASSERT_EQ(tell(&self->two, 'w', 0, 0), 0);
	until(&slow);
	EXPECT_TRUE(program_end(&self->server));
	answer_slow();
	EXPECT_EQ(tell(&self->two, 'j', 0, 0), 0);
	EXPECT_TRUE(releases(1));
}

/*
 * A program that has a file while its undescribed call runs may have what others share by then.
 * @ends_before: the sharing program ends before that file is opened.
 */
static void share_while_a_call_looks(struct __test_metadata *_metadata, FIXTURE_DATA(pins) *self,
				     bool ends_before)
{
	ASSERT_TRUE(program_begin(&self->two));
	ASSERT_EQ(tell(&self->two, 'o', OTHER, 0), 0);
	ASSERT_EQ(tell(&self->two, 'w', 0, 0), 0);
	until(&slow);
	BEGIN_PINNED(&self->one);
	EXPECT_EQ(tell(&self->one, 's', 0, 4), 0);
	if (ends_before)
		EXPECT_TRUE(program_end(&self->one));
	EXPECT_EQ(tell(&self->two, 'o', CONTROL, 0), 1);
	EXPECT_EQ(tell(&self->two, 'c', 1, 0), 0);
	EXPECT_RELEASED(0);
	answer_slow();
	EXPECT_EQ(tell(&self->two, 'j', 0, 0), 0);
	if (!ends_before)
		EXPECT_TRUE(program_end(&self->one));
	EXPECT_TRUE(program_end(&self->server));
	EXPECT_TRUE(settles(&self->two));
	EXPECT_EQ(released, 0);
	EXPECT_EQ(tell(&self->two, 'c', 0, 0), 0);
	EXPECT_TRUE(releases(1));
}

TEST_F_TIMEOUT(pins, kept_while_a_call_looks_for_what_was_shared, 120)
{
	share_while_a_call_looks(_metadata, self, true);
}

/* The sharing program outlives the call. */
TEST_F_TIMEOUT(pins, kept_while_a_call_looks_for_what_is_shared, 120)
{
	share_while_a_call_looks(_metadata, self, false);
}

/* The driver may look up the fd at any time until the call is over. */
TEST_F_TIMEOUT(pins, kept_while_a_call_looks, 120)
{
	ASSERT_TRUE(program_begin(&self->one));
	ASSERT_EQ(tell(&self->one, 'o', OTHER, 0), 0);
	ASSERT_EQ(tell(&self->one, 'w', 0, 0), 0);
	until(&slow);
	EXPECT_EQ(tell(&self->one, 'o', CONTROL, 0), 1);
	EXPECT_EQ(tell(&self->one, 'p', 1, 0), 0);
	EXPECT_EQ(tell(&self->one, 'c', 1, 0), 0);
	EXPECT_RELEASED(0);
	answer_slow();
	EXPECT_EQ(tell(&self->one, 'j', 0, 0), 0);
	EXPECT_RELEASED(0);
	EXPECT_EQ(tell(&self->one, 'c', 0, 0), 0);
	EXPECT_TRUE(releases(1));
}

/* The files of a shadow that died stay open on the host until the program closes them. */
TEST_F_TIMEOUT(pins, released_where_a_shadow_died, 120)
{
	unsigned int tries;

	BEGIN_PINNED(&self->one);
	end_session(newest);
	for (tries = 0; !tell(&self->one, 'u', 0, 0) && tries < PATIENCE_MS / 10; tries++)
		usleep(10000);
	EXPECT_LT(tries, PATIENCE_MS / 10);
	EXPECT_RELEASED(0);
	EXPECT_TRUE(program_end(&self->one));
	EXPECT_TRUE(releases(1));
}

/*
 * Each call of a program uses a lane of its own; one lane is reserved for mmap(). A shadow's death
 * ends both calls, and the program gets a new shadow.
 */
TEST_F_TIMEOUT(pins, released_where_a_shadow_died_in_mmap, 120)
{
	BEGIN_MAPPING(&self->one);
	end_session(newest);
	EXPECT_EQ(tell(&self->one, 'q', mapper, 0), 0);
	EXPECT_EQ(tell(&self->one, 'j', 0, 0), 0);
	EXPECT_EQ(tell(&self->one, 'o', CONTROL, 0), 2);
	EXPECT_RELEASED(0);
	EXPECT_TRUE(program_end(&self->one));
	EXPECT_TRUE(releases(1));
}

/*
 * A killed call ends its lane, here the one that was kept for mmap(). An idle lane takes its
 * place, and shows the shadow's death.
 */
TEST_F_TIMEOUT(pins, opens_where_another_lane_told, 120)
{
	unsigned int tries;

	BEGIN_MAPPING(&self->one);
	answer_slow();
	while (!tell(&self->one, 'e', 0, 0))
		usleep(1000);
	EXPECT_EQ(kill(mapper, SIGKILL), 0);
	EXPECT_EQ(tell(&self->one, 'q', mapper, 0), SIGKILL);
	ASSERT_TRUE(forget_said());
	end_session(newest);
	/* No call is made meanwhile, as it would notice the shadow's death itself. */
	for (tries = 0; !said("has ended its session") && tries < PATIENCE_MS / 10; tries++)
		usleep(10000);
	EXPECT_EQ(said("has ended its session"), 1);
	EXPECT_EQ(tell(&self->one, 'o', CONTROL, 0), 2);
}

/*
 * If no lane shows the shadow's death, the next call that wants a new lane notices it, and
 * open() works again.
 */
TEST_F_TIMEOUT(pins, opens_where_no_lane_told, 120)
{
	BEGIN_MAPPING(&self->one);
	EXPECT_EQ(kill(mapper, SIGKILL), 0);
	EXPECT_EQ(tell(&self->one, 'q', mapper, 0), SIGKILL);
	end_session(newest);
	EXPECT_EQ(tell(&self->one, 'j', 0, 0), 0);
	EXPECT_EQ(tell(&self->one, 'u', 0, 0), -1);
	EXPECT_EQ(tell(&self->one, 'o', CONTROL, 0), 2);
}

/* A user may pin half of what all users together may pin; root has no such limit. */
TEST_F_TIMEOUT(pins, half_for_a_user, 240)
{
	const int slack = 2 * LARGE / 1024;
	struct sysinfo info;
	int half, kib;

	ASSERT_EQ(sysinfo(&info), 0);
	/* All users together may pin half of the memory. */
	half = info.totalram / 1024 * info.mem_unit / 4;
	ASSERT_TRUE(program_begin(&self->one));
	ASSERT_EQ(tell(&self->one, 'o', CONTROL, 0), 0);
	ASSERT_EQ(tell(&self->one, 'i', 65533, 0), 0);
	kib = tell(&self->one, 'l', 0, 0);
	EXPECT_LE(kib, half);
	EXPECT_GT(kib, half - slack);
	/* Two more programs follow: one of the same user and one of another user. */
	ASSERT_TRUE(program_begin(&self->two));
	ASSERT_EQ(tell(&self->two, 'o', CONTROL, 0), 0);
	ASSERT_EQ(tell(&self->two, 'i', 65533, 0), 0);
	kib = tell(&self->two, 'l', 0, 0);
	EXPECT_GE(kib, 0);
	EXPECT_LT(kib, slack);
	ASSERT_TRUE(program_begin(&self->three));
	ASSERT_EQ(tell(&self->three, 'o', CONTROL, 0), 0);
	ASSERT_EQ(tell(&self->three, 'i', 65532, 0), 0);
	EXPECT_EQ(tell(&self->three, 'p', 0, 0), 0);
	EXPECT_TRUE(program_end(&self->three));
	EXPECT_TRUE(program_end(&self->two));
	/* Pages that are released can be pinned again. */
	EXPECT_EQ(tell(&self->one, 'c', 0, 0), 0);
	EXPECT_EQ(tell(&self->one, 'z', 0, 0), 0);
	EXPECT_EQ(tell(&self->server, 'p', 0, 0), 0);
	EXPECT_GT(tell(&self->server, 'l', 0, 0), half);
	/*
	 * Memory that is not released before the host goes would count until the machine boots
	 * anew.
	 */
	EXPECT_EQ(tell(&self->server, 'c', 0, 0), 0);
	EXPECT_EQ(tell(&self->server, 'z', 0, 0), 0);
}

/* The host knows pinned memory by numbers. A user may have half of them. */
TEST_F_TIMEOUT(pins, half_of_the_numbers_for_a_user, 240)
{
	const int half = VGPU_KEPT_NUMBERS / 2;

	ASSERT_TRUE(program_begin(&self->one));
	ASSERT_EQ(tell(&self->one, 'o', CONTROL, 0), 0);
	ASSERT_EQ(tell(&self->one, 'i', 65533, 0), 0);
	EXPECT_EQ(tell(&self->one, 'h', 0, half + 1), half);
	ASSERT_TRUE(program_begin(&self->two));
	ASSERT_EQ(tell(&self->two, 'o', CONTROL, 0), 0);
	ASSERT_EQ(tell(&self->two, 'i', 65532, 0), 0);
	EXPECT_EQ(tell(&self->two, 'p', 0, 0), 0);
	/* Numbers that are released can be used again. */
	EXPECT_EQ(tell(&self->one, 'c', 0, 0), 0);
	EXPECT_TRUE(releases(half));
	EXPECT_EQ(tell(&self->one, 'z', 0, 0), 0);
	ASSERT_EQ(tell(&self->one, 'o', CONTROL, 0), 0);
	EXPECT_EQ(tell(&self->one, 'p', 0, 0), 0);
}

/*
 * A call has room for a limited number of runs. A call with more fails and leaves nothing
 * pinned.
 */
TEST_F_TIMEOUT(pins, no_more_runs_than_a_call_has_room_for, 120)
{
	const int most = VGPU_CALL_BYTES_MIN / sizeof(struct vgpu_run) / SCATTERED;
	const int kib = SCATTERED * PAGE / 1024;

	ASSERT_TRUE(program_begin(&self->one));
	ASSERT_EQ(tell(&self->one, 'o', CONTROL, 0), 0);
	EXPECT_EQ(tell(&self->one, 'r', 0, most / 2), 0);
	EXPECT_EQ(tell(&self->one, 'k', 0, 0), most / 2 * kib);
	EXPECT_EQ(tell(&self->one, 'r', 0, most + most / 4), ENOMEM);
	EXPECT_EQ(tell(&self->one, 'k', 0, 0), most / 2 * kib);
	/* A smaller call works afterwards. */
	EXPECT_EQ(tell(&self->one, 'r', 0, most / 2), 0);
	EXPECT_TRUE(program_end(&self->one));
	EXPECT_TRUE(releases(2));
}

PLAYED_MAIN
