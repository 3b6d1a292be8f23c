// SPDX-License-Identifier: GPL-2.0-only
/* Exports: character devices of class vgpu, created and removed by messages of the host. */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/kconfig.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "compat.h"
#include "file/class.h"
#include "file/file.h"
#include "link/host.h"
#include "node/device.h"
#include "node/drm.h"
#include "node/export_node.h"
#include "node/kind.h"
#include "node/node.h"
#include "node/nvidia.h"
#include "node/parent.h"
#include "node/sound.h"
#include "plant.h"

#define EXPORT_MINORS	256

static dev_t export_devt;
static DEFINE_IDA(export_minors);

static struct vgpu_export *to_export(struct device *dev)
{
	return container_of(dev, struct vgpu_export, dev);
}

#define EXPORT_TEXT(field, text)							\
static ssize_t field##_show(struct device *dev, struct device_attribute *attr, char *buf) \
{											\
	return sysfs_emit(buf, "%s\n", text);						\
}											\
static DEVICE_ATTR_RO(field)

EXPORT_TEXT(host, to_export(dev)->host->name);
EXPORT_TEXT(path, to_export(dev)->path);
EXPORT_TEXT(name, to_export(dev)->name);
EXPORT_TEXT(bus, to_export(dev)->bus);
EXPORT_TEXT(state, READ_ONCE(to_export(dev)->gone) ? "gone" : "connected");

static ssize_t driver_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", to_export(dev)->driver);
}

/* The core has a link of this name for devices with a driver; this device has none. */
static struct device_attribute dev_attr_host_driver = __ATTR(driver, 0444, driver_show, NULL);

#define EXPORT_COUNTER(field)								\
static ssize_t field##_show(struct device *dev, struct device_attribute *attr, char *buf) \
{											\
	return sysfs_emit(buf, "%lld\n",						\
			  (s64)atomic64_read(&to_export(dev)->stats.field));		\
}											\
static DEVICE_ATTR_RO(field)

EXPORT_COUNTER(calls);
EXPORT_COUNTER(round_trips);
EXPORT_COUNTER(bytes_in);
EXPORT_COUNTER(bytes_out);
EXPORT_COUNTER(fetched_pages);
EXPORT_COUNTER(window_mappings);
EXPORT_COUNTER(window_binds);
EXPORT_COUNTER(copy_mappings);

static ssize_t unknown_ioctls_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return vgpu_stats_show_unknown(&to_export(dev)->stats, buf);
}
static DEVICE_ATTR_RO(unknown_ioctls);

static struct attribute *export_attrs[] = {
	&dev_attr_host.attr,
	&dev_attr_path.attr,
	&dev_attr_host_driver.attr,
	&dev_attr_name.attr,
	&dev_attr_bus.attr,
	&dev_attr_state.attr,
	&dev_attr_calls.attr,
	&dev_attr_round_trips.attr,
	&dev_attr_bytes_in.attr,
	&dev_attr_bytes_out.attr,
	&dev_attr_fetched_pages.attr,
	&dev_attr_window_mappings.attr,
	&dev_attr_window_binds.attr,
	&dev_attr_copy_mappings.attr,
	&dev_attr_unknown_ioctls.attr,
	NULL
};
ATTRIBUTE_GROUPS(export);

/* The mode is that of a render node; the group is set by udev. */
static char *export_devnode(VGPU_CLASS_DEVICE *dev, umode_t *mode)
{
	if (mode)
		*mode = 0660;
	return NULL;
}

static struct class export_class = {
	.name = "vgpu",
	.dev_groups = export_groups,
	.devnode = export_devnode,
};

static void export_free(struct device *dev)
{
	struct vgpu_export *export = to_export(dev);

	ida_free(&export_minors, MINOR(dev->devt));
	vgpu_host_put(export->host);
	kvfree(export->part.bytes);
	kfree(vgpu_export_node(export));
	vgpu_device_end();
}

static const char *export_bus_name(const struct vgpu_export_add *msg)
{
	switch (le32_to_cpu(msg->bus)) {
	case VGPU_BUS_PCI:
		return "pci ";
	case VGPU_BUS_PLATFORM:
		return "platform ";
	case VGPU_BUS_FAUX:
		return "faux ";
	default:
		return "";
	}
}

static bool export_is_drm(const struct vgpu_export *export)
{
	return export->kind == VGPU_EXPORT_DRM_PRIMARY || export->kind == VGPU_EXPORT_DRM_RENDER;
}

/* Create the nodes other than /dev/vgpuN, which stays if this fails. */
static void export_add_nodes(struct vgpu_export *export, const struct vgpu_export_add *msg)
{
	struct vgpu_parent *parent;

	if (export->kind == VGPU_EXPORT_PLAIN)
		return;
	parent = vgpu_parent_get(export->host, msg);
	if (IS_ERR(parent)) {
		dev_dbg(&export->dev, "cannot create the parent device of its nodes (error %ld)\n",
			PTR_ERR(parent));
		return;
	}
	export->parent = parent;
	if (export_is_drm(export))
		vgpu_drm_add(export);
	else
		vgpu_node_add(export, vgpu_kind_node_ops(export->kind));
}

