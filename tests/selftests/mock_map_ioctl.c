// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test an ioctl that maps a buffer and returns the address, like i915's GEM_MMAP. The program
 * sees the part of the device's memory that it asked for, and errors are the driver's.
 */
#include "vgpu_diff.h"

#define PAGES	8

static struct vgpu_mock_buf_create create(int fd, unsigned int flavour)
{
	struct vgpu_mock_buf_create buf = {
		.size = PAGES * sysconf(_SC_PAGESIZE), .flavour = flavour,
	};

	MUST(!ioctl(fd, VGPU_MOCK_IOC_BUF_CREATE, &buf));
	return buf;
}

static void fill(int fd, __u32 id, __u32 seed)
{
	struct vgpu_mock_buf_range range = {
		.id = id, .seed = seed, .length = PAGES * sysconf(_SC_PAGESIZE),
	};

	MUST(!ioctl(fd, VGPU_MOCK_IOC_BUF_FILL, &range));
}

static void log_sum(int fd, __u32 id)
{
	struct vgpu_mock_buf_range range = {
		.id = id, .length = PAGES * sysconf(_SC_PAGESIZE),
	};

	MUST(!ioctl(fd, VGPU_MOCK_IOC_BUF_SUM, &range));
	log_line("the device sees %llx", (unsigned long long)range.out_sum);
}

/* Maps a buffer. Return: address; NULL: the ioctl failed, and left the argument as it was. */
static __u64 *map(int fd, struct vgpu_mock_buf_map args)
{
	struct vgpu_mock_buf_map copy = args;

	copy.out_addr = 4711;
	if (!LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_BUF_MAP, &copy))) {
		args.out_addr = copy.out_addr;
		CHECK(copy.out_addr && !(copy.out_addr & (sysconf(_SC_PAGESIZE) - 1)));
		CHECK(!memcmp(&args, &copy, sizeof(args)));
		return (__u64 *)(uintptr_t)copy.out_addr;
	}
	args.out_addr = 4711;
	CHECK(!memcmp(&args, &copy, sizeof(args)));
	return NULL;
}

/*
 * Maps a part of a new buffer that has a pattern, and writes to it. Return: number of the
 * buffer.
 */
static __u32 map_part(int fd, __u32 seed, struct vgpu_mock_buf_map args, __u64 **memory)
{
	struct vgpu_mock_buf_create buf = create(fd, VGPU_MOCK_BUF_PFN);

	fill(fd, buf.out_id, seed);
	args.id = buf.out_id;
	*memory = map(fd, args);
	MUST(*memory);
	log_bytes("memory", *memory, args.size);
	(*memory)[args.size / 8 - 5] = 0x1234567890abcdef;
	log_sum(fd, buf.out_id);
	return buf.out_id;
}

static bool is_mapped(const void *address)
{
	unsigned char in_core;

	return !mincore((void *)((uintptr_t)address & ~(sysconf(_SC_PAGESIZE) - 1UL)), 1, &in_core);
}

DIFF_TEST(whole)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	int fd = open_device(O_RDWR);
	__u64 *memory;
	__u32 id;

	id = map_part(fd, 3, (struct vgpu_mock_buf_map){ .size = PAGES * page }, &memory);
	MUST(!munmap(memory, PAGES * page));
	/* The mapping has another cache attribute, and does not have all of the buffer. */
	memory = map(fd, (struct vgpu_mock_buf_map){
		.id = id, .size = page + 1, .flags = VGPU_MOCK_MAP_WC });
	MUST(memory);
	log_bytes("memory", memory, 2 * page);
	log_line("behind it: %d", is_mapped((char *)memory + 2 * page));
	MUST(!munmap(memory, 2 * page));
}

DIFF_TEST(part)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	int fd = open_device(O_RDWR);
	__u64 *memory;

	map_part(fd, 4, (struct vgpu_mock_buf_map){ .offset = 3 * page, .size = 2 * page },
		 &memory);
	/* A forwarder may have mapped more pages than the part: they are unmapped by now. */
	munmap(memory, 2 * page);
	log_line("before it: %d", is_mapped((char *)memory - page));
}

DIFF_TEST(errors)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	int fd = open_device(O_RDWR);
	struct vgpu_mock_buf_create buf = create(fd, VGPU_MOCK_BUF_PFN);
	struct vgpu_mock_buf_create other = create(fd, VGPU_MOCK_BUF_VMALLOC);
	struct vgpu_mock_buf_map *args;

	map(fd, (struct vgpu_mock_buf_map){ .id = 4711, .size = page });
	map(fd, (struct vgpu_mock_buf_map){ .id = buf.out_id });
	map(fd, (struct vgpu_mock_buf_map){ .id = other.out_id, .size = page });
	map(fd, (struct vgpu_mock_buf_map){ .id = buf.out_id, .size = page, .flags = 2 });
	map(fd, (struct vgpu_mock_buf_map){ .id = buf.out_id, .offset = 5, .size = page });
	map(fd, (struct vgpu_mock_buf_map){ .id = buf.out_id, .offset = PAGES * page, .size = 1 });
	map(fd, (struct vgpu_mock_buf_map){
		.id = buf.out_id, .offset = page, .size = PAGES * page });
	map(fd, (struct vgpu_mock_buf_map){ .id = buf.out_id, .offset = -page, .size = 2 * page });
	map(fd, (struct vgpu_mock_buf_map){ .id = buf.out_id, .size = -1ULL });
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_BUF_MAP, NULL));
	/* The address cannot be stored. */
	args = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(args != MAP_FAILED);
	*args = (struct vgpu_mock_buf_map){ .id = buf.out_id, .size = page };
	MUST(!mprotect(args, page, PROT_READ));
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_BUF_MAP, args));
}

TEST_HARNESS_MAIN
