// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test ioctls whose arguments themselves are hard to forward.
 */
#include <stddef.h>
#include <sys/syscall.h>

#include "vgpu_diff.h"

DIFF_TEST_TWINS(noop)
{
	int fd = open_device(O_RDWR);

	LOG_CALL(diff_ioctl(fd, CMD(NOOP), NULL));
	LOG_CALL(diff_ioctl(fd, CMD(NOOP), (void *)1));
	LOG_CALL(diff_ioctl(fd, CMD(NOOP), (void *)-1L));
}

DIFF_TEST_TWINS(in_then_out)
{
	struct vgpu_mock_in in = { 0x0123456789abcdef, 0xdeadbeef, 0x1234, { 5, 6 } };
	struct vgpu_mock_in before = in;
	struct vgpu_mock_out out;
	int fd = open_device(O_RDWR);
	__u8 expected[56];
	__u64 seed;

	memset(&out, 0xee, sizeof(out));
	seed = vgpu_mock_sum(VGPU_MOCK_SUM_INIT, &in, sizeof(in));
	vgpu_mock_pattern(expected, sizeof(expected), seed, 0);

	CHECK(LOG_CALL(diff_ioctl(fd, CMD(IN), &in)) == (int)(seed & 0x7fffffff));
	CHECK(!memcmp(&in, &before, sizeof(in)));
	LOG_CALL(diff_ioctl(fd, CMD(OUT), &out));
	CHECK(out.out_seed == seed);
	CHECK(!memcmp(out.out_bytes, expected, sizeof(expected)));
	log_bytes("out", &out, sizeof(out));
}

DIFF_TEST_TWINS(inout)
{
	struct vgpu_mock_inout *io = alloc_bytes(sizeof(*io), 1);
	int fd = open_device(O_RDWR);
	__u64 keep = io->keep;
	__u64 value;
	int i;

	for (i = 0; i < 10; i++) {
		value = io->value;
		LOG_CALL(diff_ioctl(fd, CMD(INOUT), io));
		CHECK(io->out_value == value && io->keep == keep);
		CHECK(io->value == vgpu_mock_mix64(value));
	}
	log_bytes("io", io, sizeof(*io));
}

/* The argument is an integer, whatever pointer it looks like. */
DIFF_TEST_TWINS(integer)
{
	static char data[64] = "not to be touched";
	static const unsigned long values[] = {
		0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x1000, 4096UL << 20, -1UL, 1UL << 63,
	};
	int fd = open_device(O_RDWR);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(values); i++)
		CHECK(LOG_CALL(diff_ioctl(fd, CMD(INTEGER), (void *)values[i])) ==
		      (int)((values[i] ^ 0x5a5a5a5a) & 0x7fffffff));
	/* This integer is an address of the program. */
	CHECK(ioctl(fd, CMD(INTEGER), data) ==
	      (int)(((unsigned long)data ^ 0x5a5a5a5a) & 0x7fffffff));
	log_line("%s", data);
}

DIFF_TEST_TWINS(results_on_error)
{
	static const int errors[] = {
		0, EPERM, ENOENT, EAGAIN, ENOMEM, EFAULT, EBUSY, EINVAL,
		ENOTTY, ENOSPC, EOVERFLOW, ETIME, EOPNOTSUPP, EIO, ECANCELED,
	};
	int fd = open_device(O_RDWR);
	struct vgpu_mock_error error;
	__u32 *data;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		data = alloc_bytes(20, i);
		error = (struct vgpu_mock_error) {
			.error = errors[i], .value = i, .ptr = (uintptr_t)data, .count = 5,
		};
		LOG_CALL(diff_ioctl(fd, CMD(ERROR), &error));
		CHECK(errno == errors[i]);
		CHECK(error.out_value == vgpu_mock_mix64(i));
		CHECK(error.ptr == (uintptr_t)data);
		log_bytes("data", data, 20);
	}
}

DIFF_TEST_TWINS(return_values)
{
	static const __s64 values[] = {
		0, 1, 255, 0x7fffffff, 0x80000000LL, 0x123456789abLL, INT64_MAX,
		-1, -22, -512 - 200, -4095, -4096, INT64_MIN,
	};
	struct vgpu_mock_return ret;
	int fd = open_device(O_RDWR);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(values); i++) {
		ret.value = values[i];
		/* The C library's ioctl() would truncate the result to an int. */
		log_line("return %llx", (long long)values[i]);
		LOG_CALL(syscall(SYS_ioctl, fd, CMD(RETURN), &ret));
	}
}

