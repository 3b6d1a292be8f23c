/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * vgpu_host.ko: control of the host module through /dev/vgpu-host.
 *
 * A file of /dev/vgpu-host has one of four roles, which never changes:
 *
 * - the *agent* (vgpud): the first file to do VGPU_HOST_AGENT. The agent owns exports and
 *   peers. When the process that did so closes the file, or ends, all exports and peers end, with
 *   every shadow, unless another file takes the agent over (VGPU_HOST_AGENT_ADOPT). Another process
 *   that still has the file can do nothing with it. read() returns struct vgpu_host_event, poll()
 *   reports when there is one;
 * - a *shadow*: a file made by VGPU_HOST_SHADOW and inherited by the shadow program. Closing
 *   the file ends the session;
 * - a *lane*: a file made by VGPU_SHADOW_LANE, kept by one thread;
 * - a *memory*: a file made by VGPU_HOST_MEMORY, for a process that knows where a guest's
 *   memory is. Closing the file makes the module forget that.
 *
 * Contract of all ioctls: the first member is the size of the struct as the caller knows it. A
 * longer struct whose unknown part is zero is accepted, else the ioctl fails with -E2BIG. A
 * struct shorter than that of version 1 fails with -EINVAL, reserved members and unknown flags
 * that are not zero with -EOPNOTSUPP, an ioctl that the role does not have with -ENOTTY.
 * Outputs are named out_*.
 */
#ifndef _UAPI_LINUX_VGPU_HOST_H
#define _UAPI_LINUX_VGPU_HOST_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define VGPU_HOST_DEVICE	"/dev/vgpu-host"
#define VGPU_HOST_TYPE		0xb7

/* --- agent ---------------------------------------------------------------- */

#define VGPU_HOST_AGENT_ADOPT	(1U << 0)	/* take over the agent whose file was closed */
#define VGPU_HOST_AGENT_ASK	(1U << 1)	/* only say whether that is possible */

/**
 * struct vgpu_host_agent - become the agent
 * @size: sizeof(struct vgpu_host_agent)
 * @flags: VGPU_HOST_AGENT_ADOPT, VGPU_HOST_AGENT_ASK, or 0
 * @reserved_base: address of the range that shadows use for themselves, as in WELCOME; page
 *	aligned
 * @reserved_size: size of this range in bytes
 * @fetch_timeout_ms: timeout of one page fetch in milliseconds; 1 to 60000
 * @ping_timeout_ms: time in milliseconds after which a peer without PONG is dropped; 0: never
 * @patience_ms: time in milliseconds for which drivers may wait for all fetches of a guest
 *	together; a budget that is refilled slowly; 1 to 3600000; 0: @fetch_timeout_ms
 * @lasting_ms: time in milliseconds for which exports and peers last after the agent's file was
 *	closed, at most 60000; 0: they end at once. Peers end at once all the same if they agreed to
 *	VGPU_FEATURE_KEEP, or have ever had an export of kind VGPU_EXPORT_NVIDIA
 *
 * With VGPU_HOST_AGENT_ADOPT the file takes over an agent whose file was closed: its exports,
 * peers, sessions and notes, and the events that no read() has confirmed. A read() confirms what
 * the one before it returned. All exports and grants that the caller does not adopt
 * (VGPU_HOST_EXPORT_ADOPT, VGPU_HOST_GRANT_ADOPT) end with VGPU_HOST_SETTLE. The agent itself may
 * do this ioctl, too, to change the times; nothing is taken over then. Without the flag, an agent
 * whose file was closed ends.
 *
 * With VGPU_HOST_AGENT_ASK the ioctl returns 0 if there is an agent to be taken over, and does
 * nothing. The other members are not read.
 *
 * -EBUSY: there is an agent. -ENOENT: there is no agent to be taken over, or its reserved range
 * differs. -EPERM: the caller lacks CAP_SYS_ADMIN.
 */
struct vgpu_host_agent {
	__u32 size;
	__u32 flags;
	__u64 reserved_base;
	__u64 reserved_size;
	__u32 fetch_timeout_ms;
	__u32 ping_timeout_ms;
	__u32 patience_ms;
	__u32 lasting_ms;
};

/*
 * VGPU_HOST_SETTLE: end exports and grants that were not adopted, and peers for which there is no
 * note of their number and key 0. The ioctl has no argument.
 */

#define VGPU_HOST_NOTE_MAX	1024	/* maximum length of a note */

/**
 * struct vgpu_host_note - leave a note for the next agent
 * @size: sizeof(struct vgpu_host_note)
 * @flags: 0
 * @peer: first part of the note's name
 * @len: number of bytes at @data, VGPU_HOST_NOTE_MAX at most; 0: the note is removed
 * @key: second part of the note's name
 * @data: user pointer to the bytes
 * @fd: file that the note holds; -1: none
 * @reserved: 0
 *
 * The module does not look into notes. They last as long as the agent, and are not removed with a
 * peer or a session. A note replaces the one of the same name. -EINVAL: the file is one of
 * /dev/vgpu-host; -ENOENT: there is no note to be removed.
 */
struct vgpu_host_note {
	__u32 size;
	__u32 flags;
	__u32 peer;
	__u32 len;
	__u64 key;
	__u64 data;
	__s32 fd;
	__u32 reserved;
};

