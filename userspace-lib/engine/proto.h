/* SPDX-License-Identifier: MIT */
/*
 * What vgpud, the engine of a guest and the shadows of its processes say to each other. It
 * goes over socket pairs of type SOCK_SEQPACKET, one message at a time, some with a file. vgpud
 * only sends by them: a file that it received it would also have to close, which may wait for a
 * driver. What it hears comes by a pipe.
 *
 * vgpud makes an engine for each guest and a shadow for each of its processes. The engine has
 * the control connection, the exports and the objects; shadows have the lanes, and make
 * the calls.
 */
#ifndef VGPU_ENGINE_PROTO_H
#define VGPU_ENGINE_PROTO_H

#include <linux/ioctl.h>
#include <linux/types.h>
#include <linux/vgpu_host.h>
#include <linux/vgpu_wire.h>

#include "patience.h"

/* Files that vgpud leaves open for an engine. */
#define ENGINE_FD_AGENT		3	/* from vgpud */
#define ENGINE_FD_CONTROL	4	/* the guest's control connection */
#define ENGINE_FD_SHARED	5	/* struct engine_shared */
#define ENGINE_FD_PROC		6	/* /proc of its own pid namespace */
#define ENGINE_FD_SESSIONS	7	/* a pipe to vgpud, for ENGINE_CLOSED and ENGINE_REAP */
#define ENGINE_FD_PROGRAM	8	/* the program itself, closed by exec */

/* Files that vgpud leaves open for a keeper, and its program, at ENGINE_FD_PROGRAM. */
#define KEEPER_FD_AGENT		3	/* the connection from vgpud, which only sends */
#define KEEPER_FD_QEMU		4	/* the connection of the guest's hypervisor */
#define KEEPER_FD_STATE		5	/* a file of one byte that vgpud reads: KEEPER_STATE_* */

#define KEEPER_STATE_HUGE	1	/* all memory of the guest that is taken is in hugetlbfs */
#define KEEPER_STATE_GIANT	2	/* it has some in pages of more than VGPU_RAM_PAGE_MAX */

/* Files that vgpud leaves open for vgpu-engine-master. */
#define MASTER_FD_ENGINE	3	/* to the engine */
#define MASTER_FD_NODE		4	/* the export's node, opened with O_PATH */
#define MASTER_FD_PROGRAM	5	/* the program itself, closed by exec */

/* Files that vgpud leaves open for a shadow of an engine. */
#define ESHADOW_FD_ENGINE	3	/* to the engine */
#define ESHADOW_FD_LANES	4	/* from vgpud: one lane's socket a message */
#define ESHADOW_FD_SHARED	5	/* struct engine_shared, to read */
#define ESHADOW_FD_DEVICES	6	/* directory with the nodes of exports, by number */
#define ESHADOW_FD_PROC		7	/* /proc of its own pid namespace */
#define ESHADOW_FD_FAULTS	8	/* /dev/userfaultfd */
#define ESHADOW_FD_COUNTERS	9	/* struct engine_counters, its own */
#define ESHADOW_FD_PATIENCE	10	/* struct engine_patience */
#define ESHADOW_FD_PROGRAM	11	/* the program itself, closed by exec */

/* Moving memory that faults are reported of keeps it so only with the event. */
#define ESHADOW_FAULTS		(UFFD_FEATURE_THREAD_ID | UFFD_FEATURE_EVENT_REMAP)

/* Exit statuses of such a shadow, beside those of layout.h. */
enum eshadow_exit {
	ESHADOW_EXIT_FAULTS	= 110,	/* no userfaultfd for faults of the kernel */
	ESHADOW_EXIT_SECRET	= 111,	/* no memfd_secret */
	ESHADOW_EXIT_MEMLOCK	= 112,	/* RLIMIT_MEMLOCK is too low for its pages */
	ESHADOW_EXIT_SHARED	= 113,	/* the shared memory could not be mapped */
	ESHADOW_EXIT_ROOM	= 114,	/* the kernel has no room for one more mapping of it */
	ESHADOW_EXIT_PAGES	= 115,	/* more addresses fail than it has pages for */
};

