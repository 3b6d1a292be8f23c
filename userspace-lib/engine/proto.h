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

#include <linux/types.h>
#include <linux/vgpu_host.h>
#include <linux/vgpu_wire.h>

/* Files that vgpud leaves open for an engine. */
#define ENGINE_FD_AGENT		3	/* from vgpud */
#define ENGINE_FD_CONTROL	4	/* the guest's control connection */
#define ENGINE_FD_SHARED	5	/* struct engine_shared */
#define ENGINE_FD_PROC		6	/* /proc of its own pid namespace */
#define ENGINE_FD_CLOSED	7	/* a pipe to vgpud, for ENGINE_CLOSED */
#define ENGINE_FD_PROGRAM	8	/* the program itself, closed by exec */

/* Files that vgpud leaves open for a keeper, which has the program at ENGINE_FD_PROGRAM. */
#define KEEPER_FD_AGENT		3	/* from vgpud */
#define KEEPER_FD_QEMU		4	/* the connection of the guest's hypervisor */

/* Files that vgpud leaves open for a shadow of an engine. */
#define ESHADOW_FD_ENGINE	3	/* to the engine */
#define ESHADOW_FD_LANES	4	/* from vgpud: one lane's socket a message */
#define ESHADOW_FD_SHARED	5	/* struct engine_shared */
#define ESHADOW_FD_DEVICES	6	/* directory with the nodes of exports, by number */
#define ESHADOW_FD_PROC		7	/* /proc of its own pid namespace */
#define ESHADOW_FD_FAULTS	8	/* /dev/userfaultfd */
#define ESHADOW_FD_PROGRAM	9	/* the program itself, closed by exec */

/* Exit statuses of such a shadow, beside those of layout.h. */
enum eshadow_exit {
	ESHADOW_EXIT_FAULTS	= 110,	/* no userfaultfd for faults of the kernel */
	ESHADOW_EXIT_SECRET	= 111,	/* no memfd_secret */
	ESHADOW_EXIT_MEMLOCK	= 112,	/* RLIMIT_MEMLOCK is too low for its pages */
	ESHADOW_EXIT_SHARED	= 113,	/* the shared memory could not be mapped */
};

/**
 * struct engine_shared - memory that vgpud, the engine and the shadows of a guest share
 * @limits: of the guest, filled
 * @features: VGPU_FEATURE_* as WELCOME said
 * @fetch_timeout_ms: see struct vgpu_host_agent
 * @pieces: most mappings of the guest's memory that a shadow has at once
 * @counters: see struct vgpu_host_peer_stat; of these the sums
 * @mapped_bytes: of device mappings, now
 * @nr_sessions: how many there are now
 * @nr_lanes: likewise
 * @nr_objects: likewise
 * @nr_mappings: likewise
 * @nr_bindings: of these, or parts of them, in the window
 * @reserved2: 0
 * @bound_bytes: of those
 * @kept_bytes: of the guest's memory, which devices may use, now
 *
 * vgpud fills in what is before @counters and only reads the rest; the engine only writes. A
 * shadow that spoils any of it deceives its own guest.
 */
struct engine_shared {
	struct vgpu_host_limits limits;
	__u64 features;
	__u32 fetch_timeout_ms;
	__u32 pieces;
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
	} counters;
	__u64 mapped_bytes;
	__u32 nr_sessions;
	__u32 nr_lanes;
	__u32 nr_objects;
	__u32 nr_mappings;
	__u32 nr_bindings;
	__u32 reserved2;
	__u64 bound_bytes;
	__u64 kept_bytes;
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
	ENGINE_KEEPER	= 8,	/* struct engine_number, with the engine's end for the keeper */
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
 * @limits: of the guest, filled; those of struct engine_shared can be written by shadows
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

enum keeper_type {
	/* From vgpud. */
	KEEPER_START	= 1,	/* first of all: @id, and @len of the window */
	KEEPER_ENGINE	= 2,	/* with the keeper's end for the guest's engine */
	/* From an engine, each with one answer. */
	KEEPER_MAP	= 3,	/* with a file: @len of it from @file_offset on, at @offset */
	KEEPER_UNMAP	= 4,	/* what a MAP of @offset and @len has shown */
	KEEPER_HOLD	= 8,	/* no answer; with a file: keep it as long as anything is shown */
	/* To an engine. */
	KEEPER_READY	= 5,	/* the guest's driver is there: window @id has @len */
	KEEPER_GONE	= 6,	/* it is not any more, and nothing is shown */
	KEEPER_DONE	= 7,	/* answer to that with @tag: @result */
	KEEPER_RAM	= 9,	/* with a file: @len of the guest's memory, at @offset; without: gone */
};

