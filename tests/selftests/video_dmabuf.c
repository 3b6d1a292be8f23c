// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queues of V4L2 have dma-bufs as buffers, or buffers that belong to a request. The driver
 * returns the fds with which they were queued. An output node's queue exports the dma-bufs, and
 * a capture node's queue takes them. Both are vivid's, with one plane or several.
 */
#include <drm/drm.h>
#include <drm/drm_mode.h>
#include <linux/media.h>
#include <linux/videodev2.h>
#include <poll.h>

#include "video_vivid.h"

#define BUFFERS	3

static const struct vivid_node nodes[] = {
	{ "CAPTURE", VIVID_CAMERA("vivid-000-vid-cap") },
	{ "OUTPUT", VIVID_CAMERA("vivid-000-vid-out") },
	{ "MCAPTURE", VIVID_CAMERA("vivid-001-vid-cap") },
	{ "MOUTPUT", VIVID_CAMERA("vivid-001-vid-out") },
	{ "MEDIA", "basename /sys/devices/*/vivid.0/media*" },
};

/* struct queue: a queue, and the fds of its buffers' dma-bufs. */
struct queue {
	int fd;
	unsigned int type;
	unsigned int planes;
	int dmabuf[BUFFERS][VIDEO_MAX_PLANES];
};

/* struct buffer: a struct v4l2_buffer with room for planes. */
struct buffer {
	struct v4l2_buffer b;
	struct v4l2_plane planes[VIDEO_MAX_PLANES];
};

static bool is_multiplanar(const struct queue *queue)
{
	return V4L2_TYPE_IS_MULTIPLANAR(queue->type);
}

static struct queue queue_open(const char *name, unsigned int type)
{
	struct queue queue = { .fd = open(vivid_path(name), O_RDWR | O_NONBLOCK), .type = type };
	struct v4l2_format format = { .type = type };
	__u64 deadline = now_ms() + 10000;

	MUST(queue.fd >= 0);
	MUST(!ioctl(queue.fd, VIDIOC_G_FMT, &format));
	if (is_multiplanar(&queue)) {
		format.fmt.pix_mp.pixelformat = V4L2_PIX_FMT_NV16M;
		format.fmt.pix_mp.width = V4L2_TYPE_IS_OUTPUT(type) ? 1280 : 320;
		format.fmt.pix_mp.height = V4L2_TYPE_IS_OUTPUT(type) ? 720 : 180;
	} else {
		format.fmt.pix.pixelformat = V4L2_PIX_FMT_YUYV;
		format.fmt.pix.width = V4L2_TYPE_IS_OUTPUT(type) ? 1280 : 320;
		format.fmt.pix.height = V4L2_TYPE_IS_OUTPUT(type) ? 720 : 180;
	}
	/* The file of an earlier test may still be being closed. */
	while (ioctl(queue.fd, VIDIOC_S_FMT, &format) && errno == EBUSY && now_ms() < deadline)
		sleep_ms(20);
	MUST(!ioctl(queue.fd, VIDIOC_S_FMT, &format));
	queue.planes = is_multiplanar(&queue) ? format.fmt.pix_mp.num_planes : 1;
	log_line("%s: %u planes", name, queue.planes);
	return queue;
}

static void queue_request(const struct queue *queue, unsigned int memory, unsigned int count)
{
	struct v4l2_requestbuffers request = {
		.count = count, .type = queue->type, .memory = memory,
	};

	MUST(!LOG_CALL(ioctl(queue->fd, VIDIOC_REQBUFS, &request)));
	MUST(request.count == count);
}

static void queue_export(struct queue *queue)
{
	unsigned int i, p;

	queue_request(queue, V4L2_MEMORY_MMAP, BUFFERS);
	for (i = 0; i < BUFFERS; i++) {
		for (p = 0; p < queue->planes; p++) {
			struct v4l2_exportbuffer export = {
				.type = queue->type, .index = i, .plane = p,
				.flags = O_RDWR | O_CLOEXEC,
			};

			MUST(!LOG_CALL(ioctl(queue->fd, VIDIOC_EXPBUF, &export)));
			queue->dmabuf[i][p] = export.fd;
		}
	}
}

/*
 * Fills in a buffer as a program does. @from: the buffer of @source with the dma-bufs, or -1
 * for none.
 */
