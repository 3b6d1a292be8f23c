/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Marshalling: from the argument of an ioctl to segments and fixups, and from
 * the reply back to the program's memory.
 *
 *	vgpu_marshal_init(&m, limits, fds, data);
 *	error = vgpu_marshal_ioctl(&m, schema, cmd, arg, compat);
 *	... send call, m.segs, m.fixups, m.data in this order; receive and check
 *	    the reply (vgpu_marshal_view() gives what vgpu_wire_reply_check() wants) ...
 *	result = vgpu_marshal_finish(&m, &reply, result);
 *	vgpu_marshal_fini(&m);
 *
 * All of it runs in the thread that made the ioctl, with its mm. Ioctls
 * without a schema go the same way: the schema may be NULL.
 */
#ifndef VGPU_MARSHAL_H
#define VGPU_MARSHAL_H

#include "schema.h"
#include "wire.h"

#define VGPU_MARSHAL_SEGS	8	/* room without an allocation */
#define VGPU_MARSHAL_FIXUPS	8
#define VGPU_MARSHAL_BYTES	448
#define VGPU_MARSHAL_HELD	4

#define VGPU_MARSHAL_MAP	1	/* see vgpu_marshal_ioctl() */

/**
 * struct vgpu_marshal_kept - memory that a device will keep, as the host is told of it
 * @number: number of the memory, for struct vgpu_kept
 * @runs: physical addresses of its pages; whoever pinned them changes them no more
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
 * struct vgpu_marshal_fds - how fds become objects and back
 * @get: fd @fd of the caller; sets @object, and @handle, which keeps the object
 *	alive. -EBADF: not open; -EINVAL: a file of this machine, which the host
 *	does not have. The driver is then given an fd that is not open; if it
 *	says -EBADF, the program gets @get's error. -ENOMEM: the ioctl fails
 * @put: undoes get
 * @event_get: fd @fd of the caller is an eventfd, which the host's driver will
 *	signal; sets @number, which the host gets. Errors as of @get, -EINVAL: not
 *	an eventfd
 * @event_cancel: the call failed: undoes event_get
 * @reserve: a new object of the reply becomes a file: reserve an fd for it
 *	without installing anything; sets @handle. Takes over the reply's
 *	reference, also when it fails
 * @install: publish it; cannot fail
 * @abort: undoes reserve: fd, file and reference
 * @rdev: the number of a device file of the host becomes that of its node here, or
 *	0, 0 if there is none
 * @pid: the id that is meant, as the caller's namespace numbers them; 0: it has none there
 * @stamp: a time, in nanoseconds (TSC: ticks) of the host's clock @clock (enum
 *	vgpu_schema_clock), more than 0, becomes one of the clock here, more than 0
 * @choose_clock: @clock is what VGPU_CLOCK_FILE means from now on
 * @keep: pins the pages of [@addr, @addr + @len), whole ones, of the caller's memory, which the
 *	device may go on using (and writing to, if @write) when the call is over, and sets @kept,
 *	which is good until the call is over. -EFAULT: there is no such memory, as the driver
 *	will find by itself; after any other error the ioctl fails with it
 *
 * The first argument of all is vgpu_marshal_init()'s @data.
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

/* private: what the marshaller remembers of a segment */
struct vgpu_marshal_seg {
	u64 addr;
	u32 len;
	u32 in_off;		/* in data; valid if the segment is IN */
	u32 out_off;		/* in the reply's data; valid if OUT */
	u32 parent_base;	/* start of the struct that holds the pointer ... */
	u16 parent;		/* ... in this segment */
	u8 dir;			/* VGPU_IN, ... */
	u32 unit;
	const struct vgpu_schema_field *field;
};

enum vgpu_marshal_held_kind {
	VGPU_HELD_OBJECT,	/* named by an FD_IN fixup, or the argument */
	VGPU_HELD_CLOSED,	/* an fd that the program does not have open */
	VGPU_HELD_OUT,		/* room for an fd that may come back */
	VGPU_HELD_HIDDEN,	/* bits of an integer that do not come back */
	VGPU_HELD_EVENT,	/* named by an EVENT fixup */
	VGPU_HELD_RDEV,		/* room for the number of a device file */
	VGPU_HELD_PID,		/* room for a process id */
	VGPU_HELD_PIDS,		/* room for process ids */
	VGPU_HELD_STAMP,	/* room for a time */
	VGPU_HELD_CLOCK,	/* a choice of a clock */
};

/* private: an fd on its way in or out, or what else the way back needs */
struct vgpu_marshal_held {
	void *handle;
	const struct vgpu_schema_field *field;	/* PIDS, STAMP */
	u32 kind;		/* enum vgpu_marshal_held_kind */
	int fd;			/* CLOSED: what the program had there; OUT: the new one;
				 * PID: 0: it is nobody's here; PIDS: their number
				 */
	/* HIDDEN: the bits; PID: those that say that it is the opener's; CLOCK: enum
	 * vgpu_schema_clock
	 */
	u32 mask;
	u32 fixup;		/* OUT: index; EVENT: its number; PID: where @mask is looked for */
	u32 offset;		/* of the place; none of an OBJECT */
	u16 seg;		/* likewise */
	u8 size;		/* PID: bytes of the place */
	bool filled;		/* OUT: an object came; EVENT: the driver has it; RDEV, STAMP:
				 * it wrote; PID: another one has to be told
				 */
};

