// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proxies: files for objects that calls return, a dma-buf or a sync_file for example. One
 * object has one file, so programs that compare files (by fstat or kcmp) get the same result as
 * on the host.
 */
#include <linux/err.h>
#include <linux/fs.h>

#include "uapi/linux/vgpu_wire.h"

#include "anon.h"
#include "compat.h"
#include "file/file.h"
#include "file/object.h"
#include "file/proxy.h"

static const char *proxy_name(u32 kind)
{
	switch (kind) {
	case VGPU_OBJECT_DMABUF:
		return "dmabuf";
	case VGPU_OBJECT_SYNC_FILE:
		return "sync_file";
	default:
		return "[vgpu]";
	}
}

static struct file *proxy_create(struct vgpu_object *object, struct file *from)
{
	bool poll = object->fops & VGPU_FOP_POLL;
	const struct inode *device = file_inode(from);
	struct inode *inode;
	struct file *file;

	inode = vgpu_anon_inode_alloc();
	if (IS_ERR(inode))
		return ERR_CAST(inode);
	i_size_write(inode, object->size);
	if ((object->flags & VGPU_OBJECT_SAME_DEVICE) && S_ISCHR(device->i_mode)) {
		/* Give the inode the device number: libraries check the number, not the path. */
		init_special_inode(inode, device->i_mode, device->i_rdev);
		inode->i_uid = device->i_uid;
		inode->i_gid = device->i_gid;
	}
	file = vgpu_anon_file_alloc(inode, proxy_name(object->kind),
				    object->f_flags & (O_ACCMODE | O_NONBLOCK | O_APPEND),
				    poll ? &vgpu_file_fops : &vgpu_file_fops_no_poll);
	if (IS_ERR(file)) {
		iput(inode);
		return file;
	}
	vgpu_file_attach(file, object);
	return file;
}

/**
 * vgpu_proxy_file - get the file of an object
 * @object: the object; the caller's reference is taken over, also on failure
 * @from: file of the call that returned the object
 *
 * Return: the file with a reference, created if necessary, or an ERR_PTR().
 */
struct file *vgpu_proxy_file(struct vgpu_object *object, struct file *from)
{
	struct file *file = NULL;

	mutex_lock(&object->file_lock);
	if (object->file)
		file = vgpu_file_get_active(&object->file);
	if (file) {
		mutex_unlock(&object->file_lock);
		/* The file has a reference of the object, so this one is not the last. */
		vgpu_object_put(object);
		return file;
	}
	file = proxy_create(object, from);
	if (!IS_ERR(file))
		object->file = file;
	mutex_unlock(&object->file_lock);
	if (IS_ERR(file))
		vgpu_object_put(object);
	return file;
}
