// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queues of V4L2 have memory of the program as buffers, which the device keeps from the first
 * QBUF on. vivid's picture is always the same here: the one that it leaves in the program's
 * memory is compared with the one in buffers of its own.
 *
 * If the host cannot access the guest's memory, queues report that they cannot use memory of
 * programs. If it can (VGPU_KEEP=alone), queues behave as those of the real device.
 */
#include <linux/videodev2.h>
#include <poll.h>

#include "pinned.h"
#include "video_vivid.h"

#define PAGE	4096UL
#define BUFFERS	4
#define FRAMES	12
/* The memory around and between buffers has this byte. */
#define MARK	0x5a

static const struct vivid_node nodes[] = {
	{ "CAPTURE", VIVID_CAMERA("vivid-000-vid-cap") },
	{ "OUTPUT", VIVID_CAMERA("vivid-000-vid-out") },
	{ "MCAPTURE", VIVID_CAMERA("vivid-001-vid-cap") },
};

/* struct queue: a queue, and the length of each plane of its buffers. */
struct queue {
	int fd;
	unsigned int type;
	unsigned int planes;
	size_t sizes[VIDEO_MAX_PLANES];
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

static bool host_can_keep(void)
{
	const char *keeps = getenv("VGPU_KEEP");

	return keeps && !strcmp(keeps, "alone");
}

static bool can_keep(void)
{
	return !forwarded || host_can_keep();
}

/*
 * Skips a test if the host cannot use the guest's memory, also on the real device, as the
 * results could not be compared.
 */
static void needs_keep(void)
{
	const char *tier = getenv("VGPU_TIER");

	if (host_can_keep() || !tier || !strcmp(tier, "native"))
		return;
	diff_skip(getenv("VGPU_KEEP") ? "the host's processor has no protection keys" :
		  "the host does not have the guest's memory");
}

/*
 * Sets a menu control, which is found by its name, to the item of that name. Return: true if it
 * succeeded.
 */
static bool control_set(int fd, const char *name, const char *item)
{
	struct v4l2_queryctrl query = { .id = V4L2_CTRL_FLAG_NEXT_CTRL };
	struct v4l2_querymenu menu;
	struct v4l2_control control;

	for (; !ioctl(fd, VIDIOC_QUERYCTRL, &query); query.id |= V4L2_CTRL_FLAG_NEXT_CTRL) {
		if (strcmp((char *)query.name, name))
			continue;
		menu.id = query.id;
		for (menu.index = query.minimum; (int)menu.index <= query.maximum; menu.index++) {
			if (ioctl(fd, VIDIOC_QUERYMENU, &menu) || !strstr((char *)menu.name, item))
				continue;
			control.id = query.id;
			control.value = menu.index;
			return !ioctl(fd, VIDIOC_S_CTRL, &control);
		}
	}
	return false;
}

/*
 * Makes an ioctl that must succeed, and tries again while the file of an earlier test is being
 * closed.
 */
static void must_set(int fd, unsigned long cmd, void *arg)
{
	__u64 deadline = now_ms() + 10000;
	int ret;

	while ((ret = ioctl(fd, cmd, arg)) && errno == EBUSY && now_ms() < deadline)
		sleep_ms(20);
	MUST(!ret);
}

static void queue_format(struct queue *queue, unsigned int width, unsigned int height)
{
	struct v4l2_format format = { .type = queue->type };
	unsigned int i;

	/* Lines have no bytes beyond the picture, as the device would not write these. */
	if (is_multiplanar(queue)) {
		format.fmt.pix_mp.pixelformat = V4L2_PIX_FMT_YUV420M;
		format.fmt.pix_mp.width = width;
		format.fmt.pix_mp.height = height;
	} else {
		format.fmt.pix.pixelformat = V4L2_PIX_FMT_YUYV;
		format.fmt.pix.width = width;
		format.fmt.pix.height = height;
	}
	must_set(queue->fd, VIDIOC_S_FMT, &format);
	queue->planes = is_multiplanar(queue) ? format.fmt.pix_mp.num_planes : 1;
	for (i = 0; i < queue->planes; i++)
		queue->sizes[i] = is_multiplanar(queue) ?
			format.fmt.pix_mp.plane_fmt[i].sizeimage : format.fmt.pix.sizeimage;
}

/* Selects another input or output, which sets a format of its own. */
static void plug(const struct queue *queue, int number)
{
	must_set(queue->fd, V4L2_TYPE_IS_OUTPUT(queue->type) ? VIDIOC_S_OUTPUT : VIDIOC_S_INPUT,
		 &number);
}

static struct queue queue_open(const char *name, unsigned int type)
{
	struct queue queue = { .fd = open(vivid_path(name), O_RDWR | O_NONBLOCK), .type = type };

