// SPDX-License-Identifier: GPL-2.0-only
/*
 * Video nodes: each node of the host's class video4linux has a video_device in the guest.
 * videodev makes /dev/videoN, major 81 and the files in sysfs that v4l-utils read. Its ioctls
 * are never called, as for DRM, because an open file gets the file operations of this module.
 *
 * videodev numbers the nodes of a device (index) in the order of their registration.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <media/v4l2-dev.h>
#include <media/v4l2-device.h>

#include "link/export.h"
#include "node/node.h"

/**
 * struct vgpu_video_device - nodes with the same parent
 * @group: the nodes
 * @v4l2: V4L2 device, freed when the last node and its last open file are gone
 */
struct vgpu_video_device {
	struct vgpu_node_group group;
	struct v4l2_device v4l2;
};

/**
 * struct vgpu_video - video node; freed with its last open file
 * @node: node of node.c
 * @vdev: device of videodev
 */
struct vgpu_video {
	struct vgpu_node node;
	struct video_device vdev;
};

static struct vgpu_video_device *to_vgpu_video_device(struct vgpu_node_group *group)
{
	return container_of(group, struct vgpu_video_device, group);
}

static struct vgpu_video *to_vgpu_video(struct video_device *vdev)
{
	return container_of(vdev, struct vgpu_video, vdev);
}

/*
 * Open a node. videodev holds a reference of the node for this file, which the object takes
 * over.
 */
static int video_open(struct file *file)
{
	struct video_device *vdev = video_devdata(file);

	return vgpu_node_open(file, &to_vgpu_video(vdev)->node, &vdev->dev);
}

/* Required by videodev, but never called for a file that video_open() has opened. */
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

	vgpu_export_put(video->node.export);
	kfree(video);
}

static void video_device_free(struct v4l2_device *v4l2)
{
	kfree(container_of(v4l2, struct vgpu_video_device, v4l2));
}

static struct vgpu_node_group *video_create_group(struct device *parent)
{
	struct vgpu_video_device *device = kzalloc(sizeof(*device), GFP_KERNEL);
	int ret;

	if (!device)
		return ERR_PTR(-ENOMEM);
	/* The default name is that of the parent's driver, and there may be no driver. */
	strscpy(device->v4l2.name, dev_name(parent), sizeof(device->v4l2.name));
	ret = v4l2_device_register(parent, &device->v4l2);
	if (ret) {
		kfree(device);
		return ERR_PTR(ret);
	}
	device->v4l2.release = video_device_free;
	return &device->group;
}

static void video_destroy_group(struct vgpu_node_group *group)
{
	struct v4l2_device *v4l2 = &to_vgpu_video_device(group)->v4l2;

	v4l2_device_unregister(v4l2);
	v4l2_device_put(v4l2);
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

static struct vgpu_node *video_create(struct vgpu_node_group *group, struct vgpu_export *export)
{
	struct vgpu_video *video = kzalloc(sizeof(*video), GFP_KERNEL);
	int ret;

	if (!video)
		return ERR_PTR(-ENOMEM);
	video->node.export = vgpu_export_get(export);
	video->node.dev = &video->vdev.dev;
	strscpy(video->vdev.name, export->title, sizeof(video->vdev.name));
	video->vdev.v4l2_dev = &to_vgpu_video_device(group)->v4l2;
	video->vdev.fops = &video_fops;
	/* After a failure some kernels have called the release function and others have not. */
	video->vdev.release = video_device_release_empty;
	/* videodev requires a capability; QUERYCAP of the device itself reports the real ones. */
	video->vdev.device_caps = V4L2_CAP_STREAMING;
	set_bit(V4L2_FL_USES_V4L2_FH, &video->vdev.flags);
	ret = video_register_device(&video->vdev, video_type(export->kind), -1);
	if (ret) {
		video_free(&video->vdev);
		return ERR_PTR(ret);
	}
	video->vdev.release = video_free;
	return &video->node;
}

static void video_destroy(struct vgpu_node *node)
{
	video_unregister_device(&container_of(node, struct vgpu_video, node)->vdev);
}

const struct vgpu_node_ops vgpu_video_node_ops = {
	.class = "video4linux",
	.create_group = video_create_group,
	.destroy_group = video_destroy_group,
	.create = video_create,
	.destroy = video_destroy,
};
