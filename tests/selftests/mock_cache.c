// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copy mode keeps pages of device memory in the guest. Test which pages are fetched, and how
 * many the guest keeps at most while a program reads and writes more than that without a call.
 */
#include <drm/drm.h>
#include <drm/drm_mode.h>
#include <pthread.h>
#include <sys/uio.h>

#include "keep.h"
#include "tool.h"
#include "vgpu_diff.h"

#define PAGE		4096UL
#define MIB		(1UL << 20)
/*
 * CLEAN_MAX and DIRTY_MAX are SPACE_CACHED_MAX and SPACE_DIRTY_MAX of the guest's module. SLACK is
 * memory that may be in use beside those pages.
 */
#define CLEAN_MAX	(64 * MIB)
#define DIRTY_MAX	(16 * MIB)
#define SLACK		(6 * MIB)

/* A slow machine reads and writes just enough to go beyond the limits. */
static __u64 enough(__u64 size, __u64 slow)
{
	return getenv("VGPU_TIMES") ? slow : size;
}

struct buffer {
	int fd;
	__u32 id;
	__u64 size;
	char *memory;
};

static struct buffer make_buffer(__u32 flavour, __u64 size)
{
	struct vgpu_mock_buf_create create = { .size = size, .flavour = flavour };
	struct buffer buffer = { .fd = open_device(O_RDWR), .size = size };

	MUST(!ioctl(buffer.fd, VGPU_MOCK_IOC_BUF_CREATE, &create));
	buffer.id = create.out_id;
	buffer.memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, buffer.fd,
			     create.out_offset);
	MUST(buffer.memory != MAP_FAILED);
	return buffer;
}

/* Has the device fill the first @length bytes of the buffer. */
static void fill(const struct buffer *buffer, __u64 length, __u32 seed)
{
	struct vgpu_mock_buf_range range = { .id = buffer->id, .length = length, .seed = seed };

	LOG_CALL(ioctl(buffer->fd, VGPU_MOCK_IOC_BUF_FILL, &range));
}

static struct buffer fill_buffer(__u32 flavour, __u64 size, __u32 seed)
{
	struct buffer buffer = make_buffer(flavour, size);

	fill(&buffer, size, seed);
	return buffer;
}

static bool copies(const struct buffer *buffer)
{
	return forwarded && !forward_counter(buffer->fd, "window_mappings");
}

static bool word_is(const struct buffer *buffer, __u64 at, __u32 seed)
{
	__u64 want;

	vgpu_mock_pattern(&want, sizeof(want), seed, at);
	return !memcmp(buffer->memory + at, &want, sizeof(want));
}

static void log_sum(const struct buffer *buffer, __u64 offset, __u64 length)
{
	struct vgpu_mock_buf_range range = { .id = buffer->id, .offset = offset, .length = length };

	LOG_CALL(ioctl(buffer->fd, VGPU_MOCK_IOC_BUF_SUM, &range));
	log_line("sum %llx", range.out_sum);
}

/*
 * Returns the number of pages that the driver has allocated: it allocates a page at its first
 * access.
 */
static __u64 nr_pages(const struct buffer *buffer)
{
	struct vgpu_mock_buf_info info = { .id = buffer->id };

	LOG_CALL(ioctl(buffer->fd, VGPU_MOCK_IOC_BUF_INFO, &info));
	return info.out_pages;
}

/*
 * Has the kernel's shrinkers free memory, as they do when it needs memory. Root may ask for
 * that.
 */
static void need_memory(void)
{
	MUST(tool_write("/proc/sys/vm/drop_caches", "2"));
}

/* Only pages that the program accesses go over the wire, and few that are read ahead. */
DIFF_TEST_LIMIT(large_and_sparse, 60)
{
	struct buffer buffer = make_buffer(VGPU_MOCK_BUF_PFN, 64 * MIB);
	long long before = forward_counter(buffer.fd, "bytes_in");

	buffer.memory[0] = 1;
	buffer.memory[32 * MIB] = 2;
	buffer.memory[64 * MIB - 1] = 3;
	/*
	 * The driver is asked for no page that the program did not access, as it does not read
	 * in order.
	 */
	CHECK(nr_pages(&buffer) == 3);
	if (forwarded && keep_is_on()) {
		CHECK(before >= 0);
		CHECK(forward_counter(buffer.fd, "bytes_in") - before < 4 * (long long)PAGE);
	}
	log_line("%d %d %d", buffer.memory[0], buffer.memory[32 * MIB], buffer.memory[64 * MIB - 1]);
	log_sum(&buffer, 32 * MIB, PAGE);
}

