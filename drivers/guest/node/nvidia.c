// SPDX-License-Identifier: GPL-2.0-only
/*
 * Nodes of NVIDIA's own driver. Its libraries expect the names and numbers of the real nodes,
 * the files of /proc/driver/nvidia, and a directory in /sys/module that says that the driver is
 * loaded. This file creates all of these while there is such a node. The real driver cannot be
 * loaded at the same time: the first of the two keeps the other out.
 *
 * Nodes of two hosts would belong to two drivers, but libraries expect one: all nodes belong to
 * the host that was first.
 */
#include <linux/atomic.h>
#include <linux/cdev.h>
#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/kdev_t.h>
#include <linux/kstrtox.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/pci.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "file/class.h"
#include "file/object.h"
#include "link/export.h"
#include "link/host.h"
#include "node/device.h"
#include "node/node.h"
#include "node/nvidia_address.h"
#include "node/nvidia_share.h"
#include "node/nvidia_version.h"

/* Numbers of NVIDIA's driver for its own nodes (Documentation/admin-guide/devices.txt). */
#define NVIDIA_MAJOR		195
#define NVIDIA_CARDS		248
#define NVIDIA_MODESET_MINOR	254
#define NVIDIA_CTL_MINOR	255
#define NVIDIA_UVM_MINORS	2

#define NVIDIA_PROC		"driver/nvidia"
/* Prefix of the names of files that the host sends. */
#define NVIDIA_HOST_PROC	"proc/" NVIDIA_PROC "/"
#define NVIDIA_BUS_ID_LEN	sizeof("0000:00:00.0")

/* Drivers of NVIDIA, each of which has a module. */
enum vgpu_nvidia_driver {
	NVIDIA_MAIN,
	NVIDIA_UVM,
	NVIDIA_MODESET,
	NVIDIA_DRIVERS,
};

struct vgpu_nvidia;

/**
 * struct vgpu_nvidia_file - file in /proc
 * @owner: node that the file belongs to
 * @wanted: true if the file should exist
 * @sync: work item that creates or removes the file
 * @pde: entry in /proc; NULL: none; used by @sync only
 * @lock: lock of @len and @data, which a reader of the file holds
 * @len: number of bytes of @data
 * @data: contents of the file
 */
struct vgpu_nvidia_file {
	struct vgpu_nvidia *owner;
	bool wanted;
	struct work_struct sync;
	struct proc_dir_entry *pde;
	struct mutex lock;
	u32 len;
	u8 *data;
};

enum { NVIDIA_PARAMS, NVIDIA_VERSION, NVIDIA_INFORMATION, NVIDIA_FILES };

static const char *const vgpu_nvidia_file_names[NVIDIA_FILES] = {
	[NVIDIA_PARAMS] = "params",
	[NVIDIA_VERSION] = "version",
	[NVIDIA_INFORMATION] = "information",
};

/**
 * struct vgpu_nvidia - node of NVIDIA's driver; freed with its last open file
 * @node: node of node.c
 * @entry: list entry in nvidia_nodes
 * @dev: device in the class
 * @cdev: character device
 * @driver: driver that the node belongs to
 * @bus_id: name of a card's directory in /proc, which is that of the PCI device in the guest;
 *	"": none; written with the lock of the information file held as well, with which the
 *	work item reads it
 * @dir: directory of the card; NULL: none; used by work items only, like @dir_name and
 *	@dir_entry
 * @dir_name: current name of the directory, which the work item updates
 * @dir_entry: list entry in nvidia_dirs if there is a directory
 * @files: files of the control node or of a card
 * @release: control node: release of the host's driver that was checked last, see
 *	vgpu_nvidia_version_told()
 */
struct vgpu_nvidia {
	struct vgpu_node node;
	struct list_head entry;
	struct device dev;
	struct cdev cdev;
	enum vgpu_nvidia_driver driver;
	char bus_id[NVIDIA_BUS_ID_LEN];
	struct proc_dir_entry *dir;
	char dir_name[NVIDIA_BUS_ID_LEN];
	struct list_head dir_entry;
	struct vgpu_nvidia_file files[NVIDIA_FILES];
	unsigned int release;
};