/**
 * struct vgpu_host_note_find - read a note
 * @size: sizeof(struct vgpu_host_note_find)
 * @peer: the note that is read is the first one whose name, @peer and @key, is not less
 * @key: as @peer
 * @data: user pointer to a buffer for the bytes
 * @len: length of the buffer in bytes
 * @out_len: length of the note; the buffer has its first bytes if it is longer than @len
 * @out_key: name of the note
 * @out_peer: name of the note
 * @out_fd: file descriptor of the file that the note holds, O_CLOEXEC; -1: none
 *
 * -ENOENT: there is no such note.
 */
struct vgpu_host_note_find {
	__u32 size;
	__u32 peer;
	__u64 key;
	__u64 data;
	__u32 len;
	__u32 out_len;
	__u64 out_key;
	__u32 out_peer;
	__s32 out_fd;
};

#define VGPU_HOST_EXPORT_MASTER	(1U << 0)	/* peers may become DRM master */
/*
 * The driver never waits for a page of a program's memory: memory that the call does not carry
 * is a bad address, and the call fails with -EOPNOTSUPP. The same holds for files that come
 * from calls on the export.
 */
#define VGPU_HOST_EXPORT_NO_DEMAND	(1U << 1)
/*
 * If the agent that was taken over had an export like this one, that export stays. One that has
 * only the name in common ends.
 */
#define VGPU_HOST_EXPORT_ADOPT	(1U << 2)

/* Number of ioctls of an export that give its device work. */
#define VGPU_HOST_SUBMITS_MAX	64

/**
 * struct vgpu_host_export_add - add an export: a device file that can be granted to peers
 * @size: sizeof(struct vgpu_host_export_add)
 * @flags: VGPU_HOST_EXPORT_*
 * @path_fd: file descriptor (O_PATH will do) of the character device; the module keeps no
 *	reference that opens the device
 * @kind: VGPU_EXPORT_* of vgpu_wire.h
 * @device: number that the nodes of one device share; 0: the node stands alone
 * @name: unique name of the export, NUL-terminated, [A-Za-z0-9._-]+
 * @driver: name of the device's driver, NUL-terminated
 * @path: path of the device file, NUL-terminated, sent to guests
 * @out_export: number of the export
 * @reserved: 0
 * @bus: VGPU_BUS_* of vgpu_wire.h; sent to guests like the members below
 * @reserved2: 0
 * @bus_id: name of the device on the bus, NUL-terminated; VGPU_BUS_NONE: empty
 * @pci_header: first bytes of the PCI configuration space; other buses: 0
 * @title: name as in struct vgpu_export_add, NUL-terminated
 * @submits: user pointer to an array of __u32 command numbers, compared as those of struct
 *	vgpu_host_grant: ioctls that give the device work, for which guests wait for each other
 * @nr_submits: length of the array, at most VGPU_HOST_SUBMITS_MAX
 * @reserved3: 0
 *
 * -ENODEV: no character device; -EXDEV: a device of vgpu itself (no recursion); -EEXIST: the
 * name is in use.
 */
struct vgpu_host_export_add {
	__u32 size;
	__u32 flags;
	__s32 path_fd;
	__u32 kind;
	__u64 device;
	char name[32];
	char driver[32];
	char path[64];
	__u32 out_export;
	__u32 reserved;
	__u32 bus;
	__u32 reserved2;
	char bus_id[64];
	__u8 pci_header[64];
	char title[64];
	__u64 submits;
	__u32 nr_submits;
	__u32 reserved3;
};

/* VGPU_HOST_EXPORT_DEL: revoke an export from every peer; open objects stay usable. */
struct vgpu_host_export_del {
	__u32 size;
	__u32 export;
};

/**
 * struct vgpu_host_export_change - report a "change" uevent of an export's driver
 * @size: sizeof(struct vgpu_host_export_change)
 * @flags: VGPU_CHANGE_* of vgpu_wire.h, at least one
 * @export: number of the export, of kind VGPU_EXPORT_DRM_PRIMARY
 * @connector: VGPU_CHANGE_HOTPLUG: id of the connector that has changed; 0: any
 * @property: id of the connector's property that has changed; 0: any
 * @wedged: VGPU_CHANGE_WEDGED: recovery methods, see struct vgpu_export_change; else 0
 *
 * Peers that may use the export are notified by EXPORT_CHANGE. A peer that takes its messages
 * too slowly gets one message for several events. -ENOENT: no such export; -EINVAL: the export
 * is no DRM card.
 */
struct vgpu_host_export_change {
	__u32 size;
	__u32 flags;
	__u32 export;
	__u32 connector;
	__u32 property;
	__u32 wedged;
};

/* Last call of a round: files that were not passed since the previous last call are gone. */
#define VGPU_HOST_FILE_LAST	(1U << 0)

/**
 * struct vgpu_host_export_file - pass the contents of a small file of an export's device
 * @size: sizeof(struct vgpu_host_export_file)
 * @flags: VGPU_HOST_FILE_LAST, with an empty @name and @len 0
 * @export: number of the export
 * @len: number of bytes at @data, VGPU_FILE_MAX at most
 * @data: user pointer to the contents
 * @name: name as in struct vgpu_export_file
 *
 * Peers that may use the export get the file by EXPORT_FILE if its contents have changed.
 * -ENOENT: no such export; -ENOSPC: 512 files, or 1 MiB.
 */
struct vgpu_host_export_file {
	__u32 size;
	__u32 flags;
	__u32 export;
	__u32 len;
	__u64 data;
	char name[64];
};