/*
 * A program that reads the same pages after each call gets them with one fetch, which has as
 * many pages as the program read before.
 */
DIFF_TEST(same_pages_after_each_call)
{
	struct buffer buffer = make_buffer(VGPU_MOCK_BUF_PFN, 64 * PAGE);
	/* The last two rounds read fewer pages. */
	const unsigned int pages[] = { 5, 5, 5, 3, 3 };
	unsigned int i;

	for (i = 0; i < 5; i++) {
		long long trips, bytes;

		fill(&buffer, 64 * PAGE, i);
		trips = forward_counter(buffer.fd, "round_trips");
		bytes = forward_counter(buffer.fd, "bytes_in");
		log_bytes("memory", buffer.memory, pages[i] * PAGE);
		if (!forwarded || !i || !keep_is_on())
			continue;
		trips = forward_counter(buffer.fd, "round_trips") - trips;
		bytes = forward_counter(buffer.fd, "bytes_in") - bytes;
		/* A mapping in a window needs no fetch. */
		CHECK(trips == copies(&buffer));
		CHECK(bytes < (long long)(pages[i - 1] + 1) * PAGE);
	}
}

/*
 * A program accesses single pages of half a gigabyte. Pages that were only read are freed when
 * the kernel needs memory, and are fetched again. Pages that were written to keep their bytes.
 */
DIFF_TEST_LIMIT(half_a_gigabyte, 120)
{
	const __u64 size = 512 * MIB, nr = diff_times(1024), step = size / nr / PAGE * PAGE;
	struct buffer buffer = make_buffer(VGPU_MOCK_BUF_PFN, size);
	char *memory = buffer.memory;
	long long fetched, again;
	__u64 i, taken, sums[2] = { 0 };

	fill(&buffer, PAGE, 5);
	for (i = 0; i < nr; i += 2)
		memory[i * step + 100] = i / 2 + 1;
	fetched = forward_counter(buffer.fd, "bytes_in");
	for (i = 1; i < nr; i += 2)
		sums[0] += (unsigned char)memory[i * step + 100];
	fetched = forward_counter(buffer.fd, "bytes_in") - fetched;
	if (copies(&buffer) && !geteuid()) {
		need_memory();
		again = forward_counter(buffer.fd, "bytes_in");
		for (i = 1; i < nr; i += 2)
			sums[1] += (unsigned char)memory[i * step + 100];
		again = forward_counter(buffer.fd, "bytes_in") - again;
		CHECK(sums[0] == sums[1]);
		CHECK(fetched > 0 && again > fetched * 9 / 10);
	}
	for (i = 0; i < nr; i += 2)
		CHECK(memory[i * step + 100] == (char)(i / 2 + 1));
	taken = nr_pages(&buffer);
	CHECK(taken >= nr && taken <= 2 * nr);
	log_sum(&buffer, 0, 4 * MIB);
}

#define CGROUP	"/sys/fs/cgroup"

/* Makes a control group for this process alone, to which the pages cached for it are charged. */
static bool have_meter(const struct buffer *buffer)
{
	if (!copies(buffer) || !keep_is_on())
		return false;
	if (geteuid() || access(CGROUP "/cgroup.subtree_control", W_OK)) {
		printf("# nobody counts this process's pages here\n");
		return false;
	}
	MUST(tool_write(CGROUP "/cgroup.subtree_control", "+memory"));
	MUST(!mkdir(CGROUP "/vgpu-cache", 0755) || errno == EEXIST);
	MUST(tool_write(CGROUP "/vgpu-cache/cgroup.procs", "0"));
	return true;
}

