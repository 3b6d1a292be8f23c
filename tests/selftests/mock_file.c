// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test open, read, write and llseek, and the errors of a device that lacks them.
 */
#include <sys/uio.h>

#include "vgpu_diff.h"

/* The compiler must not know this address and this size. */
static void *volatile nowhere;
static volatile size_t everything = SIZE_MAX;

static void set_io(int fd, __u32 mode, __u32 limit, __u32 error)
{
	struct vgpu_mock_io io = { .mode = mode, .limit = limit, .error = error };

	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_IO_MODE, &io));
}

DIFF_TEST(open_flags)
{
	static const int flags[] = {
		O_RDONLY, O_WRONLY, O_RDWR, O_RDWR | O_NONBLOCK, O_RDWR | O_APPEND,
		O_RDWR | O_CREAT, O_RDWR | O_TRUNC, O_RDONLY | O_DIRECTORY, O_RDWR | O_NOFOLLOW,
		O_RDWR | O_DIRECT, O_RDWR | O_SYNC, O_RDWR | O_NOCTTY, O_PATH,
	};
	char byte = 0;
	unsigned int i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		fd = open(path, flags[i], 0600);
		log_line("open %o: %s", flags[i], fd < 0 ? strerrorname_np(errno) : "ok");
		if (fd < 0)
			continue;
		log_line("flags %o", fcntl(fd, F_GETFL));
		LOG_CALL(write(fd, "x", 1));
		LOG_CALL(pread(fd, &byte, 1, 0));
		LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_NOOP));
		LOG_CALL(close(fd));
	}
}

DIFF_TEST(stat)
{
	struct stat st;
	int fd = open_device(O_RDWR);

	LOG_CALL(fstat(fd, &st));
	log_line("mode %o, size %lld", st.st_mode & S_IFMT, (long long)st.st_size);
	LOG_CALL(ftruncate(fd, 0));
	LOG_CALL(fsync(fd));
	LOG_CALL(fallocate(fd, 0, 0, 4096));
	LOG_CALL(fcntl(fd, F_GETPIPE_SZ));
	LOG_CALL(isatty(fd));
}

DIFF_TEST(read_and_write)
{
	char *data = alloc_bytes(5000, 1);
	char *back = alloc_bytes(5000, 2);
	int fd = open_device(O_RDWR);

	LOG_CALL(write(fd, data, 5000));
	LOG_CALL(lseek(fd, 0, SEEK_CUR));
	LOG_CALL(lseek(fd, 100, SEEK_SET));
	LOG_CALL(read(fd, back, 1000));
	CHECK(!memcmp(back, data + 100, 1000));
	LOG_CALL(lseek(fd, 0, SEEK_CUR));
	LOG_CALL(write(fd, data, 10));
	LOG_CALL(pread(fd, back, 5000, 1000));
	log_bytes("back", back, 5000);
	LOG_CALL(pwrite(fd, data, 100, 3));
	LOG_CALL(lseek(fd, 0, SEEK_CUR));
	LOG_CALL(pread(fd, back, 5000, 0));
	log_bytes("back", back, 5000);
	LOG_CALL(pread(fd, back, 10, -1));
	LOG_CALL(read(fd, back, 0));
	LOG_CALL(write(fd, back, 0));
}

/*
 * A program can read a part of what it writes. One mode of the mock writes that part, others fail
 * or look at less than the program gives.
 */
DIFF_TEST(write_what_can_be_read)
{
	static const struct {
		__u32 mode, limit;
	} modes[] = {
		{ VGPU_MOCK_IO_SPACE, 0 }, { VGPU_MOCK_IO_SPACE, 100 },
		{ VGPU_MOCK_IO_QUEUE, 0 }, { VGPU_MOCK_IO_QUEUE, 100 },
		{ VGPU_MOCK_IO_ERROR, 0 },
	};
	char *data = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0);
	char *back = alloc_bytes(3 * 4096, 2);
	int fd = open_device(O_RDWR | O_NONBLOCK);
	unsigned int i;

	memset(data, 0x35, 2 * 4096);
	mprotect(data + 2 * 4096, 4096, PROT_NONE);
	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		log_line("mode %u, limit %u", modes[i].mode, modes[i].limit);
		set_io(fd, modes[i].mode, modes[i].limit, EPIPE);
		LOG_CALL(lseek(fd, 0, SEEK_SET));
		LOG_CALL(write(fd, data + 2 * 4096 - 5, 10));
		LOG_CALL(write(fd, data + 4096 + 1, 2 * 4096));
		LOG_CALL(write(fd, data + 2 * 4096, 10));
		/* A forwarded read that fails leaves the buffer as it was. */
		if (modes[i].mode == VGPU_MOCK_IO_ERROR)
			continue;
		set_io(fd, modes[i].mode, 0, 0);
		LOG_CALL(lseek(fd, 0, SEEK_SET));
		LOG_CALL(read(fd, back, 3 * 4096));
		log_bytes("back", back, 3 * 4096);
	}
}

