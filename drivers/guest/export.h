/* SPDX-License-Identifier: GPL-2.0-only */
/* Exports: device files that a host offers, each shown as /dev/vgpuN. */
#ifndef VGPU_EXPORT_H
#define VGPU_EXPORT_H

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/list.h>
#include <linux/string.h>
#include <linux/types.h>

#include "uapi/linux/vgpu_wire.h"

#include "connector.h"
#include "nvidia_address.h"
#include "schema.h"
#include "stats.h"

struct vgpu_host;
struct vgpu_parent;

/**
 * struct vgpu_export - one export of one host
 * @dev: class vgpu; its reference count is the export's
 * @cdev: /dev/vgpuN
 * @host: the host (a reference)
 * @entry: in host->exports (host->lock)
 * @id: number on the wire
 * @kind: VGPU_EXPORT_*
 * @device: exports of one device share it; 0: stands alone
 * @rdev_major: of the host's device file
 * @rdev_minor: likewise
 * @node: number of its node other than DRM's; 0: it has none; read anywhere
 * @parent: what its nodes hang on; NULL: it has but /dev/vgpuN
 * @gone: new opens fail; set once, read anywhere
 * @name: what the host calls it
 * @driver: the host's driver
 * @path: device file on the host
 * @bus: the device's bus there and its name on it, for people
 * @title: see struct vgpu_export_add
 * @stats: counters
 * @fences: above 0: programs wait for the fences that they get
 * @learned: for the schema
 * @address: of a card of NVIDIA's (host->lock)
 * @connectors: of a card
 * @part: a file that comes in several messages, as far as it is here, or NULL; this and
 *	@part_len belong to the thread that receives the host's messages
 * @part_len: bytes of @part
 */
struct vgpu_export {
	struct device dev;
	struct cdev cdev;
	struct vgpu_host *host;
	struct list_head entry;
	u32 id;
	u32 kind;
	u64 device;
	u32 rdev_major;
	u32 rdev_minor;
	dev_t node;
	struct vgpu_parent *parent;
	bool gone;
	char name[VGPU_NAME_LEN];
	char driver[VGPU_NAME_LEN];
	char path[VGPU_PATH_LEN];
	char bus[16 + VGPU_BUS_ID_LEN];
	char title[VGPU_TITLE_LEN];
	struct vgpu_stats stats;
	atomic_t fences;
	struct vgpu_schema_learned learned;
	struct vgpu_nvidia_address address;
	struct vgpu_connectors connectors;
	u8 *part;
	u32 part_len;
};

int vgpu_export_global_init(void);
void vgpu_export_global_exit(void);
int vgpu_export_add(struct vgpu_host *host, const struct vgpu_export_add *msg);
void vgpu_export_del(struct vgpu_host *host, u32 id);
void vgpu_export_del_all(struct vgpu_host *host);
void vgpu_export_change(struct vgpu_host *host, const struct vgpu_export_change *msg);
int vgpu_export_file(struct vgpu_host *host, const struct vgpu_export_file *msg);
dev_t vgpu_export_find_node(struct vgpu_host *host, u32 major, u32 minor);
struct vgpu_export *vgpu_export_get(struct vgpu_export *export);
void vgpu_export_put(struct vgpu_export *export);

/* Name of its PCI device on the host, or NULL. */
static inline const char *vgpu_export_pci_name(const struct vgpu_export *export)
{
	return strstarts(export->bus, "pci ") ? export->bus + 4 : NULL;
}

/* The schema of its files' ioctls, or NULL. */
static inline const struct vgpu_schema *vgpu_export_schema(const struct vgpu_export *export)
{
	return vgpu_schema_for_export(export->kind, export->driver, export->title, export->path);
}

#endif /* VGPU_EXPORT_H */