/**
 * struct vgpu_marshal - one ioctl on its way
 * @arg_kind: VGPU_IOCTL_ARG_*, for the call
 * @arg: likewise
 * @nr_segs: number of @segs
 * @nr_fixups: number of @fixups
 * @nr_fd_out: objects that may come back
 * @data_len: bytes of @data
 * @reply_bytes: bytes of the reply's segments
 * @scratch_bytes: of all segments in the host
 * @flags: VGPU_IOCTL_* of the ioctl's schema; 0 if there is none
 * @name: of the ioctl, if a schema knows it
 * @unknown_class: a class in the argument of which it knows nothing; 0: none
 * @command: number of a command in the argument, by which the ioctl is counted if the host
 *	fetches memory that nothing describes; 0: none
 * @segs: to be sent
 * @fixups: to be sent
 * @data: to be sent
 * @learned: of the device, or NULL; for the caller to set after init
 * @live: mappings show the device's memory itself; likewise
 * @wants_live: it is of no use where they do not
 * @copied: offset at which the file may be mapped as a copy from now on; 0: none is named
 * @map: of an ioctl that maps memory by itself
 * @ioctl: what the schema says of it, or NULL
 * @raw: the driver may take a number of the program's for one of its own fds: in an argument that
 *	no schema describes, or behind a pointer that is not followed
 * @wants_clocks: times of other clocks than CLOCK_MONOTONIC may come back
 * @status: status that vgpu_marshal_refused() tells; 0: none
 * @status_addr: address of the program's where it does
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
	u32 flags;
	u32 unknown_class;
	u32 command;
	const char *name;
	struct vgpu_seg *segs;
	struct vgpu_fixup *fixups;
	u8 *data;
	struct vgpu_schema_learned *learned;
	bool live;
	bool wants_live;
	u64 copied;
	const struct vgpu_schema_map *map;
	const struct vgpu_schema_ioctl *ioctl;
	bool raw;
	bool wants_clocks;
	u32 status;
	u64 status_addr;

	/* private: */
	const struct vgpu_wire_limits *limits;
	const struct vgpu_marshal_fds *fds;
	void *fds_data;
	struct vgpu_marshal_seg *info;
	struct vgpu_marshal_held *held;
	int fd_error;
	u32 arg_written;	/* bytes of the argument that are natively written in any case */
	u32 nr_held;
	u32 cap_segs;
	u32 cap_fixups;
	u32 cap_data;
	u32 cap_held;
	struct vgpu_seg segs_inline[VGPU_MARSHAL_SEGS];
	struct vgpu_fixup fixups_inline[VGPU_MARSHAL_FIXUPS];
	struct vgpu_marshal_seg info_inline[VGPU_MARSHAL_SEGS];
	struct vgpu_marshal_held held_inline[VGPU_MARSHAL_HELD];
	u64 data_inline[VGPU_MARSHAL_BYTES / sizeof(u64)];
};

/**
 * vgpu_marshal_init - begin
 * @m: any memory, about 1.5 KiB: allocate it with what else a call needs
 * @limits: WELCOME's; must stay
 * @fds: see there
 * @fds_data: its first argument
 */
void vgpu_marshal_init(struct vgpu_marshal *m, const struct vgpu_wire_limits *limits,
		       const struct vgpu_marshal_fds *fds, void *fds_data);

/**
 * vgpu_marshal_ioctl - take an ioctl apart
 * @m: initialised
 * @schema: of the file, or NULL
 * @cmd: as the program gave it
 * @arg: as the program gave it (a 32-bit one's already without upper half)
 * @compat: made by a 32-bit program
 *
 * Memory that cannot be read, or would be too much, is left to demand paging.
 *
 * Return: 0; -ENOMEM; or what the ioctl has to fail with, without a call; VGPU_MARSHAL_MAP:
 *	@m->map says what to do instead of a call.
 */
int vgpu_marshal_ioctl(struct vgpu_marshal *m, const struct vgpu_schema *schema, u32 cmd,
		       unsigned long arg, bool compat);

/**
 * vgpu_marshal_refused - tell the program of a refusal by a status of its driver's
 * @m: after vgpu_marshal_ioctl()
 * @error: negative errno of vgpu_marshal_ioctl(), or of a reply that is REFUSED
 *
 * A driver whose ioctls tell a status has programs that take any errno for a failure of the system.
 * Any -ENOMEM and -ENOSPC counts, also where the host refuses what its driver has done.
 *
 * Return: @error; 0: the program has a status instead; -EFAULT.
 */
long vgpu_marshal_refused(const struct vgpu_marshal *m, long error);

/* Fills @view for vgpu_wire_reply_check(); @call is the one that was sent. */
void vgpu_marshal_view(const struct vgpu_marshal *m, const struct vgpu_call *call,
		       struct vgpu_call_view *view);

/**
 * vgpu_marshal_finish - bring the results to the program
 * @m: after vgpu_marshal_ioctl()
 * @reply: checked
 * @result: the ioctl's; -ERESTART* and its kin pass through
 *
 * Copies out, also when the ioctl failed; of memory that the call carried in as
 * well, only the bytes that the driver changed. Every object of the reply was
 * given to fds->reserve afterwards.
 *
 * Return: @result, a new fd, -EFAULT, or what fds->reserve returned.
 */
long vgpu_marshal_finish(struct vgpu_marshal *m, const struct vgpu_reply_view *reply, long result);

/**
 * vgpu_marshal_events - bring times in what read() gave to this machine's clocks
 * @schema: of the device file, or NULL
 * @data: what was read, private; changed
 * @len: bytes of it, which may be anything
 * @fds: its @stamp is used
 * @fds_data: its first argument
 *
 * Events that the schema does not know stay as they are, and so does what follows one whose
 * length cannot be right.
 */
void vgpu_marshal_events(const struct vgpu_schema *schema, u8 *data, u32 len,
			 const struct vgpu_marshal_fds *fds, void *fds_data);

/* Frees everything; also after an error, and if no reply came. */
void vgpu_marshal_fini(struct vgpu_marshal *m);

#endif /* VGPU_MARSHAL_H */
