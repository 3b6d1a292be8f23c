// SPDX-License-Identifier: GPL-2.0-only
/*
 * A display is set up and driven as by a compositor, on each DRM device that has one: every
 * query with its arrays, a mode set, page flips with their events, damage, atomic commits with
 * fences, blobs, and a lease whose fd is used. Everything succeeds, and each ioctl takes one
 * round trip and fetches no page.
 */
#include "drm_node.h"

#include <linux/sync_file.h>
#include <poll.h>
#include <sys/epoll.h>

#define MAX	128

#define CALL(fd, cmd, arg)	drm_counted(fd, cmd, arg, #cmd, 1)
#define DO(fd, cmd, arg)	MUST(!CALL(fd, cmd, arg))

struct screen {
	int fd;
	__u32 connector, crtc, plane, encoder;
	struct drm_mode_modeinfo mode;
	__u32 handle[2], fb[2], pitch;
	__u64 size;
};

/* --- queries -------------------------------------------------------------- */

static void log_words(const char *label, const __u32 *words, __u32 nr)
{
	__u32 i;

	log_line("%s: %u", label, nr);
	for (i = 0; i < nr; i++)
		log_line("  %u", words[i]);
}

static void query_property(int fd, __u32 id)
{
	struct drm_mode_property_enum enums[32];
	__u64 values[32];
	struct drm_mode_get_property p = { .prop_id = id };
	__u32 i;

	DO(fd, DRM_IOCTL_MODE_GETPROPERTY, &p);
	MUST(p.count_values <= 32 && p.count_enum_blobs <= 32);
	p.values_ptr = (__u64)(uintptr_t)values;
	p.enum_blob_ptr = (__u64)(uintptr_t)enums;
	DO(fd, DRM_IOCTL_MODE_GETPROPERTY, &p);
	log_line("property %u '%s', flags %#x", id, p.name, p.flags);
	for (i = 0; i < p.count_values; i++)
		log_line("  value %llu", (unsigned long long)values[i]);
	for (i = 0; i < p.count_enum_blobs && !(p.flags & DRM_MODE_PROP_BLOB); i++)
		log_line("  %llu is '%s'", (unsigned long long)enums[i].value, enums[i].name);
}

/*
 * Finds an object's property by name and stores its value, or logs all properties if @name is
 * NULL. Return: the property's id, or 0.
 */
static __u32 find_property(int fd, __u32 object, __u32 type, const char *name, __u64 *value)
{
	__u32 props[MAX];
	__u64 values[MAX];
	struct drm_mode_obj_get_properties o = { .obj_id = object, .obj_type = type };
	__u32 i, found = 0;

	DO(fd, DRM_IOCTL_MODE_OBJ_GETPROPERTIES, &o);
	MUST(o.count_props && o.count_props <= MAX);
	o.props_ptr = (__u64)(uintptr_t)props;
	o.prop_values_ptr = (__u64)(uintptr_t)values;
	DO(fd, DRM_IOCTL_MODE_OBJ_GETPROPERTIES, &o);
	for (i = 0; i < o.count_props; i++) {
		struct drm_mode_get_property p = { .prop_id = props[i] };

		if (!name) {
			query_property(fd, props[i]);
			continue;
		}
		MUST(!ioctl(fd, DRM_IOCTL_MODE_GETPROPERTY, &p));
		if (strcmp(p.name, name))
			continue;
		found = props[i];
		if (value)
			*value = values[i];
	}
	return found;
}

static void query_connector(struct screen *s)
{
	struct drm_mode_modeinfo modes[MAX];
	__u32 encoders[MAX], props[MAX];
	__u64 values[MAX];
	struct drm_mode_get_connector c = { .connector_id = s->connector };
	__u32 i;

	DO(s->fd, DRM_IOCTL_MODE_GETCONNECTOR, &c);
	MUST(c.count_modes && c.count_modes <= MAX && c.count_props <= MAX &&
	     c.count_encoders <= MAX);
	c.modes_ptr = (__u64)(uintptr_t)modes;
	c.encoders_ptr = (__u64)(uintptr_t)encoders;
	c.props_ptr = (__u64)(uintptr_t)props;
	c.prop_values_ptr = (__u64)(uintptr_t)values;
	DO(s->fd, DRM_IOCTL_MODE_GETCONNECTOR, &c);
	MUST(c.count_modes && c.count_encoders);
	for (i = 0; i < c.count_modes; i++)
		log_line("mode %ux%u '%s' %u kHz", modes[i].hdisplay, modes[i].vdisplay,
			 modes[i].name, modes[i].clock);
	log_words("encoders", encoders, c.count_encoders);
	log_words("properties of the connector", props, c.count_props);
	s->mode = modes[0];
	s->encoder = encoders[0];
}

