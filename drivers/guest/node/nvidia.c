// SPDX-License-Identifier: GPL-2.0-only
/*
 * Nodes of NVIDIA's own driver. Its libraries expect the names and numbers of the real nodes,
 * the files of /proc/driver/nvidia (nvidia_proc.c), and a directory in /sys/module that says
 * that the driver is loaded (nvidia_driver.c). All of these exist while there is such a node. The
 * real driver cannot be loaded at the same time: the first of the two keeps the other out.
 *
 * Nodes of two hosts would belong to two drivers, but libraries expect one: all nodes belong to
 * the host that was first.
 */
#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/kdev_t.h>
#include <linux/kstrtox.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "compat.h"
#include "file/class.h"
#include "file/object.h"
#include "link/export.h"
#include "link/host.h"
#include "node/device.h"
#include "node/nvidia.h"
#include "node/nvidia_address.h"
#include "node/nvidia_share.h"
#include "node/nvidia_version.h"

/* Prefix of the names of files that the host sends. */
#define NVIDIA_HOST_PROC	"proc/" NVIDIA_PROC "/"

/* List of struct vgpu_nvidia. Guarded by the lock of node.c. */
static LIST_HEAD(nvidia_nodes);

/* The mode is that of the nodes that nvidia-modprobe makes. */
static char *nvidia_devnode(VGPU_CLASS_DEVICE *dev, umode_t *mode)
{
	if (mode)
		*mode = 0666;
	return NULL;
}

static struct class nvidia_class = {
	.name = "vgpu-nvidia",
	.devnode = nvidia_devnode,
};

/* Parse a name of the form "0000:01:00.0/information". */
static bool nvidia_parse_information(const char *name, char *bus_id)
{
	static const char form[] = "xxxx:xx:xx.x";
	size_t i;

	for (i = 0; form[i]; i++) {
		if (form[i] == 'x' ? !isxdigit(name[i]) || isupper(name[i]) : name[i] != form[i])
			return false;
		bus_id[i] = name[i];
	}
	bus_id[i] = '\0';
	return name[i] == '/' && !strcmp(name + i + 1, vgpu_nvidia_file_names[NVIDIA_INFORMATION]);
}

/*
 * Assign a directory to a card: a card has one, and no two cards have the same. Return: true if
 * the card has this directory.
 */
static bool nvidia_card_dir(struct vgpu_nvidia *nvidia, const char *bus_id)
{
	struct vgpu_nvidia_file *file = &nvidia->files[NVIDIA_INFORMATION];
	struct vgpu_nvidia *other;

	if (file->wanted)
		return !strcmp(nvidia->bus_id, bus_id);
	list_for_each_entry(other, &nvidia_nodes, entry)
		if (other->files[NVIDIA_INFORMATION].wanted && !strcmp(other->bus_id, bus_id))
			return false;
	mutex_lock(&file->lock);
	strscpy(nvidia->bus_id, bus_id, sizeof(nvidia->bus_id));
	mutex_unlock(&file->lock);
	return true;
}

/* Return: name of the card's PCI device in the guest; the host calls it @there. */
static const char *nvidia_name_here(const struct vgpu_nvidia *nvidia, const char *there)
{
	const char *name = vgpu_export_pci_name(nvidia->node.export);
	const struct device *parent = nvidia->dev.parent;

	if (!name || strcmp(name, there) || !dev_is_pci(parent) ||
	    strlen(dev_name(parent)) != strlen(there))
		return there;
	return dev_name(parent);
}

static bool nvidia_is_card(const struct vgpu_nvidia *nvidia)
{
	return nvidia->driver == NVIDIA_MAIN && MINOR(nvidia->dev.devt) < NVIDIA_CARDS;
}

static void nvidia_card_file(struct vgpu_nvidia *nvidia, const char *name, const u8 *data, u32 len)
{
	char there[NVIDIA_BUS_ID_LEN];
	const char *here;

	if (!strstarts(name, "gpus/") || !nvidia_parse_information(name + 5, there))
		return;
	here = nvidia_name_here(nvidia, there);
	if (!data) {
		if (!strcmp(nvidia->bus_id, here))
			vgpu_nvidia_file_want(&nvidia->files[NVIDIA_INFORMATION], false);
		return;
	}
	if (nvidia_card_dir(nvidia, here))
		vgpu_nvidia_file_set(&nvidia->files[NVIDIA_INFORMATION], data, len, there);
}

