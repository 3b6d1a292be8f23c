// SPDX-License-Identifier: GPL-2.0-only
/* Tests that convert times of drivers from the host's clocks to the guest's. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "marshal_test.h"

/* A time of the host in whole microseconds, and the same time in the guest. */
#define HOST_SECONDS	500
#define HOST_MICRO	250000
#define HOST_TIME	(HOST_SECONDS * 1000000000ULL + HOST_MICRO * 1000ULL)
#define HERE(clock)	USER_STAMP(HOST_TIME, clock)

/* --- ioctls --------------------------------------------------------------- */

/* The bytes that the driver writes to the argument, and its result. */
struct answer {
	const void *data;
	u32 len;
	long result;
};

static long answer_driver(struct host *h, u32 cmd, u64 arg, void *data)
{
	const struct answer *a = data;
	void *p = driver_mem(h, arg, a->len, USER_READ);

	if (!p)
		return -EFAULT;
	memcpy(p, a->data, a->len);
	return a->result;
}

static long answered(const struct vgpu_schema *schema, u32 cmd, bool compat, const void *before,
		     const void *after, u32 len, long result, void *got)
{
	struct answer answer = { after, len, result };
	void *p;
	long ret;

	start();
	p = user_alloc(len);
	memcpy(p, before, len);
	ret = host_ioctl(&host, schema, cmd, (uintptr_t)p, compat, answer_driver, &answer);
	memcpy(got, p, len);
	return ret;
}

static void test_nanoseconds(void)
{
	struct drm_crtc_get_sequence before = { .crtc_id = 3, .sequence_ns = 5 };
	struct drm_crtc_get_sequence after = before, got;
	const u32 cmd = DRM_IOCTL_CRTC_GET_SEQUENCE;

	after.sequence = 77;
	after.sequence_ns = HOST_TIME;
	tap_expect(!answered(&vgpu_schema_drm, cmd, false, &before, &after, sizeof(got), 0, &got) &&
		   got.sequence_ns == (s64)HERE(VGPU_CLOCK_MONOTONIC) && got.sequence == 77,
		   "a time");
	tap_expect(answered(&vgpu_schema_drm, cmd, false, &before, &after, sizeof(got), -EINVAL,
			    &got) == -EINVAL && got.sequence_ns == (s64)HERE(VGPU_CLOCK_MONOTONIC),
		   "and an error");
	after.sequence_ns = 0;
	tap_expect(!answered(&vgpu_schema_drm, cmd, false, &before, &after, sizeof(got), 0, &got) &&
		   !got.sequence_ns && !user.stamps, "none");
	after.sequence_ns = -1;
	tap_expect(!answered(&vgpu_schema_drm, cmd, false, &before, &after, sizeof(got), 0, &got) &&
		   got.sequence_ns == -1 && !user.stamps, "what no clock can show");
	after = before;
	tap_expect(!answered(&vgpu_schema_drm, cmd, false, &before, &after, sizeof(got), 0, &got) &&
		   got.sequence_ns == 5 && !user.stamps, "what the driver does not touch");
	tap_subject("nanoseconds");
}

static void test_vblank(void)
{
	union drm_wait_vblank before = { .request = { .signal = 0x1234567 } }, after = before, got;
	union drm_wait_vblank32 before32 = { .request = { .signal = 7 } }, after32 = before32, got32;
	const u64 here = HERE(VGPU_CLOCK_MONOTONIC);

	after.reply.tval_sec = HOST_SECONDS;
	after.reply.tval_usec = HOST_MICRO;
	tap_expect(!answered(&vgpu_schema_drm, DRM_IOCTL_WAIT_VBLANK, false, &before, &after,
			     sizeof(got), 0, &got) &&
		   got.reply.tval_sec == (long)(here / NSEC_PER_SEC) &&
		   got.reply.tval_usec == (long)(here % NSEC_PER_SEC / 1000), "waited for");
	after = before;
	after.reply.sequence = 9;
	tap_expect(!answered(&vgpu_schema_drm, DRM_IOCTL_WAIT_VBLANK, false, &before, &after,
			     sizeof(got), 0, &got) &&
		   got.request.signal == 0x1234567 && got.reply.sequence == 9 && !user.stamps,
		   "an event that was asked for");
	after.reply.tval_sec = HOST_SECONDS;
	after.reply.tval_usec = 1000000;
	tap_expect(!answered(&vgpu_schema_drm, DRM_IOCTL_WAIT_VBLANK, false, &before, &after,
			     sizeof(got), 0, &got) &&
		   got.reply.tval_sec == HOST_SECONDS && got.reply.tval_usec == 1000000,
		   "too many microseconds");
	after32.reply.tval_sec = HOST_SECONDS;
	after32.reply.tval_usec = HOST_MICRO;
	tap_expect(!answered(&vgpu_schema_drm, DRM_IOCTL_WAIT_VBLANK32, true, &before32, &after32,
			     sizeof(got32), 0, &got32) &&
		   got32.reply.tval_sec == (int)(here / NSEC_PER_SEC) &&
		   got32.reply.tval_usec == (int)(here % NSEC_PER_SEC / 1000), "by 32 bits");
	tap_subject("vblanks");
}

