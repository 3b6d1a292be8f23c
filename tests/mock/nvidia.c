// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stand-in for NVIDIA's driver on machines without a card. It has the driver's device
 * numbers, names in /proc/devices and files in /proc. Like the driver, it makes no nodes
 * in /dev.
 */
#include <linux/cdev.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#include "../../drivers/common/nvidia_rm.h"
#include "nvidia.h"
#include "vgpu_mock_nvidia.h"

#define NVIDIA_MAJOR		195
#define NVIDIA_CTL_MINOR	255
#define NVIDIA_UVM_MINORS	2
/* Filling that makes the file too long for one message. */
#define VERSION_FILLING		9000

static char *bus_id = "0000:00:02.0";
module_param(bus_id, charp, 0444);
MODULE_PARM_DESC(bus_id, "PCI address of the device that stands for the card");

static unsigned int revision;
module_param(revision, uint, 0644);
MODULE_PARM_DESC(revision, "number that /proc/driver/nvidia/version gives as its revision");

/* Number of requests that no guest may make; those of guests must not reach the driver. */
static atomic_t denied_seen;

static int nvidia_get_seen(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%d\n", atomic_read(&denied_seen));
}

static const struct kernel_param_ops nvidia_seen_ops = {
	.get = nvidia_get_seen,
};
module_param_cb(seen, &nvidia_seen_ops, NULL, 0444);
MODULE_PARM_DESC(seen, "number of commands that guests are denied and that reached the driver");

/* Calls sleep here until a signal comes. */
static DECLARE_WAIT_QUEUE_HEAD(nvidia_sleepers);
static atomic_t nr_sleepers;

static int nvidia_get_sleeping(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%d\n", atomic_read(&nr_sleepers));
}

static const struct kernel_param_ops nvidia_sleeping_ops = {
	.get = nvidia_get_sleeping,
};
module_param_cb(sleeping, &nvidia_sleeping_ops, NULL, 0444);
MODULE_PARM_DESC(sleeping, "number of calls that sleep");

static struct cdev nvidia_cdev, nvidia_uvm_cdev;
static dev_t nvidia_uvm_devt;
static struct proc_dir_entry *nvidia_proc;

static const char *nvidia_name(dev_t devt)
{
	if (MAJOR(devt) != NVIDIA_MAJOR)
		return MINOR(devt) ? "nvidia-uvm-tools" : "nvidia-uvm";
	return MINOR(devt) == NVIDIA_CTL_MINOR ? "nvidiactl" : "nvidia0";
}

static int nvidia_open(struct inode *inode, struct file *filp)
{
	struct mock_nvidia_file *file = kzalloc(sizeof(*file), GFP_KERNEL);

	if (!file)
		return -ENOMEM;
	init_waitqueue_head(&file->event_wait);
	file->is_control = !strcmp(nvidia_name(inode->i_rdev), "nvidiactl");
	filp->private_data = file;
	return 0;
}

static int nvidia_release(struct inode *inode, struct file *filp)
{
	struct mock_nvidia_file *file = filp->private_data;

	mock_nvidia_rm_release(file);
	mock_nvidia_event_release(file);
	if (file->pinned)
		unpin_user_page(file->pinned);
	if (file->control)
		fput(file->control);
	kfree(file);
	return 0;
}

static ssize_t nvidia_read(struct file *filp, char __user *buf, size_t len, loff_t *pos)
{
	struct mock_nvidia_file *file = filp->private_data;

	return simple_read_from_buffer(buf, len, pos, file->text, sizeof(file->text));
}

static ssize_t nvidia_write(struct file *filp, const char __user *buf, size_t len, loff_t *pos)
{
	struct mock_nvidia_file *file = filp->private_data;

	return simple_write_to_buffer(file->text, sizeof(file->text), pos, buf, len);
}

/* SEEK_END fails, as files of the real driver have no end. */
static loff_t nvidia_llseek(struct file *filp, loff_t offset, int whence)
{
	return whence == SEEK_END ? -EINVAL : default_llseek(filp, offset, whence);
}