static __s64 meter(void)
{
	FILE *stream = fopen(CGROUP "/vgpu-cache/memory.current", "r");
	long long bytes;

	MUST(stream && fscanf(stream, "%lld", &bytes) == 1);
	fclose(stream);
	return bytes;
}

static void read_much(__u32 flavour)
{
	struct buffer buffer = fill_buffer(flavour, enough(200 * MIB, 96 * MIB), 11);
	bool metered = have_meter(&buffer);
	__s64 start = metered ? meter() : 0, now, most = 0;
	__u64 at, wrong = 0;

	for (at = 0; at < buffer.size; at += PAGE) {
		wrong += !word_is(&buffer, at, 11) + !word_is(&buffer, at + PAGE - 8, 11);
		if (at % MIB || !metered)
			continue;
		now = meter() - start;
		if (most < now)
			most = now;
	}
	CHECK(!wrong);
	/* Much is kept, but not more than the limit. */
	if (metered && !CHECK(most >= (__s64)CLEAN_MAX / 2 && most <= (__s64)(CLEAN_MAX + SLACK)))
		log_line("%lld bytes are kept", most);
}

DIFF_TEST_LIMIT(read_much_pfn, 120)
{
	read_much(VGPU_MOCK_BUF_PFN);
}

DIFF_TEST_LIMIT(read_much_page, 120)
{
	read_much(VGPU_MOCK_BUF_PAGE);
}

static void read_all(const struct buffer *buffer, __u64 size, __u32 seed)
{
	__u64 at, wrong = 0;

	for (at = 0; at < size; at += PAGE)
		wrong += !word_is(buffer, at, seed);
	CHECK(!wrong);
}

static void check_sum(const struct buffer *buffer, __u32 seed)
{
	struct vgpu_mock_buf_range range = { .id = buffer->id, .length = buffer->size };
	__u64 sum = VGPU_MOCK_SUM_INIT, at;
	char page[PAGE];

	for (at = 0; at < buffer->size; at += PAGE) {
		vgpu_mock_pattern(page, PAGE, seed, at);
		sum = vgpu_mock_sum(sum, page, PAGE);
	}
	LOG_CALL(ioctl(buffer->fd, VGPU_MOCK_IOC_BUF_SUM, &range));
	CHECK(range.out_sum == sum);
}

/*
 * A page that is not cached is fetched by the first write, and a fetch sends dirty bytes first.
 * So all pages are read before the first one is written to.
 */
static void write_much(__u32 flavour)
{
	struct buffer buffer = fill_buffer(flavour, enough(40 * MIB, 28 * MIB), 12);
	bool sent_later = copies(&buffer) && keep_is_on();
	__s64 start, waiting, most = 0;
	__u64 at;

	read_all(&buffer, buffer.size, 12);
	start = forward_counter(buffer.fd, "bytes_out");
	for (at = 0; at < buffer.size; at += PAGE) {
		vgpu_mock_pattern(buffer.memory + at, PAGE, 13, at);
		if (at % (PAGE * 16) || !sent_later)
			continue;
		waiting = at + PAGE - (forward_counter(buffer.fd, "bytes_out") - start);
		if (most < waiting)
			most = waiting;
	}
	/* Many bytes are dirty before the guest sends any, but not more than the limit. */
	if (sent_later && !CHECK(most >= (__s64)DIRTY_MAX / 2 && most <= (__s64)(DIRTY_MAX + SLACK)))
		log_line("%lld bytes waited", most);
	check_sum(&buffer, 13);
}

DIFF_TEST_LIMIT(write_much_pfn, 120)
{
	write_much(VGPU_MOCK_BUF_PFN);
}

DIFF_TEST_LIMIT(write_much_page, 120)
{
	write_much(VGPU_MOCK_BUF_PAGE);
}

/* Makes memory of another device of the same host. */
static struct buffer make_other(const char *node)
{
	struct drm_mode_create_dumb dumb = { .width = 1024, .height = 1024, .bpp = 32 };
	struct buffer buffer = { .fd = open(node, O_RDWR | O_CLOEXEC) };
	struct drm_mode_map_dumb offset = {};

