// SPDX-License-Identifier: GPL-2.0-only
/*
 * The mock's device nodes, and opening and releasing them.
 */
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "mock.h"

static int vgpu_mock_open(struct inode *inode, struct file *filp)
{
	/* misc_open() has stored the miscdevice there. */
	struct vgpu_mock_device *device =
		container_of(filp->private_data, struct vgpu_mock_device, misc);
	struct vgpu_mock_file *file;
	int ret = 0;

	file = kzalloc(sizeof(*file), GFP_KERNEL);
	if (!file)
		return -ENOMEM;
	file->device = device;
	file->filp = filp;
	file->mm = vgpu_mock_mm_name(current->mm);
	vgpu_mock_wait_init(file);
	vgpu_mock_io_init(file);
	vgpu_mock_poll_init(file);
	vgpu_mock_keep_init(file);
	vgpu_mock_queue_open(file);

	mutex_lock(&device->lock);
	if (device->exclusive || ((filp->f_flags & O_EXCL) && !list_empty(&device->files))) {
		ret = -EBUSY;
	} else {
		if (filp->f_flags & O_EXCL)
			device->exclusive = file;
		list_add_tail(&file->node, &device->files);
	}
	mutex_unlock(&device->lock);

	if (ret) {
		vgpu_mock_count(VGPU_MOCK_BUSY, 1);
		kfree(file);
		return ret;
	}
	filp->private_data = file;
	vgpu_mock_count(VGPU_MOCK_OPENS, 1);
	vgpu_mock_count(VGPU_MOCK_FILES, 1);
	return 0;
}

static int vgpu_mock_release(struct inode *inode, struct file *filp)
{
	struct vgpu_mock_file *file = filp->private_data;
	struct vgpu_mock_device *device = file->device;

	vgpu_mock_queue_release(file);
	vgpu_mock_poll_fini(file);
	vgpu_mock_bufs_drop(file);

	mutex_lock(&device->lock);
	list_del(&file->node);
	if (device->exclusive == file)
		device->exclusive = NULL;
	mutex_unlock(&device->lock);

	vgpu_mock_fd_fini(file);
	vgpu_mock_keep_fini(file);
	vgpu_mock_io_fini(file);
	/* Natively ->flush always comes first, as each file has an fd whose close calls ->flush. */
	if (!READ_ONCE(file->flushed))
		vgpu_mock_count(VGPU_MOCK_UNFLUSHED, 1);
	kfree(file);
	vgpu_mock_count(VGPU_MOCK_RELEASES, 1);
	vgpu_mock_count(VGPU_MOCK_FILES, -1);
	return 0;
}

static long vgpu_mock_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	return vgpu_mock_call_run(filp, cmd, arg, false);
}

/*
 * Shows whether procfs or another caller reads fdinfo, as drivers can tell: procfs sets
 * seq->private by single_open().
 */
static void vgpu_mock_show_fdinfo(struct seq_file *seq, struct file *filp)
{
	seq_printf(seq, "mock-asked-by:\t%s\n", seq->private ? "procfs" : "another");
}

static const struct file_operations vgpu_mock_main_fops = {
	.owner = THIS_MODULE,
	.open = vgpu_mock_open,
	.flush = vgpu_mock_fop_flush,
	.release = vgpu_mock_release,
	.unlocked_ioctl = vgpu_mock_ioctl,
#ifdef CONFIG_COMPAT
	.compat_ioctl = vgpu_mock_compat_ioctl,
#endif
	.read = vgpu_mock_read,
	.write = vgpu_mock_write,
	.llseek = vgpu_mock_llseek,
	.poll = vgpu_mock_poll,
	.fasync = vgpu_mock_fasync,
	.mmap = vgpu_mock_mmap,
	.get_unmapped_area = thp_get_unmapped_area,
	.show_fdinfo = vgpu_mock_show_fdinfo,
};

static const struct file_operations vgpu_mock_stream_fops = {
	.owner = THIS_MODULE,
	.open = vgpu_mock_open,
	.flush = vgpu_mock_fop_flush,
	.release = vgpu_mock_release,
	.unlocked_ioctl = vgpu_mock_ioctl,
#ifdef CONFIG_COMPAT
	.compat_ioctl = vgpu_mock_compat_ioctl,
#endif
};

