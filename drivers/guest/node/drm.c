// SPDX-License-Identifier: GPL-2.0-only
/*
 * DRM devices: each device of the host with exported DRM nodes has a drm_device in the guest.
 * The parent of the drm_device identifies the hardware (parent.c). The DRM core makes the
 * nodes, major 226 and the sysfs tree that libdrm expects; its ioctls are never called, because
 * the module's own file operations handle every file.
 *
 * The core has to know at registration if there is a render node. It always makes a primary
 * node, which fails to open with -EACCES if only the render node is exported. A device that
 * gets its render node later is registered anew.
 */
#include <linux/err.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>

#include "compat.h"
#include "file/file.h"
#include "file/poll.h"
#include "link/export.h"
#include "link/host.h"
#include "node/connector.h"
#include "node/drm.h"
#include "node/export_node.h"
#include "node/parent.h"
#include "node/pci.h"

/**
 * struct vgpu_drm - DRM device of a host
 * @entry: list entry in drm_list
 * @host: host of the device; the exports hold a reference
 * @device: number of the host's device, shared by its exports
 * @primary: export of the primary node, or NULL
 * @render: export of the render node, or NULL
 * @dev: drm_device while it is registered, or NULL
 */
struct vgpu_drm {
	struct list_head entry;
	struct vgpu_host *host;
	u64 device;
	struct vgpu_export *primary;
	struct vgpu_export *render;
	struct drm_device *dev;
};

static DEFINE_MUTEX(vgpu_drm_lock);
static LIST_HEAD(drm_list);

static int drm_node_open(struct inode *inode, struct file *file);

static const struct file_operations drm_fops = {
	VGPU_FILE_OPERATIONS,
	.open = drm_node_open,
	.poll = vgpu_poll,
	VGPU_FOPS_UNSIGNED_OFFSET
};

static const struct file_operations drm_fops_no_poll = {
	VGPU_FILE_OPERATIONS,
	.open = drm_node_open,
	VGPU_FOPS_UNSIGNED_OFFSET
};

static const struct drm_driver drm_driver_primary = {
	.fops = &drm_fops,
	.name = "vgpu",
	.desc = "device of another machine",
	VGPU_DRM_DRIVER_DATE
	.major = 1,
};

static const struct drm_driver drm_driver_render = {
	.driver_features = DRIVER_RENDER,
	.fops = &drm_fops,
	.name = "vgpu",
	.desc = "device of another machine",
	VGPU_DRM_DRIVER_DATE
	.major = 1,
};

/* Create the link /sys/class/vgpu/vgpuN/drm, by which tools find the nodes of an export. */
static void drm_link(struct vgpu_export *export, struct device *parent)
{
	if (export && sysfs_create_link(&export->dev.kobj, &parent->kobj, "drm"))
		dev_dbg(&export->dev, "cannot create the sysfs link to the DRM device\n");
}

static void drm_unlink(struct vgpu_export *export)
{
	if (export)
		sysfs_remove_link(&export->dev.kobj, "drm");
}

static struct device *drm_parent(const struct vgpu_drm *drm)
{
	return vgpu_parent_device((drm->primary ?: drm->render)->parent);
}

static int drm_register(struct vgpu_drm *drm)
{
	struct device *parent = drm_parent(drm);
	struct drm_device *dev;
	int ret;

	dev = drm_dev_alloc(drm->render ? &drm_driver_render : &drm_driver_primary, parent);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	/* Opens may come as soon as there is a node. */
	drm->dev = dev;
	mutex_unlock(&vgpu_drm_lock);
	ret = drm_dev_register(dev, 0);
	mutex_lock(&vgpu_drm_lock);
	if (ret) {
		drm->dev = NULL;
		drm_dev_put(dev);
		return ret;
	}
	drm_link(drm->primary, parent);
	drm_link(drm->render, parent);
	return 0;
}

static void drm_unregister(struct vgpu_drm *drm)
{
	struct drm_device *dev = drm->dev;

	if (!dev)
		return;
	drm_unlink(drm->primary);
	drm_unlink(drm->render);
	if (drm->primary)
		vgpu_connectors_hide(&vgpu_export_node(drm->primary)->connectors);
	drm->dev = NULL;
	mutex_unlock(&vgpu_drm_lock);
	drm_dev_unplug(dev);
	drm_dev_put(dev);
	mutex_lock(&vgpu_drm_lock);
}

static struct vgpu_drm *drm_find(struct vgpu_export *export)
{
	struct vgpu_drm *drm;

	list_for_each_entry(drm, &drm_list, entry) {
		if (drm->host != export->host)
			continue;
		if (drm->primary == export || drm->render == export ||
		    (export->device && drm->device == export->device))
			return drm;
	}
	return NULL;
}

