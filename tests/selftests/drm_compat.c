// SPDX-License-Identifier: GPL-2.0-only
/*
 * A 32-bit program (the Makefile compiles it so) uses DRM nodes: ioctls whose struct the kernel
 * translates for such programs, and others.
 */
#include <linux/dma-buf.h>
#include <stddef.h>

#include "drm_node.h"

_Static_assert(sizeof(long) == 4, "a 32-bit program");
/* The struct has 4 bytes less than in 64-bit programs, as the modifiers are aligned to 4. */
_Static_assert(sizeof(struct drm_mode_fb_cmd2) == 100, "no padding before modifier");

static struct drm_mode_create_dumb create_dumb(int fd)
{
	struct drm_mode_create_dumb create = { .width = 64, .height = 32, .bpp = 32 };

	MUST(!LOG_CALL(ioctl(fd, DRM_IOCTL_MODE_CREATE_DUMB, &create)));
	log_line("pitch %u size %llu", create.pitch, (unsigned long long)create.size);
	return create;
}

static void log_version(int fd)
{
	char name[32] = "", date[32] = "", desc[64] = "";
	struct drm_version version = {
		.name = name, .name_len = sizeof(name) - 1,
		.date = date, .date_len = sizeof(date) - 1,
		.desc = desc, .desc_len = 4,
	};

	LOG_CALL(ioctl(fd, DRM_IOCTL_VERSION, &version));
	CHECK(version.name == name && version.date == date && version.desc == desc);
	log_line("%d.%d %s (%zu) %s (%zu) %s (%zu)", version.version_major,
		 version.version_minor, name, version.name_len, date, version.date_len,
		 desc, version.desc_len);
}

/* The struct has pointers and lengths of 32 bits. */
DIFF_TEST_NODE(version, "VGEM_CARD", DIFF_SECONDS)
{
	struct drm_version empty = { 0 }, bad = { .name = (char *)8, .name_len = 4 };
	int fd = open_device(O_RDWR);

	drm_node = "VGEM_CARD";
	log_version(fd);
	LOG_CALL(drm_counted(fd, DRM_IOCTL_VERSION, &empty, "VERSION", 1));
	log_line("%zu %zu %zu", empty.name_len, empty.date_len, empty.desc_len);
	LOG_CALL(ioctl(fd, DRM_IOCTL_VERSION, &bad));
	LOG_CALL(ioctl(fd, DRM_IOCTL_VERSION, NULL));
	LOG_CALL(ioctl(fd, DRM_IOCTL_VERSION, (void *)-8));
}

DIFF_TEST_NODE(capabilities, "VGEM_CARD", DIFF_SECONDS)
{
	struct drm_get_cap cap = { 0 };
	struct drm_client client = { 0 };
	struct drm_stats stats;
	int fd = open_device(O_RDWR);

	for (cap.capability = 0; cap.capability < 0x16; cap.capability++) {
		LOG_CALL(ioctl(fd, DRM_IOCTL_GET_CAP, &cap));
		log_line("%llu: %llu", (unsigned long long)cap.capability,
			 (unsigned long long)cap.value);
	}
	/* The structs have longs. */
	drm_node = "VGEM_CARD";
	LOG_CALL(drm_counted(fd, DRM_IOCTL_GET_CLIENT, &client, "GET_CLIENT", 1));
	CHECK(client.pid == (unsigned long)getpid());
	client.idx = 1;
	client.pid = 4711;
	LOG_CALL(ioctl(fd, DRM_IOCTL_GET_CLIENT, &client));
	CHECK(client.pid == 4711);
	log_line("auth %d magic %lu iocs %lu", client.auth, client.magic, client.iocs);
	memset(&stats, 0xff, sizeof(stats));
	LOG_CALL(ioctl(fd, DRM_IOCTL_GET_STATS, &stats));
	log_bytes("stats", &stats, sizeof(stats));
	LOG_CALL(ioctl(fd, DRM_IO(0xfe)));
	LOG_CALL(ioctl(fd, DRM_IOWR(0xfe, struct drm_get_cap), &cap));
}

