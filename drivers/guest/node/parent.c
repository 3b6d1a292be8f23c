// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parents: a device of a host that has nodes in the guest, as it appears on a bus of this
 * machine. Libraries go from a node to its parent and choose their driver by the parent's
 * identity. So the parent is on the same kind of bus as on the host if this machine has one,
 * else it is a platform device.
 *
 * The thread that receives a host's messages creates and removes the parents of that host.
 */
#include <linux/atomic.h>
#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/kconfig.h>
#include <linux/list.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "uapi/linux/vgpu_wire.h"

#include "compat.h"
#include "link/host.h"
#include "node/parent.h"
#include "node/pci.h"

/* Name of the platform driver, and of parents for which the host sends no identity. */
#define PARENT_DRIVER_NAME	"vgpu-drm"

/**
 * struct vgpu_parent - device of a host
 * @entry: list entry in host->parents
 * @users: number of exports
 * @number: number of the host's device, shared by its exports; 0: there is one export
 * @destroy: function that destroys @dev
 * @dev: parent of the nodes
 */
struct vgpu_parent {
	struct list_head entry;
	unsigned int users;
	u64 number;
	void (*destroy)(struct device *dev);
	struct device *dev;
};

/* Driver of platform parents, which have any name: driver_override selects it. */
static struct platform_driver parent_platform_driver = {
	.driver.name = PARENT_DRIVER_NAME,
	.driver.suppress_bind_attrs = true,
};

static void parent_destroy_platform(struct device *dev)
{
	platform_device_unregister(to_platform_device(dev));
}

static struct device *parent_create_platform(const char *name)
{
	struct platform_device *pdev;
	int ret;

	pdev = platform_device_alloc(name, PLATFORM_DEVID_AUTO);
	if (!pdev)
		return ERR_PTR(-ENOMEM);
	ret = vgpu_device_override(pdev, PARENT_DRIVER_NAME);
	if (!ret)
		ret = platform_device_add(pdev);
	if (ret) {
		platform_device_put(pdev);
		return ERR_PTR(ret);
	}
	return &pdev->dev;
}

/* Make a unique name of a name that cannot be used itself. */
static const char *parent_unique_name(char *unique, size_t size, const char *name)
{
	static atomic_t last = ATOMIC_INIT(0);

	snprintf(unique, size, "%s.vgpu%u", name, atomic_inc_return(&last));
	return unique;
}

static int parent_match_name(struct device *dev, const void *name)
{
	return !strcmp(to_platform_device(dev)->name, name);
}

/*
 * Create a platform device with a name of its own. libdrm identifies a platform device by its
 * name without the number: two devices of one name would be one to libdrm, and the nodes of one
 * of them would be lost.
 */
static struct device *parent_create_named(const char *name)
{
	struct device *other = bus_find_device(&platform_bus_type, NULL, name, parent_match_name);
	char unique[VGPU_BUS_ID_LEN + 16];

	if (!other)
		return parent_create_platform(name);
	put_device(other);
	return parent_create_platform(parent_unique_name(unique, sizeof(unique), name));
}

#ifdef VGPU_HAVE_FAUX
static void parent_destroy_faux(struct device *dev)
{
	faux_device_destroy(to_faux_device(dev));
}

/*
 * Create a faux device. Its name has no number that distinguishes it from those of this
 * machine.
 */
static struct device *parent_create_faux(const char *name)
{
	char unique[VGPU_BUS_ID_LEN + 16];
	struct faux_device *fdev;

	fdev = faux_device_create(parent_unique_name(unique, sizeof(unique), name), NULL, NULL);
	return fdev ? &fdev->dev : ERR_PTR(-ENODEV);
}
#endif

/* Return: true if the name can be that of a device; a '/' or a space would confuse programs. */
static bool parent_name_ok(const char *name)
{
	for (; *name; name++)
		if (!isalnum(*name) && !strchr("._+-:,@", *name))
			return false;
	return true;
}

static int parent_create(struct vgpu_parent *parent, const struct vgpu_export_add *msg)
{
	const char *name = msg->bus_id;
	u32 bus = le32_to_cpu(msg->bus);

	parent->destroy = parent_destroy_platform;
	if (IS_ENABLED(CONFIG_PCI) && bus == VGPU_BUS_PCI &&
	    vgpu_pci_valid(name, msg->pci_header)) {
		parent->destroy = vgpu_pci_destroy;
		parent->dev = vgpu_pci_create(name, msg->pci_header,
					      le32_to_cpu(msg->kind) == VGPU_EXPORT_NVIDIA);
#ifdef VGPU_HAVE_FAUX
	} else if (bus == VGPU_BUS_FAUX && parent_name_ok(name)) {
		parent->destroy = parent_destroy_faux;
		parent->dev = parent_create_faux(name);
#endif
	} else if (bus > VGPU_BUS_PCI && parent_name_ok(name)) {
		parent->dev = parent_create_named(name);
	} else {
		parent->dev = parent_create_platform(PARENT_DRIVER_NAME);
	}
	return PTR_ERR_OR_ZERO(parent->dev);
}

/**
 * vgpu_parent_get - get the parent for an export's nodes
 * @host: host of the export
 * @msg: checked message about the export
 *
 * Return: the parent, created if necessary, for vgpu_parent_put(); or an ERR_PTR().
 */
struct vgpu_parent *vgpu_parent_get(struct vgpu_host *host, const struct vgpu_export_add *msg)
{
	u64 number = le64_to_cpu(msg->device);
	struct vgpu_parent *parent;
	int ret;

	list_for_each_entry(parent, &host->parents, entry) {
		if (number && parent->number == number) {
			parent->users++;
			return parent;
		}
	}
	parent = kzalloc(sizeof(*parent), GFP_KERNEL);
	if (!parent)
		return ERR_PTR(-ENOMEM);
	parent->users = 1;
	parent->number = number;
	ret = parent_create(parent, msg);
	if (ret) {
		kfree(parent);
		return ERR_PTR(ret);
	}
	list_add(&parent->entry, &host->parents);
	return parent;
}

/* Put the parent of an export whose nodes are gone. */
void vgpu_parent_put(struct vgpu_parent *parent)
{
	if (--parent->users)
		return;
	list_del(&parent->entry);
	parent->destroy(parent->dev);
	kfree(parent);
}

struct device *vgpu_parent_device(struct vgpu_parent *parent)
{
	return parent->dev;
}

/**
 * vgpu_parent_global_init - register the drivers of parents
 * @orphan: function that removes all nodes of a parent; see vgpu_pci_global_init()
 *
 * Return: 0 or -errno.
 */
int vgpu_parent_global_init(void (*orphan)(struct device *parent))
{
	int ret;

	ret = platform_driver_register(&parent_platform_driver);
	if (ret)
		return ret;
	ret = IS_ENABLED(CONFIG_PCI) ? vgpu_pci_global_init(orphan) : 0;
	if (ret)
		platform_driver_unregister(&parent_platform_driver);
	return ret;
}

void vgpu_parent_global_exit(void)
{
	if (IS_ENABLED(CONFIG_PCI))
		vgpu_pci_global_exit();
	platform_driver_unregister(&parent_platform_driver);
}
