/* SPDX-License-Identifier: MIT */
/*
 * Messages between vgpud, the engine of a guest and the shadows of the guest's processes.
 *
 * Messages go over socket pairs of type SOCK_SEQPACKET, one message a packet, some with a file.
 * vgpud only sends by these sockets: it would have to close a file that it received, and the
 * close may sleep in a driver. Messages to vgpud come by a pipe. Messages of keepers are in
 * keeper_proto.h.
 *
 * vgpud makes an engine for each guest and a shadow for each of the guest's processes. The engine
 * has the control connection, the exports and the objects. Shadows have the lanes, and make the
 * calls.
 */
#ifndef VGPU_ENGINE_PROTO_H
#define VGPU_ENGINE_PROTO_H

#include <linux/ioctl.h>
#include <linux/types.h>
#include <linux/vgpu_host.h>
#include <linux/vgpu_wire.h>

#include "shared/budget.h"
#include "shared/counters.h"

/* Files that vgpud leaves open for an engine. */
#define ENGINE_FD_AGENT		3	/* connection from vgpud, which only sends */
#define ENGINE_FD_CONTROL	4	/* the guest's control connection */
#define ENGINE_FD_SHARED	5	/* struct engine_shared */
#define ENGINE_FD_PROC		6	/* /proc of its own pid namespace */
#define ENGINE_FD_SESSIONS	7	/* a pipe to vgpud, for ENGINE_CLOSED and ENGINE_REAP */
#define ENGINE_FD_PROGRAM	8	/* the program itself, closed by exec */

/* Files that vgpud leaves open for vgpu-engine-master. */
#define MASTER_FD_ENGINE	3	/* connection to the engine */
#define MASTER_FD_NODE		4	/* the export's node, opened with O_PATH */
#define MASTER_FD_PROGRAM	5	/* the program itself, closed by exec */

/* Files that vgpud leaves open for a shadow of an engine. */
#define ESHADOW_FD_ENGINE	3	/* connection to the engine */
#define ESHADOW_FD_LANES	4	/* connection from vgpud, which sends lanes' sockets */
#define ESHADOW_FD_SHARED	5	/* struct engine_shared, read-only */
#define ESHADOW_FD_DEVICES	6	/* directory with the nodes of exports, by number */
#define ESHADOW_FD_PROC		7	/* /proc of its own pid namespace */
#define ESHADOW_FD_FAULTS	8	/* /dev/userfaultfd */
#define ESHADOW_FD_COUNTERS	9	/* struct engine_counts of this shadow */
#define ESHADOW_FD_PATIENCE	10	/* struct engine_patience */
#define ESHADOW_FD_PROGRAM	11	/* the program itself, closed by exec */

/*
 * With UFFD_FEATURE_EVENT_REMAP, userfaultfd reports faults of memory even after mremap() has
 * moved the memory. Without this feature it would stop.
 */
#define ESHADOW_FAULTS		(UFFD_FEATURE_THREAD_ID | UFFD_FEATURE_EVENT_REMAP)

/* Exit statuses of an engine's shadow, in addition to those of layout.h. */
enum eshadow_exit {
	ESHADOW_EXIT_FAULTS	= 110,	/* no userfaultfd that serves faults of the kernel */
	ESHADOW_EXIT_SECRET	= 111,	/* no memfd_secret */
	ESHADOW_EXIT_MEMLOCK	= 112,	/* RLIMIT_MEMLOCK is too low for the shadow's pages */
	ESHADOW_EXIT_SHARED	= 113,	/* the shared memory could not be mapped */
	ESHADOW_EXIT_ROOM	= 114,	/* the kernel allows the shadow no more mappings */
	ESHADOW_EXIT_PAGES	= 115,	/* no entry left for a page whose accesses have to fail */
};

