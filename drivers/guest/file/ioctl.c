// SPDX-License-Identifier: GPL-2.0-only
/*
 * ioctl. The marshaller turns the argument into segments and copies the results back. This file
 * makes the call in between, and implements what the marshaller needs to know of fds.
 */
#include <linux/capability.h>
#include <linux/compat.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/overflow.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "argument/marshal.h"
#include "argument/schema.h"
#include "file/class.h"
#include "file/event.h"
#include "file/file.h"
#include "file/ioctl.h"
#include "file/map_ioctl.h"
#include "file/object.h"
#include "file/op.h"
#include "file/proxy.h"
#include "file/ready.h"
#include "link/call.h"
#include "link/clock_convert.h"
#include "link/export.h"
#include "link/host.h"
#include "link/session.h"
#include "link/trace.h"
#include "link/traced.h"
#include "memory/blank.h"
#include "memory/keep.h"
#include "memory/keep_claim.h"
#include "memory/reserve.h"
#include "memory/state.h"
#include "memory/window.h"
#include "plant.h"

/**
 * struct vgpu_ioctl - one ioctl that is being made
 * @file: file of the ioctl
 * @object: object that the file shows
 * @session: session of the call
 * @xcall: the call
 * @m: marshalled argument
 * @low: address below 4 GiB of a range for the segments of a 32-bit program's ioctl
 * @low_len: length of that range in bytes; 0: none was reserved
 * @seen: state of the object before the call
 * @blank: state of blank.c: effect of the ioctl on blank buffers
 * @kept: memory that the ioctl hands over to the device
 * @traced: state of the tracepoint; NULL: the ioctl is not traced
 * @refused: true if the errno is not the driver's
 * @class_call: state of the object's class for this ioctl
 */
struct vgpu_ioctl {
	struct file *file;
	struct vgpu_object *object;
	struct vgpu_session *session;
	struct vgpu_guest_call xcall;
	struct vgpu_marshal m;
	unsigned long low;
	u64 low_len;
	struct vgpu_ready_seen seen;
	struct vgpu_blank_call blank;
	struct vgpu_keep_call kept;
	struct vgpu_traced *traced;
	bool refused;
	u8 class_call[] __aligned(__alignof__(u64));
};

static int ioctl_fd_get(void *data, int fd, u32 *id, void **handle)
{
	struct vgpu_ioctl *ioctl = data;
	struct vgpu_object *object;
	struct file *file;

	file = fget(fd);
	if (!file)
		return -EBADF;
	object = vgpu_file_object(file);
	if (!object || object->host != ioctl->object->host) {
		fput(file);
		return -EINVAL;
	}
	vgpu_keep_name(ioctl->session, ioctl->object, object);
	*id = object->id;
	*handle = file;
	return 0;
}

static void ioctl_fd_put(void *data, void *handle)
{
	fput(handle);
}

static int ioctl_fd_reserve(void *data, const struct vgpu_object_desc *desc, void **handle)
{
	struct vgpu_ioctl *ioctl = data;
	struct vgpu_object *object;
	struct file *file;
	int fd;

	object = vgpu_object_adopt(ioctl->object->export,
				   vgpu_schema_for_object(le32_to_cpu(desc->kind),
							  ioctl->object->schema), desc,
				   ioctl->session, ioctl->object);
	if (IS_ERR(object))
		return PTR_ERR(object);
	vgpu_ready_fence_given(object, le32_to_cpu(desc->flags), &ioctl->seen);
	fd = get_unused_fd_flags(le32_to_cpu(desc->flags) & VGPU_OBJECT_CLOEXEC ? O_CLOEXEC : 0);
	if (fd < 0) {
		vgpu_object_put(object);
		return fd;
	}
	file = vgpu_proxy_file(object, ioctl->file);
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		return PTR_ERR(file);
	}
	*handle = file;
	return fd;
}

static void ioctl_fd_install(void *data, int fd, void *handle)
{
	fd_install(fd, handle);
}

static void ioctl_fd_abort(void *data, int fd, void *handle)
{
	put_unused_fd(fd);
	fput(handle);
}