static void query_planes(struct screen *s)
{
	__u32 planes[MAX], formats[MAX], i;
	struct drm_mode_get_plane_res r = {
		.plane_id_ptr = (__u64)(uintptr_t)planes, .count_planes = MAX
	};

	DO(s->fd, DRM_IOCTL_MODE_GETPLANERESOURCES, &r);
	log_words("planes", planes, r.count_planes);
	for (i = 0; i < r.count_planes; i++) {
		struct drm_mode_get_plane p = {
			.plane_id = planes[i], .count_format_types = MAX,
			.format_type_ptr = (__u64)(uintptr_t)formats,
		};
		__u64 type = 0;

		DO(s->fd, DRM_IOCTL_MODE_GETPLANE, &p);
		log_words("formats", formats, p.count_format_types);
		find_property(s->fd, planes[i], DRM_MODE_OBJECT_PLANE, "type", &type);
		/* DRM_PLANE_TYPE_PRIMARY */
		if (type == 1 && !s->plane)
			s->plane = planes[i];
	}
	MUST(s->plane);
}

static void query_all(struct screen *s)
{
	__u32 fbs[MAX], crtcs[MAX], connectors[MAX], encoders[MAX];
	struct drm_mode_card_res r = {
		.fb_id_ptr = (__u64)(uintptr_t)fbs, .count_fbs = MAX,
		.crtc_id_ptr = (__u64)(uintptr_t)crtcs, .count_crtcs = MAX,
		.connector_id_ptr = (__u64)(uintptr_t)connectors, .count_connectors = MAX,
		.encoder_id_ptr = (__u64)(uintptr_t)encoders, .count_encoders = MAX,
	};
	struct drm_mode_get_encoder e;

	DO(s->fd, DRM_IOCTL_MODE_GETRESOURCES, &r);
	MUST(r.count_crtcs && r.count_connectors);
	log_words("crtcs", crtcs, r.count_crtcs);
	log_words("connectors", connectors, r.count_connectors);
	log_words("encoders", encoders, r.count_encoders);
	s->crtc = crtcs[0];
	s->connector = connectors[0];
	query_connector(s);
	query_planes(s);
	memset(&e, 0, sizeof(e));
	e.encoder_id = s->encoder;
	DO(s->fd, DRM_IOCTL_MODE_GETENCODER, &e);
	log_line("encoder of type %u", e.encoder_type);
	find_property(s->fd, s->connector, DRM_MODE_OBJECT_CONNECTOR, NULL, NULL);
	find_property(s->fd, s->crtc, DRM_MODE_OBJECT_CRTC, NULL, NULL);
	find_property(s->fd, s->plane, DRM_MODE_OBJECT_PLANE, NULL, NULL);
}

/* --- setting -------------------------------------------------------------- */

static void make_framebuffer(struct screen *s, int nr)
{
	struct drm_mode_create_dumb dumb = {
		.width = s->mode.hdisplay, .height = s->mode.vdisplay, .bpp = 32
	};
	struct drm_mode_fb_cmd2 fb = {
		.width = s->mode.hdisplay, .height = s->mode.vdisplay,
		.pixel_format = 0x34325258,	/* XR24 */
	};

	DO(s->fd, DRM_IOCTL_MODE_CREATE_DUMB, &dumb);
	s->handle[nr] = dumb.handle;
	s->pitch = dumb.pitch;
	s->size = dumb.size;
	fb.handles[0] = dumb.handle;
	fb.pitches[0] = dumb.pitch;
	DO(s->fd, DRM_IOCTL_MODE_ADDFB2, &fb);
	s->fb[nr] = fb.fb_id;
}

