// SPDX-License-Identifier: GPL-2.0-only
/*
 * Nodes of exports in device classes other than DRM: creation, removal and open.
 * The classes themselves are in video.c, sound.c, media.c and nvidia.c.
 */
#include <linux/device.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "file/file.h"
#include "file/object.h"
#include "link/export.h"
#include "node/node.h"
#include "node/parent.h"
#include "node/pci.h"

static DEFINE_MUTEX(node_lock);
static LIST_HEAD(node_groups);

static struct vgpu_node_group *node_group_get(const struct vgpu_node_ops *ops,
					      struct device *parent)
{
	struct vgpu_node_group *group;

	list_for_each_entry(group, &node_groups, entry)
		if (group->ops == ops && group->parent == parent)
			return group;
	if (ops->create_group)
		group = ops->create_group(parent);
	else
		group = kzalloc(sizeof(*group), GFP_KERNEL) ?: ERR_PTR(-ENOMEM);
	if (IS_ERR(group))
		return group;
	group->ops = ops;
	group->parent = parent;
	INIT_LIST_HEAD(&group->nodes);
	list_add(&group->entry, &node_groups);
	return group;
}

/* Destroy the group if its last node is gone. */
static void node_group_put(struct vgpu_node_group *group)
{
	if (!list_empty(&group->nodes))
		return;
	list_del(&group->entry);
	if (group->ops->destroy_group)
		group->ops->destroy_group(group);
	else
		kfree(group);
}

static void node_destroy(struct vgpu_node *node)
{
	const struct vgpu_node_ops *ops = node->group->ops;

	list_del(&node->entry);
	WRITE_ONCE(node->export->node, 0);
	sysfs_remove_link(&node->export->dev.kobj, ops->class);
	ops->destroy(node);
}

static int node_create(const struct vgpu_node_ops *ops, struct vgpu_export *export)
{
	struct device *parent = vgpu_parent_device(export->parent);
	struct vgpu_node_group *group;
	struct vgpu_node *node;

	/* The parent may have been removed. */
	if (!device_is_registered(parent))
		return -ENODEV;
	group = node_group_get(ops, parent);
	if (IS_ERR(group))
		return PTR_ERR(group);
	node = ops->create(group, export);
	if (IS_ERR(node)) {
		node_group_put(group);
		return PTR_ERR(node);
	}
	node->group = group;
	list_add(&node->entry, &group->nodes);
	WRITE_ONCE(export->node, node->dev->devt);
	if (sysfs_create_link(&export->dev.kobj, &node->dev->kobj, ops->class))
		dev_dbg(&export->dev, "cannot create the sysfs link to the device node\n");
	return 0;
}

/**
 * vgpu_node_add - create the node of an export
 * @export: export with a parent
 * @ops: operations of the node's class; NULL: the kernel has no such class, and no node is made
 */
void vgpu_node_add(struct vgpu_export *export, const struct vgpu_node_ops *ops)
{
	int ret;

	if (!ops)
		return;
	vgpu_pci_lock();
	mutex_lock(&node_lock);
	ret = node_create(ops, export);
	mutex_unlock(&node_lock);
	vgpu_pci_unlock();
	if (ret)
		dev_dbg(&export->dev, "cannot create a node of class %s (error %d)\n",
			ops->class, ret);
}

static struct vgpu_node *node_find(const struct vgpu_export *export)
{
	struct vgpu_node_group *group;
	struct vgpu_node *node;

	list_for_each_entry(group, &node_groups, entry)
		list_for_each_entry(node, &group->nodes, entry)
			if (node->export == export)
				return node;
	return NULL;
}

/* Remove the node of an export. */
void vgpu_node_del(struct vgpu_export *export)
{
	struct vgpu_node_group *group;
	struct vgpu_node *node;

	vgpu_pci_lock();
	mutex_lock(&node_lock);
	node = node_find(export);
	if (node) {
		group = node->group;
		node_destroy(node);
		node_group_put(group);
	}
	mutex_unlock(&node_lock);
	vgpu_pci_unlock();
}

/**
 * vgpu_node_orphan - remove the nodes of a parent that is being removed, maybe by root
 * @parent: the parent; the caller holds vgpu_pci_lock()
 */
void vgpu_node_orphan(struct device *parent)
{
	struct vgpu_node_group *group, *next_group;
	struct vgpu_node *node, *next;

	mutex_lock(&node_lock);
	list_for_each_entry_safe(group, next_group, &node_groups, entry) {
		if (group->parent != parent)
			continue;
		list_for_each_entry_safe(node, next, &group->nodes, entry)
			node_destroy(node);
		node_group_put(group);
	}
	mutex_unlock(&node_lock);
}

/**
 * vgpu_node_file - pass a file of the host to a node
 * @export: export of the node
 * @name: name of the file
 * @data: new contents of the file; NULL if the file is gone
 * @len: number of bytes at @data
 */
void vgpu_node_file(struct vgpu_export *export, const char *name, const u8 *data, u32 len)
{
	struct vgpu_node *node;

	mutex_lock(&node_lock);
	node = node_find(export);
	if (node && node->group->ops->file)
		node->group->ops->file(node, name, data, len);
	mutex_unlock(&node_lock);
}

/**
 * vgpu_node_open - open the export of a node by a file of a class
 * @file: file that was opened by the node's cdev
 * @node: the node
 * @held: device of which the class has a reference for the file; the object takes the reference
 *	over if it has none yet, else it is dropped. NULL: none. After an error the class drops
 *	the reference
 *
 * Return: 0 or -errno, as vgpu_file_open_export().
 */
int vgpu_node_open(struct file *file, struct vgpu_node *node, struct device *held)
{
	int ret;

	/* The node's cdev holds a reference of this module already. */
	__module_get(THIS_MODULE);
	replace_fops(file, &vgpu_file_fops);
	ret = vgpu_file_open_export(file, node->export, NULL, &vgpu_file_fops_no_poll);
	if (!ret && held && cmpxchg(&vgpu_file_object(file)->node.device, NULL, held))
		put_device(held);
	return ret;
}
