// SPDX-License-Identifier: GPL-2.0-only
/* Ioctls of DRM nodes that the guest has to know: bus addresses, and buffers with global names. */
#include <linux/compat.h>
#include <linux/ioctl.h>
#include <linux/pci.h>
#include <linux/uaccess.h>

#include <drm/drm_device.h>

#include "argument/schema.h"
#include "argument/schema/tables.h"
#include "argument/schema_uapi.h"
#include "compat.h"
#include "file/class.h"
#include "file/object.h"
#include "link/export.h"
#include "node/drm_ioctl.h"

/*
 * Replace the host's bus address in a result of GET_UNIQUE, such as "pci:0000:00:02.0", by the
 * guest's. Programs look for the device at that address in the guest, where the host's address
 * may be in another domain, or belong to another device.
 */
static void drm_localize_unique(const struct vgpu_object *object, char __user *unique, size_t len)
{
	struct device *parent = object->node.drm->dev;
	char text[24], own[24], host[24];
	size_t own_len;

	if (!dev_is_pci(parent) || len >= sizeof(text) || !vgpu_export_pci_name(object->export))
		return;
	own_len = snprintf(own, sizeof(own), "pci:%s", dev_name(parent));
	snprintf(host, sizeof(host), "pci:%s", vgpu_export_pci_name(object->export));
	/*
	 * Ignore a buffer that cannot be read: if the program's buffer was too small, the driver
	 * has not written to it, and it need not exist.
	 */
	if (own_len != len || copy_from_user(text, unique, len) || memcmp(text, host, len))
		return;
	if (copy_to_user(unique, own, len))
		dev_dbg(parent, "cannot write the PCI address to the program's buffer\n");
}

/* Process the results of a successful ioctl on a DRM node. */
static void drm_ioctl_done(const struct vgpu_object *object, unsigned int cmd, unsigned long arg)
{
	struct drm_unique32 unique32;
	struct drm_unique unique;

	if (!object->node.drm)
		return;
	if (cmd == DRM_IOCTL_GET_UNIQUE &&
	    !copy_from_user(&unique, (void __user *)arg, sizeof(unique)))
		drm_localize_unique(object, unique.unique, unique.unique_len);
	if (cmd == DRM_IOCTL_GET_UNIQUE32 &&
	    !copy_from_user(&unique32, (void __user *)arg, sizeof(unique32)))
		drm_localize_unique(object, compat_ptr(unique32.unique), unique32.unique_len);
}

/* Compare by number alone: the DRM core ignores the type of a command. */
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

/* Return: true if the ioctl gives a buffer a name that other files can use. */
static bool drm_shares(const struct vgpu_object *object, unsigned int cmd,
		       const struct vgpu_marshal *m)
{
	static const unsigned int cmds[] = {
		DRM_IOCTL_GEM_FLINK, DRM_IOCTL_MODE_ADDFB, DRM_IOCTL_MODE_ADDFB2,
	};

	return drm_nr_is(object, cmd, cmds, ARRAY_SIZE(cmds));
}

/* Return: true if the ioctl opens a buffer of another file by its name. */
static bool drm_takes(const struct vgpu_object *object, unsigned int cmd)
{
	static const unsigned int cmds[] = {
		DRM_IOCTL_GEM_OPEN, DRM_IOCTL_MODE_GETFB, DRM_IOCTL_MODE_GETFB2,
	};

	return drm_nr_is(object, cmd, cmds, ARRAY_SIZE(cmds));
}

const struct vgpu_class_ops vgpu_drm_class_ops = {
	.ioctl_shares = drm_shares,
	.ioctl_takes = drm_takes,
	.ioctl_done = drm_ioctl_done,
};
