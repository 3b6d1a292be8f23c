// SPDX-License-Identifier: GPL-2.0-only
/*
 * copy_mode: measures the cost of mapped device memory without a window: the bytes on the wire
 * for a MiB whose pages change as programs change them, and the time for 16 MiB each way. The
 * time is compared with a raw stream of as many bytes over vsock in the same VM, and with that
 * stream plus the loop and the three copies that are necessary: one to find changes, one into
 * the message, and one out of it. Rounds of all alternate.
 *
 *	VGPU_FWD=/dev/vgpuN copy_mode
 *
 * Exit status: 0 measured (whatever the times), 1 bytes are wrong or something failed, 3 too
 * many bytes or round trips, 4 no forwarded mock device, or one with a window.
 */
#include <err.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "../mock/vgpu_mock.h"
#include "../mock/vgpu_mock_pattern.h"
#include "raw.h"

#define EXPIRE	"/sys/module/vgpu_guest/parameters/expire_ms"
#define MIB	(1UL << 20)
#define LARGE	(16 * MIB)
#define ROUNDS	5
/* These are the most bytes on the wire and round trips for a MiB. */
#define MOST_BYTES	(MIB + MIB / 10)
#define MOST_TRIPS	4

static int device;
/* The compiler would leave out reads of memory whose sum is not used. */
static volatile __u64 looked_at;

static long long counter(const char *name)
{
	struct stat st;
	char file[128];
	long long value;
	FILE *stream;

	if (fstat(device, &st))
		err(1, "the device");
	snprintf(file, sizeof(file), "/sys/dev/char/%u:%u/%s", major(st.st_rdev),
		 minor(st.st_rdev), name);
	stream = fopen(file, "r");
	if (!stream || fscanf(stream, "%lld", &value) != 1)
		err(1, "%s", file);
	fclose(stream);
	return value;
}

struct buffer {
	uint32_t id;
	size_t size;
	unsigned char *memory;
};

/* Makes a new buffer, as a program does before it writes. */
static struct buffer make_buffer(size_t size)
{
	struct vgpu_mock_buf_create create = {
		.size = size, .flavour = VGPU_MOCK_BUF_PFN | VGPU_MOCK_BUF_NEW,
	};
	struct buffer buffer = { .size = size };

	if (ioctl(device, VGPU_MOCK_IOC_BUF_CREATE, &create))
		err(1, "VGPU_MOCK_IOC_BUF_CREATE");
	buffer.id = create.out_id;
	buffer.memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, device,
			     create.out_offset);
	if (buffer.memory == MAP_FAILED)
		err(1, "mmap");
	return buffer;
}

static void free_buffer(struct buffer *buffer)
{
	struct vgpu_mock_buf_range range = { .id = buffer->id };

	munmap(buffer->memory, buffer->size);
	if (ioctl(device, VGPU_MOCK_IOC_BUF_DESTROY, &range))
		err(1, "VGPU_MOCK_IOC_BUF_DESTROY");
}

/*
 * Makes a call after which the device has all written bytes. The call itself accesses few
 * bytes.
 */
static void submit(const struct buffer *buffer)
{
	struct vgpu_mock_buf_range range = { .id = buffer->id, .length = 8 };

	if (ioctl(device, VGPU_MOCK_IOC_BUF_SUM, &range))
		err(1, "VGPU_MOCK_IOC_BUF_SUM");
}

static void check(const struct buffer *buffer)
{
	struct vgpu_mock_buf_range range = { .id = buffer->id, .length = buffer->size };
	__u64 sum = vgpu_mock_sum(VGPU_MOCK_SUM_INIT, buffer->memory, buffer->size);

	if (ioctl(device, VGPU_MOCK_IOC_BUF_SUM, &range))
		err(1, "VGPU_MOCK_IOC_BUF_SUM");
	if (range.out_sum != sum)
		errx(1, "the device has other bytes");
}

