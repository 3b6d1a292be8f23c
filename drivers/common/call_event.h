/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoint of a call, of which each module has one: what was asked of a driver, what came of it,
 * and what it cost. `vgpuctl trace` reads it.
 */
#ifndef VGPU_CALL_EVENT_H
#define VGPU_CALL_EVENT_H

#include <linux/cred.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

#include "wire.h"

/* Most bytes of an ioctl's argument, and of a file's path, that are reported. */
#define VGPU_CALL_EVENT_BYTES	256
#define VGPU_CALL_EVENT_PATH	128

/**
 * struct vgpu_call_event - a call that is over, for the tracepoint; made by the calling thread
 * @began: time at which the call began, CLOCK_MONOTONIC in nanoseconds
 * @ended: time at which it ended
 * @op: enum vgpu_op
 * @object: number of the object; 0: none
 * @fd: fd of the file in the calling process; -1: none or unknown
 * @result: result of the call, or a negative errno
 * @round_trips: number of round trips between guest and host
 * @pages: number of program pages that the host has fetched
 * @bytes_out: number of bytes that this machine has sent
 * @bytes_in: number of bytes that it has received
 * @cmd: command of an ioctl
 * @arg: argument of an ioctl; length in bytes of the memory of another call
 * @args: first arguments of the call, as the wire has them; not NULL
 * @kind: VGPU_EXPORT_* of the file's export; 0: unknown
 * @class: class in the argument that the schema does not know; 0: none
 * @known: true if a schema describes the ioctl, or if schemas are not known here
 * @compat: true for a 32-bit program
 * @driver: name of the host's driver, NUL-padded or terminated in VGPU_NAME_LEN bytes; not NULL
 * @name: name of the ioctl in its schema, ""; not NULL
 * @path: path of the file, ""; not NULL
 * @len: number of bytes of @before and @after, at most VGPU_CALL_EVENT_BYTES
 * @before: beginning of the ioctl's argument before the call
 * @after: beginning of the ioctl's argument after the call
 */
struct vgpu_call_event {
	u64 began;
	u64 ended;
	u32 op;
	u32 object;
	int fd;
	s64 result;
	u32 round_trips;
	u32 pages;
	u64 bytes_out;
	u64 bytes_in;
	u32 cmd;
	u64 arg;
	const __le64 *args;
	u32 kind;
	u32 class;
	bool known;
	bool compat;
	const char *driver;
	const char *name;
	const char *path;
	u32 len;
	const u8 *before;
	const u8 *after;
};

/*
 * The printed words are what vgpuctl reads: KEY=VALUE, in which a
 * string is in hexadecimal, as programs and peers choose its bytes. A word that changes its
 * meaning gets another key.
 */
#define VGPU_CALL_EVENT_FORMAT \
	"tgid=%d tid=%d uid=%u began=%llu ns=%llu op=%u object=%u fd=%d result=%lld trips=%u pages=%u out=%llu in=%llu cmd=%#x arg=%#llx class=%#x kind=%u known=%d compat=%d a0=%#llx a1=%#llx a2=%#llx a3=%#llx comm=%s driver=%s name=%s path=%s before=%s after=%s"

#define VGPU_CALL_EVENT(event_name) \
TRACE_EVENT(event_name, \
	TP_PROTO(const struct vgpu_call_event *event), \
	TP_ARGS(event), \
	TP_STRUCT__entry( \
		__field(int, tgid) \
		__field(int, tid) \
		__field(u32, uid) \
		__field(u64, began) \
		__field(u64, duration) \
		__field(u32, op) \
		__field(u32, object) \
		__field(int, fd) \
		__field(s64, result) \
		__field(u32, round_trips) \
		__field(u32, pages) \
		__field(u64, bytes_out) \
		__field(u64, bytes_in) \
		__field(u32, cmd) \
		__field(u64, arg) \
		__field(u32, class) \
		__field(u32, kind) \
		__field(bool, known) \
		__field(bool, compat) \
		__array(char, comm, TASK_COMM_LEN) \
		__array(char, driver, VGPU_NAME_LEN) \
		__array(char, name, 48) \
		__array(char, path, VGPU_CALL_EVENT_PATH) \
		__array(u64, args, 4) \
		__dynamic_array(u8, before, event->len) \
		__dynamic_array(u8, after, event->len) \
	), \
	TP_fast_assign( \
		__entry->tgid = current->tgid; \
		__entry->tid = current->pid; \
		__entry->uid = from_kuid(&init_user_ns, current_uid()); \
		__entry->began = event->began; \
		__entry->duration = event->ended - event->began; \
		__entry->op = event->op; \
		__entry->object = event->object; \
		__entry->fd = event->fd; \
		__entry->result = event->result; \
		__entry->round_trips = event->round_trips; \
		__entry->pages = event->pages; \
		__entry->bytes_out = event->bytes_out; \
		__entry->bytes_in = event->bytes_in; \
		__entry->cmd = event->cmd; \
		__entry->arg = event->arg; \
		__entry->class = event->class; \
		__entry->kind = event->kind; \
		__entry->known = event->known; \
		__entry->compat = event->compat; \
		memcpy(__entry->comm, current->comm, TASK_COMM_LEN); \
		strscpy_pad(__entry->driver, event->driver, sizeof(__entry->driver)); \
		strscpy_pad(__entry->name, event->name, sizeof(__entry->name)); \
		strscpy_pad(__entry->path, event->path, sizeof(__entry->path)); \
		__entry->args[0] = le64_to_cpu(event->args[0]); \
		__entry->args[1] = le64_to_cpu(event->args[1]); \
		__entry->args[2] = le64_to_cpu(event->args[2]); \
		__entry->args[3] = le64_to_cpu(event->args[3]); \
		memcpy(__get_dynamic_array(before), event->before, event->len); \
		memcpy(__get_dynamic_array(after), event->after, event->len); \
	), \
	TP_printk(VGPU_CALL_EVENT_FORMAT, \
		  __entry->tgid, __entry->tid, __entry->uid, __entry->began, \
		  __entry->duration, __entry->op, __entry->object, __entry->fd, \
		  __entry->result, __entry->round_trips, __entry->pages, \
		  __entry->bytes_out, __entry->bytes_in, __entry->cmd, __entry->arg, \
		  __entry->class, __entry->kind, __entry->known, __entry->compat, \
		  __entry->args[0], __entry->args[1], __entry->args[2], \
		  __entry->args[3], \
		  __print_hex_str(__entry->comm, strnlen(__entry->comm, TASK_COMM_LEN)), \
		  __print_hex_str(__entry->driver, strnlen(__entry->driver, VGPU_NAME_LEN)), \
		  __print_hex_str(__entry->name, strnlen(__entry->name, 48)), \
		  __print_hex_str(__entry->path, strnlen(__entry->path, VGPU_CALL_EVENT_PATH)), \
		  __print_hex_str(__get_dynamic_array(before), \
				  __get_dynamic_array_len(before)), \
		  __print_hex_str(__get_dynamic_array(after), __get_dynamic_array_len(after))) \
)

#endif /* VGPU_CALL_EVENT_H */