static int ioctl_event_get(void *data, int fd, u32 *number)
{
	struct vgpu_ioctl *ioctl = data;

	return vgpu_event_add(ioctl->object, fd, number);
}

static void ioctl_event_cancel(void *data, u32 number)
{
	struct vgpu_ioctl *ioctl = data;

	vgpu_event_cancel(ioctl->object->host, number);
}

static void ioctl_rdev(void *data, u32 *major, u32 *minor)
{
	struct vgpu_ioctl *ioctl = data;
	dev_t node = vgpu_export_find_node(ioctl->object->host, *major, *minor);

	*major = MAJOR(node);
	*minor = MINOR(node);
}

static u32 ioctl_pid(void *data, enum vgpu_marshal_pid whose)
{
	struct vgpu_ioctl *ioctl = data;

	switch (whose) {
	case VGPU_MARSHAL_OPENER:
		return pid_vnr(ioctl->object->opener.pid);
	case VGPU_MARSHAL_PROCESS:
		return task_tgid_vnr(current);
	default:
		return task_pid_vnr(current);
	}
}

static void ioctl_stamp(void *data, u32 clock, s64 *time)
{
	struct vgpu_ioctl *ioctl = data;

	vgpu_clock_convert(ioctl->object->host, &ioctl->object->times, ioctl->xcall.reply.reply,
			   clock, time);
}

static void ioctl_choose_clock(void *data, u32 clock)
{
	struct vgpu_ioctl *ioctl = data;

	WRITE_ONCE(ioctl->object->times.clock, clock);
}

static int ioctl_keep(void *data, u64 addr, u64 len, bool write, struct vgpu_marshal_kept *kept)
{
	struct vgpu_ioctl *ioctl = data;

	return vgpu_keep_pin(ioctl->object, &ioctl->kept, addr, len, write, kept);
}

static const struct vgpu_marshal_fds ioctl_fds = {
	.get = ioctl_fd_get,
	.put = ioctl_fd_put,
	.event_get = ioctl_event_get,
	.event_cancel = ioctl_event_cancel,
	.reserve = ioctl_fd_reserve,
	.install = ioctl_fd_install,
	.abort = ioctl_fd_abort,
	.rdev = ioctl_rdev,
	.pid = ioctl_pid,
	.stamp = ioctl_stamp,
	.choose_clock = ioctl_choose_clock,
	.keep = ioctl_keep,
};

static int ioctl_reserve(struct vgpu_ioctl *ioctl)
{
	const struct vgpu_marshal *m = &ioctl->m;
	u64 len = PAGE_ALIGN(VGPU_LOW_BYTES(m->nr_segs, m->scratch_bytes));
	int ret;

	if (m->arg_kind != VGPU_IOCTL_ARG_SEG)
		return 0;
	ret = vgpu_reserve_low(len, &ioctl->low);
	if (!ret)
		ioctl->low_len = len;
	return ret;
}

