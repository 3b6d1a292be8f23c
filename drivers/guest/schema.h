/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Schemas: where the arguments of ioctls hold pointers, lengths and fds.
 *
 * An ioctl's argument is a struct whose size the command gives. Most structs
 * are plain data and need no more than that. The others hold addresses of more
 * memory, whose size and direction only the driver knows; a schema says it:
 *
 *	struct drm_mode_obj_get_properties {
 *		__u64 props_ptr;	pointer, inout, count_props x __u32
 *		__u64 prop_values_ptr;	pointer, inout, count_props x __u64
 *		__u32 count_props;
 *		...
 *
 * is, as a table (see schema_drm.c):
 *
 *	static const struct vgpu_schema_field obj_get_properties[] = {
 *		{ VGPU_PTR(struct drm_mode_obj_get_properties, props_ptr),
 *		  .dir = VGPU_INOUT, .unit = sizeof(__u32),
 *		  .count = VGPU_FIELD(struct drm_mode_obj_get_properties, count_props) },
 *		...
 *
 * The marshaller copies each piece of memory once, takes all counts, flags and
 * pointers from that copy, and sends it along with the call. What a table does
 * not say, or says in vain because the memory cannot be read or is too large,
 * is left to demand paging: the pointer then goes to the driver as it is, and
 * the driver's own checks decide. So a missing entry costs round trips, not
 * correctness; but fds cross only if a table names them, and what a driver looks
 * for behind the size that the command says only if a table says how much that is.
 *
 * Plain const data, no allocation: also compiled in user space for tests.
 */
#ifndef VGPU_SCHEMA_H
#define VGPU_SCHEMA_H

#ifdef __KERNEL__
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/ioctl.h>
#include <linux/stddef.h>
#include <linux/time.h>
#include <linux/types.h>
#else
#include <sys/ioctl.h>
#include <time.h>
#include "wire_user.h"
#ifndef sizeof_field
#define sizeof_field(type, field)	sizeof(((type *)0)->field)
#endif
#endif

/* Nesting that the marshaller follows; the rest is left to demand paging. */
#define VGPU_SCHEMA_DEPTH	6

/* Direction of memory, as the driver sees it. */
#define VGPU_IN		1	/* the driver reads it */
/*
 * The driver fills all of it when it succeeds (or as much as out_count says)
 * and touches nothing when it fails.
 */
#define VGPU_OUT	2
/* The driver reads it, or fills it in part, or also when it fails. */
#define VGPU_INOUT	3

enum vgpu_schema_ref_kind {
	VGPU_REF_NONE,		/* not given */
	VGPU_REF_CONST,		/* @value */
	VGPU_REF_FIELD,		/* an integer of the struct */
	VGPU_REF_TARGET,	/* an integer in what a pointer of the struct names */
	VGPU_REF_SUM,		/* sum of all integers in what that pointer names */
	VGPU_REF_BESIDE,	/* in what that pointer names, the integer at this one's index */
};

/**
 * struct vgpu_schema_ref - where a number is found
 * @kind: see there
 * @up: in which struct: 0: that of the field, 1: the one around it (whose
 *	pointer led here), and so on
 * @size: of the integer: 1, 2, 4 or 8 bytes
 * @offset: of the integer; FIELD: in the struct, TARGET: in the memory
 * @via: TARGET, SUM, BESIDE: offset of the pointer in the struct; its field
 *	stands earlier in the table
 * @value: CONST
 */
struct vgpu_schema_ref {
	u8 kind;
	u8 up;
	u8 size;
	u16 offset;
	u16 via;
	u32 value;
};

/* Numbers that the device gives to names, which a schema can only learn. */
#define VGPU_LEARNED_MAX	4

/**
 * struct vgpu_schema_learned - what was learned of one device
 * @number: 0: not yet; each set once or again to the same, read anywhere
 */
struct vgpu_schema_learned {
	u32 number[VGPU_LEARNED_MAX];
};

/**
 * struct vgpu_schema_lesson - an ioctl that tells the number of a name
 * @number: of the number in the argument, 4 bytes
 * @name: of the name in the argument as it comes back
 * @name_len: room for it
 * @names: of the numbers that matter, VGPU_LEARNED_MAX at most; NULL ends
 */
struct vgpu_schema_lesson {
	u16 number;
	u16 name;
	u16 name_len;
	const char *const *names;
};

/**
 * struct vgpu_schema_when - condition: (@ref & @mask) == @value
 * @ref: see there
 * @mask: see there
 * @value: see there
 * @least: @value or more, in the place of @value
 * @learned: not 0: @ref is the learned number of the @learned'th name instead
 *
 * NONE: always. Alternatives (a tag that tells what a pointer means, a flag
 * that tells whether it means anything) are fields with the same offset and
 * different conditions.
 */
struct vgpu_schema_when {
	struct vgpu_schema_ref ref;
	u64 mask;
	u64 value;
	bool least;
	u8 learned;
};

/*
 * Of fields for one place the first whose condition holds counts; they stand
 * next to each other. What is behind PLAIN comes on top of others.
 */
enum vgpu_schema_field_type {
	VGPU_FIELD_PTR = 1,	/* pointer to an array */
	VGPU_FIELD_CHAIN,	/* pointer to the first of a chain of structs */
	VGPU_FIELD_UNKNOWN,	/* pointer to parameters of an unknown class: counted */
	VGPU_FIELD_STRUCT,	/* a struct inside of this one, with fields of its own */
	VGPU_FIELD_FD_IN,	/* an fd of the caller */
	VGPU_FIELD_USERPTR,	/* memory that the device would keep: refused */
	VGPU_FIELD_KEPT,	/* memory that the device keeps, by the pages themselves */
	VGPU_FIELD_LIVE,	/* of no use where mapped memory is seen as a copy: refused there */
	VGPU_FIELD_COPIED,	/* offset at which polled memory may be mapped as a copy */
	VGPU_FIELD_EVENT_IN,	/* an eventfd of the caller, to be signalled once */
	VGPU_FIELD_TIME,	/* a point in time of CLOCK_MONOTONIC; 0: has been */
	VGPU_FIELD_HIDE,	/* bits that the program does not get to see */
	VGPU_FIELD_RDEV,	/* number of a device file, which the driver tells */
	VGPU_FIELD_PID,		/* process id, which the driver tells when it succeeds */
	VGPU_FIELD_PIDS,	/* list of process ids, of which a host knows the caller's alone */
	VGPU_FIELD_PLAIN,	/* none of what follows in the table */
	VGPU_FIELD_FD_OUT,	/* becomes an fd of the caller */
	VGPU_FIELD_RESULT_FD,	/* no place: the result, if not negative, is an fd */
	VGPU_FIELD_STAMP,	/* a point in time that the driver tells */
	VGPU_FIELD_CLOCK,	/* by which clock the driver tells them, ALSA's number of it */
	VGPU_FIELD_COMMAND,	/* number of a command inside: counted if it needs a fetch */
};

/* By which clock a driver tells times. */
enum vgpu_schema_clock {
	VGPU_CLOCK_MONOTONIC,
	VGPU_CLOCK_REALTIME,
	VGPU_CLOCK_RAW,		/* CLOCK_MONOTONIC_RAW */
	VGPU_CLOCK_TSC,		/* the processor's time-stamp counter, in ticks */
	VGPU_CLOCK_FILE,	/* the one that was chosen for the file */
};

struct vgpu_schema_struct;
struct vgpu_schema_chain;

/**
 * struct vgpu_schema_field - a place in a struct that is not plain data
 * @type: enum vgpu_schema_field_type
 * @dir: PTR: VGPU_IN, VGPU_OUT or VGPU_INOUT; KEPT: VGPU_INOUT: the device writes to the memory;
 *	VGPU_IN: it may write where the program may, which the driver looks at: some pin for
 *	writing what they only read
 * @size: bytes of the place: 4 or 8; STRUCT: 1, as it may end before its end; STAMP: 8 or
 *	16, see @unit
 * @clock: STAMP: enum vgpu_schema_clock
 * @offset: of the place in its struct
 * @error: USERPTR: positive errno when the pointer is not null; KEPT: likewise, where the host
 *	cannot have the pages; 0: the driver finds that it cannot keep them; LIVE: where mappings
 *	are copies; where they are not, no mapping of the file becomes one afterwards
 * @unkept: nothing is done where the host can have pages that the device keeps
 * @alone: KEPT: only where no other call finds the pages meanwhile. The driver of whatever other
 *	call might come to have them, for longer than the file of this one is open. @unkept:
 *	where the host can have them so
 * @mask: HIDE: the bits; all of them: it becomes -1; PID: see @out_count; KEPT: so many
 *	bytes more than @count says
 * @when: nothing is done otherwise; STAMP: a FIELD of the same struct, as the driver left it
 * @count: PTR, KEPT: number of elements; NONE: one; UNKNOWN: the class
 * @times: PTR: to multiply @count with; NONE: one
 * @unit: PTR, KEPT: bytes an element; 0: the size of @elem, or one byte; PIDS: bytes from one
 *	id to the next; STAMP: 0: the place is one integer, see @max; else it is two, seconds
 *	and parts of which a second has so many
 * @stride: PTR: bytes an element, in the place of @unit
 * @out_count: PTR, VGPU_OUT: number of elements that the driver filled, as
 *	found in the struct afterwards (@up is 0); more than @count counts as @count.
 *	PID: NONE: it is the caller's; else, likewise, the integer whose bits @mask say that it
 *	is the pid of who opened the file. Other positive ones, which are the host's, become 0.
 *	KEPT: likewise, where the driver tells a status; NONE: it tells none
 * @max: PTR: more bytes than these are left to demand paging; 0: no limit
 *	but the host's; PIDS: number of ids; STAMP: nanoseconds a unit of its integer, 0: one;
 *	KEPT: the status that the program gets, instead of an errno, where the pages would be
 *	more than may be kept
 * @elem: PTR: what is inside each element, NULL: plain data; STRUCT: what it is
 * @chain: CHAIN
 */
struct vgpu_schema_field {
	u8 type;
	u8 dir;
	u8 size;
	u8 clock;
	u16 offset;
	u16 error;
	bool unkept;
	bool alone;
	u32 unit;
	u32 max;
	u32 mask;
	struct vgpu_schema_ref count;
	struct vgpu_schema_ref times;
	struct vgpu_schema_ref stride;
	struct vgpu_schema_ref out_count;
	struct vgpu_schema_when when;
	const struct vgpu_schema_struct *elem;
	const struct vgpu_schema_chain *chain;
};

/**
 * struct vgpu_schema_struct - a struct
 * @size: its size
 * @nr_fields: number of @fields
 * @fields: its places, in the order in which they are looked at
 */
struct vgpu_schema_struct {
	u32 size;
	u32 nr_fields;
	const struct vgpu_schema_field *fields;
};

/**
 * struct vgpu_schema_node - one struct that may be in a chain
 * @tag: by which it is known
 * @dir: VGPU_IN or VGPU_INOUT
 * @body: head included
 * @more: FIELD of @body: number of elements behind it; NONE: none
 * @more_unit: bytes of each
 */
struct vgpu_schema_node {
	u64 tag;
	u8 dir;
	struct vgpu_schema_struct body;
	struct vgpu_schema_ref more;
	u32 more_unit;
};

/**
 * struct vgpu_schema_chain - structs that are linked by pointers
 * @head: size of the part that all have in common
 * @next: offset of the pointer (8 bytes) to the next one in it; 0 ends
 * @tag: offset of the tag in it
 * @tag_size: bytes of the tag
 * @max: most structs that are followed; the driver has its own limit
 * @nr_nodes: number of @nodes
 * @nodes: what there may be
 *
 * A struct with an unknown tag ends what is followed.
 */
struct vgpu_schema_chain {
	u16 head;
	u16 next;
	u16 tag;
	u8 tag_size;
	u8 max;
	u16 nr_nodes;
	const struct vgpu_schema_node *nodes;
};

enum vgpu_schema_arg {
	VGPU_ARG_STRUCT,	/* address of a struct */
	VGPU_ARG_VALUE,		/* an integer, or unused */
	VGPU_ARG_STRING,	/* address of a string, @size is the limit */
	VGPU_ARG_FD,		/* an fd of the caller */
	VGPU_ARG_REFUSED,	/* cannot be forwarded: @error */
	VGPU_ARG_MAP,		/* address of a struct; maps memory by itself: @map */
};

/**
 * struct vgpu_schema_map - an ioctl that maps memory of the device by itself
 * @cmd: its command, of a struct of 64 bytes at most, as @place_cmd's; with @size 0 it fails with
 *	EINVAL if all else is right
 * @handle: FIELD of its argument, like what follows: which memory
 * @offset: where in it
 * @size: bytes
 * @mode: how
 * @addr: out: where it is mapped
 * @place_cmd: the ioctl that tells the offset for mmap of the whole
 * @place_handle: FIELD of that one's argument, like what follows: which memory
 * @place_mode: how
 * @place: out: the offset
 * @nr_modes: number of @modes
 * @modes: what there may be in @mode, and what that is in @place_mode
 */
struct vgpu_schema_map {
	u32 cmd;
	struct vgpu_schema_ref handle;
	struct vgpu_schema_ref offset;
	struct vgpu_schema_ref size;
	struct vgpu_schema_ref mode;
	struct vgpu_schema_ref addr;
	u32 place_cmd;
	struct vgpu_schema_ref place_handle;
	struct vgpu_schema_ref place_mode;
	struct vgpu_schema_ref place;
	u32 nr_modes;
	const struct vgpu_schema_map_mode *modes;
};

struct vgpu_schema_map_mode {
	u64 mode;
	u64 place_mode;
};

/**
 * struct vgpu_schema_blank - an ioctl about a buffer that is new
 * @makes: it makes the buffer, which nothing but this file has then, and whose bytes are
 *	zero or not defined; else it tells the offset of a buffer that was made
 * @handle: FIELD of its argument, like what follows: the buffer's name; of 8 bytes at most
 * @offset: for mmap; NONE: another ioctl tells it
 * @when: as the argument is after the call; only a FIELD, equal to its value
 */
struct vgpu_schema_blank {
	bool makes;
	struct vgpu_schema_ref handle;
	struct vgpu_schema_ref offset;
	struct vgpu_schema_when when;
};

/*
 * Neither reads nor writes memory of the device that a program has mapped, nor lets others do it
 * with no other call on this file.
 */
#define VGPU_IOCTL_NO_MAPPED	BIT(0)
/* The command is compared as a whole: a bare number, or one of several of one number. */
#define VGPU_IOCTL_EXACT	BIT(1)
/* The result, if not negative, is an fd. */
#define VGPU_IOCTL_RESULT_FD	BIT(2)
/* 32-bit programs have another layout: see struct vgpu_schema's compat. */
#define VGPU_IOCTL_NATIVE	BIT(3)
/* The driver wants CAP_SYS_ADMIN, at times: the host is told whether the caller has it. */
#define VGPU_IOCTL_ADMIN	BIT(5)
/* @size_from counts only what is behind the first @size bytes. */
#define VGPU_IOCTL_SIZE_BEHIND	BIT(4)

/**
 * struct vgpu_schema_ioctl - one ioctl
 * @cmd: the command; unless EXACT, one with the same type and number but
 *	another size or direction (an older or newer program's) is this one too:
 *	what lies behind its end counts as zero
 * @name: its name, for people
 * @arg: enum vgpu_schema_arg
 * @dir: 0: as the command says; else VGPU_IN, VGPU_OUT, VGPU_INOUT; with
 *	VGPU_OUT nobody looks for fields
 * @flags: VGPU_IOCTL_*
 * @error: REFUSED: positive errno
 * @size: 0: as the command says; else bytes
 * @size_from: FIELD of the first @size bytes that gives the whole size, if
 *	larger; the struct tells its own size. More than VGPU_SCHEMA_SIZED_MAX is
 *	left to demand paging
 * @body: STRUCT: its fields; those of size 0 have none
 * @lesson: what its success teaches, or NULL
 * @map: MAP
 * @blank: STRUCT: it makes a new buffer, or tells where that is; else NULL
 */
struct vgpu_schema_ioctl {
	u32 cmd;
	u8 arg;
	u8 dir;
	u16 flags;
	u16 error;
	u32 size;
	struct vgpu_schema_ref size_from;
	struct vgpu_schema_struct body;
	const struct vgpu_schema_lesson *lesson;
	const struct vgpu_schema_map *map;
	const struct vgpu_schema_blank *blank;
	const char *name;
};

/* Files whose drivers may hand memory that they keep from one to the other. */
enum vgpu_schema_keepers {
	VGPU_KEEPERS_FILE,	/* none: the memory belongs to the file of the call */
	VGPU_KEEPERS_NVIDIA,	/* objects are handed from client to client, and to nvidia-uvm */
	VGPU_KEEPERS_NVIDIA_ANY, /* likewise, from any client to the driver's own */
	VGPU_KEEPERS_UVC,	/* a buffer may come into the queue of another file, see schema.c */
};

/**
 * struct vgpu_schema_event - something that read() gives, as of DRM devices
 * @type: by which it is known
 * @body: a struct that begins with the type and its own length, four bytes each; only
 *	STAMPs are looked at
 */
struct vgpu_schema_event {
	u32 type;
	struct vgpu_schema_struct body;
};

/* Room for alsa-lib's TLVs: 4096 bytes behind a head. */
#define VGPU_SCHEMA_SIZED_MAX	8192

/**
 * struct vgpu_schema_live - a page that changes, or is looked at, with no call
 * @offset: for mmap
 * @error: positive errno of mapping it, upon which libraries do without
 */
struct vgpu_schema_live {
	u64 offset;
	u16 error;
};

/**
 * struct vgpu_schema - the ioctls of one kind of file
 * @name: for people
 * @nr_ioctls: number of @ioctls
 * @ioctls: rising by type and number (the low 16 bits of the command); EXACT ones of
 *	one number by the command
 * @nr_compat: number of @compat
 * @compat: looked at first for 32-bit programs, likewise in order
 * @base: where to look for what is not here, or NULL
 * @apart: programs and the device take turns at whole buffers: while the one writes to a page
 *	of what is mapped, the other does not
 * @polled: positive errno of mapping memory for reading and writing that could only be a copy, as
 *	it changes, or is looked at, with no call; COPIED fields name exceptions; 0: a copy will do
 * @keepers: enum vgpu_schema_keepers: memory that calls on a file of these have handed over (KEPT)
 *	stays pinned until no file is open any more that may have it, see keep_group.c; 0: until
 *	the file of the call is closed
 * @nr_live: number of @live
 * @live: what cannot be mapped as a copy
 * @nr_events: number of @events
 * @events: what reading a device file gives, one after the other; others may come in between
 */
struct vgpu_schema {
	const char *name;
	u32 nr_ioctls;
	const struct vgpu_schema_ioctl *ioctls;
	u32 nr_compat;
	const struct vgpu_schema_ioctl *compat;
	const struct vgpu_schema *base;
	bool apart;
	int polled;
	u8 keepers;
	u32 nr_live;
	const struct vgpu_schema_live *live;
	u32 nr_events;
	const struct vgpu_schema_event *events;
};

/* --- for tables ----------------------------------------------------------- */

#define VGPU_PLACE(t, s, member) \
	.type = (t), .offset = offsetof(s, member), .size = sizeof_field(s, member)
#define VGPU_PTR(s, member)	VGPU_PLACE(VGPU_FIELD_PTR, s, member)
#define VGPU_CHAIN(s, member)	VGPU_PLACE(VGPU_FIELD_CHAIN, s, member)
#define VGPU_UNKNOWN(s, member)	VGPU_PLACE(VGPU_FIELD_UNKNOWN, s, member)
#define VGPU_COMMAND(s, member)	VGPU_PLACE(VGPU_FIELD_COMMAND, s, member)
#define VGPU_FD_IN(s, member)	VGPU_PLACE(VGPU_FIELD_FD_IN, s, member)
#define VGPU_FD_OUT(s, member)	VGPU_PLACE(VGPU_FIELD_FD_OUT, s, member)
#define VGPU_USERPTR(s, member)	VGPU_PLACE(VGPU_FIELD_USERPTR, s, member)
#define VGPU_KEPT(s, member)	VGPU_PLACE(VGPU_FIELD_KEPT, s, member)
#define VGPU_LIVE(s, member)	VGPU_PLACE(VGPU_FIELD_LIVE, s, member)
#define VGPU_COPIED(s, member)	VGPU_PLACE(VGPU_FIELD_COPIED, s, member)
#define VGPU_EVENT_IN(s, member) VGPU_PLACE(VGPU_FIELD_EVENT_IN, s, member)
#define VGPU_TIME(s, member)	VGPU_PLACE(VGPU_FIELD_TIME, s, member)
#define VGPU_PLAIN_IF(s, member) VGPU_PLACE(VGPU_FIELD_PLAIN, s, member)
#define VGPU_HIDE(s, member)	VGPU_PLACE(VGPU_FIELD_HIDE, s, member)
#define VGPU_RDEV(s, member)	VGPU_PLACE(VGPU_FIELD_RDEV, s, member)
#define VGPU_PID(s, member)	VGPU_PLACE(VGPU_FIELD_PID, s, member)
#define VGPU_PIDS(s, member)	VGPU_PLACE(VGPU_FIELD_PIDS, s, member)
/* A time of CLOCK_MONOTONIC in nanoseconds. */
#define VGPU_STAMP(s, member)	VGPU_PLACE(VGPU_FIELD_STAMP, s, member)
/* A time in two integers, @n bytes together, of which @first is the first: see @unit. */
#define VGPU_STAMP_PARTS(s, first, n, u) \
	.type = VGPU_FIELD_STAMP, .offset = offsetof(s, first), .size = (n), .unit = (u)
#define VGPU_CHOOSE_CLOCK(s, member) VGPU_PLACE(VGPU_FIELD_CLOCK, s, member)
#define VGPU_INSIDE(s, member) \
	.type = VGPU_FIELD_STRUCT, .offset = offsetof(s, member), .size = 1
#define VGPU_RESULT_FD()	.type = VGPU_FIELD_RESULT_FD, .size = 1

#define VGPU_CONST(n)		{ .kind = VGPU_REF_CONST, .value = (n) }
#define VGPU_FIELD(s, member) \
	{ .kind = VGPU_REF_FIELD, .offset = offsetof(s, member), .size = sizeof_field(s, member) }
#define VGPU_FIELD_UP(n, s, member) \
	{ .kind = VGPU_REF_FIELD, .up = (n), .offset = offsetof(s, member), \
	  .size = sizeof_field(s, member) }
#define VGPU_TARGET(s, pointer, t, member) \
	{ .kind = VGPU_REF_TARGET, .via = offsetof(s, pointer), \
	  .offset = offsetof(t, member), .size = sizeof_field(t, member) }
#define VGPU_SUM(s, pointer, integer) \
	{ .kind = VGPU_REF_SUM, .via = offsetof(s, pointer), .size = sizeof(integer) }

#define VGPU_WHEN_BESIDE(s, pointer, integer, n) \
	{ .ref = { .kind = VGPU_REF_BESIDE, .up = 1, .via = offsetof(s, pointer), \
		   .size = sizeof(integer) }, .learned = (n) }
#define VGPU_WHEN_FLAG(s, member, flag) \
	{ .ref = VGPU_FIELD(s, member), .mask = (flag), .value = (flag) }
#define VGPU_WHEN_EQUAL(s, member, v) \
	{ .ref = VGPU_FIELD(s, member), .mask = ~0ULL, .value = (v) }
#define VGPU_WHEN_LEAST(s, member, v) \
	{ .ref = VGPU_FIELD(s, member), .mask = ~0ULL, .value = (v), .least = true }

/* A new buffer, of which @member is the name; and one for which @place is told to mmap. */
#define VGPU_BLANK_MADE(s, member)	{ .makes = true, .handle = VGPU_FIELD(s, member) }
#define VGPU_BLANK_PLACED(s, member, place) \
	{ .handle = VGPU_FIELD(s, member), .offset = VGPU_FIELD(s, place) }

#define VGPU_STRUCT(s, f)	{ .size = sizeof(s), .nr_fields = ARRAY_SIZE(f), .fields = (f) }
#define VGPU_PLAIN(s)		{ .size = sizeof(s) }

/* An ioctl whose argument is plain data, or with the fields of a table. */
#define VGPU_IOCTL(c, s)	.cmd = (c), .name = #c, .body = VGPU_PLAIN(s)
#define VGPU_IOCTL_WITH(c, s, f) .cmd = (c), .name = #c, .body = VGPU_STRUCT(s, f)
#define VGPU_IOCTL_NO_ARG(c)	.cmd = (c), .name = #c, .arg = VGPU_ARG_VALUE
#define VGPU_IOCTL_FD(c)	.cmd = (c), .name = #c, .arg = VGPU_ARG_FD
#define VGPU_IOCTL_MAP(c, s, m)	.cmd = (c), .name = #c, .arg = VGPU_ARG_MAP, \
	.body = VGPU_PLAIN(s), .map = (m)
#define VGPU_IOCTL_REFUSE(c, e)	.cmd = (c), .name = #c, .arg = VGPU_ARG_REFUSED, .error = (e)

/* --- tables --------------------------------------------------------------- */

extern const struct vgpu_schema vgpu_schema_drm;
extern const struct vgpu_schema vgpu_schema_drm_mode;
extern const struct vgpu_schema vgpu_schema_virtgpu;
extern const struct vgpu_schema vgpu_schema_vgem;
extern const struct vgpu_schema vgpu_schema_vkms;
extern const struct vgpu_schema vgpu_schema_nouveau;
extern const struct vgpu_schema vgpu_schema_amdgpu;
extern const struct vgpu_schema vgpu_schema_i915;
extern const struct vgpu_schema vgpu_schema_xe;
extern const struct vgpu_schema vgpu_schema_panfrost;
extern const struct vgpu_schema vgpu_schema_panthor;
extern const struct vgpu_schema vgpu_schema_nvidia;
extern const struct vgpu_schema vgpu_schema_uvm;
extern const struct vgpu_schema vgpu_schema_v4l2;
extern const struct vgpu_schema vgpu_schema_media;
extern const struct vgpu_schema vgpu_schema_mock;
extern const struct vgpu_schema vgpu_schema_mock_apart;
extern const struct vgpu_schema vgpu_schema_dma_buf;
extern const struct vgpu_schema vgpu_schema_dma_heap;
extern const struct vgpu_schema vgpu_schema_udmabuf;
extern const struct vgpu_schema vgpu_schema_sync_file;
extern const struct vgpu_schema vgpu_schema_sound;
extern const struct vgpu_schema vgpu_schema_sound_control;

/**
 * vgpu_schema_for_export - which schema the files of an export have
 * @kind: VGPU_EXPORT_*
 * @driver: name of the host's driver
 * @title: of a sound card's node, its name
 * @path: device file on the host, maybe a symbolic link
 *
 * Return: a schema, or NULL: everything is left to demand paging.
 */
const struct vgpu_schema *vgpu_schema_for_export(u32 kind, const char *driver, const char *title,
						 const char *path);

/* Likewise for an object that came back from a call on a file with schema @from. */
const struct vgpu_schema *vgpu_schema_for_object(u32 kind, const struct vgpu_schema *from);

/* Return: 0, or -errno where a copy of what lies at @offset would be of no use. */
int vgpu_schema_check_map(const struct vgpu_schema *schema, u64 offset);

/* Return: 0, or the positive errno of mapping memory that could only be a copy: see @polled. */
int vgpu_schema_polled(const struct vgpu_schema *schema);

/* Finds who shares the memory that devices of a driver keep. Return: enum vgpu_schema_keepers. */
u8 vgpu_schema_keepers(const struct vgpu_schema *schema, const char *driver, const char *title);

/* Return: programs and the device write to no page at the same time. NULL: it is not known. */
bool vgpu_schema_is_apart(const struct vgpu_schema *schema);

/* Return: what read() calls @type, or NULL. */
const struct vgpu_schema_event *vgpu_schema_find_event(const struct vgpu_schema *schema, u32 type);

/* Return: the entry for @cmd, or NULL. */
const struct vgpu_schema_ioctl *vgpu_schema_find(const struct vgpu_schema *schema, u32 cmd,
						 bool compat);

#endif /* VGPU_SCHEMA_H */
