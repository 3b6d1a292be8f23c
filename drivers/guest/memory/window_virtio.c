// SPDX-License-Identifier: GPL-2.0-only
/*
 * Driver for windows in the shared memory region of a virtio device, QEMU's
 * vhost-user-test-device. The device's back-end is a process of the host, which has QEMU map
 * files into the region. Linux has no driver for the device's number, but other devices may
 * have the same number. A window is recognized by its configuration space, which begins like a
 * window's header.
 *
 * The host maps nothing into the region before the driver is ready, and forgets what is mapped
 * when the device is reset. So all PTEs of the region are zapped before a reset. The
 * hypervisor's mappings are ended as well, if the host answers: QEMU 11.1 crashes if a device
 * comes back that was reset while something was mapped in its region.
 *
 * Before a system sleep the window is emptied while programs still run and the host can be
 * reached. The connection to the host may be gone when devices are frozen.
 */
#include <linux/ioport.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/suspend.h>
#include <linux/virtio.h>
#include <linux/virtio_config.h>

#include "memory/window_device.h"

#define VIRTIO_WINDOW_REGION	0

/* Reads the number of the window from the device. Return: the number, or 0 if it is no window. */
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

	/*
	 * The region is checked first: other devices may have less configuration space than is
	 * read here.
	 */
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

/* Ends all mappings of the region. Return: 0, or -EBUSY if the hypervisor may still have some. */
static int virtio_window_hide(struct virtio_device *vdev)
{
	if (vgpu_window_device_hide(vdev->priv))
		return 0;
	dev_warn(&vdev->dev, "the hypervisor has not removed its mappings from the window\n");
	return -EBUSY;
}

static void virtio_window_remove(struct virtio_device *vdev)
{
	struct vgpu_window_device *device = vdev->priv;

	/* The device was frozen and could not be restored. */
	if (!device)
		return;
	virtio_window_hide(vdev);
	virtio_reset_device(vdev);
	release_mem_region(device->start, device->size);
	vdev->priv = NULL;
	vgpu_window_device_put(device);
}

#ifdef CONFIG_PM_SLEEP
/*
 * Removes the device, as the hypervisor has lost all mappings of the region when the machine
 * wakes up.
 */
static int virtio_window_freeze(struct virtio_device *vdev)
{
	virtio_window_remove(vdev);
	return 0;
}
#endif

static const struct virtio_device_id virtio_window_ids[] = {
	{ VGPU_WINDOW_VIRTIO_ID, VIRTIO_DEV_ANY_ID },
	{ }
};

/* The table has no module alias, so this module is not loaded for a device of another use. */
static struct virtio_driver virtio_window_driver = {
	.driver.name = "vgpu_window",
	.driver.owner = THIS_MODULE,
	.id_table = virtio_window_ids,
	.probe = virtio_window_probe,
	.remove = virtio_window_remove,
#ifdef CONFIG_PM_SLEEP
	.freeze = virtio_window_freeze,
	.restore = virtio_window_probe,
#endif
};

static int virtio_window_sleep(struct device *dev, void *data)
{
	int ret = 0;

	device_lock(dev);
	/* Another driver may be bound by now. */
	if (dev->driver == &virtio_window_driver.driver && dev_to_virtio(dev)->priv)
		ret = virtio_window_hide(dev_to_virtio(dev));
	device_unlock(dev);
	return ret;
}

/* Offers the memory again after a sleep that failed; a restored device was added by its probe. */
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

/* Calls @what for each bound device. Return: 0, or the first errno of @what. */
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
		/* The PM core sends no PM_POST_* event to a notifier that has failed. */
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
 * vgpu_window_virtio_init - register the virtio driver
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
 * vgpu_window_virtio_exit - unregister the virtio driver
 *
 * Called while the hosts of open windows are still connected, so that they can unbind.
 */
void vgpu_window_virtio_exit(void)
{
	unregister_pm_notifier(&virtio_windows_notifier);
	unregister_virtio_driver(&virtio_window_driver);
}