/**
 * struct nvidia_module - directory in /sys/module that says that a driver is loaded
 * @name: name of the directory
 * @users: number of nodes that need it
 * @kobj: the directory, or NULL; also read without the lock
 */
struct nvidia_module {
	const char *name;
	unsigned int users;
	struct kobject *kobj;
};

/* Guarded by the lock of node.c, except where a comment says otherwise. */
static struct nvidia_module nvidia_modules[NVIDIA_DRIVERS] = {
	[NVIDIA_MAIN] = { .name = "nvidia" },
	[NVIDIA_UVM] = { .name = "nvidia_uvm" },
	[NVIDIA_MODESET] = { .name = "nvidia_modeset" },
};

static dev_t vgpu_nvidia_uvm_devt;
static LIST_HEAD(nvidia_nodes);

/*
 * Removing a file of /proc waits for its readers, and a program that reads into memory that
 * never arrives is a reader for ever. So work items create and remove all files of /proc, one
 * after the other. Other threads wait for the work items, but not longer than NVIDIA_PROC_WAIT.
 */
#define NVIDIA_PROC_WAIT	HZ

static struct workqueue_struct *nvidia_proc_queue;
static DECLARE_WAIT_QUEUE_HEAD(nvidia_proc_wait);
static atomic_t nvidia_proc_pending = ATOMIC_INIT(0);
/* Used by the work items only. */
static struct proc_dir_entry *nvidia_proc, *nvidia_proc_gpus;
/* List of nodes with a directory, including those whose work item is still queued. */
static LIST_HEAD(nvidia_dirs);

static bool nvidia_proc_sync(struct work_struct *sync)
{
	atomic_inc(&nvidia_proc_pending);
	if (queue_work(nvidia_proc_queue, sync))
		return true;
	atomic_dec(&nvidia_proc_pending);
	return false;
}

static void nvidia_proc_synced(void)
{
	if (atomic_dec_and_test(&nvidia_proc_pending))
		wake_up_all(&nvidia_proc_wait);
}

static void nvidia_proc_settle(void)
{
	wait_event_timeout(nvidia_proc_wait, !atomic_read(&nvidia_proc_pending), NVIDIA_PROC_WAIT);
}

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

/* --- /sys/module ---------------------------------------------------------- */

static ssize_t initstate_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "live\n");
}

static struct kobj_attribute nvidia_initstate = __ATTR_RO(initstate);

static struct attribute *nvidia_module_attrs[] = {
	&nvidia_initstate.attr,
	NULL
};
ATTRIBUTE_GROUPS(nvidia_module);

static void nvidia_module_release(struct kobject *kobj)
{
	kfree(container_of(kobj, struct module_kobject, kobj));
	vgpu_device_end();
}

static const struct kobj_type nvidia_module_ktype = {
	.release = nvidia_module_release,
	.sysfs_ops = &kobj_sysfs_ops,
	.default_groups = nvidia_module_groups,
};

/*
 * Add a directory to /sys/module. The module loader searches these directories for a module's
 * name, and loads no module whose name it finds. It expects each directory to be in a struct
 * module_kobject; built-in modules have such a one without a struct module.
 */
static int nvidia_module_add(struct nvidia_module *module)
{
	struct kset *modules = THIS_MODULE->mkobj.kobj.kset;
	struct module_kobject *mk;
	struct kobject *other;
	int ret;

	other = kset_find_obj(modules, module->name);
	if (other) {
		kobject_put(other);
		return -EBUSY;
	}
	mk = kzalloc(sizeof(*mk), GFP_KERNEL);
	if (!mk)
		return -ENOMEM;
	mk->kobj.kset = modules;
	vgpu_device_begin();
	ret = kobject_init_and_add(&mk->kobj, &nvidia_module_ktype, NULL, "%s", module->name);
	if (ret) {
		kobject_put(&mk->kobj);
		return ret;
	}
	WRITE_ONCE(module->kobj, &mk->kobj);
	return 0;
}

static void nvidia_module_del(struct nvidia_module *module)
{
	kobject_del(module->kobj);
	kobject_put(module->kobj);
	WRITE_ONCE(module->kobj, NULL);
}

