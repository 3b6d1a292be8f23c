// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test file descriptors: those that ioctls return and take, and the device's own fds in other
 * processes.
 */
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "tool.h"
#include "vgpu_diff.h"

static int fd_out(int fd, __u64 cookie, __u32 flags)
{
	struct vgpu_mock_fd_out out = { .cookie = cookie, .flags = flags, .out_fd = -77 };
	int ret = ioctl(fd, VGPU_MOCK_IOC_FD_OUT, &out);

	return ret ? ret : out.out_fd;
}

static int object(int fd, __u64 cookie)
{
	int new = fd_out(fd, cookie, O_CLOEXEC);

	MUST(new >= 0);
	return new;
}

static void log_cookie(int fd)
{
	struct vgpu_mock_obj_info info = { };

	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_OBJ_INFO, &info));
	log_line("cookie %llu, flags %o", info.out_cookie,
		 info.out_f_flags & (O_ACCMODE | O_NONBLOCK));
}

static struct vgpu_mock_counters counters(int fd)
{
	struct vgpu_mock_counters now;

	MUST(!ioctl(fd, VGPU_MOCK_IOC_COUNTERS, &now));
	return now;
}

/* Waits until the mock has @nr objects: objects of earlier tests may still be released. */
static bool await_objects(int fd, __u64 nr)
{
	int i;

	for (i = 0; i < 500; i++) {
		if (counters(fd).out_objects == nr)
			return true;
		sleep_ms(10);
	}
	return false;
}

/* Returns the number of open fds of this process. */
static unsigned int open_fds(void)
{
	unsigned int count = 0;
	int fd;

	for (fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

DIFF_TEST(fd_out)
{
	static const __u32 flags[] = { 0, O_CLOEXEC, O_NONBLOCK, O_CLOEXEC | O_NONBLOCK, O_APPEND };
	int fd = open_device(O_RDWR);
	unsigned int i;
	int new;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		new = fd_out(fd, 100 + i, flags[i]);
		log_line("flags %o: %s", flags[i], new < 0 ? strerrorname_np(errno) : "ok");
		if (new < 0)
			continue;
		/* The new fd is the lowest free one, as natively. */
		LOG_CALL(new - fd);
		LOG_CALL(fcntl(new, F_GETFD));
		log_line("status flags %o", fcntl(new, F_GETFL) & (O_ACCMODE | O_NONBLOCK));
		log_cookie(new);
	}
}

DIFF_TEST(fd_in)
{
	struct vgpu_mock_fd_in in = { };
	struct vgpu_mock_in seed = { .a = 5 };
	int fd = open_device(O_RDWR);
	int other = open_device(O_RDWR);
	int new = object(fd, 42);
	int pipes[2];

	MUST(!pipe(pipes));
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_FD_IN, &(struct vgpu_mock_fd_in) { .fd = new }));
	in.fd = dup(new);
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_FD_IN, &in));
	log_line("cookie %llu", in.out_cookie);
	CHECK(in.out_cookie == 42);
	/* The call does not change the fd itself. */
	log_cookie(in.fd);
	in.fd = -1;
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_FD_IN, &in));
	in.fd = 500;
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_FD_IN, &in));
	/* The fd is a pipe, which a forwarder cannot show to the driver. */
	in.fd = pipes[0];
	errno = 0;
	CHECK(ioctl(fd, VGPU_MOCK_IOC_FD_IN, &in) == -1);
	CHECK(errno == EINVAL || (forwarded && (errno == EBADF || errno == EOPNOTSUPP)));
	/* The fd is an open file of a device: another one, and this one. */
	LOG_CALL(ioctl(other, VGPU_MOCK_IOC_IN, &seed));
	in.fd = other;
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_FD_IN, &in));
	log_line("cookie %llx", in.out_cookie);
	in.fd = fd;
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_FD_IN, &in));
	log_line("cookie %llx", in.out_cookie);
	/* An object of one open file is an argument of a call on another file. */
	in.fd = new;
	LOG_CALL(ioctl(other, VGPU_MOCK_IOC_FD_IN, &in));
	log_line("cookie %llu", in.out_cookie);
}

