// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program uses vgem's card node by libdrm: dumb buffers, two mappings, and a dma-buf, on the
 * real node and on the forwarded one.
 */
#include <drm.h>
#include <drm_mode.h>
#include <linux/dma-buf.h>
#include <poll.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

#include "vgpu_diff.h"

#define WIDTH	64
#define HEIGHT	32

static int open_card(void)
{
	int fd = open_device(O_RDWR | O_CLOEXEC);
	drmVersion *version = drmGetVersion(fd);

	MUST(version);
	if (strcmp(version->name, "vgem"))
		log_line("driver is %s", version->name);
	drmFreeVersion(version);
	return fd;
}

static struct drm_mode_create_dumb create_dumb(int fd, __u32 width, __u32 height)
{
	struct drm_mode_create_dumb create = { .width = width, .height = height, .bpp = 32 };

	MUST(!drmIoctl(fd, DRM_IOCTL_MODE_CREATE_DUMB, &create));
	return create;
}

static void *map_dumb(int fd, __u32 handle, __u64 size)
{
	struct drm_mode_map_dumb map = { .handle = handle };
	void *memory;

	MUST(!drmIoctl(fd, DRM_IOCTL_MODE_MAP_DUMB, &map));
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, map.offset);
	MUST(memory != MAP_FAILED);
	return memory;
}

static void dma_buf_sync(int fd, __u64 flags)
{
	struct dma_buf_sync sync = { .flags = flags };

	LOG_CALL(ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync));
}

DIFF_TEST_NODE(version, "CARD", DIFF_SECONDS)
{
	int fd = open_device(O_RDWR);
	drmVersion *version = drmGetVersion(fd);

	MUST(version);
	log_line("%d.%d.%d", version->version_major, version->version_minor,
		 version->version_patchlevel);
	log_line("name '%s' (%d)", version->name, version->name_len);
	CHECK((size_t)version->date_len == strlen(version->date));
	log_line("date '%s'", version->date);
	log_line("desc '%s' (%d)", version->desc, version->desc_len);
	drmFreeVersion(version);
}

/*
 * The buffers are shorter than the driver's names: as much as fits is copied, and the true
 * length is returned.
 */
DIFF_TEST_NODE(version_short, "CARD", DIFF_SECONDS)
{
	char name[8] = "-------", desc[8] = "-------";
	struct drm_version version = {
		.name = name, .name_len = 2, .desc = desc, .desc_len = 0,
	};
	int fd = open_device(O_RDWR);

	LOG_CALL(ioctl(fd, DRM_IOCTL_VERSION, &version));
	log_line("name '%s' (%zu), desc '%s' (%zu)", name, (size_t)version.name_len, desc,
		 (size_t)version.desc_len);
	log_line("date (%zu)", (size_t)version.date_len);
	version.name = (char *)8;
	LOG_CALL(ioctl(fd, DRM_IOCTL_VERSION, &version));
	LOG_CALL(ioctl(fd, DRM_IOCTL_VERSION, NULL));
}

DIFF_TEST_NODE(capabilities, "CARD", DIFF_SECONDS)
{
	int fd = open_device(O_RDWR);
	uint64_t i, value;

	for (i = 0; i < 0x20; i++) {
		value = 99;
		log_line("capability %llu", (__u64)i);
		LOG_CALL(drmGetCap(fd, i, &value));
		log_line("value %llu", (__u64)value);
	}
	for (i = 0; i < 8; i++)
		LOG_CALL(drmSetClientCap(fd, i, 1));
}