/*
 * Reject a module that has the name of one of the directories. The loader calls this notifier
 * before it searches the directories; there it would find the name and only say that the module
 * is loaded. The notifier takes no lock, because the lock of node.c is held over waits. A
 * directory that is added after this check is found by the loader.
 */
static int nvidia_module_loads(struct notifier_block *unused, unsigned long state, void *data)
{
	const struct module *module = data;
	int i;

	if (state != MODULE_STATE_COMING)
		return NOTIFY_DONE;
	for (i = 0; i < NVIDIA_DRIVERS; i++) {
		if (!READ_ONCE(nvidia_modules[i].kobj) ||
		    strcmp(module->name, nvidia_modules[i].name))
			continue;
		pr_warn("the module %s is refused: devices of a host have the names and numbers of NVIDIA's driver here\n",
			module->name);
		return notifier_from_errno(-EBUSY);
	}
	return NOTIFY_DONE;
}

static struct notifier_block nvidia_module_notifier = {
	.notifier_call = nvidia_module_loads,
};

/* --- drivers -------------------------------------------------------------- */

static bool nvidia_proc_wanted;

static void nvidia_proc_main_sync(struct work_struct *sync)
{
	if (READ_ONCE(nvidia_proc_wanted)) {
		if (!nvidia_proc)
			nvidia_proc = proc_mkdir(NVIDIA_PROC, NULL);
		if (nvidia_proc && !nvidia_proc_gpus)
			nvidia_proc_gpus = proc_mkdir("gpus", nvidia_proc);
	} else {
		proc_remove(nvidia_proc);
		nvidia_proc = NULL;
		nvidia_proc_gpus = NULL;
	}
	nvidia_proc_synced();
}

static DECLARE_WORK(nvidia_proc_main, nvidia_proc_main_sync);

/* Create the directory of the drivers in /proc. */
static void vgpu_nvidia_proc_add(void)
{
	WRITE_ONCE(nvidia_proc_wanted, true);
	nvidia_proc_sync(&nvidia_proc_main);
}

/* Remove that directory, and wait for that, but no longer than NVIDIA_PROC_WAIT. */
static void vgpu_nvidia_proc_del(void)
{
	WRITE_ONCE(nvidia_proc_wanted, false);
	nvidia_proc_sync(&nvidia_proc_main);
	nvidia_proc_settle();
}

static int nvidia_add_main(void)
{
	int ret;

	ret = register_chrdev_region(MKDEV(NVIDIA_MAJOR, 0), NVIDIA_CTL_MINOR + 1, "nvidia");
	if (ret)
		return ret;
	vgpu_nvidia_proc_add();
	return 0;
}

static void nvidia_del_main(void)
{
	vgpu_nvidia_proc_del();
	unregister_chrdev_region(MKDEV(NVIDIA_MAJOR, 0), NVIDIA_CTL_MINOR + 1);
}

/*
 * Get a driver. The directory in /sys/module is created first: it keeps the real driver out,
 * whose files in /proc would collide with these.
 */
static int nvidia_driver_get(enum vgpu_nvidia_driver driver)
{
	struct nvidia_module *module = &nvidia_modules[driver];
	int ret = 0;

	if (module->users++)
		return 0;
	ret = nvidia_module_add(module);
	if (ret)
		goto err_put;
	if (driver == NVIDIA_MAIN)
		ret = nvidia_add_main();
	else if (driver == NVIDIA_UVM)
		ret = alloc_chrdev_region(&vgpu_nvidia_uvm_devt, 0, NVIDIA_UVM_MINORS,
					  "nvidia-uvm");
	if (ret)
		goto err_del_module;
	return 0;

err_del_module:
	nvidia_module_del(module);
err_put:
	module->users--;
	return ret;
}

static void nvidia_driver_put(enum vgpu_nvidia_driver driver)
{
	struct nvidia_module *module = &nvidia_modules[driver];

	if (--module->users)
		return;
	if (driver == NVIDIA_MAIN)
		nvidia_del_main();
	else if (driver == NVIDIA_UVM)
		unregister_chrdev_region(vgpu_nvidia_uvm_devt, NVIDIA_UVM_MINORS);
	nvidia_module_del(module);
}