/* The fd is the argument itself, and not in memory. */
DIFF_TEST(fd_by_value)
{
	struct vgpu_mock_in seed = { .a = 5 };
	int fd = open_device(O_RDWR);
	int other = open_device(O_RDWR);
	int new = object(fd, 42);
	unsigned int fds;
	int pipes[2];

	MUST(!pipe(pipes));
	fds = open_fds();
	CHECK(LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_FD_VALUE, new)) == 42);
	CHECK(LOG_CALL(ioctl(other, VGPU_MOCK_IOC_FD_VALUE, dup(new))) == 42);
	LOG_CALL(ioctl(other, VGPU_MOCK_IOC_IN, &seed));
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_FD_VALUE, other));
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_FD_VALUE, fd));
	/* The argument is no fd, or a pipe. */
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_FD_VALUE, -1));
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_FD_VALUE, 500));
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_FD_VALUE, 0xffffff00));
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_FD_VALUE, pipes[0]));
	close(new);
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_FD_VALUE, new));
	LOG_CALL(open_fds() - fds);
	/* The fd on the driver's side is gone with the call. */
	LOG_CALL(fd_out(fd, 1, O_CLOEXEC) >= 0);
}

DIFF_TEST(arrays_of_fds)
{
	struct vgpu_mock_fds fds = { .count = 20, .flags = O_CLOEXEC, .cookie = 1000 };
	int fd = open_device(O_RDWR);
	unsigned int before, i;
	int list[20];

	fds.ptr = (uintptr_t)list;
	before = open_fds();
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_FDS_OUT, &fds));
	LOG_CALL(open_fds() - before);
	for (i = 0; i < 20; i += 5)
		log_cookie(list[i]);
	fds.flags = 0;
	fds.cookie = 0;
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_FDS_IN, &fds));
	log_line("sum %llu", fds.cookie);
	CHECK(fds.cookie == 20 * 1000 + 190);
	/* The array has the same fd several times. */
	list[3] = list[4] = list[5];
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_FDS_IN, &fds));
	log_line("sum %llu", fds.cookie);
	list[7] = -1;
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_FDS_IN, &fds));
	fds.count = 0;
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_FDS_IN, &fds));
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_FDS_OUT, &fds));
	fds.count = VGPU_MOCK_MAX_FDS + 1;
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_FDS_OUT, &fds));
	LOG_CALL(open_fds() - before);
}

DIFF_TEST(other_places)
{
	struct vgpu_mock_fd_optional optional = { .fd_in = 0, .fd_out = -5 };
	struct vgpu_mock_fd_return ret = { .cookie = 9 };
	struct vgpu_mock_fd_merge merge = { };
	struct vgpu_mock_fd_swap swap = { };
	int fd = open_device(O_RDWR);
	int new;

	merge.fd = object(fd, 3);
	merge.fd2 = object(fd, 4);
	merge.flags = O_CLOEXEC;
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_FD_MERGE, &merge));
	log_cookie(merge.out_fd);
	merge.fd2 = merge.fd;
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_FD_MERGE, &merge));
	log_cookie(merge.out_fd);

	new = ioctl(fd, VGPU_MOCK_IOC_FD_RETURN, &ret);
	LOG_CALL(new);
	LOG_CALL(fcntl(new, F_GETFD));
	log_cookie(new);

	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_FD_OPTIONAL, &optional));
	log_line("in %d, out %d", optional.fd_in, optional.fd_out);
	optional.flags = VGPU_MOCK_FD_WANT_OUT;
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_FD_OPTIONAL, &optional));
	log_cookie(optional.fd_out);
	optional.flags |= VGPU_MOCK_FD_HAS_IN;
	optional.fd_in = optional.fd_out;
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_FD_OPTIONAL, &optional));
	log_cookie(optional.fd_out);
	optional.fd_in = -1;
	new = optional.fd_out;
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_FD_OPTIONAL, &optional));
	CHECK(optional.fd_out == new);

	/* A single field is an fd that goes in, comes out, does both, or does neither. */
	swap.fd = 12345;
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_FD_SWAP, &swap));
	log_line("fd %d", swap.fd);
	swap.fd = new;
	swap.flags = VGPU_MOCK_FD_HAS_IN;
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_FD_SWAP, &swap));
	CHECK(swap.fd == new);
	swap.flags = VGPU_MOCK_FD_HAS_IN | VGPU_MOCK_FD_WANT_OUT;
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_FD_SWAP, &swap));
	CHECK(swap.fd != new);
	log_cookie(swap.fd);
	swap.flags = VGPU_MOCK_FD_WANT_OUT;
	swap.fd = -1;
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_FD_SWAP, &swap));
	log_cookie(swap.fd);
}

