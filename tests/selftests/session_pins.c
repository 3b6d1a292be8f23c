// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whose files keep memory pinned that NVIDIA's driver was given: of all that the driver could hand
 * it to, and of no other program. The test is the host, which says when it is released; it has
 * no such driver, and does nothing of what it is asked for.
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
/* The most that is pinned by one call. */
#define LARGE		(4UL << 20)
/* So many pages lie beside none that is the next one. */
#define SCATTERED	512
#define OS_DESCRIPTOR	0x71
#define PATIENCE_MS	30000
#define FILES		8
/* Two commands of RM_CONTROL: what the driver makes of an object, and who may have it. */
#define CMD_ANY		0x00000d01
#define CMD_SHARE	0x00000d06

/* Nodes, by the names of their exports. */
enum { CONTROL, MODESET, OTHER, CARD, NODES };

static const char *const node_names[NODES] = { "control", "modeset", "other", "card" };

/* Ioctls that no schema describes. The host is slow to answer the latter. */
#define IOCTL_UNKNOWN	_IO('F', 0xd4)
#define IOCTL_SLOW	_IO('F', 0xd5)

/* Ioctls by which a buffer gets a number, and those by which others get it then. */
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
/* All under the lock: objects given, the last that was closed by a message, and RELEASEs. */
static uint32_t opened, closed;
static unsigned int released;
/*
 * Lanes that are open, the newest session, one whose shadow has died, and calls that wait for
 * their answers: an ioctl, and an mmap(), which gets none.
 */
static struct {
	uint64_t session;
	int fd;
} lanes[LANES];
static uint64_t newest, ended;
static bool slow, answers_slow, maps;

/* Vsock waits for no more bytes than a socket has room for. */
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

/* Return: 0, or why the session has no such lane. */
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

/* The session's shadow has died. */
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

/* Serves one lane, until the guest closes it. */
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
		/* The listener has a timeout, which ends nothing. */
		if (lane < 0 && errno != EAGAIN)
			return NULL;
		if (lane >= 0 &&
		    pthread_create(&thread, NULL, serve_lane, (void *)(intptr_t)lane))
			close(lane);
	}
}

/* Reads all that the guest says on the control connection. */
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
		/* The guest has nothing to say for as long as a test likes. */
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

/* So much memory is released, or is soon: more and more of it is. */
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
 * struct order - what a program is to do; it may come with an fd
 * @what: a letter, see obey()
 * @a: number of a file of the program's, or of a node
 * @b: number of another file
 */
struct order {
	char what;
	int a;
	int b;
};

/* A program of its own, and the socket by which it gets orders. */
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