	MUST(buffer.fd >= 0 && !ioctl(buffer.fd, DRM_IOCTL_MODE_CREATE_DUMB, &dumb));
	offset.handle = dumb.handle;
	MUST(!ioctl(buffer.fd, DRM_IOCTL_MODE_MAP_DUMB, &offset));
	buffer.size = dumb.size;
	buffer.memory = mmap(NULL, dumb.size, PROT_READ | PROT_WRITE, MAP_SHARED, buffer.fd,
			     offset.offset);
	MUST(buffer.memory != MAP_FAILED);
	vgpu_mock_pattern(buffer.memory, buffer.size, 14, 0);
	return buffer;
}

static long long other_counter(const char *name)
{
	const char *node = getenv("VGPU_CHAR_VGEM_CARD");
	char file[128], line[32];

	if (!forwarded || !node)
		return 0;
	snprintf(file, sizeof(file), "/sys/class/vgpu/%s/%s", strrchr(node, '/') + 1, name);
	tool_read_line(file, line, sizeof(line));
	MUST(line[0]);
	return atoll(line);
}

/*
 * Memory of a device fills the cache of clean pages. Pages of another device are cached
 * nevertheless, as pages of the first device are dropped.
 */
DIFF_TEST_LIMIT(two_devices, 120)
{
	const char *node = getenv(forwarded ? "VGPU_FWD_VGEM_CARD" : "VGPU_REAL_VGEM_CARD");
	struct buffer other, buffer;
	long long fetched;

	if (!node)
		diff_skip("no vgem");
	other = make_other(node);
	/* This is the last call of the test, as a call drops the pages that are cached. */
	buffer = fill_buffer(VGPU_MOCK_BUF_PFN, CLEAN_MAX + MIB, 15);
	read_all(&buffer, CLEAN_MAX + PAGE, 15);
	read_all(&other, other.size, 14);
	fetched = other_counter("bytes_in");
	read_all(&other, other.size, 14);
	if (copies(&buffer) && keep_is_on()) {
		fetched = other_counter("bytes_in") - fetched;
		if (!CHECK(!fetched))
			log_line("%lld bytes came again", fetched);
	}
	read_all(&buffer, buffer.size, 15);
}

/* --- buffers that are new --------------------------------------------------- */

#define NEW_PAGES	8UL

static struct buffer new_buffer(__u32 flavour)
{
	return make_buffer(flavour | VGPU_MOCK_BUF_NEW, NEW_PAGES * PAGE);
}

/*
 * Checks that nothing was fetched since @before. The results of calls are less than a page.
 */
static void check_no_fetch(const struct buffer *buffer, long long before)
{
	long long bytes = forward_counter(buffer->fd, "bytes_in") - before;

	if (copies(buffer) && !CHECK(bytes < (long long)PAGE))
		log_line("%lld bytes came", bytes);
}

/*
 * The device's memory is full of other bytes than zeros. A program that has not fetched them
 * writes zeros: each of these stores must reach the device.
 */
static void new_buffer_zeros(__u32 flavour)
{
	struct buffer buffer = new_buffer(flavour);
	long long before = forward_counter(buffer.fd, "bytes_in");
	__u64 at;

	for (at = 0; at < buffer.size; at += PAGE)
		memset(buffer.memory + at, 0, PAGE);
	log_sum(&buffer, 0, buffer.size);
	check_no_fetch(&buffer, before);
	log_bytes("memory", buffer.memory, buffer.size);
}

DIFF_TEST(new_buffer_pfn)
{
	new_buffer_zeros(VGPU_MOCK_BUF_PFN);
}

DIFF_TEST(new_buffer_page)
{
	new_buffer_zeros(VGPU_MOCK_BUF_PAGE);
}

DIFF_TEST(new_buffer_mixed)
{
	new_buffer_zeros(VGPU_MOCK_BUF_MIXED);
}

/* The kernel stores the zeros, as it copies to the buffer. */
DIFF_TEST(new_buffer_read)
{
	struct buffer buffer = new_buffer(VGPU_MOCK_BUF_PFN);
	long long before = forward_counter(buffer.fd, "bytes_in");
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	LOG_CALL(read(zero, buffer.memory, buffer.size));
	log_sum(&buffer, 0, buffer.size);
	check_no_fetch(&buffer, before);
}

