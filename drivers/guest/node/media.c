// SPDX-License-Identifier: GPL-2.0-only
/*
 * Media nodes: each media device of the host has one in the guest, without entities. Libraries
 * look for it beside the V4L2 nodes of its parent, and allocate requests with it. Its ioctls
 * are never called, because an open file gets the file operations of this module. Device
 * numbers in the results are translated (schema/media.c).
 *
 * The core lets a driver install its own operations only after the node exists. A process that
 * opens the node before that (only root may at that time) gets a device without entities, and
 * without ioctls afterwards.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <media/media-device.h>
#include <media/media-devnode.h>

#include "link/export.h"
#include "node/node.h"

/**
 * struct vgpu_media - media node; freed with its last open file
 * @node: node of node.c
 * @mdev: media device of the core
 * @fops: operations of the node, by which the node is found: the core drops @mdev before the
 *	last file is closed
 */
struct vgpu_media {
	struct vgpu_node node;
	struct media_device mdev;
	struct media_file_operations fops;
};

static struct vgpu_media *to_vgpu_media(struct media_devnode *devnode)
{
	return container_of(devnode->fops, struct vgpu_media, fops);
}

/*
 * Open a node. The core holds a reference of the node for this file, which the object takes
 * over.
 */
static int media_open(struct file *file)
{
	struct media_devnode *devnode = media_devnode_data(file);

	return vgpu_node_open(file, &to_vgpu_media(devnode)->node, &devnode->dev);
}

static void media_free(struct vgpu_media *media)
{
	media_device_cleanup(&media->mdev);
	vgpu_export_put(media->node.export);
	kfree(media);
}

static void media_release(struct media_devnode *devnode)
{
	media_free(to_vgpu_media(devnode));
}

static struct vgpu_node *media_create(struct vgpu_node_group *group, struct vgpu_export *export)
{
	struct vgpu_media *media = kzalloc(sizeof(*media), GFP_KERNEL);
	struct media_devnode *devnode;
	int ret;

	if (!media)
		return ERR_PTR(-ENOMEM);
	media->node.export = vgpu_export_get(export);
	media->mdev.dev = group->parent;
	/* The default name is that of the parent's driver, and there may be no driver. */
	strscpy(media->mdev.driver_name, KBUILD_MODNAME, sizeof(media->mdev.driver_name));
	strscpy(media->mdev.model, export->title, sizeof(media->mdev.model));
	media->fops.owner = THIS_MODULE;
	media->fops.open = media_open;
	media_device_init(&media->mdev);
	ret = media_device_register(&media->mdev);
	if (ret) {
		media_free(media);
		return ERR_PTR(ret);
	}
	devnode = media->mdev.devnode;
	media->node.dev = &devnode->dev;
	devnode->release = media_release;
	/* Opens call media_open() from now on. */
	smp_store_release(&devnode->fops, &media->fops);
	return &media->node;
}

static void media_destroy(struct vgpu_node *node)
{
	struct media_device *mdev = &container_of(node, struct vgpu_media, node)->mdev;
	struct device *dev = get_device(node->dev);

	/* The function uses @mdev until it returns, so the last reference must not go before. */
	media_device_unregister(mdev);
	put_device(dev);
}

const struct vgpu_node_ops vgpu_media_node_ops = {
	.class = "media",
	.create = media_create,
	.destroy = media_destroy,
};