/**
 * struct vgpu_host_limits - limits of one peer; 0 means the default
 * @sessions: maximum number of sessions
 * @lanes: maximum number of lanes of a session
 * @objects: maximum number of open objects
 * @fds_per_call: maximum number of fds that one call may return, at most VGPU_FDS_MAX
 * @call_bytes: maximum length of a lane message in bytes, at most VGPU_CALL_BYTES_MAX
 * @pages: maximum number of demand pages of a session
 * @mappings: maximum number of device mappings (VMAs) of a session
 * @reserved: 0
 * @mapped_bytes: maximum size of the device mappings of all sessions together, in bytes
 * @kept_bytes: maximum size of the guest's memory that devices keep, in bytes
 */
struct vgpu_host_limits {
	__u32 sessions;
	__u32 lanes;
	__u32 objects;
	__u32 fds_per_call;
	__u32 call_bytes;
	__u32 pages;
	__u32 mappings;
	__u32 reserved;
	__u64 mapped_bytes;
	__u64 kept_bytes;
};

/**
 * struct vgpu_host_peer_add - pass a guest's control connection to the module
 * @size: sizeof(struct vgpu_host_peer_add)
 * @flags: 0
 * @sock_fd: connected AF_VSOCK stream socket on which HELLO was read and WELCOME was written;
 *	the module takes its own reference
 * @cid: context id of the guest
 * @port: local port of the guest's connection; @cid and @port name the guest's window, and the time
 *	for which drivers may still wait for the guest
 * @out_peer: number of the peer
 * @limits: limits of the peer
 * @features: VGPU_FEATURE_* of vgpu_wire.h, as in WELCOME; the module ignores RESERVED, to which an
 *	older vgpud agrees with an older guest, and does nothing that needs it
 *
 * -EOPNOTSUPP: this module does not know one of the features, or cannot provide it: KEEP_ALONE
 * if the processor has no protection keys, or without KEEP.
 *
 * The caller may close @sock_fd afterwards.
 */
struct vgpu_host_peer_add {
	__u32 size;
	__u32 flags;
	__s32 sock_fd;
	__u32 cid;
	__u32 port;
	__u32 out_peer;
	struct vgpu_host_limits limits;
	__u64 features;
};

/**
 * struct vgpu_host_rates - how much a guest may do in a second; 0 means no limit
 * @calls: maximum number of calls a second; at most VGPU_HOST_RATE_MAX
 * @opens: maximum number of opens of devices a second; at most VGPU_HOST_RATE_MAX
 * @bytes: maximum number of bytes a second of messages on lanes, in both directions together; at
 *	most VGPU_HOST_RATE_MAX
 *
 * A call beyond a rate waits on its lane, except CLOSE, for which later calls wait, and FDINFO,
 * which fails. An idle guest may do at once what it may do in an eighth of a second.
 */
struct vgpu_host_rates {
	__u64 calls;
	__u64 opens;
	__u64 bytes;
};

#define VGPU_HOST_RATE_MAX	(1ULL << 33)

/* Weight of a guest at devices that it shares with others, and the largest one. */
#define VGPU_HOST_WEIGHT_DEFAULT	100
#define VGPU_HOST_WEIGHT_MAX		10000

/* Highest priority of a guest at devices that it shares with others; the lowest one is 0. */
#define VGPU_HOST_PRIORITY_MAX		7

/* Calls of the peer that give a device work wait until the flag is taken back. */
#define VGPU_HOST_LIMIT_FREEZE		(1U << 0)

/**
 * struct vgpu_host_peer_limit - change the limits of a peer
 * @size: sizeof(struct vgpu_host_peer_limit)
 * @flags: VGPU_HOST_LIMIT_FREEZE, or 0
 * @peer: number of the peer
 * @patience_ms: time in milliseconds for which drivers may wait for all fetches of the guest
 *	together, as in struct vgpu_host_agent; 0: that of the agent
 * @limits: limits of the peer; the guest was told the limit call_bytes when it connected, and
 *	keeps that
 * @all_pages: maximum number of demand pages of all sessions together; 0: no limit
 * @all_mappings: maximum number of device mappings of all sessions together; 0: no limit
 * @rates: rates of the guest, over all of its connections
 * @weight: weight of the guest at devices that it shares with others, at most
 *	VGPU_HOST_WEIGHT_MAX; 0: VGPU_HOST_WEIGHT_DEFAULT
 * @cap: largest part of the time of a device that the guest gets, in percent; 0: 100
 * @priority: priority of the guest at devices that it shares with others, at most
 *	VGPU_HOST_PRIORITY_MAX: guests of a lower one get what it leaves of a device
 * @reserved: 0
 *
 * If the peer has more of something than a new limit allows, it keeps what it has, and gets no
 * more until it has less. -EINVAL: @patience_ms is more than 3600000, a rate more than
 * VGPU_HOST_RATE_MAX, @weight more than VGPU_HOST_WEIGHT_MAX, @cap more than 100, or @priority more
 * than VGPU_HOST_PRIORITY_MAX.
 */
struct vgpu_host_peer_limit {
	__u32 size;
	__u32 flags;
	__u32 peer;
	__u32 patience_ms;
	struct vgpu_host_limits limits;
	__u32 all_pages;
	__u32 all_mappings;
	struct vgpu_host_rates rates;
	__u32 weight;
	__u32 cap;
	__u32 priority;
	__u32 reserved;
};

/**
 * struct vgpu_host_use - what a peer uses of what is limited
 * @sessions: number of sessions
 * @lanes: number of lanes of the session that has most
 * @objects: number of objects
 * @pages: number of demand pages of the session that has most
 * @mappings: number of mappings of the session that has most
 * @all_pages: number of demand pages of all sessions
 * @all_mappings: number of mappings of all sessions
 * @reserved: 0
 * @mapped_bytes: size of the mappings of all sessions in bytes
 * @kept_bytes: size of the guest's memory that devices keep, in bytes
 */
