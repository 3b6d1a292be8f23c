// SPDX-License-Identifier: GPL-2.0-only
/*
 * Check whether hypervisors of this machine may show windows.
 *
 * Before Linux 6.13 KVM's nested VMX takes some pages of a guest that runs guests of its own
 * (its virtual APIC page, the descriptor of posted interrupts, bitmaps) as PFNs without a
 * reference from the hypervisor's page tables. It writes them into the VMCS by which the
 * processor runs, and leaves them there for as long as the inner guest runs, whatever becomes
 * of the hypervisor's page tables. If a guest puts such a page into its window, the processor
 * reads and writes memory that may be another guest's by then. Since 6.13 KVM refuses pages
 * without a reference there.
 *
 * Nested SVM maps such pages only while it enters or leaves an inner guest, and copies what it
 * needs. Pages that the processor uses for longer are pinned or KVM's own.
 *
 * The module parameter "nested" decides, but modules cannot read it: it is no exported symbol,
 * and find_module(), kallsyms_lookup_name() and module_kset are not exported either. So its
 * file in sysfs is read, by a worker. A worker has the first process's root and the kernel's
 * own rights, while a hypervisor may see another /sys, or none, or be forbidden to look. The
 * parameter cannot be changed while the module is loaded.
 */
#include <linux/module.h>
#include <linux/workqueue.h>

#include "window/nested.h"

#ifdef VGPU_NESTED_KEEPS_PAGES

#define NESTED_FILE	"/sys/module/kvm_intel/parameters/nested"
/*
 * Directory of this module in any sysfs: without it there is no sysfs, and nothing can be found
 * out.
 */
#define NESTED_SELF	"/sys/module/" KBUILD_MODNAME

struct nested_look {
	struct work_struct work;
	int ret;
};

/* Read the parameter. Return: 0: off, or not loaded; -EPERM: on; another errno: unknown. */
static int nested_read(void)
{
	struct file *file;
	loff_t pos = 0;
	char value;
	ssize_t n;

	file = filp_open(NESTED_FILE, O_RDONLY, 0);
	if (file == ERR_PTR(-ENOENT)) {
		file = filp_open(NESTED_SELF, O_RDONLY | O_DIRECTORY, 0);
		if (!IS_ERR(file))
			fput(file);
		return PTR_ERR_OR_ZERO(file);
	}
	if (IS_ERR(file))
		return PTR_ERR(file);
	n = kernel_read(file, &value, 1, &pos);
	fput(file);
	if (n != 1)
		return n < 0 ? n : -EIO;
	return value == 'N' || value == '0' ? 0 : -EPERM;
}

static void nested_work(struct work_struct *work)
{
	struct nested_look *look = container_of(work, struct nested_look, work);

	look->ret = nested_read();
}

int vgpu_nested_check(void)
{
	struct nested_look look;

	INIT_WORK_ONSTACK(&look.work, nested_work);
	queue_work(system_unbound_wq, &look.work);
	flush_work(&look.work);
	destroy_work_on_stack(&look.work);
	if (look.ret == -EPERM)
		pr_warn_ratelimited("vgpu_host: refused a window to a hypervisor: before Linux 6.13 kvm_intel must be loaded with nested=0\n");
	else if (look.ret)
		pr_warn_ratelimited("vgpu_host: refused a window to a hypervisor: cannot read %s (error %d)\n",
				    NESTED_FILE, look.ret);
	return look.ret ? -EPERM : 0;
}

#endif /* VGPU_NESTED_KEEPS_PAGES */