/**
 * struct engine_shared - memory that vgpud, the engine and the shadows of a guest share
 * @limits: limits of the guest, with defaults filled in; vgpud may change those that shadows read
 *	at any time, except call_bytes
 * @features: VGPU_FEATURE_* that WELCOME named
 * @fetch_timeout_ms: see struct vgpu_host_agent
 * @pieces: largest number of mappings of the guest's memory that a shadow may have at once
 * @all_pages: see struct vgpu_host_peer_limit; vgpud may change it, and the next two fields, at any
 *	time
 * @rated: 1 if a rate is limited, else 0
 * @rates: see struct vgpu_host_peer_limit
 * @patience_us: time in microseconds that drivers may wait for the guest in all; vgpud may change
 *	it at any time
 * @lanes_ever: largest number of lanes that @limits has ever allowed a shadow. vgpud raises it, and
 *	the next field, before it raises @limits, so a shadow never has more
 * @mappings_ever: largest number of mappings that @limits has ever allowed
 * @permits: bit mask of the devices, by number, to which the guest may give work without a turn;
 *	vgpud may change it at any time
 * @counters: counters of the engine itself
 * @mapped_bytes: length of all device mappings in bytes
 * @nr_sessions: number of sessions
 * @nr_lanes: number of lanes
 * @nr_objects: number of objects
 * @nr_mappings: number of mappings
 * @nr_bindings: number of ranges of the window in which mappings are visible, or may be
 * @cards: bit mask of the cards of NVIDIA's driver, by the driver's numbers, on which the guest has
 *	channels
 * @bound_bytes: length of these ranges together in bytes
 * @kept_bytes: length in bytes of the guest's memory that devices may use
 * @owned_bytes: length in bytes of devices' memory that the engine owns, because the guest can
 *	see it or may be able to
 * @most: largest use so far of what the engine counts: sessions, objects, all mappings and bytes
 * @switches: 1 if the engine may take channels of NVIDIA's driver off a card; else 0
 * @reserved2: 0
 *
 * vgpud writes the fields before @counters, and of the rest only @counters.refused, to count
 * shadows that it has refused to start. The engine writes the rest, and shadows only read.
 */
struct engine_shared {
	struct vgpu_host_limits limits;
	__u64 features;
	__u32 fetch_timeout_ms;
	__u32 pieces;
	__u32 all_pages;
	__u32 rated;
	struct vgpu_host_rates rates;
	__u64 patience_us;
	__u32 lanes_ever;
	__u32 mappings_ever;
	__u64 permits;
	struct engine_counters counters;
	__u64 mapped_bytes;
	__u32 nr_sessions;
	__u32 nr_lanes;
	__u32 nr_objects;
	__u32 nr_mappings;
	__u32 nr_bindings;
	__u32 cards;
	__u64 bound_bytes;
	__u64 kept_bytes;
	__u64 owned_bytes;
	struct vgpu_host_use most;
	__u32 switches;
	__u32 reserved2;
};

/* --- vgpud and the engine --------------------------------------------------- */

enum engine_agent_type {
	ENGINE_START	= 6,	/* struct engine_start, the first message */
	/* struct engine_grant; a grant that is already there, and the same, stays as it is */
	ENGINE_GRANT	= 1,
	/* struct engine_number: vgpud's number of an export; @flags: ENGINE_REVOKE_* */
	ENGINE_REVOKE	= 2,
	ENGINE_SESSION	= 3,	/* struct engine_number, with a connection to the shadow */
	ENGINE_CHANGE	= 4,	/* struct engine_change */
	ENGINE_FILE	= 7,	/* struct engine_file */
	ENGINE_CLOSED	= 5,	/* by the pipe, struct engine_number: end that session */
	ENGINE_KEEPER	= 8,	/* struct engine_number, with a connection to the keeper */
	/* struct engine_number: number of an export, with a connection to its vgpu-engine-master */
	ENGINE_MASTER	= 9,
	/* by the pipe, struct engine_number: no driver knows the session's process; reap it */
	ENGINE_REAP	= 10,
	ENGINE_LIMITS	= 11,	/* struct engine_limits: the guest's limits have changed */
	ENGINE_SLOT	= 12,	/* struct engine_slot: when the guest's channels may run */
	/* by the pipe, struct engine_number: submission @number asks for a turn at device @flags */
	ENGINE_SUBMIT	= 13,
	/* struct engine_number: submission @number has its turn, or was given up before that */
	ENGINE_ADMIT	= 14,
	/* by the pipe, struct engine_number: submission @number is over, or is given up */
	ENGINE_SUBMITTED = 15,
	/*
	 * struct engine_number: another vgpud has taken the engine over. What the engine knows may
	 * be of the earlier one: it ends the processes of masters, and asks for turns anew
	 */
	ENGINE_ADOPT	= 16,
	/* by the pipe, struct engine_number: what follows is for the vgpud that has sent ADOPT */
	ENGINE_ADOPTED	= 17,
	/* struct engine_number: say ENGINE_CLOSED if session @number is not there */
	ENGINE_CHECK	= 18,
};

