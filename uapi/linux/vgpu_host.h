/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * vgpu_host.ko: control of the host module through /dev/vgpu-host.
 *
 * A file of /dev/vgpu-host takes one of four roles, for good:
 *
 *  - the *agent* (vgpud): the first file to do VGPU_HOST_AGENT. It owns exports
 *    and peers; when its last reference is closed, all of them end, with every
 *    shadow. read() gives struct vgpu_host_event, poll() says when;
 *  - a *shadow*: a file made by VGPU_HOST_SHADOW and inherited by the shadow
 *    program. Closing it ends the session;
 *  - a *lane*: a file made by VGPU_SHADOW_LANE, kept by one thread;
 *  - a *memory*: a file made by VGPU_HOST_MEMORY, for whoever knows where a guest's
 *    memory is. Closing it makes the module forget that.
 *
 * Contract of all ioctls: the first member is the size of the struct as the
 * caller knows it; a longer one whose unknown part is zero is accepted, else
 * -E2BIG; a shorter one than version 1's gets -EINVAL; reserved members and
 * unknown flags that are not zero get -EOPNOTSUPP; an ioctl that the role does
 * not have gets -ENOTTY. Outputs are named out_*.
 */
#ifndef _UAPI_LINUX_VGPU_HOST_H
#define _UAPI_LINUX_VGPU_HOST_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define VGPU_HOST_DEVICE	"/dev/vgpu-host"
#define VGPU_HOST_TYPE		0xb7

/* --- agent ---------------------------------------------------------------- */

/**
 * struct vgpu_host_agent - become the agent
 * @size: sizeof(struct vgpu_host_agent)
 * @flags: 0
 * @reserved_base: range that shadows use for themselves, as the WELCOME
 *	messages say; page aligned
 * @reserved_size: bytes of it
 * @fetch_timeout_ms: deadline of one page fetch; 1 to 60000
 * @ping_timeout_ms: a peer whose PONG stays away for so long is dropped; 0: never
 * @patience_ms: for how long drivers may wait for all fetches of a guest together, which it gets
 *	back slowly; 1 to 3600000; 0: as long as for one
 * @reserved: 0
 *
 * -EBUSY: there is an agent. -EPERM: the caller lacks CAP_SYS_ADMIN.
 */
struct vgpu_host_agent {
	__u32 size;
	__u32 flags;
	__u64 reserved_base;
	__u64 reserved_size;
	__u32 fetch_timeout_ms;
	__u32 ping_timeout_ms;
	__u32 patience_ms;
	__u32 reserved;
};

#define VGPU_HOST_EXPORT_MASTER	(1U << 0)	/* peers may become DRM master */
/*
 * The driver never waits for a page of a program's memory: what a call does not bring with it
 * is a bad address, and the call gets -EOPNOTSUPP. Likewise of files that come from its calls.
 */
#define VGPU_HOST_EXPORT_NO_DEMAND	(1U << 1)

/**
 * struct vgpu_host_export_add - offer a device file to be granted to peers
 * @size: sizeof(struct vgpu_host_export_add)
 * @flags: VGPU_HOST_EXPORT_*
 * @path_fd: an fd (O_PATH will do) of the character device; not kept open by
 *	the module in a way that opens the device
 * @kind: VGPU_EXPORT_* of vgpu_wire.h
 * @device: nodes of one device share this number; 0: stands alone
 * @name: name, unique, NUL-terminated, [A-Za-z0-9._-]+
 * @driver: name of its driver, NUL-terminated
 * @path: its path, NUL-terminated, told to guests
 * @out_export: its number
 * @reserved: 0
 * @bus: VGPU_BUS_* of vgpu_wire.h, told to guests like the rest
 * @reserved2: 0
 * @bus_id: the device's name there, NUL-terminated; VGPU_BUS_NONE: empty
 * @pci_header: VGPU_BUS_PCI: the beginning of its configuration space; else 0
 * @title: as in struct vgpu_export_add, NUL-terminated
 *
 * -ENODEV: no character device; -EXDEV: a device of vgpu itself (no
 * recursion); -EEXIST: the name is taken.
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
};

/* VGPU_HOST_EXPORT_DEL: revoked from every peer; open objects live on. */
struct vgpu_host_export_del {
	__u32 size;
	__u32 export;
};

