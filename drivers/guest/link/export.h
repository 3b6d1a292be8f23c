/* SPDX-License-Identifier: GPL-2.0-only */
/* Exports: device files that a host offers. */
#ifndef VGPU_EXPORT_H
#define VGPU_EXPORT_H

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/list.h>
#include <linux/string.h>
#include <linux/types.h>

#include "uapi/linux/vgpu_wire.h"

#include "argument/schema.h"
#include "base/stats.h"

struct vgpu_class_ops;
struct vgpu_host;
struct vgpu_parent;

/**
 * struct vgpu_export - one export of one host; part of a struct vgpu_export_node
 * @dev: device of class vgpu; its reference count is that of the export
 * @cdev: character device of /dev/vgpuN
 * @host: host of the export (a reference)
 * @entry: list entry in host->exports; guarded by host->lock
 * @id: number of the export on the wire
 * @kind: VGPU_EXPORT_*
 * @device: number of the host's device, shared by its exports; 0: the export stands alone
 * @rdev: number of the host's device file
 * @rdev.major: major number
 * @rdev.minor: minor number
 * @node: number of the export's node of a class other than DRM; 0: none; written under node_lock
 *	(node/node.c), read without a lock
 * @parent: parent of the export's nodes; NULL: /dev/vgpuN is the only node
 * @class_ops: operations of the export's class; constant
 * @gone: true if new opens fail; set once, read without a lock
 * @name: name of the export
 * @driver: name of the host's driver
 * @path: path of the device file on the host
 * @bus: bus and name of the device on the host, such as "pci 0000:01:00.0"
 * @title: name of the node, or model of the device, see struct vgpu_export_add (vgpu_wire.h)
 * @stats: counters
 * @fences: number of new fences that the host still watches although programs close them without
 *	a poll (file/poll.c); set anew by the first poll of a fence, 0: the host watches none
 * @learned: numbers that the host's device has assigned to names of the schema
 * @part: part of a file about the device (struct vgpu_export_file) that arrives in several
 *	messages; used only by the thread that receives the host's messages
 * @part.bytes: buffer of the file, or NULL if no further part is awaited; the other fields are
 *	valid while there is a buffer
 * @part.size: size of the file in bytes
 * @part.len: number of bytes received so far
 * @part.name: name of the file
 */
struct vgpu_export {
	struct device dev;
	struct cdev cdev;
	struct vgpu_host *host;
	struct list_head entry;
	u32 id;
	u32 kind;
	u64 device;
	struct {
		u32 major;
		u32 minor;
	} rdev;
	dev_t node;
	struct vgpu_parent *parent;
	const struct vgpu_class_ops *class_ops;
	bool gone;
	char name[VGPU_NAME_LEN];
	char driver[VGPU_NAME_LEN];
	char path[VGPU_PATH_LEN];
	char bus[16 + VGPU_BUS_ID_LEN];
	char title[VGPU_TITLE_LEN];
	struct vgpu_stats stats;
	atomic_t fences;
	struct vgpu_schema_learned learned;
	struct {
		u8 *bytes;
		u32 size;
		u32 len;
		u8 name[VGPU_FILE_NAME_LEN];
	} part;
};

struct vgpu_export *vgpu_export_find(struct vgpu_host *host, u32 id);
dev_t vgpu_export_find_node(struct vgpu_host *host, u32 major, u32 minor);
struct vgpu_export *vgpu_export_get(struct vgpu_export *export);
void vgpu_export_put(struct vgpu_export *export);

/* Return: name of the export's PCI device on the host, or NULL. */
static inline const char *vgpu_export_pci_name(const struct vgpu_export *export)
{
	return strstarts(export->bus, "pci ") ? export->bus + 4 : NULL;
}

/* Return: schema of the ioctls of the export's files, or NULL. */
static inline const struct vgpu_schema *vgpu_export_schema(const struct vgpu_export *export)
{
	return vgpu_schema_for_export(export->kind, export->driver, export->title, export->path);
}

#endif /* VGPU_EXPORT_H */