DIFF_TEST_NODE(errors, "CARD", DIFF_SECONDS)
{
	struct drm_mode_create_dumb create = { .width = 0, .height = 10, .bpp = 32 };
	struct drm_mode_map_dumb map = { .handle = 4711 };
	struct drm_gem_close gem_close = { .handle = 4711 };
	struct drm_prime_handle prime = { .handle = 4711, .flags = O_CLOEXEC };
	int fd = open_device(O_RDWR);

	LOG_CALL(ioctl(fd, DRM_IOCTL_MODE_CREATE_DUMB, &create));
	create.width = 0xffffffff;
	create.height = 0xffffffff;
	LOG_CALL(ioctl(fd, DRM_IOCTL_MODE_CREATE_DUMB, &create));
	LOG_CALL(ioctl(fd, DRM_IOCTL_MODE_MAP_DUMB, &map));
	LOG_CALL(ioctl(fd, DRM_IOCTL_GEM_CLOSE, &gem_close));
	LOG_CALL(ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	prime.fd = -1;
	LOG_CALL(ioctl(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime));
	LOG_CALL(ioctl(fd, DRM_IO(0x9f), NULL));
	LOG_CALL(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0);
	LOG_CALL(lseek(fd, 0, SEEK_CUR));
	LOG_CALL(write(fd, "x", 1));
}

DIFF_TEST_NODE(mode_resources, "CARD", DIFF_SECONDS)
{
	int fd = open_device(O_RDWR);
	drmModeRes *resources = drmModeGetResources(fd);

	if (!resources) {
		log_line("resources: %s", strerrorname_np(errno));
		return;
	}
	log_line("%d crtcs, %d connectors, %d encoders, %d framebuffers",
		 resources->count_crtcs, resources->count_connectors,
		 resources->count_encoders, resources->count_fbs);
	drmModeFreeResources(resources);
}

/* Bytes that are written by one mapping can be read by another one and by the dma-buf's. */
DIFF_TEST_NODE(dumb_buffer, "CARD", 60)
{
	int fd = open_card();
	struct drm_mode_create_dumb dumb = create_dumb(fd, WIDTH, HEIGHT);
	__u8 *one = map_dumb(fd, dumb.handle, dumb.size);
	__u8 *two = map_dumb(fd, dumb.handle, dumb.size);
	__u8 *expected = alloc_bytes(dumb.size, 1);
	struct stat st;
	__u8 *three;
	int buf = -1;

	log_line("handle %u, pitch %u, size %llu", dumb.handle, dumb.pitch, dumb.size);
	memcpy(one, expected, dumb.size);
	CHECK(!memcmp(two, expected, dumb.size));
	log_bytes("two", two, dumb.size);

	LOG_CALL(drmPrimeHandleToFD(fd, dumb.handle, DRM_CLOEXEC | DRM_RDWR, &buf));
	MUST(buf >= 0);
	LOG_CALL(fcntl(buf, F_GETFD));
	LOG_CALL(fstat(buf, &st));
	LOG_CALL(lseek(buf, 0, SEEK_END));
	LOG_CALL(lseek(buf, 0, SEEK_SET));
	three = mmap(NULL, dumb.size, PROT_READ | PROT_WRITE, MAP_SHARED, buf, 0);
	MUST(three != MAP_FAILED);
	dma_buf_sync(buf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW);
	CHECK(!memcmp(three, expected, dumb.size));
	vgpu_mock_pattern(three, dumb.size, 2, 0);
	vgpu_mock_pattern(expected, dumb.size, 2, 0);
	dma_buf_sync(buf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW);
	CHECK(!memcmp(one, expected, dumb.size));
	log_bytes("one", one, dumb.size);
	/* The mappings stay when the files are closed. */
	LOG_CALL(close(buf));
	LOG_CALL(drmIoctl(fd, DRM_IOCTL_MODE_DESTROY_DUMB,
			  &(struct drm_mode_destroy_dumb) { dumb.handle }));
	LOG_CALL(close(fd));
	three[5] = 77;
	CHECK(one[5] == 77 && two[5] == 77);
}

/* The dma-buf is imported into the same opened file and into another one. */
DIFF_TEST_NODE(import, "CARD", 60)
{
	int fd = open_card();
	int other = open_card();
	struct drm_mode_create_dumb dumb = create_dumb(fd, WIDTH, HEIGHT);
	__u8 *one = map_dumb(fd, dumb.handle, dumb.size);
	__u32 handle = 0, again = 0;
	__u8 *two;
	int buf;

	memset(one, 0x11, dumb.size);
	MUST(!drmPrimeHandleToFD(fd, dumb.handle, DRM_CLOEXEC | DRM_RDWR, &buf));
	LOG_CALL(drmPrimeFDToHandle(fd, buf, &again));
	CHECK(again == dumb.handle);
	LOG_CALL(drmPrimeFDToHandle(other, buf, &handle));
	log_line("handle %u", handle);
	two = map_dumb(other, handle, dumb.size);
	CHECK(two[100] == 0x11);
	two[100] = 0x22;
	CHECK(one[100] == 0x22);
	close(buf);
	close(fd);
	CHECK(two[100] == 0x22);
	LOG_CALL(drmIoctl(other, DRM_IOCTL_GEM_CLOSE, &(struct drm_gem_close) { .handle = handle }));
}

DIFF_TEST_NODE(dma_buf_operations, "CARD", DIFF_SECONDS)
{
	int fd = open_card();
	struct drm_mode_create_dumb dumb = create_dumb(fd, WIDTH, HEIGHT);
	struct pollfd pollfd = { .events = POLLIN | POLLOUT };
	char byte;

	MUST(!drmPrimeHandleToFD(fd, dumb.handle, DRM_CLOEXEC, &pollfd.fd));
	LOG_CALL(poll(&pollfd, 1, 0));
	log_line("revents %x", pollfd.revents);
	LOG_CALL(ioctl(pollfd.fd, DMA_BUF_SET_NAME, "a name"));
	LOG_CALL(ioctl(pollfd.fd, _IO('b', 0x77), 0));
	LOG_CALL(read(pollfd.fd, &byte, 1));
	LOG_CALL(write(pollfd.fd, "x", 1));
	LOG_CALL(lseek(pollfd.fd, 1, SEEK_END));
	LOG_CALL(lseek(pollfd.fd, 5, SEEK_SET));
	/* The dma-buf was exported without O_RDWR. */
	LOG_CALL(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, pollfd.fd, 0) ==
		 MAP_FAILED ? -1 : 0);
	LOG_CALL(mmap(NULL, 4096, PROT_READ, MAP_SHARED, pollfd.fd, 0) == MAP_FAILED ? -1 : 0);
	LOG_CALL(mmap(NULL, dumb.size + 4096, PROT_READ, MAP_SHARED, pollfd.fd, 0) ==
		 MAP_FAILED ? -1 : 0);
}