static long ioctl_call(struct file *file, struct vgpu_session *session, struct vgpu_ioctl *ioctl,
		       unsigned int cmd, bool compat)
{
	const struct vgpu_class_ops *class_ops = ioctl->object->export->class_ops;
	struct vgpu_marshal *m = &ioctl->m;
	struct vgpu_guest_call *xcall = &ioctl->xcall;
	struct kvec in = { .iov_base = m->data, .iov_len = m->data_len };
	u16 flags = compat ? VGPU_CALL_COMPAT : 0;
	bool raw;
	long ret;

	vgpu_guest_call_init(xcall, VGPU_OP_IOCTL, ioctl->object->id);
	if (atomic_read(&ioctl->object->export->fences) > 0)
		flags |= VGPU_CALL_WATCH;
	if ((m->entry.flags & VGPU_IOCTL_ADMIN) && ns_capable_noaudit(&init_user_ns, CAP_SYS_ADMIN))
		flags |= VGPU_CALL_ADMIN;
	if (m->found.wants_clocks)
		flags |= VGPU_CALL_CLOCKS;
	xcall->msg.args.ioctl.number = cpu_to_le32(vgpu_ready_ioctl_begin(ioctl->object,
									  &ioctl->seen));
	xcall->msg.flags = cpu_to_le16(flags);
	xcall->msg.f_flags = cpu_to_le32(file->f_flags & (O_ACCMODE | O_APPEND | O_NONBLOCK));
	xcall->msg.pos = cpu_to_le64(file->f_pos);
	xcall->msg.args.ioctl.cmd = cpu_to_le32(cmd);
	xcall->msg.args.ioctl.arg_kind = cpu_to_le32(m->arg_kind);
	xcall->msg.args.ioctl.arg = cpu_to_le64(m->arg);
	xcall->msg.args.ioctl.low = cpu_to_le64(ioctl->low);
	xcall->msg.args.ioctl.low_len = cpu_to_le64(ioctl->low_len);
	xcall->stats = &ioctl->object->export->stats;
	/* Count the ioctl as unknown if no schema describes it: then it has no name. */
	if (!m->entry.name || m->found.unknown_class)
		vgpu_stats_unknown(xcall->stats, cmd, m->found.unknown_class, 0);
	if (m->entry.flags & VGPU_IOCTL_NO_MAPPED)
		xcall->flags |= VGPU_GUEST_CALL_NO_MAPPED;
	if (class_ops->ioctl_send)
		class_ops->ioctl_send(ioctl->object, cmd, m);
	xcall->nr_segs = m->nr_segs;
	xcall->segs = m->segs;
	xcall->nr_fixups = m->nr_fixups;
	xcall->fixups = m->fixups;
	xcall->in = &in;
	xcall->nr_in = !!m->data_len;

	raw = m->found.raw && vgpu_keep_raw_begin(session, ioctl->object);
	ret = vgpu_op_run(session, ioctl->object, xcall);
	/*
	 * Count the command: the host had to fetch memory although all pointers that the schema
	 * knows were followed, so the schema lacks some.
	 */
	if (xcall->fetched && m->found.command && !m->found.raw)
		vgpu_stats_unknown(xcall->stats, cmd, 0, m->found.command);
	if (raw)
		vgpu_keep_raw_end(session, ioctl->object, !ret || !xcall->sent);
	vgpu_ready_ioctl_end(ioctl->object, &ioctl->seen,
			     ret ? NULL : &xcall->reply.reply->out.ioctl);
	if (ret)
		return ret;
	if (xcall->result < 0 && vgpu_planted(VGPU_PLANT_FAILED))
		return vgpu_call_result(xcall);
	ret = vgpu_marshal_finish(m, &xcall->reply, vgpu_call_result(xcall));
	ioctl->refused = le32_to_cpu(xcall->reply.reply->flags) & VGPU_REPLY_REFUSED;
	if (!ioctl->refused && class_ops->ioctl_reply)
		ret = class_ops->ioctl_reply(ioctl->object, cmd, m, &xcall->reply, ret);
	return ret;
}

/* Returns true if a file goes to the driver or comes from it: a dma-buf, perhaps. */
static bool ioctl_shares(const struct vgpu_marshal *m)
{
	u32 i;

	for (i = 0; i < m->nr_fixups; i++) {
		switch (le16_to_cpu(m->fixups[i].type)) {
		case VGPU_FIXUP_FD_IN:
		case VGPU_FIXUP_FD_OUT:
		case VGPU_FIXUP_FD_RET:
			return true;
		}
	}
	return false;
}

