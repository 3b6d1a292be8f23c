// SPDX-License-Identifier: GPL-2.0-only
/*
 * Objects: anonymous files that ioctls create and take.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "kver.h"
#include "mock.h"

struct vgpu_mock_object {
	u64 cookie;
	struct page *page;
	wait_queue_head_t queue;
	struct delayed_work work;
	bool signalled;
};

static void vgpu_mock_object_free(struct vgpu_mock_object *object)
{
	__free_page(object->page);
	kfree(object);
	vgpu_mock_count(VGPU_MOCK_OBJECTS, -1);
}

static int vgpu_mock_object_release(struct inode *inode, struct file *filp)
{
	struct vgpu_mock_object *object = filp->private_data;

	cancel_delayed_work_sync(&object->work);
	vgpu_mock_object_free(object);
	return 0;
}

static void vgpu_mock_object_signal(struct work_struct *work)
{
	struct vgpu_mock_object *object =
		container_of(to_delayed_work(work), struct vgpu_mock_object, work);

	WRITE_ONCE(object->signalled, true);
	wake_up_all(&object->queue);
}

static ssize_t vgpu_mock_object_read(struct file *filp, char __user *to, size_t count,
				     loff_t *pos)
{
	struct vgpu_mock_object *object = filp->private_data;
	int ret;

	if (count < sizeof(object->cookie))
		return -EINVAL;
	if (!READ_ONCE(object->signalled)) {
		if (filp->f_flags & O_NONBLOCK)
			return -EAGAIN;
		ret = wait_event_interruptible(object->queue, READ_ONCE(object->signalled));
		if (ret)
			return ret;
	}
	if (copy_to_user(to, &object->cookie, sizeof(object->cookie)))
		return -EFAULT;
	return sizeof(object->cookie);
}

static __poll_t vgpu_mock_object_poll(struct file *filp, poll_table *wait)
{
	struct vgpu_mock_object *object = filp->private_data;

	vgpu_mock_count(VGPU_MOCK_POLLS, 1);
	poll_wait(filp, &object->queue, wait);
	return READ_ONCE(object->signalled) ? EPOLLIN | EPOLLRDNORM : 0;
}

static long vgpu_mock_object_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct vgpu_mock_object *object = filp->private_data;
	struct vgpu_mock_obj_info info = { };

	switch (cmd & ~VGPU_MOCK_UNDESCRIBED_BIT) {
	case VGPU_MOCK_IOC_OBJ_INFO:
		info.out_cookie = object->cookie;
		info.out_f_flags = filp->f_flags;
		return copy_to_user((void __user *)arg, &info, sizeof(info)) ? -EFAULT : 0;
	case VGPU_MOCK_IOC_OBJ_SIGNAL:
		if (arg > VGPU_MOCK_MAX_MS)
			return -EINVAL;
		if (arg)
			mod_delayed_work(vgpu_mock_wq, &object->work, msecs_to_jiffies(arg));
		else
			vgpu_mock_object_signal(&object->work.work);
		return 0;
	default:
		return -ENOTTY;
	}
}

static vm_fault_t vgpu_mock_object_fault(struct vm_fault *vmf)
{
	struct vgpu_mock_object *object = vmf->vma->vm_private_data;

	if (vmf->pgoff)
		return VM_FAULT_SIGBUS;
	get_page(object->page);
	vmf->page = object->page;
	return 0;
}

static const struct vm_operations_struct vgpu_mock_object_vm_ops = {
	.fault = vgpu_mock_object_fault,
};

static int vgpu_mock_object_mmap(struct file *filp, struct vm_area_struct *vma)
{
	if (vma->vm_pgoff || vma_pages(vma) != 1 || !(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	vm_flags_set(vma, VM_DONTEXPAND);
	vma->vm_private_data = filp->private_data;
	vma->vm_ops = &vgpu_mock_object_vm_ops;
	return 0;
}

static const struct file_operations vgpu_mock_object_fops = {
	.owner = THIS_MODULE,
	.release = vgpu_mock_object_release,
	.read = vgpu_mock_object_read,
	.poll = vgpu_mock_object_poll,
	.unlocked_ioctl = vgpu_mock_object_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = vgpu_mock_object_mmap,
};

/**
 * vgpu_mock_object_file() - make an object
 * @cookie: cookie of the object
 * @flags: O_CLOEXEC, O_NONBLOCK
 *
 * Return: a file, or an error pointer.
 */
struct file *vgpu_mock_object_file(u64 cookie, u32 flags)
{
	struct vgpu_mock_object *object;
	struct file *file;

	if (flags & ~(O_CLOEXEC | O_NONBLOCK))
		return ERR_PTR(-EINVAL);
	object = kzalloc(sizeof(*object), GFP_KERNEL);
	if (!object)
		return ERR_PTR(-ENOMEM);
	object->page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!object->page) {
		kfree(object);
		return ERR_PTR(-ENOMEM);
	}
	object->cookie = cookie;
	*(u64 *)page_address(object->page) = cookie;
	init_waitqueue_head(&object->queue);
	INIT_DELAYED_WORK(&object->work, vgpu_mock_object_signal);
	vgpu_mock_count(VGPU_MOCK_OBJECTS, 1);

	file = anon_inode_getfile("[vgpu-mock-object]", &vgpu_mock_object_fops, object,
				  O_RDWR | (flags & O_NONBLOCK));
	if (IS_ERR(file))
		vgpu_mock_object_free(object);
	return file;
}

/**
 * vgpu_mock_object_cookie() - find the cookie of an object
 * @fd: fd of the calling process
 * @cookie: out: the cookie
 *
 * Return: 0, -EBADF if @fd is not open, -EINVAL if @fd is not a file of the mock.
 */
int vgpu_mock_object_cookie(int fd, u64 *cookie)
{
	struct vgpu_mock_object *object;
	struct vgpu_mock_file *device;
	struct file *file;
	int ret = 0;

	file = fget(fd);
	if (!file)
		return -EBADF;
	device = vgpu_mock_file_from(file);
	if (device) {
		*cookie = device->seed;
	} else if (file->f_op == &vgpu_mock_object_fops) {
		object = file->private_data;
		*cookie = object->cookie;
	} else {
		ret = -EINVAL;
	}
	fput(file);
	return ret;
}