/**
 * vgpu_drm_add - add an export to its DRM device
 * @export: export of a DRM node
 *
 * The node appears with vgpu_drm_settle(). The thread that receives the host's messages calls
 * this function, vgpu_drm_settle() and vgpu_drm_del(), so the devices of a host change one at a
 * time.
 */
void vgpu_drm_add(struct vgpu_export *export)
{
	struct vgpu_export **slot;
	struct vgpu_drm *drm;

	mutex_lock(&vgpu_drm_lock);
	drm = drm_find(export);
	if (!drm) {
		drm = kzalloc(sizeof(*drm), GFP_KERNEL);
		/* The export still has /dev/vgpuN. */
		if (!drm)
			goto out_unlock;
		drm->host = export->host;
		drm->device = export->device;
		list_add(&drm->entry, &drm_list);
	}
	slot = export->kind == VGPU_EXPORT_DRM_PRIMARY ? &drm->primary : &drm->render;
	/* A device has one node of each kind. */
	if (!*slot) {
		*slot = vgpu_export_get(export);
		if (drm->dev)
			drm_link(export, drm->dev->dev);
	}

out_unlock:
	mutex_unlock(&vgpu_drm_lock);
}

/* Remove an export from its DRM device, and the device with its last export. */
void vgpu_drm_del(struct vgpu_export *export)
{
	struct vgpu_drm *drm;

	vgpu_pci_lock();
	mutex_lock(&vgpu_drm_lock);
	drm = drm_find(export);
	if (!drm || (drm->primary != export && drm->render != export))
		goto out_unlock;
	if (drm->dev)
		drm_unlink(export);
	if (drm->primary == export) {
		vgpu_connectors_fini(&vgpu_export_node(export)->connectors);
		drm->primary = NULL;
	} else {
		drm->render = NULL;
	}
	vgpu_export_put(export);
	if (!drm->primary && !drm->render) {
		drm_unregister(drm);
		list_del(&drm->entry);
		kfree(drm);
	}

out_unlock:
	mutex_unlock(&vgpu_drm_lock);
	vgpu_pci_unlock();
}

/*
 * Return: true if the device is registered, with its render node if there is one, or cannot be
 * registered because its parent was removed.
 */
static bool drm_settled(const struct vgpu_drm *drm)
{
	return (drm->dev && (!drm->render || drm->dev->render)) ||
		!device_is_registered(drm_parent(drm));
}

static bool drm_all_settled(struct vgpu_host *host)
{
	struct vgpu_drm *drm;
	bool settled = true;

	mutex_lock(&vgpu_drm_lock);
	list_for_each_entry(drm, &drm_list, entry)
		settled &= drm->host != host || drm_settled(drm);
	mutex_unlock(&vgpu_drm_lock);
	return settled;
}

static void drm_show_connectors(struct vgpu_host *host)
{
	struct vgpu_drm *drm;

	mutex_lock(&vgpu_drm_lock);
	list_for_each_entry(drm, &drm_list, entry)
		if (drm->host == host && drm->dev && drm->primary &&
		    vgpu_export_node(drm->primary)->connectors.fresh)
			vgpu_connectors_show(&vgpu_export_node(drm->primary)->connectors, drm->dev);
	mutex_unlock(&vgpu_drm_lock);
}

static void drm_make_devices(struct vgpu_host *host)
{
	struct vgpu_drm *drm;

	vgpu_pci_lock();
	mutex_lock(&vgpu_drm_lock);
	list_for_each_entry(drm, &drm_list, entry) {
		if (drm->host != host || drm_settled(drm))
			continue;
		drm_unregister(drm);
		if (drm_register(drm))
			dev_dbg(&(drm->primary ?: drm->render)->dev, "cannot register the DRM device\n");
	}
	mutex_unlock(&vgpu_drm_lock);
	vgpu_pci_unlock();
}

static void drm_say(struct drm_device *dev, char **envp)
{
	if (kobject_uevent_env(&dev->primary->kdev->kobj, KOBJ_CHANGE, envp))
		dev_dbg(dev->dev, "cannot send a change uevent\n");
}

/* Send the uevent of drm_dev_wedged_event(), but without the process, whose id is the host's. */
static void drm_wedged(struct drm_device *dev, u32 wedged)
{
	static const char *const names[] = VGPU_WEDGED_NAMES;
	char text[80], *envp[2] = { text, NULL };
	const char *before = "WEDGED=";
	size_t len = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (!(wedged & BIT(i)))
			continue;
		len += scnprintf(text + len, sizeof(text) - len, "%s%s", before, names[i]);
		before = ",";
	}
	drm_say(dev, envp);
}

/*
 * Create the devices and connectors that are missing, after the host has sent all messages
 * about them.
 */