/**
 * struct vgpu_host_export_change - the driver of an export has said "change" by a uevent
 * @size: sizeof(struct vgpu_host_export_change)
 * @flags: VGPU_CHANGE_* of vgpu_wire.h, at least one
 * @export: number of the export, of kind VGPU_EXPORT_DRM_PRIMARY
 * @connector: VGPU_CHANGE_HOTPLUG: the one that it is about; 0: any
 * @property: the connector's that has changed; 0: any
 * @wedged: VGPU_CHANGE_WEDGED: what helps, see struct vgpu_export_change; else 0
 *
 * Peers that may use it are told, with EXPORT_CHANGE. One that takes its messages too
 * slowly hears of several at once. -ENOENT: no such export; -EINVAL: it is no card.
 */
struct vgpu_host_export_change {
	__u32 size;
	__u32 flags;
	__u32 export;
	__u32 connector;
	__u32 property;
	__u32 wedged;
};

/* There are no more: files that were not told since the last one of these are gone. */
#define VGPU_HOST_FILE_LAST	(1U << 0)

/**
 * struct vgpu_host_export_file - what a small file of an export's device holds
 * @size: sizeof(struct vgpu_host_export_file)
 * @flags: VGPU_HOST_FILE_LAST, with an empty @name and @len 0
 * @export: number of the export
 * @len: bytes at @data, VGPU_FILE_MAX at most
 * @data: what it holds
 * @name: as in struct vgpu_export_file
 *
 * Peers that may use the export get it, with EXPORT_FILE, if it holds something else than
 * before. -ENOENT: no such export; -ENOSPC: 512 files, or 1 MiB.
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
 * struct vgpu_host_limits - what one peer may use; 0 means the default
 * @sessions: shadows
 * @lanes: lanes a session
 * @objects: open objects
 * @fds_per_call: fds that one call may return, at most VGPU_FDS_MAX
 * @call_bytes: longest lane message, at most VGPU_CALL_BYTES_MAX
 * @pages: demand pages held for a session
 * @mappings: device mappings (VMAs) a session
 * @reserved: 0
 * @mapped_bytes: device mappings, all sessions together
 * @kept_bytes: memory of the guest that devices keep
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
 * struct vgpu_host_peer_add - hand a guest's control connection to the module
 * @size: sizeof(struct vgpu_host_peer_add)
 * @flags: 0
 * @sock_fd: connected AF_VSOCK stream socket on which HELLO was read and
 *	WELCOME was written; the module takes its own reference
 * @cid: the guest's context id, for status only
 * @port: local port by which it came, for status only
 * @out_peer: its number
 * @limits: see there
 * @features: VGPU_FEATURE_* of vgpu_wire.h, as WELCOME said
 *
 * -EOPNOTSUPP: this module does not know one of the features, or cannot do it: KEEP_ALONE where the
 * processor has no protection keys, or without KEEP.
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

/*
 * VGPU_HOST_PEER_DEL: close the connection, end its sessions. The peer's number
 * stays valid until VGPU_HOST_EVENT_PEER_GONE was read.
 */
struct vgpu_host_peer_del {
	__u32 size;
	__u32 peer;
};

#define VGPU_HOST_GRANT_READ_ONLY (1U << 0)	/* opens for writing get -EACCES */