#define ENGINE_REVOKE_NOW	1	/* files that are open are taken as well */

/*
 * Submissions are numbered from 0 on. ENGINE_ADMIT answers each ENGINE_SUBMIT once. A number is
 * used again after that, and after ENGINE_SUBMITTED.
 */
#define ENGINE_SUBMISSIONS	256
/* Number of devices that a guest may share with others. */
#define ENGINE_DEVICES		64

struct engine_number {
	__u32 type;
	__u32 flags;
	__u64 number;
};

/**
 * struct engine_start - configuration of an engine
 * @type: ENGINE_START
 * @ping_timeout_ms: see struct vgpu_host_agent
 * @features: VGPU_FEATURE_* that WELCOME named
 * @limits: limits of the guest, with defaults filled in
 */
struct engine_start {
	__u32 type;
	__u32 ping_timeout_ms;
	__u64 features;
	struct vgpu_host_limits limits;
};

/**
 * struct engine_limits - new limits of the guest
 * @type: ENGINE_LIMITS
 * @all_mappings: see struct vgpu_host_peer_limit
 * @limits: limits, with defaults filled in
 */
struct engine_limits {
	__u32 type;
	__u32 all_mappings;
	struct vgpu_host_limits limits;
};

/**
 * struct card_slot - times at which a guest's channels of a card may run
 * @period: length of a period in nanoseconds of CLOCK_MONOTONIC, whose first one began at 0; 0: the
 *	channels may always run
 * @start: time in the period at which the channels begin to run, less than @period
 * @length: time for which they run, which may be longer than what is left of the period; 0: they
 *	never run
 */
struct card_slot {
	__u64 period;
	__u64 start;
	__u64 length;
};

/**
 * struct engine_slot - the guest's slot of a card of NVIDIA's driver
 * @type: ENGINE_SLOT
 * @card: the driver's number of the card, less than RM_DEVICES
 * @slot: the slot, until another message for this card
 */
struct engine_slot {
	__u32 type;
	__u32 card;
	struct card_slot slot;
};

/**
 * struct engine_grant - the right of the guest to use an export
 * @type: ENGINE_GRANT
 * @export: vgpud's number of the export, which is the name of its node
 * @flags: VGPU_HOST_GRANT_*
 * @master: 1 if openers may become DRM master
 * @no_demand: 1 if VGPU_HOST_EXPORT_NO_DEMAND is set
 * @reserved: 0
 * @add: message to the guest, in which the engine fills in its own number of the export
 * @deny: see struct vgpu_policy
 * @nr_ioctls: number of entries of @ioctls that are the policy's list
 * @device: number of the device among those to which the guest gives work, less than ENGINE_DEVICES
 * @nr_submits: number of commands that give the device work, at most VGPU_HOST_SUBMITS_MAX
 * @ioctls: array of vgpu_ioctl_key() of commands, in rising order: the policy's list, and behind
 *	it the commands that give the device work; only these entries are sent
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
	__u32 device;
	__u32 nr_submits;
	__u32 ioctls[1024 + VGPU_HOST_SUBMITS_MAX];
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
 * struct engine_file - contents of a small file of an export's device (a file of sysfs, say)
 * @type: ENGINE_FILE
 * @export: vgpud's number of the export
 * @flags: VGPU_FILE_*
 * @len: length of @data in bytes; only these bytes are sent
 * @name: name of the file, as in struct vgpu_export_file
 * @data: contents of the file
 */
struct engine_file {
	__u32 type;
	__u32 export;
	__u32 flags;
	__u32 len;
	__u8 name[VGPU_FILE_NAME_LEN];
	__u8 data[VGPU_FILE_MAX];
};