static void nvidia_ctl_file(struct vgpu_nvidia *nvidia, const char *name, const u8 *data, u32 len)
{
	int which = match_string(vgpu_nvidia_file_names, NVIDIA_INFORMATION, name);

	if (which < 0)
		return;
	if (data && which == NVIDIA_VERSION)
		vgpu_nvidia_version_told(nvidia->node.export, data, len, &nvidia->release);
	if (data)
		vgpu_nvidia_file_set(&nvidia->files[which], data, len, NULL);
	else
		vgpu_nvidia_file_want(&nvidia->files[which], false);
}

/* Handle a file of the host if it is known: the host does not choose the names in /proc. */
static void nvidia_node_file(struct vgpu_node *node, const char *name, const u8 *data, u32 len)
{
	struct vgpu_nvidia *nvidia = container_of(node, struct vgpu_nvidia, node);

	if (!strstarts(name, NVIDIA_HOST_PROC))
		return;
	name += strlen(NVIDIA_HOST_PROC);
	if (nvidia_is_card(nvidia))
		nvidia_card_file(nvidia, name, data, len);
	else if (nvidia->dev.devt == MKDEV(NVIDIA_MAJOR, NVIDIA_CTL_MINOR))
		nvidia_ctl_file(nvidia, name, data, len);
}

static int nvidia_open(struct inode *inode, struct file *file)
{
	struct vgpu_nvidia *nvidia = container_of(inode->i_cdev, struct vgpu_nvidia, cdev);

	return vgpu_node_open(file, &nvidia->node, NULL);
}

static const struct file_operations nvidia_fops = {
	.owner = THIS_MODULE,
	.open = nvidia_open,
};

/* Find the driver and the minor number of a node by its name. */
static bool nvidia_parse_name(const char *name, enum vgpu_nvidia_driver *driver,
			      unsigned int *minor)
{
	static const struct {
		const char *name;
		enum vgpu_nvidia_driver driver;
		unsigned int minor;
	} names[] = {
		{ "nvidiactl", NVIDIA_MAIN, NVIDIA_CTL_MINOR },
		{ "nvidia-modeset", NVIDIA_MODESET, NVIDIA_MODESET_MINOR },
		{ "nvidia-uvm", NVIDIA_UVM, 0 },
		{ "nvidia-uvm-tools", NVIDIA_UVM, 1 },
	};
	char canonical[16];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(name, names[i].name))
			continue;
		*driver = names[i].driver;
		*minor = names[i].minor;
		return true;
	}
	*driver = NVIDIA_MAIN;
	if (!strstarts(name, "nvidia") || kstrtouint(name + 6, 10, minor) ||
	    *minor >= NVIDIA_CARDS)
		return false;
	/* Names such as "nvidia+1" and "nvidia01" are rejected. */
	snprintf(canonical, sizeof(canonical), "nvidia%u", *minor);
	return !strcmp(name, canonical);
}

/* Return: reason for which the node cannot be created, or NULL. */
static const char *nvidia_refusal(const struct vgpu_export *export)
{
	struct vgpu_nvidia *other;

	list_for_each_entry(other, &nvidia_nodes, entry) {
		if (other->node.export->host != export->host)
			return "another host already provides NVIDIA devices to this machine";
		if (!strcmp(dev_name(&other->dev), export->title))
			return "a device with this name already exists";
	}
	return NULL;
}

static void nvidia_free(struct device *dev)
{
	struct vgpu_nvidia *nvidia = container_of(dev, struct vgpu_nvidia, dev);

	vgpu_nvidia_files_fini(nvidia);
	vgpu_export_put(nvidia->node.export);
	kfree(nvidia);
	vgpu_device_end();
}

static struct vgpu_nvidia *nvidia_add(struct vgpu_export *export, struct device *parent,
				      enum vgpu_nvidia_driver driver, unsigned int minor)
{
	struct vgpu_nvidia *nvidia = kzalloc(sizeof(*nvidia), GFP_KERNEL);
	int ret;