static void test_buffer(void)
{
	struct v4l2_buffer before = { .memory = V4L2_MEMORY_MMAP }, after = before, got;
	const u64 here = HERE(VGPU_CLOCK_MONOTONIC);

	after.timestamp.tv_sec = HOST_SECONDS;
	after.timestamp.tv_usec = HOST_MICRO;
	after.flags = V4L2_BUF_FLAG_DONE | V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
	tap_expect(!answered(&vgpu_schema_v4l2, VIDIOC_DQBUF, false, &before, &after, sizeof(got), 0,
			     &got) &&
		   got.timestamp.tv_sec == (long)(here / NSEC_PER_SEC) &&
		   got.timestamp.tv_usec == (long)(here % NSEC_PER_SEC / 1000), "a frame's time");
	after.flags = V4L2_BUF_FLAG_DONE | V4L2_BUF_FLAG_TIMESTAMP_COPY;
	tap_expect(!answered(&vgpu_schema_v4l2, VIDIOC_DQBUF, false, &before, &after, sizeof(got), 0,
			     &got) && !memcmp(&got, &after, sizeof(got)) && !user.stamps,
		   "the program's own number");
	/* The flags of the driver count, and not those of the program. */
	before.flags = V4L2_BUF_FLAG_TIMESTAMP_COPY;
	after.flags = V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
	tap_expect(!answered(&vgpu_schema_v4l2, VIDIOC_QBUF, false, &before, &after, sizeof(got), 0,
			     &got) && got.timestamp.tv_sec == (long)(here / NSEC_PER_SEC),
		   "as the driver says");
	tap_subject("buffers");
}

static void test_sound(void)
{
	struct vgpu_pcm_status before = { 0 }, after = { 0 }, got;
	struct snd_pcm_sw_params sw = {
		.proto = SNDRV_PROTOCOL_VERSION(2, 0, 12),
		.tstamp_type = SNDRV_PCM_TSTAMP_TYPE_MONOTONIC_RAW,
	}, sw_got;
	int type = SNDRV_PCM_TSTAMP_TYPE_MONOTONIC;

	after.tstamp[0] = HOST_SECONDS;
	after.tstamp[1] = HOST_MICRO * 1000;
	after.audio_tstamp[0] = 3;
	tap_expect(!answered(&vgpu_schema_sound, VGPU_PCM_STATUS, false, &before, &after,
			     sizeof(got), 0, &got) &&
		   (u64)got.tstamp[0] == HERE(VGPU_CLOCK_FILE) / NSEC_PER_SEC &&
		   (u64)got.tstamp[1] == HERE(VGPU_CLOCK_FILE) % NSEC_PER_SEC &&
		   !got.trigger_tstamp[0] && got.audio_tstamp[0] == 3 && user.stamps == 1,
		   "by the file's clock");
	answered(&vgpu_schema_sound, SNDRV_PCM_IOCTL_SW_PARAMS, false, &sw, &sw, sizeof(sw), 0,
		 &sw_got);
	tap_expect(user.chosen == VGPU_CLOCK_RAW + 1, "which a program chooses");
	answered(&vgpu_schema_sound, SNDRV_PCM_IOCTL_SW_PARAMS, false, &sw, &sw, sizeof(sw), -EINVAL,
		 &sw_got);
	tap_expect(!user.chosen, "unless the driver fails");
	sw.proto--;
	answered(&vgpu_schema_sound, SNDRV_PCM_IOCTL_SW_PARAMS, false, &sw, &sw, sizeof(sw), 0,
		 &sw_got);
	tap_expect(!user.chosen, "or the program is too old");
	answered(&vgpu_schema_sound, SNDRV_PCM_IOCTL_TTSTAMP, false, &type, &type, sizeof(type), 0,
		 &type);
	tap_expect(user.chosen == VGPU_CLOCK_MONOTONIC + 1, "and does so like that");
	type = 3;
	answered(&vgpu_schema_sound, SNDRV_PCM_IOCTL_TTSTAMP, false, &type, &type, sizeof(type), 0,
		 &type);
	tap_expect(!user.chosen, "there is no such clock");
	tap_subject("sound");
}

/* Fills the first *@data of four fences. */
static long fences_driver(struct host *h, u32 cmd, u64 arg, void *data)
{
	struct sync_file_info *info = driver_mem(h, arg, sizeof(*info), USER_READ);
	struct sync_fence_info *fences = driver_mem(h, info->sync_fence_info, 4 * sizeof(*fences),
						    USER_WRITE);
	u32 i, filled = *(u32 *)data;

	info->num_fences = filled;
	for (i = 0; i < filled; i++) {
		memset(&fences[i], 0, sizeof(fences[i]));
		/* A fence that is not signaled has no time. */
		fences[i].timestamp_ns = i == 1 ? 0 : HOST_TIME + i;
	}
	return 0;
}

