// SPDX-License-Identifier: GPL-2.0-only
/*
 * The window as a virtio device with a shared memory region: QEMU's
 * vhost-user-test-device, behind which a process of the host is that maps files there. It
 * has the number of a device that Linux has no driver for, and that may be somebody
 * else's: ours begins its configuration space as a window begins its header.
 */
#include <linux/ioport.h>
#include <linux/virtio.h>
#include <linux/virtio_config.h>

#include "window.h"
#include "window_device.h"

#define VIRTIO_WINDOW_REGION	0

/* Return: number of the window that it is now, 0: it is none. */
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

	/* What has no such region may have less configuration space than is read here. */
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
	/* The host shows nothing before. */
	virtio_device_ready(vdev);
	vgpu_window_device_add(device);
	return 0;
}

static void virtio_window_remove(struct virtio_device *vdev)
{
	struct vgpu_window_device *device = vdev->priv;

	vgpu_window_device_remove(device);
	virtio_reset_device(vdev);
	release_mem_region(device->start, device->size);
	vgpu_window_device_put(device);
}

static const struct virtio_device_id virtio_window_ids[] = {
	{ VGPU_WINDOW_VIRTIO_ID, VIRTIO_DEV_ANY_ID },
	{ }
};

/* Without an alias, as for ivshmem. */
static struct virtio_driver virtio_window_driver = {
	.driver.name = "vgpu_window",
	.id_table = virtio_window_ids,
	.probe = virtio_window_probe,
	.remove = virtio_window_remove,
};

int vgpu_window_virtio_init(void)
{
	return register_virtio_driver(&virtio_window_driver);
}

void vgpu_window_virtio_exit(void)
{
	unregister_virtio_driver(&virtio_window_driver);
}
