// SPDX-License-Identifier: GPL-2.0-only
/*
 * File operations. An operation that the host's file lacks fails with the errno that the VFS
 * returns for a file without the operation. No call is made for it.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/uaccess.h>

#include <drm/drm_drv.h>

#include "argument/schema.h"
#include "compat.h"
#include "file/ahead.h"
#include "file/file.h"
#include "file/op.h"
#include "file/poll.h"
#include "link/call.h"
#include "link/export.h"
#include "link/host.h"
#include "link/session.h"
#include "memory/blank.h"
#include "memory/mapping_mmap.h"
#include "memory/space.h"
#include "plant.h"

/* Flags of open() that a driver may look at. */
#define FILE_OPEN_FLAGS	(O_ACCMODE | O_EXCL | O_NOCTTY | O_TRUNC | O_APPEND | O_NONBLOCK | \
			 O_DSYNC | FASYNC | O_DIRECT | O_LARGEFILE | O_NOATIME | __O_SYNC)

/**
 * vgpu_file_object - get the object that a file shows
 * @file: any file
 *
 * Return: the object, valid while @file is held, or NULL if the file is none of ours.
 */
struct vgpu_object *vgpu_file_object(struct file *file)
{
	return file->f_op->release == vgpu_file_release ? file->private_data : NULL;
}

/**
 * vgpu_file_attach - make a file show an object
 * @file: a new file, which no other thread knows yet
 * @object: the object; the file takes over the caller's reference
 */
void vgpu_file_attach(struct file *file, struct vgpu_object *object)
{
	file->private_data = object;
	file->f_mapping = vgpu_space_mapping(object->memory.space);
	if (object->fops & VGPU_FOP_NO_PREAD)
		file->f_mode &= ~FMODE_PREAD;
	if (object->fops & VGPU_FOP_NO_PWRITE)
		file->f_mode &= ~FMODE_PWRITE;
	if (!(object->fops & VGPU_FOP_LLSEEK))
		file->f_mode &= ~FMODE_LSEEK;
	if (object->fops & VGPU_FOP_STREAM)
		stream_open(file_inode(file), file);
}

/**
 * vgpu_file_open_export - open an export for a file
 * @file: file that is being opened
 * @export: export to open
 * @drm: DRM device, which the object gets a reference of, or NULL
 * @no_poll: operations for a file that cannot be polled
 *
 * Return: 0 or the result of the driver's open.
 */
int vgpu_file_open_export(struct file *file, struct vgpu_export *export, struct drm_device *drm,
			  const struct file_operations *no_poll)
{
	struct vgpu_host *host = export->host;
	struct vgpu_session *session;
	struct vgpu_object *object;
	struct vgpu_guest_call xcall;
	int ret;

	if (READ_ONCE(export->gone))
		return -ENODEV;
	session = vgpu_session_current(host, VGPU_SESSION_RENEW);
	if (IS_ERR(session))
		return PTR_ERR(session);
	vgpu_guest_call_init(&xcall, VGPU_OP_OPEN, 0);
	xcall.msg.f_flags = cpu_to_le32(file->f_flags & VGPU_OP_FLAGS);
	xcall.msg.args.open.export = cpu_to_le32(export->id);
	xcall.msg.args.open.flags = cpu_to_le32(file->f_flags & FILE_OPEN_FLAGS);
	xcall.stats = &export->stats;
	xcall.file = file;
	ret = vgpu_op_run(session, NULL, &xcall);
	if (!ret)
		ret = vgpu_call_result(&xcall);
	if (ret)
		goto out_fini_call;

	object = vgpu_object_adopt(export, vgpu_export_schema(export), xcall.reply.objects,
				   session, NULL);
	if (IS_ERR(object)) {
		ret = PTR_ERR(object);
		goto out_fini_call;
	}
	if (drm && !object->node.drm) {
		drm_dev_get(drm);
		object->node.drm = drm;
	}
	object->opener.session = session->number;
	vgpu_file_attach(file, object);
	/* Other threads can find the file from here on. */
	mutex_lock(&object->file_lock);
	object->file = file;
	mutex_unlock(&object->file_lock);
	/* All sets of file operations have the same owner, so the module reference stays valid. */
	if (!(object->fops & VGPU_FOP_POLL))
		file->f_op = no_poll;
	else if ((object->fops & VGPU_FOP_FASYNC) && !drm)
		file->f_op = &vgpu_file_fops_fasync;

out_fini_call:
	vgpu_guest_call_fini(&xcall);
	vgpu_session_put(session);
	return ret;
}