/* A buffer stays new after calls that let neither the device nor another file see it. */
DIFF_TEST(new_buffer_beside_calls)
{
	struct buffer buffer = new_buffer(VGPU_MOCK_BUF_PFN);
	struct vgpu_mock_buf_create create = { .size = PAGE, .flavour = VGPU_MOCK_BUF_NEW };
	long long before = forward_counter(buffer.fd, "bytes_in");

	memset(buffer.memory, 0, PAGE);
	MUST(!ioctl(buffer.fd, VGPU_MOCK_IOC_BUF_CREATE, &create));
	/*
	 * The number is not compared with the native one, as forwarding accesses pages at
	 * another time.
	 */
	nr_pages(&buffer);
	memset(buffer.memory + PAGE, 0, buffer.size - PAGE);
	log_sum(&buffer, 0, buffer.size);
	check_no_fetch(&buffer, before);
}

/* A program reads the buffer before it writes to it. */
DIFF_TEST(new_buffer_read_first)
{
	struct buffer buffer = new_buffer(VGPU_MOCK_BUF_PFN);
	struct buffer other = fill_buffer(VGPU_MOCK_BUF_PFN, PAGE, 24);

	log_bytes("memory", buffer.memory, PAGE);
	/* This call makes the guest drop the buffer's cached pages. */
	log_sum(&other, 0, PAGE);
	buffer.memory[100] = 0;
	log_sum(&buffer, 0, PAGE);
	log_bytes("memory", buffer.memory, PAGE);
}

/*
 * A pipe holds a reference of a page that went to the device as a whole, so the page stays
 * cached. From then on the guest sends the bytes that differ from the device's.
 */
DIFF_TEST(new_buffer_held)
{
	struct buffer buffer = new_buffer(VGPU_MOCK_BUF_PAGE);
	struct iovec page = { buffer.memory, PAGE };
	int pipes[2];

	memset(buffer.memory, 'h', PAGE);
	MUST(!pipe(pipes));
	LOG_CALL(vmsplice(pipes[1], &page, 1, 0));
	log_sum(&buffer, 0, buffer.size);
	fill(&buffer, buffer.size, 22);
	log_bytes("memory", buffer.memory, buffer.size);
	buffer.memory[100] = 'w';
	log_sum(&buffer, 0, buffer.size);
	close(pipes[0]);
	close(pipes[1]);
	buffer.memory[200] = 'x';
	log_sum(&buffer, 0, buffer.size);
	log_bytes("memory", buffer.memory, buffer.size);
}

/* The device has written to all of the buffer before the program writes to it. */
static void new_buffer_filled(__u32 flavour)
{
	struct buffer buffer = new_buffer(flavour);
	__u64 at;

	fill(&buffer, buffer.size, 21);
	for (at = 0; at < buffer.size; at += PAGE)
		buffer.memory[at + 100] = 0;
	log_sum(&buffer, 0, buffer.size);
	log_bytes("memory", buffer.memory, buffer.size);
}

DIFF_TEST(new_buffer_filled_pfn)
{
	new_buffer_filled(VGPU_MOCK_BUF_PFN);
}

DIFF_TEST(new_buffer_filled_page)
{
	new_buffer_filled(VGPU_MOCK_BUF_PAGE);
}

/* The device writes to the buffer before the program maps it. */
DIFF_TEST(new_buffer_filled_first)
{
	struct vgpu_mock_buf_create create = {
		.size = NEW_PAGES * PAGE, .flavour = VGPU_MOCK_BUF_NEW,
	};
	struct buffer buffer = { .fd = open_device(O_RDWR), .size = create.size };

	MUST(!ioctl(buffer.fd, VGPU_MOCK_IOC_BUF_CREATE, &create));
	buffer.id = create.out_id;
	fill(&buffer, buffer.size, 22);
	buffer.memory = mmap(NULL, buffer.size, PROT_READ | PROT_WRITE, MAP_SHARED, buffer.fd,
			     create.out_offset);
	MUST(buffer.memory != MAP_FAILED);
	buffer.memory[100] = 0;
	log_sum(&buffer, 0, buffer.size);
}