/**
 * struct keeper_msg - what a keeper is told, and says
 * @type: enum keeper_type
 * @result: 0 or a negative errno
 * @tag: number of a MAP or UNMAP; any
 * @id: number of the window
 * @offset: in the window, whole pages; RAM: physical address in the guest
 * @len: bytes, whole pages
 * @file_offset: where in the file, whole pages
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

/* Exit statuses of a keeper, beside 0: the hypervisor or vgpud has gone. */
enum keeper_exit {
	KEEPER_EXIT_START	= 120,	/* something that was needed for the start is missing */
	KEEPER_EXIT_FEATURES	= 121,	/* the hypervisor lacks something: see keeper/qemu.c */
	KEEPER_EXIT_PROTOCOL	= 122,	/* it says what the protocol does not allow */
	KEEPER_EXIT_SILENT	= 123,	/* it does not answer */
};

/*
 * Most mappings in a window: hypervisors have 509 slots for all of a guest's memory where
 * they count them for whoever it is told to, and RAM needs some.
 */
#define KEEPER_MAPPINGS_MAX	448

/* --- the engine and a shadow ------------------------------------------------ */

enum engine_shadow_type {
	/* Requests of a lane, each with one answer. */
	ESHADOW_OPEN	= 1,	/* may it open export @object with @value's flags? */
	ESHADOW_OPENED	= 2,	/* with the file: an object of export @object */
	ESHADOW_MADE	= 3,	/* with a file that a call on @object made; @value: watch fences */
	ESHADOW_FIND	= 4,	/* the file of object @object */
	ESHADOW_CLOSE	= 5,	/* the guest gives a reference to @object back */
	ESHADOW_SYNC	= 6,	/* wait until control message @value is applied */
	ESHADOW_POLL	= 7,	/* object @object, @value: events, @extra: flags, number */
	ESHADOW_FDINFO	= 8,	/* of object @object */
	ESHADOW_EVENT	= 9,	/* with an eventfd: @object, @value: the guest's number */
	ESHADOW_BIND	= 10,	/* a mapping of @object, with a struct eshadow_bind behind it */
	ESHADOW_MAPS	= 11,	/* as nvidiactl @value says, @object maps a struct eshadow_memory */
	ESHADOW_KEEP	= 12,	/* a device may keep memory, number @value: @extra bytes */
	/* Without an answer. */
	ESHADOW_TAKE_BACK = 20,	/* the guest will not get a reference to @object */
	ESHADOW_UNEVENT	= 21,	/* the call that asked for event @value has failed */
	ESHADOW_DROPPED	= 22,	/* the shadow has closed object @object */
	ESHADOW_USAGE	= 23,	/* @value more bytes mapped; @extra: mappings, lanes << 32 */
	ESHADOW_UNSYNC	= 24,	/* lane @lane is down: what it waits for by SYNC is answered now */
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
 * struct vgpu_object_desc, that to FDINFO its bytes, that to MAPS a __u32: the client that the
 * memory is to be shared with.
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
 * struct eshadow_memory - memory of NVIDIA's driver that a file maps
 * @client: handle of the program's client
 * @memory: of its object
 * @flags: of the mapping
 * @reserved: 0
 * @offset: in the object
 * @len: bytes
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
 * struct eshadow_bind - what of a mapping is to be seen where in the window
 * @window: number of the window
 * @offset: in the window
 * @len: bytes
 * @file_offset: of the mapping, as it was made
 * @seq: control_seq of the call
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
 * @reserved: 0
 * @nr_ioctls: entries of @ioctls
 * @object_kind: of an object: VGPU_OBJECT_*
 * @reserved2: 0
 * @space: the number of the address space that the object's mappings show
 * @rdev: of the node
 * @ioctls: see struct vgpu_policy
 */
struct eshadow_policy {
	__u32 export;
	__u32 kind;
	__u8 master;
	__u8 read_only;
	__u8 deny;
	__u8 reserved;
	__u32 nr_ioctls;
	__u32 object_kind;
	__u32 reserved2;
	__u64 space;
	__u64 rdev;
	__u32 ioctls[1024];
};

#define ESHADOW_MSG_MAX	(sizeof(struct eshadow_msg) + sizeof(struct eshadow_policy))

#endif /* VGPU_ENGINE_PROTO_H */