/* Reads and writes reach the end of the device's space, and go beyond it. */
DIFF_TEST(ends)
{
	char *data = alloc_bytes(70000, 1);
	int fd = open_device(O_RDWR);

	LOG_CALL(write(fd, data, 70000));
	LOG_CALL(lseek(fd, 0, SEEK_CUR));
	LOG_CALL(write(fd, data, 1));
	LOG_CALL(read(fd, data, 1));
	LOG_CALL(pread(fd, data, 100, 65500));
	LOG_CALL(pwrite(fd, data, 100, 65500));
	LOG_CALL(pread(fd, data, 100, 65536));
	LOG_CALL(pwrite(fd, data, 100, 1LL << 40));
	LOG_CALL(pread(fd, data, 100, INT64_MAX - 50));
	LOG_CALL(lseek(fd, 0, SEEK_SET));
	LOG_CALL(read(fd, data, 70000));
	log_bytes("data", data, 70000);
}

DIFF_TEST(seek)
{
	static const long long offsets[] = {
		0, 1, -1, 1000, -1000, 65536, 65537, 1LL << 40, INT64_MAX, INT64_MIN,
	};
	static const int whences[] = { SEEK_SET, SEEK_CUR, SEEK_END, SEEK_DATA, SEEK_HOLE, 9, -1 };
	int fd = open_device(O_RDWR);
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(whences); i++)
		for (j = 0; j < ARRAY_SIZE(offsets); j++) {
			log_line("whence %d, offset %lld", whences[i], offsets[j]);
			LOG_CALL(lseek(fd, offsets[j], whences[i]));
		}
}

/* The position belongs to the open file, and all processes with the file share it. */
DIFF_TEST(shared_position)
{
	struct vgpu_mock_info info;
	int fd = open_device(O_RDWR);
	int again = dup(fd);
	char data[100] = "";
	int status;

	LOG_CALL(write(fd, data, 10));
	LOG_CALL(write(again, data, 10));
	LOG_CALL(lseek(fd, 0, SEEK_CUR));
	if (!fork())
		_exit(lseek(again, 30, SEEK_CUR) != 50 || read(again, data, 7) != 7);
	LOG_CALL(wait(&status) > 0 && !status);
	LOG_CALL(lseek(fd, 0, SEEK_CUR));
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_INFO, &info));
	log_line("driver sees %llu", info.out_pos);
}

DIFF_TEST(append)
{
	char *data = alloc_bytes(100, 1);
	int fd = open_device(O_RDWR | O_APPEND);

	LOG_CALL(write(fd, data, 10));
	LOG_CALL(lseek(fd, 5, SEEK_SET));
	LOG_CALL(write(fd, data, 10));
	LOG_CALL(lseek(fd, 0, SEEK_CUR));
}

DIFF_TEST(vectors)
{
	char *one = alloc_bytes(1000, 1), *two = alloc_bytes(2000, 2);
	struct iovec iov[3] = { { one, 1000 }, { NULL, 0 }, { two, 2000 } };
	int fd = open_device(O_RDWR);

	LOG_CALL(writev(fd, iov, 3));
	LOG_CALL(pwritev(fd, iov, 3, 65000));
	memset(one, 0, 1000);
	memset(two, 0, 2000);
	LOG_CALL(lseek(fd, 500, SEEK_SET));
	LOG_CALL(readv(fd, iov, 3));
	LOG_CALL(lseek(fd, 0, SEEK_CUR));
	log_bytes("one", one, 1000);
	log_bytes("two", two, 2000);
	LOG_CALL(preadv(fd, iov, 3, 64000));
	log_bytes("one", one, 1000);
}

DIFF_TEST(bad_memory)
{
	char *data = alloc_bytes(100, 1);
	int fd = open_device(O_RDWR);

	LOG_CALL(read(fd, nowhere, 10));
	LOG_CALL(write(fd, nowhere, 10));
	LOG_CALL(read(fd, (void *)-1L, 10));
	LOG_CALL(write(fd, (void *)(1UL << 47), 10));
	LOG_CALL(write(fd, data, 101));
	LOG_CALL(read(fd, (void *)"constant", 8));
	LOG_CALL(read(fd, data, everything));
	LOG_CALL(write(fd, data, 100));
	LOG_CALL(lseek(fd, 0, SEEK_CUR));
}

DIFF_TEST(short_transfers)
{
	char *data = alloc_bytes(1000, 1);
	int fd = open_device(O_RDWR);

	set_io(fd, VGPU_MOCK_IO_SPACE, 7, 0);
	LOG_CALL(write(fd, data, 1000));
	LOG_CALL(write(fd, data + 7, 5));
	LOG_CALL(lseek(fd, 0, SEEK_SET));
	LOG_CALL(read(fd, data + 500, 500));
	LOG_CALL(lseek(fd, 0, SEEK_CUR));
	log_bytes("data", data, 1000);
}

/* The driver fills the buffer or reads it, and then fails. */
DIFF_TEST(errors)
{
	static const int errors[] = { EIO, EAGAIN, ENODEV, EFAULT, ENOSPC };
	char *data = alloc_bytes(1000, 1);
	int fd = open_device(O_RDWR);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		set_io(fd, VGPU_MOCK_IO_ERROR, 0, errors[i]);
		LOG_CALL(write(fd, data, 1000));
		LOG_CALL(read(fd, data, 1000));
		LOG_CALL(lseek(fd, 0, SEEK_CUR));
	}
}