/* A call that no schema describes lets the device write to the buffer as well. */
DIFF_TEST(new_buffer_unknown)
{
	struct buffer buffer = new_buffer(VGPU_MOCK_BUF_PFN);
	struct vgpu_mock_buf_range range = {
		.id = buffer.id, .length = buffer.size, .seed = 23,
	};

	LOG_CALL(ioctl(buffer.fd, VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_BUF_FILL), &range));
	buffer.memory[100] = 0;
	log_sum(&buffer, 0, buffer.size);
}

/* Bytes that were sent before stay when the program writes more to the same pages. */
DIFF_TEST(new_buffer_sent_in_between)
{
	struct buffer buffer = new_buffer(VGPU_MOCK_BUF_PFN);
	struct buffer other = fill_buffer(VGPU_MOCK_BUF_PFN, PAGE, 24);
	__u64 at;

	for (at = 0; at < buffer.size; at += PAGE)
		memset(buffer.memory + at, 1, PAGE / 2);
	/* A call on another file sends the bytes, and leaves the buffer new. */
	log_sum(&other, 0, PAGE);
	for (at = 0; at < buffer.size; at += PAGE)
		memset(buffer.memory + at + PAGE / 2, 2, PAGE / 2);
	log_bytes("memory", buffer.memory, buffer.size);
	log_sum(&buffer, 0, buffer.size);
}

/* The program maps a part of the buffer first, and then all of it. */
DIFF_TEST(new_buffer_part_first)
{
	struct vgpu_mock_buf_create create = {
		.size = NEW_PAGES * PAGE, .flavour = VGPU_MOCK_BUF_NEW,
	};
	struct buffer buffer = { .fd = open_device(O_RDWR), .size = create.size };
	struct buffer other = fill_buffer(VGPU_MOCK_BUF_PFN, PAGE, 26);
	char *part;

	MUST(!ioctl(buffer.fd, VGPU_MOCK_IOC_BUF_CREATE, &create));
	buffer.id = create.out_id;
	part = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, buffer.fd,
		    create.out_offset + PAGE);
	MUST(part != MAP_FAILED);
	memset(part, 1, PAGE);
	log_sum(&other, 0, PAGE);
	buffer.memory = mmap(NULL, buffer.size, PROT_READ | PROT_WRITE, MAP_SHARED, buffer.fd,
			     create.out_offset);
	MUST(buffer.memory != MAP_FAILED);
	buffer.memory[PAGE] = 2;
	log_bytes("memory", buffer.memory + PAGE, PAGE);
	log_sum(&buffer, PAGE, PAGE);
}

/* Parent and child share a mapping of a new buffer. */
DIFF_TEST(new_buffer_fork)
{
	struct buffer buffer = new_buffer(VGPU_MOCK_BUF_PAGE);
	struct buffer other = fill_buffer(VGPU_MOCK_BUF_PFN, PAGE, 24);
	int status;
	pid_t pid;

	memset(buffer.memory, 1, PAGE);
	log_sum(&other, 0, PAGE);
	pid = fork();
	if (!pid) {
		buffer.memory[1] = 2;
		memset(buffer.memory + PAGE, 2, PAGE);
		_exit(buffer.memory[0] != 1);
	}
	MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
	log_bytes("memory", buffer.memory, 2 * PAGE);
	log_sum(&buffer, 0, 2 * PAGE);
}

struct storer {
	const struct buffer *buffer;
	pthread_barrier_t barrier;
};

static void *store_words(void *arg)
{
	struct storer *storer = arg;
	__u64 at;

	pthread_barrier_wait(&storer->barrier);
	for (at = 0; at < storer->buffer->size; at += PAGE)
		*(volatile __u64 *)(storer->buffer->memory + at) = at + 1;
	return NULL;
}

/*
 * A thread stores to pages for the first time while another thread makes calls that let the
 * device write to other bytes of these pages.
 */