struct vgpu_host_use {
	__u32 sessions;
	__u32 lanes;
	__u32 objects;
	__u32 pages;
	__u32 mappings;
	__u32 all_pages;
	__u32 all_mappings;
	__u32 reserved;
	__u64 mapped_bytes;
	__u64 kept_bytes;
};

/**
 * struct vgpu_host_peer_use - get what a peer uses, and has used at most since it connected
 * @size: sizeof(struct vgpu_host_peer_use)
 * @peer: number of the peer
 * @out_now: current use
 * @out_most: largest use of each kind; threads that count at the same time may lose some
 * @out_delayed: number of calls that had to wait for a rate
 * @out_queued: number of calls that had to wait while a device worked for other guests
 * @out_device_ns: time of devices in nanoseconds that the guest was charged, also for earlier
 *	connections as far as the module remembers them
 */
struct vgpu_host_peer_use {
	__u32 size;
	__u32 peer;
	struct vgpu_host_use out_now;
	struct vgpu_host_use out_most;
	__u64 out_delayed;
	__u64 out_queued;
	__u64 out_device_ns;
};

/*
 * VGPU_HOST_PEER_DEL: close the connection and end the peer's sessions. The number of the peer
 * stays valid until VGPU_HOST_EVENT_PEER_GONE was read.
 */
struct vgpu_host_peer_del {
	__u32 size;
	__u32 peer;
};

/* Entry of a list of ioctls that stands for no command: alone, it allows none. */
#define VGPU_HOST_IOCTL_NONE	0xffffffffU

#define VGPU_HOST_GRANT_READ_ONLY (1U << 0)	/* opens for writing get -EACCES */
/* Ioctls that the list denies are let through, and counted (VGPU_HOST_DENIALS). */
#define VGPU_HOST_GRANT_AUDIT	(1U << 1)
/* A grant like this one that was taken over stays. One with other terms is replaced. */
#define VGPU_HOST_GRANT_ADOPT	(1U << 2)

/**
 * struct vgpu_host_grant - let a peer use an export
 * @size: sizeof(struct vgpu_host_grant)
 * @flags: VGPU_HOST_GRANT_*
 * @peer: number of the peer
 * @export: number of the export
 * @ioctls: user pointer to an array of __u32 command numbers, which are compared by type and
 *	number; size and direction are ignored, as drivers may ignore them
 * @nr_ioctls: length of the array, at most 1024
 * @ioctls_deny: 1: the listed commands fail with -EACCES; 0: all others do (if @nr_ioctls is
 *	not 0)
 *
 * The guest is notified by EXPORT_ADD. VGPU_HOST_REVOKE undoes the grant. -EXDEV: the export is of
 * kind VGPU_EXPORT_NVIDIA, and the peer was taken over (VGPU_HOST_AGENT_ADOPT): the guest has to
 * connect anew.
 */
struct vgpu_host_grant {
	__u32 size;
	__u32 flags;
	__u32 peer;
	__u32 export;
	__u64 ioctls;
	__u32 nr_ioctls;
	__u32 ioctls_deny;
};

/* Number of ioctls of a grant that are counted one by one. */
#define VGPU_HOST_DENIALS_MAX	64

/**
 * struct vgpu_host_denial - how often a peer made an ioctl that is denied
 * @ioctl: type and number of the command, as in lists; of NVIDIA's driver the number that is
 *	compared with lists
 * @what: command, class or kind of sharing in the argument, if a rule for NVIDIA's driver denied
 *	the request; else 0
 * @denied: number of requests that failed
 * @audited: number of requests that were let through (VGPU_HOST_GRANT_AUDIT)
 */
struct vgpu_host_denial {
	__u32 ioctl;
	__u32 what;
	__u64 denied;
	__u64 audited;
};

/**
 * struct vgpu_host_denials - counts of denied ioctls of a peer and an export
 * @size: sizeof(struct vgpu_host_denials)
 * @peer: number of the peer
 * @export: number of the export
 * @nr: length of the array @denials
 * @denials: user pointer to an array of struct vgpu_host_denial, which is filled in
 * @out_nr: number of counts that there are, at most VGPU_HOST_DENIALS_MAX; of these, @nr are
 *	filled in
 * @reserved: 0
 * @out_others_denied: number of denied requests beyond these counts
 * @out_others_audited: number of requests let through beyond these counts
 *
 * Files that come from calls on the export count as well. The counts begin with the grant.
 * -ENOENT: no such peer, or it has no such grant.
 */
struct vgpu_host_denials {
	__u32 size;
	__u32 peer;
	__u32 export;
	__u32 nr;
	__u64 denials;
	__u32 out_nr;
	__u32 reserved;
	__u64 out_others_denied;
	__u64 out_others_audited;
};

#define VGPU_HOST_REVOKE_NOW	(1U << 0)	/* files that are open are taken as well */

/**
 * struct vgpu_host_revoke - take an export back from a peer
 * @size: sizeof(struct vgpu_host_revoke)
 * @peer: number of the peer
 * @export: number of the export
 * @flags: VGPU_HOST_REVOKE_NOW, or 0: open files stay usable
 *
 * With VGPU_HOST_REVOKE_NOW all sessions end that have made a call on a file of the export, or on
 * one that came from such calls: the calls that run are interrupted, and mappings go with the
 * shadows. The files are closed. -ENOENT: no such peer, or it does not have the export.
 */
