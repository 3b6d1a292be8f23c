/* SPDX-License-Identifier: MIT */
/*
 * What is behind the path of a device file, as sysfs tells it.
 */
#ifndef VGPUD_DEVICE_H
#define VGPUD_DEVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "identity.h"

/**
 * struct device - a device file
 * @rdev: its number
 * @kind: VGPU_EXPORT_*
 * @driver: name of its driver
 * @device: nodes of one device have the same number; 0: stands alone
 * @identity: that device on its bus
 * @title: see struct vgpu_export_add
 */
struct device {
	dev_t rdev;
	uint32_t kind;
	char driver[32];
	uint64_t device;
	struct identity identity;
	char title[64];
};

/**
 * struct device_change - what a DRM card's driver has said of it, once or more often
 * @flags: VGPU_CHANGE_*; 0: nothing
 * @connector: see struct vgpu_export_change
 * @property: likewise
 * @wedged: likewise
 */
struct device_change {
	uint32_t flags;
	uint32_t connector;
	uint32_t property;
	uint32_t wedged;
};

/*
 * Returns an O_PATH file of the device, without opening the device, or a
 * negative errno: -ENOTTY: no character device; -EXDEV: one of vgpu itself.
 */
int device_open(const char *path, struct device *device);

/* Last component of what a symlink in a directory of sysfs points to; "" if there is none. */
void device_link_name(const char *dir, const char *link, char *name, size_t size);

#endif /* VGPUD_DEVICE_H */