	MUST(queue.fd >= 0);
	plug(&queue, 0);
	if (!V4L2_TYPE_IS_OUTPUT(type))
		MUST(control_set(queue.fd, "OSD Text Mode", "None"));
	queue_format(&queue, 320, 180);
	return queue;
}

static size_t queue_bytes(const struct queue *queue)
{
	size_t bytes = 0;
	unsigned int i;

	for (i = 0; i < queue->planes; i++)
		bytes += queue->sizes[i];
	return bytes;
}

static int request(const struct queue *queue, unsigned int memory, unsigned int count,
		   unsigned int *capabilities)
{
	struct v4l2_requestbuffers request = {
		.count = count, .type = queue->type, .memory = memory,
	};
	int ret = ioctl(queue->fd, VIDIOC_REQBUFS, &request);

	if (capabilities)
		*capabilities = request.capabilities;
	return ret;
}

static int create(const struct queue *queue, unsigned int memory, unsigned int count,
		  unsigned int *capabilities)
{
	struct v4l2_create_buffers create = {
		.count = count, .memory = memory, .format.type = queue->type,
	};
	int ret;

	MUST(!ioctl(queue->fd, VIDIOC_G_FMT, &create.format));
	ret = ioctl(queue->fd, VIDIOC_CREATE_BUFS, &create);
	*capabilities = create.capabilities;
	return ret;
}

/* Fills in a buffer whose planes are adjacent. */
static void buffer_init(struct buffer *buffer, const struct queue *queue, unsigned int memory,
			unsigned int index, void *at)
{
	unsigned int i;

	memset(buffer, 0, sizeof(*buffer));
	buffer->b.index = index;
	buffer->b.type = queue->type;
	buffer->b.memory = memory;
	if (!is_multiplanar(queue)) {
		buffer->b.m.userptr = (unsigned long)at;
		buffer->b.length = queue->sizes[0];
		return;
	}
	buffer->b.m.planes = buffer->planes;
	buffer->b.length = queue->planes;
	for (i = 0; i < queue->planes; i++) {
		buffer->planes[i].m.userptr = (unsigned long)at;
		buffer->planes[i].length = queue->sizes[i];
		at += queue->sizes[i];
	}
}

/* Return: true if the driver reports the program's own addresses. */
static bool buffer_is_at(const struct buffer *buffer, const struct queue *queue, const void *at)
{
	unsigned int i;

	if (!is_multiplanar(queue))
		return buffer->b.m.userptr == (unsigned long)at &&
			buffer->b.length == queue->sizes[0];
	for (i = 0; i < queue->planes; i++) {
		if (buffer->planes[i].m.userptr != (unsigned long)at ||
		    buffer->planes[i].length != queue->sizes[i])
			return false;
		at += queue->sizes[i];
	}
	return buffer->b.m.planes == buffer->planes;
}

static int give_by(const struct queue *queue, unsigned long cmd, unsigned int index, void *at)
{
	struct buffer buffer;

	buffer_init(&buffer, queue, V4L2_MEMORY_USERPTR, index, at);
	return ioctl(queue->fd, cmd, &buffer.b);
}

static int give(const struct queue *queue, unsigned int index, void *at)
{
	return give_by(queue, VIDIOC_QBUF, index, at);
}

/* Takes the next buffer that the device has finished. */
static void take(const struct queue *queue, unsigned int memory, struct buffer *buffer)
{
	struct pollfd poll_fd = {
		.fd = queue->fd, .events = V4L2_TYPE_IS_OUTPUT(queue->type) ? POLLOUT : POLLIN,
	};

	MUST(poll(&poll_fd, 1, 10000) == 1 && poll_fd.revents & (POLLIN | POLLOUT));
	buffer_init(buffer, queue, memory, 0, NULL);
	MUST(!ioctl(queue->fd, VIDIOC_DQBUF, &buffer->b));
}

static void stream(const struct queue *queue, bool on)
{
	MUST(!ioctl(queue->fd, on ? VIDIOC_STREAMON : VIDIOC_STREAMOFF, &queue->type));
}

/* Returns a picture that the device left in buffers of its own, with all planes. */
static unsigned char *reference(const struct queue *queue)
{
	unsigned char *picture = malloc(queue_bytes(queue)), *next = picture;
	struct buffer buffer;
	unsigned int i;
	size_t offset;
	void *p;

	MUST(picture && !request(queue, V4L2_MEMORY_MMAP, BUFFERS, NULL));
	for (i = 0; i < BUFFERS; i++) {
		buffer_init(&buffer, queue, V4L2_MEMORY_MMAP, i, NULL);
		MUST(!ioctl(queue->fd, VIDIOC_QBUF, &buffer.b));
	}
	stream(queue, true);
	take(queue, V4L2_MEMORY_MMAP, &buffer);
	for (i = 0; i < queue->planes; i++) {
		offset = is_multiplanar(queue) ? buffer.planes[i].m.mem_offset : buffer.b.m.offset;
		p = mmap(NULL, queue->sizes[i], PROT_READ | PROT_WRITE, MAP_SHARED, queue->fd,
			 offset);
		MUST(p != MAP_FAILED);
		memcpy(next, p, queue->sizes[i]);
		next += queue->sizes[i];
		MUST(!munmap(p, queue->sizes[i]));
	}
	stream(queue, false);
	MUST(!request(queue, V4L2_MEMORY_MMAP, 0, NULL));
	return picture;
}

static bool is_all(const unsigned char *p, size_t length, unsigned char byte)
{
	size_t i;

	for (i = 0; i < length; i++)
		if (p[i] != byte)
			return false;
	return true;
}

/* Buffers do not have whole pages: they begin here, with this distance. */
#define FIRST(memory)	((memory) + 8)
#define STEP(queue)	(queue_bytes(queue) + 24)

/* Allocates memory for the queue's buffers, filled with MARK. */
static unsigned char *room(const struct queue *queue, size_t align, int advice, size_t *length)
{
	unsigned char *p;

	*length = (BUFFERS * STEP(queue) + 16 + align - 1) / align * align;
	p = mmap(NULL, *length + align, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(p != MAP_FAILED);
	p = (unsigned char *)(((unsigned long)p + align - 1) & ~(align - 1));
	if (advice)
		madvise(p, *length, advice);
	memset(p, MARK, *length);
	return p;
}

/* Checks that each picture is where it belongs, and that nothing else has changed. */
static void pictures(struct queue *queue, size_t align, int advice)
{
	unsigned char *want = reference(queue), *at;
	size_t bytes = queue_bytes(queue), length, wrong = 0;
	unsigned char *memory = room(queue, align, advice, &length);
	struct buffer buffer;
	unsigned int i;

	MUST(!request(queue, V4L2_MEMORY_USERPTR, BUFFERS, NULL));
	for (i = 0; i < BUFFERS; i++) {
		at = FIRST(memory) + i * STEP(queue);
		MUST(!give(queue, i, at));
		buffer_init(&buffer, queue, V4L2_MEMORY_USERPTR, i, NULL);
		CHECK(!ioctl(queue->fd, VIDIOC_QUERYBUF, &buffer.b));
		CHECK(buffer_is_at(&buffer, queue, at));
	}
	stream(queue, true);
	for (i = 0; i < FRAMES; i++) {
		take(queue, V4L2_MEMORY_USERPTR, &buffer);
		at = FIRST(memory) + buffer.b.index * STEP(queue);
		CHECK(buffer_is_at(&buffer, queue, at));
		wrong += !!memcmp(at, want, bytes);
		memset(at, 0xee, bytes);
		MUST(!give(queue, buffer.b.index, at));
	}
	CHECK(!wrong);
	stream(queue, false);
	CHECK(is_all(memory, 8, MARK));
	for (i = 0; i < BUFFERS; i++)
		CHECK(is_all(FIRST(memory) + i * STEP(queue) + bytes, 24 - 8, MARK));
	/* The memory stays pinned until the buffers are freed, and then all of it is released. */
	CHECK(!forwarded || pinned_kib() >= (long)(BUFFERS * bytes / 1024));
	MUST(!request(queue, V4L2_MEMORY_USERPTR, 0, NULL));
	close(queue->fd);
	CHECK(pinned_becomes(0));
}

DIFF_TEST_NODE(refused, "CAPTURE", DIFF_SECONDS)
{
	struct queue queue = queue_open("CAPTURE", V4L2_BUF_TYPE_VIDEO_CAPTURE);
	unsigned char *memory = alloc_pages(64);
	unsigned int capabilities = 0;

	CHECK(!request(&queue, V4L2_MEMORY_MMAP, 0, &capabilities));
	CHECK(!!(capabilities & V4L2_BUF_CAP_SUPPORTS_USERPTR) == can_keep());
	CHECK(!create(&queue, V4L2_MEMORY_MMAP, 0, &capabilities));
	CHECK(!!(capabilities & V4L2_BUF_CAP_SUPPORTS_USERPTR) == can_keep());
	if (can_keep()) {
		CHECK(!create(&queue, V4L2_MEMORY_USERPTR, 1, &capabilities));
		CHECK(!request(&queue, V4L2_MEMORY_USERPTR, BUFFERS, NULL));
		CHECK(!give(&queue, 0, memory) == (queue.sizes[0] <= 64 * PAGE));
		return;
	}
	CHECK(create(&queue, V4L2_MEMORY_USERPTR, 1, &capabilities) == -1 && errno == EINVAL);
	CHECK(request(&queue, V4L2_MEMORY_USERPTR, BUFFERS, NULL) == -1 && errno == EINVAL);
	CHECK(!request(&queue, V4L2_MEMORY_MMAP, BUFFERS, NULL));
	CHECK(give(&queue, 0, memory) == -1 && errno == EINVAL);
	CHECK(give_by(&queue, VIDIOC_PREPARE_BUF, 0, memory) == -1 && errno == EINVAL);
	CHECK(!pinned_kib());
}

DIFF_TEST_NODE(small_pages, "CAPTURE", DIFF_SECONDS)
{
	struct queue queue = queue_open("CAPTURE", V4L2_BUF_TYPE_VIDEO_CAPTURE);

	needs_keep();
	pictures(&queue, PAGE, MADV_NOHUGEPAGE);
}

DIFF_TEST_NODE(huge_pages, "CAPTURE", DIFF_SECONDS)
{
	struct queue queue = queue_open("CAPTURE", V4L2_BUF_TYPE_VIDEO_CAPTURE);

	needs_keep();
	pictures(&queue, 2 << 20, MADV_HUGEPAGE);
}

DIFF_TEST_NODE(planes, "MCAPTURE", DIFF_SECONDS)
{
	struct queue queue = queue_open("MCAPTURE", V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE);

	MUST(queue.planes == 3);
	needs_keep();
	pictures(&queue, PAGE, 0);
}

/* The last plane is not mapped: the device keeps nothing of the buffer, and takes another one. */
DIFF_TEST_NODE(planes_missing, "MCAPTURE", DIFF_SECONDS)
{
	struct queue queue = queue_open("MCAPTURE", V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE);
	size_t bytes = queue_bytes(&queue), length;
	unsigned char *memory, *lacking;
	struct buffer buffer;

	needs_keep();
	memory = room(&queue, PAGE, 0, &length);
	lacking = room(&queue, PAGE, 0, &length);
	MUST(!munmap(lacking + bytes / PAGE * PAGE, PAGE));
	MUST(!request(&queue, V4L2_MEMORY_USERPTR, 2, NULL));
	LOG_CALL(give(&queue, 0, lacking));
	buffer_init(&buffer, &queue, V4L2_MEMORY_USERPTR, 0, NULL);
	CHECK(!ioctl(queue.fd, VIDIOC_QUERYBUF, &buffer.b));
	log_line("%#lx, %#x", buffer.planes[0].m.userptr, buffer.b.flags & V4L2_BUF_FLAG_QUEUED);
	LOG_CALL(give(&queue, 0, memory));
	LOG_CALL(give(&queue, 1, memory + STEP(&queue)));
	stream(&queue, true);
	take(&queue, V4L2_MEMORY_USERPTR, &buffer);
	CHECK(buffer_is_at(&buffer, &queue, memory + buffer.b.index * STEP(&queue)));
	close(queue.fd);
	CHECK(pinned_becomes(0));
}

/* The driver's errors are the same when it is forwarded. */
DIFF_TEST_NODE(wrong, "CAPTURE", DIFF_SECONDS)
{
	struct queue queue = queue_open("CAPTURE", V4L2_BUF_TYPE_VIDEO_CAPTURE);
	unsigned char *memory, *hole;
	struct buffer buffer;
	size_t length;

	needs_keep();
	memory = room(&queue, PAGE, 0, &length);
	hole = room(&queue, PAGE, 0, &length);
	MUST(!munmap(hole + PAGE, PAGE));
	MUST(!request(&queue, V4L2_MEMORY_USERPTR, BUFFERS, NULL));
	LOG_CALL(give(&queue, 0, NULL));
	LOG_CALL(give(&queue, 0, hole));
	LOG_CALL(give(&queue, 0, hole + PAGE));
	LOG_CALL(give(&queue, BUFFERS, memory));
	buffer_init(&buffer, &queue, V4L2_MEMORY_USERPTR, 0, memory);
	buffer.b.length = PAGE;
	LOG_CALL(ioctl(queue.fd, VIDIOC_QBUF, &buffer.b));
	buffer_init(&buffer, &queue, V4L2_MEMORY_USERPTR, 0, memory);
	buffer.b.length = 0;
	LOG_CALL(ioctl(queue.fd, VIDIOC_QBUF, &buffer.b));
	buffer_init(&buffer, &queue, V4L2_MEMORY_MMAP, 0, memory);
	LOG_CALL(ioctl(queue.fd, VIDIOC_QBUF, &buffer.b));
	MUST(!mprotect(memory, PAGE, PROT_READ));
	LOG_CALL(give(&queue, 0, memory));
	MUST(!mprotect(memory, PAGE, PROT_READ | PROT_WRITE));
	LOG_CALL(give_by(&queue, VIDIOC_PREPARE_BUF, 0, memory));
	LOG_CALL(give_by(&queue, VIDIOC_PREPARE_BUF, 0, memory));
	LOG_CALL(give(&queue, 0, memory));
	LOG_CALL(give(&queue, 0, memory));
	close(queue.fd);
	CHECK(pinned_becomes(0));
}

/*
 * The device uses the memory that it has, even if the program maps other memory at these
 * addresses.
 */
DIFF_TEST_NODE(unmapped, "CAPTURE", DIFF_SECONDS)
{
	struct queue queue = queue_open("CAPTURE", V4L2_BUF_TYPE_VIDEO_CAPTURE);
	unsigned char *want, *memory, *other, *at;
	struct buffer buffer;
	size_t length;
	unsigned int i;

	needs_keep();
	want = reference(&queue);
	memory = room(&queue, PAGE, 0, &length);
	other = room(&queue, PAGE, 0, &length);
	MUST(!request(&queue, V4L2_MEMORY_USERPTR, BUFFERS, NULL));
	for (i = 0; i < BUFFERS; i++)
		MUST(!give(&queue, i, FIRST(memory) + i * STEP(&queue)));
	MUST(mmap(memory, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		  -1, 0) == memory);
	stream(&queue, true);
	for (i = 0; i < FRAMES; i++) {
		take(&queue, V4L2_MEMORY_USERPTR, &buffer);
		/* Each buffer gets another address once, which the driver reports afterwards. */
		at = (i < BUFFERS ? FIRST(memory) : FIRST(other)) + buffer.b.index * STEP(&queue);
		CHECK(buffer_is_at(&buffer, &queue, at));
		if (i >= BUFFERS)
			CHECK(!memcmp(at, want, queue_bytes(&queue)));
		at = FIRST(other) + buffer.b.index * STEP(&queue);
		memset(at, 0xee, queue_bytes(&queue));
		MUST(!give(&queue, buffer.b.index, at));
	}
	CHECK(is_all(memory, length, 0));
	MUST(!munmap(memory, length));
	close(queue.fd);
	CHECK(pinned_becomes(0));
}

/* An output device only reads its buffers: they may be read-only, and are not changed. */
DIFF_TEST_NODE(output, "OUTPUT", DIFF_SECONDS)
{
	struct queue queue = queue_open("OUTPUT", V4L2_BUF_TYPE_VIDEO_OUTPUT);
	size_t bytes = queue_bytes(&queue), length;
	unsigned char *memory, *copy = NULL;
	struct buffer buffer;
	unsigned int i;

	needs_keep();
	memory = room(&queue, PAGE, 0, &length);
	copy = malloc(length);
	MUST(copy);
	vgpu_mock_pattern(memory, length / 8 * 8, 7, 0);
	memcpy(copy, memory, length);
	/* Drivers of older kernels want write access to all of the memory. */
	if (!tool_kernel_before(6, 3))
		MUST(!mprotect(memory, length / 2 / PAGE * PAGE, PROT_READ));
	MUST(!request(&queue, V4L2_MEMORY_USERPTR, BUFFERS, NULL));
	for (i = 0; i < BUFFERS; i++)
		MUST(!give(&queue, i, FIRST(memory) + i * STEP(&queue)));
	stream(&queue, true);
	for (i = 0; i < FRAMES; i++) {
		take(&queue, V4L2_MEMORY_USERPTR, &buffer);
		CHECK(buffer.b.bytesused == bytes);
		MUST(!give(&queue, buffer.b.index, FIRST(memory) + buffer.b.index * STEP(&queue)));
	}
	stream(&queue, false);
	CHECK(!memcmp(memory, copy, length));
	close(queue.fd);
	CHECK(pinned_becomes(0));
}

/* A capture device gets the frames of the output device that is connected to its input. */
DIFF_TEST_NODE(loop, "OUTPUT", 60)
{
	struct queue in = queue_open("CAPTURE", V4L2_BUF_TYPE_VIDEO_CAPTURE);
	struct queue out = queue_open("OUTPUT", V4L2_BUF_TYPE_VIDEO_OUTPUT);
	unsigned char *given, *taken;
	struct buffer buffer;
	size_t length, bytes;
	unsigned int i;
	bool same;

	needs_keep();
	/* vivid of other kernels has other controls for this. */
	if (!control_set(in.fd, "HDMI 000-0 Is Connected To", "HDMI 000-0"))
		return;
	/*
	 * Both are set to HDMI; the capture node's inputs before it are a webcam, a TV tuner
	 * and S-Video.
	 */
	plug(&in, 3);
	plug(&out, 1);
	queue_format(&in, 1280, 720);
	queue_format(&out, 1280, 720);
	bytes = queue_bytes(&in);
	MUST(bytes == queue_bytes(&out));
	given = room(&out, PAGE, 0, &length);
	taken = room(&in, PAGE, 0, &length);
	vgpu_mock_pattern(FIRST(given), bytes, 7, 0);
	for (i = 1; i < BUFFERS; i++)
		memcpy(FIRST(given) + i * STEP(&out), FIRST(given), bytes);
	MUST(!request(&out, V4L2_MEMORY_USERPTR, BUFFERS, NULL));
	MUST(!request(&in, V4L2_MEMORY_USERPTR, BUFFERS, NULL));
	for (i = 0; i < BUFFERS; i++) {
		MUST(!give(&out, i, FIRST(given) + i * STEP(&out)));
		MUST(!give(&in, i, FIRST(taken) + i * STEP(&in)));
	}
	stream(&out, true);
	stream(&in, true);
	/* The first frames may be taken before the output device has shown one. */
	for (same = false, i = 0; !same && i < 3 * FRAMES; i++) {
		take(&out, V4L2_MEMORY_USERPTR, &buffer);
		MUST(!give(&out, buffer.b.index, FIRST(given) + buffer.b.index * STEP(&out)));
		take(&in, V4L2_MEMORY_USERPTR, &buffer);
		same = !memcmp(FIRST(taken) + buffer.b.index * STEP(&in), FIRST(given), bytes);
		MUST(!give(&in, buffer.b.index, FIRST(taken) + buffer.b.index * STEP(&in)));
	}
	CHECK(same);
	stream(&in, false);
	stream(&out, false);
	CHECK(control_set(in.fd, "HDMI 000-0 Is Connected To", "Test Pattern"));
}

/* A program may get its next buffer at the address where it has just unmapped another one. */
DIFF_TEST_NODE(many, "CAPTURE", 60)
{
	struct queue queue = queue_open("CAPTURE", V4L2_BUF_TYPE_VIDEO_CAPTURE);
	struct v4l2_requestbuffers request = {
		.count = 32, .type = queue.type, .memory = V4L2_MEMORY_USERPTR,
	};
	size_t bytes = queue_bytes(&queue);
	struct buffer buffer;
	unsigned char *p;
	unsigned int i;

	needs_keep();
	MUST(!ioctl(queue.fd, VIDIOC_REQBUFS, &request) && request.count == 32);
	for (i = 0; i < 32; i++) {
		p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		MUST(p != MAP_FAILED && !give(&queue, i, p));
		MUST(!munmap(p, bytes));
	}
	stream(&queue, true);
	for (i = 0; i < 32; i++)
		take(&queue, V4L2_MEMORY_USERPTR, &buffer);
	close(queue.fd);
	CHECK(pinned_becomes(0));
}

int main(int argc, char **argv)
{
	vivid_setup("n_devs=2 node_types=0x101 multiplanar=1,2", nodes,
		    sizeof(nodes) / sizeof(nodes[0]));
	return test_harness_run(argc, argv);
}
