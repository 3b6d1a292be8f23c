// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connectors of a forwarded DRM card: /sys/class/drm/card0-HDMI-A-1 with the files that the
 * host has there. The DRM core does not know of them: it would give them ids of its own, while
 * uevents and ioctls have the host's ids.
 */
#include <linux/device.h>
#include <linux/err.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <drm/drm_device.h>
#include <drm/drm_file.h>

#include "uapi/linux/vgpu_wire.h"

#include "node/connector.h"
#include "node/device.h"

/* Maximum number of connectors of a card; more than a real card has. */
#define CONNECTORS_MAX		64
/* Maximum length of a file: sysfs takes a whole page for an error. */
#define CONNECTOR_FILE_MAX	(PAGE_SIZE - 1)

enum connector_attr {
	CONNECTOR_STATUS,
	CONNECTOR_ENABLED,
	CONNECTOR_DPMS,
	CONNECTOR_MODES,
	CONNECTOR_EDID,
	CONNECTOR_ID,
	CONNECTOR_ATTRS,
};

/**
 * struct connector - connector of the host's card
 * @entry: list entry in struct vgpu_connectors
 * @dev: device in the guest; NULL: not registered
 * @name: name of the connector, "HDMI-A-1"
 * @files: contents of the files; NULL: no such file
 */
struct connector {
	struct list_head entry;
	struct connector_dev *dev;
	char name[VGPU_FILE_NAME_LEN];
	struct connector_file *files[CONNECTOR_ATTRS];
};

struct connector_file {
	u32 len;
	u8 data[];
};

/**
 * struct connector_dev - device of a connector; freed with its last reference, maybe a reader's
 * @dev: child device of the card
 * @lock: guards @files, which readers of sysfs use
 * @files: copies of the connector's files
 */
struct connector_dev {
	struct device dev;
	struct mutex lock;
	struct connector_file *files[CONNECTOR_ATTRS];
};

static const char *const connector_names[CONNECTOR_ATTRS] = {
	[CONNECTOR_STATUS] = "status",
	[CONNECTOR_ENABLED] = "enabled",
	[CONNECTOR_DPMS] = "dpms",
	[CONNECTOR_MODES] = "modes",
	[CONNECTOR_EDID] = "edid",
	[CONNECTOR_ID] = "connector_id",
};

/* --- sysfs ---------------------------------------------------------------- */

static ssize_t connector_read(struct device *dev, enum connector_attr attr, char *buf)
{
	struct connector_dev *connector = container_of(dev, struct connector_dev, dev);
	const struct connector_file *file;
	ssize_t len = 0;

	mutex_lock(&connector->lock);
	file = connector->files[attr];
	if (file) {
		len = file->len;
		memcpy(buf, file->data, len);
	}
	mutex_unlock(&connector->lock);
	return len;
}

#define CONNECTOR_ATTR(name, nr) \
static ssize_t name##_show(struct device *dev, struct device_attribute *attr, char *buf) \
{ \
	return connector_read(dev, nr, buf); \
} \
static DEVICE_ATTR_RO(name)

CONNECTOR_ATTR(status, CONNECTOR_STATUS);
CONNECTOR_ATTR(enabled, CONNECTOR_ENABLED);
CONNECTOR_ATTR(dpms, CONNECTOR_DPMS);
CONNECTOR_ATTR(modes, CONNECTOR_MODES);
CONNECTOR_ATTR(edid, CONNECTOR_EDID);
CONNECTOR_ATTR(connector_id, CONNECTOR_ID);

static struct attribute *connector_attrs[] = {
	[CONNECTOR_STATUS] = &dev_attr_status.attr,
	[CONNECTOR_ENABLED] = &dev_attr_enabled.attr,
	[CONNECTOR_DPMS] = &dev_attr_dpms.attr,
	[CONNECTOR_MODES] = &dev_attr_modes.attr,
	[CONNECTOR_EDID] = &dev_attr_edid.attr,
	[CONNECTOR_ID] = &dev_attr_connector_id.attr,
	NULL
};

/* Hide the files that an older kernel of the host does not have. */
static umode_t connector_visible(struct kobject *kobj, struct attribute *attr, int nr)
{
	struct connector_dev *connector = container_of(kobj_to_dev(kobj), struct connector_dev,
						       dev);

	return connector->files[nr] ? attr->mode : 0;
}

static const struct attribute_group connector_group = {
	.attrs = connector_attrs,
	.is_visible = connector_visible,
};

static const struct attribute_group *connector_groups[] = {
	&connector_group,
	NULL
};

/* The DRM core's own connectors have a device type of the same name. */
static const struct device_type connector_type = {
	.name = "drm_connector",
};

static void connector_dev_release(struct device *dev)
{
	struct connector_dev *connector = container_of(dev, struct connector_dev, dev);
	int i;

	for (i = 0; i < CONNECTOR_ATTRS; i++)
		kfree(connector->files[i]);
	kfree(connector);
	vgpu_device_end();
}

static struct connector_file *file_copy(const u8 *data, u32 len)
{
	struct connector_file *file;

	len = min_t(u32, len, CONNECTOR_FILE_MAX);
	file = kmalloc(struct_size(file, data, len), GFP_KERNEL);
	if (file) {
		file->len = len;
		memcpy(file->data, data, len);
	}
	return file;
}

static struct connector_dev *connector_register(const struct connector *connector,
						struct drm_minor *card)
{
	struct connector_dev *dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	int i, ret;

