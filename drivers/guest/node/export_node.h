/* SPDX-License-Identifier: GPL-2.0-only */
/* Nodes of exports: each export is shown as /dev/vgpuN, and as what its class has. */
#ifndef VGPU_EXPORT_NODE_H
#define VGPU_EXPORT_NODE_H

#include <linux/container_of.h>
#include <linux/types.h>

#include "uapi/linux/vgpu_wire.h"

#include "link/export.h"
#include "node/connector.h"
#include "node/nvidia_address.h"

struct vgpu_host;

/**
 * struct vgpu_export_node - an export with the state of its nodes
 * @export: the export
 * @address: address of an NVIDIA card; guarded by host->lock
 * @connectors: connectors of a DRM card
 */
struct vgpu_export_node {
	struct vgpu_export export;
	struct vgpu_nvidia_address address;
	struct vgpu_connectors connectors;
};

/* Return: the state of the export's nodes. */
static inline struct vgpu_export_node *vgpu_export_node(struct vgpu_export *export)
{
	return container_of(export, struct vgpu_export_node, export);
}

int vgpu_export_global_init(void);
void vgpu_export_global_exit(void);
int vgpu_export_add(struct vgpu_host *host, const struct vgpu_export_add *msg);
void vgpu_export_del(struct vgpu_host *host, u32 id);
void vgpu_export_del_all(struct vgpu_host *host);
void vgpu_export_change(struct vgpu_host *host, const struct vgpu_export_change *msg);
int vgpu_export_file(struct vgpu_host *host, const struct vgpu_export_file *msg);

#endif /* VGPU_EXPORT_NODE_H */