/* A buffer's memory is mapped, and the buffer is exported as an fd and imported again. */
DIFF_TEST_NODE(buffers, "VGEM_CARD", DIFF_SECONDS)
{
	struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW };
	struct drm_prime_handle out = { .flags = DRM_CLOEXEC | DRM_RDWR, .fd = -1 }, in = { 0 };
	int fd = open_device(O_RDWR), other = open_device(O_RDWR);
	struct drm_mode_create_dumb dumb = create_dumb(fd);
	struct drm_mode_map_dumb map = { .handle = dumb.handle };
	__u32 *memory, *shared;

	drm_node = "VGEM_CARD";
	MUST(!LOG_CALL(ioctl(fd, DRM_IOCTL_MODE_MAP_DUMB, &map)));
	memory = mmap(NULL, dumb.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, map.offset);
	MUST(memory != MAP_FAILED);
	out.handle = dumb.handle;
	MUST(!drm_counted(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &out, "HANDLE_TO_FD", 1));
	vgpu_mock_pattern(memory, dumb.size, 11, 0);
	log_line("cloexec %d", fcntl(out.fd, F_GETFD));
	LOG_CALL(lseek(out.fd, 0, SEEK_END));
	LOG_CALL(ioctl(out.fd, DMA_BUF_IOCTL_SYNC, &sync));
	shared = mmap(NULL, dumb.size, PROT_READ, MAP_SHARED, out.fd, 0);
	MUST(shared != MAP_FAILED);
	log_bytes("shared", shared, dumb.size);
	sync.flags |= DMA_BUF_SYNC_END;
	LOG_CALL(ioctl(out.fd, DMA_BUF_IOCTL_SYNC, &sync));
	LOG_CALL(ioctl(out.fd, DMA_BUF_IOCTL_SYNC, NULL));

	/*
	 * The same file gets the same handle of the buffer, and another file gets another
	 * handle.
	 */
	in.fd = out.fd;
	LOG_CALL(ioctl(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &in));
	CHECK(in.handle == dumb.handle);
	LOG_CALL(ioctl(other, DRM_IOCTL_PRIME_FD_TO_HANDLE, &in));
	CHECK(in.fd == out.fd);
	in.fd = fd;
	LOG_CALL(ioctl(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &in));
	in.fd = 777;
	LOG_CALL(ioctl(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &in));
}

/* The struct has three arrays behind pointers of 64 bits. */
DIFF_TEST_NODE(resources, "VKMS_CARD", DIFF_SECONDS)
{
	__u32 crtcs[4], connectors[4], encoders[4];
	struct drm_mode_card_res res = { 0 };
	int fd = open_device(O_RDWR);

	log_version(fd);
	LOG_CALL(ioctl(fd, DRM_IOCTL_MODE_GETRESOURCES, &res));
	log_line("%u %u %u", res.count_crtcs, res.count_connectors, res.count_encoders);
	res.crtc_id_ptr = (uintptr_t)crtcs;
	res.connector_id_ptr = (uintptr_t)connectors;
	res.encoder_id_ptr = (uintptr_t)encoders;
	res.fb_id_ptr = 0;
	res.count_fbs = 0;
	MUST(res.count_crtcs <= 4 && res.count_connectors <= 4 && res.count_encoders <= 4);
	LOG_CALL(ioctl(fd, DRM_IOCTL_MODE_GETRESOURCES, &res));
	log_bytes("crtcs", crtcs, 4 * res.count_crtcs);
	log_bytes("connectors", connectors, 4 * res.count_connectors);
	log_bytes("encoders", encoders, 4 * res.count_encoders);
	res.crtc_id_ptr = 16;
	LOG_CALL(ioctl(fd, DRM_IOCTL_MODE_GETRESOURCES, &res));
}

/* The struct has longs, and 4 bytes less than in 64-bit programs. */
DIFF_TEST_NODE(vblank, "VKMS_CARD", DIFF_SECONDS)
{
	union drm_wait_vblank wait = { .request.type = _DRM_VBLANK_RELATIVE };
	int fd = open_device(O_RDWR);

	LOG_CALL(ioctl(fd, DRM_IOCTL_WAIT_VBLANK, &wait));
	LOG_CALL(ioctl(fd, DRM_IOCTL_WAIT_VBLANK, NULL));
	wait.request.type = 0x7f;
	LOG_CALL(ioctl(fd, DRM_IOCTL_WAIT_VBLANK, &wait));
}

DIFF_TEST_NODE(framebuffer, "VKMS_CARD", DIFF_SECONDS)
{
	int fd = open_device(O_RDWR);
	struct drm_mode_create_dumb dumb = create_dumb(fd);
	struct drm_mode_fb_cmd2 fb = {
		.width = 64, .height = 32, .pixel_format = 0x34325258 /* XR24 */,
		.handles = { dumb.handle }, .pitches = { dumb.pitch },
	};

	LOG_CALL(ioctl(fd, DRM_IOCTL_MODE_ADDFB2, &fb));
	CHECK(fb.fb_id);
	LOG_CALL(ioctl(fd, DRM_IOCTL_MODE_RMFB, &fb.fb_id));
	fb.flags = DRM_MODE_FB_MODIFIERS;
	LOG_CALL(ioctl(fd, DRM_IOCTL_MODE_ADDFB2, &fb));
	fb.modifier[0] = 1;
	LOG_CALL(ioctl(fd, DRM_IOCTL_MODE_ADDFB2, &fb));
	fb.modifier[0] = 0;
	fb.pitches[0] = 1;
	LOG_CALL(ioctl(fd, DRM_IOCTL_MODE_ADDFB2, &fb));
}

TEST_HARNESS_MAIN