/* A user-space engine calls pread(), and cannot know that the driver did not move the position. */
static bool position_is_known(void)
{
	const char *tier = getenv("VGPU_TIER");

	return !tier || strcmp(tier, "user");
}

DIFF_TEST(queue)
{
	char *data = alloc_bytes(6000, 1);
	int fd = open_device(O_RDWR | O_NONBLOCK);

	set_io(fd, VGPU_MOCK_IO_QUEUE, 0, 0);
	LOG_CALL(read(fd, data, 100));
	LOG_CALL(write(fd, data, 100));
	LOG_CALL(read(fd, data + 1000, 60));
	LOG_CALL(read(fd, data + 1060, 60));
	LOG_CALL(read(fd, data, 1));
	CHECK(!memcmp(data, data + 1000, 100));
	LOG_CALL(write(fd, data, 6000));
	LOG_CALL(write(fd, data, 1));
	if (position_is_known())
		LOG_CALL(lseek(fd, 0, SEEK_CUR));
	LOG_CALL(read(fd, data, 6000));
	log_bytes("data", data, 6000);
	/* The flag is set after the open, as in event loops. */
	LOG_CALL(fcntl(fd, F_SETFL, 0));
	LOG_CALL(fcntl(fd, F_SETFL, O_NONBLOCK));
	LOG_CALL(read(fd, data, 1));
}

DIFF_TEST(blocking_read)
{
	int fd = open_device(O_RDWR);
	char data[100] = "";
	__u64 start;
	int status;

	set_io(fd, VGPU_MOCK_IO_QUEUE, 0, 0);
	if (!fork()) {
		sleep_ms(300);
		_exit(write(fd, "late bytes", 10) != 10);
	}
	start = now_ms();
	LOG_CALL(read(fd, data, 100));
	CHECK(now_ms() - start >= 150);
	log_line("%s", data);
	LOG_CALL(wait(&status) > 0 && !status);
}

static void missing_operations(void)
{
	char *data = alloc_bytes(4096, 1);
	struct iovec iov = { data, 100 };
	int fd = open_device(O_RDWR);

	LOG_CALL(read(fd, data, 10));
	LOG_CALL(write(fd, data, 10));
	LOG_CALL(pread(fd, data, 10, 0));
	LOG_CALL(pwrite(fd, data, 10, 0));
	LOG_CALL(readv(fd, &iov, 1));
	LOG_CALL(writev(fd, &iov, 1));
	LOG_CALL(read(fd, data, 0));
	LOG_CALL(lseek(fd, 0, SEEK_SET));
	LOG_CALL(lseek(fd, 0, SEEK_CUR));
	LOG_CALL(lseek(fd, 0, SEEK_END));
	LOG_CALL(lseek(fd, 0, 77));
	LOG_CALL(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0);
	LOG_CALL(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED ? -1 : 0);
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_NOOP));
	LOG_CALL(ioctl(fd, _IO('z', 1)));
	LOG_CALL(fsync(fd));
	LOG_CALL(ftruncate(fd, 0));
	LOG_CALL(posix_fadvise(fd, 0, 0, POSIX_FADV_NORMAL));
	log_bytes("data", data, 4096);
}

DIFF_TEST_NODE(without_operations, "STREAM", DIFF_SECONDS)
{
	missing_operations();
}

DIFF_TEST_NODE(with_iterators, "ITER", DIFF_SECONDS)
{
	char *one = alloc_bytes(1000, 1), *two = alloc_bytes(2000, 2);
	struct iovec iov[2] = { { one, 1000 }, { two, 2000 } };
	int fd = open_device(O_RDWR);

	LOG_CALL(write(fd, one, 1000));
	LOG_CALL(writev(fd, iov, 2));
	LOG_CALL(lseek(fd, 500, SEEK_SET));
	LOG_CALL(readv(fd, iov, 2));
	log_bytes("one", one, 1000);
	log_bytes("two", two, 2000);
	LOG_CALL(lseek(fd, 0, SEEK_CUR));
	LOG_CALL(pread(fd, one, 1000, 65000));
	LOG_CALL(pwrite(fd, one, 1000, 65000));
	LOG_CALL(read(fd, nowhere, 10));
	set_io(fd, VGPU_MOCK_IO_ERROR, 0, EIO);
	LOG_CALL(read(fd, one, 1000));
	/* The buffer's bytes are not defined after a failed read. */
	vgpu_mock_pattern(one, 1000, 3, 0);
	LOG_CALL(fcntl(fd, F_SETFL, O_NONBLOCK));
	set_io(fd, VGPU_MOCK_IO_QUEUE, 0, 0);
	LOG_CALL(read(fd, one, 1000));
	LOG_CALL(write(fd, one, 1000));
	LOG_CALL(read(fd, two, 1000));
	log_bytes("two", two, 2000);
}

TEST_HARNESS_MAIN