/* --- bytes on the wire -------------------------------------------------------- */

/*
 * Sets how long pages stay cached without a call, in ms; 0: until the next call, however slow
 * the machine is. Return: the setting before.
 */
static unsigned int set_expire(unsigned int ms)
{
	unsigned int before;
	FILE *file = fopen(EXPIRE, "r+");

	if (!file || fscanf(file, "%u", &before) != 1)
		err(1, EXPIRE);
	rewind(file);
	fprintf(file, "%u", ms);
	if (fclose(file))
		err(1, EXPIRE);
	return before;
}

static void zeros(unsigned char *p, size_t len)
{
	memset(p, 0, len);
}

static void numbers(unsigned char *p, size_t len)
{
	float *number = (float *)p;
	size_t i;

	for (i = 0; i < len / 4; i++)
		number[i] = i % 1024;
}

static void other_numbers(unsigned char *p, size_t len)
{
	float *number = (float *)p;
	size_t i;

	for (i = 0; i < len / 4; i++)
		number[i] = i % 1024 * 0.37f + 1;
}

static void indices(unsigned char *p, size_t len)
{
	uint32_t *index = (uint32_t *)p;
	size_t i;

	for (i = 0; i < len / 4; i++)
		index[i] = i;
}

static void picture(unsigned char *p, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		p[i] = i % 4 == 3 ? 0xff : i * 7 % 251;
}

static void other_picture(unsigned char *p, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		p[i] = i % 4 == 3 ? 0xff : i * 11 % 241;
}

static const struct content {
	const char *name;
	void (*before)(unsigned char *p, size_t len);
	void (*after)(unsigned char *p, size_t len);
} contents[] = {
	{ "zeros to numbers", zeros, numbers },
	{ "numbers to other numbers", numbers, other_numbers },
	{ "a picture to another", picture, other_picture },
	{ "zeros to indices", zeros, indices },
};

/* Return: true if the bytes and round trips are within the limits. */
static bool measure_content(const struct content *content)
{
	struct buffer buffer = make_buffer(MIB);
	long long bytes, trips;

	content->before(buffer.memory, MIB);
	submit(&buffer);
	/* The pages that are to be changed are fetched here, so that they do not count. */
	looked_at = vgpu_mock_sum(0, buffer.memory, MIB);
	content->after(buffer.memory, MIB);
	bytes = counter("bytes_out");
	trips = counter("round_trips");
	submit(&buffer);
	bytes = counter("bytes_out") - bytes;
	/* The round trip of the call itself does not count. */
	trips = counter("round_trips") - trips - 1;
	check(&buffer);
	printf("%-26s %5.3f MiB a MiB, %4lld round trips (1.1 and %d are the most)\n",
	       content->name, (double)bytes / MIB, trips, MOST_TRIPS);
	free_buffer(&buffer);
	return (unsigned long)bytes <= MOST_BYTES && trips <= MOST_TRIPS;
}

/* --- time -------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values)
{
	qsort(values, ROUNDS, sizeof(*values), by_value);
	return values[ROUNDS / 2];
}

/* Allocates private memory whose pages do not exist yet. */
static void *plain_memory(void)
{
	void *memory = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	if (memory == MAP_FAILED)
		err(1, "mmap of 16 MiB");
	return memory;
}

/* Stores numbers, and copies them three times. Return: the time, in microseconds. */
static double plain_copies(int round)
{
	void *pages[4];
	uint64_t *word;
	double start;
	size_t i;

	for (i = 0; i < 4; i++)
		pages[i] = plain_memory();
	word = pages[0];
	start = raw_now_us();
	for (i = 0; i < LARGE / sizeof(*word); i++)
		word[i] = i * 0x9e3779b97f4a7c15 + round;
	for (i = 1; i < 4; i++)
		memcpy(pages[i], pages[i - 1], LARGE);
	start = raw_now_us() - start;
	looked_at = vgpu_mock_sum(0, pages[3], LARGE);
	for (i = 0; i < 4; i++)
		munmap(pages[i], LARGE);
	return start;
}