struct vgpu_host_revoke {
	__u32 size;
	__u32 peer;
	__u32 export;
	__u32 flags;
};

/**
 * struct vgpu_host_shadow - make the file of a new session's shadow
 * @size: sizeof(struct vgpu_host_shadow)
 * @flags: 0
 * @peer: number of the peer
 * @out_fd: file descriptor of the shadow's file; O_CLOEXEC
 * @session: number of the session, chosen by the guest
 *
 * -EEXIST: the peer has such a session; -EMFILE: the limit of sessions is reached.
 */
struct vgpu_host_shadow {
	__u32 size;
	__u32 flags;
	__u32 peer;
	__s32 out_fd;
	__u64 session;
};

/**
 * struct vgpu_host_memory - make the file that describes a guest's memory to the module
 * @size: sizeof(struct vgpu_host_memory)
 * @flags: 0
 * @peer: number of the peer
 * @pieces: maximum number of mappings of that memory in a shadow at one time
 * @out_fd: file descriptor of the file; O_CLOEXEC
 * @reserved: 0
 *
 * The process that has the file is trusted no more than the guest. An earlier description by
 * another file for the same peer is forgotten. -EOPNOTSUPP: WELCOME did not agree to
 * VGPU_FEATURE_KEEP.
 */
struct vgpu_host_memory {
	__u32 size;
	__u32 flags;
	__u32 peer;
	__u32 pieces;
	__s32 out_fd;
	__u32 reserved;
};

/**
 * struct vgpu_host_peer_stat - counters of a peer, since it connected
 * @size: sizeof(struct vgpu_host_peer_stat)
 * @peer: number of the peer
 * @out_sessions: current number of sessions
 * @out_lanes: current number of lanes
 * @out_objects: current number of objects
 * @out_mappings: current number of mappings
 * @out_calls: number of calls, refused ones included
 * @out_round_trips: number of calls and upcalls
 * @out_bytes_in: number of bytes of received messages
 * @out_bytes_out: number of bytes of sent messages
 * @out_fetched_pages: number of pages received by FETCH
 * @out_written_pages: number of pages with bytes that were written back
 * @out_fetch_timeouts: number of upcalls that the guest did not answer in time
 * @out_refused: number of refusals by limits and policy
 * @out_malformed: number of messages that closed a connection
 * @out_stray_fds: number of files that a driver made and no schema describes
 * @out_cancels: number of calls that the guest cancelled
 * @out_kept_bytes: current size in bytes of the guest's memory that devices may use
 * @out_patience_ms: time in milliseconds for which drivers may wait for the guest now; 0: they
 *	do not wait
 * @out_spent: number of times that the guest has used up this time, on all its connections
 * @out_cut_off: 1 if the guest has used it up so often lately that drivers do not wait for some
 *	minutes
 * @reserved: 0
 */
struct vgpu_host_peer_stat {
	__u32 size;
	__u32 peer;
	__u32 out_sessions;
	__u32 out_lanes;
	__u32 out_objects;
	__u32 out_mappings;
	__u64 out_calls;
	__u64 out_round_trips;
	__u64 out_bytes_in;
	__u64 out_bytes_out;
	__u64 out_fetched_pages;
	__u64 out_written_pages;
	__u64 out_fetch_timeouts;
	__u64 out_refused;
	__u64 out_malformed;
	__u64 out_stray_fds;
	__u64 out_cancels;
	__u64 out_kept_bytes;
	__u32 out_patience_ms;
	__u32 out_spent;
	__u32 out_cut_off;
	__u32 reserved;
};

#define VGPU_HOST_GUEST_NEXT	(1U << 0)	/* the first guest after @cid and @port */

/* Number of classes of times, and the smallest time in nanoseconds that is not in the first one. */
#define VGPU_HOST_BUCKETS	24
#define VGPU_HOST_BUCKET_NS	1024
/* Number of exports that are counted one by one for a guest. */
#define VGPU_HOST_TALLIES_MAX	128

/**
 * struct vgpu_host_tally - counts of a guest's calls on files of an export
 * @name: name of the export, NUL-terminated
 * @calls: number of calls on files of the export, and on those that came from such calls, without
 *	opens and closes
 * @errors: number of these calls that failed
 * @bytes_in: length of the messages of these calls in bytes
 * @bytes_out: length of the replies to them in bytes
 * @ns: time that they took on the host in nanoseconds, from the arrival of the message to the
 *	reply, waits included
 * @buckets: numbers of calls by that time: entry N has those that took less than
 *	VGPU_HOST_BUCKET_NS << N nanoseconds, and are in no entry before; the last one has the rest
 */
struct vgpu_host_tally {
	char name[32];
	__u64 calls;
	__u64 errors;
	__u64 bytes_in;
	__u64 bytes_out;
	__u64 ns;
	__u64 buckets[VGPU_HOST_BUCKETS];
};