	if (!nvidia)
		return ERR_PTR(-ENOMEM);
	vgpu_nvidia_files_init(nvidia);
	vgpu_device_begin();
	device_initialize(&nvidia->dev);
	nvidia->dev.class = &nvidia_class;
	nvidia->dev.parent = parent;
	nvidia->dev.devt = driver == NVIDIA_UVM ? vgpu_nvidia_uvm_devt + minor :
			   MKDEV(NVIDIA_MAJOR, minor);
	nvidia->dev.release = nvidia_free;
	nvidia->node.export = vgpu_export_get(export);
	nvidia->node.dev = &nvidia->dev;
	nvidia->driver = driver;
	cdev_init(&nvidia->cdev, &nvidia_fops);
	nvidia->cdev.owner = THIS_MODULE;
	ret = dev_set_name(&nvidia->dev, "%s", export->title);
	if (!ret)
		ret = cdev_device_add(&nvidia->cdev, &nvidia->dev);
	if (ret) {
		put_device(&nvidia->dev);
		return ERR_PTR(ret);
	}
	return nvidia;
}

static struct vgpu_node *nvidia_create(struct vgpu_node_group *group, struct vgpu_export *export)
{
	struct vgpu_nvidia *nvidia;
	enum vgpu_nvidia_driver driver;
	unsigned int minor;
	const char *why;
	int ret;

	if (!nvidia_parse_name(export->title, &driver, &minor))
		return ERR_PTR(-EINVAL);
	why = nvidia_refusal(export);
	ret = why ? -EEXIST : vgpu_nvidia_driver_get(driver);
	if (ret == -EBUSY)
		why = "this machine has loaded NVIDIA's driver or another with its numbers";
	if (why)
		pr_warn_ratelimited("cannot create /dev/%s of host %s: %s\n", export->title,
				    export->host->name, why);
	if (ret)
		return ERR_PTR(ret);
	nvidia = nvidia_add(export, group->parent, driver, minor);
	if (IS_ERR(nvidia)) {
		vgpu_nvidia_driver_put(driver);
		return ERR_CAST(nvidia);
	}
	if (nvidia_is_card(nvidia))
		vgpu_nvidia_address_set(export, group->parent);
	list_add(&nvidia->entry, &nvidia_nodes);
	return &nvidia->node;
}

static void nvidia_destroy(struct vgpu_node *node)
{
	struct vgpu_nvidia *nvidia = container_of(node, struct vgpu_nvidia, node);
	enum vgpu_nvidia_driver driver = nvidia->driver;
	int i;

	if (nvidia_is_card(nvidia))
		vgpu_nvidia_address_clear(node->export);
	list_del(&nvidia->entry);
	for (i = 0; i < NVIDIA_FILES; i++)
		vgpu_nvidia_file_want(&nvidia->files[i], false);
	cdev_device_del(&nvidia->cdev, &nvidia->dev);
	put_device(&nvidia->dev);
	vgpu_nvidia_driver_put(driver);
}

const struct vgpu_node_ops vgpu_nvidia_node_ops = {
	.class = "nvidia",
	.create = nvidia_create,
	.destroy = nvidia_destroy,
	.file = nvidia_node_file,
};

int vgpu_nvidia_global_init(void)
{
	int ret;

	ret = vgpu_nvidia_proc_init();
	if (ret)
		return ret;
	ret = class_register(&nvidia_class);
	if (ret)
		goto err_exit_proc;
	ret = vgpu_nvidia_driver_init();
	if (ret)
		goto err_unregister_class;
	return 0;

err_unregister_class:
	class_unregister(&nvidia_class);
err_exit_proc:
	vgpu_nvidia_proc_exit();
	return ret;
}

/* Unregister the class, after waiting for readers of removed files. */
void vgpu_nvidia_global_exit(void)
{
	vgpu_nvidia_driver_exit();
	vgpu_nvidia_proc_exit();
	class_unregister(&nvidia_class);
}

static long nvidia_ioctl_reply(struct vgpu_object *object, unsigned int cmd,
			       const struct vgpu_marshal *m, const struct vgpu_reply_view *reply,
			       long ret)
{
	vgpu_nvidia_version_checked(object->export, cmd, m, reply, ret);
	return ret ?: vgpu_nvidia_address_told(object, cmd, m, reply);
}

const struct vgpu_class_ops vgpu_nvidia_class_ops = {
	.ioctl_shares = vgpu_nvidia_shares,
	.ioctl_send = vgpu_nvidia_address_given,
	.ioctl_reply = nvidia_ioctl_reply,
};