static const struct file_operations nvidia_fops;

static bool nvidia_is(struct file *filp, const char *name)
{
	return filp->f_op == &nvidia_fops && !strcmp(nvidia_name(file_inode(filp)->i_rdev), name);
}

struct mock_nvidia_file *mock_nvidia_card_file(struct file *filp)
{
	return nvidia_is(filp, "nvidia0") ? filp->private_data : NULL;
}

struct mock_nvidia_file *mock_nvidia_told_file(struct file *filp)
{
	return nvidia_is(filp, "nvidia0") || nvidia_is(filp, "nvidiactl") ?
	       filp->private_data : NULL;
}

static DEFINE_MUTEX(nvidia_register_lock);

/*
 * Registers the file with a control file, and takes a reference of that file. A control file that
 * is registered with another one is refused.
 */
static long nvidia_register(struct file *filp, __s32 __user *arg)
{
	struct mock_nvidia_file *told = mock_nvidia_told_file(filp), *control;
	struct file *file;
	long ret = -EINVAL;
	int fd;

	if (get_user(fd, arg))
		return -EFAULT;
	file = fget(fd);
	if (!file)
		return -EBADF;
	control = nvidia_is(file, "nvidiactl") ? file->private_data : NULL;
	/* Two files with references of each other would never be released. */
	mutex_lock(&nvidia_register_lock);
	if (told && control && control != told && !told->control && !control->control) {
		told->control = file;
		ret = 0;
	}
	mutex_unlock(&nvidia_register_lock);
	if (ret)
		fput(file);
	return ret;
}

static bool nvidia_is_denied(u32 cmd)
{
	static const u32 denied[] = VGPU_MOCK_NVIDIA_DENIED;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(denied); i++)
		if (denied[i] == cmd)
			return true;
	return false;
}

/*
 * Counts denied requests of all ioctls but CONTROL. Any size counts except 0, which the ioctls of
 * unified memory have. A share with an existing client is no denied one: user-space engines share
 * with a client of their own.
 */
static void nvidia_count_denied(u32 nr, u32 size, void __user *arg)
{
	u32 class, client;
	u16 with;

	switch (size ? nr : 0) {
	case _IOC_NR(VGPU_MOCK_NVIDIA_ALLOC_MEMORY):
	case _IOC_NR(VGPU_MOCK_NVIDIA_ALLOC):
		if (!get_user(class, (u32 __user *)(arg + VGPU_MOCK_NVIDIA_ALLOC_CLASS)) &&
		    (class == VGPU_MOCK_NVIDIA_FLA || class == VGPU_MOCK_NVIDIA_MULTICAST ||
		     (class == VGPU_MOCK_NVIDIA_OS_DESCRIPTOR &&
		      nr == _IOC_NR(VGPU_MOCK_NVIDIA_ALLOC))))
			atomic_inc(&denied_seen);
		break;
	case _IOC_NR(VGPU_MOCK_NVIDIA_SHARE):
		if (!get_user(with, (u16 __user *)(arg + VGPU_MOCK_NVIDIA_SHARE_WITH)) &&
		    with == VGPU_MOCK_NVIDIA_SHARE_CLIENT &&
		    !get_user(client, &((struct rm_share __user *)arg)->with_client) &&
		    !mock_nvidia_rm_has(client))
			atomic_inc(&denied_seen);
		break;
	}
}

static long nvidia_control(struct mock_nvidia_file *file,
			   struct vgpu_mock_nvidia_control __user *arg)
{
	struct vgpu_mock_nvidia_control control;
	u8 params[VGPU_MOCK_NVIDIA_PARAMS];
	long ret;
	u32 i;