DIFF_TEST_TWINS(big)
{
	struct vgpu_mock_big *big = alloc_bytes(sizeof(*big), 7);
	int fd = open_device(O_RDWR);
	__u32 last = big->value[4094];

	LOG_CALL(diff_ioctl(fd, CMD(BIG), big));
	CHECK(big->value[4094] == vgpu_mock_mix32(last));
	log_bytes("big", big, sizeof(*big));
}

/*
 * The driver reads 64 bytes where the command says 8. A forwarder that does not know this may
 * give the driver zeros, but never bytes of another program.
 */
DIFF_TEST_TWINS(overread)
{
	struct vgpu_mock_overread *all = alloc_bytes(sizeof(*all), 3);
	struct vgpu_mock_overread before = *all;
	static const __u64 zeros[7];
	int fd = open_device(O_RDWR);
	__u64 native, blank;
	int ret;

	native = vgpu_mock_sum(VGPU_MOCK_SUM_INIT, all->tail, sizeof(all->tail));
	blank = vgpu_mock_sum(VGPU_MOCK_SUM_INIT, zeros, sizeof(zeros));
	ret = diff_ioctl(fd, CMD(OVERREAD), all);
	CHECK(!memcmp(all->tail, before.tail, sizeof(all->tail)));
	if (forwarded && twin)
		CHECK((!ret && (all->head == native || all->head == blank)) ||
		      (ret == -1 && errno == EFAULT));
	else
		CHECK(!ret && all->head == native);
}

/* The program's memory ends after the 8 bytes that the command says. */
DIFF_TEST(overread_at_end)
{
	int fd = open_device(O_RDWR);
	__u64 *head = alloc_bytes(sizeof(*head), 3);
	__u64 before = *head;
	int ret;

	ret = ioctl(fd, VGPU_MOCK_IOC_OVERREAD, head);
	CHECK(ret == -1 && errno == EFAULT && *head == before);
	ret = ioctl(fd, VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_OVERREAD), head);
	CHECK(forwarded ? !ret || errno == EFAULT : ret == -1 && errno == EFAULT);
}

DIFF_TEST_TWINS(points_into_itself)
{
	struct vgpu_mock_self *self = alloc_bytes(sizeof(*self), 9);
	int fd = open_device(O_RDWR);
	unsigned int at;

	for (at = 0; at <= sizeof(self->data); at += 12) {
		self->ptr = (uintptr_t)(self->data + at);
		self->length = sizeof(self->data) - at;
		LOG_CALL(diff_ioctl(fd, CMD(SELF), self));
		CHECK(self->ptr == (uintptr_t)(self->data + at));
		log_bytes("data", self->data, sizeof(self->data));
		log_line("sum %x", self->out_sum);
	}
	/* The pointer leads to other memory, and then to a field of the struct itself. */
	self->ptr = (uintptr_t)alloc_bytes(48, 4);
	self->length = 48;
	LOG_CALL(diff_ioctl(fd, CMD(SELF), self));
	log_bytes("outside", (void *)(uintptr_t)self->ptr, 48);
	self->ptr = (uintptr_t)&self->length;
	self->length = 4;
	LOG_CALL(diff_ioctl(fd, CMD(SELF), self));
	log_line("length %x", self->length);
	log_bytes("data", self->data, sizeof(self->data));
}

DIFF_TEST_TWINS(bare_number)
{
	struct vgpu_mock_bare bare = { .base = 1000, .count = 100 };
	__u64 *data = alloc_bytes(800, 2);
	__u64 first = data[0];
	int fd = open_device(O_RDWR);

	bare.ptr = (uintptr_t)data;
	LOG_CALL(diff_ioctl(fd, VGPU_MOCK_BARE | twin, &bare));
	CHECK(bare.out_status == 0 && data[0] == first + 1000);
	log_bytes("data", data, 800);

	/* The status is returned although the ioctl itself succeeds. */
	bare.ptr = 8;
	LOG_CALL(ioctl(fd, VGPU_MOCK_BARE | twin, &bare));
	log_line("status %d", bare.out_status);
	CHECK(bare.out_status == -EFAULT);
	bare.count = 0;
	LOG_CALL(diff_ioctl(fd, VGPU_MOCK_BARE | twin, &bare));
	log_line("status %d", bare.out_status);
	LOG_CALL(ioctl(fd, VGPU_MOCK_BARE | twin, NULL));
}