/**
 * struct engine_counters - see struct vgpu_host_peer_stat
 *
 * The engine has one and each shadow one of its own, which vgpud reads, too: none can spoil
 * what another has counted.
 */
struct engine_counters {
	__u64 calls;
	__u64 upcalls;
	__u64 bytes_in;
	__u64 bytes_out;
	__u64 fetched_pages;
	__u64 written_pages;
	__u64 fetch_timeouts;
	__u64 refused;
	__u64 malformed;
	__u64 stray_fds;
	__u64 cancels;
};

/**
 * struct engine_shared - memory that vgpud, the engine and the shadows of a guest share
 * @limits: of the guest, filled
 * @features: VGPU_FEATURE_* as WELCOME said
 * @fetch_timeout_ms: see struct vgpu_host_agent
 * @pieces: most mappings of the guest's memory that a shadow has at once
 * @counters: the engine's own
 * @mapped_bytes: of device mappings, now
 * @nr_sessions: how many there are now
 * @nr_lanes: likewise
 * @nr_objects: likewise
 * @nr_mappings: likewise
 * @nr_bindings: number of ranges of the window in which mappings are seen, or may be
 * @reserved2: 0
 * @bound_bytes: length of these ranges together
 * @kept_bytes: of the guest's memory, which devices may use, now
 * @owned_bytes: of devices' memory, which the engine owns because it is or may be shown, now
 *
 * vgpud fills in what is before @counters and only reads the rest; the engine only writes, and
 * shadows only read.
 */
struct engine_shared {
	struct vgpu_host_limits limits;
	__u64 features;
	__u32 fetch_timeout_ms;
	__u32 pieces;
	struct engine_counters counters;
	__u64 mapped_bytes;
	__u32 nr_sessions;
	__u32 nr_lanes;
	__u32 nr_objects;
	__u32 nr_mappings;
	__u32 nr_bindings;
	__u32 reserved2;
	__u64 bound_bytes;
	__u64 kept_bytes;
	__u64 owned_bytes;
};

/**
 * struct engine_patience - for how long drivers wait for a guest
 * @lock: 1: a shadow changes the rest
 * @reserved: 0
 * @patience: see there
 *
 * vgpud makes one for each guest, which outlives its engine, and only reads it. All shadows of
 * the guest write to it: they can spoil it for each other, and could as well have
 * drivers wait without asking.
 */
struct engine_patience {
	__u32 lock;
	__u32 reserved;
	struct vgpu_patience patience;
};

/* --- vgpud and the engine --------------------------------------------------- */

enum engine_agent_type {
	ENGINE_START	= 6,	/* struct engine_start, first of all */
	ENGINE_GRANT	= 1,	/* struct engine_grant */
	ENGINE_REVOKE	= 2,	/* struct engine_number: an export of vgpud's */
	ENGINE_SESSION	= 3,	/* struct engine_number, with the engine's end for the shadow */
	ENGINE_CHANGE	= 4,	/* struct engine_change */
	ENGINE_FILE	= 7,	/* struct engine_file */
	ENGINE_CLOSED	= 5,	/* to vgpud by the pipe, struct engine_number: end that session */
	ENGINE_KEEPER	= 8,	/* struct engine_number, with a connection to the keeper */
	/* struct engine_number: an export, with a connection to its vgpu-engine-master */
	ENGINE_MASTER	= 9,
	ENGINE_REAP	= 10,	/* as CLOSED: no driver knows the process number of its shadow */
};

struct engine_number {
	__u32 type;
	__u32 reserved;
	__u64 number;
};

/**
 * struct engine_start - what an engine keeps to
 * @type: ENGINE_START
 * @ping_timeout_ms: see struct vgpu_host_agent
 * @features: VGPU_FEATURE_* as WELCOME said
 * @limits: of the guest, filled
 */
struct engine_start {
	__u32 type;
	__u32 ping_timeout_ms;
	__u64 features;
	struct vgpu_host_limits limits;
};

