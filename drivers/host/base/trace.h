/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints: results of calls, and faults of peers.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM vgpu_host

#if !defined(VGPU_HOST_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define VGPU_HOST_TRACE_H

#include <linux/tracepoint.h>

#include "call_event.h"

TRACE_EVENT(vgpu_host_call,
	TP_PROTO(u32 peer, u64 session, u16 op, u32 object, u32 cmd, s64 result),
	TP_ARGS(peer, session, op, object, cmd, result),
	TP_STRUCT__entry(
		__field(u32, peer)
		__field(u64, session)
		__field(u16, op)
		__field(u32, object)
		__field(u32, cmd)
		__field(s64, result)
	),
	TP_fast_assign(
		__entry->peer = peer;
		__entry->session = session;
		__entry->op = op;
		__entry->object = object;
		__entry->cmd = cmd;
		__entry->result = result;
	),
	TP_printk("peer=%u session=%llu op=%u object=%u cmd=0x%x result=%lld", __entry->peer,
		  __entry->session, __entry->op, __entry->object, __entry->cmd, __entry->result)
);

TRACE_EVENT(vgpu_host_refused,
	TP_PROTO(u32 peer, u16 op, int error),
	TP_ARGS(peer, op, error),
	TP_STRUCT__entry(
		__field(u32, peer)
		__field(u16, op)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->peer = peer;
		__entry->op = op;
		__entry->error = error;
	),
	TP_printk("peer=%u op=%u error=%d", __entry->peer, __entry->op, __entry->error)
);

TRACE_EVENT(vgpu_host_denied,
	TP_PROTO(u32 peer, u32 cmd, const char *name, u32 what),
	TP_ARGS(peer, cmd, name, what),
	TP_STRUCT__entry(
		__field(u32, peer)
		__field(u32, cmd)
		__field(u32, what)
		__array(char, name, 48)
	),
	TP_fast_assign(
		__entry->peer = peer;
		__entry->cmd = cmd;
		__entry->what = what;
		strscpy(__entry->name, name ?: "unknown", sizeof(__entry->name));
	),
	TP_printk("peer=%u cmd=0x%x ioctl=%s what=0x%x", __entry->peer, __entry->cmd,
		  __entry->name, __entry->what)
);

TRACE_EVENT(vgpu_host_malformed,
	TP_PROTO(u32 peer, u32 type),
	TP_ARGS(peer, type),
	TP_STRUCT__entry(
		__field(u32, peer)
		__field(u32, type)
	),
	TP_fast_assign(
		__entry->peer = peer;
		__entry->type = type;
	),
	TP_printk("peer=%u message=0x%x", __entry->peer, __entry->type)
);

TRACE_EVENT(vgpu_host_stray_fd,
	TP_PROTO(u32 peer, u32 cmd, unsigned int nr),
	TP_ARGS(peer, cmd, nr),
	TP_STRUCT__entry(
		__field(u32, peer)
		__field(u32, cmd)
		__field(unsigned int, nr)
	),
	TP_fast_assign(
		__entry->peer = peer;
		__entry->cmd = cmd;
		__entry->nr = nr;
	),
	TP_printk("peer=%u cmd=0x%x fds=%u", __entry->peer, __entry->cmd, __entry->nr)
);

DECLARE_EVENT_CLASS(vgpu_host_upcall,
	TP_PROTO(u32 peer, u64 session, u32 upcall),
	TP_ARGS(peer, session, upcall),
	TP_STRUCT__entry(
		__field(u32, peer)
		__field(u64, session)
		__field(u32, upcall)
	),
	TP_fast_assign(
		__entry->peer = peer;
		__entry->session = session;
		__entry->upcall = upcall;
	),
	TP_printk("peer=%u session=%llu message=0x%x", __entry->peer, __entry->session,
		  __entry->upcall)
);

DEFINE_EVENT(vgpu_host_upcall, vgpu_host_fetch_timeout,
	TP_PROTO(u32 peer, u64 session, u32 upcall),
	TP_ARGS(peer, session, upcall)
);

/* The guest has used up the time for which drivers wait for it. */
DEFINE_EVENT(vgpu_host_upcall, vgpu_host_spent,
	TP_PROTO(u32 peer, u64 session, u32 upcall),
	TP_ARGS(peer, session, upcall)
);

/* A call of a guest, see call/traced.c. */
VGPU_CALL_EVENT(vgpu_host_file_call);

#endif /* VGPU_HOST_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH base
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