static void buffer_init(struct buffer *buffer, const struct queue *queue, unsigned int memory,
			unsigned int index, const struct queue *source, int from)
{
	unsigned int p;

	memset(buffer, 0, sizeof(*buffer));
	buffer->b.index = index;
	buffer->b.type = queue->type;
	buffer->b.memory = memory;
	if (is_multiplanar(queue)) {
		buffer->b.m.planes = buffer->planes;
		buffer->b.length = queue->planes;
		for (p = 0; p < queue->planes && source; p++)
			buffer->planes[p].m.fd = from < 0 ? -1 : source->dmabuf[from][p];
	} else if (source) {
		buffer->b.m.fd = from < 0 ? -1 : source->dmabuf[from][0];
	}
}

/* Logs a buffer, with only those flags that do not depend on the device's progress. */
static void log_buffer(const char *what, const struct buffer *buffer, const struct queue *queue)
{
	unsigned int p;

	log_line("%s: buffer %u type %u memory %u length %u%s%s", what, buffer->b.index,
		 buffer->b.type, buffer->b.memory, buffer->b.length,
		 buffer->b.flags & V4L2_BUF_FLAG_PREPARED ? " prepared" : "",
		 buffer->b.flags & V4L2_BUF_FLAG_REQUEST_FD ? " request" : "");
	if (buffer->b.flags & V4L2_BUF_FLAG_REQUEST_FD)
		log_line("  request %d", buffer->b.request_fd);
	if (buffer->b.memory != V4L2_MEMORY_DMABUF)
		return;
	if (!is_multiplanar(queue)) {
		log_line("  fd %d", buffer->b.m.fd);
		return;
	}
	CHECK(buffer->b.m.planes == buffer->planes);
	for (p = 0; p < buffer->b.length && p < queue->planes; p++)
		log_line("  plane %u: fd %d, %u bytes", p, buffer->planes[p].m.fd,
			 buffer->planes[p].length);
}

static void query(const struct queue *queue, unsigned int index, unsigned int memory)
{
	struct buffer buffer;

	buffer_init(&buffer, queue, memory, index, NULL, 0);
	LOG_CALL(diff_ioctl(queue->fd, VIDIOC_QUERYBUF, &buffer.b));
	log_buffer("QUERYBUF", &buffer, queue);
}

/* Queries all buffers, with and without the memory type. */
static void query_all(const struct queue *queue)
{
	unsigned int i;

	for (i = 0; i < BUFFERS; i++) {
		query(queue, i, V4L2_MEMORY_DMABUF);
		query(queue, i, 0);
	}
}

static void prepare(const struct queue *queue, unsigned int index, const struct queue *source,
		    int from)
{
	struct buffer buffer;

	buffer_init(&buffer, queue, V4L2_MEMORY_DMABUF, index, source, from);
	LOG_CALL(diff_ioctl(queue->fd, VIDIOC_PREPARE_BUF, &buffer.b));
	log_buffer("PREPARE_BUF", &buffer, queue);
}

static void give(const struct queue *queue, unsigned int index, const struct queue *source,
		 int from)
{
	struct buffer buffer;

	buffer_init(&buffer, queue, V4L2_MEMORY_DMABUF, index, source, from);
	LOG_CALL(diff_ioctl(queue->fd, VIDIOC_QBUF, &buffer.b));
	log_buffer("QBUF", &buffer, queue);
}

static void take(const struct queue *queue, struct buffer *buffer, unsigned int memory)
{
	struct pollfd ready = { .fd = queue->fd, .events = POLLIN };

	MUST(poll(&ready, 1, 10000) == 1);
	buffer_init(buffer, queue, memory, 0, NULL, 0);
	MUST(!LOG_CALL(diff_ioctl(queue->fd, VIDIOC_DQBUF, &buffer->b)));
	log_buffer("DQBUF", buffer, queue);
}

static void stream(struct queue *queue, struct queue *source)
{
	struct buffer buffer;
	int i;

	queue_export(source);
	queue_request(queue, V4L2_MEMORY_DMABUF, BUFFERS);
	/* Buffers and dma-bufs are in different orders. */
	query_all(queue);
	prepare(queue, 0, source, 2);
	query_all(queue);
	prepare(queue, 0, source, 1);
	give(queue, 0, source, -1);
	prepare(queue, 1, source, 0);
	give(queue, 1, source, 2);
	give(queue, 2, source, 1);
	give(queue, 2, source, 0);
	query_all(queue);

	MUST(!LOG_CALL(ioctl(queue->fd, VIDIOC_STREAMON, &queue->type)));
	for (i = 0; i < 3 * BUFFERS; i++) {
		take(queue, &buffer, V4L2_MEMORY_DMABUF);
		query(queue, buffer.b.index, 0);
		MUST(!LOG_CALL(diff_ioctl(queue->fd, VIDIOC_QBUF, &buffer.b)));
		log_buffer("QBUF again", &buffer, queue);
	}
	/* Another buffer takes its place; the program does not give the memory type. */
	take(queue, &buffer, 0);
	give(queue, buffer.b.index, source, 0);
	query_all(queue);
	LOG_CALL(ioctl(queue->fd, VIDIOC_STREAMOFF, &queue->type));
	query_all(queue);

	/* A buffer is no longer prepared after STREAMOFF, and then gets other dma-bufs. */
	prepare(queue, 1, source, 1);
	LOG_CALL(ioctl(queue->fd, VIDIOC_STREAMOFF, &queue->type));
	give(queue, 1, source, 2);
	query_all(queue);
	LOG_CALL(ioctl(queue->fd, VIDIOC_STREAMOFF, &queue->type));
	queue_request(queue, V4L2_MEMORY_DMABUF, BUFFERS);
	query_all(queue);
}