/**
 * struct vgpu_host_grant - let a peer use an export
 * @size: sizeof(struct vgpu_host_grant)
 * @flags: VGPU_HOST_GRANT_*
 * @peer: number of the peer
 * @export: number of the export
 * @ioctls: user pointer to an array of __u32 command numbers, of which type and
 *	number count; size and direction do not, as drivers may ignore them
 * @nr_ioctls: its length, at most 1024
 * @ioctls_deny: 1: those commands get -EACCES; 0: all others do (when
 *	@nr_ioctls is not 0)
 *
 * The guest is told with EXPORT_ADD. VGPU_HOST_REVOKE undoes it.
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

struct vgpu_host_revoke {
	__u32 size;
	__u32 peer;
	__u32 export;
	__u32 reserved;
};

/**
 * struct vgpu_host_shadow - make the file of a new session's shadow
 * @size: sizeof(struct vgpu_host_shadow)
 * @flags: 0
 * @peer: number of the peer
 * @out_fd: the shadow's file; O_CLOEXEC
 * @session: number of the session, as the guest chose it
 *
 * -EEXIST: the peer has such a session; -EMFILE: limit.
 */
struct vgpu_host_shadow {
	__u32 size;
	__u32 flags;
	__u32 peer;
	__s32 out_fd;
	__u64 session;
};

/**
 * struct vgpu_host_memory - make the file by which the module is told where a guest's memory is
 * @size: sizeof(struct vgpu_host_memory)
 * @flags: 0
 * @peer: number of the peer
 * @pieces: most mappings of that memory that a shadow has at once
 * @out_fd: the file; O_CLOEXEC
 * @reserved: 0
 *
 * A process that has the file is trusted no more than the guest. What was told by an earlier
 * one for the same peer is forgotten. -EOPNOTSUPP: WELCOME did not agree to VGPU_FEATURE_KEEP.
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
 * @out_sessions: how many there are now
 * @out_lanes: likewise
 * @out_objects: likewise
 * @out_mappings: likewise
 * @out_calls: calls that were made, refused ones too
 * @out_round_trips: these, and upcalls
 * @out_bytes_in: bytes of messages that were read
 * @out_bytes_out: bytes of messages that were sent
 * @out_fetched_pages: pages of FETCH
 * @out_written_pages: pages with bytes that were written back
 * @out_fetch_timeouts: pages that the guest did not give in time
 * @out_refused: by limits and policy
 * @out_malformed: messages that closed a connection
 * @out_stray_fds: files that a driver made and no schema describes
 * @out_cancels: calls that the guest wanted to be interrupted
 * @out_kept_bytes: of the guest's memory, which devices may use, now
 * @out_patience_ms: time for which drivers may wait for it, now; 0: they do not
 * @out_spent: how often it has used up all of that, other connections of the guest included
 * @out_cut_off: 1: lately, so often that it gets no more for some minutes
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

#define VGPU_HOST_WINDOW_AUTOMATIC	(1U << 0)	/* what an agent's settings ask for */

/**
 * struct vgpu_host_window_create - make the window of a guest
 * @size: sizeof(struct vgpu_host_window_create)
 * @flags: VGPU_HOST_WINDOW_AUTOMATIC: means nothing to the module, which tells the
 *	next agent
 * @cid: the guest's context id
 * @port: local port by which it comes
 * @bytes: how large; a multiple of the page size. Costs no memory
 * @uid: owner of the device file, which is mode 0600: the hypervisor's user
 * @gid: its group
 * @out_name: name of the device file in /dev, NUL-terminated
 * @reserved: 0
 *
 * Lasts until it is destroyed or the module is unloaded, not as long as the agent.
 * -EEXIST: it has one. -EMFILE: there are too many. -EPERM: before Linux 6.13, kvm_intel is loaded
 * with nested=1; to open the device file gets the same.
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

#define VGPU_HOST_WINDOW_FORCE	(1U << 0)	/* although programs have mappings in it */