static void set_mode(struct screen *s)
{
	struct drm_mode_crtc crtc = {
		.set_connectors_ptr = (__u64)(uintptr_t)&s->connector, .count_connectors = 1,
		.crtc_id = s->crtc, .fb_id = s->fb[0], .mode_valid = 1, .mode = s->mode,
	};

	DO(s->fd, DRM_IOCTL_MODE_SETCRTC, &crtc);
	memset(&crtc, 0, sizeof(crtc));
	crtc.crtc_id = s->crtc;
	DO(s->fd, DRM_IOCTL_MODE_GETCRTC, &crtc);
	CHECK(crtc.fb_id == s->fb[0] && crtc.mode_valid);
	log_line("crtc shows %ux%u", crtc.mode.hdisplay, crtc.mode.vdisplay);
}

static void flip(struct screen *s, int nr)
{
	struct drm_mode_crtc_page_flip f = {
		.crtc_id = s->crtc, .fb_id = s->fb[nr], .flags = DRM_MODE_PAGE_FLIP_EVENT,
		.user_data = 0x1122334455667788ULL + nr,
	};
	struct pollfd p = { .fd = s->fd, .events = POLLIN };
	struct drm_event_vblank event;

	DO(s->fd, DRM_IOCTL_MODE_PAGE_FLIP, &f);
	MUST(poll(&p, 1, 5000) == 1 && p.revents & POLLIN);
	MUST(read(s->fd, &event, sizeof(event)) == sizeof(event));
	log_line("event %u of %u bytes, user data %llx", event.base.type, event.base.length,
		 (unsigned long long)event.user_data);
	CHECK(event.user_data == f.user_data && event.crtc_id == s->crtc);
}

/*
 * Asks for a vblank. Return: true if it succeeded; devices without vblanks fail in the same way
 * natively.
 */
static bool ask_vblank(struct screen *s, __u32 type, __u32 sequence, __u64 user_data)
{
	union drm_wait_vblank v = {
		.request = { .type = type, .sequence = sequence, .signal = user_data },
	};

	if (!CALL(s->fd, DRM_IOCTL_WAIT_VBLANK, &v))
		return true;
	log_line("vblank: %s", strerrorname_np(errno));
	return false;
}

static __u64 read_event(struct screen *s)
{
	struct drm_event_vblank event = { };

	MUST(read(s->fd, &event, sizeof(event)) == sizeof(event));
	return event.user_data;
}

/*
 * Reads and logs @nr events of vblanks or sequence numbers, in the order in which they come.
 * Return: 0, or less if there were more.
 */
static int take_events(struct screen *s, int nr)
{
	struct pollfd p = { .fd = s->fd, .events = POLLIN };
	union {
		struct drm_event base;
		struct drm_event_vblank vblank;
		struct drm_event_crtc_sequence sequence;
		char bytes[256];
	} event;
	ssize_t len, at;

	while (nr > 0) {
		MUST(poll(&p, 1, 5000) == 1);
		len = read(s->fd, &event, sizeof(event));
		MUST(len > 0);
		for (at = 0; at < len; nr--) {
			struct drm_event_vblank *one = (void *)(event.bytes + at);

			log_line("event %u of %u bytes, %llx", one->base.type, one->base.length,
				 (unsigned long long)one->user_data);
			at += one->base.length;
		}
	}
	return nr;
}

static void ask_flip(struct screen *s, int nr)
{
	struct drm_mode_crtc_page_flip f = {
		.crtc_id = s->crtc, .fb_id = s->fb[nr], .flags = DRM_MODE_PAGE_FLIP_EVENT,
		.user_data = nr,
	};

	DO(s->fd, DRM_IOCTL_MODE_PAGE_FLIP, &f);
}

/*
 * The host reports what a wakeup was for, and what is ready after a call. So poll() makes no
 * call in some frames, unless the machine is too busy for the host's report to come first.
 */
static bool flip_without_asking(struct screen *s)
{
	struct pollfd p = { .fd = s->fd, .events = POLLIN };
	struct drm_event_vblank event;
	long long trips;

	ask_flip(s, 1);
	trips = drm_counter("round_trips");
	MUST(poll(&p, 1, 5000) == 1 && p.revents == POLLIN);
	MUST(poll(&p, 1, 0) == 1 && p.revents == POLLIN);
	trips = drm_counter("round_trips") - trips;
	CHECK(trips <= 3 || diff_user_engine());
	MUST(read(s->fd, &event, sizeof(event)) == sizeof(event));
	MUST(!poll(&p, 1, 0));
	return !trips;
}