/**
 * struct engine_grant - the guest may use an export
 * @type: ENGINE_GRANT
 * @export: vgpud's number of it, and the name of its node
 * @flags: VGPU_HOST_GRANT_*
 * @master: openers may become DRM master
 * @no_demand: see VGPU_HOST_EXPORT_NO_DEMAND
 * @reserved: 0
 * @add: what the guest is told, but for the number
 * @deny: see struct vgpu_policy
 * @nr_ioctls: entries of @ioctls, of which only these are sent
 * @ioctls: vgpu_ioctl_key() of commands, rising
 */
struct engine_grant {
	__u32 type;
	__u32 export;
	__u32 flags;
	__u32 master;
	__u32 no_demand;
	__u32 reserved;
	struct vgpu_export_add add;
	__u32 deny;
	__u32 nr_ioctls;
	__u32 ioctls[1024];
};

struct engine_change {
	__u32 type;
	__u32 export;
	__u32 flags;
	__u32 connector;
	__u32 property;
	__u32 wedged;
};

/**
 * struct engine_file - what a small file of an export's device holds
 * @type: ENGINE_FILE
 * @export: vgpud's number of it
 * @flags: VGPU_FILE_*
 * @len: bytes of @data, of which only these are sent
 * @name: as in struct vgpu_export_file
 * @data: what it holds
 */
struct engine_file {
	__u32 type;
	__u32 export;
	__u32 flags;
	__u32 len;
	__u8 name[VGPU_FILE_NAME_LEN];
	__u8 data[VGPU_FILE_MAX];
};

/* --- keepers ---------------------------------------------------------------- */

/**
 * enum keeper_type - messages to and from a keeper
 * @KEEPER_START: vgpud's first one: number @id and size @len of the window
 * @KEEPER_ENGINE: vgpud's, with the keeper's end of a connection to the guest's engine
 * @KEEPER_MEMORY: vgpud's, where the host module is the engine, with a file of that (struct
 *	vgpu_host_memory), which is to be told where the guest's memory is. Nothing is shown
 * @KEEPER_MAP: the engine's, with a file: have @len bytes of it, from @file_offset on, shown at
 *	@offset of the window that the READY with number @id told of. It is answered by DONE when
 *	the guest can see it
 * @KEEPER_UNMAP: the engine's: have hidden what a MAP of this @offset and @len shows. It is
 *	answered by DONE when the guest cannot see it any more
 * @KEEPER_READY: the keeper's: there is a window, number @id, of @len bytes; nothing is seen in
 *	it that any engine had shown before. @tag numbers these messages, as the window's number
 *	stays: a MAP that crosses it names the one before
 * @KEEPER_GONE: the keeper's: there is none any more. What was shown may be seen until the next
 *	READY, and requests that were not answered will not be
 * @KEEPER_DONE: the keeper's answer to the request with this @tag: 0 in @result, or why not
 * @KEEPER_RAM: the keeper's: the guest has memory at its physical address @offset, @len
 *	bytes, which is in the file that comes with the message, from @file_offset on. Without a
 *	file: that memory is there no more
 */
enum keeper_type {
	KEEPER_START	= 1,
	KEEPER_ENGINE	= 2,
	KEEPER_MAP	= 3,
	KEEPER_UNMAP	= 4,
	KEEPER_READY	= 5,
	KEEPER_GONE	= 6,
	KEEPER_DONE	= 7,
	KEEPER_RAM	= 8,
	KEEPER_MEMORY	= 9,
};

/**
 * struct keeper_msg - a message to or from a keeper
 * @type: enum keeper_type, which says what the other fields mean; those that it does not name are 0
 * @result: 0, or a negative errno
 * @tag: number by which DONE names its request, as the engine likes; READY's own
 * @id: number of a window; MAP's: @tag of the READY that the engine has heard last
 * @offset: place in the window, or in the guest's physical memory, in bytes; whole pages
 * @len: length in bytes; whole pages
 * @file_offset: place in a file, in bytes; whole pages
 */
struct keeper_msg {
	__u32 type;
	__s32 result;
	__u64 tag;
	__u64 id;
	__u64 offset;
	__u64 len;
	__u64 file_offset;
};

