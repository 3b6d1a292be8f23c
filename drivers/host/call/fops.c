// SPDX-License-Identifier: GPL-2.0-only
/*
 * The plain file operations: open, close, read, write, llseek, poll, fdinfo. Each first makes
 * the checks that the VFS would have made.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include "base/caller.h"
#include "call/fops.h"
#include "compat.h"
#include "memory/mmap.h"
#include "object/flush.h"
#include "object/leave.h"
#include "object/object.h"
#include "object/poll.h"
#include "peer/agent.h"
#include "peer/grant.h"
#include "session/call.h"
#include "session/card.h"
#include "session/lane.h"
#include "session/room.h"
#include "wire.h"

/* Number of attempts to open, as other processes may become or stop being master in between. */
#define FOPS_OPEN_TRIES		8

/*
 * After an open that has made a file of the host master, a guest's next one waits for this time,
 * and for this many times as long as that file was master, but no longer than the last.
 */
#define FOPS_BESIDE_NS		(10 * NSEC_PER_MSEC)
#define FOPS_BESIDE_TIMES	10
#define FOPS_BESIDE_MOST_NS	(200ULL * NSEC_PER_MSEC)

/* Give up the mastership of @file. Return: true if it was master. */
static bool fops_drop_master(struct file *file)
{
	return !file->f_op->unlocked_ioctl(file, VGPU_DRM_DROP_MASTER, 0);
}

/*
 * Wait until an open may begin. A CANCEL does not end this short wait: a program with a timer could
 * not open the card otherwise. Return: 0; -ERESTARTSYS if the lane has ended; -ENODEV if the grant
 * was revoked.
 */
static int fops_await_beside(struct vgpuh_lane *lane, const struct vgpu_grant *grant)
{
	u64 now;

	do {
		if (fatal_signal_pending(current) || READ_ONCE(lane->session->ending) ||
		    vgpu_conn_is_ending(&lane->conn))
			return -ERESTARTSYS;
		now = ktime_get_ns();
		if (now < grant->beside_from)
			schedule_timeout_killable(nsecs_to_jiffies(grant->beside_from - now) + 1);
	} while (now < grant->beside_from);
	return READ_ONCE(grant->revoked) ? -ENODEV : 0;
}

/*
 * Open a file for a guest. DRM makes the opener of a card without a master its master, and the
 * file stays authenticated after it loses that role. A guest needs permission for this. Without
 * it, the guest gets a file that was opened while another file was master, if necessary one that
 * the host opens here for that. vgpu_policy_ioctl() denies such a guest DRM_IOCTL_SET_MASTER.
 *
 * So a card without a master has one for a moment. This cannot be avoided: drm_open() makes the
 * opener master, the module has no way to find out before whether there is a master, and a file
 * of the host that stayed master would keep the host's own programs from that role. The guest
 * never gets a file that was master. A guest makes one such open at a time, and leaves the card
 * alone for much longer after it: with opens on many lanes it could keep the host's programs from
 * that role otherwise.
 */
static struct file *fops_open_beside(struct vgpuh_lane *lane, struct vgpu_grant *grant, u32 flags)
{
	struct file *first, *file;
	bool was_master, again;
	unsigned int i;
	u64 start, now;
	int ret;

	lockdep_assert_held(&grant->beside_lock);
	for (i = 0; i < FOPS_OPEN_TRIES; i++) {
		ret = fops_await_beside(lane, grant);
		if (ret)
			return ERR_PTR(ret);
		/* The driver may wake the device up before it makes the file master. */
		first = vgpu_grant_open(grant, flags);
		start = ktime_get_ns();
		if (IS_ERR(first) || !first->f_op->unlocked_ioctl)
			return first;
		file = vgpu_grant_open(grant, flags);
		was_master = fops_drop_master(first);
		filp_close(first, current->files);
		again = !IS_ERR(file) && fops_drop_master(file);
		now = ktime_get_ns();
		if (was_master || again)
			grant->beside_from = now +
				min(FOPS_BESIDE_NS + FOPS_BESIDE_TIMES * (now - start),
				    FOPS_BESIDE_MOST_NS);
		if (!again)
			return file;
		filp_close(file, current->files);
	}
	return ERR_PTR(-EBUSY);
}

static struct file *fops_open(struct vgpuh_lane *lane, struct vgpu_grant *grant, u32 flags)
{
	const struct vgpuh_export *export = grant->export;
	struct file *file;

	if (export->kind != VGPU_EXPORT_DRM_PRIMARY || (export->flags & VGPU_HOST_EXPORT_MASTER))
		return vgpu_grant_open(grant, flags);
	/*
	 * A CANCEL does not end this wait either. It is as long as the opens of the guest's other
	 * lanes, which end at once with their lanes.
	 */
	if (mutex_lock_killable(&grant->beside_lock))
		return ERR_PTR(-ERESTARTSYS);
	file = fops_open_beside(lane, grant, flags);
	mutex_unlock(&grant->beside_lock);
	return file;
}