static void export_del_nodes(struct vgpu_export *export)
{
	if (!export->parent)
		return;
	if (export_is_drm(export))
		vgpu_drm_del(export);
	else
		vgpu_node_del(export);
	vgpu_parent_put(export->parent);
	export->parent = NULL;
}

static int export_create(struct vgpu_host *host, const struct vgpu_export_add *msg)
{
	struct vgpu_export_node *node;
	struct vgpu_export *export;
	int minor;
	int ret;

	node = kzalloc(sizeof(*node), GFP_KERNEL);
	if (!node)
		return -ENOMEM;
	minor = ida_alloc_max(&export_minors, EXPORT_MINORS - 1, GFP_KERNEL);
	if (minor < 0) {
		kfree(node);
		return minor;
	}
	export = &node->export;
	vgpu_device_begin();
	device_initialize(&export->dev);
	export->dev.class = &export_class;
	export->dev.devt = MKDEV(MAJOR(export_devt), minor);
	export->dev.release = export_free;
	export->host = vgpu_host_get(host);
	spin_lock_init(&export->stats.unknown_lock);
	export->id = le32_to_cpu(msg->export);
	export->kind = le32_to_cpu(msg->kind);
	export->device = le64_to_cpu(msg->device);
	export->rdev.major = le32_to_cpu(msg->rdev_major);
	export->rdev.minor = le32_to_cpu(msg->rdev_minor);
	strscpy(export->name, msg->name, sizeof(export->name));
	strscpy(export->driver, msg->driver, sizeof(export->driver));
	strscpy(export->path, msg->path, sizeof(export->path));
	strscpy(export->title, msg->title, sizeof(export->title));
	snprintf(export->bus, sizeof(export->bus), "%s%s", export_bus_name(msg), msg->bus_id);
	export->class_ops = vgpu_kind_class_ops(export);
	vgpu_connectors_init(&node->connectors);
	cdev_init(&export->cdev, &vgpu_file_fops);
	export->cdev.owner = THIS_MODULE;

	ret = dev_set_name(&export->dev, "vgpu%d", minor);
	if (!ret)
		ret = cdev_device_add(&export->cdev, &export->dev);
	if (ret) {
		vgpu_export_put(export);
		return ret;
	}
	spin_lock(&host->lock);
	list_add_tail(&export->entry, &host->exports);
	spin_unlock(&host->lock);
	export_add_nodes(export, msg);
	return 0;
}

/**
 * vgpu_export_add - create the device of a new export
 * @host: host of the export
 * @msg: checked message
 *
 * Context: the thread that receives the host's messages.
 * Return: 0, or -EPROTO if the host has an export with this number.
 */
int vgpu_export_add(struct vgpu_host *host, const struct vgpu_export_add *msg)
{
	struct vgpu_export *other = vgpu_export_find(host, le32_to_cpu(msg->export));
	int ret;

	if (other) {
		vgpu_export_put(other);
		return -EPROTO;
	}
	ret = export_create(host, msg);
	/*
	 * Other exports are not affected, so the connection goes on. The message is rate-limited,
	 * because the host must not be able to fill the log.
	 */
	if (ret)
		pr_warn_ratelimited("cannot create a device for export %s of host %s (error %d)\n",
				    msg->name, host->name, ret);
	return 0;
}

/* Remove an export, its device and its nodes, and drop the reference of host->exports. */
static void export_remove(struct vgpu_export *export)
{
	spin_lock(&export->host->lock);
	list_del(&export->entry);
	spin_unlock(&export->host->lock);
	WRITE_ONCE(export->gone, true);
	export_del_nodes(export);
	cdev_device_del(&export->cdev, &export->dev);
	vgpu_export_put(export);
}

/**
 * vgpu_export_del - remove an export that the host has revoked
 * @host: host of the export
 * @id: number of the export; unknown numbers are ignored
 *
 * Open files stay usable.
 */
void vgpu_export_del(struct vgpu_host *host, u32 id)
{
	struct vgpu_export *export = vgpu_export_find(host, id);

	if (!export)
		return;
	export_remove(export);
	vgpu_export_put(export);
}

/* Remove all exports of a host whose connection is lost. */
void vgpu_export_del_all(struct vgpu_host *host)
{
	struct vgpu_export *export;

	for (;;) {
		spin_lock(&host->lock);
		export = list_first_entry_or_null(&host->exports, struct vgpu_export, entry);
		spin_unlock(&host->lock);
		if (!export)
			return;
		export_remove(export);
	}
}

/**
 * vgpu_export_change - handle a "change" uevent of the host's driver
 * @host: host of the export
 * @msg: checked message; exports that are no DRM cards are ignored
 *
 * Context: the thread that receives the host's messages, which alone removes exports.
 */
