// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test amounts of memory from none to too much, and memory that a driver cannot access.
 */
#include "vgpu_diff.h"

#define KIB 1024UL
#define MIB (1024UL * 1024)

static __u64 as_u64(const void *pointer)
{
	return (uintptr_t)pointer;
}

/* The driver does not use a pointer whose count is 0. */
DIFF_TEST_TWINS(zero_lengths)
{
	static const __u64 pointers[] = { 0, 1, 4096, -1ULL, 0x800000000000ULL };
	struct vgpu_mock_moved moved;
	struct vgpu_mock_array array;
	struct vgpu_mock_large large;
	int fd = open_device(O_RDWR);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pointers); i++) {
		array = (struct vgpu_mock_array) { .ptr = pointers[i], .total = 5 };
		LOG_CALL(ioctl(fd, CMD(ARRAY_IN), &array));
		LOG_CALL(ioctl(fd, CMD(ARRAY_OUT), &array));
		LOG_CALL(ioctl(fd, CMD(ARRAY_INOUT), &array));
		log_bytes("array", &array, sizeof(array));
		large = (struct vgpu_mock_large) { .ptr = pointers[i] };
		LOG_CALL(ioctl(fd, CMD(LARGE_IN), &large));
		LOG_CALL(ioctl(fd, CMD(LARGE_OUT), &large));
		LOG_CALL(ioctl(fd, CMD(LARGE_INOUT), &large));
		log_bytes("large", &large, sizeof(large));
		moved = (struct vgpu_mock_moved) { .ptr = pointers[i] };
		LOG_CALL(ioctl(fd, CMD(MOVED), &moved));
		log_bytes("moved", &moved, sizeof(moved));
	}
}

/* The driver's limits give the driver's errors. */
DIFF_TEST_TWINS(too_many)
{
	struct vgpu_mock_structs structs = { .count = VGPU_MOCK_MAX_STRUCTS + 1 };
	struct vgpu_mock_chunks chunks = { .num_chunks = 0xffffffff };
	struct vgpu_mock_large large = { .length = VGPU_MOCK_MAX_BYTES + 1ULL };
	struct vgpu_mock_array array = { .count = VGPU_MOCK_MAX_ELEMS + 1 };
	struct vgpu_mock_arrays arrays = { .inout_count = 0xffffffff };
	int fd = open_device(O_RDWR);
	void *data = alloc_bytes(4096, 1);

	array.ptr = as_u64(data);
	LOG_CALL(ioctl(fd, CMD(ARRAY_IN), &array));
	LOG_CALL(ioctl(fd, CMD(ARRAY_OUT), &array));
	LOG_CALL(ioctl(fd, CMD(ARRAY_INOUT), &array));
	array.count = 0xffffffff;
	LOG_CALL(ioctl(fd, CMD(ARRAY_IN), &array));
	large.ptr = as_u64(data);
	LOG_CALL(ioctl(fd, CMD(LARGE_IN), &large));
	large.length = -1ULL;
	LOG_CALL(ioctl(fd, CMD(LARGE_IN), &large));
	large.length = -4096ULL;
	LOG_CALL(ioctl(fd, CMD(LARGE_INOUT), &large));
	structs.ptr = as_u64(data);
	LOG_CALL(ioctl(fd, CMD(STRUCTS), &structs));
	chunks.chunks = as_u64(data);
	LOG_CALL(ioctl(fd, CMD(CHUNKS), &chunks));
	arrays.inout_ptr = as_u64(data);
	LOG_CALL(ioctl(fd, CMD(ARRAYS), &arrays));
	log_bytes("data", data, 4096);
}

/* The count is allowed, but the memory is shorter. */
DIFF_TEST_TWINS(memory_that_ends)
{
	void *data = alloc_bytes(6000, 1);
	struct vgpu_mock_array array = { .ptr = as_u64(data), .count = 1501, .total = 1501 };
	struct vgpu_mock_large large = { .ptr = as_u64(data), .length = 60 * MIB };
	int fd = open_device(O_RDWR);

	CHECK(LOG_CALL(ioctl(fd, CMD(ARRAY_IN), &array)) == -1 && errno == EFAULT);
	CHECK(LOG_CALL(ioctl(fd, CMD(ARRAY_OUT), &array)) == -1 && errno == EFAULT);
	CHECK(LOG_CALL(ioctl(fd, CMD(ARRAY_INOUT), &array)) == -1 && errno == EFAULT);
	CHECK(LOG_CALL(ioctl(fd, CMD(LARGE_IN), &large)) == -1 && errno == EFAULT);
	/* The call works if the memory is as long as the count says. */
	data = alloc_bytes(6000, 2);
	array.ptr = as_u64(data);
	array.count = 1500;
	LOG_CALL(diff_ioctl(fd, CMD(ARRAY_INOUT), &array));
	log_bytes("data", data, 6000);
}

DIFF_TEST_TWINS(memory_that_is_read_only)
{
	void *data = alloc_pages(4);
	struct vgpu_mock_array array = { .ptr = as_u64(data), .count = 4096, .total = 4096 };
	struct vgpu_mock_error error = { .error = EBUSY, .ptr = as_u64(data), .count = 10 };
	int fd = open_device(O_RDWR);

	vgpu_mock_pattern(data, 16384, 5, 0);
	MUST(!mprotect(data, 16384, PROT_READ));
	LOG_CALL(diff_ioctl(fd, CMD(ARRAY_IN), &array));
	CHECK(LOG_CALL(ioctl(fd, CMD(ARRAY_OUT), &array)) == -1 && errno == EFAULT);
	CHECK(LOG_CALL(ioctl(fd, CMD(ARRAY_INOUT), &array)) == -1 && errno == EFAULT);
	CHECK(LOG_CALL(ioctl(fd, CMD(ERROR), &error)) == -1 && errno == EFAULT);
	log_bytes("data", data, 16384);
}

