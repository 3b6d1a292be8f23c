// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program that poll() or epoll tells that a buffer is ready, by a fence or by the
 * buffer's own file, reads what the device wrote: the nodes of DRM drivers.
 *
 * The device is the real node's: a program of the same machine, which writes to the same
 * buffer and signals its fence, with no forwarded call.
 */
#include <linux/sync_file.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>

#include "drm_dumb.h"
#include "drm_node.h"
#include "keep.h"

/* Time for the program to wait before the device is ready. */
#define JOB_MS	200
#define PATIENCE_MS	15000

struct buffer {
	int buf;			/* the program's dma-buf */
	__u32 *memory;			/* the program's */
	__u32 *device;			/* the same, past the forwarded node */
	int vgem;			/* whose fence it waits for */
	__u32 fence;
	pthread_t job;
};

static void need_one_machine(void)
{
	/* A pair's host records for the guest, which skips these. */
	if (getenv("VGPU_RECORD") || !diff_one_machine())
		diff_skip("the real device is in another machine");
	if (geteuid())
		diff_skip("needs root");
}

static int open_real(const char *node)
{
	int fd = open(diff_node("VGPU_REAL", node), O_RDWR | O_CLOEXEC);

	MUST(fd >= 0);
	return fd;
}

/* The buffer of another file of the same device. */
static __u32 open_shared(int real, int fd, __u32 handle)
{
	struct drm_gem_flink flink = { .handle = handle };
	struct drm_gem_open gem_open = { };
	struct drm_auth auth = { };

	MUST(!ioctl(fd, DRM_IOCTL_GET_MAGIC, &auth));
	MUST(!ioctl(real, DRM_IOCTL_AUTH_MAGIC, &auth));
	MUST(!ioctl(fd, DRM_IOCTL_GEM_FLINK, &flink));
	gem_open.name = flink.name;
	MUST(!ioctl(real, DRM_IOCTL_GEM_OPEN, &gem_open));
	return gem_open.handle;
}

/* The device is busy with the buffer until it signals the fence. */
static void make_busy(struct buffer *buffer, int real_buf)
{
	struct dma_buf_export_sync_file export = { .flags = DMA_BUF_SYNC_READ, .fd = -1 };
	struct dma_buf_import_sync_file import = { .flags = DMA_BUF_SYNC_WRITE };
	__u32 attach[4] = { create_dumb(buffer->vgem), 1 /* write */ };

	MUST(!ioctl(buffer->vgem, DRM_IOCTL_VGEM_FENCE_ATTACH, attach));
	MUST(!ioctl(export_fd(buffer->vgem, attach[0]), DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &export));
	import.fd = export.fd;
	MUST(!ioctl(real_buf, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &import));
	buffer->fence = attach[2];
}

static struct buffer make_buffer(const char *node)
{
	struct buffer buffer = { };
	__u32 handle, real_handle;
	int fd, real;

	/* The first one is the master, who says that the other may share buffers by names. */
	real = open_real(node);
	fd = open_device(O_RDWR);
	buffer.vgem = open_real("VGEM_CARD");
	handle = create_dumb(fd);
	real_handle = open_shared(real, fd, handle);
	buffer.buf = export_fd(fd, handle);
	buffer.memory = map_dumb(fd, handle);
	buffer.device = map_dumb(real, real_handle);
	make_busy(&buffer, export_fd(real, real_handle));
	return buffer;
}

static void *job(void *data)
{
	struct buffer *buffer = data;
	__u32 signal[2] = { buffer->fence };
	unsigned int i;

	sleep_ms(JOB_MS);
	for (i = 0; i < DUMB_WORDS; i++)
		buffer->device[i] = 1000 + i;
	MUST(!ioctl(buffer->vgem, DRM_IOCTL_VGEM_FENCE_SIGNAL, signal));
	return NULL;
}

static unsigned int new_words(const struct buffer *buffer)
{
	const volatile __u32 *words = buffer->memory;
	unsigned int i, nr = 0;

	for (i = 0; i < DUMB_WORDS; i++)
		nr += words[i] == 1000 + i;
	return nr;
}

/* The program keeps what the device overwrites, which then begins. */
static void begin(struct buffer *buffer)
{
	CHECK(!new_words(buffer));
	MUST(!pthread_create(&buffer->job, NULL, job, buffer));
}

static void by_poll(int fd)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };

	CHECK(poll(&pollfd, 1, PATIENCE_MS) == 1);
	CHECK(pollfd.revents == POLLIN);
}

static void by_epoll(int fd)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	MUST(!epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	CHECK(epoll_wait(epoll, &event, 1, PATIENCE_MS) == 1);
	close(epoll);
}

static void fresh(const char *node, bool fence, void (*await)(int fd))
{
	struct dma_buf_export_sync_file export = { .flags = DMA_BUF_SYNC_READ, .fd = -1 };
	struct buffer buffer;

	need_one_machine();
	buffer = make_buffer(node);
	if (fence)
		MUST(!ioctl(buffer.buf, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &export));
	begin(&buffer);
	await(fence ? export.fd : buffer.buf);
	CHECK(new_words(&buffer) == DUMB_WORDS);
	pthread_join(buffer.job, NULL);
}

DIFF_TEST_NODE(virtio_gpu_poll_fence, "GPU_CARD", 60) { fresh("GPU_CARD", true, by_poll); }
DIFF_TEST_NODE(virtio_gpu_epoll_fence, "GPU_CARD", 60) { fresh("GPU_CARD", true, by_epoll); }
DIFF_TEST_NODE(virtio_gpu_poll_buf, "GPU_CARD", 60) { fresh("GPU_CARD", false, by_poll); }
DIFF_TEST_NODE(virtio_gpu_epoll_buf, "GPU_CARD", 60) { fresh("GPU_CARD", false, by_epoll); }
DIFF_TEST_NODE(vgem_poll_fence, "VGEM_CARD", 60) { fresh("VGEM_CARD", true, by_poll); }
DIFF_TEST_NODE(vgem_poll_buf, "VGEM_CARD", 60) { fresh("VGEM_CARD", false, by_poll); }

KEEP_MAIN