/* Get a driver and the main driver, which all others need. */
static int vgpu_nvidia_driver_get(enum vgpu_nvidia_driver driver)
{
	int ret = nvidia_driver_get(NVIDIA_MAIN);

	if (ret || driver == NVIDIA_MAIN)
		return ret;
	ret = nvidia_driver_get(driver);
	if (ret)
		nvidia_driver_put(NVIDIA_MAIN);
	return ret;
}

/* Put a driver and the main driver. */
static void vgpu_nvidia_driver_put(enum vgpu_nvidia_driver driver)
{
	if (driver != NVIDIA_MAIN)
		nvidia_driver_put(driver);
	nvidia_driver_put(NVIDIA_MAIN);
}

/* Have the real driver's modules refused from now on, while there are nodes. */
static int vgpu_nvidia_driver_init(void)
{
	return register_module_notifier(&nvidia_module_notifier);
}

/* Undo vgpu_nvidia_driver_init(). */
static void vgpu_nvidia_driver_exit(void)
{
	unregister_module_notifier(&nvidia_module_notifier);
}

/* --- /proc ---------------------------------------------------------------- */

static int nvidia_file_show(struct seq_file *m, void *v)
{
	struct vgpu_nvidia_file *file = m->private;

	mutex_lock(&file->lock);
	seq_write(m, file->data, file->len);
	mutex_unlock(&file->lock);
	return 0;
}

static void nvidia_file_remove(struct vgpu_nvidia_file *file)
{
	struct vgpu_nvidia *nvidia = file->owner;

	proc_remove(file->pde);
	file->pde = NULL;
	if (file != &nvidia->files[NVIDIA_INFORMATION] || !nvidia->dir)
		return;
	proc_remove(nvidia->dir);
	nvidia->dir = NULL;
	list_del(&nvidia->dir_entry);
}

/*
 * Create the directory of a card. The card may have a directory of another name, and another
 * card may still have one of this name: a queued work item keeps its place when its task
 * changes, so their work items may run later.
 */
static void nvidia_dir_create(struct vgpu_nvidia *nvidia)
{
	struct vgpu_nvidia_file *file = &nvidia->files[NVIDIA_INFORMATION];
	char name[NVIDIA_BUS_ID_LEN];
	struct vgpu_nvidia *other;

	mutex_lock(&file->lock);
	strscpy(name, nvidia->bus_id, sizeof(name));
	mutex_unlock(&file->lock);
	if (nvidia->dir && !strcmp(nvidia->dir_name, name))
		return;
	nvidia_file_remove(file);
	list_for_each_entry(other, &nvidia_dirs, dir_entry) {
		if (!strcmp(other->dir_name, name)) {
			nvidia_file_remove(&other->files[NVIDIA_INFORMATION]);
			break;
		}
	}
	if (nvidia_proc_gpus)
		nvidia->dir = proc_mkdir(name, nvidia_proc_gpus);
	if (!nvidia->dir)
		return;
	strscpy(nvidia->dir_name, name, sizeof(nvidia->dir_name));
	list_add(&nvidia->dir_entry, &nvidia_dirs);
}

static void nvidia_file_create(struct vgpu_nvidia_file *file)
{
	struct vgpu_nvidia *nvidia = file->owner;
	int which = file - nvidia->files;
	struct proc_dir_entry *dir = nvidia_proc;

	if (which == NVIDIA_INFORMATION) {
		nvidia_dir_create(nvidia);
		dir = nvidia->dir;
	}
	if (dir && !file->pde)
		file->pde = proc_create_single_data(vgpu_nvidia_file_names[which], 0444, dir,
						    nvidia_file_show, file);
}

static void nvidia_file_sync(struct work_struct *sync)
{
	struct vgpu_nvidia_file *file = container_of(sync, struct vgpu_nvidia_file, sync);

	if (READ_ONCE(file->wanted))
		nvidia_file_create(file);
	else
		nvidia_file_remove(file);
	nvidia_proc_synced();
	put_device(&file->owner->dev);
}