/**
 * struct vgpu_host_window_destroy - take a guest's window away
 * @size: sizeof(struct vgpu_host_window_destroy)
 * @flags: VGPU_HOST_WINDOW_FORCE
 * @cid: the guest's context id
 * @port: local port by which it comes
 *
 * A hypervisor that has it mapped sees a page without meaning everywhere.
 * -ENOENT: it has none. -EBUSY: mappings of the guest's programs are in it.
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
 * @cid: the guest's context id
 * @port: local port by which it comes
 * @drain: 1: the guest moves its mappings out of the window, while programs use
 *	them, and puts no others in; 0: it may, and moves those back that fit
 * @reserved: 0
 *
 * Returns at once; the window's bindings say how far the guest is. -ENOENT: it has none.
 */
struct vgpu_host_window_drain {
	__u32 size;
	__u32 flags;
	__u32 cid;
	__u32 port;
	__u32 drain;
	__u32 reserved;
};

#define VGPU_HOST_WINDOW_NEXT	(1U << 0)	/* the first one after @cid and @port */

/**
 * struct vgpu_host_window_stat - a window and its counters
 * @size: sizeof(struct vgpu_host_window_stat)
 * @flags: VGPU_HOST_WINDOW_NEXT
 * @cid: the guest's context id
 * @port: local port by which it comes
 * @out_cid: whose it is
 * @out_port: likewise
 * @out_bytes: how large it is
 * @out_bound_bytes: bytes of mappings in it, now
 * @out_bindings: mappings in it, now
 * @out_opens: how often its device file is open
 * @out_drain: it is to be empty
 * @out_slots: lanes that have a part of it for their messages, now
 * @out_faults: of hypervisors
 * @out_resolved: pages that drivers were asked for
 * @out_dummies: faults that got the window's own page
 * @out_failures: those for a page of a mapping, of which the guest was told
 * @out_timeouts: drivers that did not answer in time
 * @out_zaps: changes of drivers' mappings that took pages away
 * @out_name: name of the device file in /dev, NUL-terminated
 * @out_uid: owner of the device file, as it was made
 * @out_flags: as it was made
 * @out_arena_bytes: of messages that went through it
 * @out_huge: 2 MiB that were put into page tables as one entry
 *
 * -ENOENT: there is none.
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
	__u32 out_slots;
	__u64 out_faults;
	__u64 out_resolved;
	__u64 out_dummies;
	__u64 out_failures;
	__u64 out_timeouts;
	__u64 out_zaps;
	char out_name[32];
	__u32 out_uid;
	__u32 out_flags;
	__u64 out_arena_bytes;
	__u64 out_huge;
};

enum vgpu_host_event_type {
	VGPU_HOST_EVENT_SESSION_GONE	= 1,	/* its shadow's file was closed */
	VGPU_HOST_EVENT_SESSION_CLOSE	= 2,	/* the guest closed it: shadow was ended */
	VGPU_HOST_EVENT_PEER_GONE	= 3,	/* everything of the peer is freed */
	/* No driver knows its shadow's process number. PEER_GONE tells so of all sessions. */
	VGPU_HOST_EVENT_SESSION_REAP	= 4,
};

/* What read() of the agent's file gives, one or more whole ones. */
struct vgpu_host_event {
	__u32 type;
	__u32 peer;
	__u64 session;
};

/* --- shadow --------------------------------------------------------------- */

/*
 * mmap() of a shadow's file (shared, read and write, offset equal to the
 * address) makes the part of the address space that is the guest process's:
 * everything but the reserved range. Done by the shadow before its first lane.
 */

/**
 * struct vgpu_shadow_lane - take a lane
 * @size: sizeof(struct vgpu_shadow_lane)
 * @sock_fd: connected socket on which LANE was read; the module takes its own
 *	reference and will write LANE_READY
 * @out_fd: the lane's file
 * @reserved: 0
 *
 * The caller keeps @out_fd in a thread with an fd table of its own, which holds
 * nothing else. The first use binds the session to the caller's mm; a lane
 * taken in another one gets -EINVAL.
 */
