// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test calls of a 32-bit program: the Makefile builds this file as one. Drivers know that their
 * caller has 32 bits, and so know the layout of its structs.
 */
#include <stddef.h>
#include <sys/syscall.h>

#include "vgpu_diff.h"

_Static_assert(sizeof(long) == 4, "a 32-bit program");

/* This is the command's number in 64-bit programs. */
#define COMPAT64	_IOC(_IOC_READ | _IOC_WRITE, VGPU_MOCK_IOC_TYPE, 0x75, 32)

static int caller_is_32(int fd, unsigned long cmd)
{
	struct vgpu_mock_info info = { .out_compat = 99 };

	return diff_ioctl(fd, cmd, &info) ? -errno : (int)info.out_compat;
}

DIFF_TEST_TWINS(driver_knows_its_caller)
{
	int fd = open_device(O_RDWR);

	CHECK(LOG_CALL(caller_is_32(fd, CMD(INFO))) == 1);
	CHECK(LOG_CALL(caller_is_32(fd, CMD(INFO))) == 1);
}

/* The layout of this struct differs: its pointer has 32 bits, so its fields have other offsets. */
DIFF_TEST_TWINS(struct_of_its_own)
{
	static const __u32 lengths[] = { 0, 1, 100, 4096, 4097, 3 * 4096 + 5 };
	int fd = open_device(O_RDWR);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		__u8 *bytes = alloc_bytes(lengths[i], i);
		struct vgpu_mock_compat32 arg = {
			.ptr = (uintptr_t)bytes, .tag = 7, .length = lengths[i],
			.value_lo = i, .value_hi = 0x80000000 | i,
		};

		CHECK(LOG_CALL(diff_ioctl(fd, CMD(COMPAT32), &arg)) >= 0);
		CHECK(arg.ptr == (uintptr_t)bytes && arg.tag == 7 && arg.length == lengths[i]);
		log_line("value %08x%08x", arg.value_hi, arg.value_lo);
		log_bytes("bytes", bytes, lengths[i]);
	}
}

DIFF_TEST_TWINS(bad_pointers)
{
	struct vgpu_mock_compat32 arg = { .length = 10 };
	__u8 *page = alloc_pages(1);
	int fd = open_device(O_RDWR);

	/*
	 * First the argument is a bad pointer, and then the argument's struct has a bad pointer. Of
	 * either kind, one leads to a range that ends at 4 GiB.
	 */
	LOG_CALL(ioctl(fd, CMD(COMPAT32), NULL));
	LOG_CALL(ioctl(fd, CMD(COMPAT32), (void *)1));
	LOG_CALL(ioctl(fd, CMD(COMPAT32), page + 4096 - sizeof(arg) + 1));
	LOG_CALL(ioctl(fd, CMD(COMPAT32), page + 4096));
	LOG_CALL(ioctl(fd, CMD(COMPAT32), (void *)-sizeof(arg)));
	LOG_CALL(ioctl(fd, CMD(COMPAT32), (void *)-1));
	LOG_CALL(ioctl(fd, CMD(COMPAT32), &arg));
	arg.ptr = 0xfffffff6;
	LOG_CALL(ioctl(fd, CMD(COMPAT32), &arg));
	arg.ptr = (uintptr_t)page + 4096 - 9;
	LOG_CALL(ioctl(fd, CMD(COMPAT32), &arg));
	arg.ptr = (uintptr_t)page + 4096 - 10;
	LOG_CALL(ioctl(fd, CMD(COMPAT32), &arg));
	arg.length = VGPU_MOCK_MAX_STRUCT_BYTES + 1;
	LOG_CALL(ioctl(fd, CMD(COMPAT32), &arg));
	log_bytes("page", page, 4096);
}

/*
 * The driver knows the first command only of 64-bit programs, the second command of none, and
 * the VFS serves the others.
 */
DIFF_TEST(other_commands)
{
	__u64 arg[4] = { 0 };
	int fd = open_device(O_RDWR);
	int value = 1;

	LOG_CALL(ioctl(fd, COMPAT64, arg));
	LOG_CALL(ioctl(fd, _IO('v', 0xee), arg));
	LOG_CALL(ioctl(fd, FIONREAD, &value));
	LOG_CALL(ioctl(fd, FIOCLEX));
	LOG_CALL(fcntl(fd, F_GETFD));
	LOG_CALL(ioctl(fd, FIONBIO, &value));
	log_line("flags %x", fcntl(fd, F_GETFL) & O_NONBLOCK);
}

/* An integer has as many bits as the program gives it. */
DIFF_TEST_TWINS(integer)
{
	int fd = open_device(O_RDWR);

	LOG_CALL(ioctl(fd, CMD(INTEGER), (void *)0x80000000UL));
	LOG_CALL(ioctl(fd, CMD(INTEGER), (void *)-1L));
}