static void readiness(struct screen *s)
{
	struct pollfd p = { .fd = s->fd, .events = POLLIN };
	struct drm_event_vblank event;
	__u64 end = now_ms() + 60000;
	bool spared = false;
	int i;

	/* The reports of a user-space engine are hints, and the guest asks the host each time. */
	while (!spared && !diff_user_engine() && now_ms() < end)
		spared = flip_without_asking(s);
	CHECK(spared || diff_user_engine());
	/*
	 * The event is read without poll(): the host's report must not make the file readable
	 * afterwards.
	 */
	for (i = 0; i < 20; i++) {
		ask_flip(s, i & 1);
		MUST(read(s->fd, &event, sizeof(event)) == sizeof(event));
		sleep_ms(i % 3);
		MUST(!poll(&p, 1, 0));
	}
}

/* Each event triggers an edge, whether the event before was read or not. */
static void edges(struct screen *s)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	int i;

	MUST(!epoll_ctl(epoll, EPOLL_CTL_ADD, s->fd, &event));
	for (i = 0; i < 6; i++) {
		ask_flip(s, i & 1);
		MUST(epoll_wait(epoll, &event, 1, 5000) == 1 && event.events == EPOLLIN);
		LOG_CALL(epoll_wait(epoll, &event, 1, 50));
		if (i % 3 == 2)
			CHECK(!take_events(s, 3));
	}
	close(epoll);
}

static void vblanks(struct screen *s)
{
	struct drm_crtc_queue_sequence queue = {
		.crtc_id = s->crtc, .flags = DRM_CRTC_SEQUENCE_RELATIVE, .sequence = 2,
		.user_data = 0xabc,
	};
	struct pollfd p = { .fd = s->fd, .events = POLLIN };
	__u32 relative = _DRM_VBLANK_RELATIVE;
	char small[8];
	int flags;

	/* The first vblank is waited for by the call, and the others come as events. */
	if (!ask_vblank(s, relative, 1, 0))
		return;
	MUST(ask_vblank(s, relative | _DRM_VBLANK_EVENT, 1, 0x111));
	MUST(ask_vblank(s, relative | _DRM_VBLANK_EVENT, 3, 0x222));
	CHECK(!take_events(s, 2));
	DO(s->fd, DRM_IOCTL_CRTC_QUEUE_SEQUENCE, &queue);
	CHECK(!take_events(s, 1));
	/* An event that does not fit into the buffer is not read, and is not lost. */
	MUST(ask_vblank(s, relative | _DRM_VBLANK_EVENT, 1, 0x333));
	MUST(poll(&p, 1, 5000) == 1);
	LOG_CALL(read(s->fd, small, sizeof(small)));
	CHECK(!take_events(s, 1));
	/* The first read does not wait, and the second does. */
	flags = fcntl(s->fd, F_GETFL);
	MUST(!fcntl(s->fd, F_SETFL, flags | O_NONBLOCK));
	LOG_CALL(read(s->fd, small, sizeof(small)));
	LOG_CALL(poll(&p, 1, 0));
	MUST(!fcntl(s->fd, F_SETFL, flags));
	MUST(ask_vblank(s, relative | _DRM_VBLANK_EVENT, 20, 0x444));
	CHECK(read_event(s) == 0x444);
}

static void damage(struct screen *s)
{
	struct drm_clip_rect clips[3] = { { 0, 0, 8, 8 }, { 16, 16, 32, 32 }, { 4, 4, 5, 5 } };
	struct drm_mode_fb_dirty_cmd d = {
		.fb_id = s->fb[0], .num_clips = 3, .clips_ptr = (__u64)(uintptr_t)clips,
	};

	log_line("damage: %d", CALL(s->fd, DRM_IOCTL_MODE_DIRTYFB, &d));
}