static const struct file_operations vgpu_mock_iter_fops = {
	.owner = THIS_MODULE,
	.open = vgpu_mock_open,
	.flush = vgpu_mock_fop_flush,
	.release = vgpu_mock_release,
	.unlocked_ioctl = vgpu_mock_ioctl,
#ifdef CONFIG_COMPAT
	.compat_ioctl = vgpu_mock_compat_ioctl,
#endif
	.read_iter = vgpu_mock_read_iter,
	.write_iter = vgpu_mock_write_iter,
	.llseek = vgpu_mock_llseek,
	.poll = vgpu_mock_poll,
	.mmap = vgpu_mock_mmap,
	.get_unmapped_area = thp_get_unmapped_area,
};

static struct vgpu_mock_device vgpu_mock_devices[] = {
	{ .misc = { .name = "vgpu-mock", .fops = &vgpu_mock_main_fops } },
	{ .misc = { .name = "vgpu-mock-stream", .fops = &vgpu_mock_stream_fops } },
	{ .misc = { .name = "vgpu-mock-iter", .fops = &vgpu_mock_iter_fops } },
};

/**
 * vgpu_mock_file_from() - find the mock's state of an open file
 * @filp: any file
 *
 * Return: the mock's state, or NULL if @filp is not an opened mock device.
 */
struct vgpu_mock_file *vgpu_mock_file_from(struct file *filp)
{
	if (filp->f_op->unlocked_ioctl != vgpu_mock_ioctl)
		return NULL;
	return filp->private_data;
}

/**
 * vgpu_mock_device_zap() - zap the PTEs of a range of a device
 * @device: the device
 * @offset: first byte of the range
 * @length: number of bytes
 *
 * A device can have several inodes, each with an address_space of its own. Each
 * VMA keeps a file of the list open, so the list covers all address_spaces.
 */
void vgpu_mock_device_zap(struct vgpu_mock_device *device, loff_t offset, loff_t length)
{
	struct vgpu_mock_file *file;

	mutex_lock(&device->lock);
	list_for_each_entry(file, &device->files, node)
		unmap_mapping_range(file->filp->f_mapping, offset, length, 1);
	mutex_unlock(&device->lock);
}

/**
 * vgpu_mock_exclusive() - run VGPU_MOCK_IOC_EXCLUSIVE
 * @call: the call
 *
 * Return: 0 or -errno.
 */
long vgpu_mock_exclusive(struct vgpu_mock_call *call)
{
	struct vgpu_mock_device *device = call->file->device;
	long ret = 0;

	if (call->arg > 1)
		return -EINVAL;
	mutex_lock(&device->lock);
	if (device->exclusive && device->exclusive != call->file)
		ret = -EBUSY;
	else if (!call->arg)
		device->exclusive = NULL;
	else if (list_is_singular(&device->files))
		device->exclusive = call->file;
	else
		ret = -EBUSY;
	mutex_unlock(&device->lock);
	return ret;
}

int vgpu_mock_devices_register(void)
{
	struct vgpu_mock_device *device;
	int ret;
	int i;

	for (i = 0; i < ARRAY_SIZE(vgpu_mock_devices); i++) {
		device = &vgpu_mock_devices[i];
		mutex_init(&device->hold);
		mutex_init(&device->work);
		mutex_init(&device->lock);
		INIT_LIST_HEAD(&device->files);
		xa_init_flags(&device->bufs, XA_FLAGS_ALLOC1);
		device->misc.minor = MISC_DYNAMIC_MINOR;
		device->misc.mode = 0666;
		ret = misc_register(&device->misc);
		if (ret)
			goto err_register;
	}
	return 0;

err_register:
	while (i--)
		misc_deregister(&vgpu_mock_devices[i].misc);
	return ret;
}

void vgpu_mock_devices_deregister(void)
{
	int i;

	for (i = ARRAY_SIZE(vgpu_mock_devices) - 1; i >= 0; i--) {
		misc_deregister(&vgpu_mock_devices[i].misc);
		xa_destroy(&vgpu_mock_devices[i].bufs);
	}
}