/*
 * Stores numbers to a buffer and makes a call. @stores: out: time until the call. Return: the
 * whole time, in microseconds.
 */
static double store_up(int round, double *stores)
{
	struct buffer buffer = make_buffer(LARGE);
	double start = raw_now_us(), took;
	uint64_t *word = (uint64_t *)buffer.memory;
	size_t i;

	for (i = 0; i < LARGE / sizeof(*word); i++)
		word[i] = i * 0x9e3779b97f4a7c15 + round;
	*stores = raw_now_us() - start;
	submit(&buffer);
	took = raw_now_us() - start;
	check(&buffer);
	free_buffer(&buffer);
	return took;
}

static double read_back(int round)
{
	struct buffer buffer = make_buffer(LARGE);
	struct vgpu_mock_buf_range fill = { .id = buffer.id, .seed = round, .length = LARGE };
	double start, took;
	__u64 sum = VGPU_MOCK_SUM_INIT, want;
	volatile uint64_t *word = (uint64_t *)buffer.memory;
	uint64_t seen = 0;
	size_t i;

	if (ioctl(device, VGPU_MOCK_IOC_BUF_FILL, &fill))
		err(1, "VGPU_MOCK_IOC_BUF_FILL");
	start = raw_now_us();
	for (i = 0; i < LARGE / sizeof(*word); i++)
		seen ^= word[i];
	took = raw_now_us() - start;
	want = vgpu_mock_sum(sum, buffer.memory, LARGE);
	if (ioctl(device, VGPU_MOCK_IOC_BUF_SUM, &fill))
		err(1, "VGPU_MOCK_IOC_BUF_SUM");
	if (fill.out_sum != want || !seen)
		errx(1, "the program has other bytes");
	free_buffer(&buffer);
	return took;
}

int main(void)
{
	const char *path = getenv("VGPU_FWD");
	double up[ROUNDS], stores[ROUNDS], down[ROUNDS], raw[ROUNDS], copies[ROUNDS];
	double stream, value;
	bool little = true;
	unsigned int expire;
	int fd, i;

	device = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	if (device < 0) {
		puts("no forwarded mock device");
		return 4;
	}
	{
		struct buffer buffer = make_buffer(MIB);
		bool copied = counter("copy_mappings") && !counter("window_mappings");

		free_buffer(&buffer);
		if (!copied) {
			puts("mappings are seen in a window");
			return 4;
		}
	}
	expire = set_expire(0);
	for (i = 0; i < (int)(sizeof(contents) / sizeof(contents[0])); i++)
		little &= measure_content(&contents[i]);
	set_expire(expire);

	fd = raw_connect();
	raw_stream(fd, LARGE);
	for (i = 0; i < ROUNDS; i++) {
		double start = raw_now_us();

		raw_stream(fd, LARGE);
		raw[i] = raw_now_us() - start;
		copies[i] = raw[i] + plain_copies(i);
		up[i] = store_up(i, &stores[i]);
		down[i] = read_back(i);
	}
	stream = median(raw);
	printf("%-26s %8.1f ms\n", "16 MiB, raw stream", stream / 1000);
	value = median(copies);
	printf("%-26s %8.1f ms, %.2f of the raw stream's time\n", "  with stores and copies",
	       value / 1000, value / stream);
	value = median(up);
	printf("%-26s %8.1f ms, %.2f of the raw stream's time\n", "16 MiB up by stores",
	       value / 1000, value / stream);
	printf("%-26s %8.1f ms\n", "  of which the stores", median(stores) / 1000);
	value = median(down);
	printf("%-26s %8.1f ms, %.2f of the raw stream's time\n", "16 MiB read back",
	       value / 1000, value / stream);
	if (!little)
		puts("more than that has gone over the wire");
	return little ? 0 : 3;
}
