// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations of programs on the host's files. The host's driver may use the program's memory and
 * mapped device memory during such a call, so the memory is made ready before the call, and
 * cached pages are dropped after it. Calls that memory itself makes use vgpu_call_run().
 */
#include "file/op.h"
#include "link/call.h"
#include "link/session.h"
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
