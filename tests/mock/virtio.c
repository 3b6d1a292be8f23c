// SPDX-License-Identifier: GPL-2.0-only
/*
 * A virtio device with the number of a window's device, which may behave as any other device: the
 * parameters set its configuration space and the size of its memory. No memory is at that address.
 */
#include <linux/bits.h>
#include <linux/completion.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/virtio.h>
#include <linux/virtio_config.h>

#include "../../uapi/linux/vgpu_wire.h"

/* Address beyond all memory and devices of a test machine. */
#define REGION_START	BIT_ULL(38)

static u8 config[64];
static unsigned int config_len;
module_param_array(config, byte, &config_len, 0444);
MODULE_PARM_DESC(config, "bytes of the configuration space");

static unsigned long region;
module_param(region, ulong, 0444);
MODULE_PARM_DESC(region, "size of the first shared memory region in bytes; 0: no region");

static unsigned int beyond;
module_param(beyond, uint, 0444);
MODULE_PARM_DESC(beyond, "number of reads outside the configuration space, and of writes to it");

static unsigned int status;
module_param(status, uint, 0444);
MODULE_PARM_DESC(status, "status of the device, as the driver has set it");

static struct device *parent;
static struct virtio_device device;
static DECLARE_COMPLETION(released);

static void device_get(struct virtio_device *vdev, unsigned int offset, void *buf, unsigned int len)
{
	if (len > config_len || offset > config_len - len) {
		beyond++;
		memset(buf, 0, len);
	} else {
		memcpy(buf, config + offset, len);
	}
}

static void device_set(struct virtio_device *vdev, unsigned int offset, const void *buf,
		       unsigned int len)
{
	beyond++;
}

static u8 device_get_status(struct virtio_device *vdev)
{
	return status;
}

static void device_set_status(struct virtio_device *vdev, u8 new)
{
	status = new;
}

static void device_reset(struct virtio_device *vdev)
{
	status = 0;
}

static u64 device_get_features(struct virtio_device *vdev)
{
	return BIT_ULL(VIRTIO_F_VERSION_1);
}

static int device_finalize_features(struct virtio_device *vdev)
{
	return 0;
}

static bool device_get_shm_region(struct virtio_device *vdev, struct virtio_shm_region *found,
				  u8 id)
{
	if (!region || id)
		return false;
	found->addr = REGION_START;
	found->len = region;
	return true;
}

static const struct virtio_config_ops device_ops = {
	.get = device_get,
	.set = device_set,
	.get_status = device_get_status,
	.set_status = device_set_status,
	.reset = device_reset,
	.get_features = device_get_features,
	.finalize_features = device_finalize_features,
	.get_shm_region = device_get_shm_region,
};

static void device_release(struct device *dev)
{
	complete(&released);
}

static int __init virtio_init(void)
{
	int ret;

	parent = root_device_register("vgpu-mock-virtio");
	if (IS_ERR(parent))
		return PTR_ERR(parent);
	device.dev.parent = parent;
	device.dev.release = device_release;
	device.id.device = VGPU_WINDOW_VIRTIO_ID;
	device.config = &device_ops;
	ret = register_virtio_device(&device);
	if (!ret)
		return 0;
	put_device(&device.dev);
	wait_for_completion(&released);
	root_device_unregister(parent);
	return ret;
}

static void __exit virtio_exit(void)
{
	unregister_virtio_device(&device);
	wait_for_completion(&released);
	root_device_unregister(parent);
}

module_init(virtio_init);
module_exit(virtio_exit);

MODULE_DESCRIPTION("Virtio device of a window's number, for tests of vgpu");
MODULE_LICENSE("GPL");