/* A whole megabyte is written line by line. */
DIFF_TEST_NODE(large_buffer, "CARD", 60)
{
	int fd = open_card();
	struct drm_mode_create_dumb dumb = create_dumb(fd, 512, 512);
	__u8 *one = map_dumb(fd, dumb.handle, dumb.size);
	__u8 *two = map_dumb(fd, dumb.handle, dumb.size);
	__u32 y;

	for (y = 0; y < 512; y++)
		vgpu_mock_pattern(one + y * dumb.pitch, dumb.pitch, y, 0);
	log_bytes("two", two, dumb.size);
	for (y = 0; y < 512; y += 100)
		CHECK(!memcmp(one + y * dumb.pitch, two + y * dumb.pitch, dumb.pitch));
}

/*
 * DRM's core writes an argument back if its command says so, even if the driver has not changed
 * it.
 */
DIFF_TEST_NODE(read_only_argument, "CARD", DIFF_SECONDS)
{
	struct drm_get_cap *cap = alloc_pages(1);
	struct drm_gem_close *close = (void *)cap;
	int fd = open_card();

	/*
	 * These calls do not change the argument: the first capability is unknown, and the
	 * second has the value that is there already.
	 */
	cap->capability = 0x7777;
	LOG_CALL(ioctl(fd, DRM_IOCTL_GET_CAP, cap));
	MUST(!mprotect(cap, 4096, PROT_READ));
	LOG_CALL(ioctl(fd, DRM_IOCTL_GET_CAP, cap));
	MUST(!mprotect(cap, 4096, PROT_READ | PROT_WRITE));
	cap->capability = DRM_CAP_DUMB_PREFER_SHADOW;
	cap->value = 0;
	LOG_CALL(ioctl(fd, DRM_IOCTL_GET_CAP, cap));
	MUST(!mprotect(cap, 4096, PROT_READ));
	LOG_CALL(ioctl(fd, DRM_IOCTL_GET_CAP, cap));
	/* The argument of this ioctl is only read. */
	MUST(!mprotect(cap, 4096, PROT_READ | PROT_WRITE));
	close->handle = 0x7777;
	MUST(!mprotect(cap, 4096, PROT_READ));
	LOG_CALL(ioctl(fd, DRM_IOCTL_GEM_CLOSE, close));
}

TEST_HARNESS_MAIN