static int vgpu_file_open(struct inode *inode, struct file *file)
{
	struct vgpu_export *export = container_of(inode->i_cdev, struct vgpu_export, cdev);

	return vgpu_file_open_export(file, export, NULL, &vgpu_file_fops_no_poll);
}

/* f_op->release */
int vgpu_file_release(struct inode *inode, struct file *file)
{
	struct vgpu_object *object = file->private_data;

	mutex_lock(&object->file_lock);
	if (object->file == file)
		object->file = NULL;
	mutex_unlock(&object->file_lock);
	vgpu_object_release(object);
	return 0;
}

/* f_op->read */
ssize_t vgpu_file_read(struct file *file, char __user *buf, size_t count, loff_t *ppos)
{
	struct vgpu_object *object = file->private_data;
	struct vgpu_guest_call xcall;
	bool replied;
	s64 ret;

	if (!(object->fops & VGPU_FOP_READ))
		return -EINVAL;
	if (vgpu_ahead_is_for(object))
		return vgpu_ahead_read(file, buf, count);
	/* A longer read becomes a short one. */
	count = min_t(size_t, count, object->host->limits.call_bytes - VGPU_PAGE_SIZE);
	vgpu_op_fill_call(file, &xcall, VGPU_OP_READ, ppos ? *ppos : 0);
	vgpu_guest_call_seg(&xcall, buf, count, VGPU_SEG_OUT, NULL);
	ret = vgpu_op_call(file, &xcall, &replied);
	if (replied) {
		if (ret > VGPU_PAGE_SIZE && vgpu_planted(VGPU_PLANT_READ))
			ret--;
		if (ret > 0 && copy_to_user(buf, xcall.reply.data, ret))
			ret = -EFAULT;
		if (ppos)
			*ppos = le64_to_cpu(xcall.reply.reply->pos);
	}
	vgpu_guest_call_fini(&xcall);
	return ret;
}

/* Check for a reply of a host that has no demand pages for the file, or no more of them. */
static bool file_lacks_pages(const struct vgpu_guest_call *xcall, s64 ret)
{
	return (le32_to_cpu(xcall->reply.reply->flags) & VGPU_REPLY_REFUSED) &&
	       (ret == -ENOBUFS || ret == -ENOMEM || ret == -EOPNOTSUPP);
}