/*
 * Pages of private, shared and file-backed memory, which the program has not accessed, are
 * arguments.
 */
DIFF_TEST_TWINS(memory_of_all_kinds)
{
	int file = memfd_create("vgpu", MFD_CLOEXEC);
	struct vgpu_mock_array array = { .count = 8192, .total = 8192, .seed = 9 };
	int fd = open_device(O_RDWR);
	void *memory[4];
	unsigned int i;

	MUST(file >= 0 && !ftruncate(file, 32768));
	memory[0] = mmap(NULL, 32768, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memory[1] = mmap(NULL, 32768, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	memory[2] = mmap(NULL, 32768, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	memory[3] = mmap(NULL, 32768, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	for (i = 0; i < ARRAY_SIZE(memory); i++) {
		MUST(memory[i] != MAP_FAILED);
		array.ptr = as_u64(memory[i]);
		LOG_CALL(diff_ioctl(fd, CMD(ARRAY_IN), &array));
		log_line("sum %llx", array.out_sum);
		LOG_CALL(diff_ioctl(fd, CMD(ARRAY_OUT), &array));
		log_bytes("memory", memory[i], 32768);
		LOG_CALL(diff_ioctl(fd, CMD(ARRAY_INOUT), &array));
		log_bytes("memory", memory[i], 32768);
	}
	log_line("file %zd", pread(file, memory[0], 32768, 0));
	log_bytes("file", memory[0], 32768);
	/* The mapping goes beyond the end of its file. */
	MUST(!ftruncate(file, 8192));
	array.ptr = as_u64(memory[2]);
	LOG_CALL(ioctl(fd, CMD(ARRAY_IN), &array));
}

DIFF_TEST_TWINS(large_arrays)
{
	static const size_t lengths[] = {
		64 * KIB - 1, 64 * KIB, 64 * KIB + 1, 65 * KIB, 1 * MIB - 8, 1 * MIB + 3, 4 * MIB,
	};
	struct vgpu_mock_large large;
	int fd = open_device(O_RDWR);
	unsigned int i;
	void *data;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		/* Demand paging of larger arrays takes too long. */
		if (twin && lengths[i] > 1 * MIB)
			break;
		data = alloc_bytes(lengths[i], i);
		large = (struct vgpu_mock_large) {
			.ptr = as_u64(data), .length = lengths[i], .seed = i,
		};
		log_line("length %zu", lengths[i]);
		LOG_CALL(ioctl(fd, CMD(LARGE_IN), &large));
		log_line("sum %llx", large.out_sum);
		LOG_CALL(ioctl(fd, CMD(LARGE_INOUT), &large));
		log_line("sum %llx", large.out_sum);
		log_bytes("data", data, lengths[i]);
		LOG_CALL(ioctl(fd, CMD(LARGE_OUT), &large));
		log_bytes("data", data, lengths[i]);
		CHECK(large.ptr == as_u64(data));
	}
}

/* The driver takes no larger array. */
DIFF_TEST_LIMIT(largest_array, 60)
{
	const size_t size = (getenv("VGPU_TIMES") ? 8 : 64) * MIB;
	void *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct vgpu_mock_large large = { .ptr = as_u64(data), .length = size, .seed = 3 };
	int fd = open_device(O_RDWR);
	int ret;

	/* The native run need not be repeated on each kernel. */
	if (!forwarded && getenv("VGPU_TIMES"))
		return;
	MUST(data != MAP_FAILED);
	memset(data, 0x5a, size);
	ret = ioctl(fd, VGPU_MOCK_IOC_LARGE_INOUT, &large);
	/* A forwarder may have a lower limit, which it must report by one of these errnos. */
	if (forwarded && ret) {
		CHECK(errno == E2BIG || errno == ENOMEM || errno == ENOBUFS ||
		      errno == EOPNOTSUPP || errno == EMSGSIZE);
		return;
	}
	CHECK(!ret && ((__u8 *)data)[0] == 0xa5 && ((__u8 *)data)[size - 1] == 0xa5);
}

DIFF_TEST_TWINS(many_structs)
{
	struct vgpu_mock_struct elems[VGPU_MOCK_MAX_STRUCTS];
	struct vgpu_mock_structs structs = {
		.ptr = as_u64(elems), .count = VGPU_MOCK_MAX_STRUCTS,
	};
	int fd = open_device(O_RDWR);
	unsigned int i;

	for (i = 0; i < VGPU_MOCK_MAX_STRUCTS; i++) {
		elems[i].length = 37 * i;
		elems[i].ptr = as_u64(alloc_bytes(elems[i].length, i));
		elems[i].out_sum = 0;
	}
	LOG_CALL(ioctl(fd, CMD(STRUCTS), &structs));
	log_line("sum %llx", structs.out_sum);
	for (i = 0; i < VGPU_MOCK_MAX_STRUCTS; i += 9)
		log_bytes("bytes", (void *)(uintptr_t)elems[i].ptr, elems[i].length);
	elems[5].length = VGPU_MOCK_MAX_STRUCT_BYTES + 1;
	LOG_CALL(ioctl(fd, CMD(STRUCTS), &structs));
}

TEST_HARNESS_MAIN
