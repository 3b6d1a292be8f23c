/* SPDX-License-Identifier: GPL-2.0-only */
/* Nodes of exports that are of a class other than DRM's. */
#ifndef VGPU_NODE_H
#define VGPU_NODE_H

#include <linux/list.h>
#include <linux/types.h>

struct device;
struct file;
struct vgpu_export;
struct vgpu_node_ops;

/**
 * struct vgpu_node_group - what nodes with the same parent have in common
 * @entry: in the list of all; this and the rest belong to node.c
 * @nodes: struct vgpu_node
 * @parent: their parent
 * @ops: of the class
 */
struct vgpu_node_group {
	struct list_head entry;
	struct list_head nodes;
	struct device *parent;
	const struct vgpu_node_ops *ops;
};

/**
 * struct vgpu_node - a node
 * @entry: in its group's nodes; this and the next belong to node.c
 * @group: that group
 * @export: what it is a node of (a reference, put by whoever frees this)
 * @dev: in the class
 */
struct vgpu_node {
	struct list_head entry;
	struct vgpu_node_group *group;
	struct vgpu_export *export;
	struct device *dev;
};

/**
 * struct vgpu_node_ops - how a class makes its nodes
 * @class: its name; in sysfs the export has a link of that name to the node
 * @create_group: for a parent that is registered; ERR_PTR() on failure
 * @destroy_group: it has no nodes any more, but may have open files
 * @create: with @dev and @export set; ERR_PTR() on failure
 * @destroy: takes it away; open files may keep it
 * @file: a file of the host's has these bytes now; NULL: it is gone; may be left out
 *
 * All are called one at a time, with vgpu_pci_lock() held but for @file.
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
extern const struct vgpu_node_ops vgpu_nvidia_node_ops;

int vgpu_nvidia_global_init(void);
void vgpu_nvidia_global_exit(void);

int vgpu_node_open(struct file *file, struct vgpu_node *node, struct device *held);
void vgpu_node_add(struct vgpu_export *export);
void vgpu_node_del(struct vgpu_export *export);
void vgpu_node_orphan(struct device *parent);
void vgpu_node_file(struct vgpu_export *export, const char *name, const u8 *data, u32 len);

#endif /* VGPU_NODE_H */