/**
 * struct vgpu_host_guest_stat - counters of a guest, over all of its connections
 * @size: sizeof(struct vgpu_host_guest_stat)
 * @flags: VGPU_HOST_GUEST_NEXT
 * @cid: context id of the guest
 * @port: local port of the guest's connections
 * @out_cid: context id of the guest that was found
 * @out_port: local port of that guest's connections
 * @nr: length of the array @tallies
 * @out_nr: number of tallies that there are, at most VGPU_HOST_TALLIES_MAX; of these, @nr are
 *	filled in
 * @tallies: user pointer to an array of struct vgpu_host_tally, which is filled in
 * @out_peer: number of the guest's peer; 0: the guest is not connected
 * @reserved: 0
 * @out_connections: number of the guest's connections so far
 * @out_calls: as in struct vgpu_host_peer_stat, like the members below
 * @out_round_trips: see @out_calls
 * @out_bytes_in: see @out_calls
 * @out_bytes_out: see @out_calls
 * @out_fetched_pages: see @out_calls
 * @out_written_pages: see @out_calls
 * @out_fetch_timeouts: see @out_calls
 * @out_refused: see @out_calls
 * @out_malformed: see @out_calls
 * @out_stray_fds: see @out_calls
 * @out_cancels: see @out_calls
 * @out_delayed: as in struct vgpu_host_peer_use, like the members below
 * @out_queued: see @out_delayed
 * @out_device_ns: see @out_delayed
 *
 * The counters outlast connections, and a vgpud that is taken over. The module forgets guests that
 * are not connected if there are many. -ENOENT: it knows no such guest.
 */
struct vgpu_host_guest_stat {
	__u32 size;
	__u32 flags;
	__u32 cid;
	__u32 port;
	__u32 out_cid;
	__u32 out_port;
	__u32 nr;
	__u32 out_nr;
	__u64 tallies;
	__u32 out_peer;
	__u32 reserved;
	__u64 out_connections;
	__u64 out_calls;
	__u64 out_round_trips;
	__u64 out_bytes_in;
	__u64 out_bytes_out;
	__u64 out_fetched_pages;
	__u64 out_written_pages;
	__u64 out_fetch_timeouts;
	__u64 out_refused;
	__u64 out_malformed;
	__u64 out_stray_fds;
	__u64 out_cancels;
	__u64 out_delayed;
	__u64 out_queued;
	__u64 out_device_ns;
};

/**
 * struct vgpu_host_session_stat - counters of a session
 * @size: sizeof(struct vgpu_host_session_stat)
 * @peer: number of the peer
 * @session: number of the session
 * @out_calls: number of calls of the session
 * @out_errors: number of these that failed
 * @out_bytes_in: length of the messages of these calls in bytes
 * @out_bytes_out: length of the replies to them in bytes
 * @out_ns: time that they took on the host in nanoseconds, as in struct vgpu_host_tally
 *
 * -ENOENT: no such peer or session.
 */
struct vgpu_host_session_stat {
	__u32 size;
	__u32 peer;
	__u64 session;
	__u64 out_calls;
	__u64 out_errors;
	__u64 out_bytes_in;
	__u64 out_bytes_out;
	__u64 out_ns;
};

#define VGPU_HOST_WINDOW_AUTOMATIC	(1U << 0)	/* an agent's settings want it */

/**
 * struct vgpu_host_window_create - create the window of a guest
 * @size: sizeof(struct vgpu_host_window_create)
 * @flags: VGPU_HOST_WINDOW_AUTOMATIC: without a meaning to the module, which passes it on to
 *	the next agent
 * @cid: context id of the guest
 * @port: local port of the guest's connections
 * @bytes: size of the window, a multiple of the page size; the window takes no memory of that
 *	size
 * @uid: owner of the device file, which is mode 0600: the hypervisor's user
 * @gid: group of the device file
 * @out_name: name of the device file in /dev, NUL-terminated
 * @reserved: 0
 *
 * The window lasts until it is destroyed or the module is unloaded, longer than the agent.
 * -EEXIST: the guest has a window. -EMFILE: there are too many windows. -EPERM: kvm_intel is
 * loaded with nested=1 and the kernel is older than Linux 6.13; opening the device file fails
 * with -EPERM as well then.
 */
struct vgpu_host_window_create {
	__u32 size;
	__u32 flags;
	__u32 cid;
	__u32 port;
	__u64 bytes;
	__u32 uid;
	__u32 gid;
	char out_name[32];
	__u64 reserved;
};

#define VGPU_HOST_WINDOW_FORCE	(1U << 0)	/* even if programs have mappings in the window */

/**
 * struct vgpu_host_window_destroy - destroy a guest's window
 * @size: sizeof(struct vgpu_host_window_destroy)
 * @flags: VGPU_HOST_WINDOW_FORCE
 * @cid: context id of the guest
 * @port: local port of the guest's connections
 *
 * A hypervisor that still maps the window sees a meaningless page everywhere. -ENOENT: the
 * guest has no window. -EBUSY: mappings of the guest's programs are in the window.
 */
struct vgpu_host_window_destroy {
	__u32 size;
	__u32 flags;
	__u32 cid;
	__u32 port;
};

/**
 * struct vgpu_host_window_drain - keep a window empty, or use it again
 * @size: sizeof(struct vgpu_host_window_drain)
 * @flags: 0
 * @cid: context id of the guest
 * @port: local port of the guest's connections
 * @drain: 1: the guest moves its mappings out of the window while programs use them, and adds
 *	no others; 0: the guest may add mappings, and moves those back that fit
 * @reserved: 0
 *
 * The ioctl returns at once; @out_bindings of the window shows the progress of the guest.
 * -ENOENT: the guest has no window.
 */
struct vgpu_host_window_drain {
	__u32 size;
	__u32 flags;
	__u32 cid;
	__u32 port;
	__u32 drain;
	__u32 reserved;
};

#define VGPU_HOST_WINDOW_NEXT	(1U << 0)	/* the first window after @cid and @port */