/* Create or remove a file, and wait for that, but no longer than NVIDIA_PROC_WAIT. */
static void vgpu_nvidia_file_want(struct vgpu_nvidia_file *file, bool wanted)
{
	if (file->wanted == wanted)
		return;
	WRITE_ONCE(file->wanted, wanted);
	get_device(&file->owner->dev);
	if (!nvidia_proc_sync(&file->sync))
		put_device(&file->owner->dev);
	nvidia_proc_settle();
}

/* Replace the host's address by the guest's, which has the same length. */
static void nvidia_replace(u8 *data, u32 len, const char *there, const char *here)
{
	u32 n = strlen(there), i;

	for (i = 0; i + n <= len; i++)
		if (!memcmp(data + i, there, n))
			memcpy(data + i, here, n);
}

/**
 * vgpu_nvidia_file_set - set the contents of a file
 * @file: the file, which is created if there is none
 * @data: contents; copied
 * @len: number of bytes at @data
 * @there: host's name of the card, which @bus_id replaces in the contents, or NULL
 */
static void vgpu_nvidia_file_set(struct vgpu_nvidia_file *file, const u8 *data, u32 len,
				 const char *there)
{
	u8 *copy = kvmalloc(len, GFP_KERNEL), *old;

	if (!copy)
		return;
	memcpy(copy, data, len);
	if (there)
		nvidia_replace(copy, len, there, file->owner->bus_id);
	mutex_lock(&file->lock);
	old = file->data;
	file->data = copy;
	file->len = len;
	mutex_unlock(&file->lock);
	kvfree(old);
	vgpu_nvidia_file_want(file, true);
}

/* Initialize the files of a node, none of which is in /proc yet. */
static void vgpu_nvidia_files_init(struct vgpu_nvidia *nvidia)
{
	int i;

	for (i = 0; i < NVIDIA_FILES; i++) {
		nvidia->files[i].owner = nvidia;
		INIT_WORK(&nvidia->files[i].sync, nvidia_file_sync);
		mutex_init(&nvidia->files[i].lock);
	}
}

/* Free the contents of the files of a node without users. */
static void vgpu_nvidia_files_fini(struct vgpu_nvidia *nvidia)
{
	int i;

	for (i = 0; i < NVIDIA_FILES; i++)
		kvfree(nvidia->files[i].data);
}

/* Make the queue of the work items. */
static int vgpu_nvidia_proc_init(void)
{
	nvidia_proc_queue = alloc_ordered_workqueue("vgpu_nvidia", 0);
	return nvidia_proc_queue ? 0 : -ENOMEM;
}

/* Destroy the queue, after waiting for readers of removed files. */
static void vgpu_nvidia_proc_exit(void)
{
	destroy_workqueue(nvidia_proc_queue);
}

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

/* --- nodes ---------------------------------------------------------------- */

static int nvidia_open(struct inode *inode, struct file *file)
{
	struct vgpu_nvidia *nvidia = container_of(inode->i_cdev, struct vgpu_nvidia, cdev);

	return vgpu_node_open(file, &nvidia->node, NULL);
}

static const struct file_operations nvidia_fops = {
	.owner = THIS_MODULE,
	.open = nvidia_open,
};

/* Groups are required by node.c; NVIDIA's nodes have nothing in common. */
static struct vgpu_node_group *nvidia_create_group(struct device *parent)
{
	struct vgpu_node_group *group = kzalloc(sizeof(*group), GFP_KERNEL);

	return group ?: ERR_PTR(-ENOMEM);
}

static void nvidia_destroy_group(struct vgpu_node_group *group)
{
	kfree(group);
}

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
			return "another host has devices of NVIDIA's here";
		if (!strcmp(dev_name(&other->dev), export->title))
			return "it is there already";
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
		why = "this machine has NVIDIA's driver, or another one of its numbers";
	if (why)
		pr_warn_ratelimited("no /dev/%s of host %s: %s\n", export->title,
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
	.create_group = nvidia_create_group,
	.destroy_group = nvidia_destroy_group,
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