struct vgpu_shadow_lane {
	__u32 size;
	__s32 sock_fd;
	__s32 out_fd;
	__u32 reserved;
};

/*
 * VGPU_SHADOW_SERVICE: apply unmaps of the guest, until the session ends.
 * Returns 0 when it wants to be called again, -ESHUTDOWN at the end.
 * No argument.
 */

/* --- memory --------------------------------------------------------------- */

/**
 * struct vgpu_memory_add - tell of a part of the guest's memory
 * @size: sizeof(struct vgpu_memory_add)
 * @flags: 0
 * @addr: physical address of its first byte in the guest
 * @len: number of bytes, not 0
 * @offset: offset of its first byte in @fd
 * @fd: the file that has the bytes, on tmpfs (a memfd is) or hugetlbfs; the module takes a
 *	reference of its own
 * @reserved: 0
 *
 * All of these are multiples of the page size. -EINVAL: they are not, or the file is another one;
 * -EOPNOTSUPP: its pages are larger than 2 MiB, or a reserved member is not 0; -ENOSPC: there are
 * 64 parts; -ESHUTDOWN: the guest is gone, or another file tells of its memory.
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
 * struct vgpu_memory_remove - tell that a part of the guest's memory is there no more
 * @size: sizeof(struct vgpu_memory_remove)
 * @flags: 0
 * @addr: as it was added
 * @len: likewise
 *
 * Drivers keep what they have of it. -ENOENT: there is no such part; -ESHUTDOWN: as above.
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
 * @scratch: memory of the caller for arguments, page aligned, private to the
 *	thread, inside the reserved range
 * @scratch_len: bytes, a multiple of the page size, at least 64 KiB
 * @event_fd: a new eventfd, which the module takes out of the thread's fds, for a
 *	driver to signal; or -1
 * @reserved: 0
 *
 * Returns 0 or VGPU_LANE_NEEDS_EVENT when it must be called again at once, after
 * a return to user mode (so that task work and signals have run); -ESHUTDOWN when the lane is over.
 * The signal of VGPU_LANE_SIGNAL needs a handler, without SA_RESTART; all other
 * signals are blocked. The lane's file has a number below VGPU_LANE_FDS, and RLIMIT_NOFILE is so
 * much more than that as there may be objects.
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
 * The shadow has all of the processor's protection keys (pkey_alloc()), the memory of its program
 * has VGPU_KEY_OWN, and @scratch VGPU_KEY_SHARED. While a call runs, none of its memory can be
 * reached but what belongs to the call, for which the module uses the other keys.
 */
#define VGPU_LANE_KEYS		1
#define VGPU_KEY_OWN		1
#define VGPU_KEY_SHARED		2
#define VGPU_KEY_ALONE		3	/* and all up to: */
#define VGPU_KEY_LAST		15

/*
 * Files of a call that get any number, and those that drivers make, are below; numbers from here
 * on are of objects that keep theirs.
 */
#define VGPU_LANE_FDS		1024

/* What VGPU_LANE_SERVE returns when the thread is to come again with an @event_fd. */
#define VGPU_LANE_NEEDS_EVENT	1

#define VGPU_LANE_SIGNAL	10	/* SIGUSR1: interrupts a cancelled call */

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

#define VGPU_SHADOW_LANE	_IO(VGPU_HOST_TYPE, 0x20)
#define VGPU_SHADOW_SERVICE	_IO(VGPU_HOST_TYPE, 0x21)

#define VGPU_LANE_SERVE		_IO(VGPU_HOST_TYPE, 0x40)

#define VGPU_MEMORY_ADD		_IO(VGPU_HOST_TYPE, 0x60)
#define VGPU_MEMORY_REMOVE	_IO(VGPU_HOST_TYPE, 0x61)

#endif /* _UAPI_LINUX_VGPU_HOST_H */
