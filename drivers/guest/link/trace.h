/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints of the guest module. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM vgpu_guest

#if !defined(VGPU_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define VGPU_TRACE_H

#include <linux/tracepoint.h>

#include "call_event.h"
#include "link/call.h"
#include "link/session.h"

TRACE_EVENT(vgpu_call_start,
	TP_PROTO(const struct vgpu_session *session, const struct vgpu_guest_call *xcall),
	TP_ARGS(session, xcall),
	TP_STRUCT__entry(
		__field(u64, session)
		__field(u32, op)
		__field(u32, object)
		__field(u32, arg)
		__field(u32, nr_segs)
	),
	TP_fast_assign(
		__entry->session = session->number;
		__entry->op = le16_to_cpu(xcall->msg.op);
		__entry->object = le32_to_cpu(xcall->msg.object);
		__entry->arg = le64_to_cpu(xcall->msg.args.raw[0]);
		__entry->nr_segs = xcall->nr_segs;
	),
	TP_printk("session=%llu op=%u object=%u arg=%#x segs=%u", __entry->session, __entry->op,
		  __entry->object, __entry->arg, __entry->nr_segs)
);

TRACE_EVENT(vgpu_call_end,
	TP_PROTO(const struct vgpu_session *session, const struct vgpu_guest_call *xcall,
		 int error),
	TP_ARGS(session, xcall, error),
	TP_STRUCT__entry(
		__field(u64, session)
		__field(u32, op)
		__field(u32, object)
		__field(int, error)
		__field(s64, result)
	),
	TP_fast_assign(
		__entry->session = session->number;
		__entry->op = le16_to_cpu(xcall->msg.op);
		__entry->object = le32_to_cpu(xcall->msg.object);
		__entry->error = error;
		__entry->result = xcall->result;
	),
	TP_printk("session=%llu op=%u object=%u error=%d result=%lld", __entry->session,
		  __entry->op, __entry->object, __entry->error, __entry->result)
);

DECLARE_EVENT_CLASS(vgpu_upcall,
	TP_PROTO(u64 addr, u32 len, int error),
	TP_ARGS(addr, len, error),
	TP_STRUCT__entry(
		__field(u64, addr)
		__field(u32, len)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->addr = addr;
		__entry->len = len;
		__entry->error = error;
	),
	TP_printk("addr=%#llx len=%u error=%d", __entry->addr, __entry->len, __entry->error)
);

DEFINE_EVENT(vgpu_upcall, vgpu_fetch,
	TP_PROTO(u64 addr, u32 len, int error),
	TP_ARGS(addr, len, error)
);

DEFINE_EVENT(vgpu_upcall, vgpu_writeback,
	TP_PROTO(u64 addr, u32 len, int error),
	TP_ARGS(addr, len, error)
);

/* A call of a program, see link/traced.c. */
VGPU_CALL_EVENT(vgpu_file_call);

#endif /* VGPU_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH link
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