	if (copy_from_user(&control, arg, sizeof(control)))
		return -EFAULT;
	control.status = mock_nvidia_rm_check(file, control.client);
	if (control.status)
		return copy_to_user(arg, &control, sizeof(control)) ? -EFAULT : 0;
	ret = mock_nvidia_pci_control(&control);
	if (ret == -ENOTTY)
		ret = mock_nvidia_rm_control(&control);
	if (ret == -ENOTTY)
		ret = mock_nvidia_rm_events(&control);
	if (ret == -ENOTTY)
		ret = mock_nvidia_rm_export(file, &control);
	if (ret != -ENOTTY)
		return ret ?: copy_to_user(arg, &control, sizeof(control)) ? -EFAULT : 0;
	if (control.size > sizeof(params))
		return -EINVAL;
	if (copy_from_user(params, u64_to_user_ptr(control.params), control.size))
		return -EFAULT;
	if (nvidia_is_denied(control.cmd))
		atomic_inc(&denied_seen);
	for (i = 0; i < control.size; i++)
		params[i] = ~params[i];
	control.status = 0;
	if (copy_to_user(u64_to_user_ptr(control.params), params, control.size) ||
	    copy_to_user(arg, &control, sizeof(control)))
		return -EFAULT;
	return 0;
}

static long nvidia_check_version(struct vgpu_mock_nvidia_version __user *arg)
{
	struct vgpu_mock_nvidia_version check;
	long ret = 0;

	if (copy_from_user(&check, arg, sizeof(check)))
		return -EFAULT;
	check.reply = 1;
	if (strncmp(check.version, VGPU_MOCK_NVIDIA_IS, sizeof(check.version))) {
		strscpy(check.version, VGPU_MOCK_NVIDIA_IS, sizeof(check.version));
		ret = -EINVAL;
	}
	return copy_to_user(arg, &check, sizeof(check)) ? -EFAULT : ret;
}

static long nvidia_uvm_init(struct vgpu_mock_nvidia_uvm_init __user *arg)
{
	struct vgpu_mock_nvidia_uvm_init init;

	if (copy_from_user(&init, arg, sizeof(init)))
		return -EFAULT;
	init.status = init.flags;
	return copy_to_user(arg, &init, sizeof(init)) ? -EFAULT : 0;
}

static long nvidia_pin(struct mock_nvidia_file *file, unsigned long arg)
{
	struct page *page;
	int ret;

	ret = pin_user_pages_fast(arg & PAGE_MASK, 1, FOLL_WRITE | FOLL_LONGTERM, &page);
	if (ret != 1)
		return ret < 0 ? ret : -EFAULT;
	if (!cmpxchg(&file->pinned, NULL, page))
		return 0;
	unpin_user_page(page);
	return -EBUSY;
}

static long nvidia_look(struct mock_nvidia_file *file, struct vgpu_mock_nvidia_look __user *arg)
{
	struct page *page = READ_ONCE(file->pinned);
	struct vgpu_mock_nvidia_look look;
	const u64 *words;
	unsigned int i;

	if (!page)
		return -ENOENT;
	if (copy_from_user(&look, arg, sizeof(look)))
		return -EFAULT;
	look.out_times = 0;
	words = kmap_local_page(page);
	for (i = 0; i < PAGE_SIZE / sizeof(*words); i++)
		look.out_times += words[i] == look.word;
	kunmap_local(words);
	return copy_to_user(arg, &look, sizeof(look)) ? -EFAULT : 0;
}

static long nvidia_sleep(void)
{
	long ret;

	atomic_inc(&nr_sleepers);
	ret = wait_event_interruptible(nvidia_sleepers, false);
	atomic_dec(&nr_sleepers);
	return ret;
}

/*
 * System memory is allocated on a card's file, all other ioctls of RM are called on the control
 * file. Return: the control file, or NULL.
 */
static struct mock_nvidia_file *nvidia_control_of(struct file *filp, u32 nr)
{
	const struct mock_nvidia_file *card = mock_nvidia_card_file(filp);
	struct file *control = filp;

	if (card)
		control = nr == _IOC_NR(RM_IOCTL_ALLOC_MEMORY) ? READ_ONCE(card->control) : NULL;
	return control && nvidia_is(control, "nvidiactl") ? control->private_data : NULL;
}

