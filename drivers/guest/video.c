// SPDX-License-Identifier: GPL-2.0-only
/*
 * A node of the host's class video4linux is a video_device here: videodev makes
 * /dev/videoN, major 81 and what v4l-utils read in sysfs. As for DRM, its ioctls
 * are never reached, because an open file is given our own file operations.
 *
 * videodev numbers the nodes of a device (index) in the order in which they come.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include <media/v4l2-dev.h>
#include <media/v4l2-device.h>

#include "compat.h"
#include "export.h"
#include "file.h"
#include "object.h"
#include "parent.h"
#include "pci.h"
#include "video.h"

/**
 * struct vgpu_video_device - what nodes with the same parent have in common
 * @v4l2: freed with the last of them, or their last open file
 * @entry: in video_devices
 * @nodes: struct vgpu_video
 */
struct vgpu_video_device {
	struct v4l2_device v4l2;
	struct list_head entry;
	struct list_head nodes;
};

/**
 * struct vgpu_video - a node; freed with its last open file
 * @vdev: it
 * @entry: in vgpu_video_device.nodes
 * @export: what it is a node of (a reference)
 */
struct vgpu_video {
	struct video_device vdev;
	struct list_head entry;
	struct vgpu_export *export;
};

static DEFINE_MUTEX(video_lock);
static LIST_HEAD(video_devices);

static struct vgpu_video *to_vgpu_video(struct video_device *vdev)
{
	return container_of(vdev, struct vgpu_video, vdev);
}

/* The core has a reference to the node for this file: here it becomes the object's. */
static int video_open(struct file *file)
{
	struct video_device *vdev = video_devdata(file);
	int ret;

	/* The node's cdev has a reference to this module already. */
	__module_get(THIS_MODULE);
	replace_fops(file, &vgpu_file_fops);
	ret = vgpu_file_open_export(file, to_vgpu_video(vdev)->export, NULL);
	if (!ret && cmpxchg(&vgpu_file_object(file)->node, NULL, &vdev->dev))
		put_device(&vdev->dev);
	return ret;
}

/* Only a file that was not opened by video_open() would get here. */
static int video_release(struct file *file)
{
	return 0;
}

static const struct v4l2_file_operations video_fops = {
	.owner = THIS_MODULE,
	.open = video_open,
	.release = video_release,
};

static void video_free(struct video_device *vdev)
{
	struct vgpu_video *video = to_vgpu_video(vdev);

	vgpu_export_put(video->export);
	kfree(video);
}

static void video_device_free(struct v4l2_device *v4l2)
{
	kfree(container_of(v4l2, struct vgpu_video_device, v4l2));
}

static struct vgpu_video_device *video_device_get(struct device *parent)
{
	struct vgpu_video_device *device;
	int ret;

	list_for_each_entry(device, &video_devices, entry)
		if (device->v4l2.dev == parent)
			return device;
	device = kzalloc(sizeof(*device), GFP_KERNEL);
	if (!device)
		return ERR_PTR(-ENOMEM);
	ret = v4l2_device_register(parent, &device->v4l2);
	if (ret) {
		kfree(device);
		return ERR_PTR(ret);
	}
	device->v4l2.release = video_device_free;
	INIT_LIST_HEAD(&device->nodes);
	list_add(&device->entry, &video_devices);
	return device;
}

/* Its last node may be gone. */
static void video_device_put(struct vgpu_video_device *device)
{
	if (!list_empty(&device->nodes))
		return;
	list_del(&device->entry);
	v4l2_device_unregister(&device->v4l2);
	v4l2_device_put(&device->v4l2);
}

static enum vfl_devnode_type video_type(u32 kind)
{
	switch (kind) {
	case VGPU_EXPORT_VBI:
		return VFL_TYPE_VBI;
	case VGPU_EXPORT_RADIO:
		return VFL_TYPE_RADIO;
	case VGPU_EXPORT_SDR:
		return VFL_TYPE_SDR;
	case VGPU_EXPORT_TOUCH:
		return VFL_TYPE_TOUCH;
	default:
		return VFL_TYPE_VIDEO;
	}
}

static int video_register(struct vgpu_video_device *device, struct vgpu_export *export)
{
	struct vgpu_video *video = kzalloc(sizeof(*video), GFP_KERNEL);
	int ret;

	if (!video)
		return -ENOMEM;
	video->export = vgpu_export_get(export);
	strscpy(video->vdev.name, export->title, sizeof(video->vdev.name));
	video->vdev.v4l2_dev = &device->v4l2;
	video->vdev.fops = &video_fops;
	/* When it fails, some kernels have released it and others have not. */
	video->vdev.release = video_device_release_empty;
	/* The core wants something; what the device has, its own QUERYCAP says. */
	video->vdev.device_caps = V4L2_CAP_STREAMING;
	set_bit(V4L2_FL_USES_V4L2_FH, &video->vdev.flags);
	list_add(&video->entry, &device->nodes);
	ret = video_register_device(&video->vdev, video_type(export->kind), -1);
	if (ret) {
		list_del(&video->entry);
		video_free(&video->vdev);
		return ret;
	}
	video->vdev.release = video_free;
	if (sysfs_create_link(&export->dev.kobj, &video->vdev.dev.kobj, "video4linux"))
		dev_dbg(&export->dev, "no link to its V4L2 node\n");
	return 0;
}

static void video_unregister(struct vgpu_video *video)
{
	list_del(&video->entry);
	sysfs_remove_link(&video->export->dev.kobj, "video4linux");
	video_unregister_device(&video->vdev);
}

/**
 * vgpu_video_add - an export is a V4L2 node
 * @export: it, with a parent
 */
void vgpu_video_add(struct vgpu_export *export)
{
	struct device *parent = vgpu_parent_device(export->parent);
	struct vgpu_video_device *device;
	int ret = -ENODEV;

	vgpu_pci_lock();
	mutex_lock(&video_lock);
	if (!device_is_registered(parent))
		goto out_unlock;
	device = video_device_get(parent);
	if (IS_ERR(device)) {
		ret = PTR_ERR(device);
		goto out_unlock;
	}
	ret = video_register(device, export);
	video_device_put(device);

out_unlock:
	mutex_unlock(&video_lock);
	vgpu_pci_unlock();
	if (ret)
		dev_dbg(&export->dev, "no V4L2 node (%d)\n", ret);
}

/* An export is gone. */
void vgpu_video_del(struct vgpu_export *export)
{
	struct vgpu_video_device *device;
	struct vgpu_video *video;

	vgpu_pci_lock();
	mutex_lock(&video_lock);
	list_for_each_entry(device, &video_devices, entry) {
		list_for_each_entry(video, &device->nodes, entry) {
			if (video->export != export)
				continue;
			video_unregister(video);
			video_device_put(device);
			goto out_unlock;
		}
	}

out_unlock:
	mutex_unlock(&video_lock);
	vgpu_pci_unlock();
}

/**
 * vgpu_video_orphan - a parent is being removed, maybe not by us
 * @parent: it; vgpu_pci_lock() is held
 */
void vgpu_video_orphan(struct device *parent)
{
	struct vgpu_video_device *device, *next_device;
	struct vgpu_video *video, *next;

	mutex_lock(&video_lock);
	list_for_each_entry_safe(device, next_device, &video_devices, entry) {
		if (device->v4l2.dev != parent)
			continue;
		list_for_each_entry_safe(video, next, &device->nodes, entry)
			video_unregister(video);
		video_device_put(device);
	}
	mutex_unlock(&video_lock);
}