/* Exit statuses of a keeper, beside 0, which is for the end of the hypervisor or of vgpud. */
enum keeper_exit {
	KEEPER_EXIT_START	= 120,	/* something that the keeper itself needs is missing */
	KEEPER_EXIT_FEATURES	= 121,	/* the hypervisor lacks what keeper/qemu.c needs */
	KEEPER_EXIT_PROTOCOL	= 122,	/* the hypervisor says what the protocol does not allow */
	KEEPER_EXIT_SILENT	= 123,	/* the hypervisor does not answer */
};

/*
 * Most mappings that a window shows at once. A hypervisor has 509 slots for the memory of a guest
 * that it tells its back-ends of, and needs some for RAM.
 */
#define KEEPER_MAPPINGS_MAX	448

/* --- who makes DRM masters -------------------------------------------------- */

/* DRM's SET_MASTER and DROP_MASTER. */
#define MASTER_SET		_IO('d', 0x1e)
#define MASTER_DROP		_IO('d', 0x1f)

/**
 * struct master_msg - a request of the engine, which comes with a file, or its answer
 * @tag: number by which the answer names its request, as the engine likes
 * @command: MASTER_SET or MASTER_DROP: an ioctl of the file, to be made with CAP_SYS_ADMIN
 * @result: of the ioctl: 0, or a negative errno
 */
struct master_msg {
	__u64 tag;
	__u32 command;
	__s32 result;
};

/* --- the engine and a shadow ------------------------------------------------ */

enum engine_shadow_type {
	/* Requests of a lane, each with one answer. */
	ESHADOW_OPEN	= 1,	/* may it open export @object with @value's flags? */
	ESHADOW_OPENED	= 2,	/* with the file: an object of export @object */
	ESHADOW_MADE	= 3,	/* with a file that a call on @object made; @value: watch fences, */
				/* @extra: limits of all calls that may have made it */
	ESHADOW_FIND	= 4,	/* the file of object @object */
	ESHADOW_CLOSE	= 5,	/* the guest gives reference @value to @object back */
	ESHADOW_SYNC	= 6,	/* wait until control message @value is applied */
	ESHADOW_POLL	= 7,	/* object @object, @value: events, @extra: flags, number */
	ESHADOW_FDINFO	= 8,	/* of object @object */
	ESHADOW_EVENT	= 9,	/* with an eventfd: @object, @value: the guest's number */
	ESHADOW_BIND	= 10,	/* a mapping of @object, with a struct eshadow_bind behind it */
	ESHADOW_MAPS	= 11,	/* @object maps a struct eshadow_memory, shared with OWNER's client */
	ESHADOW_KEEP	= 12,	/* @object's driver may keep memory, number @value: @extra bytes */
	ESHADOW_ROOM	= 13,	/* for one more mapping of @value bytes, which counts from now on */
	ESHADOW_MASTER	= 14,	/* ioctl @value (MASTER_*) of @object, with CAP_SYS_ADMIN */
	ESHADOW_QUIET	= 15,	/* do not poll the device of @object but for the guest's POLL */
	ESHADOW_OWNER	= 16,	/* which client owns what is shown, of the driver of nvidiactl @object? */
	ESHADOW_SHOW	= 17,	/* a file that maps what nvidiactl @object maps, until SHOWN */
	/* Without an answer. */
	ESHADOW_TAKE_BACK = 20,	/* the guest will not get reference @value to @object */
	ESHADOW_UNEVENT	= 21,	/* the call that asked for event @value has failed */
	ESHADOW_DROPPED	= 22,	/* the shadow has closed object @object */
	ESHADOW_USAGE	= 23,	/* -@value fewer bytes mapped; @extra: more mappings, lanes << 32 */
	ESHADOW_UNSYNC	= 24,	/* lane @lane is down: what it waits for by SYNC is answered now */
	ESHADOW_ACKED	= 25,	/* the guest has what the last call of lane @lane gave it */
	ESHADOW_SHOWN	= 26,	/* lane @lane has mapped, and closed, the file that SHOW gave it */
	/* From the engine. */
	ESHADOW_ANSWER	= 30,	/* to the request of lane @lane */
	ESHADOW_DROP	= 31,	/* close object @object, say DROPPED */
	ESHADOW_UNMAP	= 32,	/* of [@value, @value + @extra) */
	ESHADOW_END	= 33,	/* the session is over when its lanes are */
	ESHADOW_RAM	= 34,	/* with a file: memory of the guest, see struct eshadow_ram; */
				/* without: there is none any more */
};