static void atomic(struct screen *s)
{
	__u64 type_plane = DRM_MODE_OBJECT_PLANE, type_crtc = DRM_MODE_OBJECT_CRTC;
	__u32 objects[2] = { s->plane, s->crtc }, counts[2] = { 6, 1 };
	__u32 props[7] = {
		find_property(s->fd, s->plane, type_plane, "FB_ID", NULL),
		find_property(s->fd, s->plane, type_plane, "CRTC_ID", NULL),
		find_property(s->fd, s->plane, type_plane, "SRC_W", NULL),
		find_property(s->fd, s->plane, type_plane, "SRC_H", NULL),
		find_property(s->fd, s->plane, type_plane, "CRTC_W", NULL),
		find_property(s->fd, s->plane, type_plane, "CRTC_H", NULL),
		find_property(s->fd, s->crtc, type_crtc, "ACTIVE", NULL),
	};
	__u64 values[7] = {
		s->fb[1], s->crtc, (__u64)s->mode.hdisplay << 16, (__u64)s->mode.vdisplay << 16,
		s->mode.hdisplay, s->mode.vdisplay, 1,
	};
	struct drm_mode_atomic a = {
		.count_objs = 2, .objs_ptr = (__u64)(uintptr_t)objects,
		.count_props_ptr = (__u64)(uintptr_t)counts, .props_ptr = (__u64)(uintptr_t)props,
		.prop_values_ptr = (__u64)(uintptr_t)values,
	};
	struct drm_mode_crtc crtc = { .crtc_id = s->crtc };

	DO(s->fd, DRM_IOCTL_MODE_ATOMIC, &a);
	DO(s->fd, DRM_IOCTL_MODE_GETCRTC, &crtc);
	CHECK(crtc.fb_id == s->fb[1]);
	counts[0] = 7;
	counts[1] = 0;
	CHECK(CALL(s->fd, DRM_IOCTL_MODE_ATOMIC, &a) == -1);
	log_line("a property of another object: %s", strerrorname_np(errno));
}

/* Commits these values of two plane and two crtc properties. Return: the result of the ioctl. */
static int commit_fences(struct screen *s, int nr, __u32 flags, __u64 in_fence, __u64 out_fence)
{
	__u64 type_plane = DRM_MODE_OBJECT_PLANE, type_crtc = DRM_MODE_OBJECT_CRTC;
	__u32 objects[2] = { s->plane, s->crtc }, counts[2] = { 2, 2 };
	__u32 props[4] = {
		find_property(s->fd, s->plane, type_plane, "FB_ID", NULL),
		find_property(s->fd, s->plane, type_plane, "IN_FENCE_FD", NULL),
		find_property(s->fd, s->crtc, type_crtc, "ACTIVE", NULL),
		find_property(s->fd, s->crtc, type_crtc, "OUT_FENCE_PTR", NULL),
	};
	__u64 values[4] = { s->fb[nr], in_fence, 1, out_fence };
	struct drm_mode_atomic a = {
		.flags = flags, .user_data = 0x5566,
		.count_objs = 2, .objs_ptr = (__u64)(uintptr_t)objects,
		.count_props_ptr = (__u64)(uintptr_t)counts, .props_ptr = (__u64)(uintptr_t)props,
		.prop_values_ptr = (__u64)(uintptr_t)values,
	};
	int ret;

	ret = CALL(s->fd, DRM_IOCTL_MODE_ATOMIC, &a);
	CHECK(values[1] == in_fence && values[3] == out_fence);
	return ret;
}

/* Each commit makes a fence, for which the next one waits. */
static void fences(struct screen *s)
{
	struct sync_fence_info one[4] = { 0 };
	struct sync_file_info info = {
		.num_fences = 4, .sync_fence_info = (__u64)(uintptr_t)one
	};
	__s32 out[3] = { -7, -7, -7 }, again;
	struct pollfd p = { .events = POLLIN };

	MUST(!commit_fences(s, 0, 0, ~0ULL, (__u64)(uintptr_t)&out[1]));
	CHECK(out[0] == -7 && out[1] > 2 && out[2] == -7);
	p.fd = out[1];
	MUST(poll(&p, 1, 5000) == 1);
	MUST(!ioctl(out[1], SYNC_IOC_FILE_INFO, &info));
	log_line("%u fences, status %d, %d", info.num_fences, info.status, one[0].status);
	again = -7;
	MUST(!commit_fences(s, 1, 0, out[1], (__u64)(uintptr_t)&again));
	CHECK(again > 2);
	close(again);
	/* A closed fd, and a file of another kind, are no fence. */
	close(out[1]);
	CHECK(commit_fences(s, 1, 0, out[1], 0) == -1);
	log_line("a closed fence: %s", strerrorname_np(errno));
	CHECK(commit_fences(s, 1, 0, s->fd, 0) == -1);
	log_line("a device for a fence: %s", strerrorname_np(errno));
}

