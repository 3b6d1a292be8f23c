// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two guests share a device whose driver queues the work and returns. The work has a fence, which
 * signals when the device has done it. Each program of the greedy guest has a second call in the
 * queue when the first one ends.
 */
#include <drm/drm.h>
#include <drm/vgem_drm.h>

#include "hostile_share.h"

#define GEM_CONF	"/etc/vgpu/exports.d/hostile-gem.conf"
#define GEM_NAME	"hostile-gem"

/* Work of the modest guest, which leaves the device three quarters of the time. */
#define MODEST_US	10000
#define MODEST_WORKS	100

/* Number of calls of a measurement, and of measurements. */
#define CALLS		400
#define ROUNDS		5

struct answer {
	struct vgpu_reply reply;
	union {
		struct vgpu_object_desc object;
		char data[256];
	};
	char more[256];
};

/* --- calls ---------------------------------------------------------------- */

/* Gives the device work until the test is over. */
static bool program_queue(int fd, struct common *common, int number)
{
	struct pollfd last = { .fd = -1, .events = POLLIN };
	struct vgpu_mock_queue_wait wait = { };
	struct vgpu_mock_queue queue;
	uint64_t done = 0;

	while (!stopped(common)) {
		queue = (struct vgpu_mock_queue){ .us = WORK_US, .flags = VGPU_MOCK_QUEUE_FENCE };
		if (ioctl(fd, VGPU_MOCK_IOC_QUEUE, &queue))
			return stopped(common);
		if (last.fd >= 0) {
			if (poll(&last, 1, 3 * SLACK_MS) != 1)
				return false;
			close(last.fd);
			done += WORK_US;
			__atomic_store_n(&common->done[number], done, __ATOMIC_RELAXED);
		}
		last.fd = queue.out_fence;
	}
	if (ioctl(fd, VGPU_MOCK_IOC_QUEUE_WAIT, &wait))
		return false;
	common->longest[number] = wait.out_longest_us;
	return true;
}

/* Queues work for which the reply gives the guest a fence, which the guest closes at once. */
static bool queue_send(FIXTURE_DATA(share) *self, int lane, uint32_t us, uint32_t flags)
{
	struct vgpu_mock_queue queue = { .us = us, .flags = VGPU_MOCK_QUEUE_FENCE | flags };
	struct vgpu_fixup fixup = {
		.type = htole16(VGPU_FIXUP_FD_OUT),
		.offset = htole32(offsetof(struct vgpu_mock_queue, out_fence)),
	};

	return fixup_send(lane, self->object, ++self->seq, VGPU_MOCK_IOC_QUEUE, &fixup, &queue,
			  sizeof(queue));
}

/* Receives the reply to queue_send(), and takes the fence. */
static bool queue_reply(FIXTURE_DATA(share) *self, int lane)
{
	struct vgpu_hdr ack = {
		.len = htole32(sizeof(ack)),
		.type = htole16(VGPU_MSG_ACK),
		.seq = htole64(self->seq),
	};
	struct peer_call call;
	struct answer answer;

	if (peer_reply(lane, &answer, sizeof(answer), 3 * SLACK_MS) ||
	    le16toh(answer.reply.nr_objects) != 1 || !peer_send(lane, &ack, sizeof(ack)))
		return false;
	peer_call_init(&call, VGPU_OP_CLOSE, le32toh(answer.object.object), ++self->seq);
	call.msg.args.close.reference = answer.object.reference;
	return peer_call_send(lane, &call, 0, 0) && !reply(lane);
}

/* Waits until the device has done all work of the guest's file. */
static bool queue_wait(FIXTURE_DATA(share) *self)
{
	struct vgpu_mock_queue_wait wait = { };

	return send_call(self, self->lane, VGPU_MOCK_IOC_QUEUE_WAIT, &wait, sizeof(wait)) &&
	       !reply(self->lane);
}

static bool queue_us(FIXTURE_DATA(share) *self, uint32_t us)
{
	if (!queue_send(self, self->lane, us, 0) || !queue_reply(self, self->lane) ||
	    !queue_wait(self))
		return false;
	self->done += us;
	/* The host drops a guest that is silent. */
	return peer_ping(&self->peer);
}

/* The guest of one program gives the device work once, and waits for its end. */
static bool queue(FIXTURE_DATA(share) *self)
{
	return queue_us(self, WORK_US);
}

static const struct ways ways = { .run = program_queue, .work = queue };

/* Ends all work that does not end by itself. */
static bool unstick(void)
{
	struct vgpu_mock_queue_wait wait = { .flags = VGPU_MOCK_QUEUE_FREE };
	int fd = open(real_path, O_RDWR | O_CLOEXEC);
	bool ok = fd >= 0 && !ioctl(fd, VGPU_MOCK_IOC_QUEUE_WAIT, &wait);

	close(fd);
	return ok;
}

