// SPDX-License-Identifier: GPL-2.0-only
/* Calls on open files. */
#include <linux/err.h>
#include <linux/fs.h>

#include "compat.h"
#include "file/file_call.h"
#include "file/object.h"
#include "file/op.h"
#include "file/ready.h"
#include "link/call.h"
#include "link/export.h"
#include "link/session.h"
#include "memory/blank.h"

/**
 * vgpu_file_fill_call - initialize a call on an open file
 * @file: a file that shows an object
 * @xcall: uninitialized memory
 * @op: operation, enum vgpu_op
 * @pos: position of the file
 */
void vgpu_file_fill_call(struct file *file, struct vgpu_guest_call *xcall, u16 op, loff_t pos)
{
	struct vgpu_object *object = file->private_data;

	vgpu_guest_call_init(xcall, op, object->id);
	/*
	 * Set VGPU_CALL_COMPAT for read and write, too: drivers may read and write other structs
	 * for 32-bit programs.
	 */
	xcall->msg.flags = cpu_to_le16(in_ia32_syscall() ? VGPU_CALL_COMPAT : 0);
	xcall->msg.f_flags = cpu_to_le32(file->f_flags & VGPU_FILE_CALL_FLAGS);
	xcall->msg.pos = cpu_to_le64(pos);
	xcall->stats = &object->export->stats;
}

/**
 * vgpu_file_call - make a call on an open file
 * @file: a file that shows an object
 * @xcall: the call
 * @replied: out: true if vgpu_op_run() succeeded, so that xcall->reply may be used
 *
 * Return: the result of the call.
 */
s64 vgpu_file_call(struct file *file, struct vgpu_guest_call *xcall, bool *replied)
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
