// SPDX-License-Identifier: GPL-2.0-only
/*
 * A device of the host whose DRM nodes are exported is a drm_device here, whose
 * parent shows what it is (parent.c). The DRM core makes the nodes, major 226 and the
 * sysfs tree that libdrm looks for; its ioctls are never reached, because our
 * own file operations take every file.
 *
 * The core knows at registration only whether there is a render node, and there
 * is always a primary one, which gives -EACCES if only the render node is
 * exported. A device that gets its render node later is made anew.
 */
#include <linux/compat.h>
#include <linux/err.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <linux/uaccess.h>

#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>

#include "compat.h"
#include "connector.h"
#include "drm.h"
#include "export.h"
#include "file.h"
#include "host.h"
#include "object.h"
#include "parent.h"
#include "schema.h"
#include "schema_uapi.h"
#include "pci.h"

/**
 * struct vgpu_drm - a DRM device of a host
 * @entry: in drm_list
 * @host: whose it is; its exports hold it
 * @device: exports of one device share it
 * @primary: its card node, or NULL
 * @render: its render node, or NULL
 * @dev: once registered
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

static const struct drm_driver drm_driver_primary = {
	.fops = &vgpu_file_drm_fops,
	.name = "vgpu",
	.desc = "device of another machine",
	VGPU_DRM_DRIVER_DATE
	.major = 1,
};

static const struct drm_driver drm_driver_render = {
	.driver_features = DRIVER_RENDER,
	.fops = &vgpu_file_drm_fops,
	.name = "vgpu",
	.desc = "device of another machine",
	VGPU_DRM_DRIVER_DATE
	.major = 1,
};

/* /sys/class/vgpu/vgpuN/drm: for tools, which nodes belong to an export. */
static void drm_link(struct vgpu_export *export, struct device *parent)
{
	if (export && sysfs_create_link(&export->dev.kobj, &parent->kobj, "drm"))
		dev_dbg(&export->dev, "no link to its DRM device\n");
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
	/* An open may come as soon as there is a node. */
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
		vgpu_connectors_hide(&drm->primary->connectors);
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
 * vgpu_drm_add - an export is a node of a DRM device
 * @export: it
 *
 * Takes effect with vgpu_drm_settle(). Like that and vgpu_drm_del(), called by
 * the thread that receives the host's messages, so a host's devices change one
 * at a time.
 */
void vgpu_drm_add(struct vgpu_export *export)
{
	struct vgpu_export **slot;
	struct vgpu_drm *drm;

	mutex_lock(&vgpu_drm_lock);
	drm = drm_find(export);
	if (!drm) {
		drm = kzalloc(sizeof(*drm), GFP_KERNEL);
		/* There still is /dev/vgpuN. */
		if (!drm)
			goto out_unlock;
		drm->host = export->host;
		drm->device = export->device;
		list_add(&drm->entry, &drm_list);
	}
	slot = export->kind == VGPU_EXPORT_DRM_PRIMARY ? &drm->primary : &drm->render;
	/* A device has one of each. */
	if (!*slot) {
		*slot = vgpu_export_get(export);
		if (drm->dev)
			drm_link(export, drm->dev->dev);
	}

out_unlock:
	mutex_unlock(&vgpu_drm_lock);
}

/* An export is gone; with the last one of a device, so is the device. */
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
		vgpu_connectors_fini(&export->connectors);
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
 * It has a device, not one made when there was no render node; or can have none,
 * because its parent was taken away.
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
		    drm->primary->connectors.fresh)
			vgpu_connectors_show(&drm->primary->connectors, drm->dev);
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
			dev_dbg(&(drm->primary ?: drm->render)->dev, "no DRM device\n");
	}
	mutex_unlock(&vgpu_drm_lock);
	vgpu_pci_unlock();
}

static void drm_say(struct drm_device *dev, char **envp)
{
	if (kobject_uevent_env(&dev->primary->kdev->kobj, KOBJ_CHANGE, envp))
		dev_dbg(dev->dev, "a change is not known to programs\n");
}

/* As drm_dev_wedged_event() says it, but without the program: its number is the host's. */
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
 * The host has said all it wanted to: make the devices and connectors that are not there
 * yet.
 */
void vgpu_drm_settle(struct vgpu_host *host)
{
	if (!drm_all_settled(host))
		drm_make_devices(host);
	drm_show_connectors(host);
}

/* What drm_sysfs.c says of its own devices, which it exports functions for in part only. */
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
 * vgpu_drm_change - the host's card has changed: programs are told as there
 * @export: its primary node
 * @msg: what the host says
 *
 * Where there is no card (yet), nobody has looked at it.
 */
