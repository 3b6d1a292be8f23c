// SPDX-License-Identifier: GPL-2.0-only
/*
 * The plain file operations: open, close, read, write, llseek, fdinfo. Each checks first
 * what the VFS would have checked.
 */
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include <drm/drm_ioctl.h>

#include "caller.h"
#include "host.h"
#include "compat.h"

/* Of drm.h, which is not included for a number that never changes. */
#define FOPS_DRM_DROP_MASTER	_IO('d', 0x1f)

/* DRM's other major number (ACCEL_MAJOR), which not all kernels have a header for. */
#define FOPS_ACCEL_MAJOR	261

/* Times that somebody else may become or stop being master in between. */
#define FOPS_OPEN_TRIES		8

/* Return: it was master. */
static bool fops_drop_master(struct file *file)
{
	return !file->f_op->unlocked_ioctl(file, FOPS_DRM_DROP_MASTER, 0);
}

/*
 * Whoever opens a card node that has no master becomes it, and stays
 * authenticated when it no longer is. A guest does so only by permission: its
 * file is one that was opened while another was master, if need be our own.
 * The bit stays refused in vgpu_ioctl_run().
 *
 * So a card without a master has one for that moment, which nothing spares us: drm_open() gives
 * it away, nobody can ask before whether there is one, and a file of ours that stayed master
 * would keep the host's own programs from it. The guest gets no file that ever was.
 */
static struct file *fops_open(struct vgpu_grant *grant, u32 flags)
{
	const struct vgpu_export *export = grant->export;
	struct file *first, *file;
	unsigned int i;

	for (i = 0; i < FOPS_OPEN_TRIES; i++) {
		first = vgpu_grant_open(grant, flags);
		if (IS_ERR(first) || export->kind != VGPU_EXPORT_DRM_PRIMARY ||
		    (export->flags & VGPU_HOST_EXPORT_MASTER) || !first->f_op->unlocked_ioctl)
			return first;
		file = vgpu_grant_open(grant, flags);
		fops_drop_master(first);
		filp_close(first, current->files);
		if (IS_ERR(file) || !fops_drop_master(file))
			return file;
		filp_close(file, current->files);
	}
	return ERR_PTR(-EBUSY);
}

s64 vgpu_fops_open(struct vgpu_hcall *call)
{
	const struct vgpu_args_open *args = &call->view.call->args.open;
	struct vgpu_peer *peer = call->lane->session->peer;
	struct vgpu_object *object;
	struct vgpu_grant *grant;
	struct file *file;
	u32 reference;
	int ret;

	grant = vgpu_grant_find(peer, le32_to_cpu(args->export));
	if (!grant)
		return vgpu_call_refuse(call, -ENODEV);
	file = fops_open(grant, le32_to_cpu(args->flags));
	if (IS_ERR(file)) {
		vgpu_grant_put(grant);
		return PTR_ERR(file);
	}
	object = vgpu_object_take(peer, file, grant, grant, &reference);
	vgpu_grant_put(grant);
	if (IS_ERR(object))
		return vgpu_call_refuse(call, PTR_ERR(object));
	vgpu_object_describe(object, reference, &call->objects[0]);
	call->objects[0].fixup = 0;
	call->nr_objects = 1;
	ret = vgpu_card_add(call->lane->session, object);
	vgpu_object_put(object);
	if (ret) {
		vgpu_call_take_back(call);
		return vgpu_call_refuse(call, ret);
	}
	return 0;
}

/*
 * The last reference is put when the call is finished, the ->release runs on
 * the way to user mode, and the reply comes after that.
 */
s64 vgpu_fops_close(struct vgpu_hcall *call)
{
	const struct vgpu_call *msg = call->view.call;
	struct vgpu_session *session = call->lane->session;
	struct vgpu_peer *peer = session->peer;
	struct vgpu_object *object;
	u64 leave;

	object = vgpu_object_release(peer, le32_to_cpu(msg->object),
				     le32_to_cpu(msg->args.close.reference));
	if (IS_ERR(object))
		return vgpu_call_refuse(call, PTR_ERR(object));
	vgpu_lane_closes(call->lane);
	if (!object)
		return 0;
	vgpu_card_forget(session, object->id);
	leave = object->leave;
	/* Nobody finds the object any more, but its number is the file's until that is released. */
	if (!leave)
		call->closed_fd = vgpu_object_keep_fd(object);
	vgpu_object_flush(object, 0);
	vgpu_object_put(object);
	/* Another thread closes it. A killed one says nothing more to the guest. */
	if (leave)
		wait_event_killable(peer->wait, vgpu_leave_settled(peer, leave));
	return 0;
}

/* As new_sync_read() and new_sync_write() do it; @rw: ITER_DEST or ITER_SOURCE. */
static ssize_t fops_iter(struct file *file, unsigned int rw, char __user *buf, size_t len,
			 loff_t *pos)
{
	struct iov_iter iter;
	struct kiocb kiocb;
	ssize_t ret;

	init_sync_kiocb(&kiocb, file);
	kiocb.ki_pos = pos ? *pos : 0;
	iov_iter_ubuf(&iter, rw, buf, len);
	if (rw == ITER_DEST)
		ret = file->f_op->read_iter(&kiocb, &iter);
	else
		ret = file->f_op->write_iter(&kiocb, &iter);
	if (pos)
		*pos = kiocb.ki_pos;
	return ret;
}