/* --- vgpu-engine-master, which makes DRM masters ------------------------------ */

/* DRM_IOCTL_SET_MASTER and DRM_IOCTL_DROP_MASTER. */
#define MASTER_SET		_IO('d', 0x1e)
#define MASTER_DROP		_IO('d', 0x1f)

/**
 * struct master_msg - a request of the engine, which comes with a file, or the answer
 * @tag: number by which the answer names its request, chosen by the engine
 * @command: MASTER_SET or MASTER_DROP: ioctl of the file, to be made with CAP_SYS_ADMIN
 * @result: result of the ioctl: 0, or a negative errno
 */
struct master_msg {
	__u64 tag;
	__u32 command;
	__s32 result;
};

/* --- the engine and a shadow ------------------------------------------------ */

#define ESHADOW_RM_WISH_OFF	1	/* the program takes it off; else it may run */
#define ESHADOW_RM_WISH_DONE	2	/* the driver has done so already */

enum engine_shadow_type {
	/* Requests of a lane, each with one answer. */
	ESHADOW_OPEN	= 1,	/* may the guest open export @object with flags @value? */
	ESHADOW_OPENED	= 2,	/* with the opened file: make it an object of export @object */
	ESHADOW_MADE	= 3,	/* with a file that a call on @object made; @value not 0: watch */
				/* the file if it is a sync_file; @extra: limits of all calls */
				/* that may have made the file */
	ESHADOW_FIND	= 4,	/* get the file of object @object */
	ESHADOW_CLOSE	= 5,	/* the guest drops reference @value of @object */
	ESHADOW_SYNC	= 6,	/* wait until control message @value is applied */
	ESHADOW_POLL	= 7,	/* poll @object; @value: events, @extra: flags and number */
	ESHADOW_FDINFO	= 8,	/* get the fdinfo of object @object */
	ESHADOW_EVENT	= 9,	/* with an eventfd: @object, @value: the guest's number */
	ESHADOW_BIND	= 10,	/* show a mapping of @object; struct eshadow_bind follows */
	ESHADOW_MAPS	= 11,	/* @object maps struct eshadow_memory, shared with OWNER's client */
	ESHADOW_KEEP	= 12,	/* @object's driver may keep memory @value of @extra bytes */
	ESHADOW_ROOM	= 13,	/* account for one more mapping, of @value bytes */
	ESHADOW_MASTER	= 14,	/* make ioctl @value (MASTER_*) of @object with CAP_SYS_ADMIN */
	ESHADOW_QUIET	= 15,	/* stop polling @object's device until the guest polls it */
	ESHADOW_OWNER	= 16,	/* get the client that owns memory which nvidiactl @object shows */
	ESHADOW_SHOW	= 17,	/* get a file that maps what nvidiactl @object maps, until SHOWN */
	ESHADOW_SUBMIT	= 35,	/* wait for a turn to give device @object work, until SUBMITTED */
	/* Messages of a shadow without an answer. */
	ESHADOW_TAKE_BACK = 20,	/* the guest will not get reference @value of @object */
	ESHADOW_UNEVENT	= 21,	/* the call that asked for event @value has failed */
	ESHADOW_DROPPED	= 22,	/* the shadow has closed object @object */
	ESHADOW_USAGE	= 23,	/* change: @value (<= 0) bytes; @extra: mappings, lanes << 32 */
	ESHADOW_UNSYNC	= 24,	/* lane @lane is down: answer its SYNC now */
	ESHADOW_ACKED	= 25,	/* the guest has all that the last call of lane @lane gave it */
	ESHADOW_SHOWN	= 26,	/* lane @lane has mapped and closed the file of its SHOW */
	/*
	 * @object: a file of nvidiactl; @value: handles of a client of RM and, << 32, of an object
	 */
	ESHADOW_RM_MADE	= 27,	/* @extra: parent, class << 32; in place of a device's parent, */
				/* which is the client, the number of the card */
	ESHADOW_RM_FREED = 28,	/* all objects below are gone as well */
	ESHADOW_RM_RUNS	= 29,	/* channels of this file or another may run */
	/* @extra: ESHADOW_RM_WISH_*: the program takes a channel off the card, or lets it run */
	ESHADOW_RM_WISH	= 39,
	ESHADOW_UNSUBMIT = 36,	/* the call of lane @lane is cancelled: answer its SUBMIT now */
	ESHADOW_SUBMITTED = 37,	/* the turn of lane @lane is over */
	/* Messages of the engine. */
	ESHADOW_ANSWER	= 30,	/* answer to the request of lane @lane */
	ESHADOW_DROP	= 31,	/* close object @object, then send DROPPED */
	ESHADOW_UNMAP	= 32,	/* unmap [@value, @value + @extra) */
	ESHADOW_END	= 33,	/* end the session with its last lane */
	ESHADOW_RAM	= 34,	/* with a file: memory of the guest is at struct eshadow_ram; */
				/* without a file: that memory is gone */
};