s64 vgpu_fops_open(struct vgpuh_call *call)
{
	const struct vgpu_args_open *args = &call->view.call->args.open;
	struct vgpu_peer *peer = call->lane->session->peer;
	struct vgpuh_object *object;
	struct vgpu_grant *grant;
	struct file *file;
	u32 reference;
	int ret;

	grant = vgpu_grant_find(peer, le32_to_cpu(args->export));
	if (!grant)
		return vgpuh_call_refuse(call, -ENODEV);
	file = fops_open(call->lane, grant, le32_to_cpu(args->flags));
	if (IS_ERR(file)) {
		vgpu_grant_put(grant);
		return PTR_ERR(file);
	}
	object = vgpuh_object_take(peer, file, grant, grant, &reference);
	vgpu_grant_put(grant);
	if (IS_ERR(object))
		return vgpuh_call_refuse(call, PTR_ERR(object));
	vgpuh_object_describe(object, reference, &call->reply.objects[0]);
	call->reply.objects[0].fixup = 0;
	call->reply.nr_objects = 1;
	ret = vgpu_card_add(call->lane->session, object);
	vgpuh_object_put(object);
	if (ret) {
		vgpuh_call_take_back(call);
		return vgpuh_call_refuse(call, ret);
	}
	return 0;
}

/*
 * Run a CLOSE call. The last reference is put when the call is finished, ->release runs on the
 * way to user mode, and the reply is sent after that.
 */
s64 vgpu_fops_close(struct vgpuh_call *call)
{
	const struct vgpu_call *msg = call->view.call;
	struct vgpuh_session *session = call->lane->session;
	struct vgpu_peer *peer = session->peer;
	struct vgpuh_object *object;
	struct vgpu_leave_wait wait;
	bool leaves;

	object = vgpuh_object_release(peer, le32_to_cpu(msg->object),
				      le32_to_cpu(msg->args.close.reference));
	if (IS_ERR(object))
		return vgpuh_call_refuse(call, PTR_ERR(object));
	vgpuh_lane_closes(call->lane);
	if (!object)
		return 0;
	vgpu_card_forget(session, object->id);
	leaves = object->leave.number;
	/*
	 * The object cannot be found any more, but its number belongs to the file until the
	 * release.
	 */
	if (!leaves)
		call->closed_fd = vgpuh_object_keep_fd(object);
	vgpuh_object_flush(object, 0);
	if (leaves)
		vgpu_leave_expect(object, &wait);
	vgpuh_object_put(object);
	/* Another thread puts the file. If this one is killed, the guest gets no reply anyway. */
	if (leaves)
		vgpu_leave_wait(peer, object, &wait, TASK_KILLABLE);
	return 0;
}

/* Call the driver as vfs_read() and vfs_write() do. */
static ssize_t fops_driver(struct file *file, int rw, char __user *buf, size_t len, loff_t *pos)
{
	struct iov_iter iter;
	struct kiocb kiocb;
	ssize_t ret;

	if (rw == READ && file->f_op->read)
		return file->f_op->read(file, buf, len, pos);
	if (rw == WRITE && file->f_op->write)
		return file->f_op->write(file, buf, len, pos);
	init_sync_kiocb(&kiocb, file);
	kiocb.ki_pos = pos ? *pos : 0;
	iov_iter_ubuf(&iter, rw == READ ? ITER_DEST : ITER_SOURCE, buf, len);
	if (rw == READ)
		ret = file->f_op->read_iter(&kiocb, &iter);
	else
		ret = file->f_op->write_iter(&kiocb, &iter);
	if (pos)
		*pos = kiocb.ki_pos;
	return ret;
}

/*
 * Check a read or write as the VFS does.
 * Return: number of bytes that may be read or written, or a negative errno.
 */
static ssize_t fops_check_rw(struct vgpuh_call *call, int rw, loff_t *pos, size_t len)
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

/*
 * Check for a WRITE that names the program's buffer, as the program cannot read all of it. How much
 * of it is written then depends on what its driver reads, and in which order.
 */
static bool fops_names_buffer(const struct vgpuh_call *call, int rw)
{
	return rw == WRITE && !vgpu_view_nr_segs(&call->view);
}

static size_t fops_length(const struct vgpuh_call *call, int rw)
{
	return rw == WRITE ? vgpu_wire_write_len(&call->view) :
		le32_to_cpu(call->view.segs[0].len);
}