/**
 * struct vgpu_host_window_stat - a window and its counters
 * @size: sizeof(struct vgpu_host_window_stat)
 * @flags: VGPU_HOST_WINDOW_NEXT
 * @cid: context id of the guest
 * @port: local port of the guest's connections
 * @out_cid: context id of the window's guest
 * @out_port: local port of the window's guest
 * @out_bytes: size of the window
 * @out_bound_bytes: current size in bytes of the mappings in the window
 * @out_bindings: current number of mappings in the window
 * @out_opens: number of open files of the window's device
 * @out_drain: 1 if the window is to be kept empty
 * @out_reserved: 0
 * @out_faults: number of faults of hypervisors
 * @out_resolved: number of pages that were resolved for faults
 * @out_dummies: number of faults that got the window's own page
 * @out_failures: number of failed faults in mappings or in the header; the guest is notified of
 *	those in mappings
 * @out_timeouts: number of faults for which a driver did not answer in time
 * @out_zaps: number of changes of drivers' mappings that unmapped pages of the window
 * @out_name: name of the device file in /dev, NUL-terminated
 * @out_uid: owner of the device file when it was created
 * @out_flags: flags of VGPU_HOST_WINDOW_CREATE
 * @out_reserved2: 0
 * @out_huge: number of PMD mappings (2 MiB) that were inserted
 *
 * -ENOENT: there is no such window.
 */
struct vgpu_host_window_stat {
	__u32 size;
	__u32 flags;
	__u32 cid;
	__u32 port;
	__u32 out_cid;
	__u32 out_port;
	__u64 out_bytes;
	__u64 out_bound_bytes;
	__u32 out_bindings;
	__u32 out_opens;
	__u32 out_drain;
	__u32 out_reserved;
	__u64 out_faults;
	__u64 out_resolved;
	__u64 out_dummies;
	__u64 out_failures;
	__u64 out_timeouts;
	__u64 out_zaps;
	char out_name[32];
	__u32 out_uid;
	__u32 out_flags;
	__u64 out_reserved2;
	__u64 out_huge;
};

enum vgpu_host_event_type {
	VGPU_HOST_EVENT_SESSION_GONE	= 1,	/* the shadow's file was closed */
	VGPU_HOST_EVENT_SESSION_CLOSE	= 2,	/* closed by the guest: shadow was ended */
	VGPU_HOST_EVENT_PEER_GONE	= 3,	/* all resources of the peer are freed */
	/*
	 * No driver knows the shadow's process id any more. PEER_GONE implies this for all
	 * sessions.
	 */
	VGPU_HOST_EVENT_SESSION_REAP	= 4,
};

/* Result of read() on the agent's file: one or more whole events. */
struct vgpu_host_event {
	__u32 type;
	__u32 peer;
	__u64 session;
};

/* --- shadow --------------------------------------------------------------- */

/*
 * mmap() of a shadow's file (shared, readable and writable, offset equal to the address) makes
 * the part of the address space that mirrors the guest process: everything except the reserved
 * range. The shadow does this before its first lane.
 */

/**
 * struct vgpu_shadow_lane - take over a lane
 * @size: sizeof(struct vgpu_shadow_lane)
 * @sock_fd: connected socket on which LANE was read; the module takes its own reference and
 *	will write LANE_READY
 * @out_fd: file descriptor of the lane's file
 * @reserved: 0
 *
 * The caller keeps @out_fd in a thread with an fd table of its own, which holds no other file.
 * The first use binds the session to the caller's mm; taking a lane in another mm fails with
 * -EINVAL.
 */
struct vgpu_shadow_lane {
	__u32 size;
	__s32 sock_fd;
	__s32 out_fd;
	__u32 reserved;
};

/*
 * VGPU_SHADOW_SERVICE: apply unmaps of the guest, until the session ends. Returns 0 when the
 * caller has to repeat the ioctl, -ESHUTDOWN at the end. The ioctl has no argument.
 */

/* --- memory --------------------------------------------------------------- */

/**
 * struct vgpu_memory_add - describe a part of the guest's memory
 * @size: sizeof(struct vgpu_memory_add)
 * @flags: 0
 * @addr: physical address of its first byte in the guest
 * @len: number of bytes, not 0
 * @offset: offset of its first byte in @fd
 * @fd: file descriptor of the file that has the bytes, on tmpfs (such as a memfd) or hugetlbfs;
 *	the module takes its own reference
 * @reserved: 0
 *
 * Address, length and offset are multiples of the page size. -EINVAL: they are not, or the file
 * is of another kind; -EOPNOTSUPP: the pages of the file are larger than 2 MiB, or a reserved
 * member is not 0; -ENOSPC: there are 64 parts; -ESHUTDOWN: the guest is gone, or another file
 * describes its memory.
 */
struct vgpu_memory_add {
	__u32 size;
	__u32 flags;
	__u64 addr;
	__u64 len;
	__u64 offset;
	__s32 fd;
	__u32 reserved;
};

/**
 * struct vgpu_memory_remove - remove a part of the guest's memory
 * @size: sizeof(struct vgpu_memory_remove)
 * @flags: 0
 * @addr: address as in VGPU_MEMORY_ADD
 * @len: length as in VGPU_MEMORY_ADD
 *
 * Memory of the part that drivers keep stays kept. -ENOENT: there is no such part; -ESHUTDOWN:
 * as for VGPU_MEMORY_ADD.
 */
struct vgpu_memory_remove {
	__u32 size;
	__u32 flags;
	__u64 addr;
	__u64 len;
};

/* --- lane ----------------------------------------------------------------- */

