/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Schemas: tables of the pointers, lengths and fds in the arguments of ioctls.
 *
 * The argument of an ioctl is a struct whose size is part of the command. Most structs are
 * plain data and need no table. The others hold addresses of more memory, whose size and
 * direction only the driver knows. A schema describes that memory:
 *
 *	struct drm_mode_obj_get_properties {
 *		__u64 props_ptr;	pointer, inout, count_props x __u32
 *		__u64 prop_values_ptr;	pointer, inout, count_props x __u64
 *		__u32 count_props;
 *		...
 *
 * is, as a table (see schema/drm.c):
 *
 *	static const struct vgpu_schema_field obj_get_properties[] = {
 *		{ VGPU_PTR(struct drm_mode_obj_get_properties, props_ptr),
 *		  .dir = VGPU_INOUT, .unit = sizeof(__u32),
 *		  .count = VGPU_FIELD(struct drm_mode_obj_get_properties, count_props) },
 *		...
 *
 * The marshaller copies each piece of memory once, takes all counts, flags and pointers from
 * that copy, and sends the copy along with the call. Memory that the table does not describe,
 * or that cannot be read or is too large, is left to demand paging: the driver gets the pointer
 * unchanged, and the driver's own checks decide. So a missing entry costs round trips, not
 * correctness, with two exceptions. Fds cross only if a table names them. Memory behind the
 * size in the command crosses only if a table gives its size.
 *
 * The tables are plain const data without allocation, and compile in user space for tests, too.
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

#include "argument/schema_number.h"

/* Maximum nesting of structs for the marshaller; deeper ones are left to demand paging. */
#define VGPU_SCHEMA_DEPTH	6

/* Direction of memory from the driver's point of view. */
#define VGPU_IN		1	/* the driver reads the memory */
/*
 * The driver fills all of the memory on success (or as much as out_count says), and does not
 * write to it on failure.
 */
#define VGPU_OUT	2
/* The driver reads the memory, or fills a part of it, or writes to it on failure as well. */
#define VGPU_INOUT	3

/*
 * Types of fields. Among fields for the same place, which are adjacent in the table, the first
 * one counts whose condition holds. Types behind PLAIN apply in addition to the other types.
 */
enum vgpu_schema_field_type {
	VGPU_FIELD_PTR = 1,	/* pointer to an array */
	VGPU_FIELD_CHAIN,	/* pointer to the first of a chain of structs */
	VGPU_FIELD_UNKNOWN,	/* pointer to parameters of an unknown class, for statistics */
	VGPU_FIELD_STRUCT,	/* struct inside of this one, with fields of its own */
	VGPU_FIELD_FD_IN,	/* an fd of the caller */
	VGPU_FIELD_USERPTR,	/* memory that the device would keep: the ioctl fails */
	VGPU_FIELD_KEPT,	/* memory whose pages the device keeps after the call */
	VGPU_FIELD_LIVE,	/* the ioctl makes no sense in copy mode: it fails there */
	VGPU_FIELD_COPIED,	/* offset at which polled memory may be mapped in copy mode */
	VGPU_FIELD_EVENT_IN,	/* eventfd of the caller, to be signalled once */
	VGPU_FIELD_TIME,	/* absolute CLOCK_MONOTONIC time; 0: in the past */
	VGPU_FIELD_HIDE,	/* bits that are hidden from the program */
	VGPU_FIELD_RDEV,	/* number of a device file, written by the driver */
	VGPU_FIELD_PID,		/* process id, written by the driver on success */
	VGPU_FIELD_PIDS,	/* list of process ids; a host knows only the caller's */
	VGPU_FIELD_PLAIN,	/* no other field for this place applies */
	VGPU_FIELD_FD_OUT,	/* becomes an fd of the caller */
	VGPU_FIELD_RESULT_FD,	/* no place: a non-negative result is an fd */
	VGPU_FIELD_STAMP,	/* time that the driver writes */
	VGPU_FIELD_CLOCK,	/* choice of the clock of such times, by ALSA's numbers */
	VGPU_FIELD_COMMAND,	/* number of an inner command, for statistics of fetches */
};

/* Clocks of the times that drivers write. */
enum vgpu_schema_clock {
	VGPU_CLOCK_MONOTONIC,
	VGPU_CLOCK_REALTIME,
	VGPU_CLOCK_RAW,		/* CLOCK_MONOTONIC_RAW */
	VGPU_CLOCK_TSC,		/* time-stamp counter of the processor, in ticks */
	VGPU_CLOCK_FILE,	/* clock that was chosen for the file */
};

struct vgpu_schema_struct;
struct vgpu_schema_chain;

/**
 * struct vgpu_schema_field - field of a struct that is not plain data
 * @type: enum vgpu_schema_field_type
 * @dir: PTR: VGPU_IN, VGPU_OUT or VGPU_INOUT; KEPT: VGPU_INOUT: the device writes to the
 *	memory; VGPU_IN: the device may write to the memory if the program may: some drivers pin
 *	for writing what they only read, and check that
 * @size: size of the field in bytes: 4 or 8; STRUCT: 1, as an older struct may be shorter;
 *	STAMP: 8 or 16, see @unit
 * @clock: STAMP: enum vgpu_schema_clock
 * @offset: offset of the field in its struct
 * @error: positive errno. USERPTR: the ioctl fails if the pointer is not NULL; KEPT: the ioctl
 *	fails if the host cannot get the pages; 0: the driver finds out that it cannot pin them;
 *	LIVE: the ioctl fails if mappings are in copy mode; otherwise no mapping of the file
 *	switches to copy mode afterwards
 * @unkept: true if the field is ignored where the host can get pages that the device keeps
 * @alone: KEPT: true if the host must keep other calls from accessing the pages meanwhile
 *	(VGPU_FEATURE_KEEP_ALONE): the driver of another call might keep the pages for longer
 *	than the file of this call is open. With @unkept the field is ignored only where the host
 *	can do that
 * @mask: HIDE: the bits; all of them: the program sees -1; PID: see @out_count; KEPT: number of
 *	bytes to add to @count elements
 * @when: condition of the field; STAMP: a FIELD of the same struct after the call
 * @count: PTR, KEPT: number of elements; NONE: one; UNKNOWN: the class
 * @times: PTR: factor of @count; NONE: one
 * @unit: PTR, KEPT: size of an element in bytes; 0: the size of @elem, or one byte; PIDS:
 *	distance of the ids in bytes; STAMP: 0: the field is one integer, see @max; else two
 *	integers, seconds and fractions, @unit to a second
 * @stride: PTR: size of an element in bytes, in place of @unit
 * @out_count: PTR, VGPU_OUT: number of elements that the driver has filled, in the struct after
 *	the call (@up is 0); a larger number counts as @count. PID: NONE: the id is the
 *	caller's; else integer after the call in which the bits @mask say that the id is that of
 *	the file's opener. Other positive ids are the host's and become 0. KEPT: integer in
 *	which the driver returns a status; NONE: there is no status
 * @max: PTR: maximum number of bytes, more are left to demand paging; 0: only the host's limit;
 *	PIDS: number of ids; STAMP: nanoseconds of a unit of the integer, 0: one; KEPT: status
 *	for the program, instead of an errno, if more pages would be kept than allowed
 * @elem: PTR: struct of each element, NULL: plain data; STRUCT: the inner struct
 * @chain: CHAIN: description of the chain
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
 * struct vgpu_schema_struct - fields of a struct
 * @size: size in bytes
 * @nr_fields: number of @fields
 * @fields: array of fields, in the order in which they are processed
 */
struct vgpu_schema_struct {
	u32 size;
	u32 nr_fields;
	const struct vgpu_schema_field *fields;
};

/**
 * struct vgpu_schema_node - struct that may be in a chain
 * @tag: value of the tag
 * @dir: VGPU_IN or VGPU_INOUT
 * @body: struct, including the head
 * @more: FIELD of @body: number of elements behind the struct; NONE: none
 * @more_unit: size of such an element in bytes
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
 * @head: size of the common head in bytes
 * @next: offset of the pointer to the next struct in the head (8 bytes); 0 ends the chain
 * @tag: offset of the tag in the head
 * @tag_size: size of the tag in bytes
 * @max: maximum number of structs that are followed; the driver has its own limit
 * @nr_nodes: number of @nodes
 * @nodes: array of possible structs
 *
 * The marshaller stops at a struct with an unknown tag.
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
	VGPU_ARG_STRING,	/* address of a string of at most @size bytes */
	VGPU_ARG_FD,		/* an fd of the caller */
	VGPU_ARG_REFUSED,	/* not forwarded: fails with @error */
	VGPU_ARG_MAP,		/* address of a struct of an ioctl that maps memory: @map */
};

/**
 * struct vgpu_schema_map - ioctl that maps memory of the device by itself
 * @cmd: command of the ioctl, whose struct has 64 bytes at most, like that of @place_cmd; the
 *	ioctl fails with EINVAL if @size is 0 and everything else is valid
 * @handle: FIELD of its argument, like the next four: handle of the memory
 * @offset: offset in the memory
 * @size: number of bytes
 * @mode: caching mode
 * @addr: out: address of the mapping
 * @place_cmd: command of the ioctl that returns the mmap offset of the memory
 * @place_handle: FIELD of the argument of @place_cmd, like the next two: handle of the memory
 * @place_mode: caching mode
 * @place: out: the mmap offset
 * @nr_modes: number of @modes
 * @modes: array of the values of @mode and the equivalent values of @place_mode
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
 * struct vgpu_schema_blank - ioctl about a buffer that is new
 * @makes: true if the ioctl makes the buffer: no other file has the buffer then, and its bytes
 *	are zero or undefined; false if the ioctl returns the mmap offset of such a buffer
 * @handle: FIELD of its argument: handle of the buffer, 8 bytes at most
 * @offset: FIELD of its argument: mmap offset; NONE: another ioctl returns it
 * @when: condition on the argument after the call; only a FIELD, equal to its value
 */
struct vgpu_schema_blank {
	bool makes;
	struct vgpu_schema_ref handle;
	struct vgpu_schema_ref offset;
	struct vgpu_schema_when when;
};

/*
 * The ioctl neither reads nor writes device memory that a program has mapped, and does not let
 * others do so unless another call is made on this file.
 */
#define VGPU_IOCTL_NO_MAPPED	BIT(0)
/* The whole command is compared: it is a bare number, or several commands have this number. */
#define VGPU_IOCTL_EXACT	BIT(1)
/* A non-negative result is an fd. */
#define VGPU_IOCTL_RESULT_FD	BIT(2)
/* The layout of 32-bit programs differs: see @compat of struct vgpu_schema. */
#define VGPU_IOCTL_NATIVE	BIT(3)
/* The driver may check CAP_SYS_ADMIN: the call says if the caller has it (VGPU_CALL_ADMIN). */
#define VGPU_IOCTL_ADMIN	BIT(5)
/* @size_from counts only the bytes behind the first @size bytes. */
#define VGPU_IOCTL_SIZE_BEHIND	BIT(4)

/**
 * struct vgpu_schema_ioctl - description of an ioctl
 * @cmd: command. Unless EXACT, a command with the same type and number but another size or
 *	direction (of an older or newer program) matches as well: bytes behind its end count as
 *	zero
 * @name: name for statistics
 * @arg: enum vgpu_schema_arg
 * @dir: direction of the argument, VGPU_IN, VGPU_OUT or VGPU_INOUT; 0: that of the command. The
 *	fields are not processed with VGPU_OUT
 * @flags: VGPU_IOCTL_*
 * @error: REFUSED: positive errno
 * @size: size of the argument in bytes; 0: that of the command
 * @size_from: FIELD of the first @size bytes that has the size of the whole struct, if larger.
 *	More than VGPU_SCHEMA_SIZED_MAX bytes are left to demand paging
 * @body: STRUCT: fields of the argument; a struct of size 0 has none
 * @lesson: number that the ioctl teaches on success, or NULL
 * @map: MAP: description of the mapping
 * @blank: STRUCT: description of the new buffer that the ioctl makes, or whose offset it
 *	returns; else NULL
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

/* Sets of files whose drivers may pass kept memory on to each other. */
enum vgpu_schema_keepers {
	VGPU_KEEPERS_FILE,	/* none: memory belongs to the file of the call */
	VGPU_KEEPERS_NVIDIA,	/* objects are passed between clients, and to nvidia-uvm */
	VGPU_KEEPERS_NVIDIA_ANY, /* objects are passed from any client to the driver's own */
	VGPU_KEEPERS_UVC,	/* a buffer may get into another file's queue, see schema.c */
};

/**
 * struct vgpu_schema_event - event that read() returns, as of DRM devices
 * @type: type of the event
 * @body: struct of the event, which begins with its type and its length, four bytes each; only
 *	STAMP fields are processed
 */
struct vgpu_schema_event {
	u32 type;
	struct vgpu_schema_struct body;
};

/* Maximum size of a struct with @size_from: alsa-lib's TLVs have 4096 bytes behind a head. */
#define VGPU_SCHEMA_SIZED_MAX	8192

/**
 * struct vgpu_schema_live - page whose contents change, or are read, without a call
 * @offset: mmap offset
 * @error: positive errno with which mapping the page fails; libraries do without the page then
 */
struct vgpu_schema_live {
	u64 offset;
	u16 error;
};

/**
 * struct vgpu_schema - ioctls of one kind of file
 * @name: name for messages of tests
 * @nr_ioctls: number of @ioctls
 * @ioctls: array in ascending order of type and number (the low 16 bits of the command); EXACT
 *	entries with the same number are in the order of the command
 * @nr_compat: number of @compat
 * @compat: array in the same order that is searched first for 32-bit programs
 * @base: schema to search after this one, or NULL
 * @apart: true if programs and the device take turns with whole buffers: while one writes to a
 *	page of a mapping, the other does not
 * @polled: positive errno with which a readable and writable mapping fails in copy mode,
 *	because the memory changes, or is read, without a call; COPIED fields name exceptions;
 *	0: copy mode is fine
 * @keepers: enum vgpu_schema_keepers: memory that a call on a file of this set has handed over
 *	(KEPT) stays pinned until no file is open that may have it, see keep_group.c; 0: until
 *	the file of the call is closed
 * @nr_live: number of @live
 * @live: array of pages that must not be mapped in copy mode
 * @nr_events: number of @events
 * @events: array of events that reading the device file returns in sequence; unknown events may
 *	come in between
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

/**
 * vgpu_schema_for_export - find the schema of the files of an export
 * @kind: VGPU_EXPORT_*
 * @driver: name of the host's driver
 * @title: name of the node of a sound card
 * @path: path of the device file on the host, maybe of a symbolic link
 *
 * Return: a schema, or NULL: all arguments are left to demand paging.
 */
const struct vgpu_schema *vgpu_schema_for_export(u32 kind, const char *driver, const char *title,
						 const char *path);

/* Find the schema of an object that a call on a file with schema @from has returned. */
const struct vgpu_schema *vgpu_schema_for_object(u32 kind, const struct vgpu_schema *from);

/* Return: 0, or -errno if the page at @offset must not be mapped in copy mode. */
int vgpu_schema_check_map(const struct vgpu_schema *schema, u64 offset);

/* Return: 0, or the positive errno of readable and writable mappings in copy mode: see @polled. */
int vgpu_schema_polled(const struct vgpu_schema *schema);

/* Find the set of files that share kept memory. Return: enum vgpu_schema_keepers. */
u8 vgpu_schema_keepers(const struct vgpu_schema *schema, const char *driver, const char *title);

/*
 * Return: true if programs and the device never write to a page at the same time; false for
 * NULL.
 */
bool vgpu_schema_is_apart(const struct vgpu_schema *schema);

/* Return: description of the event @type, or NULL. */
const struct vgpu_schema_event *vgpu_schema_find_event(const struct vgpu_schema *schema, u32 type);

/* Return: entry for @cmd, or NULL. */
const struct vgpu_schema_ioctl *vgpu_schema_find(const struct vgpu_schema *schema, u32 cmd,
						 bool compat);

#endif /* VGPU_SCHEMA_H */