/* The struct has a 64-bit pointer, as in most current drivers. */
DIFF_TEST_TWINS(arrays)
{
	__u32 *in = alloc_bytes(5000, 1), *inout = alloc_bytes(5000, 2);
	int fd = open_device(O_RDWR);
	struct vgpu_mock_array array = { .ptr = (uintptr_t)in, .count = 1250 };

	LOG_CALL(diff_ioctl(fd, CMD(ARRAY_IN), &array));
	log_line("sum %llx", (unsigned long long)array.out_sum);
	array.ptr = (uintptr_t)inout;
	LOG_CALL(diff_ioctl(fd, CMD(ARRAY_INOUT), &array));
	CHECK(array.ptr == (uintptr_t)inout);
	log_bytes("inout", inout, 5000);
	/* A 32-bit program cannot have this address. */
	array.ptr |= 1ULL << 32;
	LOG_CALL(ioctl(fd, CMD(ARRAY_INOUT), &array));
}

/* The argument is larger than the memory that lanes have. */
DIFF_TEST(large)
{
	const size_t length = 300000;
	__u8 *bytes = alloc_bytes(length, 3);
	int fd = open_device(O_RDWR);
	struct vgpu_mock_large large = { .ptr = (uintptr_t)bytes, .length = length };

	LOG_CALL(diff_ioctl(fd, CMD(LARGE_INOUT), &large));
	log_bytes("bytes", bytes, length);
}

/*
 * A call returns an object as an fd, another call takes the fd, and the object has ioctls of its
 * own.
 */
DIFF_TEST(fds)
{
	struct vgpu_mock_fd_out out = { .cookie = 42ULL << 32 };
	struct vgpu_mock_obj_info info = { 0 };
	struct vgpu_mock_fd_in in = { 0 };
	int fd = open_device(O_RDWR);

	MUST(!LOG_CALL(diff_ioctl(fd, CMD(FD_OUT), &out)));
	CHECK(fcntl(out.out_fd, F_GETFD) >= 0);
	in.fd = out.out_fd;
	LOG_CALL(diff_ioctl(fd, CMD(FD_IN), &in));
	CHECK(in.fd == out.out_fd);
	log_line("cookie %llx", (unsigned long long)in.out_cookie);
	LOG_CALL(ioctl(out.out_fd, CMD(OBJ_INFO), &info));
	log_line("cookie %llx", (unsigned long long)info.out_cookie);
	in.fd = fd;
	LOG_CALL(ioctl(fd, CMD(FD_IN), &in));
	in.fd = 999;
	LOG_CALL(ioctl(fd, CMD(FD_IN), &in));
	LOG_CALL(close(out.out_fd));
}

DIFF_TEST(read_and_write)
{
	__u8 bytes[64];
	int fd = open_device(O_RDWR);

	vgpu_mock_pattern(bytes, sizeof(bytes), 5, 0);
	LOG_CALL(pwrite(fd, bytes, sizeof(bytes), 0));
	memset(bytes, 0, sizeof(bytes));
	LOG_CALL(pread(fd, bytes, sizeof(bytes), 0));
	log_bytes("read", bytes, sizeof(bytes));
}

/* Counts mappings that the guest has made for calls: none may be left, also in a child. */
static int lines_of_ours(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[256];
	int lines = 0;

	while (maps && fgets(line, sizeof(line), maps))
		lines += strstr(line, "[vgpu]") != NULL;
	if (maps)
		fclose(maps);
	return lines;
}

DIFF_TEST(keeps_no_memory)
{
	int fd = open_device(O_RDWR);
	int i;

	for (i = 0; i < 100; i++)
		CHECK(caller_is_32(fd, VGPU_MOCK_IOC_INFO) == 1);
	CHECK(LOG_CALL(lines_of_ours()) == 0);
}

/* A 32-bit program and its 64-bit child use a device in turns. */
DIFF_TEST(child_with_64_bits)
{
	int fd = open_device(O_RDWR);
	int i, status;
	char arg[16];
	pid_t pid;

	sprintf(arg, "%d", fd);
	for (i = 0; i < 3; i++) {
		CHECK(caller_is_32(fd, VGPU_MOCK_IOC_INFO) == 1);
		pid = fork();
		MUST(pid >= 0);
		if (!pid) {
			CHECK(caller_is_32(fd, VGPU_MOCK_IOC_INFO) == 1);
			execl("../tools/mock_caller", "mock_caller", arg, NULL);
			_exit(99);
		}
		MUST(waitpid(pid, &status, 0) == pid);
		log_line("child: %x", status);
		CHECK(!status);
	}
}

TEST_HARNESS_MAIN