/**
 * struct vgpu_lane_serve - run calls on this thread
 * @size: sizeof(struct vgpu_lane_serve)
 * @flags: VGPU_LANE_KEYS, or 0
 * @scratch: address of the caller's memory for arguments, page aligned, private to the thread,
 *	inside the reserved range
 * @scratch_len: size of this memory in bytes, a multiple of the page size, at least 64 KiB
 * @event_fd: file descriptor of a new eventfd for a driver to signal, which the module removes
 *	from the thread's fd table; or -1
 * @reserved: 0
 *
 * Returns 0 or VGPU_LANE_NEEDS_EVENT when the caller has to repeat the ioctl at once, after a
 * return to user mode (so that task work and signals have run); -ESHUTDOWN when the lane is
 * over. The signal VGPU_LANE_SIGNAL needs a handler, without SA_RESTART; all other signals are
 * blocked. The fd of the lane's file is below VGPU_LANE_FDS, and RLIMIT_NOFILE exceeds that
 * number by the maximum number of objects.
 */
struct vgpu_lane_serve {
	__u32 size;
	__u32 flags;
	__u64 scratch;
	__u64 scratch_len;
	__s32 event_fd;
	__u32 reserved;
};

/*
 * The shadow has allocated all protection keys of the processor (pkey_alloc()). The memory of
 * its program has the key VGPU_KEY_OWN, and @scratch has VGPU_KEY_SHARED. While a call runs, the
 * thread can access only the call's part of the shadow's memory; the module uses the other keys
 * for that.
 */
#define VGPU_LANE_KEYS		1
#define VGPU_KEY_OWN		1
#define VGPU_KEY_SHARED		2
#define VGPU_KEY_ALONE		3	/* first key of one call alone */
#define VGPU_KEY_LAST		15	/* last key of one call alone */

/*
 * Files of a call whose number does not matter, and files that drivers make, have fds below
 * this number. The fds from here on belong to objects that keep their number.
 */
#define VGPU_LANE_FDS		1024

/*
 * Return value of VGPU_LANE_SERVE: the thread has to repeat the ioctl with an @event_fd. A thread
 * that has no memory for one repeats it with -1, and is asked anew before each call.
 */
#define VGPU_LANE_NEEDS_EVENT	1

#define VGPU_LANE_SIGNAL	10	/* SIGUSR1: interrupts the driver of a cancelled call */

#define VGPU_HOST_AGENT		_IO(VGPU_HOST_TYPE, 0x00)
#define VGPU_HOST_EXPORT_ADD	_IO(VGPU_HOST_TYPE, 0x01)
#define VGPU_HOST_EXPORT_DEL	_IO(VGPU_HOST_TYPE, 0x02)
#define VGPU_HOST_PEER_ADD	_IO(VGPU_HOST_TYPE, 0x03)
#define VGPU_HOST_PEER_DEL	_IO(VGPU_HOST_TYPE, 0x04)
#define VGPU_HOST_GRANT		_IO(VGPU_HOST_TYPE, 0x05)
#define VGPU_HOST_REVOKE	_IO(VGPU_HOST_TYPE, 0x06)
#define VGPU_HOST_SHADOW	_IO(VGPU_HOST_TYPE, 0x07)
#define VGPU_HOST_PEER_STAT	_IO(VGPU_HOST_TYPE, 0x08)
#define VGPU_HOST_WINDOW_CREATE	_IO(VGPU_HOST_TYPE, 0x09)
#define VGPU_HOST_WINDOW_DESTROY _IO(VGPU_HOST_TYPE, 0x0a)
#define VGPU_HOST_WINDOW_STAT	_IO(VGPU_HOST_TYPE, 0x0b)
#define VGPU_HOST_WINDOW_DRAIN	_IO(VGPU_HOST_TYPE, 0x0c)
#define VGPU_HOST_EXPORT_CHANGE	_IO(VGPU_HOST_TYPE, 0x0d)
#define VGPU_HOST_EXPORT_FILE	_IO(VGPU_HOST_TYPE, 0x0e)
#define VGPU_HOST_MEMORY	_IO(VGPU_HOST_TYPE, 0x0f)
#define VGPU_HOST_DENIALS	_IO(VGPU_HOST_TYPE, 0x10)
#define VGPU_HOST_PEER_LIMIT	_IO(VGPU_HOST_TYPE, 0x11)
#define VGPU_HOST_PEER_USE	_IO(VGPU_HOST_TYPE, 0x12)
#define VGPU_HOST_SETTLE	_IO(VGPU_HOST_TYPE, 0x13)
#define VGPU_HOST_NOTE		_IO(VGPU_HOST_TYPE, 0x14)
#define VGPU_HOST_NOTE_FIND	_IO(VGPU_HOST_TYPE, 0x15)
#define VGPU_HOST_GUEST_STAT	_IO(VGPU_HOST_TYPE, 0x18)
#define VGPU_HOST_SESSION_STAT	_IO(VGPU_HOST_TYPE, 0x19)

#define VGPU_SHADOW_LANE	_IO(VGPU_HOST_TYPE, 0x20)
#define VGPU_SHADOW_SERVICE	_IO(VGPU_HOST_TYPE, 0x21)

#define VGPU_LANE_SERVE		_IO(VGPU_HOST_TYPE, 0x40)

#define VGPU_MEMORY_ADD		_IO(VGPU_HOST_TYPE, 0x60)
#define VGPU_MEMORY_REMOVE	_IO(VGPU_HOST_TYPE, 0x61)

#endif /* _UAPI_LINUX_VGPU_HOST_H */