void vgpu_export_change(struct vgpu_host *host, const struct vgpu_export_change *msg)
{
	struct vgpu_export *export = vgpu_export_find(host, le32_to_cpu(msg->export));

	if (!export)
		return;
	if (export->kind == VGPU_EXPORT_DRM_PRIMARY)
		vgpu_drm_change(export, msg);
	else if (vgpu_planted(VGPU_PLANT_CHANGE))
		vgpu_export_put(export);
	vgpu_export_put(export);
}

/* Pass a file of the host's device to the nodes. @data: NULL if the file is gone. */
static void export_take_file(struct vgpu_export *export, const char *name, const u8 *data, u32 len)
{
	if (export->kind == VGPU_EXPORT_DRM_PRIMARY)
		vgpu_drm_file(export, name, data, len);
	else
		vgpu_node_file(export, name, data, len);
}

/* Return: the message is the part after those that have arrived, of the same file. */
static bool export_part_follows(const struct vgpu_export *export,
				const struct vgpu_export_file *msg)
{
	return !le32_to_cpu(msg->flags) && le32_to_cpu(msg->size) == export->part.size &&
	       le32_to_cpu(msg->offset) == export->part.len &&
	       !memcmp(msg->name, export->part.name, sizeof(msg->name));
}

/*
 * Handle one part of a file. Return: 0; -EPROTO: the part is not the first one and does not follow
 * the last one, or anything else comes before the last part of a file; -ENOMEM.
 */
static int export_take_part(struct vgpu_export *export, const struct vgpu_export_file *msg)
{
	u32 size = le32_to_cpu(msg->size), offset = le32_to_cpu(msg->offset);
	u32 part = min_t(u32, size - offset, VGPU_FILE_PART);

	/* Parts of two files, or of two sizes, would make a file that the host has never had. */
	if (export->part.bytes ? !export_part_follows(export, msg) : offset != 0)
		return -EPROTO;
	if (le32_to_cpu(msg->flags) & VGPU_FILE_GONE) {
		export_take_file(export, msg->name, NULL, 0);
		return 0;
	}
	if (part == size) {
		export_take_file(export, msg->name, (const u8 *)(msg + 1), size);
		return 0;
	}
	if (!export->part.bytes) {
		export->part.bytes = kvmalloc(size, GFP_KERNEL);
		if (!export->part.bytes)
			return -ENOMEM;
		export->part.size = size;
		export->part.len = 0;
		memcpy(export->part.name, msg->name, sizeof(export->part.name));
	}
	memcpy(export->part.bytes + offset, msg + 1, part);
	export->part.len += part;
	if (export->part.len < size)
		return 0;
	export_take_file(export, msg->name, export->part.bytes, size);
	kvfree(export->part.bytes);
	export->part.bytes = NULL;
	return 0;
}

/**
 * vgpu_export_file - handle a file of the host's device, or a part of it
 * @host: host of the export
 * @msg: checked message; exports without such files are ignored
 *
 * Context: the thread that receives the host's messages.
 * Return: 0, or an error that ends the connection.
 */
int vgpu_export_file(struct vgpu_host *host, const struct vgpu_export_file *msg)
{
	struct vgpu_export *export = vgpu_export_find(host, le32_to_cpu(msg->export));
	int ret = 0;

	if (!export)
		return 0;
	if (export->kind == VGPU_EXPORT_DRM_PRIMARY || export->kind == VGPU_EXPORT_NVIDIA)
		ret = export_take_part(export, msg);
	vgpu_export_put(export);
	return ret;
}

/* Remove all nodes of a parent that is being removed, maybe by root. */
static void export_orphan(struct device *parent)
{
	vgpu_drm_orphan(parent);
	vgpu_node_orphan(parent);
}

int vgpu_export_global_init(void)
{
	int ret;

	ret = alloc_chrdev_region(&export_devt, 0, EXPORT_MINORS, "vgpu");
	if (ret)
		return ret;
	ret = IS_ENABLED(CONFIG_SOUND) ? vgpu_sound_global_init() : 0;
	if (ret)
		goto err_unregister_region;
	ret = vgpu_nvidia_global_init();
	if (ret)
		goto err_exit_sound;
	ret = vgpu_parent_global_init(export_orphan);
	if (ret)
		goto err_exit_nvidia;
	ret = class_register(&export_class);
	if (ret)
		goto err_exit_parent;
	return 0;

err_exit_parent:
	vgpu_parent_global_exit();
err_exit_nvidia:
	vgpu_nvidia_global_exit();
err_exit_sound:
	if (IS_ENABLED(CONFIG_SOUND))
		vgpu_sound_global_exit();
err_unregister_region:
	unregister_chrdev_region(export_devt, EXPORT_MINORS);
	return ret;
}

void vgpu_export_global_exit(void)
{
	class_unregister(&export_class);
	vgpu_parent_global_exit();
	vgpu_nvidia_global_exit();
	if (IS_ENABLED(CONFIG_SOUND))
		vgpu_sound_global_exit();
	unregister_chrdev_region(export_devt, EXPORT_MINORS);
	ida_destroy(&export_minors);
}