/* --- tests ---------------------------------------------------------------- */

TEST_F_TIMEOUT(share, equal, 120)
{
	measure(_metadata, self, &ways, "100", "100", 50);
}

TEST_F_TIMEOUT(share, one_has_more, 120)
{
	measure(_metadata, self, &ways, "100", "300", 75);
}

TEST_F_TIMEOUT(share, many_have_more, 120)
{
	measure(_metadata, self, &ways, "300", "100", 25);
}

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000ULL + ts.tv_nsec / 1000;
}

static int compare_times(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Measures the time in us that the modest guest's work takes, which all but 1 % take at most. */
static uint64_t modest(struct __test_metadata *_metadata, FIXTURE_DATA(share) *self)
{
	uint64_t times[MODEST_WORKS], start;
	int i;

	for (i = 0; i < MODEST_WORKS; i++) {
		start = now_us();
		ASSERT_TRUE(queue_us(self, MODEST_US)) {
			return 0;
		}
		times[i] = now_us() - start;
		usleep(3 * MODEST_US);
	}
	qsort(times, MODEST_WORKS, sizeof(times[0]), compare_times);
	return times[MODEST_WORKS * 99 / 100 - 1];
}

/* A guest that uses a quarter of the device waits for one call of the greedy guest at most. */
TEST_F_TIMEOUT(share, modest, 180)
{
	uint64_t alone, shared, longest = 0;
	int i;

	alone = modest(_metadata, self);
	ASSERT_TRUE(programs_begin(self, program_queue));
	while (programs_done(self) < 2 * PROGRAMS * WORK_US && !self->common->failed)
		ASSERT_TRUE(queue(self));
	shared = modest(_metadata, self);
	programs_end(self);
	EXPECT_EQ(0, self->common->failed);
	for (i = 0; i < PROGRAMS; i++)
		if (self->common->longest[i] > longest)
			longest = self->common->longest[i];
	TH_LOG("99 %% take at most %llu us alone, %llu us beside calls of at most %llu us",
	       (unsigned long long)alone, (unsigned long long)shared,
	       (unsigned long long)longest);
	EXPECT_LE(shared, 2 * alone + longest);
}

/* Measures the time in us that a program's call takes in the middle, without the device's work. */
static uint64_t uncontended(struct __test_metadata *_metadata, FIXTURE_DATA(share) *self)
{
	struct vgpu_mock_queue queue;
	uint64_t times[CALLS], start;
	int i;

	for (i = 0; i < CALLS; i++) {
		queue = (struct vgpu_mock_queue){ .flags = VGPU_MOCK_QUEUE_FENCE };
		start = now_us();
		ASSERT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_QUEUE, &queue)) {
			return 0;
		}
		times[i] = now_us() - start;
		close(queue.out_fence);
	}
	qsort(times, CALLS, sizeof(times[0]), compare_times);
	return times[CALLS / 2];
}

/* A guest that is alone pays little for what is needed when another one comes. */
TEST_F_TIMEOUT(share, uncontended, 120)
{
	uint64_t with[ROUNDS], without[ROUNDS];
	int i;

	for (i = 0; i < ROUNDS; i++) {
		with[i] = uncontended(_metadata, self);
		close(self->lane);
		peer_close(&self->peer);
		ASSERT_TRUE(eventually(no_guest, NULL, SLACK_MS));
		without[i] = uncontended(_metadata, self);
		HOST_BEGIN(&self->peer, self->lane, self->object);
		self->seq = 1;
	}
	qsort(with, ROUNDS, sizeof(with[0]), compare_times);
	qsort(without, ROUNDS, sizeof(without[0]), compare_times);
	TH_LOG("a call takes %llu us beside a guest that does nothing, %llu us without it",
	       (unsigned long long)with[ROUNDS / 2], (unsigned long long)without[ROUNDS / 2]);
	/* The part of it is larger in emulation, where an atomic operation costs much. */
	EXPECT_LE(with[ROUNDS / 2] * 100, without[ROUNDS / 2] * 150);
}

/*
 * Work that never ends does not keep the device from others. It does not keep anything of the host
 * when the guest and the export are gone, and may end then.
 */