static long nvidia_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct mock_nvidia_file *control;
	u32 nr = _IOC_NR(cmd), size = _IOC_SIZE(cmd);
	char name[VGPU_MOCK_NVIDIA_NAME] = "";
	struct vgpu_mock_nvidia_xfer xfer;
	struct vgpu_mock_nvidia call;
	long ret;

	if (cmd == VGPU_MOCK_NVIDIA_UVM_INIT)
		return nvidia_uvm_init((struct vgpu_mock_nvidia_uvm_init __user *)arg);
	if (cmd == VGPU_MOCK_NVIDIA_UVM_POOL)
		return 0;
	if (cmd == VGPU_MOCK_NVIDIA_PIN)
		return nvidia_pin(filp->private_data, arg);
	if (cmd == VGPU_MOCK_NVIDIA_LOOK)
		return nvidia_look(filp->private_data, (void __user *)arg);
	if (cmd == VGPU_MOCK_NVIDIA_SLEEP)
		return nvidia_sleep();
	if (nr == _IOC_NR(VGPU_MOCK_NVIDIA_XFER) && size == sizeof(xfer)) {
		if (copy_from_user(&xfer, (void __user *)arg, sizeof(xfer)))
			return -EFAULT;
		nr = xfer.nr;
		size = xfer.size;
		arg = xfer.arg;
	}
	nvidia_count_denied(nr, size, (void __user *)arg);
	if (nr == _IOC_NR(VGPU_MOCK_NVIDIA_REGISTER) && size == sizeof(__s32))
		return nvidia_register(filp, (__s32 __user *)arg);
	if (nr == _IOC_NR(VGPU_MOCK_NVIDIA_CONTROL) &&
	    size == sizeof(struct vgpu_mock_nvidia_control))
		return nvidia_control(filp->private_data, (void __user *)arg);
	if (nr == _IOC_NR(VGPU_MOCK_NVIDIA_VERSION) &&
	    size == sizeof(struct vgpu_mock_nvidia_version))
		return nvidia_check_version((struct vgpu_mock_nvidia_version __user *)arg);
	ret = mock_nvidia_pci_ioctl(nr, size, (void __user *)arg);
	if (ret == -ENOTTY)
		ret = mock_nvidia_event_ioctl(filp->private_data, nr, size, (void __user *)arg);
	if (ret != -ENOTTY)
		return ret;
	control = nvidia_control_of(filp, nr);
	if (control) {
		ret = mock_nvidia_rm_ioctl(control, nr, size, (void __user *)arg);
		if (ret != -ENOTTY)
			return ret;
	}
	if (cmd != VGPU_MOCK_NVIDIA_IOC)
		return -ENOTTY;
	if (copy_from_user(&call, (void __user *)arg, sizeof(call)))
		return -EFAULT;
	strscpy(name, nvidia_name(file_inode(filp)->i_rdev), sizeof(name));
	call.value = ~call.value;
	if (copy_to_user(u64_to_user_ptr(call.name), name, sizeof(name)) ||
	    copy_to_user((void __user *)arg, &call, sizeof(call)))
		return -EFAULT;
	return 0;
}

/* Files of the card and the control node map as RM says, other files map a new zeroed page. */
static int nvidia_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct page *page;
	int ret;

	if (mock_nvidia_told_file(filp))
		return mock_nvidia_rm_mmap(filp->private_data, vma);
	if (vma_pages(vma) != 1)
		return -EINVAL;
	page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!page)
		return -ENOMEM;
	ret = vm_insert_page(vma, vma->vm_start, page);
	put_page(page);
	return ret;
}

static const struct file_operations nvidia_fops = {
	.owner = THIS_MODULE,
	.open = nvidia_open,
	.release = nvidia_release,
	.read = nvidia_read,
	.write = nvidia_write,
	.unlocked_ioctl = nvidia_ioctl,
	.mmap = nvidia_mmap,
	.poll = mock_nvidia_event_poll,
	.llseek = nvidia_llseek,
};

static int nvidia_params_show(struct seq_file *m, void *v)
{
	seq_puts(m, "ResmanDebugLevel: 4294967295\nModifyDeviceFiles: 1\nDeviceFileMode: 438\n");
	return 0;
}

