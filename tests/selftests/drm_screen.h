/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A picture on the first screen of a card, by the legacy ioctls. Tests close their files before
 * they end, because the next test needs the card for itself, and the files of a process that has
 * ended may be released later.
 */
#ifndef DRM_SCREEN_H
#define DRM_SCREEN_H

#include "drm_node.h"

struct screen {
	int fd;
	__u32 connector, crtc, fb;
	struct drm_mode_modeinfo mode;
};

/* Makes a frame buffer for the first mode of the first connector, whose first line is @colour. */
static inline void screen_make(struct screen *s, __u32 colour)
{
	struct drm_mode_modeinfo modes[128];
	__u32 connectors[16], crtcs[16], encoders[16];
	struct drm_mode_card_res res = {
		.connector_id_ptr = (uintptr_t)connectors, .count_connectors = 16,
		.crtc_id_ptr = (uintptr_t)crtcs, .count_crtcs = 16,
		.encoder_id_ptr = (uintptr_t)encoders, .count_encoders = 16,
	};
	struct drm_mode_get_connector c = { 0 };
	struct drm_mode_create_dumb dumb = { .bpp = 32 };
	struct drm_mode_map_dumb map = { 0 };
	struct drm_mode_fb_cmd fb = { .bpp = 32, .depth = 24 };
	__u32 *memory;
	size_t i;

	MUST(!ioctl(s->fd, DRM_IOCTL_MODE_GETRESOURCES, &res));
	c.connector_id = connectors[0];
	/* The driver probes for modes when a master asks for none. */
	MUST(!ioctl(s->fd, DRM_IOCTL_MODE_GETCONNECTOR, &c));
	c = (struct drm_mode_get_connector){
		.connector_id = connectors[0], .count_modes = 128, .modes_ptr = (uintptr_t)modes,
	};
	MUST(!ioctl(s->fd, DRM_IOCTL_MODE_GETCONNECTOR, &c) && c.count_modes);
	s->connector = connectors[0];
	s->crtc = crtcs[0];
	s->mode = modes[0];
	dumb.width = s->mode.hdisplay;
	dumb.height = s->mode.vdisplay;
	MUST(!ioctl(s->fd, DRM_IOCTL_MODE_CREATE_DUMB, &dumb));
	map.handle = dumb.handle;
	MUST(!ioctl(s->fd, DRM_IOCTL_MODE_MAP_DUMB, &map));
	memory = mmap(NULL, dumb.size, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, map.offset);
	MUST(memory != MAP_FAILED);
	for (i = 0; i < dumb.pitch / sizeof(*memory); i++)
		memory[i] = colour;
	/* A mapping would keep the file, and so the card, until some time after the end. */
	MUST(!munmap(memory, dumb.size));
	fb.width = dumb.width;
	fb.height = dumb.height;
	fb.pitch = dumb.pitch;
	fb.handle = dumb.handle;
	MUST(!ioctl(s->fd, DRM_IOCTL_MODE_ADDFB, &fb));
	s->fb = fb.fb_id;
}

static inline int screen_show(const struct screen *s)
{
	struct drm_mode_crtc crtc = {
		.crtc_id = s->crtc, .fb_id = s->fb, .mode = s->mode, .mode_valid = 1,
		.set_connectors_ptr = (uintptr_t)&s->connector, .count_connectors = 1,
	};

	return ioctl(s->fd, DRM_IOCTL_MODE_SETCRTC, &crtc);
}

/* Return: the card shows the frame buffer of @s. */
static inline bool screen_is_shown(const struct screen *s)
{
	struct drm_mode_crtc crtc = { .crtc_id = s->crtc };

	return !ioctl(s->fd, DRM_IOCTL_MODE_GETCRTC, &crtc) && crtc.fb_id == s->fb;
}

#endif /* DRM_SCREEN_H */
