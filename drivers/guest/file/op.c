// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations of programs on the host's files. The host's driver may use the program's memory and
 * mapped device memory during such a call, so the memory is made ready before the call, and
 * cached pages are dropped after it. Calls that memory itself makes use vgpu_call_run().
 */
#include <linux/err.h>
#include <linux/fs.h>

#include "compat.h"
#include "file/op.h"
#include "file/ready.h"
#include "link/call.h"
#include "link/export.h"
#include "link/session.h"
#include "memory/blank.h"
#include "memory/keep_group.h"
#include "memory/reserve.h"
#include "memory/space_sync.h"

/**
 * vgpu_op_run - make a call for an operation of a program
 * @session: session of the calling process
 * @object: object of the call, or NULL
 * @xcall: the call, which is neither of class mm nor FOREIGN
 *
 * Context: process, no locks.
 * Return: as vgpu_call_run(), or an errno of the flush before the call; -ENOMEM also if the
 * program has something else at the shadow's addresses.
 */
int vgpu_op_run(struct vgpu_session *session, struct vgpu_object *object,
		struct vgpu_guest_call *xcall)
{
	bool mapped = !(xcall->flags & VGPU_GUEST_CALL_NO_MAPPED);
	int ret;

	ret = vgpu_reserve_current(session);
	if (ret)
		return ret;
	if (object)
		vgpu_keep_use(session, object);
	/* Flush before the call: its control_seq must cover the UNMAPs that the flush queues. */
	ret = mapped ? vgpu_space_flush(session) : vgpu_space_settle(session);
	if (ret)
		return ret;
	ret = vgpu_call_run(session, xcall);
	if (mapped)
		vgpu_space_drop(session->host, session);
	return ret;
}

/**
 * vgpu_op_fill_call - initialize a call on an open file
 * @file: a file that shows an object
 * @xcall: uninitialized memory
 * @op: operation, enum vgpu_op
 * @pos: position of the file
 */
void vgpu_op_fill_call(struct file *file, struct vgpu_guest_call *xcall, u16 op, loff_t pos)
{
	struct vgpu_object *object = file->private_data;

	vgpu_guest_call_init(xcall, op, object->id);
	/*
	 * Set VGPU_CALL_COMPAT for read and write, too: drivers may read and write other structs
	 * for 32-bit programs.
	 */
	xcall->msg.flags = cpu_to_le16(in_ia32_syscall() ? VGPU_CALL_COMPAT : 0);
	xcall->msg.f_flags = cpu_to_le32(file->f_flags & VGPU_OP_FLAGS);
	xcall->msg.pos = cpu_to_le64(pos);
	xcall->stats = &object->export->stats;
	xcall->file = file;
}

/**
 * vgpu_op_call - make a call on an open file
 * @file: a file that shows an object
 * @xcall: the call
 * @replied: out: true if vgpu_op_run() succeeded, so that xcall->reply may be used
 *
 * Return: the driver's result (vgpu_call_result()), or an errno of vgpu_session_current() or
 * vgpu_op_run().
 */
s64 vgpu_op_call(struct file *file, struct vgpu_guest_call *xcall, bool *replied)
{
	struct vgpu_object *object = file->private_data;
	struct vgpu_session *session;
	int ret;

	*replied = false;
	session = vgpu_session_current(object->host, 0);
	if (IS_ERR(session))
		return PTR_ERR(session);
	if (!(xcall->flags & VGPU_GUEST_CALL_NO_MAPPED))
		vgpu_blank_end(object);
	ret = vgpu_op_run(session, object, xcall);
	vgpu_session_put(session);
	/*
	 * Mark the object before vgpu_ready_touch(): after the touch no answer may be stored that
	 * the call, which the host may still run, could change.
	 */
	if (ret && xcall->sent)
		vgpu_ready_unsure(object);
	vgpu_ready_touch(object);
	if (ret)
		return ret;
	*replied = true;
	return vgpu_call_result(xcall);
}