/* No fd is free for the result: nothing is left behind on any side. */
DIFF_TEST(no_room)
{
	int fd = open_device(O_RDWR);
	struct vgpu_mock_fds fds = { .count = 30, .cookie = 1 };
	int list[30];
	int i, last = fd;

	MUST(await_objects(fd, 0));
	while ((i = dup(fd)) >= 0)
		last = i;
	log_line("full: %s", strerrorname_np(errno));
	LOG_CALL(fd_out(fd, 1, 0) < 0 ? -1 : 0);
	for (i = 0; i < 10; i++)
		close(last - i);
	fds.ptr = (uintptr_t)list;
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_FDS_OUT, &fds));
	CHECK(await_objects(fd, 0));
}

/* The result cannot be stored: the program gets no fd, and no object is left. */
DIFF_TEST(nowhere_to_store)
{
	struct vgpu_mock_fd_out *out = alloc_pages(1);
	int fd = open_device(O_RDWR);
	unsigned int fds = open_fds();

	MUST(await_objects(fd, 0));
	*out = (struct vgpu_mock_fd_out) { .cookie = 1 };
	MUST(!mprotect(out, 4096, PROT_READ));
	CHECK(LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_FD_OUT, out)) == -1 && errno == EFAULT);
	LOG_CALL(open_fds() - fds);
	CHECK(await_objects(fd, 0));
}

/* A call with fds that no schema describes fails with an errno, and nothing leaks. */
DIFF_TEST(undescribed)
{
	struct vgpu_mock_fd_out out = { .cookie = 5, .out_fd = -1 };
	struct vgpu_mock_fd_return returned = { .cookie = 5 };
	struct vgpu_mock_fd_in in = { };
	int fd = open_device(O_RDWR);
	unsigned int fds;
	int ret, i;

	MUST(await_objects(fd, 0));
	in.fd = object(fd, 42);
	fds = open_fds();
	for (i = 0; i < 20; i++) {
		ret = ioctl(fd, VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_FD_OUT), &out);
		if (forwarded) {
			CHECK(ret == -1 && errno == EOPNOTSUPP);
			/* The program gets no fd number without a file behind it. */
			CHECK(out.out_fd == -1);
		} else {
			CHECK(!ret && out.out_fd >= 0);
			close(out.out_fd);
		}
		ret = ioctl(fd, VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_FD_RETURN), &returned);
		if (forwarded) {
			CHECK(ret == -1 && errno == EOPNOTSUPP);
		} else {
			CHECK(ret >= 0);
			close(ret);
		}
		ret = ioctl(fd, VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_FD_IN), &in);
		if (forwarded)
			CHECK(ret == -1 && errno == EBADF);
		else
			CHECK(!ret && in.out_cookie == 42);
	}
	CHECK(open_fds() == fds);
	CHECK(await_objects(fd, 1));
}

#define TRACE "/sys/kernel/tracing/instances/vgpu_stray"

