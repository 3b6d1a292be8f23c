/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Marshalling: converts the argument of an ioctl to segments and fixups, and writes the reply
 * back to the program's memory.
 *
 *	vgpu_marshal_init(&m, limits, fds, data);
 *	error = vgpu_marshal_ioctl(&m, schema, cmd, arg, compat);
 *	... send call, m.segs, m.fixups, m.data in this order; receive and check
 *	    the reply (vgpu_marshal_view() gives what vgpu_wire_reply_check() wants) ...
 *	result = vgpu_marshal_finish(&m, &reply, result);
 *	vgpu_marshal_fini(&m);
 *
 * All functions run in the thread that made the ioctl, with its mm. Ioctls without a schema are
 * marshalled as well: the schema may be NULL.
 */
#ifndef VGPU_MARSHAL_H
#define VGPU_MARSHAL_H

#ifdef __KERNEL__
#include <linux/string.h>
#endif

#include "argument/schema.h"
#include "wire.h"

#define VGPU_MARSHAL_SEGS	8	/* entries without an allocation */
#define VGPU_MARSHAL_FIXUPS	8
#define VGPU_MARSHAL_BYTES	448
#define VGPU_MARSHAL_HELD	4

#define VGPU_MARSHAL_MAP	1	/* result of vgpu_marshal_ioctl() */

/**
 * struct vgpu_marshal_kept - description of memory that a device will keep, for the host
 * @number: number of the memory, for struct vgpu_kept
 * @runs: physical addresses of the pinned pages; constant from now on
 * @nr_runs: number of entries of @runs, at least 1
 */
struct vgpu_marshal_kept {
	u64 number;
	const struct vgpu_run *runs;
	u32 nr_runs;
};

enum vgpu_marshal_pid {
	VGPU_MARSHAL_THREAD,	/* the calling thread */
	VGPU_MARSHAL_OPENER,	/* the thread that opened the file */
	VGPU_MARSHAL_PROCESS,	/* the calling process */
};

/**
 * struct vgpu_marshal_fds - operations of the caller, by which fds become objects and back
 * @get: function that finds the object of @fd; sets @object, and @handle, which holds a
 *	reference. -EBADF: @fd is not open; -EINVAL: @fd is a file of this machine, which the
 *	host does not have. The driver gets an fd that is not open then; if its result is
 *	-EBADF, the program gets the error of @get. -ENOMEM: the ioctl fails
 * @put: function that drops the reference of @get
 * @event_get: function for an fd @fd that is an eventfd, which the host's driver will signal;
 *	sets @number, which is sent to the host. Errors as of @get, -EINVAL: no eventfd
 * @event_cancel: function that undoes @event_get if the call has failed
 * @reserve: function that makes a file of a new object of the reply, and reserves an fd without
 *	installing the file; sets @handle. Takes over the reference of the reply, also on
 *	failure
 * @install: function that publishes the fd; cannot fail
 * @abort: function that undoes @reserve: fd, file and reference
 * @rdev: function that replaces the number of a device file of the host by that of its node in
 *	the guest, or by 0, 0 if there is none
 * @pid: function that returns an id as the caller's pid namespace numbers it; 0: no id there
 * @stamp: function that replaces a time of the host's clock @clock (enum vgpu_schema_clock) by
 *	one of the guest's clock; nanoseconds (TSC: ticks), more than 0 before and after
 * @choose_clock: function that sets the meaning of VGPU_CLOCK_FILE to @clock from now on
 * @keep: function that pins the pages of [@addr, @addr + @len) of the caller's memory, whole
 *	pages, which the device may use after the call (and write to, if @write), and sets
 *	@kept, which is valid until the end of the call. -EFAULT: there is no such memory, as
 *	the driver will find out itself; with any other error the ioctl fails
 *
 * The first argument of all functions is @fds_data of vgpu_marshal_init().
 */
struct vgpu_marshal_fds {
	int (*get)(void *data, int fd, u32 *object, void **handle);
	void (*put)(void *data, void *handle);
	int (*event_get)(void *data, int fd, u32 *number);
	void (*event_cancel)(void *data, u32 number);
	int (*reserve)(void *data, const struct vgpu_object_desc *desc, void **handle);
	void (*install)(void *data, int fd, void *handle);
	void (*abort)(void *data, int fd, void *handle);
	void (*rdev)(void *data, u32 *major, u32 *minor);
	u32 (*pid)(void *data, enum vgpu_marshal_pid whose);
	void (*stamp)(void *data, u32 clock, s64 *time);
	void (*choose_clock)(void *data, u32 clock);
	int (*keep)(void *data, u64 addr, u64 len, bool write, struct vgpu_marshal_kept *kept);
};

/* private: state of the marshaller for a segment */
struct vgpu_marshal_seg {
	u64 addr;
	u32 len;
	u32 in_off;		/* offset in data; valid if the segment is IN */
	u32 out_off;		/* offset in the reply's data; valid if OUT */
	u32 parent_base;	/* offset of the struct that holds the pointer ... */
	u16 parent;		/* ... in this segment */
	u8 dir;			/* VGPU_IN, ... */
	u32 unit;
	const struct vgpu_schema_field *field;
};