/* Return: length that may be read or written, or an errno. */
static ssize_t fops_check_rw(struct vgpu_hcall *call, int rw, loff_t *pos, size_t len)
{
	struct file *file = call->object->file;
	int ret;

	if (!(file->f_mode & (rw == READ ? FMODE_READ : FMODE_WRITE)))
		return -EBADF;
	if (!(file->f_mode & (rw == READ ? FMODE_CAN_READ : FMODE_CAN_WRITE)))
		return -EINVAL;
	len = min_t(size_t, len, MAX_RW_COUNT);
	ret = rw_verify_area(rw, file, pos, len);
	return ret ?: len;
}

s64 vgpu_fops_read(struct vgpu_hcall *call)
{
	struct file *file = call->object->file;
	loff_t *pos = file->f_mode & FMODE_STREAM ? NULL : (loff_t *)&call->pos;
	char __user *buf;
	ssize_t len, ret;
	int error;

	len = fops_check_rw(call, READ, pos, le32_to_cpu(call->view.segs[0].len));
	if (len < 0)
		return len;
	error = vgpu_call_alloc_scratch(call, len);
	if (error)
		return vgpu_call_refuse(call, error);
	buf = (char __user *)call->scratch;
	vgpu_caller_begin(call);
	if (file->f_op->read)
		ret = file->f_op->read(file, buf, len, pos);
	else
		ret = fops_iter(file, ITER_DEST, buf, len, pos);
	vgpu_caller_end();
	if (ret <= 0)
		return ret;
	if (ret > len)
		return -EIO;
	error = vgpu_call_alloc_data(call, ret);
	if (error)
		return vgpu_call_refuse(call, error);
	if (copy_from_user(call->data, buf, ret))
		return -EFAULT;
	call->data_len = vgpu_wire_pad(ret);
	return ret;
}

s64 vgpu_fops_write(struct vgpu_hcall *call)
{
	struct file *file = call->object->file;
	loff_t *pos = file->f_mode & FMODE_STREAM ? NULL : (loff_t *)&call->pos;
	char __user *buf;
	ssize_t len, ret;
	int error;

	len = fops_check_rw(call, WRITE, pos, le32_to_cpu(call->view.segs[0].len));
	if (len < 0)
		return len;
	error = vgpu_call_alloc_scratch(call, len);
	if (error)
		return vgpu_call_refuse(call, error);
	buf = (char __user *)call->scratch;
	if (copy_to_user(buf, call->view.data, len))
		return -EFAULT;
	vgpu_caller_begin(call);
	if (file->f_op->write)
		ret = file->f_op->write(file, buf, len, pos);
	else
		ret = fops_iter(file, ITER_SOURCE, buf, len, pos);
	vgpu_caller_end();
	return ret;
}

/* The position is the guest's; f_pos_lock is held as the system call would. */
s64 vgpu_fops_llseek(struct vgpu_hcall *call)
{
	const struct vgpu_args_llseek *args = &call->view.call->args.llseek;
	struct file *file = call->object->file;
	loff_t ret;

	/* Another's may be in the driver, for as long as that likes. */
	if (mutex_lock_interruptible(&file->f_pos_lock))
		return -ERESTARTSYS;
	file->f_pos = call->pos;
	ret = vfs_llseek(file, le64_to_cpu(args->offset), le32_to_cpu(args->whence));
	call->pos = file->f_pos;
	mutex_unlock(&file->f_pos_lock);
	return ret;
}

/*
 * Only such files are asked as are known to need nothing of a seq_file but its buffer and the file.
 * Others may take for granted what there is where procfs has opened it.
 */
bool vgpu_fops_has_fdinfo(const struct vgpu_object *object)
{
	const struct inode *inode = file_inode(object->file);

	if (!object->file->f_op->show_fdinfo)
		return false;
	return object->kind == VGPU_OBJECT_DMABUF ||
	       (object->kind == VGPU_OBJECT_DEVICE &&
		(imajor(inode) == DRM_MAJOR || imajor(inode) == FOPS_ACCEL_MAJOR));
}

/*
 * What the driver adds to /proc/PID/fdinfo. There is no file of procfs here, but
 * a buffer is all that seq_printf() and its kin need, and the file's credentials
 * for those who ask in which namespace an id is to be shown.
 */
s64 vgpu_fops_fdinfo(struct vgpu_hcall *call)
{
	struct file *file = call->object->file;
	struct seq_file seq = { .file = file };
	int ret;

	if (!vgpu_fops_has_fdinfo(call->object))
		return 0;
	ret = vgpu_call_alloc_data(call, le32_to_cpu(call->view.segs[0].len));
	if (ret)
		return vgpu_call_refuse(call, ret);
	seq.buf = call->data;
	seq.size = le32_to_cpu(call->view.segs[0].len);
	file->f_op->show_fdinfo(&seq, file);
	/* As procfs, which would try again with more room, shows no half a line. */
	if (seq_has_overflowed(&seq))
		return -EOVERFLOW;
	memset(call->data + seq.count, 0, vgpu_wire_pad(seq.count) - seq.count);
	call->data_len = vgpu_wire_pad(seq.count);
	return seq.count;
}
