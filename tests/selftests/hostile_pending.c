// SPDX-License-Identifier: GPL-2.0-only
/*
 * Work that a device still does after the driver has returned (pending.c of the host module): work
 * that never ends, more of it than the host remembers, and buffers that tell of it. The tests do
 * not measure shares; hostile_share_async does.
 */
#include <drm/drm.h>
#include <drm/vgem_drm.h>

#include "hostile_queue.h"

#define GEM_CONF	"/etc/vgpu/exports.d/hostile-gem.conf"
#define GEM_NAME	"hostile-gem"

/* More submissions than may be pending. */
#define MANY		300

/* Ends all work that does not end by itself. */
static bool unstick(void)
{
	struct vgpu_mock_queue_wait wait = { .flags = VGPU_MOCK_QUEUE_FREE };
	int fd = open(real_path, O_RDWR | O_CLOEXEC);
	bool ok = fd >= 0 && !ioctl(fd, VGPU_MOCK_IOC_QUEUE_WAIT, &wait);

	close(fd);
	return ok;
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

/* Returns the flags by which the kernel tells of its own faults, such as warnings. */
static long long kernel_faults(void)
{
	const struct tool_run *run = tool_run("cat /proc/sys/kernel/tainted");

	return run->status ? -1 : atoll(run->out);
}

/* A guest has more work that never ends than the host remembers. The host does not warn. */
TEST_F_TIMEOUT(share, many_never_end, 120)
{
	const long long before = kernel_faults();
	int i;

	ASSERT_GE(before, 0);
	for (i = 0; i < MANY; i++) {
		ASSERT_TRUE(queue_send(self, self->lane, 0, VGPU_MOCK_QUEUE_STUCK));
		ASSERT_TRUE(queue_reply(self, self->lane));
		/* The host drops a guest that is silent, and slows one down that floods it. */
		if (!(i % 20))
			ASSERT_TRUE(peer_ping(&self->peer));
	}
	EXPECT_EQ(before, kernel_faults());
	EXPECT_TRUE(unstick());
	EXPECT_TRUE(queue(self));
	EXPECT_EQ(before, kernel_faults());
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
