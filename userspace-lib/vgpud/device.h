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
 * negative errno: -ENOTTY: no character device; -EXDEV: one of vgpu itself; -EOPNOTSUPP: one of
 * device_ignores_keys().
 */
int device_open(const char *path, struct device *device);

/*
 * Whether a device's driver pins or uses memory of a process in the name of nobody, or of a thread
 * of its own: VFIO, iommufd (pin_user_pages_remote()) and vhost. No protection key of a shadow's
 * memory would keep it from what another call hands over. @class and @name: of sysfs; "": none is
 * there, as its module comes when the device is opened.
 */
bool device_ignores_keys(const char *class, const char *name, dev_t rdev);

/* Last component of what a symlink in a directory of sysfs points to; "" if there is none. */
void device_link_name(const char *dir, const char *link, char *name, size_t size);

#endif /* VGPUD_DEVICE_H */