DIFF_TEST_NODE(planes_one, "CAPTURE", 60)
{
	struct queue source = queue_open("OUTPUT", V4L2_BUF_TYPE_VIDEO_OUTPUT);
	struct queue queue = queue_open("CAPTURE", V4L2_BUF_TYPE_VIDEO_CAPTURE);

	stream(&queue, &source);
}

DIFF_TEST_NODE(planes_several, "MCAPTURE", 60)
{
	struct queue source = queue_open("MOUTPUT", V4L2_BUF_TYPE_VIDEO_OUTPUT_MPLANE);
	struct queue queue = queue_open("MCAPTURE", V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE);

	stream(&queue, &source);
}

#ifdef VIDIOC_REMOVE_BUFS
/* A new buffer in the place of a removed one has none of its state. */
DIFF_TEST_NODE(removed, "CAPTURE", DIFF_SECONDS)
{
	struct queue source = queue_open("OUTPUT", V4L2_BUF_TYPE_VIDEO_OUTPUT);
	struct queue queue = queue_open("CAPTURE", V4L2_BUF_TYPE_VIDEO_CAPTURE);
	struct v4l2_create_buffers create = { .count = 1, .memory = V4L2_MEMORY_DMABUF };
	struct v4l2_remove_buffers remove = { .index = 1, .count = 1, .type = queue.type };

	queue_export(&source);
	queue_request(&queue, V4L2_MEMORY_DMABUF, BUFFERS);
	prepare(&queue, 0, &source, 0);
	prepare(&queue, 1, &source, 1);
	LOG_CALL(diff_ioctl(queue.fd, VIDIOC_REMOVE_BUFS, &remove));
	query_all(&queue);
	create.format.type = queue.type;
	MUST(!ioctl(queue.fd, VIDIOC_G_FMT, &create.format));
	LOG_CALL(diff_ioctl(queue.fd, VIDIOC_CREATE_BUFS, &create));
	log_line("at %u", create.index);
	give(&queue, 1, &source, 2);
	query_all(&queue);
}
#endif

DIFF_TEST_NODE(wrong_fds, "CAPTURE", DIFF_SECONDS)
{
	struct queue queue = queue_open("CAPTURE", V4L2_BUF_TYPE_VIDEO_CAPTURE);
	struct queue wrong = { .dmabuf = { { 777 }, { open("/dev/null", O_RDWR) }, { queue.fd } } };

	queue_request(&queue, V4L2_MEMORY_DMABUF, BUFFERS);
	give(&queue, 0, &wrong, 0);
	give(&queue, 0, &wrong, 1);
	give(&queue, 0, &wrong, 2);
	give(&queue, 99, &wrong, 2);
	query_all(&queue);
}

DIFF_TEST_NODE(request, "MEDIA", DIFF_SECONDS)
{
	struct queue queue = queue_open("CAPTURE", V4L2_BUF_TYPE_VIDEO_CAPTURE);
	int media = open_device(O_RDWR), request[2], i;
	struct buffer buffer;

	queue_request(&queue, V4L2_MEMORY_MMAP, BUFFERS);
	for (i = 0; i < 2; i++) {
		MUST(!LOG_CALL(ioctl(media, MEDIA_IOC_REQUEST_ALLOC, &request[i])));
		buffer_init(&buffer, &queue, V4L2_MEMORY_MMAP, i, NULL, 0);
		buffer.b.flags = V4L2_BUF_FLAG_REQUEST_FD;
		buffer.b.request_fd = request[i];
		LOG_CALL(diff_ioctl(queue.fd, VIDIOC_QBUF, &buffer.b));
		log_buffer("QBUF", &buffer, &queue);
	}
	query(&queue, 0, V4L2_MEMORY_MMAP);
	query(&queue, 1, V4L2_MEMORY_MMAP);
	MUST(!LOG_CALL(ioctl(request[0], MEDIA_REQUEST_IOC_QUEUE)));
	MUST(!LOG_CALL(ioctl(request[1], MEDIA_REQUEST_IOC_QUEUE)));
	MUST(!LOG_CALL(ioctl(queue.fd, VIDIOC_STREAMON, &queue.type)));
	take(&queue, &buffer, V4L2_MEMORY_MMAP);
	take(&queue, &buffer, V4L2_MEMORY_MMAP);
	query(&queue, 0, V4L2_MEMORY_MMAP);
}

