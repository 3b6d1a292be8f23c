/* SPDX-License-Identifier: GPL-2.0-only */
/* Nodes of NVIDIA's driver. */
#ifndef VGPU_NVIDIA_H
#define VGPU_NVIDIA_H

#include <linux/cdev.h>
#include <linux/device.h>

#include "node/node.h"
#include "node/nvidia_driver.h"
#include "node/nvidia_proc.h"

struct proc_dir_entry;
struct vgpu_class_ops;

#define NVIDIA_BUS_ID_LEN	sizeof("0000:00:00.0")

/**
 * struct vgpu_nvidia - node of NVIDIA's driver; freed with its last open file
 * @node: node of node.c
 * @entry: list entry in nvidia_nodes
 * @dev: device in the class
 * @cdev: character device
 * @driver: driver that the node belongs to
 * @bus_id: name of a card's directory in /proc, which is that of the PCI device in the guest;
 *	"": none. Written under node_lock (node.c) and the lock of the information file; the work
 *	item reads it under the latter
 * @dir: directory of the card; NULL: none; used by work items only, like @dir_name and
 *	@dir_entry
 * @dir_name: current name of the directory, which the work item updates
 * @dir_entry: list entry in nvidia_dirs if there is a directory
 * @files: files of the control node or of a card
 * @release: control node: release of the host's driver that was checked last, see
 *	vgpu_nvidia_version_told()
 */
struct vgpu_nvidia {
	struct vgpu_node node;
	struct list_head entry;
	struct device dev;
	struct cdev cdev;
	enum vgpu_nvidia_driver driver;
	char bus_id[NVIDIA_BUS_ID_LEN];
	struct proc_dir_entry *dir;
	char dir_name[NVIDIA_BUS_ID_LEN];
	struct list_head dir_entry;
	struct vgpu_nvidia_file files[NVIDIA_FILES];
	unsigned int release;
};

extern const struct vgpu_node_ops vgpu_nvidia_node_ops;
extern const struct vgpu_class_ops vgpu_nvidia_class_ops;

int vgpu_nvidia_global_init(void);
void vgpu_nvidia_global_exit(void);

#endif /* VGPU_NVIDIA_H */