enum vgpu_marshal_held_kind {
	VGPU_HELD_OBJECT,	/* object of an FD_IN fixup, or of the argument */
	VGPU_HELD_CLOSED,	/* fd that the program does not have open */
	VGPU_HELD_OUT,		/* place for an fd of a returned object */
	VGPU_HELD_HIDDEN,	/* bits of an integer that are hidden */
	VGPU_HELD_EVENT,	/* eventfd of an EVENT fixup */
	VGPU_HELD_RDEV,		/* place for the number of a device file */
	VGPU_HELD_PID,		/* place for a process id */
	VGPU_HELD_PIDS,		/* place for process ids */
	VGPU_HELD_STAMP,	/* place for a time */
	VGPU_HELD_CLOCK,	/* choice of a clock */
};

/* private: fd that is passed in or out, or other state for processing the reply */
struct vgpu_marshal_held {
	void *handle;
	const struct vgpu_schema_field *field;	/* field of the place; NULL: there is none */
	u32 kind;		/* enum vgpu_marshal_held_kind */
	int fd;			/* CLOSED: fd of the program; OUT: the new fd; PID: 0 if the id
				 * belongs to no process of the guest; PIDS: number of ids
				 */
	u32 mask;		/* PID: bits that say that the id is the opener's; CLOCK: enum
				 * vgpu_schema_clock
				 */
	u32 fixup;		/* OUT: index; EVENT: number; PID: offset of the bits of @mask */
	u32 offset;		/* offset of the place; unused for an OBJECT */
	u16 seg;		/* segment of the place */
	bool filled;		/* OUT: there is an object; EVENT: the driver has the eventfd; RDEV,
				 * STAMP: the driver wrote; PID: the id has to be replaced
				 */
};

/**
 * struct vgpu_marshal_entry - entry of the schema for an ioctl; set by vgpu_marshal_ioctl()
 * @ioctl: entry itself, or NULL
 * @map: description of an ioctl that maps memory by itself, or NULL
 * @flags: VGPU_IOCTL_* of the ioctl's schema; 0 if there is none
 * @name: name of the ioctl, if a schema describes it
 */
struct vgpu_marshal_entry {
	const struct vgpu_schema_ioctl *ioctl;
	const struct vgpu_schema_map *map;
	u32 flags;
	const char *name;
};

/**
 * struct vgpu_marshal_found - findings in an argument; set by vgpu_marshal_ioctl()
 * @raw: true if the driver may take a number of the program for one of its own fds: in an
 *	argument that no schema describes, or behind a pointer that is not followed
 * @wants_live: true if the ioctl makes no sense with mappings in copy mode
 * @wants_clocks: true if times of clocks other than CLOCK_MONOTONIC may come back
 * @copied: mmap offset at which the file may be mapped in copy mode from now on; 0: none
 * @unknown_class: class in the argument that the schema does not know; 0: none
 * @command: number of a command in the argument, by which the ioctl is counted if the host
 *	fetches memory that nothing describes; 0: none
 * @status: status that vgpu_marshal_refused() writes to the program; 0: none
 * @status_addr: address of the status in the program
 */
struct vgpu_marshal_found {
	bool raw;
	bool wants_live;
	bool wants_clocks;
	u64 copied;
	u32 unknown_class;
	u32 command;
	u32 status;
	u64 status_addr;
};

/**
 * struct vgpu_marshal_caller - parts that belong to the caller of the marshaller
 * @limits: limits of a message, from the host's WELCOME
 * @ops: operations of the caller
 * @data: first argument of @ops
 * @learned: numbers learned from the device, or NULL; set by the caller after init
 * @live: true if mappings show the device's memory itself; set by the caller after init
 */
struct vgpu_marshal_caller {
	const struct vgpu_wire_limits *limits;
	const struct vgpu_marshal_fds *ops;
	void *data;
	struct vgpu_schema_learned *learned;
	bool live;
};

/**
 * struct vgpu_marshal - one ioctl while it is marshalled
 * @arg_kind: VGPU_IOCTL_ARG_*, for the call
 * @arg: argument of the call, see VGPU_IOCTL_ARG_*
 * @nr_segs: number of @segs
 * @nr_fixups: number of @fixups
 * @nr_fd_out: maximum number of objects in the reply
 * @data_len: number of bytes of @data
 * @reply_bytes: number of bytes of the reply's segments
 * @scratch_bytes: number of bytes of all segments in the host's scratch memory
 * @segs: array of segments to send
 * @fixups: array of fixups to send
 * @data: bytes to send
 * @entry: entry of the schema for the ioctl
 * @found: findings in the argument, for the caller
 * @caller: limits, operations and device of the caller
 */
struct vgpu_marshal {
	u32 arg_kind;
	u64 arg;
	u32 nr_segs;
	u32 nr_fixups;
	u32 nr_fd_out;
	u32 data_len;
	u32 reply_bytes;
	u32 scratch_bytes;
	struct vgpu_seg *segs;
	struct vgpu_fixup *fixups;
	u8 *data;
	struct vgpu_marshal_entry entry;
	struct vgpu_marshal_found found;
	struct vgpu_marshal_caller caller;