static int nvidia_version_show(struct seq_file *m, void *v)
{
	unsigned int i;

	seq_printf(m, "NVRM version: mock, revision %u\n", revision);
	for (i = 0; i < VERSION_FILLING; i++)
		seq_putc(m, i % 60 == 59 ? '\n' : 'a' + i % 26);
	seq_puts(m, "end\n");
	return 0;
}

static int nvidia_information_show(struct seq_file *m, void *v)
{
	seq_printf(m, "Model: \t\t Mock\nBus Location: \t %s\nDevice Minor: \t 0\n", bus_id);
	return 0;
}

static int nvidia_add_proc(void)
{
	struct proc_dir_entry *dir;
	char path[48];

	nvidia_proc = proc_mkdir("driver/nvidia", NULL);
	if (!nvidia_proc)
		return -ENOMEM;
	proc_create_single("params", 0444, nvidia_proc, nvidia_params_show);
	proc_create_single("version", 0444, nvidia_proc, nvidia_version_show);
	/* Guests must not see this file: the host forwards only the other ones. */
	proc_create_single("warnings", 0444, nvidia_proc, nvidia_version_show);
	proc_mkdir("gpus", nvidia_proc);
	snprintf(path, sizeof(path), "gpus/%s", bus_id);
	dir = proc_mkdir(path, nvidia_proc);
	if (!dir || !proc_create_single("information", 0444, dir, nvidia_information_show)) {
		proc_remove(nvidia_proc);
		return -ENOMEM;
	}
	return 0;
}

static int nvidia_add_cdev(struct cdev *cdev, dev_t devt, unsigned int nr)
{
	cdev_init(cdev, &nvidia_fops);
	cdev->owner = THIS_MODULE;
	return cdev_add(cdev, devt, nr);
}

static int __init nvidia_init(void)
{
	int ret;

	ret = mock_nvidia_pci_init(bus_id);
	if (ret)
		return ret;
	ret = register_chrdev_region(MKDEV(NVIDIA_MAJOR, 0), NVIDIA_CTL_MINOR + 1, "nvidia");
	if (ret)
		return ret;
	ret = alloc_chrdev_region(&nvidia_uvm_devt, 0, NVIDIA_UVM_MINORS, "nvidia-uvm");
	if (ret)
		goto err_unregister;
	ret = nvidia_add_proc();
	if (ret)
		goto err_unregister_uvm;
	ret = nvidia_add_cdev(&nvidia_cdev, MKDEV(NVIDIA_MAJOR, 0), NVIDIA_CTL_MINOR + 1);
	if (ret)
		goto err_remove_proc;
	ret = nvidia_add_cdev(&nvidia_uvm_cdev, nvidia_uvm_devt, NVIDIA_UVM_MINORS);
	if (ret)
		goto err_del;
	return 0;

err_del:
	cdev_del(&nvidia_cdev);
err_remove_proc:
	proc_remove(nvidia_proc);
err_unregister_uvm:
	unregister_chrdev_region(nvidia_uvm_devt, NVIDIA_UVM_MINORS);
err_unregister:
	unregister_chrdev_region(MKDEV(NVIDIA_MAJOR, 0), NVIDIA_CTL_MINOR + 1);
	return ret;
}

static void __exit nvidia_exit(void)
{
	cdev_del(&nvidia_uvm_cdev);
	cdev_del(&nvidia_cdev);
	proc_remove(nvidia_proc);
	unregister_chrdev_region(nvidia_uvm_devt, NVIDIA_UVM_MINORS);
	unregister_chrdev_region(MKDEV(NVIDIA_MAJOR, 0), NVIDIA_CTL_MINOR + 1);
	mock_nvidia_rm_exit();
}

module_init(nvidia_init);
module_exit(nvidia_exit);

MODULE_DESCRIPTION("Stand-in for NVIDIA's driver");
MODULE_AUTHOR("vgpu contributors");
MODULE_LICENSE("GPL");