static void test_fences(void)
{
	struct sync_fence_info *fences;
	struct sync_file_info *info;
	u32 filled = 3;

	start();
	info = user_alloc(sizeof(*info));
	fences = user_alloc(4 * sizeof(*fences));
	info->num_fences = 4;
	info->sync_fence_info = (uintptr_t)fences;
	fences[3].timestamp_ns = 55;
	tap_expect(!call(&vgpu_schema_sync_file, SYNC_IOC_FILE_INFO, info, fences_driver, &filled),
		   "told");
	tap_expect(fences[0].timestamp_ns == HERE(VGPU_CLOCK_MONOTONIC) &&
		   !fences[1].timestamp_ns &&
		   fences[2].timestamp_ns == HERE(VGPU_CLOCK_MONOTONIC) + 2, "each by itself");
	tap_expect(fences[3].timestamp_ns == 55 && user.stamps == 2, "only what was filled");
	tap_subject("fences");
}

/* --- read() --------------------------------------------------------------- */

union events {
	struct drm_event base;
	struct drm_event_vblank vblank;
	u8 bytes[256];
};

static u32 add_event(union events *events, u32 at, u32 type, u32 len)
{
	struct drm_event_vblank event = {
		.base = { .type = type, .length = len }, .user_data = 0x1122334455667788,
		.tv_sec = HOST_SECONDS, .tv_usec = HOST_MICRO, .sequence = 1, .crtc_id = 2,
	};

	memcpy(events->bytes + at, &event, min((size_t)len, sizeof(event)));
	return at + len;
}

static u32 seconds_at(const union events *events, u32 at)
{
	struct drm_event_vblank event;

	memcpy(&event, events->bytes + at, sizeof(event));
	return event.tv_sec;
}

/* Converts events in memory of exactly @len bytes, so that ASan detects accesses beyond. */
static void convert(union events *events, u32 len)
{
	u8 *p = malloc(len ? len : 1);

	start();
	memcpy(p, events->bytes, len);
	vgpu_marshal_events(&vgpu_schema_vgem, p, len, &user_fds, &user);
	memcpy(events->bytes, p, len);
	free(p);
}

static void test_events(void)
{
	const u32 one = sizeof(struct drm_event_vblank);
	struct drm_event_crtc_sequence sequence = {
		.base = { DRM_EVENT_CRTC_SEQUENCE, sizeof(sequence) }, .time_ns = HOST_TIME,
	};
	union events events = { 0 }, before;
	u32 len, i;

	len = add_event(&events, 0, DRM_EVENT_VBLANK, one);
	len = add_event(&events, len, 0x80000000, one + 8);
	len = add_event(&events, len, DRM_EVENT_FLIP_COMPLETE, one);
	memcpy(events.bytes + len, &sequence, sizeof(sequence));
	len += sizeof(sequence);
	convert(&events, len);
	memcpy(&sequence, events.bytes + len - sizeof(sequence), sizeof(sequence));
	tap_expect(seconds_at(&events, 0) == HERE(0) / NSEC_PER_SEC &&
		   seconds_at(&events, 2 * one + 8) == HERE(0) / NSEC_PER_SEC &&
		   sequence.time_ns == (s64)HERE(0) && user.stamps == 3, "those of DRM");
	tap_expect(events.vblank.tv_usec == HERE(0) % NSEC_PER_SEC / 1000 &&
		   events.vblank.user_data == 0x1122334455667788 &&
		   events.vblank.sequence == 1 && events.vblank.crtc_id == 2, "their times alone");
	tap_expect(seconds_at(&events, one) == HOST_SECONDS, "not a driver's own");

	for (i = 0; i < 8; i++) {
		add_event(&events, 0, DRM_EVENT_VBLANK, one);
		events.base.length = i;
		add_event(&events, one, DRM_EVENT_VBLANK, one);
		before = events;
		convert(&events, 2 * one);
		tap_expect(!memcmp(&before, &events, sizeof(events)), "length %u ends it", i);
	}
	add_event(&events, 0, DRM_EVENT_VBLANK, one);
	events.base.length = one + 1;
	before = events;
	convert(&events, one);
	tap_expect(!memcmp(&before, &events, sizeof(events)), "longer than what was read");
	events.base.length = U32_MAX;
	before = events;
	convert(&events, one);
	tap_expect(!memcmp(&before, &events, sizeof(events)), "of any length");
	for (len = 0; len < one; len++) {
		add_event(&events, 0, DRM_EVENT_VBLANK, one);
		events.base.length = min(len, one);
		before = events;
		convert(&events, len);
		/* The time ends at byte 24 of the event. */
		tap_expect(len >= 24 || !memcmp(&before, &events, sizeof(events)),
			   "%u bytes of one", len);
	}
	start();
	vgpu_marshal_events(NULL, before.bytes, one, &user_fds, &user);
	vgpu_marshal_events(&vgpu_schema_v4l2, before.bytes, one, &user_fds, &user);
	tap_expect(!user.stamps, "not of another kind of file");
	tap_subject("events");
}

int main(void)
{
	test_nanoseconds();
	test_vblank();
	test_buffer();
	test_sound();
	test_fences();
	test_events();
	return tap_done();
}