DIFF_TEST_TWINS(extensible)
{
	static const unsigned int sizes[] = { 8, 16, 24, 32, 40, 64, 4096 };
	int fd = open_device(O_RDWR);
	unsigned int i;
	__u8 *data;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		data = alloc_bytes(sizes[i], i);
		LOG_CALL(diff_ioctl(fd, VGPU_MOCK_IOC_EXTENSIBLE_SIZED(sizes[i]) | twin, data));
		log_bytes("data", data, sizes[i]);
	}
	data = alloc_bytes(8, 1);
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_EXTENSIBLE_SIZED(4) | twin, data));
}

DIFF_TEST_TWINS(says_its_own_size)
{
	static const unsigned int sizes[] = { 16, 24, 48, 56, 4096, 8, 4104 };
	int fd = open_device(O_RDWR);
	struct vgpu_mock_sized *sized;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		sized = alloc_bytes(sizes[i], i);
		memset((char *)sized + 8, 0, sizes[i] - 8);
		sized->size = sizes[i];
		sized->reserved = 0;
		if (sizes[i] >= 16)
			sized->value = i;
		LOG_CALL(ioctl(fd, CMD(SIZED), sized));
		log_bytes("sized", sized, sizes[i]);
	}
	/* The struct has a byte that the driver does not know. */
	sized = alloc_bytes(4096, 1);
	memset(sized, 0, 4096);
	sized->size = 4096;
	((char *)sized)[4095] = 1;
	CHECK(LOG_CALL(ioctl(fd, CMD(SIZED), sized)) == -1 && errno == E2BIG);
}

/* The driver does not have these commands. */
DIFF_TEST(unknown_commands)
{
	static const unsigned int commands[] = {
		0, 3, 0xffffffff, 0x80000000,
		_IO(VGPU_MOCK_IOC_TYPE, 0x7f), _IO(VGPU_MOCK_IOC_TYPE, 0xff),
		_IOW(VGPU_MOCK_IOC_TYPE, 0x01, __u64), _IOR('d', 0x00, __u64),
		_IOWR('d', 0x00, __u64[8]), _IO('d', 0x01), 0x5401 /* TCGETS */,
	};
	int fd = open_device(O_RDWR);
	__u64 *data = alloc_bytes(64, 5);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		log_line("command %x", commands[i]);
		LOG_CALL(ioctl(fd, commands[i], data));
	}
	log_bytes("data", data, 64);
}

/* The kernel serves these commands for every file. */
DIFF_TEST(generic_commands)
{
	int fd = open_device(O_RDWR);
	int on = 1;
	int value = -1;

	LOG_CALL(ioctl(fd, FIONBIO, &on));
	log_line("flags %x", fcntl(fd, F_GETFL));
	LOG_CALL(ioctl(fd, FIOCLEX));
	log_line("fd flags %x", fcntl(fd, F_GETFD));
	LOG_CALL(ioctl(fd, FIONCLEX));
	LOG_CALL(ioctl(fd, FIOQSIZE, &value));
	LOG_CALL(ioctl(fd, FIONREAD, &value));
	LOG_CALL(ioctl(fd, FIOASYNC, &on));
}

DIFF_TEST_TWINS(bad_argument)
{
	static const struct vgpu_mock_inout constant = { 1, 2, 3 };
	struct vgpu_mock_inout *io = alloc_pages(2);
	int fd = open_device(O_RDWR);
	char *half = (char *)io + 4096 - 8;

	LOG_CALL(ioctl(fd, CMD(INOUT), NULL));
	LOG_CALL(ioctl(fd, CMD(INOUT), (void *)1));
	LOG_CALL(ioctl(fd, CMD(INOUT), (void *)-1L));
	LOG_CALL(ioctl(fd, CMD(INOUT), (void *)(1UL << 47)));
	LOG_CALL(ioctl(fd, CMD(INOUT), (void *)(0x3e0000000000UL + 0x1000)));
	LOG_CALL(ioctl(fd, CMD(IN), NULL));
	LOG_CALL(ioctl(fd, CMD(OUT), NULL));
	/* The argument is readable and not writable. */
	LOG_CALL(ioctl(fd, CMD(INOUT), (void *)&constant));
	LOG_CALL(ioctl(fd, CMD(OUT), (void *)&constant));
	/* The second half of the argument is unmapped. */
	MUST(!munmap((char *)io + 4096, 4096));
	LOG_CALL(ioctl(fd, CMD(INOUT), half));
	LOG_CALL(ioctl(fd, CMD(IN), half));
	LOG_CALL(ioctl(fd, CMD(OUT), half));
	/* The device still works. */
	memset(io, 0, sizeof(*io));
	LOG_CALL(diff_ioctl(fd, CMD(INOUT), io));
	log_bytes("io", io, sizeof(*io));
}

TEST_HARNESS_MAIN