/**
 * struct eshadow_msg - a request, its answer, or news
 * @type: enum engine_shadow_type
 * @lane: index of the lane that asks
 * @object: number of an object or export
 * @result: answers: 0 or more, or a negative errno
 * @value: see the type
 * @extra: likewise
 *
 * Answers to OPEN and FIND have a struct eshadow_policy behind them, those that give objects a
 * struct vgpu_object_desc, that to FDINFO its bytes, that to OWNER a __u32: the handle of
 * the client.
 */
struct eshadow_msg {
	__u32 type;
	__u32 lane;
	__u32 object;
	__s32 result;
	__u64 value;
	__u64 extra;
};

/**
 * struct eshadow_memory - memory of NVIDIA's driver that a file shows, behind ESHADOW_MAPS
 * @client: handle of the program's client
 * @memory: handle of the memory object in that client
 * @flags: the mapping's flags, as the program gave them to the driver
 * @reserved: 0
 * @offset: where the mapping begins in the object, in bytes
 * @len: length of the mapping in bytes
 */
struct eshadow_memory {
	__u32 client;
	__u32 memory;
	__u32 flags;
	__u32 reserved;
	__u64 offset;
	__u64 len;
};

/**
 * struct eshadow_bind - a part of a mapping that is to be seen in the window, behind ESHADOW_BIND
 * @window: number of the window
 * @offset: place in the window, in bytes
 * @len: length of the part in bytes
 * @file_offset: place of the part in the file that is mapped, in bytes
 * @seq: number of the last control message that the guest had sent before the call
 */
struct eshadow_bind {
	__u64 window;
	__u64 offset;
	__u64 len;
	__u64 file_offset;
	__u64 seq;
};

/**
 * struct eshadow_ram - where memory of the guest is, behind ESHADOW_RAM
 * @addr: physical address in the guest
 * @len: bytes
 * @offset: where it begins in the file
 */
struct eshadow_ram {
	__u64 addr;
	__u64 len;
	__u64 offset;
};

/**
 * struct eshadow_policy - what a shadow has to know of an export or object
 * @export: vgpud's number of it, the name of the node; 0: an object of no export
 * @kind: VGPU_EXPORT_*
 * @master: see struct vgpu_policy
 * @read_only: likewise
 * @deny: likewise
 * @no_demand: of an object: its driver does not wait for the guest's memory
 * @nr_ioctls: entries of @ioctls
 * @object_kind: of an object: VGPU_OBJECT_*
 * @reserved2: 0
 * @space: the number of the address space that the object's mappings show
 * @rdev: of the node
 * @limits: a bit for each set of limits that holds for what its calls make, see struct object
 * @ioctls: see struct vgpu_policy
 */
struct eshadow_policy {
	__u32 export;
	__u32 kind;
	__u8 master;
	__u8 read_only;
	__u8 deny;
	__u8 no_demand;
	__u32 nr_ioctls;
	__u32 object_kind;
	__u32 reserved2;
	__u64 space;
	__u64 rdev;
	__u64 limits;
	__u32 ioctls[1024];
};

#define ESHADOW_MSG_MAX	(sizeof(struct eshadow_msg) + sizeof(struct eshadow_policy))

/*
 * Most mappings of a shadow: beside those of devices each lane may have room for a call, and
 * memory that its driver keeps; a cut makes one more.
 */
static inline __u32 eshadow_mappings_max(const struct vgpu_host_limits *limits)
{
	return limits->mappings + (2 + VGPU_KEPT_MAX) * limits->lanes + 2;
}

#endif /* VGPU_ENGINE_PROTO_H */
