// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drivers of NVIDIA's nodes: their numbers, and the directories in /sys/module that say that they
 * are loaded. Both keep the real driver out.
 */
#include <linux/fs.h>
#include <linux/kdev_t.h>
#include <linux/kobject.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "compat.h"
#include "node/device.h"
#include "node/nvidia_driver.h"
#include "node/nvidia_proc.h"

#define NVIDIA_UVM_MINORS	2

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

/* First number of the nodes of nvidia-uvm, while it has users. */
dev_t vgpu_nvidia_uvm_devt;

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
		pr_warn("refused to load module %s: forwarded devices already use the names and numbers of NVIDIA's driver\n",
			module->name);
		return notifier_from_errno(-EBUSY);
	}
	return NOTIFY_DONE;
}

static struct notifier_block nvidia_module_notifier = {
	.notifier_call = nvidia_module_loads,
};

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
int vgpu_nvidia_driver_get(enum vgpu_nvidia_driver driver)
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
void vgpu_nvidia_driver_put(enum vgpu_nvidia_driver driver)
{
	if (driver != NVIDIA_MAIN)
		nvidia_driver_put(driver);
	nvidia_driver_put(NVIDIA_MAIN);
}

/* Have the real driver's modules refused from now on, while there are nodes. */
int vgpu_nvidia_driver_init(void)
{
	return register_module_notifier(&nvidia_module_notifier);
}

/* Undo vgpu_nvidia_driver_init(). */
void vgpu_nvidia_driver_exit(void)
{
	unregister_module_notifier(&nvidia_module_notifier);
}