/* Check the program's buffer: nothing of the shadow's own may reach the driver. */
static bool fops_buffer_ok(const struct vgpuh_call *call, const char __user *buf, size_t len)
{
	const u64 addr = (unsigned long)buf;

	return access_ok(buf, len) &&
	       !vgpu_agent_in_reserved(call->lane->session->peer->agent, addr, len) &&
	       !vgpuh_mapping_over_args(addr, addr + len);
}

/* Run a READ or WRITE call, with the bytes in the call's scratch memory unless they are named. */
static ssize_t fops_rw(struct vgpuh_call *call, int rw)
{
	struct file *file = call->object->file;
	loff_t *pos = file->f_mode & FMODE_STREAM ? NULL : (loff_t *)&call->reply.pos;
	char __user *buf;
	const bool named = fops_names_buffer(call, rw);
	ssize_t len, ret;
	int error;

	len = fops_check_rw(call, rw, pos, fops_length(call, rw));
	if (len < 0)
		return len;
	if (named) {
		buf = u64_to_user_ptr(le64_to_cpu(call->view.call->args.write.addr));
		if (!fops_buffer_ok(call, buf, len))
			return -EFAULT;
		error = vgpu_room_take(call);
	} else {
		error = vgpuh_call_alloc_scratch(call, len);
		buf = (char __user *)call->scratch.addr;
	}
	if (error)
		return vgpuh_call_refuse(call, error);
	if (rw == WRITE && !named && copy_to_user(buf, call->view.data, len))
		return -EFAULT;
	vgpu_caller_begin(vgpuh_call_is_compat(call));
	ret = fops_driver(file, rw, buf, len, pos);
	vgpu_caller_end();
	return rw == READ && ret > len ? -EIO : ret;
}

s64 vgpu_fops_read(struct vgpuh_call *call)
{
	ssize_t ret = fops_rw(call, READ);
	int error;

	if (ret <= 0)
		return ret;
	error = vgpuh_call_alloc_data(call, ret);
	if (error)
		return vgpuh_call_refuse(call, error);
	if (copy_from_user(call->reply.data, (char __user *)call->scratch.addr, ret))
		return -EFAULT;
	call->reply.data_len = vgpu_wire_pad(ret);
	return ret;
}

s64 vgpu_fops_write(struct vgpuh_call *call)
{
	return fops_rw(call, WRITE);
}

/* Run a LLSEEK call with the guest's position, under f_pos_lock as the system call does. */
s64 vgpu_fops_llseek(struct vgpuh_call *call)
{
	const struct vgpu_args_llseek *args = &call->view.call->args.llseek;
	struct file *file = call->object->file;
	loff_t ret;

	/* Another thread may be in the driver with the lock, for any time. */
	if (mutex_lock_interruptible(&file->f_pos_lock))
		return -ERESTARTSYS;
	file->f_pos = call->reply.pos;
	ret = vfs_llseek(file, le64_to_cpu(args->offset), le32_to_cpu(args->whence));
	call->reply.pos = file->f_pos;
	mutex_unlock(&file->f_pos_lock);
	return ret;
}

/*
 * Run a FDINFO call: return what the driver adds to /proc/PID/fdinfo. No file of procfs is open
 * here. seq_printf() and similar functions only need a buffer; drivers that ask in which
 * namespace an id is to be shown use the file's credentials.
 */
s64 vgpu_fops_fdinfo(struct vgpuh_call *call)
{
	struct file *file = call->object->file;
	struct seq_file seq = { .file = file };
	int ret;

	if (!vgpuh_object_has_fdinfo(call->object))
		return 0;
	ret = vgpuh_call_alloc_data(call, le32_to_cpu(call->view.segs[0].len));
	if (ret)
		return vgpuh_call_refuse(call, ret);
	seq.buf = call->reply.data;
	seq.size = le32_to_cpu(call->view.segs[0].len);
	file->f_op->show_fdinfo(&seq, file);
	/* An incomplete line is not shown; procfs would try again with a larger buffer. */
	if (seq_has_overflowed(&seq))
		return -EOVERFLOW;
	memset(call->reply.data + seq.count, 0, vgpu_wire_pad(seq.count) - seq.count);
	call->reply.data_len = vgpu_wire_pad(seq.count);
	return seq.count;
}

s64 vgpu_fops_poll(struct vgpuh_call *call)
{
	const struct vgpu_args_poll *args = &call->view.call->args.poll;
	s64 revents = vgpu_poll_arm(call->object, le32_to_cpu(args->events),
				    le32_to_cpu(args->number),
				    le32_to_cpu(args->flags) & VGPU_POLL_STAY);

	if (revents < 0)
		return vgpuh_call_refuse(call, revents);
	call->reply.out.poll.revents = cpu_to_le32(revents);
	return 0;
}
