// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exports as the host describes them, and their references. export_node.c makes and removes
 * their devices.
 */

#include "link/export.h"
#include "link/host.h"

/**
 * vgpu_export_find - find an export by its number
 * @host: host of the export
 * @id: number of the export on the wire
 *
 * Return: the export with a reference, or NULL.
 */
struct vgpu_export *vgpu_export_find(struct vgpu_host *host, u32 id)
{
	struct vgpu_export *export, *found = NULL;

	spin_lock(&host->lock);
	list_for_each_entry(export, &host->exports, entry) {
		if (export->id == id) {
			found = vgpu_export_get(export);
			break;
		}
	}
	spin_unlock(&host->lock);
	return found;
}

/**
 * vgpu_export_find_node - find the guest's node of a device file of the host
 * @host: the host
 * @major: major number on the host
 * @minor: minor number on the host
 *
 * Return: number of the export's node, or of /dev/vgpuN; 0 if the device is not exported.
 */
dev_t vgpu_export_find_node(struct vgpu_host *host, u32 major, u32 minor)
{
	struct vgpu_export *export;
	dev_t node = 0;

	spin_lock(&host->lock);
	list_for_each_entry(export, &host->exports, entry) {
		if (export->rdev.major == major && export->rdev.minor == minor) {
			node = READ_ONCE(export->node);
			if (!node)
				node = export->dev.devt;
			break;
		}
	}
	spin_unlock(&host->lock);
	return node;
}

/* Take a reference of @export. Return: @export. */
struct vgpu_export *vgpu_export_get(struct vgpu_export *export)
{
	get_device(&export->dev);
	return export;
}

void vgpu_export_put(struct vgpu_export *export)
{
	put_device(&export->dev);
}