/* The host does nothing with it, but as far as the guest knows the driver may have it. */
static int pin(int fd, const char *p, size_t len)
{
	struct rm_alloc_memory args = {
		.class = OS_DESCRIPTOR, .addr = (uintptr_t)p, .limit = len - 1, .fd = -1,
	};

	if (ioctl(fd, RM_IOCTL_ALLOC_MEMORY, &args))
		return errno == EOPNOTSUPP ? 0 : -1;
	/* The guest says so in the driver's way. */
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

/* Pins until no more may be. Pages that are pinned again together with others count once more. */
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

/* Return: the kilobytes that stay pinned, none of which was released for some time. */
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

/* Pins page by page until no more may be. Return: how many. */
static int do_pin_pages(int fd, int most)
{
	char *p = alloc(most * PAGE);
	int i = 0;

	while (p && i < most && !pin(fd, p + i * PAGE, PAGE))
		i++;
	return i == most || errno == ENOMEM ? i : -1;
}

/* Pins pages of which hardly any two are side by side, each of them so many times. */
static int do_pin_scattered(int fd, int times)
{
	size_t len = SCATTERED * PAGE;
	int memory = memfd_create("scattered", MFD_CLOEXEC), i;
	char *p = mmap(NULL, times * len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory < 0 || p == MAP_FAILED)
		return -1;
	/* Pages come in the order in which they are written to: first the even ones. */
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

/* Makes a call that shares an object, or one that does not, each by itself or wrapped. */
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

/* The thread stays after the call: its end would wait for an mmap(). */
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

/* A process with the same memory maps a file. Until it has, none of its pages can come or go. */
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

/* A buffer goes to the card's driver. */
static int do_import(int fd, int named)
{
	struct drm_prime_handle args = { .fd = named };

	return ioctl(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &args);
}

/* Numbers of buffers; nothing of the argument matters here. */
static int do_number(int fd, unsigned int cmd)
{
	uint64_t args[16] = {};

	return ioctl(fd, cmd, args);
}

/* Return: the program's answer. @came: an fd, or -1; @go: one that goes with the answer. */
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
		/* Its page is there from now on. */
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

/* Does what it is told until nobody has orders any more. */
static void be_program(int socket)
{
	int files[FILES], came, go, answer, i;
	struct order order;

	for (i = 0; i < FILES; i++)
		files[i] = -1;
	while (receive_fd(socket, &order, sizeof(order), &came)) {
		/* A child goes on with the same files, and has its own orders; its parent is the test. */
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

/* All of it is closed when this returns. */
static bool program_end(struct program *program)
{
	int status;

	if (program->pid <= 0)
		return false;
	/* Others that were begun later have the socket, too. */
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

/* Return: the number of the file in @to, or -1. */
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

/* The program has a file of NVIDIA's driver open all the time; the other ones come and go. */
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
	/* The thread that receives would keep it. */
	shutdown(control, SHUT_RDWR);
	host_leave();
}

/*
 * The host has heard of all that was released by now: a message that is sent at once comes after
 * it. The server's group has no memory.
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

/* Nothing of what was pinned is released but so much. */
#define EXPECT_RELEASED(number) do { \
	EXPECT_TRUE(settles(&self->server)); \
	EXPECT_EQ(released, number); \
} while (0)

/* A program with a file, and memory that it has handed over by that. */
#define BEGIN_PINNED(program) do { \
	ASSERT_TRUE(program_begin(program)); \
	ASSERT_EQ(tell(program, 'o', CONTROL, 0), 0); \
	ASSERT_EQ(tell(program, 'p', 0, 0), 0); \
	ASSERT_EQ(tell(program, 'k', 0, 0), (int)PAGE / 1024); \
} while (0)

/* Likewise, while a call waits in the driver and a process with its memory maps a file. */
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

/* Programs of others do not keep a program's memory pinned. */
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

/* Files of one program are a group: each may have what another one was given. */
TEST_F_TIMEOUT(pins, kept_for_files_of_a_program, 120)
{
	BEGIN_PINNED(&self->one);
	EXPECT_EQ(tell(&self->one, 'o', CONTROL, 0), 1);
	EXPECT_EQ(tell(&self->one, 'c', 0, 0), 0);
	EXPECT_RELEASED(0);
	EXPECT_EQ(tell(&self->one, 'c', 1, 0), 0);
	EXPECT_TRUE(releases(1));
}

/* A child that has used what it inherited may have its parent's memory in files of its own. */
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

/* A child that has not used the file has the file all the same. */
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

/* So may one that has named a file which it was passed. */
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

/* And so may others that have a file in common with one of these. */
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

/* A file of another driver has what it imports. */
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
 * A program that is begun later shares nothing: while a file is open, the host gives the process id
 * of the shadow that made it to no other one.
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

/* Shared objects go by handles: nobody knows to whom. */
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

/* Nobody knows what nvidia-modeset has taken, either. */
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
 * A buffer that has a number may come to another file of the device, by which it stays for longer
 * than any file of the group is open.
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

/* So it is where the file gave a number before it was in a group: the calls may have raced. */
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

/* A driver may find an fd where no schema describes one. */
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
	/* A call that is described names none. */
	BEGIN_PINNED(&self->one);
	EXPECT_EQ(tell(&self->one, 'o', OTHER, 0), 1);
	EXPECT_EQ(tell(&self->one, 'm', 1, 2), 0);
	EXPECT_EQ(tell(&self->one, 'c', 0, 0), 0);
	EXPECT_TRUE(releases(2));
	/* A program no longer has what it has given back by then. */
	EXPECT_EQ(tell(&self->one, 'u', 1, 0), 0);
	EXPECT_EQ(tell(&self->one, 'o', CONTROL, 0), 0);
	EXPECT_EQ(tell(&self->one, 'p', 0, 0), 0);
	EXPECT_EQ(tell(&self->one, 'c', 0, 0), 0);
	EXPECT_TRUE(releases(3));
}

/* A program that never had a file of the driver has nothing that was shared with others. */
TEST_F_TIMEOUT(pins, released_beside_calls_of_others, 120)
{
	ASSERT_TRUE(program_begin(&self->two));
	ASSERT_EQ(tell(&self->two, 'o', OTHER, 0), 0);
	BEGIN_PINNED(&self->one);
	EXPECT_EQ(tell(&self->one, 's', 0, 4), 0);
	EXPECT_TRUE(program_end(&self->one));
	EXPECT_RELEASED(0);
	EXPECT_EQ(tell(&self->two, 'u', 0, 0), 0);
	/* While a call is under way it may still get one. */
	ASSERT_EQ(tell(&self->two, 'w', 0, 0), 0);
	until(&slow);
	EXPECT_TRUE(program_end(&self->server));
	answer_slow();
	EXPECT_EQ(tell(&self->two, 'j', 0, 0), 0);
	EXPECT_TRUE(releases(1));
}

/* A program that has a file while its call is under way may have what others share by then. */
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

/* Those who share it go on for longer than the call. */
TEST_F_TIMEOUT(pins, kept_while_a_call_looks_for_what_is_shared, 120)
{
	share_while_a_call_looks(_metadata, self, false);
}

/* The driver may look for the file at any time until the call is over. */
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

/* Files of a shadow that has died by itself are open until the program closes them. */
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
 * Each call of a program has its lane, an mmap() the one that is kept for such calls. A shadow's
 * death ends both calls, and the program goes on with a new one.
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

/* A call that is killed takes its lane along. An idle one tells of the shadow's death then. */
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
	/* Any call would find out by itself. */
	for (tries = 0; !said("has ended its session") && tries < PATIENCE_MS / 10; tries++)
		usleep(10000);
	EXPECT_EQ(said("has ended its session"), 1);
	EXPECT_EQ(tell(&self->one, 'o', CONTROL, 0), 2);
}