TEST_F_TIMEOUT(share, never_ends, 180)
{
	long long used;
	int i;

	for (i = 0; i < 3; i++) {
		ASSERT_TRUE(queue_send(self, self->lane, 0, VGPU_MOCK_QUEUE_STUCK));
		ASSERT_TRUE(queue_reply(self, self->lane));
	}
	ASSERT_TRUE(programs_begin(self, program_queue));
	while (programs_done(self) < 4 * PROGRAMS * WORK_US && !self->common->failed) {
		ASSERT_TRUE(peer_ping(&self->peer));
		usleep(100000);
	}
	used = shown("1:22600", "device_ns");
	programs_end(self);
	EXPECT_EQ(0, self->common->failed);
	/* The guest is charged for it. */
	EXPECT_GT(used, 1000000000LL);
	/* One fence signals while the guest is there, others are made until it goes. */
	EXPECT_TRUE(unstick());
	for (i = 0; i < 2; i++) {
		ASSERT_TRUE(queue_send(self, self->lane, 0, VGPU_MOCK_QUEUE_STUCK));
		ASSERT_TRUE(queue_reply(self, self->lane));
	}
	close(self->lane);
	self->lane = -1;
	peer_close(&self->peer);
	self->peer.control = -1;
	EXPECT_TRUE(eventually(no_guest, NULL, SLACK_MS));
	close(self->fd);
	self->fd = -1;
	unlink(CONF);
	EXPECT_TRUE(run("vgpuctl reload"));
	EXPECT_TRUE(unstick());
}

/* A guest with a cap is charged for what the buffers of its DRM file wait for. */
TEST_F_TIMEOUT(share, buffers, 60)
{
	struct drm_mode_create_dumb dumb = { .width = 64, .height = 64, .bpp = 32 };
	const char *card = getenv("VGPU_REAL_VGEM_CARD");
	struct drm_vgem_fence_attach attach = { .flags = VGEM_FENCE_WRITE };
	struct drm_vgem_fence_signal signal = { };
	struct peer peer = { .control = -1 };
	struct answer answer;
	uint32_t object;
	long long used[3];
	uint64_t seq = 1;
	FILE *file;
	int lane;

	if (!card)
		SKIP(return, "needs vgem");
	peer_close(&self->peer);
	self->peer.control = -1;
	EXPECT_TRUE(eventually(no_guest, NULL, SLACK_MS));
	ASSERT_TRUE(run("vgpuctl limit 1:22600 device-cap=90"));
	unlink(CONF);
	file = fopen(GEM_CONF, "w");
	ASSERT_NE(NULL, file);
	fprintf(file, "[" GEM_NAME "]\npath = %s\nto = %d:%d\nsubmit-ioctls = %#x\n", card,
		LOOPBACK, PORT,
		(unsigned int)('d' << 8 | (DRM_COMMAND_BASE + DRM_VGEM_FENCE_ATTACH)));
	ASSERT_EQ(0, fclose(file));
	ASSERT_TRUE(run("vgpuctl reload"));
	HOST_BEGIN(&peer, lane, object);
	ASSERT_TRUE(peer_ioctl_send(lane, object, ++seq, DRM_IOCTL_MODE_CREATE_DUMB, &dumb,
				    0x10000000, sizeof(dumb)));
	ASSERT_EQ(0, peer_reply(lane, &answer, sizeof(answer), SLACK_MS));
	memcpy(&dumb, answer.data, sizeof(dumb));
	attach.handle = dumb.handle;
	used[0] = shown("1:22600", "device_ns");
	ASSERT_TRUE(peer_ioctl_send(lane, object, ++seq, DRM_IOCTL_VGEM_FENCE_ATTACH, &attach,
				    0x10000000, sizeof(attach)));
	ASSERT_EQ(0, peer_reply(lane, &answer, sizeof(answer), SLACK_MS));
	memcpy(&attach, answer.data, sizeof(attach));
	usleep(500000);
	/* The charge is counted up when something happens, as the end of the work. */
	signal.fence = attach.out_fence;
	ASSERT_TRUE(peer_ioctl_send(lane, object, ++seq, DRM_IOCTL_VGEM_FENCE_SIGNAL, &signal,
				    0x10000000, sizeof(signal)));
	ASSERT_EQ(0, peer_reply(lane, &answer, sizeof(answer), SLACK_MS));
	used[1] = shown("1:22600", "device_ns");
	usleep(500000);
	used[2] = shown("1:22600", "device_ns");
	EXPECT_GE(used[1] - used[0], 500000000LL);
	EXPECT_EQ(used[1], used[2]);
	EXPECT_TRUE(run("vgpuctl limit 1:22600 device-cap="));
	close(lane);
	peer_close(&peer);
	EXPECT_TRUE(eventually(no_guest, NULL, SLACK_MS));
	unlink(GEM_CONF);
	EXPECT_TRUE(run("vgpuctl reload"));
}

TEST_HARNESS_MAIN
