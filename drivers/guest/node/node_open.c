// SPDX-License-Identifier: GPL-2.0-only
/* Open of a node in a device class other than DRM. */
#include <linux/atomic.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/module.h>

#include "file/file.h"
#include "file/object.h"
#include "node/node.h"
#include "node/node_open.h"

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
	if (!ret && held && cmpxchg(&vgpu_file_object(file)->node, NULL, held))
		put_device(held);
	return ret;
}