/* Wherever it is not noticed, the next call that wants a lane finds out, and open() works again. */
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

/* No user has more than half of what all may have, but root. */
TEST_F_TIMEOUT(pins, half_for_a_user, 240)
{
	const int slack = 2 * LARGE / 1024;
	struct sysinfo info;
	int half, kib;

	ASSERT_EQ(sysinfo(&info), 0);
	/* Half of the memory is for all. */
	half = info.totalram / 1024 * info.mem_unit / 4;
	ASSERT_TRUE(program_begin(&self->one));
	ASSERT_EQ(tell(&self->one, 'o', CONTROL, 0), 0);
	ASSERT_EQ(tell(&self->one, 'i', 65533, 0), 0);
	kib = tell(&self->one, 'l', 0, 0);
	EXPECT_LE(kib, half);
	EXPECT_GT(kib, half - slack);
	/* Another program of the same user's, and one of another's. */
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
	/* Pages that were given back may be had again. */
	EXPECT_EQ(tell(&self->one, 'c', 0, 0), 0);
	EXPECT_EQ(tell(&self->one, 'z', 0, 0), 0);
	EXPECT_EQ(tell(&self->server, 'p', 0, 0), 0);
	EXPECT_GT(tell(&self->server, 'l', 0, 0), half);
	/* Memory that is not released when the host goes would count until the machine is restarted. */
	EXPECT_EQ(tell(&self->server, 'c', 0, 0), 0);
	EXPECT_EQ(tell(&self->server, 'z', 0, 0), 0);
}

/* The host knows pins by numbers, of which a user has half at most. */
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
	/* Numbers that were given back may be had again. */
	EXPECT_EQ(tell(&self->one, 'c', 0, 0), 0);
	EXPECT_TRUE(releases(half));
	EXPECT_EQ(tell(&self->one, 'z', 0, 0), 0);
	ASSERT_EQ(tell(&self->one, 'o', CONTROL, 0), 0);
	EXPECT_EQ(tell(&self->one, 'p', 0, 0), 0);
}

/* A call has room for so many runs of pages. One that has too many keeps nothing. */
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
	/* There is memory for a smaller call. */
	EXPECT_EQ(tell(&self->one, 'r', 0, most / 2), 0);
	EXPECT_TRUE(program_end(&self->one));
	EXPECT_TRUE(releases(2));
}

PLAYED_MAIN
