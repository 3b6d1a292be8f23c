/* SPDX-License-Identifier: GPL-2.0-only */
/* Nodes of exports in device classes other than DRM. */
#ifndef VGPU_NODE_H
#define VGPU_NODE_H

#include <linux/list.h>
#include <linux/types.h>

struct device;
struct file;
struct vgpu_export;
struct vgpu_node_ops;

/**
 * struct vgpu_node_group - nodes with the same class and parent
 * @entry: list entry in the list of all groups; all members belong to node.c
 * @nodes: list of struct vgpu_node
 * @parent: parent device of the nodes
 * @ops: operations of the class
 */
struct vgpu_node_group {
	struct list_head entry;
	struct list_head nodes;
	struct device *parent;
	const struct vgpu_node_ops *ops;
};

/**
 * struct vgpu_node - node of an export
 * @entry: list entry in the group's nodes; belongs to node.c, like @group
 * @group: group of the node
 * @export: export of the node (a reference, dropped when the node is freed)
 * @dev: device in the class
 */
struct vgpu_node {
	struct list_head entry;
	struct vgpu_node_group *group;
	struct vgpu_export *export;
	struct device *dev;
};

/**
 * struct vgpu_node_ops - operations by which a class creates and removes nodes
 * @class: name of the class, and of the link from the export to the node in sysfs
 * @create_group: function that creates a group for a registered parent; ERR_PTR() on failure;
 *	NULL if the nodes of a parent have nothing in common
 * @destroy_group: function that destroys a group after its last node was removed; files of its
 *	nodes may still be open. NULL if @create_group is NULL
 * @create: function that creates a node, and sets the node's dev and export; ERR_PTR() on failure
 * @destroy: function that removes a node; open files may hold references of it
 * @file: optional function that handles new contents of a file of the host; data is NULL if the
 *	file is gone
 *
 * All functions are called one at a time, and all except @file with vgpu_pci_lock() held.
 */
struct vgpu_node_ops {
	const char *class;
	struct vgpu_node_group *(*create_group)(struct device *parent);
	void (*destroy_group)(struct vgpu_node_group *group);
	struct vgpu_node *(*create)(struct vgpu_node_group *group, struct vgpu_export *export);
	void (*destroy)(struct vgpu_node *node);
	void (*file)(struct vgpu_node *node, const char *name, const u8 *data, u32 len);
};

extern const struct vgpu_node_ops vgpu_video_node_ops;
extern const struct vgpu_node_ops vgpu_sound_node_ops;
extern const struct vgpu_node_ops vgpu_media_node_ops;

void vgpu_node_add(struct vgpu_export *export, const struct vgpu_node_ops *ops);
void vgpu_node_del(struct vgpu_export *export);
void vgpu_node_orphan(struct device *parent);
int vgpu_node_open(struct file *file, struct vgpu_node *node, struct device *held);
void vgpu_node_file(struct vgpu_export *export, const char *name, const u8 *data, u32 len);

#endif /* VGPU_NODE_H */