/* The counter and the trace event tell which command a schema has to describe. */
TEST(stray_files_are_counted_and_named)
{
	const unsigned int cmd = VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_FD_OUT);
	struct vgpu_mock_fd_out out = { .cookie = 5, .out_fd = -1 };
	const char *node = getenv("VGPU_FWD");
	bool traced = !tool_user_engine();
	char name[80];
	long before;
	int fd;

	if (!tool_has_host() || !node || geteuid())
		SKIP(return, "the host is another machine, or nothing is forwarded");
	fd = open(node, O_RDWR);
	ASSERT_LE(0, fd);
	before = tool_counter("stray_fds");
	ASSERT_LE(0, before);
	if (traced)
		ASSERT_EQ(0, tool_run("mkdir " TRACE " && echo 1 >" TRACE
				      "/events/vgpu_host/vgpu_host_stray_fd/enable")->status);
	EXPECT_EQ(-1, ioctl(fd, cmd, &out));
	EXPECT_EQ(EOPNOTSUPP, errno);
	EXPECT_EQ(before + 1, tool_counter("stray_fds"));
	snprintf(name, sizeof(name), "cmd=0x%x fds=1", cmd);
	if (traced) {
		EXPECT_EQ(0, tool_run("grep '%s' " TRACE "/trace", name)->status);
		tool_run("rmdir " TRACE);
	}
	close(fd);
}

/* The test makes all operations that an object has. */
DIFF_TEST(object_operations)
{
	struct pollfd pollfd = { .events = POLLIN };
	int fd = open_device(O_RDWR);
	__u64 cookie = 0;
	__u64 *page;
	__u64 start;

	pollfd.fd = fd_out(fd, 0x1234, O_NONBLOCK);
	LOG_CALL(poll(&pollfd, 1, 0));
	LOG_CALL(read(pollfd.fd, &cookie, 8));
	start = now_ms();
	LOG_CALL(ioctl(pollfd.fd, VGPU_MOCK_IOC_OBJ_SIGNAL, 300));
	LOG_CALL(poll(&pollfd, 1, 5000));
	CHECK(now_ms() - start >= 100);
	log_line("revents %x", pollfd.revents);
	LOG_CALL(read(pollfd.fd, &cookie, 4));
	LOG_CALL(read(pollfd.fd, &cookie, 8));
	CHECK(cookie == 0x1234);
	LOG_CALL(write(pollfd.fd, &cookie, 8));
	LOG_CALL(ioctl(pollfd.fd, VGPU_MOCK_IOC_NOOP));
	LOG_CALL(lseek(pollfd.fd, 0, SEEK_SET));

	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, pollfd.fd, 0);
	if (LOG_CALL(page == MAP_FAILED ? -1 : 0) == 0) {
		CHECK(page[0] == 0x1234);
		page[1] = 99;
		LOG_CALL(close(pollfd.fd));
		CHECK(page[1] == 99);
	}
}

/* Objects outlive the file that they came from, and are released with their last fd. */
DIFF_TEST(object_lifetime)
{
	int fd = open_device(O_RDWR);
	int probe = open_device(O_RDWR);
	struct vgpu_mock_counters before = counters(probe), after;
	int new = object(fd, 7);
	int i;

	LOG_CALL(close(fd));
	log_cookie(new);
	LOG_CALL(close(new));
	for (i = 0; i < 1000; i++) {
		after = counters(probe);
		if (after.out_objects <= before.out_objects)
			break;
		sleep_ms(10);
	}
	CHECK(after.out_objects <= before.out_objects);
}

static void use_device(int fd)
{
	struct vgpu_mock_inout io = { 1, 2, 3 };
	__u32 data[100] = { 1, 2, 3 };
	struct vgpu_mock_array array = { .ptr = (uintptr_t)data, .count = 100 };

	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_INOUT, &io));
	log_bytes("io", &io, sizeof(io));
	LOG_CALL(ioctl(fd, VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_ARRAY_INOUT), &array));
	log_bytes("data", data, sizeof(data));
	LOG_CALL(pread(fd, data, sizeof(data), 0));
	log_bytes("data", data, sizeof(data));
}

DIFF_TEST(after_fork)
{
	struct vgpu_mock_in seed = { .a = 6 };
	struct vgpu_mock_out out;
	int fd = open_device(O_RDWR);
	int new = object(fd, 8);
	int status;

	LOG_CALL(pwrite(fd, "written by the parent", 21, 0));
	fflush(NULL);
	if (!fork()) {
		use_device(fd);
		log_cookie(new);
		ioctl(fd, VGPU_MOCK_IOC_IN, &seed);
		close(fd);
		_exit(0);
	}
	LOG_CALL(wait(&status) > 0 && !status);
	/* The child's call has changed the state of the file, which both processes share. */
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_OUT, &out));
	log_bytes("out", &out, sizeof(out));
	use_device(fd);
}

