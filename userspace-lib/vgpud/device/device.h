/* SPDX-License-Identifier: MIT */
/* Device files: what sysfs says of the device behind a path. */
#ifndef VGPUD_DEVICE_H
#define VGPUD_DEVICE_H

#include <stdbool.h>
#include <sys/types.h>

#include "device/identity.h"

/**
 * struct device - a device file
 * @rdev: device number
 * @kind: kind of the device, VGPU_EXPORT_*
 * @driver: name of the driver
 * @device: number that all nodes of one device share; 0: the node stands alone
 * @identity: identity of the device on its bus
 * @title: name or model of the device file by its kind, see struct vgpu_export_add
 */
struct device {
	dev_t rdev;
	uint32_t kind;
	char driver[32];
	uint64_t device;
	struct identity identity;
	char title[64];
};

/*
 * Find the device behind a path. The device itself is not opened. Return: an O_PATH file of the
 * node, or a negative errno: -ENOTTY: no character device; -EXDEV: a node of vgpu itself;
 * -EOPNOTSUPP: a device for which device_ignores_keys() is true.
 */
int device_open(const char *path, struct device *device);

/*
 * Check whether a device's driver uses a process's memory without the protection keys of the
 * calling thread: VFIO and iommufd, which pin the memory on behalf of no thread
 * (pin_user_pages_remote()), and vhost, which uses it from a thread of its own. Keys of a shadow's
 * memory do not stop such a driver from using what another call hands over. @class and @name come
 * from sysfs; "" if the device's module is loaded only when the device is opened.
 */
bool device_ignores_keys(const char *class, const char *name, dev_t rdev);

#endif /* VGPUD_DEVICE_H */