DIFF_TEST_LIMIT(new_buffer_race, 120)
{
	struct storer storer;
	int i, times = diff_times(100);
	__u64 lost = 0;

	for (i = 0; i < times; i++) {
		struct buffer buffer = new_buffer(i % 2 ? VGPU_MOCK_BUF_PAGE : VGPU_MOCK_BUF_PFN);
		struct vgpu_mock_buf_range range = { .id = buffer.id, .seed = 27 };
		pthread_t thread;
		__u64 at;

		storer.buffer = &buffer;
		MUST(!pthread_barrier_init(&storer.barrier, NULL, 2));
		MUST(!pthread_create(&thread, NULL, store_words, &storer));
		pthread_barrier_wait(&storer.barrier);
		for (at = 0; at < buffer.size; at += PAGE) {
			range.offset = at + 8;
			range.length = PAGE - 8;
			MUST(!ioctl(buffer.fd, VGPU_MOCK_IOC_BUF_FILL, &range));
		}
		MUST(!pthread_join(thread, NULL));
		for (at = 0; at < buffer.size; at += PAGE)
			lost += *(__u64 *)(buffer.memory + at) != at + 1 ||
				!word_is(&buffer, at + 8, 27) ||
				!word_is(&buffer, at + PAGE - 8, 27);
		MUST(!munmap(buffer.memory, buffer.size));
		close(buffer.fd);
	}
	CHECK(!lost);
	if (lost)
		log_line("%llu pages", lost);
}

/*
 * The driver tells a buffer's name and its offset by two ioctls, and the buffer still counts as
 * new.
 */
DIFF_TEST(new_buffer_dumb)
{
	const char *node = getenv(forwarded ? "VGPU_FWD_VGEM_CARD" : "VGPU_REAL_VGEM_CARD");
	struct drm_mode_create_dumb dumb = { .width = 64, .height = 64, .bpp = 32 };
	struct drm_mode_map_dumb offset = {};
	long long before;
	char *memory;
	int fd;

	if (!node)
		diff_skip("no vgem");
	fd = open(node, O_RDWR | O_CLOEXEC);
	MUST(fd >= 0 && !ioctl(fd, DRM_IOCTL_MODE_CREATE_DUMB, &dumb));
	offset.handle = dumb.handle;
	MUST(!ioctl(fd, DRM_IOCTL_MODE_MAP_DUMB, &offset));
	memory = mmap(NULL, dumb.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset.offset);
	MUST(memory != MAP_FAILED);
	before = other_counter("bytes_in");
	vgpu_mock_pattern(memory, dumb.size, 28, 0);
	if (forwarded && !other_counter("window_mappings"))
		CHECK(other_counter("bytes_in") == before);
	log_bytes("memory", memory, dumb.size);
	/* The call makes the guest send all bytes, and drop its cached pages. */
	MUST(!ioctl(fd, DRM_IOCTL_MODE_MAP_DUMB, &offset));
	log_bytes("memory", memory, dumb.size);
}

/*
 * A device takes turns with programs: the device has the bytes that the program wrote last, also
 * where these are the bytes that the program had read before the device wrote. No call tells the
 * guest that the device is done.
 */
DIFF_TEST_NODE(equal_bytes_apart, "ITER", 60)
{
	struct vgpu_mock_buf_range range = { .length = 2 * PAGE, .seed = 29, .delay_ms = 50 };
	struct vgpu_mock_buf_info info = {};
	struct buffer buffer;
	__u64 seen;

	/* On a slow machine the device may write before the read: try again with a longer delay. */
	do {
		buffer = make_buffer(VGPU_MOCK_BUF_PFN, 2 * PAGE);
		memset(buffer.memory, 0, PAGE);
		range.id = buffer.id;
		range.delay_ms *= 2;
		MUST(!ioctl(buffer.fd, VGPU_MOCK_IOC_BUF_FILL, &range));
		seen = *(volatile __u64 *)buffer.memory;
		info.id = buffer.id;
		do {
			sleep_ms(1);
			MUST(!ioctl(buffer.fd, VGPU_MOCK_IOC_BUF_INFO, &info));
			/*
			 * The device allocates the second page when it has finished the first
			 * one.
			 */
		} while (info.out_pages < 2);
	} while (seen);
	memset(buffer.memory, 0, PAGE);
	log_sum(&buffer, 0, PAGE);
	log_bytes("memory", buffer.memory, PAGE);
}

KEEP_MAIN
