// SPDX-License-Identifier: GPL-2.0-only
/*
 * A window in the shared memory region of a virtio device: QEMU's vhost-user-test-device, whose
 * back-end is a process of the host that has QEMU map files there. The device has a number that
 * Linux has no driver for, and that other devices may have, too: a window's begins its
 * configuration space as a window begins its header.
 *
 * The host shows nothing while the driver is not ready, and forgets what it has shown when the
 * device is reset. So page tables show nothing of the region when it is. Nor does the hypervisor,
 * if the host answers: QEMU 11.1 dies when a device comes back that was reset while it showed
 * something.
 *
 * Before the machine sleeps the window is emptied while programs run and the host can be reached:
 * when devices are frozen the connection to it may have gone.
 */
#include <linux/ioport.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/suspend.h>
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

/* Return: 0 or -EBUSY: the hypervisor may show something still. */
static int virtio_window_hide(struct virtio_device *vdev)
{
	if (vgpu_window_device_hide(vdev->priv))
		return 0;
	dev_warn(&vdev->dev, "the host does not take back what it shows\n");
	return -EBUSY;
}

static void virtio_window_remove(struct virtio_device *vdev)
{
	struct vgpu_window_device *device = vdev->priv;

	/* It was frozen, and could not be restored. */
	if (!device)
		return;
	virtio_window_hide(vdev);
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

static int virtio_window_sleep(struct device *dev, void *data)
{
	int ret = 0;

	device_lock(dev);
	/* Another driver may have it by now. */
	if (dev->driver == &virtio_window_driver.driver && dev_to_virtio(dev)->priv)
		ret = virtio_window_hide(dev_to_virtio(dev));
	device_unlock(dev);
	return ret;
}

/* The machine did not sleep, or has restored the device, which is as good as new then. */
static int virtio_window_wake(struct device *dev, void *data)
{
	struct vgpu_window_device *device;

	device_lock(dev);
	device = dev->driver == &virtio_window_driver.driver ? dev_to_virtio(dev)->priv : NULL;
	if (device && device->removed)
		vgpu_window_device_add(device);
	device_unlock(dev);
	return 0;
}

/* Return: 0, or the first errno of @what. */
static int virtio_windows_each(int (*what)(struct device *dev, void *data))
{
	return driver_for_each_device(&virtio_window_driver.driver, NULL, NULL, what);
}

static int virtio_windows_pm(struct notifier_block *block, unsigned long event, void *data)
{
	int ret;

	switch (event) {
	case PM_SUSPEND_PREPARE:
	case PM_HIBERNATION_PREPARE:
	case PM_RESTORE_PREPARE:
		ret = virtio_windows_each(virtio_window_sleep);
		/* Nobody is told that it goes on after a failure of ours. */
		if (ret)
			virtio_windows_each(virtio_window_wake);
		return notifier_from_errno(ret);
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
	case PM_POST_RESTORE:
		virtio_windows_each(virtio_window_wake);
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block virtio_windows_notifier = { .notifier_call = virtio_windows_pm };

/**
 * vgpu_window_virtio_init - take virtio devices that are windows
 *
 * Return: 0 or a negative errno.
 */
int vgpu_window_virtio_init(void)
{
	int ret = register_virtio_driver(&virtio_window_driver);

	if (ret)
		return ret;
	ret = register_pm_notifier(&virtio_windows_notifier);
	if (ret)
		unregister_virtio_driver(&virtio_window_driver);
	return ret;
}

/**
 * vgpu_window_virtio_exit - let go of the devices
 *
 * Hosts that have an open window are there still, to take back what they show.
 */
void vgpu_window_virtio_exit(void)
{
	unregister_pm_notifier(&virtio_windows_notifier);
	unregister_virtio_driver(&virtio_window_driver);
}