static long ioctl_run(struct file *file, unsigned int cmd, unsigned long arg, bool compat)
{
	struct vgpu_object *object = file->private_data;
	const struct vgpu_class_ops *class_ops = object->export->class_ops;
	struct vgpu_session *session;
	struct vgpu_ioctl *ioctl;
	long ret;

	if (!(object->fops & (compat ? VGPU_FOP_COMPAT_IOCTL : VGPU_FOP_IOCTL)))
		return -ENOTTY;
	session = vgpu_session_current(object->host, 0);
	if (IS_ERR(session))
		return PTR_ERR(session);
	ioctl = kmalloc(struct_size(ioctl, class_call, class_ops->call_size), GFP_KERNEL);
	if (!ioctl) {
		ret = -ENOMEM;
		goto out_put_session;
	}
	ioctl->file = file;
	ioctl->object = object;
	ioctl->session = session;
	ioctl->low = 0;
	ioctl->low_len = 0;
	ioctl->refused = false;
	/* Set what the end of this function reads, even if ioctl_call() is not reached. */
	ioctl->xcall.buf = NULL;
	ioctl->xcall.sent = false;
	ioctl->traced = NULL;
	if (trace_vgpu_file_call_enabled()) {
		vgpu_guest_call_init(&ioctl->xcall, VGPU_OP_IOCTL, object->id);
		ioctl->traced = vgpu_traced_ioctl_begin(file, object->export,
							vgpu_schema_find(object->schema, cmd,
									 compat),
							cmd, arg, compat);
	}
	vgpu_keep_call_init(&ioctl->kept);
	vgpu_marshal_init(&ioctl->m, &object->host->limits, &ioctl_fds, ioctl);
	ioctl->m.caller.learned = &object->export->learned;
	ioctl->m.caller.live = vgpu_window_is_there(object->host);
	if (class_ops->ioctl_begin)
		class_ops->ioctl_begin(ioctl->class_call, object, cmd, arg, compat);
	ret = vgpu_marshal_ioctl(&ioctl->m, object->schema, cmd, arg, compat);
	if (ret && ioctl->m.found.wants_live && !ioctl->m.caller.live)
		vgpu_window_missed(object->export);
	if (ret == VGPU_MARSHAL_MAP) {
		ret = vgpu_map_ioctl(file, ioctl->m.entry.map, cmd, arg, compat);
		goto out_end;
	}
	ioctl->refused = ret;
	if (!ret && compat)
		ret = ioctl_reserve(ioctl);
	if (!ret)
		ret = vgpu_keep_claim(&session->memory->claims, &ioctl->kept);
	if (ret)
		goto out_end;
	if (class_ops->ioctl_shares && class_ops->ioctl_shares(object, cmd, &ioctl->m))
		vgpu_keep_share(session, object);
	if (class_ops->ioctl_takes && class_ops->ioctl_takes(object, cmd))
		vgpu_keep_enter(session, object);
	if (ioctl_shares(&ioctl->m))
		WRITE_ONCE(object->memory.space->shared, true);
	vgpu_blank_ioctl_begin(&ioctl->blank, object, ioctl->m.entry.ioctl, cmd, arg);
	ret = ioctl_call(file, session, ioctl, cmd, compat);
	if (!ret && ioctl->m.found.wants_live)
		WRITE_ONCE(object->memory.live, true);
	if (!ret && ioctl->m.found.copied)
		WRITE_ONCE(object->memory.copied, ioctl->m.found.copied);
	if (!ret && class_ops->ioctl_done)
		class_ops->ioctl_done(object, cmd, arg);
	if (!ret)
		vgpu_blank_ioctl_done(&ioctl->blank, object, arg);

out_end:
	vgpu_keep_unclaim(&session->memory->claims, &ioctl->kept);
	if (class_ops->ioctl_end)
		class_ops->ioctl_end(ioctl->class_call, object, cmd, arg, !ret);
	if (ioctl->low_len)
		vgpu_reserve_low_end(ioctl->low, ioctl->low_len);
	vgpu_keep_settle(object, &ioctl->kept, ioctl->xcall.sent);
	if (ioctl->refused)
		ret = vgpu_marshal_refused(&ioctl->m, ret);
	if (ioctl->traced)
		vgpu_traced_ioctl_end(ioctl->traced, &ioctl->xcall, ioctl->m.found.unknown_class,
				      ret);
	vgpu_marshal_fini(&ioctl->m);
	vgpu_guest_call_fini(&ioctl->xcall);
	kfree(ioctl);

out_put_session:
	vgpu_session_put(session);
	return ret;
}

/* f_op->unlocked_ioctl */
long vgpu_ioctl_native(struct file *file, unsigned int cmd, unsigned long arg)
{
	return ioctl_run(file, cmd, arg, false);
}

/* f_op->compat_ioctl */
long vgpu_ioctl_compat(struct file *file, unsigned int cmd, unsigned long arg)
{
	/* x32 is not supported: no schema has its structs, and the protocol has no flag for it. */
	if (!in_ia32_syscall())
		return -EOPNOTSUPP;
	return ioctl_run(file, cmd, (unsigned long)(u32)arg, true);
}