/**
 * struct eshadow_msg - a request, its answer, or a message without an answer
 * @type: enum engine_shadow_type
 * @lane: index of the lane that asks
 * @object: number of an object or export
 * @result: result in an answer: 0 or more, or a negative errno
 * @value: argument, which depends on @type
 * @extra: argument, which depends on @type
 *
 * Some answers are followed by more data: OPEN and FIND by a struct eshadow_policy, requests that
 * give objects by a struct vgpu_object_desc, FDINFO by its bytes, and OWNER by a __u32, the
 * handle of the client.
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
 * struct eshadow_memory - memory of NVIDIA's driver that a file shows; follows ESHADOW_MAPS
 * @client: handle of the program's client
 * @memory: handle of the memory object in that client
 * @flags: flags of the mapping, as the program gave them to the driver
 * @reserved: 0
 * @offset: place in the object at which the mapping begins, in bytes
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
 * struct eshadow_bind - a part of a mapping to be shown in the window; follows ESHADOW_BIND
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
 * struct eshadow_ram - place of the guest's memory; follows ESHADOW_RAM
 * @addr: physical address in the guest
 * @len: length in bytes
 * @offset: place in the file at which the memory begins, in bytes
 */
struct eshadow_ram {
	__u64 addr;
	__u64 len;
	__u64 offset;
};

/**
 * struct eshadow_policy - policy of an export or object, as a shadow needs it
 * @export: vgpud's number of the export, which is the name of its node; 0: no export
 * @kind: VGPU_EXPORT_*
 * @master: see struct vgpu_policy
 * @read_only: see struct vgpu_policy
 * @deny: see struct vgpu_policy
 * @no_demand: 1 if the object's driver does not wait for the guest's memory; 0 for an export
 * @nr_ioctls: number of entries of @ioctls
 * @object_kind: VGPU_OBJECT_* of an object
 * @origin: vgpud's number of the export that the object is of or came from, for counts
 * @space: number of the address space that mappings of the object show
 * @rdev: device number of the node
 * @limits: bit mask of the sets of limits of files that the object's calls make; see struct
 *	object
 * @audit: see struct vgpu_policy
 * @device: @device of struct engine_grant
 * @nr_submits: number of commands that give the device work
 * @reserved: 0
 * @ioctls: list of ioctls of struct vgpu_policy, and behind it @submits of that struct
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
	__u32 origin;
	__u64 space;
	__u64 rdev;
	__u64 limits;
	__u32 audit;
	__u32 device;
	__u32 nr_submits;
	__u32 reserved;
	__u32 ioctls[1024 + VGPU_HOST_SUBMITS_MAX];
};

#define ESHADOW_MSG_MAX	(sizeof(struct eshadow_msg) + sizeof(struct eshadow_policy))

/*
 * Largest number of mappings of a shadow. In addition to those of devices, each lane may have a
 * mapping for a call, and some for memory that its driver keeps. Unmapping the middle of a
 * mapping leaves two mappings.
 */
static inline __u32 eshadow_mappings_max(__u32 mappings, __u32 lanes)
{
	return mappings + (2 + VGPU_KEPT_MAX) * lanes + 2;
}

#endif /* VGPU_ENGINE_PROTO_H */