/* A camera's buffer is imported into a DRM device, and has the same bytes there. */
DIFF_TEST_NODE(imported, "CAPTURE", DIFF_SECONDS)
{
	struct queue queue = queue_open("CAPTURE", V4L2_BUF_TYPE_VIDEO_CAPTURE);
	struct v4l2_buffer buffer = { .type = queue.type, .memory = V4L2_MEMORY_MMAP, .index = 1 };
	struct drm_prime_handle prime = {}, again = {};
	struct drm_mode_map_dumb offset = {};
	struct drm_gem_close gem = {};
	unsigned char *camera, *drm;
	int fd = open(vivid_path("VGEM_CARD"), O_RDWR | O_CLOEXEC);

	MUST(fd >= 0);
	queue_export(&queue);
	MUST(!ioctl(queue.fd, VIDIOC_QUERYBUF, &buffer));
	camera = mmap(NULL, buffer.length, PROT_READ | PROT_WRITE, MAP_SHARED, queue.fd,
		      buffer.m.offset);
	MUST(camera != MAP_FAILED);
	vgpu_mock_pattern(camera, buffer.length, 21, 0);
	prime.fd = again.fd = queue.dmabuf[1][0];
	MUST(!LOG_CALL(ioctl(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime)));
	MUST(!LOG_CALL(ioctl(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &again)));
	CHECK(prime.handle && again.handle == prime.handle);
	offset.handle = prime.handle;
	if (!LOG_CALL(ioctl(fd, DRM_IOCTL_MODE_MAP_DUMB, &offset))) {
		drm = mmap(NULL, buffer.length, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			   offset.offset);
		log_line("mapped: %s", drm == MAP_FAILED ? strerrorname_np(errno) : "yes");
		if (drm != MAP_FAILED) {
			log_bytes("through the DRM device", drm, buffer.length);
			CHECK(!memcmp(drm, camera, buffer.length));
			drm[5000] ^= 0xff;
			/* Bytes that are written in copy mode are there after the next call. */
			LOG_CALL(ioctl(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &again));
			CHECK(camera[5000] == drm[5000]);
			log_bytes("through the camera", camera, buffer.length);
		}
	}
	gem.handle = prime.handle;
	LOG_CALL(ioctl(fd, DRM_IOCTL_GEM_CLOSE, &gem));
	/* This fd is no dma-buf. */
	prime.fd = queue.fd;
	LOG_CALL(ioctl(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime));
}

/* The program sets values of controls in a request, and gets an array of controls. */
DIFF_TEST_NODE(controls, "MEDIA", DIFF_SECONDS)
{
	struct v4l2_ext_control control = { .id = V4L2_CID_BRIGHTNESS, .value = 77 };
	struct v4l2_ext_controls controls = {
		.which = V4L2_CTRL_WHICH_REQUEST_VAL, .count = 1, .controls = &control,
	};
	int fd = open(vivid_path("CAPTURE"), O_RDWR), media = open_device(O_RDWR);

	MUST(fd >= 0);
	MUST(!LOG_CALL(ioctl(media, MEDIA_IOC_REQUEST_ALLOC, &controls.request_fd)));
	LOG_CALL(diff_ioctl(fd, VIDIOC_S_EXT_CTRLS, &controls));
	controls.which = V4L2_CTRL_WHICH_CUR_VAL;
	LOG_CALL(diff_ioctl(fd, VIDIOC_G_EXT_CTRLS, &controls));
	log_line("%u controls, %d", controls.count, control.value);
	CHECK(controls.controls == &control);
	controls.which = V4L2_CTRL_WHICH_REQUEST_VAL;
	controls.request_fd = 777;
	LOG_CALL(diff_ioctl(fd, VIDIOC_S_EXT_CTRLS, &controls));
}

int main(int argc, char **argv)
{
	vivid_setup("n_devs=2 node_types=0x101,0x101 multiplanar=1,2", nodes,
		    sizeof(nodes) / sizeof(nodes[0]));
	return test_harness_run(argc, argv);
}