	if (!dev)
		return ERR_PTR(-ENOMEM);
	mutex_init(&dev->lock);
	for (i = 0; i < CONNECTOR_ATTRS; i++)
		if (connector->files[i])
			dev->files[i] = file_copy(connector->files[i]->data,
						  connector->files[i]->len);
	vgpu_device_begin();
	device_initialize(&dev->dev);
	dev->dev.class = card->kdev->class;
	dev->dev.type = &connector_type;
	dev->dev.parent = card->kdev;
	dev->dev.groups = connector_groups;
	dev->dev.release = connector_dev_release;
	ret = dev_set_name(&dev->dev, "card%d-%s", card->index, connector->name);
	if (!ret)
		ret = device_add(&dev->dev);
	if (ret) {
		put_device(&dev->dev);
		return ERR_PTR(ret);
	}
	return dev;
}

static void connector_unregister(struct connector *connector)
{
	if (connector->dev)
		device_unregister(&connector->dev->dev);
	connector->dev = NULL;
}

/**
 * vgpu_connectors_show - register the connectors of a card, after the host has sent all of them
 * @connectors: connectors of the card
 * @drm: the card
 *
 * Context: as for all functions of connectors, under a lock that no reader of sysfs takes.
 */
void vgpu_connectors_show(struct vgpu_connectors *connectors, struct drm_device *drm)
{
	struct connector *connector;

	connectors->fresh = false;
	list_for_each_entry(connector, &connectors->list, entry) {
		if (connector->dev)
			continue;
		connector->dev = connector_register(connector, drm->primary);
		if (IS_ERR(connector->dev)) {
			dev_dbg(drm->dev, "cannot register connector %s (error %ld)\n",
				connector->name, PTR_ERR(connector->dev));
			connector->dev = NULL;
		}
	}
}

/* Unregister the connectors of a card. They may be shown again with another drm_device. */
void vgpu_connectors_hide(struct vgpu_connectors *connectors)
{
	struct connector *connector;

	list_for_each_entry(connector, &connectors->list, entry)
		connector_unregister(connector);
	connectors->fresh = true;
}

/* --- messages of the host ------------------------------------------------- */

void vgpu_connectors_init(struct vgpu_connectors *connectors)
{
	INIT_LIST_HEAD(&connectors->list);
}

static void connector_free(struct connector *connector)
{
	int i;

	connector_unregister(connector);
	list_del(&connector->entry);
	for (i = 0; i < CONNECTOR_ATTRS; i++)
		kfree(connector->files[i]);
	kfree(connector);
}

void vgpu_connectors_fini(struct vgpu_connectors *connectors)
{
	struct connector *connector, *next;

	list_for_each_entry_safe(connector, next, &connectors->list, entry)
		connector_free(connector);
}

static struct connector *connector_get(struct vgpu_connectors *connectors, const char *name,
				       bool make)
{
	struct connector *connector;
	unsigned int nr = 0;

	list_for_each_entry(connector, &connectors->list, entry) {
		if (!strcmp(connector->name, name))
			return connector;
		nr++;
	}
	if (!make || nr >= CONNECTORS_MAX)
		return NULL;
	connector = kzalloc(sizeof(*connector), GFP_KERNEL);
	if (!connector)
		return NULL;
	strscpy(connector->name, name, sizeof(connector->name));
	list_add_tail(&connector->entry, &connectors->list);
	connectors->fresh = true;
	return connector;
}

static bool connector_is_empty(const struct connector *connector)
{
	int i;

	for (i = 0; i < CONNECTOR_ATTRS; i++)
		if (connector->files[i])
			return false;
	return true;
}

/* Replace the contents of a file. @file: new contents, taken over; NULL: the file is gone. */
static void connector_dev_set(struct connector_dev *dev, int attr, struct connector_file *file)
{
	struct connector_file *old;

	mutex_lock(&dev->lock);
	old = dev->files[attr];
	dev->files[attr] = file;
	mutex_unlock(&dev->lock);
	/* The lock is not held: sysfs_update_group() waits for readers, which take it. */
	if (!old != !file && sysfs_update_group(&dev->dev.kobj, &connector_group))
		dev_dbg(&dev->dev, "cannot update the sysfs attribute %s\n", connector_names[attr]);
	kfree(old);
}

/*
 * Set the contents of a file. @data: NULL if the file is gone. Without memory the file keeps its
 * old contents, here and in the connector's device.
 */
static void connector_set(struct vgpu_connectors *connectors, const char *name, int attr,
			  const u8 *data, u32 len)
{
	struct connector *connector = connector_get(connectors, name, data);
	struct connector_file *file = NULL, *shown = NULL;
	bool failed = false;

	if (!connector)
		return;
	if (data) {
		file = file_copy(data, len);
		shown = file && connector->dev ? file_copy(data, len) : NULL;
		failed = !file || (connector->dev && !shown);
	}
	if (failed) {
		kfree(file);
	} else {
		kfree(connector->files[attr]);
		connector->files[attr] = file;
	}
	if (connector_is_empty(connector))
		connector_free(connector);
	else if (!failed && connector->dev)
		connector_dev_set(connector->dev, attr, shown);
}

/**
 * vgpu_connectors_file - handle a file of the host's card
 * @connectors: connectors of the card
 * @path: path of the file, "HDMI-A-1/status"; other files are ignored
 * @data: contents of the file; NULL if the file is gone
 * @len: number of bytes at @data
 */
void vgpu_connectors_file(struct vgpu_connectors *connectors, const char *path, const u8 *data,
			  u32 len)
{
	const char *slash = strchr(path, '/');
	char name[VGPU_FILE_NAME_LEN];
	int attr;

	if (!slash)
		return;
	strscpy(name, path, slash - path + 1);
	attr = match_string(connector_names, CONNECTOR_ATTRS, slash + 1);
	if (attr >= 0)
		connector_set(connectors, name, attr, data, len);
}