/* f_op->write */
ssize_t vgpu_file_write(struct file *file, const char __user *buf, size_t count, loff_t *ppos)
{
	struct vgpu_object *object = file->private_data;
	struct vgpu_guest_call xcall;
	unsigned long left;
	bool replied;
	u32 padded;
	u8 *data;
	s64 ret;

	if (!(object->fops & VGPU_FOP_WRITE))
		return -EINVAL;
	count = min_t(size_t, count, object->host->limits.call_bytes - VGPU_PAGE_SIZE);
	padded = vgpu_wire_pad(count);
	data = kvmalloc(padded, GFP_KERNEL_ACCOUNT);
	if (!data)
		return -ENOMEM;
	left = copy_from_user(data, buf, count);
	if (left) {
		kvfree(data);
		data = NULL;
		if (!(object->host->terms.features & VGPU_FEATURE_WRITE_NAMED))
			return -EFAULT;
	}
	vgpu_op_fill_call(file, &xcall, VGPU_OP_WRITE, ppos ? *ppos : 0);
	if (left) {
		/* Some drivers write what can be read, and some do not read all of it. */
		xcall.msg.args.write.addr = cpu_to_le64((unsigned long)buf);
		xcall.msg.args.write.len = cpu_to_le32(count);
	} else {
		memset(data + count, 0, padded - count);
		vgpu_guest_call_seg(&xcall, buf, count, VGPU_SEG_IN, data);
	}
	ret = vgpu_op_call(file, &xcall, &replied);
	/* The driver's position is of no use if the host lacked pages. */
	if (left && replied && file_lacks_pages(&xcall, ret))
		ret = -EFAULT;
	else if (replied && ppos)
		*ppos = le64_to_cpu(xcall.reply.reply->pos);
	vgpu_guest_call_fini(&xcall);
	kvfree(data);
	return ret;
}

/* f_op->llseek */
loff_t vgpu_file_llseek(struct file *file, loff_t offset, int whence)
{
	struct vgpu_object *object = file->private_data;
	struct vgpu_guest_call xcall;
	bool replied;
	loff_t ret;

	if (!(object->fops & VGPU_FOP_LLSEEK))
		return -ESPIPE;
	vgpu_op_fill_call(file, &xcall, VGPU_OP_LLSEEK, file->f_pos);
	xcall.flags = VGPU_GUEST_CALL_NO_MAPPED;
	xcall.msg.args.llseek.offset = cpu_to_le64(offset);
	xcall.msg.args.llseek.whence = cpu_to_le32(whence);
	ret = vgpu_op_call(file, &xcall, &replied);
	if (replied && !(whence == SEEK_CUR && vgpu_planted(VGPU_PLANT_SEEK)))
		file->f_pos = le64_to_cpu(xcall.reply.reply->pos);
	vgpu_guest_call_fini(&xcall);
	return ret;
}

/* f_op->mmap */
int vgpu_file_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct vgpu_object *object = file->private_data;
	int ret;

	if (!(object->fops & VGPU_FOP_MMAP) ||
	    !(object->host->terms.features & VGPU_FEATURE_COPY_MMAP) ||
	    vgpu_host_is_down(object->host))
		return -ENODEV;
	ret = vgpu_schema_check_map(object->schema, (u64)vma->vm_pgoff << PAGE_SHIFT);
	return ret ?: vgpu_mapping_mmap(object, vma);
}

/*
 * f_op->get_unmapped_area. The shadow maps the file at the same address. If a program leaves the
 * address to the kernel, a mapping of 2 MiB or more begins at a multiple of 2 MiB, whatever its
 * offset in the file. Device memory begins at such addresses, so PMD mappings are possible here,
 * in the window and in the shadow.
 */
unsigned long vgpu_file_get_unmapped_area(struct file *file, unsigned long addr,
					  unsigned long len, unsigned long pgoff,
					  unsigned long flags)
{
#ifdef CONFIG_TRANSPARENT_HUGEPAGE
	if (!addr && len >= PMD_SIZE)
		return thp_get_unmapped_area(file, addr, len, 0, flags);
#endif
	return vgpu_get_unmapped_area(file, addr, len, pgoff, flags);
}

const struct file_operations vgpu_file_fops = {
	VGPU_FILE_OPERATIONS,
	.open = vgpu_file_open,
	.poll = vgpu_poll,
};

const struct file_operations vgpu_file_fops_no_poll = {
	VGPU_FILE_OPERATIONS,
	.open = vgpu_file_open,
};

/* Devices that may send SIGIO have fasync. No DRM device sends SIGIO. */
const struct file_operations vgpu_file_fops_fasync = {
	VGPU_FILE_OPERATIONS,
	.open = vgpu_file_open,
	.poll = vgpu_poll,
	.fasync = vgpu_fasync,
};
