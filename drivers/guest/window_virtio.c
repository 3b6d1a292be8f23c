// SPDX-License-Identifier: GPL-2.0-only
/*
 * A window in the shared memory region of a virtio device: QEMU's vhost-user-test-device, whose
 * back-end is a process of the host that has QEMU map files there. The device has a number that
 * Linux has no driver for, and that other devices may have, too: a window's begins its
 * configuration space as a window begins its header.
 *
 * The host shows nothing while the driver is not ready, and forgets what it has shown when the
 * device is reset. So page tables show nothing of the region when it is.
 */
#include <linux/ioport.h>
#include <linux/module.h>
#include <linux/virtio.h>
#include <linux/virtio_config.h>

#include "window.h"
#include "window_device.h"

#define VIRTIO_WINDOW_REGION	0

/* Reads the number of the window that the device is now. Return: the number, or 0: it is none. */
static u64 virtio_window_id(struct virtio_device *vdev, u64 size)
{
	struct vgpu_window_header header;

	virtio_cread_bytes(vdev, 0, &header, VGPU_WINDOW_CONFIG_LEN);
	if (memcmp(header.magic, VGPU_WINDOW_MAGIC, sizeof(header.magic)) ||
	    le32_to_cpu(header.version) != VGPU_WINDOW_VERSION || le64_to_cpu(header.size) > size)
		return 0;
	return le64_to_cpu(header.window);
}

static u64 virtio_id(const struct vgpu_window_device *device)
{
	return virtio_window_id(dev_to_virtio(device->dev), device->size);
}

static int virtio_window_probe(struct virtio_device *vdev)
{
	struct vgpu_window_device *device;
	struct virtio_shm_region region;

	/* A device without such a region may have less configuration space than is read here. */
	if (!vdev->config->get || !vdev->config->get_shm_region ||
	    !virtio_get_shm_region(vdev, &region, VIRTIO_WINDOW_REGION) ||
	    region.len < 2 * PAGE_SIZE || !PAGE_ALIGNED(region.addr) ||
	    !virtio_window_id(vdev, region.len))
		return -ENODEV;
	device = vgpu_window_device_alloc(&vdev->dev, region.addr, region.len, virtio_id);
	if (!device)
		return -ENOMEM;
	if (!request_mem_region(region.addr, region.len, KBUILD_MODNAME)) {
		vgpu_window_device_put(device);
		return -EBUSY;
	}
	vdev->priv = device;
	virtio_device_ready(vdev);
	vgpu_window_device_add(device);
	return 0;
}

static void virtio_window_remove(struct virtio_device *vdev)
{
	struct vgpu_window_device *device = vdev->priv;

	/* It was frozen, and could not be restored. */
	if (!device)
		return;
	vgpu_window_device_remove(device);
	virtio_reset_device(vdev);
	release_mem_region(device->start, device->size);
	vdev->priv = NULL;
	vgpu_window_device_put(device);
}

#ifdef CONFIG_PM_SLEEP
/* The hypervisor shows nothing any more when the machine wakes up: the window is as good as new. */
static int virtio_window_freeze(struct virtio_device *vdev)
{
	virtio_window_remove(vdev);
	return 0;
}

static int virtio_window_restore(struct virtio_device *vdev)
{
	return virtio_window_probe(vdev);
}
#endif

static const struct virtio_device_id virtio_window_ids[] = {
	{ VGPU_WINDOW_VIRTIO_ID, VIRTIO_DEV_ANY_ID },
	{ }
};

/* It has no alias: no machine loads this module for what others do with such a device. */
static struct virtio_driver virtio_window_driver = {
	.driver.name = "vgpu_window",
	.driver.owner = THIS_MODULE,
	.id_table = virtio_window_ids,
	.probe = virtio_window_probe,
	.remove = virtio_window_remove,
#ifdef CONFIG_PM_SLEEP
	.freeze = virtio_window_freeze,
	.restore = virtio_window_restore,
#endif
};

/**
 * vgpu_window_virtio_init - take virtio devices that are windows
 *
 * Return: 0 or a negative errno.
 */
int vgpu_window_virtio_init(void)
{
	return register_virtio_driver(&virtio_window_driver);
}

/**
 * vgpu_window_virtio_exit - let go of the devices
 *
 * No host has an open window any more.
 */
void vgpu_window_virtio_exit(void)
{
	unregister_virtio_driver(&virtio_window_driver);
}