void vgpu_drm_settle(struct vgpu_host *host)
{
	if (!drm_all_settled(host))
		drm_make_devices(host);
	drm_show_connectors(host);
}

/* Send the uevents of drm_sysfs.c, which exports only some of its functions for them. */
static void drm_uevent(struct drm_device *dev, u32 flag, u32 connector, u32 property)
{
	char connector_text[24], property_text[24];
	char *envp[4] = {
		flag == VGPU_CHANGE_LEASE ? "LEASE=1" : "HOTPLUG=1",
		connector ? connector_text : NULL,
		property ? property_text : NULL,
	};

	snprintf(connector_text, sizeof(connector_text), "CONNECTOR=%u", connector);
	snprintf(property_text, sizeof(property_text), "PROPERTY=%u", property);
	drm_say(dev, envp);
}

/**
 * vgpu_drm_change - send the uevents of a change of the host's card
 * @export: export of the primary node
 * @msg: message of the host
 *
 * Without a registered card there is nothing to report.
 */
void vgpu_drm_change(struct vgpu_export *export, const struct vgpu_export_change *msg)
{
	u32 flags = le32_to_cpu(msg->flags);
	struct vgpu_drm *drm;

	mutex_lock(&vgpu_drm_lock);
	drm = drm_find(export);
	/* The device stays in sysfs while the lock is held, if drm->dev is set. */
	if (!drm || drm->primary != export || !drm->dev)
		goto out_unlock;
	/* Programs read the connectors' files when they get the uevent below. */
	if (vgpu_export_node(export)->connectors.fresh)
		vgpu_connectors_show(&vgpu_export_node(export)->connectors, drm->dev);
	if (flags & VGPU_CHANGE_HOTPLUG)
		drm_uevent(drm->dev, VGPU_CHANGE_HOTPLUG, le32_to_cpu(msg->connector),
			   le32_to_cpu(msg->property));
	if (flags & VGPU_CHANGE_LEASE)
		drm_uevent(drm->dev, VGPU_CHANGE_LEASE, 0, 0);
	if (flags & VGPU_CHANGE_WEDGED)
		drm_wedged(drm->dev, le32_to_cpu(msg->wedged));

out_unlock:
	mutex_unlock(&vgpu_drm_lock);
}

/**
 * vgpu_drm_file - handle a file of the host's card
 * @export: export of the primary node
 * @name: name of the file
 * @data: contents of the file; NULL if the file is gone
 * @len: number of bytes at @data
 */
void vgpu_drm_file(struct vgpu_export *export, const char *name, const u8 *data, u32 len)
{
	struct vgpu_drm *drm;

	mutex_lock(&vgpu_drm_lock);
	drm = drm_find(export);
	if (drm && drm->primary == export)
		vgpu_connectors_file(&vgpu_export_node(export)->connectors, name, data, len);
	mutex_unlock(&vgpu_drm_lock);
}

/**
 * vgpu_drm_orphan - unregister the DRM device of a parent that is being removed, maybe by root
 * @parent: the parent; the caller holds vgpu_pci_lock(), as for each registration
 */
void vgpu_drm_orphan(struct device *parent)
{
	struct vgpu_drm *drm;

	mutex_lock(&vgpu_drm_lock);
	list_for_each_entry(drm, &drm_list, entry) {
		if (drm->dev && drm->dev->dev == parent) {
			drm_unregister(drm);
			break;
		}
	}
	mutex_unlock(&vgpu_drm_lock);
}

static bool drm_minor_is(const struct drm_minor *minor, unsigned int index)
{
	return minor && minor->index == index;
}

/* Open a DRM node. The core holds a reference of the drm_device during the call. */
static int drm_node_open(struct inode *inode, struct file *file)
{
	unsigned int index = iminor(inode);
	struct vgpu_export *export = NULL;
	struct drm_device *dev = NULL;
	struct vgpu_drm *drm;
	int ret;

	mutex_lock(&vgpu_drm_lock);
	list_for_each_entry(drm, &drm_list, entry) {
		if (!drm->dev)
			continue;
		if (drm_minor_is(drm->dev->primary, index))
			export = drm->primary;
		else if (drm_minor_is(drm->dev->render, index))
			export = drm->render;
		else
			continue;
		dev = drm->dev;
		drm_dev_get(dev);
		if (export)
			vgpu_export_get(export);
		break;
	}
	mutex_unlock(&vgpu_drm_lock);
	if (!dev)
		return -ENODEV;
	if (export) {
		vgpu_set_unsigned_offset(file);
		ret = vgpu_file_open_export(file, export, dev, &drm_fops_no_poll);
		vgpu_export_put(export);
	} else {
		ret = -EACCES;
	}
	drm_dev_put(dev);
	return ret;
}
