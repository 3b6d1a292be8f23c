// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program that is notified that a buffer is ready reads what the device has written, whatever
 * the notification is: poll() or epoll of a fence or of the buffer's own file, a fence's
 * status, or the eventfd of a syncobj. DRM drivers' nodes notify it here.
 *
 * A program of the same machine plays the device: it uses the real node to write to the same
 * buffer and to signal the buffer's fence, without forwarded calls.
 */
#include <linux/sync_file.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "drm_dumb.h"
#include "drm_node.h"
#include "keep.h"

/* The program waits for this time before the device is ready. */
#define JOB_MS	200
#define PATIENCE_MS	15000

struct buffer {
	int fd;				/* file of the program */
	int buf;			/* dma-buf of the program */
	__u32 *memory;			/* mapping of the program */
	__u32 *device;			/* mapping by the real node */
	int real_buf;			/* dma-buf of the real node */
	__u32 seed;			/* first word that the device writes next, or is writing */
	int vgem;			/* file of the device whose fence the buffer waits for */
	__u32 fence;
	pthread_t job;
};

static void need_one_machine(void)
{
	/* The host of a pair only records for the guest, which skips these tests. */
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

/* Opens another file's buffer of the same device. Return: its handle. */
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

/* Makes the device busy with the buffer until it signals the fence. */
static void make_busy(struct buffer *buffer)
{
	struct dma_buf_export_sync_file export = { .flags = DMA_BUF_SYNC_READ, .fd = -1 };
	struct dma_buf_import_sync_file import = { .flags = DMA_BUF_SYNC_WRITE };
	__u32 attach[4] = { create_dumb(buffer->vgem), 1 /* write */ };

	MUST(!ioctl(buffer->vgem, DRM_IOCTL_VGEM_FENCE_ATTACH, attach));
	MUST(!ioctl(export_fd(buffer->vgem, attach[0]), DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &export));
	import.fd = export.fd;
	MUST(!ioctl(buffer->real_buf, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &import));
	buffer->fence = attach[2];
}

static struct buffer make_buffer(const char *node)
{
	struct buffer buffer = { .seed = 1000 };
	__u32 handle, real_handle;
	int fd, real;

	/*
	 * The first file is the master, which authenticates the other one, so that they can
	 * share buffers by names.
	 */
	real = open_real(node);
	fd = open_device(O_RDWR);
	buffer.vgem = open_real("VGEM_CARD");
	handle = create_dumb(fd);
	real_handle = open_shared(real, fd, handle);
	buffer.fd = fd;
	buffer.buf = export_fd(fd, handle);
	buffer.memory = map_dumb(fd, handle);
	buffer.device = map_dumb(real, real_handle);
	buffer.real_buf = export_fd(real, real_handle);
	make_busy(&buffer);
	return buffer;
}

static void *job(void *data)
{
	struct buffer *buffer = data;
	__u32 signal[2] = { buffer->fence };
	unsigned int i;

	sleep_ms(JOB_MS);
	for (i = 0; i < DUMB_WORDS; i++)
		buffer->device[i] = buffer->seed + i;
	MUST(!ioctl(buffer->vgem, DRM_IOCTL_VGEM_FENCE_SIGNAL, signal));
	return NULL;
}

static unsigned int new_words(const struct buffer *buffer)
{
	const volatile __u32 *words = buffer->memory;
	unsigned int i, nr = 0;

	for (i = 0; i < DUMB_WORDS; i++)
		nr += words[i] == buffer->seed + i;
	return nr;
}

/* Has the device begin. The program has read the memory that the device will overwrite. */
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

/* Returns a file of the fence for which the buffer waits. */
static int fence_of(const struct buffer *buffer)
{
	struct dma_buf_export_sync_file export = { .flags = DMA_BUF_SYNC_READ, .fd = -1 };

	MUST(!ioctl(buffer->buf, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &export));
	return export.fd;
}

static void end(struct buffer *buffer)
{
	CHECK(new_words(buffer) == DUMB_WORDS);
	pthread_join(buffer->job, NULL);
}

static void fresh(const char *node, bool fence, void (*await)(int fd))
{
	struct buffer buffer;
	int fd;

	need_one_machine();
	buffer = make_buffer(node);
	fd = fence ? fence_of(&buffer) : buffer.buf;
	begin(&buffer);
	await(fd);
	end(&buffer);
}

/*
 * The host has reported unasked that the fence is signalled, so poll() makes no call. This does
 * not hold for the first fence, which makes the host watch further ones.
 */
static void fresh_known(const char *node)
{
	struct pollfd pollfd = { .events = POLLIN };
	struct buffer buffer;
	long long trips = 0;
	bool known = false;
	unsigned int i;
	__u64 start;

	need_one_machine();
	drm_node = node;
	buffer = make_buffer(node);
	/* Another call meanwhile makes poll() ask again, which is rare. */
	for (i = 0; i < 2 || (!known && i < 5); i++) {
		if (i) {
			/* The device writes no word now that it has written before. */
			buffer.seed += 2 * DUMB_WORDS;
			make_busy(&buffer);
		}
		pollfd.fd = fence_of(&buffer);
		begin(&buffer);
		start = now_ms();
		for (;;) {
			trips = forwarded ? drm_counter("round_trips") : 0;
			if (poll(&pollfd, 1, 0) || now_ms() - start > PATIENCE_MS)
				break;
			sleep_ms(5);
		}
		CHECK(pollfd.revents == POLLIN);
		CHECK(trips >= 0);
		known = i && (!forwarded || drm_counter("round_trips") == trips);
		end(&buffer);
	}
	CHECK(known);
}

/* The fence's status is read, with old bytes in mapped memory each time. */
static void fresh_status(const char *node)
{
	struct sync_file_info info;
	struct buffer buffer;
	__u64 start;
	int fence;

	need_one_machine();
	buffer = make_buffer(node);
	fence = fence_of(&buffer);
	begin(&buffer);
	start = now_ms();
	do {
		new_words(&buffer);
		info = (struct sync_file_info) { };
		MUST(!ioctl(fence, SYNC_IOC_FILE_INFO, &info));
	} while (!info.status && now_ms() - start < PATIENCE_MS);
	CHECK(info.status == 1);
	end(&buffer);
}

/* A syncobj with the fence has an eventfd, which the guest's kernel signals. */
static void fresh_event(const char *node)
{
	struct drm_syncobj_handle import = {
		.flags = DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE,
	};
	struct drm_syncobj_create create = { };
	struct syncobj_eventfd watch = { };
	struct buffer buffer;
	__u64 count = 0;

	need_one_machine();
	buffer = make_buffer(node);
	MUST(!ioctl(buffer.fd, DRM_IOCTL_SYNCOBJ_CREATE, &create));
	import.handle = create.handle;
	import.fd = fence_of(&buffer);
	MUST(!ioctl(buffer.fd, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &import));
	watch.handle = create.handle;
	watch.fd = eventfd(0, EFD_CLOEXEC);
	MUST(watch.fd >= 0);
	if (ioctl(buffer.fd, IOCTL_SYNCOBJ_EVENTFD, &watch)) {
		MUST(forwarded || tool_kernel_before(6, 6));
		diff_skip("this kernel has no eventfds of syncobjs");
	}
	begin(&buffer);
	by_poll(watch.fd);
	CHECK(new_words(&buffer) == DUMB_WORDS);
	MUST(read(watch.fd, &count, sizeof(count)) == sizeof(count));
	CHECK(count == 1);
	pthread_join(buffer.job, NULL);
}

DIFF_TEST_NODE(virtio_gpu_poll_fence, "GPU_CARD", 60) { fresh("GPU_CARD", true, by_poll); }
DIFF_TEST_NODE(virtio_gpu_epoll_fence, "GPU_CARD", 60) { fresh("GPU_CARD", true, by_epoll); }
DIFF_TEST_NODE(virtio_gpu_poll_buf, "GPU_CARD", 60) { fresh("GPU_CARD", false, by_poll); }
DIFF_TEST_NODE(virtio_gpu_epoll_buf, "GPU_CARD", 60) { fresh("GPU_CARD", false, by_epoll); }
DIFF_TEST_NODE(virtio_gpu_known_fence, "GPU_CARD", 60) { fresh_known("GPU_CARD"); }
DIFF_TEST_NODE(virtio_gpu_fence_status, "GPU_CARD", 60) { fresh_status("GPU_CARD"); }
DIFF_TEST_NODE(virtio_gpu_syncobj_event, "GPU_CARD", 60) { fresh_event("GPU_CARD"); }
DIFF_TEST_NODE(vgem_poll_fence, "VGEM_CARD", 60) { fresh("VGEM_CARD", true, by_poll); }
DIFF_TEST_NODE(vgem_epoll_fence, "VGEM_CARD", 60) { fresh("VGEM_CARD", true, by_epoll); }
DIFF_TEST_NODE(vgem_poll_buf, "VGEM_CARD", 60) { fresh("VGEM_CARD", false, by_poll); }
DIFF_TEST_NODE(vgem_epoll_buf, "VGEM_CARD", 60) { fresh("VGEM_CARD", false, by_epoll); }
DIFF_TEST_NODE(vgem_known_fence, "VGEM_CARD", 60) { fresh_known("VGEM_CARD"); }
DIFF_TEST_NODE(vgem_fence_status, "VGEM_CARD", 60) { fresh_status("VGEM_CARD"); }

KEEP_MAIN
