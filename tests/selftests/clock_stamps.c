// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drivers report when something happened: page flips, vblanks, fences, camera buffers and
 * events, sound. The time must be between the times of this machine's clocks before and after,
 * natively as well. Clocks of two machines differ by the time for which each has been running;
 * the mock reports its machine's clock, to make sure that they do.
 *
 * The tests export a camera and a sound card, as root: to the guest of this machine where the
 * host is in the same machine, and to the guest of the other machine where the test runs on the
 * host first.
 */
#include <linux/sync_file.h>
#include <linux/videodev2.h>
#include <poll.h>
#include <sound/asound.h>

#include "tool.h"
#include "drm_node.h"

#define MS		1000000LL
#define SECOND		1000000000LL
/* A vblank may be reported this much too late on a busy machine. */
#define LATE		(200 * MS)
#define TRIES		20
/* Machines whose clocks differ by less could not be distinguished. */
#define APART		(20 * MS)

static long long clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * SECOND + now.tv_nsec;
}

static long long now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/*
 * Checks a time. It is logged only where it is wrong, as the logs of both runs have to be
 * equal.
 */
static bool between(long long from, long long stamp, long long to, const char *what)
{
	if (stamp >= from - MS && stamp <= to + MS)
		return true;
	log_line("%s: %lld ns, between %lld and %lld", what, stamp, from, to);
	return false;
}

#define BETWEEN(from, stamp, what)	CHECK(between(from, stamp, now_ns(), what))

/* Returns the rate of the processor's counter, which is measured once. */
static long long ticks_a_ms(void)
{
	static long long ticks;
	long long from = now_ns(), tsc = __builtin_ia32_rdtsc();

	if (!ticks) {
		usleep(20000);
		ticks = (__builtin_ia32_rdtsc() - tsc) * MS / (now_ns() - from);
	}
	return ticks;
}

/* --- the mock ------------------------------------------------------------- */

static struct vgpu_mock_times times_of(int fd, __u32 flags)
{
	struct vgpu_mock_times t = { .flags = flags, .micro = 77 };

	MUST(!ioctl(fd, CMD(TIMES), &t));
	return t;
}

/* Return: true if the driver's machine has other clocks than this one. */
static bool apart(int fd)
{
	long long from = now_ns();
	struct vgpu_mock_times t = times_of(fd, 0);
	long long to = now_ns();

	return (long long)t.out_host_ns < from - APART || (long long)t.out_host_ns > to + APART;
}

static void mock_once(int fd, long long *last)
{
	long long from = now_ns(), real = clock_ns(CLOCK_REALTIME);
	long long raw = clock_ns(CLOCK_MONOTONIC_RAW);
	long long ticks = ticks_a_ms(), tsc = __builtin_ia32_rdtsc();
	struct vgpu_mock_times t = times_of(fd, VGPU_MOCK_TIMES_VALID);

	tsc = tsc - ticks;
	if ((long long)t.tsc < tsc || t.tsc > __builtin_ia32_rdtsc() + ticks)
		CHECK(!"the counter shows something else");
	BETWEEN(from, t.ns, "nanoseconds");
	BETWEEN(from, t.seconds * SECOND + t.micro * 1000, "seconds and microseconds");
	CHECK(between(real, t.realtime_ns, clock_ns(CLOCK_REALTIME), "real time"));
	CHECK(between(real, t.realtime_us * 1000, clock_ns(CLOCK_REALTIME), "microseconds"));
	CHECK(between(raw, t.raw_ns, clock_ns(CLOCK_MONOTONIC_RAW), "raw time"));
	CHECK((long long)t.ns >= *last);
	*last = t.ns;
	/* The field is a number here that only looks like a time. */
	t = times_of(fd, 0);
	CHECK(t.seconds == VGPU_MOCK_TIMES_SECONDS && t.micro == 77);
}

DIFF_TEST(mock)
{
	int fd = open_device(O_RDWR), i;
	pid_t spinner[2];
	long long last = 0;

	if (forwarded && !strcmp(getenv("VGPU_TIER"), "pair"))
		CHECK(apart(fd));
	for (i = 0; i < 50; i++)
		mock_once(fd, &last);
	/* The check is repeated while other processes want the processor. */
	for (i = 0; i < 2; i++) {
		spinner[i] = fork();
		while (!spinner[i])
			;
	}
	for (i = 0; i < 50; i++)
		mock_once(fd, &last);
	for (i = 0; i < 2; i++)
		kill(spinner[i], SIGKILL);
}