void vgpu_drm_change(struct vgpu_export *export, const struct vgpu_export_change *msg)
{
	u32 flags = le32_to_cpu(msg->flags);
	struct vgpu_drm *drm;

	mutex_lock(&vgpu_drm_lock);
	drm = drm_find(export);
	/* As long as it has its device under the lock, that is not taken off sysfs. */
	if (!drm || drm->primary != export || !drm->dev)
		goto out_unlock;
	/* Programs read these files when the uevent below comes. */
	if (export->connectors.fresh)
		vgpu_connectors_show(&export->connectors, drm->dev);
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
 * vgpu_drm_file - what a file of the host's card holds
 * @export: its primary node
 * @name: of the file
 * @data: what it holds; NULL: it is gone
 * @len: bytes of @data
 */
void vgpu_drm_file(struct vgpu_export *export, const char *name, const u8 *data, u32 len)
{
	struct vgpu_drm *drm;

	mutex_lock(&vgpu_drm_lock);
	drm = drm_find(export);
	if (drm && drm->primary == export)
		vgpu_connectors_file(&export->connectors, name, data, len);
	mutex_unlock(&vgpu_drm_lock);
}

/**
 * vgpu_drm_orphan - a parent is being removed, maybe not by us
 * @parent: it; vgpu_pci_lock() is held, as by all who register and unregister
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

/*
 * Where a device is, GET_UNIQUE says in the host's terms: "pci:0000:00:02.0".
 * Programs look for that on this machine, where the same place is in another
 * domain, or another device's.
 */
static void drm_localize_unique(struct vgpu_object *object, char __user *unique, size_t len)
{
	struct device *parent = object->drm->dev;
	char text[24], own[24], host[24];
	size_t own_len;

	if (!dev_is_pci(parent) || len >= sizeof(text) || !vgpu_export_pci_name(object->export))
		return;
	own_len = snprintf(own, sizeof(own), "pci:%s", dev_name(parent));
	snprintf(host, sizeof(host), "pci:%s", vgpu_export_pci_name(object->export));
	/* Too small a buffer was not written to, and need not exist. */
	if (own_len != len || copy_from_user(text, unique, len) || memcmp(text, host, len))
		return;
	if (copy_to_user(unique, own, len))
		dev_dbg(parent, "program took its memory away\n");
}

/**
 * vgpu_drm_ioctl_done - an ioctl on a DRM node has succeeded
 * @object: the file
 * @cmd: the command
 * @arg: its argument, with the results in place
 */
void vgpu_drm_ioctl_done(struct vgpu_object *object, unsigned int cmd, unsigned long arg)
{
	struct drm_unique32 unique32;
	struct drm_unique unique;

	if (cmd == DRM_IOCTL_GET_UNIQUE &&
	    !copy_from_user(&unique, (void __user *)arg, sizeof(unique)))
		drm_localize_unique(object, unique.unique, unique.unique_len);
	if (cmd == DRM_IOCTL_GET_UNIQUE32 &&
	    !copy_from_user(&unique32, (void __user *)arg, sizeof(unique32)))
		drm_localize_unique(object, compat_ptr(unique32.unique), unique32.unique_len);
}

/* The core goes by the number of a command, whatever its type is. */
static bool drm_nr_is(const struct vgpu_object *object, unsigned int cmd, const unsigned int *cmds,
		      size_t nr)
{
	const struct vgpu_schema *schema = object->schema;
	size_t i;

	while (schema && schema != &vgpu_schema_drm)
		schema = schema->base;
	for (i = 0; schema && i < nr; i++)
		if (_IOC_NR(cmd) == _IOC_NR(cmds[i]))
			return true;
	return false;
}

/**
 * vgpu_drm_shares - ask whether an ioctl gives a buffer a number that is good for other files
 * @object: the file
 * @cmd: the command
 *
 * Return: false: it does not.
 */
bool vgpu_drm_shares(const struct vgpu_object *object, unsigned int cmd)
{
	static const unsigned int cmds[] = {
		DRM_IOCTL_GEM_FLINK, DRM_IOCTL_MODE_ADDFB, DRM_IOCTL_MODE_ADDFB2,
	};

	return drm_nr_is(object, cmd, cmds, ARRAY_SIZE(cmds));
}

/**
 * vgpu_drm_takes - ask whether an ioctl gets a buffer of another file by such a number
 * @object: the file
 * @cmd: the command
 *
 * Return: false: it does not.
 */
bool vgpu_drm_takes(const struct vgpu_object *object, unsigned int cmd)
{
	static const unsigned int cmds[] = {
		DRM_IOCTL_GEM_OPEN, DRM_IOCTL_MODE_GETFB, DRM_IOCTL_MODE_GETFB2,
	};

	return drm_nr_is(object, cmd, cmds, ARRAY_SIZE(cmds));
}

static bool drm_minor_is(const struct drm_minor *minor, unsigned int index)
{
	return minor && minor->index == index;
}

/* f_op->open of DRM nodes; the core holds the drm_device for the call's time. */
int vgpu_drm_open(struct inode *inode, struct file *file)
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
		ret = vgpu_file_open_export(file, export, dev);
		vgpu_export_put(export);
	} else {
		ret = -EACCES;
	}
	drm_dev_put(dev);
	return ret;
}