	/* private: */
	struct vgpu_marshal_seg *info;
	struct vgpu_marshal_held *held;
	int fd_error;
	u32 arg_written;	/* bytes of the argument that the driver always writes */
	u32 nr_held;
	struct {
		u32 segs;	/* entries of segs and of info */
		u32 fixups;
		u32 data;	/* in bytes */
		u32 held;
	} cap;			/* room in the arrays, in entries; written by marshal_mem.c */
	struct {
		struct vgpu_seg segs[VGPU_MARSHAL_SEGS];
		struct vgpu_fixup fixups[VGPU_MARSHAL_FIXUPS];
		struct vgpu_marshal_seg info[VGPU_MARSHAL_SEGS];
		struct vgpu_marshal_held held[VGPU_MARSHAL_HELD];
		u64 data[VGPU_MARSHAL_BYTES / sizeof(u64)];
	} first;		/* the first arrays, which are used until they are full */
};

/**
 * vgpu_marshal_init - initialize the marshaller
 * @m: memory, about 1.5 KiB, which the caller allocates with the other state of a call
 * @limits: limits of WELCOME; must stay valid
 * @fds: operations of the caller
 * @fds_data: first argument of these operations
 */
void vgpu_marshal_init(struct vgpu_marshal *m, const struct vgpu_wire_limits *limits,
		       const struct vgpu_marshal_fds *fds, void *fds_data);

/**
 * vgpu_marshal_ioctl - convert an ioctl to segments and fixups
 * @m: initialized marshaller
 * @schema: schema of the file, or NULL
 * @cmd: command from the program
 * @arg: argument from the program (without the upper half for a 32-bit program)
 * @compat: true for a 32-bit program
 *
 * Memory that cannot be read, or is too large, is left to demand paging.
 *
 * Return: 0; -ENOMEM; another error with which the ioctl fails without a call; VGPU_MARSHAL_MAP
 * if @m->entry.map describes what the caller does instead of a call.
 */
int vgpu_marshal_ioctl(struct vgpu_marshal *m, const struct vgpu_schema *schema, u32 cmd,
		       unsigned long arg, bool compat);

/**
 * vgpu_marshal_refused - report a failure by a status of the driver
 * @m: marshaller after vgpu_marshal_ioctl()
 * @error: negative errno of vgpu_marshal_ioctl(), or of a reply that is REFUSED
 *
 * The programs of a driver whose ioctls return a status take any errno for a failure of the
 * system. If @m->found.status is set, it replaces -ENOMEM and -ENOSPC, even if the host refuses
 * a call that its driver has executed.
 *
 * Return: @error; 0 if the status was written instead; -EFAULT.
 */
long vgpu_marshal_refused(const struct vgpu_marshal *m, long error);

/* Fill in @view for vgpu_wire_reply_check(); @call is the call that was sent. */
void vgpu_marshal_view(const struct vgpu_marshal *m, const struct vgpu_call *call,
		       struct vgpu_call_view *view);

/**
 * vgpu_marshal_finish - write the results of a call to the program
 * @m: marshaller after vgpu_marshal_ioctl()
 * @reply: checked reply
 * @result: result of the ioctl; -ERESTART* and its kin pass through
 *
 * Results are written also if the ioctl failed. Of memory that the call carried in as well,
 * only bytes that the driver changed are written. Every object of the reply is passed to
 * fds->reserve, whatever the function returns.
 *
 * Return: @result, a new fd, -EFAULT, or the error of fds->reserve.
 */
long vgpu_marshal_finish(struct vgpu_marshal *m, const struct vgpu_reply_view *reply, long result);

/**
 * vgpu_marshal_events - convert the times in a result of read() to the guest's clocks
 * @schema: schema of the device file, or NULL
 * @data: private copy of the bytes that were read; changed
 * @len: number of bytes; any
 * @fds: operations, of which @stamp is used
 * @fds_data: first argument of @stamp
 *
 * Events that the schema does not know stay unchanged, and so do all bytes after an event with
 * an invalid length.
 */
void vgpu_marshal_events(const struct vgpu_schema *schema, u8 *data, u32 len,
			 const struct vgpu_marshal_fds *fds, void *fds_data);

/* Read an integer of 1, 2, 4 or 8 bytes in the byte order of the program. */
static inline u64 vgpu_marshal_int(const u8 *p, u8 size)
{
	u64 v64 = 0;
	u32 v32;
	u16 v16;

	switch (size) {
	case 1:
		return *p;
	case 2:
		memcpy(&v16, p, sizeof(v16));
		return v16;
	case 4:
		memcpy(&v32, p, sizeof(v32));
		return v32;
	case 8:
		memcpy(&v64, p, sizeof(v64));
		break;
	}
	return v64;
}

/* Free all memory; also after an error, or without a reply. */
void vgpu_marshal_fini(struct vgpu_marshal *m);

#endif /* VGPU_MARSHAL_H */