/* --- fences --------------------------------------------------------------- */

DIFF_TEST_NODE(fence, "VGEM_CARD", DIFF_SECONDS)
{
	struct drm_mode_create_dumb dumb = { .width = 16, .height = 16, .bpp = 32 };
	struct dma_buf_export_sync_file export = { .flags = DMA_BUF_SYNC_RW };
	struct sync_fence_info fences[4];
	struct sync_file_info info = {
		.num_fences = 4, .sync_fence_info = (__u64)(uintptr_t)fences,
	};
	struct drm_prime_handle prime = { .flags = DRM_CLOEXEC | DRM_RDWR };
	__u32 attach[4] = { 0, 1 }, signal[2] = { 0 };
	int fd = open_device(O_RDWR);
	long long from;

	MUST(!ioctl(fd, DRM_IOCTL_MODE_CREATE_DUMB, &dumb));
	prime.handle = dumb.handle;
	MUST(!ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	attach[0] = dumb.handle;
	MUST(!ioctl(fd, DRM_IOCTL_VGEM_FENCE_ATTACH, attach));
	signal[0] = attach[2];
	MUST(!ioctl(prime.fd, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &export));
	MUST(!ioctl(export.fd, SYNC_IOC_FILE_INFO, &info));
	MUST(info.num_fences == 1);
	CHECK(!fences[0].timestamp_ns);
	from = now_ns();
	MUST(!ioctl(fd, DRM_IOCTL_VGEM_FENCE_SIGNAL, signal));
	info.num_fences = 4;
	MUST(!ioctl(export.fd, SYNC_IOC_FILE_INFO, &info));
	MUST(info.num_fences == 1 && fences[0].status == 1);
	BETWEEN(from, fences[0].timestamp_ns, "a fence");
}

/* --- displays ------------------------------------------------------------- */

struct screen {
	int fd;
	__u32 crtc;
	__u32 fb;
};

static struct screen screen_set(void)
{
	struct screen s = { .fd = open_device(O_RDWR) };
	__u32 crtcs[16], connectors[16];
	struct drm_mode_modeinfo modes[128];
	struct drm_mode_card_res r = {
		.crtc_id_ptr = (__u64)(uintptr_t)crtcs, .count_crtcs = 16,
		.connector_id_ptr = (__u64)(uintptr_t)connectors, .count_connectors = 16,
	};
	struct drm_mode_get_connector c = { 0 };
	struct drm_mode_create_dumb dumb = { .bpp = 32 };
	struct drm_mode_fb_cmd2 fb = { .pixel_format = 0x34325258 };	/* XR24 */
	struct drm_mode_crtc crtc = { .count_connectors = 1, .mode_valid = 1 };

	MUST(!ioctl(s.fd, DRM_IOCTL_MODE_GETRESOURCES, &r));
	MUST(r.count_crtcs && r.count_connectors);
	c.connector_id = connectors[0];
	MUST(!ioctl(s.fd, DRM_IOCTL_MODE_GETCONNECTOR, &c));
	MUST(c.count_modes && c.count_modes <= 128);
	c.modes_ptr = (__u64)(uintptr_t)modes;
	c.count_props = 0;
	c.count_encoders = 0;
	MUST(!ioctl(s.fd, DRM_IOCTL_MODE_GETCONNECTOR, &c));
	dumb.width = fb.width = modes[0].hdisplay;
	dumb.height = fb.height = modes[0].vdisplay;
	MUST(!ioctl(s.fd, DRM_IOCTL_MODE_CREATE_DUMB, &dumb));
	fb.handles[0] = dumb.handle;
	fb.pitches[0] = dumb.pitch;
	MUST(!ioctl(s.fd, DRM_IOCTL_MODE_ADDFB2, &fb));
	s.crtc = crtcs[0];
	s.fb = fb.fb_id;
	crtc.set_connectors_ptr = (__u64)(uintptr_t)&connectors[0];
	crtc.crtc_id = s.crtc;
	crtc.fb_id = s.fb;
	crtc.mode = modes[0];
	MUST(!ioctl(s.fd, DRM_IOCTL_MODE_SETCRTC, &crtc));
	return s;
}

/* union event: an event of a display, with its time. */
union event {
	struct drm_event base;
	struct drm_event_vblank vblank;
	struct drm_event_crtc_sequence sequence;
	char bytes[128];
};

static long long read_event(const struct screen *s, __u32 type, __u64 user_data)
{
	union event event = { 0 };

	MUST(read(s->fd, &event, sizeof(event)) == event.base.length);
	MUST(event.base.type == type && event.vblank.user_data == user_data);
	if (type == DRM_EVENT_CRTC_SEQUENCE)
		return event.sequence.time_ns;
	return event.vblank.tv_sec * SECOND + event.vblank.tv_usec * 1000;
}

static long long flip(const struct screen *s)
{
	struct drm_mode_crtc_page_flip f = {
		.crtc_id = s->crtc, .fb_id = s->fb, .flags = DRM_MODE_PAGE_FLIP_EVENT,
		.user_data = 0x123456789abcdef0ULL,
	};

	MUST(!ioctl(s->fd, DRM_IOCTL_MODE_PAGE_FLIP, &f));
	return read_event(s, DRM_EVENT_FLIP_COMPLETE, f.user_data);
}

static long long wait_vblank(const struct screen *s)
{
	union drm_wait_vblank v = {
		.request = { .type = _DRM_VBLANK_RELATIVE, .sequence = 1 },
	};

	MUST(!ioctl(s->fd, DRM_IOCTL_WAIT_VBLANK, &v));
	return v.reply.tval_sec * SECOND + v.reply.tval_usec * 1000;
}

static long long ask_vblank(const struct screen *s)
{
	union drm_wait_vblank v = {
		.request = {
			.type = _DRM_VBLANK_RELATIVE | _DRM_VBLANK_EVENT, .sequence = 1,
			.signal = 0x12345,
		},
	};

	MUST(!ioctl(s->fd, DRM_IOCTL_WAIT_VBLANK, &v));
	CHECK(v.request.signal == 0x12345);
	return read_event(s, DRM_EVENT_VBLANK, v.request.signal);
}

static long long queue_sequence(const struct screen *s)
{
	struct drm_crtc_queue_sequence queue = {
		.crtc_id = s->crtc, .flags = DRM_CRTC_SEQUENCE_RELATIVE, .sequence = 1,
		.user_data = 0xabc,
	};

	MUST(!ioctl(s->fd, DRM_IOCTL_CRTC_QUEUE_SEQUENCE, &queue));
	return read_event(s, DRM_EVENT_CRTC_SEQUENCE, queue.user_data);
}

static long long get_sequence(const struct screen *s)
{
	struct drm_crtc_get_sequence get = { .crtc_id = s->crtc };

	wait_vblank(s);
	MUST(!ioctl(s->fd, DRM_IOCTL_CRTC_GET_SEQUENCE, &get));
	return get.sequence_ns;
}

/*
 * vkms reports when a vblank was due, and is asked by a machine that may be late. So the time
 * may be up to LATE before, and there may be no new vblank.
 */
static void try(const struct screen *s, long long (*what)(const struct screen *), const char *name)
{
	long long from, stamp = 0, last = 0, to = 0;
	int i;

	for (i = 0; i < TRIES; i++) {
		from = now_ns();
		stamp = what(s);
		to = now_ns();
		CHECK(stamp >= last);
		last = stamp;
		if (stamp < from - LATE || stamp > to + MS)
			break;
		if (stamp >= from - MS)
			return;
	}
	CHECK(between(from, stamp, to, name));
}

DIFF_TEST_NODE(flip_virtio, "GPU_CARD", DIFF_SECONDS)
{
	struct screen s = screen_set();

	try(&s, flip, "a flip");
}

DIFF_TEST_NODE(vblank, "VKMS_CARD", DIFF_SECONDS)
{
	struct screen s = screen_set();

	try(&s, flip, "a flip");
	try(&s, wait_vblank, "a vblank that was waited for");
	try(&s, ask_vblank, "a vblank's event");
	try(&s, queue_sequence, "a sequence number's event");
	try(&s, get_sequence, "a sequence number");
}

/* --- exported devices ------------------------------------------------------- */

static void offer(const char *node, const char *name)
{
	if (forwarded)
		return;
	if (getenv("VGPU_RECORD"))
		tool_run("vgpuctl unexport %s --force", name);
	if (getenv("VGPU_RECORD"))
		MUST(!tool_run("vgpuctl export %s --to 2 --any-port --name %s", node,
			       name)->status);
	else if (tool_has_host())
		MUST(!tool_run("vgpuctl export %s --to 1 --name %s", node, name)->status);
}

/*
 * Removes an export and its module, which other tests need with other devices. An export
 * between two machines stays until the machines end.
 */
static void take_back(const char *name, const char *module)
{
	__u64 end = now_ms() + 10000;

	if (!forwarded || !tool_has_host())
		return;
	CHECK(!tool_run("vgpuctl unexport %s --force", name)->status);
	while (tool_run("modprobe -r %s", module)->status && now_ms() < end)
		sleep_ms(50);
}

/* Opens the device that a shell command finds here, or its forwarded node. */
static int device(const char *name, const char *module, const char *find)
{
	static char node[64];
	struct tool_run *run;

	if (forwarded)
		return tool_open_export(name);
	if (node[0])
		return open(node, O_RDWR);
	if (geteuid() || tool_run("modprobe -q %s", module)->status)
		diff_skip("no such module, or not root");
	run = tool_run("%s", find);
	MUST(!run->status);
	snprintf(node, sizeof(node), "%.*s", (int)strcspn(run->out, "\n"), run->out);
	offer(node, name);
	return open(node, O_RDWR);
}

/* --- cameras -------------------------------------------------------------- */

static void set_control(int fd, __u32 id, __s32 value)
{
	struct v4l2_control control = { .id = id, .value = value };

	MUST(!ioctl(fd, VIDIOC_S_CTRL, &control));
}

/* Finds a control by its name, as its number may change. */
static __u32 find_control(int fd, const char *name)
{
	struct v4l2_queryctrl query = { .id = V4L2_CTRL_FLAG_NEXT_CTRL };

	while (!ioctl(fd, VIDIOC_QUERYCTRL, &query)) {
		if (!strcmp((char *)query.name, name))
			return query.id;
		query.id |= V4L2_CTRL_FLAG_NEXT_CTRL;
	}
	return 0;
}

static void camera_event(int fd)
{
	struct v4l2_event_subscription subscription = {
		.type = V4L2_EVENT_CTRL, .id = V4L2_CID_BRIGHTNESS,
		.flags = V4L2_EVENT_SUB_FL_SEND_INITIAL,
	};
	struct v4l2_event event;
	long long from = now_ns();

	MUST(!ioctl(fd, VIDIOC_SUBSCRIBE_EVENT, &subscription));
	MUST(!ioctl(fd, VIDIOC_DQEVENT, &event));
	BETWEEN(from, event.timestamp.tv_sec * SECOND + event.timestamp.tv_nsec, "an event");
}

static void camera_frames(int fd)
{
	int type = V4L2_BUF_TYPE_VIDEO_CAPTURE, i;
	struct v4l2_requestbuffers request = {
		.count = 2, .type = type, .memory = V4L2_MEMORY_MMAP,
	};
	struct v4l2_buffer buffer = { .type = type, .memory = V4L2_MEMORY_MMAP };
	long long from, stamp, last = 0;

	/* The time of a frame's start is used, as its end is still to come. */
	set_control(fd, find_control(fd, "Timestamp Source"), 1);
	MUST(!ioctl(fd, VIDIOC_REQBUFS, &request));
	for (i = 0; i < 2; i++) {
		buffer.index = i;
		MUST(!ioctl(fd, VIDIOC_QBUF, &buffer));
		CHECK(!buffer.timestamp.tv_sec && !buffer.timestamp.tv_usec);
	}
	from = now_ns();
	MUST(!ioctl(fd, VIDIOC_STREAMON, &type));
	for (i = 0; i < 3; i++) {
		MUST(!ioctl(fd, VIDIOC_DQBUF, &buffer));
		stamp = buffer.timestamp.tv_sec * SECOND + buffer.timestamp.tv_usec * 1000;
		BETWEEN(from, stamp, "a frame");
		CHECK(stamp > last);
		last = stamp;
		MUST(!ioctl(fd, VIDIOC_QBUF, &buffer));
	}
	MUST(!ioctl(fd, VIDIOC_STREAMOFF, &type));
}

DIFF_TEST(camera)
{
	int fd = device("clock-video", "vivid n_devs=1 node_types=0x1",
			"f=$(grep -lx vivid-000-vid-cap /sys/devices/*/vivid.0/video4linux/*/name)"
			" && f=${f%/name} && echo /dev/${f##*/}");

	MUST(fd >= 0);
	camera_event(fd);
	camera_frames(fd);
	close(fd);
	take_back("clock-video", "vivid");
}

/* --- sound ---------------------------------------------------------------- */

static const clockid_t sound_clocks[] = {
	CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW,
};

static long long status_of(int fd, long long *trigger)
{
	struct snd_pcm_status status = { 0 };

	MUST(!ioctl(fd, SNDRV_PCM_IOCTL_STATUS, &status));
	*trigger = status.trigger_tstamp.tv_sec * SECOND + status.trigger_tstamp.tv_nsec;
	return status.tstamp.tv_sec * SECOND + status.tstamp.tv_nsec;
}

static void sound_by(int fd, unsigned int type, bool old)
{
	struct snd_pcm_sw_params sw = {
		.tstamp_mode = SNDRV_PCM_TSTAMP_ENABLE, .avail_min = 1, .start_threshold = 1,
		.stop_threshold = 1UL << 30, .proto = old ? 0 : SNDRV_PCM_VERSION,
		.tstamp_type = old ? 0 : type,
	};
	struct snd_pcm_sync_ptr sync = { .flags = SNDRV_PCM_SYNC_PTR_HWSYNC };
	long long from, trigger, stamp, end = now_ns() + 5 * SECOND;
	struct snd_pcm_hw_params hw = { .rmask = ~0u };
	int its_type = type;
	unsigned int i;

	memset(hw.masks, 0xff, sizeof(hw.masks));
	for (i = 0; i < sizeof(hw.intervals) / sizeof(hw.intervals[0]); i++)
		hw.intervals[i].max = ~0u;
	MUST(!ioctl(fd, SNDRV_PCM_IOCTL_HW_PARAMS, &hw));
	MUST(!ioctl(fd, SNDRV_PCM_IOCTL_SW_PARAMS, &sw));
	if (old)
		MUST(!ioctl(fd, SNDRV_PCM_IOCTL_TTSTAMP, &its_type));
	MUST(!ioctl(fd, SNDRV_PCM_IOCTL_PREPARE));
	from = clock_ns(sound_clocks[type]);
	stamp = status_of(fd, &trigger);
	CHECK(between(from, stamp, clock_ns(sound_clocks[type]), "sound that waits"));
	from = clock_ns(sound_clocks[type]);
	MUST(!ioctl(fd, SNDRV_PCM_IOCTL_START));
	stamp = status_of(fd, &trigger);
	CHECK(between(from, trigger, clock_ns(sound_clocks[type]), "its start"));
	/* The driver reports no time until the first samples have come. */
	while (!stamp && now_ns() < end) {
		sleep_ms(5);
		stamp = status_of(fd, &trigger);
	}
	CHECK(between(from, stamp, clock_ns(sound_clocks[type]), "sound"));
	MUST(!ioctl(fd, SNDRV_PCM_IOCTL_SYNC_PTR, &sync));
	stamp = sync.s.status.tstamp.tv_sec * SECOND + sync.s.status.tstamp.tv_nsec;
	CHECK(between(from, stamp, clock_ns(sound_clocks[type]), "its position"));
	MUST(!ioctl(fd, SNDRV_PCM_IOCTL_DROP));
}

DIFF_TEST(sound)
{
	unsigned int i;
	int fd;

	for (i = 0; i < 6; i++) {
		/*
		 * The device is opened anew each time: an open device keeps its last time, even
		 * if a program has chosen another clock since.
		 */
		fd = device("clock-sound", "snd-aloop",
			    "c=$(readlink /proc/asound/Loopback) && "
			    "echo /dev/snd/pcmC${c#card}D0c");
		MUST(fd >= 0);
		sound_by(fd, i / 2, i % 2);
		close(fd);
	}
	take_back("clock-sound", "snd-aloop");
}

TEST_HARNESS_MAIN