/* struct late_fence: a fence of another device of the host, which the test signals. */
struct late_fence {
	int vgem, fd;
	__u32 number;
};

static struct late_fence make_late_fence(void)
{
	const char *node = diff_node(forwarded ? "VGPU_FWD" : "VGPU_REAL", "VGEM_CARD");
	struct drm_mode_create_dumb dumb = { .width = 64, .height = 32, .bpp = 32 };
	struct dma_buf_export_sync_file export = { .flags = DMA_BUF_SYNC_READ };
	struct drm_prime_handle prime = { .flags = DRM_CLOEXEC };
	__u32 attach[4] = { 0, 1 /* write */ };
	struct late_fence late;

	MUST(node);
	late.vgem = open(node, O_RDWR | O_CLOEXEC);
	MUST(late.vgem >= 0 && !ioctl(late.vgem, DRM_IOCTL_MODE_CREATE_DUMB, &dumb));
	attach[0] = prime.handle = dumb.handle;
	MUST(!ioctl(late.vgem, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	MUST(!ioctl(late.vgem, DRM_IOCTL_VGEM_FENCE_ATTACH, attach));
	late.number = attach[2];
	MUST(!ioctl(prime.fd, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &export));
	close(prime.fd);
	late.fd = export.fd;
	return late;
}

static int end_late_fence(const struct late_fence *late)
{
	__u32 argument[2] = { late->number };

	return ioctl(late->vgem, DRM_IOCTL_VGEM_FENCE_SIGNAL, argument);
}

/* A commit waits for a fence that is not signalled yet, in the call or after it. */
static void late_fences(struct screen *s)
{
	struct late_fence late = make_late_fence();
	struct pollfd p[2] = { { .fd = s->fd, .events = POLLIN }, { .events = POLLIN } };
	struct drm_event_vblank event;
	__s32 out = -7;
	int status;
	__u64 start;

	MUST(!commit_fences(s, 0, DRM_MODE_ATOMIC_NONBLOCK | DRM_MODE_PAGE_FLIP_EVENT, late.fd,
			    (__u64)(uintptr_t)&out));
	p[1].fd = out;
	CHECK(poll(p, 2, 400) == 0);
	CHECK(!end_late_fence(&late));
	MUST(poll(&p[0], 1, 5000) == 1 && read(s->fd, &event, sizeof(event)) == sizeof(event));
	CHECK(event.base.type == DRM_EVENT_FLIP_COMPLETE && event.user_data == 0x5566);
	CHECK(poll(&p[1], 1, 5000) == 1);
	close(out);
	close(late.fd);
	close(late.vgem);

	late = make_late_fence();
	fflush(NULL);
	start = now_ms();
	if (!fork()) {
		sleep_ms(400);
		_exit(!!end_late_fence(&late));
	}
	MUST(!commit_fences(s, 1, 0, late.fd, 0));
	CHECK(now_ms() - start >= 300);
	MUST(wait(&status) > 0 && !status);
	close(late.fd);
	close(late.vgem);
}

static void blobs(struct screen *s)
{
	struct drm_mode_create_blob b = {
		.data = (__u64)(uintptr_t)&s->mode, .length = sizeof(s->mode)
	};
	struct drm_mode_destroy_blob d;
	struct drm_mode_modeinfo mode;
	struct drm_mode_get_blob g;

	DO(s->fd, DRM_IOCTL_MODE_CREATEPROPBLOB, &b);
	memset(&g, 0, sizeof(g));
	memset(&mode, 0xee, sizeof(mode));
	g.blob_id = b.blob_id;
	g.length = 10;
	g.data = (__u64)(uintptr_t)&mode;
	DO(s->fd, DRM_IOCTL_MODE_GETPROPBLOB, &g);
	/* The buffer is too short: nothing is written, but the length is returned. */
	CHECK(g.length == sizeof(mode) && *(__u8 *)&mode == 0xee);
	DO(s->fd, DRM_IOCTL_MODE_GETPROPBLOB, &g);
	CHECK(!memcmp(&mode, &s->mode, sizeof(mode)));
	d.blob_id = b.blob_id;
	DO(s->fd, DRM_IOCTL_MODE_DESTROYPROPBLOB, &d);
}

/* libdrm finds the device of a file by its number. */
static void lease_is_the_device(struct screen *s, int fd)
{
	struct stat card, lessee;

	MUST(!fstat(s->fd, &card) && !fstat(fd, &lessee));
	log_line("the lease is of type %o", lessee.st_mode & S_IFMT);
	CHECK(lessee.st_rdev == card.st_rdev);
	log_line("flags %o", fcntl(fd, F_GETFL) & (O_ACCMODE | O_NONBLOCK));
}

/* A forwarded lease is a file of its own, and its inode cannot be opened as a device. */
static void lease_is_not_opened_anew(int fd)
{
	char path[32];

	if (!forwarded)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	CHECK(open(path, O_RDWR | O_CLOEXEC) == -1 && errno == EACCES);
}

static void lease(struct screen *s)
{
	__u32 objects[3] = { s->crtc, s->connector, s->plane }, got[8] = { 0 }, lessees[8];
	struct drm_mode_create_lease l = {
		.object_ids = (__u64)(uintptr_t)objects, .object_count = 3, .flags = O_CLOEXEC,
	};
	struct drm_mode_list_lessees list = {
		.lessees_ptr = (__u64)(uintptr_t)lessees, .count_lessees = 8
	};
	struct drm_mode_get_lease g = {
		.objects_ptr = (__u64)(uintptr_t)got, .count_objects = 8
	};
	struct drm_mode_revoke_lease r;
	struct drm_mode_card_res res = { 0 };

	DO(s->fd, DRM_IOCTL_MODE_CREATE_LEASE, &l);
	CHECK((int)l.fd > 2 && fcntl(l.fd, F_GETFD) == FD_CLOEXEC);
	DO(s->fd, DRM_IOCTL_MODE_LIST_LESSEES, &list);
	CHECK(list.count_lessees == 1 && lessees[0] == l.lessee_id);
	DO(l.fd, DRM_IOCTL_MODE_GET_LEASE, &g);
	log_words("leased", got, g.count_objects);
	DO(l.fd, DRM_IOCTL_MODE_GETRESOURCES, &res);
	log_line("the lessee sees %u crtcs, %u connectors", res.count_crtcs,
		 res.count_connectors);
	CHECK(res.count_crtcs == 1 && res.count_connectors == 1);
	lease_is_the_device(s, l.fd);
	lease_is_not_opened_anew(l.fd);
	r.lessee_id = l.lessee_id;
	DO(s->fd, DRM_IOCTL_MODE_REVOKE_LEASE, &r);
	g.count_objects = 8;
	log_line("afterwards: %d", CALL(l.fd, DRM_IOCTL_MODE_GET_LEASE, &g));
	close(l.fd);
}

static void take_down(struct screen *s)
{
	struct drm_mode_crtc off = { .crtc_id = s->crtc };
	int i;

	DO(s->fd, DRM_IOCTL_MODE_SETCRTC, &off);
	for (i = 0; i < 2; i++) {
		struct drm_mode_destroy_dumb d = { .handle = s->handle[i] };

		DO(s->fd, DRM_IOCTL_MODE_RMFB, &s->fb[i]);
		DO(s->fd, DRM_IOCTL_MODE_DESTROY_DUMB, &d);
	}
}

static void drive(const char *node)
{
	struct drm_set_client_cap cap = { .capability = DRM_CLIENT_CAP_ATOMIC, .value = 1 };
	struct screen s = { 0 };

	drm_node = node;
	s.fd = open_device(O_RDWR | O_CLOEXEC);
	DO(s.fd, DRM_IOCTL_SET_CLIENT_CAP, &cap);
	query_all(&s);
	make_framebuffer(&s, 0);
	make_framebuffer(&s, 1);
	set_mode(&s);
	flip(&s, 1);
	flip(&s, 0);
	readiness(&s);
	edges(&s);
	vblanks(&s);
	damage(&s);
	atomic(&s);
	fences(&s);
	late_fences(&s);
	blobs(&s);
	lease(&s);
	take_down(&s);
	close(s.fd);
}

DIFF_TEST_NODE(virtio_gpu, "GPU_CARD", 150)
{
	drive("GPU_CARD");
}

DIFF_TEST_NODE(vkms, "VKMS_CARD", 150)
{
	drive("VKMS_CARD");
}

TEST_HARNESS_MAIN