/* The parent, which opened the file, exits first. */
DIFF_TEST(opener_is_gone)
{
	int sockets[2];
	int fd, status;
	char go;

	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	fflush(NULL);
	if (!fork()) {
		fd = open_device(O_RDWR);
		MUST(pwrite(fd, "by one who is gone", 18, 0) == 18);
		if (!fork()) {
			close(sockets[1]);
			MUST(read(sockets[0], &go, 1) == 1);
			use_device(fd);
			MUST(write(sockets[0], "d", 1) == 1);
			_exit(0);
		}
		_exit(0);
	}
	LOG_CALL(wait(&status) > 0 && !status);
	sleep_ms(200);
	close(sockets[0]);
	MUST(write(sockets[1], "g", 1) == 1);
	LOG_CALL(read(sockets[1], &go, 1));
}

/* This program inherits the fd over exec, see main(). */
DIFF_TEST(over_exec)
{
	char number[16], output[64];
	int fd = open_device(O_RDWR);
	int file = memfd_create("output", 0);
	char text[4096] = "";
	int status;

	MUST(file >= 0);
	LOG_CALL(pwrite(fd, "before exec", 11, 0));
	snprintf(number, sizeof(number), "%d", fd);
	snprintf(output, sizeof(output), "%d", file);
	fflush(NULL);
	if (!fork()) {
		execl("/proc/self/exe", "mock_fd", "--use-device", number, output, NULL);
		_exit(98);
	}
	LOG_CALL(wait(&status) > 0 && !status);
	LOG_CALL(pread(file, text, sizeof(text) - 1, 0) > 0);
	log_line("%s", text);
}

/* A process that has opened nothing gets the fd by a socket, and the sender closes its own. */
DIFF_TEST(over_a_socket)
{
	int sockets[2];
	int fd, new;
	int status;
	char byte;

	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	fflush(NULL);
	if (!fork()) {
		fd = receive_fd(sockets[0]);
		new = receive_fd(sockets[0]);
		MUST(read(sockets[0], &byte, 1) == 1);
		use_device(fd);
		log_cookie(new);
		_exit(0);
	}
	fd = open_device(O_RDWR);
	new = object(fd, 31);
	LOG_CALL(pwrite(fd, "before sending", 14, 0));
	send_fd(sockets[1], fd);
	send_fd(sockets[1], new);
	close(fd);
	close(new);
	MUST(write(sockets[1], "g", 1) == 1);
	LOG_CALL(wait(&status) > 0 && !status);
}

/* The fd is only in the queue of a socket, which is then closed. */
DIFF_TEST(lost_in_a_socket)
{
	int probe = open_device(O_RDWR);
	struct vgpu_mock_counters before = counters(probe), after = before;
	int sockets[2];
	int fd, i;

	for (i = 0; i < 5; i++) {
		MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
		fd = open_device(O_RDWR);
		send_fd(sockets[1], fd);
		close(fd);
		close(sockets[0]);
		close(sockets[1]);
	}
	for (i = 0; i < 1000; i++) {
		after = counters(probe);
		if (after.out_files <= before.out_files)
			break;
		sleep_ms(10);
	}
	CHECK(after.out_files <= before.out_files);
}

/* A process shares the memory but not the fds. */
DIFF_TEST(unshared_fds)
{
	struct vgpu_mock_info info, info2;
	int fd = open_device(O_RDWR);
	int new = object(fd, 5);

	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_INFO, &info));
	LOG_CALL(unshare(CLONE_FILES));
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_INFO, &info2));
	CHECK(info.out_mm == info2.out_mm);
	log_cookie(new);
	LOG_CALL(syscall(SYS_close_range, new, new, 0));
	use_device(fd);
}

static int use_inherited(const char *number, const char *output)
{
	static struct diff_account account;
	int file = atoi(output);

	diff_now = &account;
	use_device(atoi(number));
	return write(file, account.text, account.used) != (ssize_t)account.used;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "--use-device"))
		return use_inherited(argv[2], argv[3]);
	return test_harness_run(argc, argv);
}
