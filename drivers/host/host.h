/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Host module: its objects and what each file offers.
 *
 * Who holds whom: agent <- peer <- session <- lane; the file of a lane holds the
 * file of its shadow, so a session's last lane is gone before the session is.
 * Objects belong to a peer; running calls hold them, too.
 *
 * Lock order, outermost first:
 *
 *   agent_mutex		the one agent, agent.c
 *   agent->lock		exports, peers
 *   agent->guests_lock		guests that are remembered
 *   peer->lock			grants, sessions, what tells of the guest's memory
 *   memory->lock		where that is, ram.c
 *   session->lock		list of lanes
 *   session->map_lock		mappings; order of changes to the shadow's mm
 *   (mmap_lock of the shadow)
 *   demand->lock		pages; taken in faults, so never over a copy to
 *				or from user memory
 *   peer->objects_lock		object, file and space tables, memory that devices keep
 *   poll->lock			waits on a driver's queues, over its ->poll()
 *   session->unmaps_lock, peer->closes_lock, peer->leave_lock, peer->unbinds_lock,
 *   peer->tgids_lock, agent->events_lock
 *				spinlocks, one at a time
 *   peer->events_lock		spinlock, taken where drivers signal
 *   guest->lock		spinlock, what a guest has left of its time
 *   lane->lock			spinlock, innermost, taken in socket callbacks
 *
 * peer->tx_lock makes senders of the control connection take turns. It is held
 * over a send with a deadline and nothing else is taken inside it. No other lock
 * is held over a send, a receive or a driver's function, but map_lock (as the
 * mmap lock is) and poll->lock.
 */
#ifndef VGPU_HOST_H
#define VGPU_HOST_H

#include <linux/atomic.h>
#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/ioctl.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/mutex.h>
#include <linux/path.h>
#include <linux/poll.h>
#include <linux/rbtree.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include <uapi/linux/vgpu_host.h>
#include <uapi/linux/vgpu_wire.h>

#include "conn.h"
#include "fresh.h"
#include "kept.h"
#include "patience.h"
#include "policy.h"
#include "segs.h"
#include "wire.h"

struct vgpu_binding;
struct vgpu_call_op;
struct vgpu_hcall;
struct vgpu_lane;
struct vgpu_memory;
struct vgpu_peer;
struct vgpu_session;
struct vgpu_slot;
struct vgpu_window;

/* A message once begun is there within this time, or its connection ends. */
#define VGPU_MSG_TIMEOUT_MS	10000

/* --- main.c --------------------------------------------------------------- */

/* Deferred work of all peers that waits for nobody: poll, ends of sessions. */
extern struct workqueue_struct *vgpu_host_wq;
/* That which waits, for a guest that does not read or a driver's ->release. */
extern struct workqueue_struct *vgpu_host_patient_wq;

/* --- cmd.c: control ioctls ------------------------------------------------ */

/**
 * struct vgpu_cmd - one ioctl of /dev/vgpu-host or of a file made by it
 * @arg: private copy of the caller's struct, as long as the op says
 * @user: the caller's struct
 * @user_size: its length, as the caller says
 * @size: its length, as the op says
 */
struct vgpu_cmd {
	void *arg;
	void __user *user;
	u32 user_size;
	u32 size;
};

struct vgpu_cmd_op {
	u32 cmd;
	u32 size;
	int (*fn)(void *data, struct file *file, struct vgpu_cmd *cmd);
};

#define VGPU_CMD(_cmd, _type, _fn) { .cmd = (_cmd), .size = sizeof(_type), .fn = (_fn) }
#define VGPU_CMD_BYTES_MAX	512

long vgpu_cmd_run(const struct vgpu_cmd_op *ops, unsigned int nr, void *data, struct file *file,
		  unsigned int nr_cmd, unsigned long arg);
/* Give the caller its outputs, before anything is published that could not be taken back. */
int vgpu_cmd_respond(struct vgpu_cmd *cmd);

/* --- agent.c -------------------------------------------------------------- */

/* An event on its way to the agent; allocated before it is needed. */
struct vgpu_agent_event {
	struct list_head node;
	struct vgpu_host_event event;
};

struct vgpu_agent {
	struct kref ref;
	u64 reserved_base;
	u64 reserved_size;
	u32 fetch_timeout_ms;
	u32 ping_timeout_ms;
	u32 patience_ms;

	/* Exports and peers. */
	struct mutex lock;
	struct list_head exports;
	u32 last_export;
	struct xarray peers;
	u32 next_peer;

	/* Guests that are remembered. */
	struct mutex guests_lock;
	struct list_head guests;

	/* What read() gives. */
	spinlock_t events_lock;
	struct list_head events;
	wait_queue_head_t events_wait;
};

int vgpu_agent_init(void);
void vgpu_agent_exit(void);
void vgpu_agent_get(struct vgpu_agent *agent);
void vgpu_agent_put(struct vgpu_agent *agent);
/* Hands @event over to whoever reads the agent's file. */
void vgpu_agent_notify(struct vgpu_agent *agent, struct vgpu_agent_event *event, u32 type,
		       u32 peer, u64 session);
/* The peer of that guest, if there is one, has to hear of its window. */
void vgpu_agent_kick_peer(u32 cid, u32 port);
/* The peer is gone; its number is free. */
void vgpu_agent_forget_peer(struct vgpu_agent *agent, struct vgpu_peer *peer);
/* @rdev is /dev/vgpu-host. */
bool vgpu_agent_is_device(dev_t rdev);
bool vgpu_agent_in_reserved(const struct vgpu_agent *agent, u64 addr, u64 len);

/* --- guest.c --------------------------------------------------------------- */

/**
 * struct vgpu_guest - what is remembered of a guest, by whichever connection it comes
 * @node: in agent->guests, like @peers under agent->guests_lock
 * @cid: its context id
 * @port: that it comes by
 * @peers: its connections
 * @lock: guards @patience
 * @patience: for how long drivers wait for its answers
 */
struct vgpu_guest {
	struct list_head node;
	u32 cid;
	u32 port;
	unsigned int peers;
	/* Held for moments, by lanes whose drivers wait. */
	spinlock_t lock;
	struct vgpu_patience patience;
};

/**
 * struct vgpu_guest_wait - a driver's wait
 * @patience: of vgpu_patience_begin()
 * @start: when it began, in nanoseconds
 */
struct vgpu_guest_wait {
	struct vgpu_patience_wait patience;
	u64 start;
};

/* Return: NULL: no memory. */
struct vgpu_guest *vgpu_guest_get(struct vgpu_agent *agent, u32 cid, u32 port);
void vgpu_guest_put(struct vgpu_agent *agent, struct vgpu_guest *guest);
void vgpu_guests_fini(struct vgpu_agent *agent);
/* A call begins. Return: what vgpu_guest_wait_begin() wants to know of it. */
u64 vgpu_guest_call(struct vgpu_guest *guest);
/* The call's driver is to wait for an answer. Return: milliseconds that it may; 0: it may not. */
unsigned int vgpu_guest_wait_begin(struct vgpu_guest *guest, u64 call,
				   struct vgpu_guest_wait *wait);
/* The driver has waited. Return: with this all of the guest's time is used up. */
bool vgpu_guest_wait_end(struct vgpu_guest *guest, const struct vgpu_guest_wait *wait);
void vgpu_guest_stat(struct vgpu_guest *guest, struct vgpu_host_peer_stat *stat);

/* --- export.c ------------------------------------------------------------- */

struct vgpu_export {
	struct kref ref;
	struct list_head node;
	u32 id;
	u32 flags;
	u32 kind;
	u64 device;
	struct path path;
	dev_t rdev;
	char name[32];
	char driver[32];
	char dev_path[64];
	u32 bus;
	char bus_id[64];
	u8 pci_header[64];
	char title[64];
	/* Who offered it has CAP_SYS_ADMIN: nobody lends what they have not. */
	bool admin;

	/* Guards what follows; inside of peer->lock. */
	struct mutex files_lock;
	/* struct vgpu_host_file, in the order of their versions. */
	struct list_head files;
	u64 files_version;
};

/* Uevents of an export of which a guest has to hear; @flags 0: of none. */
struct vgpu_change {
	u32 flags;
	u32 connector;
	u32 property;
	u32 wedged;
};

/* The rights of one peer to one export. */
struct vgpu_grant {
	struct kref ref;
	struct list_head node;
	struct vgpu_export *export;
	u32 id;
	struct vgpu_policy policy;
	bool announced;
	bool revoked;
	/* Those since the last EXPORT_CHANGE; under peer->lock. */
	struct vgpu_change change;
	/* Of the newest file that the peer has got; under peer->lock. */
	u64 files_sent;
	/* The policy's list of ioctls. */
	u32 ioctls[];
};

/* Called with agent->lock held. */
int vgpu_export_add(struct vgpu_agent *agent, const struct vgpu_host_export_add *args);
int vgpu_export_del(struct vgpu_agent *agent, u32 id);
struct vgpu_export *vgpu_export_find(struct vgpu_agent *agent, u32 id);
/* The peers that have it are to hear of a uevent. */
int vgpu_export_change(struct vgpu_agent *agent, const struct vgpu_host_export_change *args);

/* --- file.c: files of exports --------------------------------------------- */

int vgpu_file_set(struct vgpu_agent *agent, const struct vgpu_host_export_file *args);
/* The peer gets what has changed. Return: 0, or an error of the connection. */
int vgpu_file_announce(struct vgpu_peer *peer);
void vgpu_file_drop_all(struct vgpu_export *export);

/* --- export.c, again ------------------------------------------------------ */

void vgpu_export_get(struct vgpu_export *export);
void vgpu_export_put(struct vgpu_export *export);

int vgpu_grant_add(struct vgpu_peer *peer, struct vgpu_export *export,
		   const struct vgpu_host_grant *args);
int vgpu_grant_revoke(struct vgpu_peer *peer, const struct vgpu_export *export);
/* The live grant that the guest knows by @id, with a reference, or NULL. */
struct vgpu_grant *vgpu_grant_find(struct vgpu_peer *peer, u32 id);
/* Tells the guest what changed, from the peer's sender. Return: 0 or an error of the connection. */
int vgpu_grant_announce(struct vgpu_peer *peer);
void vgpu_grant_drop_all(struct vgpu_peer *peer);
void vgpu_grant_get(struct vgpu_grant *grant);
void vgpu_grant_put(struct vgpu_grant *grant);
struct file *vgpu_grant_open(struct vgpu_grant *grant, u32 flags);

/* --- peer.c --------------------------------------------------------------- */

struct vgpu_counters {
	atomic64_t calls;
	atomic64_t upcalls;
	atomic64_t bytes_in;
	atomic64_t bytes_out;
	atomic64_t fetched_pages;
	atomic64_t written_pages;
	atomic64_t fetch_timeouts;
	atomic64_t refused;
	atomic64_t malformed;
	atomic64_t stray_fds;
	atomic64_t cancels;
};

/* As many of the ranges that a guest has given back last are remembered. */
#define VGPU_PEER_UNBINDS	1024

/* A range of a window that a guest has given back. */
struct vgpu_unbind {
	u64 seq;
	u64 window;
	u64 offset;
	u64 len;
};

struct vgpu_peer {
	struct kref ref;
	u32 id;
	u32 cid;
	u32 port;
	struct vgpu_agent *agent;
	struct vgpu_guest *guest;
	struct vgpu_host_limits limits;
	struct vgpu_wire_limits wire;
	struct vgpu_counters counters;
	struct vgpu_agent_event *gone;
	atomic_t nr_lanes;
	atomic_t nr_mappings;
	atomic64_t mapped_bytes;

	/* The control connection. */
	struct vgpu_conn conn;
	u8 control_buf[VGPU_CONTROL_MSG_MAX] __aligned(8);
	u64 ping_seq;
	/* When those of its messages that lead to nothing will have been paid for; its thread's. */
	unsigned long idle_until;
	/* Number of ends that the guest has still to tell of, see vgpu_control_due(). */
	atomic_t dues;
	/* Senders take turns. */
	struct mutex tx_lock;
	struct work_struct tx_work;

	/* Grants and sessions. */
	struct mutex lock;
	bool closing;
	struct list_head grants;
	u32 last_grant;
	struct list_head sessions;
	u32 nr_sessions;
	/* The source of where the guest's memory is, or NULL. */
	struct vgpu_memory *memory;

	/* The tables of objects and spaces. */
	struct mutex objects_lock;
	struct xarray objects;
	struct xarray files;
	struct xarray spaces;
	/* Numbers of objects in fd tables, of those that have one. */
	struct ida fds;
	/* This number, under objects_lock, counts those whose files are yet to be released, too. */
	u32 nr_objects;
	/* The guest's references beyond one to each object. */
	u32 nr_repeated;
	u32 next_object;
	u64 last_space;
	/* Memory that devices keep, by the guest's numbers, and what is to be released of it. */
	struct rb_root kepts;
	struct list_head releases;
	u32 nr_kepts;
	u32 nr_releases;
	u64 kept_bytes;

	/* Objects that the guest has closed since, until their files are released. */
	spinlock_t leave_lock;
	struct list_head leaving;
	u64 last_leave;
	struct delayed_work leave_work;
	unsigned long leave_delay;
	/* The peer ends: no file is waited for. */
	bool leave_now;

	/* Protects families: processes that NVIDIA's driver may know, and their files; tgid.c. */
	spinlock_t tgids_lock;

	/* Objects whose last reference a CLOSE message gave back, in order. */
	spinlock_t closes_lock;
	struct list_head closes;
	u64 closing_seq;
	struct work_struct close_work;
	/* Number of the last control message taken in. */
	u64 control_seq;
	/* Control messages came in or were applied; sessions went away. */
	wait_queue_head_t wait;

	/* Objects of which the guest has to hear that they are ready. */
	spinlock_t events_lock;
	struct list_head events;
	/* Eventfds that drivers signalled, of which it has to hear, and all. */
	struct list_head fired;
	u32 nr_events;
	/* Bindings of which pages were lost, of which it has to hear. */
	struct list_head bad_bindings;
	/* It may have another window than it was told of. */
	bool window_changed;
	/* Number of the window that it knows (0: none) and its flags. Only the sender's. */
	u64 window_told;
	u32 window_told_flags;
	/* What it has given back of it lately. */
	spinlock_t unbinds_lock;
	struct vgpu_unbind *unbinds;
	u32 nr_unbinds;
	/* Number of the last UNBIND that is not among them. */
	u64 unbinds_gone;
};

struct vgpu_peer *vgpu_peer_alloc(struct vgpu_agent *agent,
				  const struct vgpu_host_peer_add *args);
void vgpu_peer_get(struct vgpu_peer *peer);
void vgpu_peer_put(struct vgpu_peer *peer);
/* Begins to end everything of the peer; the peer's thread does the rest. */
void vgpu_peer_end(struct vgpu_peer *peer);
void vgpu_peer_stat(struct vgpu_peer *peer, struct vgpu_host_peer_stat *stat);
/* A message of the peer was not what the protocol allows. */
void vgpu_peer_malformed(struct vgpu_peer *peer, u32 type);

/* --- control.c ------------------------------------------------------------ */

void vgpu_control_init(struct vgpu_peer *peer);
/* Starts the peer's thread, which takes over the caller's reference. */
int vgpu_control_start(struct vgpu_peer *peer);
/* Something is there to be sent: grants changed, objects became ready. */
void vgpu_control_kick(struct vgpu_peer *peer);
int vgpu_control_send(struct vgpu_peer *peer, void *msg, size_t len);
/*
 * The guest has made a session or a mapping, or has named a range or memory in vain, and will tell
 * of its end; or may tell of it, as of a CLOSE whose reply does not come.
 */
void vgpu_control_due(struct vgpu_peer *peer);
/*
 * It tells of such an end, or will not tell of one. @idle: there is nothing to be done, so it waits
 * if it has told of more ends than there were things; from the peer's thread then.
 */
void vgpu_control_settle(struct vgpu_peer *peer, bool idle);
/* Wait until the control messages up to @seq are applied, as far as @session sees them. */
int vgpu_control_wait(struct vgpu_lane *lane, u64 seq);

/* --- object.c ------------------------------------------------------------- */

struct vgpu_space {
	struct address_space *mapping;
	u64 id;
	u32 users;
	struct rb_root_cached extents;
};

/* Offsets of a space that a mapping shows; under peer->objects_lock. */
struct vgpu_extent {
	struct rb_node node;
	u64 subtree_last;
	const void *data;
	u64 first;
	u64 end;
	u32 bank;
	u32 users;
};

struct vgpu_poll_entry;

struct vgpu_poll {
	/* All but @woken, @node and @revents. */
	struct mutex lock;
	struct list_head entries;
	/* The driver's poll only looks, so whoever wants may call it. */
	bool looks;
	bool stay;
	bool failed;
	/* Of the last POLL or IOCTL call. */
	u32 number;
	/* What a wakeup is told of. Written under @lock. */
	__poll_t events;
	/* What wakeups were for, until @work runs. */
	atomic_t woken;
	struct work_struct work;
	/* Under peer->events_lock: in peer->events, and what to tell. */
	struct list_head node;
	__poll_t revents;
	u32 revents_number;
	bool revents_answer;
};

/* States of the file of an object that is closed. */
enum vgpu_leave_state {
	VGPU_LEAVE_USED,	/* calls use the object */
	VGPU_LEAVE_FREE,	/* to be closed */
	VGPU_LEAVE_SHARED,	/* closed, and others have it still */
};

struct vgpu_object {
	struct kref ref;
	struct rcu_head rcu;
	struct vgpu_peer *peer;
	struct file *file;
	/* The object's export; NULL: it is no device, and came from a device of @origin. */
	struct vgpu_grant *grant;
	struct vgpu_grant *origin;
	struct vgpu_space *space;
	u32 id;
	u32 kind;
	/* Number of its file in the tables of all lanes, from VGPU_LANE_FDS on; 0: any. */
	u32 fd;
	/* The thread that closes it frees the number, not the last reference. */
	bool fd_kept;
	/* Numbers of the guest's references, and the next one's, under peer->objects_lock. */
	struct xarray references;
	u32 next_reference;
	/* There are none any more, which calls that find the object see without the lock. */
	bool closed;
	/* Its driver gets no pages but those that come with a call. */
	bool no_demand;
	/* Its driver's ->flush was called, by whoever closed it. */
	bool flushed;
	/* Closed by this control message; in peer->closes. */
	u64 close_seq;
	struct list_head close_node;
	/* Its number in peer->leaving; 0: nobody waits for the release of its file. */
	u64 leave;
	struct list_head leave_node;
	enum vgpu_leave_state leave_state;
	/* Memory that a file of NVIDIA's driver maps, under peer->objects_lock; NULL: unknown. */
	struct vgpu_owned *owned;
	/* Files that it belongs to, under peer->tgids_lock; NULL: no call was made on it. */
	struct vgpu_family *family;
	struct list_head family_node;
	struct vgpu_poll poll;
	/* Events that were asked for on it, in turn and by number, under peer->events_lock. */
	struct list_head watched;
	struct rb_root events;
};

/*
 * An object for @file, new or the one that the guest has already, with one more
 * reference of the guest, number @reference. Takes over @file in either case.
 */
struct vgpu_object *vgpu_object_take(struct vgpu_peer *peer, struct file *file,
				     struct vgpu_grant *grant, struct vgpu_grant *origin,
				     u32 *reference);
/* The object that the guest calls @id, with a reference of ours, or NULL. */
struct vgpu_object *vgpu_object_find(struct vgpu_peer *peer, u32 id);
void vgpu_object_put(struct vgpu_object *object);
/*
 * The guest gives a reference back. Return: the object if it was the last, for
 * the caller to put; NULL if not; ERR_PTR(-EBADF) if the guest has none of that number.
 */
struct vgpu_object *vgpu_object_release(struct vgpu_peer *peer, u32 id, u32 reference);
/* The file of an object is released: the guest may have one more open. */
void vgpu_object_uncount(struct vgpu_peer *peer);
void vgpu_object_drop_all(struct vgpu_peer *peer);
/*
 * The guest has closed @object, and a lane's thread puts it, which comes to the file's release
 * later: that has the number meanwhile. Return: what is to be freed then; 0: nothing.
 */
u32 vgpu_object_keep_fd(struct vgpu_object *object);
/* Nobody knows a file by this number any more. 0: there is none. */
void vgpu_object_free_fd(struct vgpu_peer *peer, u32 fd);
void vgpu_object_describe(struct vgpu_object *object, u32 reference,
			  struct vgpu_object_desc *desc);
struct vgpu_space *vgpu_space_get(struct vgpu_peer *peer, struct address_space *mapping);
void vgpu_space_put(struct vgpu_peer *peer, struct vgpu_space *space);

/* --- flush.c -------------------------------------------------------------- */

/* A kernel thread waits until the returned time, in jiffies, for files closed from now on. */
unsigned long vgpu_object_flush_by(void);
/*
 * Nobody but the caller has the guest's last reference of @object, and it is about to put that. A
 * lane's thread waits for the driver, killably; a kernel's one idly, and until @by at most.
 */
void vgpu_object_flush(struct vgpu_object *object, unsigned long by);

/* --- leave.c -------------------------------------------------------------- */

void vgpu_leave_init(struct vgpu_peer *peer);
/* The guest has closed @object. Called with peer->objects_lock held. */
void vgpu_leave_begin(struct vgpu_peer *peer, struct vgpu_object *object);
/* Nobody uses such an object any more: its file is closed, then it is freed. */
void vgpu_leave_free(struct vgpu_object *object);
/* The number of the last object that was closed so. */
u64 vgpu_leave_last(struct vgpu_peer *peer);
/* The files of all objects up to number @leave are released. */
bool vgpu_leave_over(struct vgpu_peer *peer, u64 leave);
/*
 * The file of object @leave is released, or others have it, for whom a close does not wait.
 * peer->wait tells of it.
 */
bool vgpu_leave_settled(struct vgpu_peer *peer, u64 leave);
/* All objects are freed: put their files, whoever else has them. */
void vgpu_leave_all(struct vgpu_peer *peer);

/* --- extent.c ------------------------------------------------------------- */

/*
 * What @file is mapped at from @first on, with @data in the VMA. Return: NULL if the
 * offset alone tells which memory it is; ERR_PTR(-ENOMEM), ERR_PTR(-EOVERFLOW). The space
 * outlives it.
 */
struct vgpu_extent *vgpu_extent_add(struct vgpu_peer *peer, struct vgpu_space *space,
				    const struct file *file, const void *data, u64 first,
				    u64 len);
/* The offset that the guest is told. */
u64 vgpu_extent_offset(const struct vgpu_extent *extent, u64 offset);
struct vgpu_extent *vgpu_extent_get(struct vgpu_peer *peer, struct vgpu_extent *extent);
void vgpu_extent_put(struct vgpu_peer *peer, struct vgpu_space *space, struct vgpu_extent *extent);

/* --- poll.c --------------------------------------------------------------- */

/* Of an object that has its file and kind. */
void vgpu_poll_init(struct vgpu_object *object);
/* From now on the guest is told of a fence. Return: VGPU_OBJECT_WATCHED, _SIGNALED, or 0. */
u32 vgpu_poll_watch(struct vgpu_object *object);
void vgpu_poll_fini(struct vgpu_object *object);
/* Sends what became ready, from the peer's sender. */
int vgpu_poll_announce(struct vgpu_peer *peer);

/* --- event.c -------------------------------------------------------------- */

/* The guest's eventfd @number is @file here. Return: 0, -EMFILE, -ENOMEM. */
int vgpu_event_add(struct vgpu_object *object, u32 number, struct file *file);
/* The driver does not want it. */
void vgpu_event_cancel(struct vgpu_object *object, u32 number);
/*
 * An ioctl on @object is over, and its event, @number or 0, is the driver's: look at some events
 * on it whether a driver may signal them still.
 */
void vgpu_event_settle(struct vgpu_object *object, u32 number);
void vgpu_event_drop_all(struct vgpu_object *object);
/* Tells of those that were signalled, from the peer's sender. */
int vgpu_event_announce(struct vgpu_peer *peer);

/* --- window.c: see window.h for the rest ----------------------------------- */

int vgpu_window_init(void);
void vgpu_window_exit(void);
int vgpu_window_create(struct vgpu_host_window_create *args, struct vgpu_cmd *cmd);
int vgpu_window_destroy(const struct vgpu_host_window_destroy *args);
int vgpu_window_drain(const struct vgpu_host_window_drain *args);
int vgpu_window_stat(struct vgpu_host_window_stat *args);
/* @rdev is a window's. */
bool vgpu_window_is_device(dev_t rdev);

/* --- arena.c --------------------------------------------------------------- */

/* ARENA_GET. */
s64 vgpu_arena_get(struct vgpu_hcall *call);
/* The lane is over: what it has in the window is seen no more. */
void vgpu_arena_put(struct vgpu_lane *lane);
/*
 * As vgpu_conn_send(), but what follows vec[0], the fixed part, goes through the slot if
 * there is one and it suits.
 */
int vgpu_arena_send(struct vgpu_lane *lane, struct kvec *vec, size_t nr, size_t len,
		    unsigned int timeout_ms);
/* If bytes of the message are in a slot, the lane has one. */
bool vgpu_arena_may_recv(const struct vgpu_lane *lane, const struct vgpu_hdr *hdr);
/* Copy @len bytes, at @at of the slot, of a message whose header is checked. Once. */
void vgpu_arena_recv(struct vgpu_lane *lane, u32 at, void *buf, u32 len);

/* --- offer.c --------------------------------------------------------------- */

/* Tells of the window and of pages that were lost in it, from the peer's sender. */
int vgpu_offer_announce(struct vgpu_peer *peer);
/* Its window may be another: looks for it, which nothing else that is told to the guest does. */
void vgpu_offer_kick(struct vgpu_peer *peer);
/* UNBIND. */
int vgpu_offer_unbind(struct vgpu_peer *peer, const void *msg);
/* The peer is closing: nothing of it is seen in its window any more. */
void vgpu_offer_end(struct vgpu_peer *peer);
/* There is no sender any more. */
void vgpu_offer_drop(struct vgpu_peer *peer);

/* --- ram.c ----------------------------------------------------------------- */

/**
 * struct vgpu_ram_table - where the memory of a guest is; it never changes
 * @ref: of whoever reads it
 * @nr: number of entries of @parts
 * @parts: the parts, with a reference to each one's file
 */
struct vgpu_ram_table {
	struct kref ref;
	u32 nr;
	struct vgpu_ram parts[];
};

/* A file by which somebody tells of the peer's memory, once it is published. */
struct file *vgpu_ram_create(struct vgpu_peer *peer, u32 pieces);
void vgpu_ram_publish(struct vgpu_peer *peer, struct file *file);
/* The peer ends: nothing is known any more. */
void vgpu_ram_end(struct vgpu_peer *peer);
/* The parts that are known, with a reference, and the most pieces in one shadow; NULL: none. */
struct vgpu_ram_table *vgpu_ram_get(struct vgpu_peer *peer, u32 *pieces);
void vgpu_ram_put(struct vgpu_ram_table *table);

/* --- kept.c ----------------------------------------------------------------- */

void vgpu_kept_init(struct vgpu_peer *peer);
void vgpu_kept_fini(struct vgpu_peer *peer);
/* Makes a mapping of the shadow's file, at VGPU_KEPT_OFFSET, what session->kept_map says. */
int vgpu_kept_mmap(struct vgpu_session *session, struct vm_area_struct *vma);
/*
 * Puts the memory that the driver may keep where the program has it, with the key of the call's
 * room: where there are keys no other call finds it. Return: 0 or an errno.
 */
int vgpu_kept_show(struct vgpu_hcall *call);
/* The driver is through: takes away what the function above has put there, even in part. */
void vgpu_kept_hide(struct vgpu_hcall *call);
/*
 * The call is refused. Its guest has memory pinned for it all the same, and releases also what the
 * function above has not come to, which costs the guest no time.
 */
void vgpu_kept_refuse(struct vgpu_hcall *call);
/* RELEASE. */
int vgpu_kept_release(struct vgpu_peer *peer, const void *msg);
/* Answers to RELEASE that are due, from the peer's sender. */
int vgpu_kept_announce(struct vgpu_peer *peer);

/* --- session.c ------------------------------------------------------------ */

/* A page of the guest process; see demand.c. */
struct vgpu_page {
	struct page *page;
	u8 *orig;
	u64 addr;
	u64 seq;
	bool busy;
	bool dirty;
	struct vgpu_page *next;
};

struct vgpu_demand {
	/* Everything here, and all fields of the pages. */
	struct mutex lock;
	struct xarray pages;
	u32 nr_pages;
	u32 nr_dirty;
	struct vgpu_fresh fresh;
	bool mapped;
	/* Counts insertions while @mapped, and claims that ended. */
	u64 inserts;
	u64 claims;
	u32 gated;
	wait_queue_head_t wait;
};

struct vgpu_mapping {
	struct rb_node node;
	u64 addr;
	u64 len;
	struct file *file;
	/* The guest's own file of a card, where the module maps another: open as long; or NULL. */
	struct file *theirs;
	struct vgpu_space *space;
	struct vgpu_extent *extent;
	/* Shared by its parts; or NULL: not in a window. */
	struct vgpu_binding *binding;
};

struct vgpu_unmap_req {
	struct list_head node;
	u64 seq;
	u64 addr;
	u64 len;
};

/*
 * Memory that the driver of one call at a time can reach; see room.c. It stays zero beyond @used
 * bytes.
 */
struct vgpu_room {
	unsigned long addr;
	size_t used;
};

#define VGPU_ROOMS	13
/* So many of them any call may have; the others are for those that must be alone. */
#define VGPU_ROOMS_ANY	(VGPU_ROOMS - 4)
#define VGPU_ROOM_LEN	SZ_64K
/* Offset in the shadow's file of memory of rooms; those of demand pages are addresses, below. */
#define VGPU_ROOM_OFFSET BIT_ULL(62)
/* Offset of memory that drivers keep, which has a key of a room; see kept.c. */
#define VGPU_KEPT_OFFSET (VGPU_ROOM_OFFSET + BIT_ULL(61))

struct vgpu_rooms {
	struct vgpu_room room[VGPU_ROOMS];
	unsigned long busy;
	wait_queue_head_t wait;
};

/*
 * The piece of memory that @task, a lane's thread, is mapping: under the session's map_lock, which
 * it holds. NULL: nobody is.
 */
struct vgpu_kept_map {
	struct task_struct *task;
	struct file *file;
	u64 offset;
	unsigned int key;
};

struct vgpu_session {
	struct kref ref;
	struct vgpu_peer *peer;
	struct list_head node;
	u64 number;
	bool ending;
	struct inode *inode;
	struct vgpu_agent_event *gone;
	struct vgpu_agent_event *closed;
	/* The number of its process, until its shadow's file is closed. */
	struct vgpu_tgid *tgid;
	/* The guest has closed it: it ends when its lanes have, or then. */
	bool closing;
	unsigned long close_by;
	struct delayed_work close_work;

	/* The shadow, from its first mmap() or lane on. */
	spinlock_t bind_lock;
	struct mm_struct *mm;
	struct pid *pid;

	/* The list of lanes. */
	struct mutex lock;
	struct list_head lanes;
	u32 nr_lanes;
	/* struct task_struct * -> its lane, while it serves */
	struct xarray tasks;
	/* Numbers of objects that are files of NVIDIA's cards, and of which; card.c. */
	struct xarray cards;
	atomic_t nr_cards;
	/* Bytes of messages and replies in memory. */
	atomic_long_t budget;
	/* Lanes that have a slot of the window. */
	atomic_t nr_slots;

	/* Mappings, and the order of what changes the shadow's mm. */
	struct mutex map_lock;
	struct rb_root mappings;
	u32 nr_mappings;
	/* Mappings of the guest's memory, of running calls. */
	u32 nr_pieces;

	/* Unmaps of the guest that are to be applied. */
	spinlock_t unmaps_lock;
	struct list_head unmaps;
	u32 nr_unmaps;
	wait_queue_head_t service_wait;

	struct vgpu_demand demand;
	struct vgpu_rooms rooms;
	struct vgpu_kept_map kept_map;
};

struct file *vgpu_session_create(struct vgpu_peer *peer, u64 number);
void vgpu_session_get(struct vgpu_session *session);
void vgpu_session_put(struct vgpu_session *session);
/* With a reference, or NULL. */
struct vgpu_session *vgpu_session_find(struct vgpu_peer *peer, u64 number);
/* Ends lanes and service and kills the shadow. */
void vgpu_session_end(struct vgpu_session *session);
/* The guest says that the process is gone: ends the session, soon. */
void vgpu_session_close_later(struct vgpu_session *session);
/* Last reference to the shadow's file is gone. */
void vgpu_session_close(struct vgpu_session *session);
/* The session's shadow is current. Return: 0, or -EINVAL in another process, -ESHUTDOWN. */
int vgpu_session_bind(struct vgpu_session *session);
/* Account @len bytes of messages. Return: they fit. */
bool vgpu_session_charge(struct vgpu_session *session, u32 len);
void vgpu_session_uncharge(struct vgpu_session *session, u32 len);

/* --- tgid.c --------------------------------------------------------------- */

/**
 * struct vgpu_family - files of NVIDIA's driver, and processes that it may know by any of them
 * @objects: the files, which are not released yet
 * @tgids: the processes
 *
 * Under the peer's tgids_lock.
 */
struct vgpu_family {
	struct list_head objects;
	struct list_head tgids;
};

/**
 * struct vgpu_tgid - the number of a shadow's process
 * @node: in its family's list
 * @peer: the guest
 * @session: number of the session, as the guest chose it
 * @ended: the shadow's file is closed
 * @family: files that it has used, and those that belong to them; NULL: none
 * @own: memory for the family that its first call makes
 * @event: what the agent is told at the end; NULL: it was
 *
 * @node, @ended, @family and @own are under the peer's tgids_lock.
 */
struct vgpu_tgid {
	struct list_head node;
	struct vgpu_peer *peer;
	u64 session;
	bool ended;
	struct vgpu_family *family;
	struct vgpu_family own;
	struct vgpu_agent_event *event;
};

/**
 * vgpu_tgid_new - prepare for the process of a session
 * @peer: the guest, which outlives the session and its objects
 * @session: number of the session
 *
 * Return: the number of a process that is yet to come; NULL: no memory.
 */
struct vgpu_tgid *vgpu_tgid_new(struct vgpu_peer *peer, u64 session);
/* Frees it, of which the agent is not told. NULL: nothing. */
void vgpu_tgid_free(struct vgpu_tgid *tgid);
/* The shadow's file is closed. The agent is told when the process may be reaped. */
void vgpu_tgid_end(struct vgpu_tgid *tgid);
/* The process, which has not ended, makes a call on @object, or names it in one. */
void vgpu_tgid_use(struct vgpu_tgid *tgid, struct vgpu_object *object);
/* The file of @object is released. */
void vgpu_tgid_released(struct vgpu_object *object);

/* --- shadow.c ------------------------------------------------------------- */

struct file *vgpu_shadow_file(struct vgpu_session *session);

/* --- call.c --------------------------------------------------------------- */

#define VGPU_SEGS_SMALL		16

/* NVIDIA's driver knows no more cards. */
#define VGPU_CARDS_MAX		32

/* An fd of a lane's thread. */
struct vgpu_fd {
	int fd;
	bool cloexec;
	struct file *file;
	/* The object of a file that was placed for the call, which uses it, or NULL. */
	struct vgpu_object *object;
};

/**
 * struct vgpu_hcall - a call on its way through the host
 * @lane: that it came by
 * @op: its row of the table
 * @msg: the CALL, private and checked
 * @msg_len: its length; charged to the session if @msg is not the lane's buffer
 * @clock_in: CLOCK_MONOTONIC in nanoseconds when its header had come
 * @tsc_in: the time-stamp counter then; 0: there is none
 * @view: its parts
 * @object: that it names, or NULL
 * @result: of the driver, or an errno
 * @flags: VGPU_REPLY_*
 * @pos: file position afterwards
 * @out: goes into the reply
 * @nr_objects: given to the guest with the reply
 * @objects: their descriptions
 * @data: bytes of the reply; charged if not the lane's buffer
 * @data_len: how many
 * @data_size: room in @data
 * @room: for the arguments; NULL: it has its lane's memory, if any
 * @room_stuck: memory that has the room's key could not be taken away, and the session ends: no
 *	other call gets the room
 * @reach: rights that the thread had before
 * @scratch: memory of the shadow for the arguments
 * @scratch_len: bytes
 * @scratch_mapped: made for this call alone
 * @scratch_low: in the place of demand pages
 * @segs: where each segment is
 * @segs_small: enough for most calls
 * @nr_kept: segments of memory that is kept which are in their places
 * @nr_pieces: mappings that these are
 * @placed: the fd of each FD_IN or EVENT fixup, while they are in the table
 * @arg_fd: likewise the fd that is the argument
 * @cards: files of NVIDIA's cards in the table while the driver runs
 * @nr_cards: how many of @cards are there
 * @owned_client: of an MMAP: handle of the client of RM that has what is mapped, or 0
 * @event: of the EVENT fixup, or 0
 * @closed_fd: number that a file has which the call has closed, or 0
 * @left: what the driver left in the table
 * @nr_left: entries of it
 * @done: ran; its reply is due
 */
struct vgpu_hcall {
	struct vgpu_lane *lane;
	const struct vgpu_call_op *op;
	void *msg;
	u32 msg_len;
	u64 clock_in;
	u64 tsc_in;
	struct vgpu_call_view view;
	struct vgpu_object *object;
	s64 result;
	u32 flags;
	u64 pos;
	union {
		struct vgpu_out_ioctl ioctl;
		struct vgpu_out_mmap mmap;
		struct vgpu_out_poll poll;
		struct vgpu_out_bind bind;
		struct vgpu_out_arena arena;
		__le64 raw[4];
	} out;
	u32 nr_objects;
	struct vgpu_object_desc objects[VGPU_FDS_MAX];
	u8 *data;
	u32 data_len;
	u32 data_size;
	struct vgpu_room *room;
	bool room_stuck;
	u32 reach;
	unsigned long scratch;
	size_t scratch_len;
	bool scratch_mapped;
	bool scratch_low;
	struct vgpu_seg_place *segs;
	struct vgpu_seg_place segs_small[VGPU_SEGS_SMALL];
	u32 nr_kept;
	u32 nr_pieces;
	struct vgpu_fd *placed;
	struct vgpu_fd arg_fd;
	struct vgpu_fd cards[VGPU_CARDS_MAX];
	u32 nr_cards;
	u32 owned_client;
	u32 event;
	u32 closed_fd;
	struct vgpu_fd left[VGPU_FDS_MAX];
	u32 nr_left;
	bool done;
};

struct vgpu_call_op {
	s64 (*run)(struct vgpu_hcall *call);
	bool mm;	/* class mm: never upcalls */
	bool leave;	/* return to user mode before the reply */
};

/* --- room.c: what drivers can reach of a shadow's own memory --------------- */

void vgpu_rooms_init(struct vgpu_rooms *rooms);
/* Makes a private mapping of the shadow's file, whose offset says which key it gets. */
int vgpu_room_mmap(struct vm_area_struct *vma);
/*
 * The thread reaches memory of the guest process only, from _begin to _end, and from _take on that
 * which the call's arguments are put into. Those for NVIDIA's driver, and memory that drivers keep,
 * have to be this call's alone, for which others may have to end. Return: 0, -EINTR, -EBUSY (they
 * did not), -ENOMEM.
 */
void vgpu_room_begin(struct vgpu_hcall *call);
int vgpu_room_take(struct vgpu_hcall *call);
void vgpu_room_end(struct vgpu_hcall *call);
/* The key of memory that the call's driver can reach. */
unsigned int vgpu_room_key(const struct vgpu_hcall *call);
/*
 * Arguments for NVIDIA's driver are looked at in their place, and must stay so for the driver.
 * Memory that a driver keeps is for that of the call alone.
 */
bool vgpu_room_must_be_alone(const struct vgpu_hcall *call);
/*
 * Maps zeroed memory that the call's driver can reach: at @addr with MAP_FIXED in @flags, with
 * map_lock held; or in the reserved range. Return: the address or a negative errno.
 */
unsigned long vgpu_room_map(struct vgpu_hcall *call, unsigned long addr, size_t len,
			    unsigned long flags);
unsigned long vgpu_room_map_reserved(struct vgpu_hcall *call, size_t len);

/* Runs the CALL in call->msg. Return: 0, or -EPROTO for a malformed one. */
int vgpu_call_run(struct vgpu_hcall *call);
int vgpu_call_send_reply(struct vgpu_hcall *call);
/* Frees what the call holds, once its reply is sent or can't be. */
void vgpu_call_finish(struct vgpu_hcall *call);
/* The host refuses: returns @error. */
s64 vgpu_call_refuse(struct vgpu_hcall *call, int error);
/* Room for @len bytes in call->data. */
int vgpu_call_alloc_data(struct vgpu_hcall *call, u32 len);
/* @len zeroed bytes of the shadow's memory at call->scratch. */
int vgpu_call_alloc_scratch(struct vgpu_hcall *call, size_t len);
/* Likewise at @addr, below 4 GiB, where the guest has made room. */
int vgpu_call_map_low(struct vgpu_hcall *call, u64 addr, size_t len);
u16 vgpu_call_nr(const struct vgpu_hcall *call);
/* The call in call->msg could not even be received whole. */
void vgpu_call_reject(struct vgpu_hcall *call, int error);
/* The guest will not get the objects of the reply. */
void vgpu_call_take_back(struct vgpu_hcall *call);

static inline u32 vgpu_seg_len(const struct vgpu_hcall *call, u32 i)
{
	return vgpu_view_seg_len(&call->view, i);
}

static inline bool vgpu_seg_is(const struct vgpu_hcall *call, u32 i, u32 flag)
{
	return vgpu_view_seg_is(&call->view, i, flag);
}

/* --- fops.c, ioctl.c, poll.c, mapping.c: one function an operation -------- */

s64 vgpu_fops_open(struct vgpu_hcall *call);
s64 vgpu_fops_close(struct vgpu_hcall *call);
s64 vgpu_fops_read(struct vgpu_hcall *call);
s64 vgpu_fops_write(struct vgpu_hcall *call);
s64 vgpu_fops_llseek(struct vgpu_hcall *call);
s64 vgpu_fops_fdinfo(struct vgpu_hcall *call);
/* The guest may ask for what the file's driver adds to /proc/PID/fdinfo. */
bool vgpu_fops_has_fdinfo(const struct vgpu_object *object);
s64 vgpu_ioctl_run(struct vgpu_hcall *call);
s64 vgpu_poll_run(struct vgpu_hcall *call);
/* An ioctl is over: tells what the object is ready for, if the guest wants to hear of it. */
void vgpu_poll_after(struct vgpu_hcall *call, u32 number);
s64 vgpu_mapping_mmap(struct vgpu_hcall *call);
s64 vgpu_mapping_bind(struct vgpu_hcall *call);
s64 vgpu_mapping_protect(struct vgpu_hcall *call);
s64 vgpu_mapping_read_pages(struct vgpu_hcall *call);
s64 vgpu_mapping_write_pages(struct vgpu_hcall *call);

/* Apply queued unmaps up to control message @seq (all: U64_MAX) in the shadow that is current. */
int vgpu_mapping_apply_unmaps(struct vgpu_session *session, struct file *shadow, u64 seq);
/* Some of them are still to be applied. */
bool vgpu_mapping_unmaps_due(struct vgpu_session *session, u64 seq);
int vgpu_mapping_queue_unmap(struct vgpu_session *session, u64 seq, u64 addr, u64 len);
/*
 * Zeroed memory at [addr, addr + len) of the shadow, in the place of demand pages,
 * and back. Return: 0; -EINVAL: there is something else; -ENOMEM, -EINTR.
 */
int vgpu_mapping_place(struct vgpu_hcall *call, u64 addr, u64 len);
void vgpu_mapping_displace(struct vgpu_lane *lane, u64 addr, u64 len);
/* [addr, end) holds nothing but demand pages. map_lock is held. */
bool vgpu_mapping_vacant_locked(struct vgpu_session *session, u64 addr, u64 end);
void vgpu_mapping_drop_all(struct vgpu_session *session);
/* Forget them, when nobody finds the session any more. */
void vgpu_mapping_drop_unmaps(struct vgpu_session *session);

/* --- fixup.c -------------------------------------------------------------- */

/* Put pointers and fds into the placed segments. */
int vgpu_fixup_apply(struct vgpu_hcall *call);
/* Put an fd of object @id, the ioctl's argument, into the table. Return: it, or -errno. */
int vgpu_fixup_arg_fd(struct vgpu_hcall *call, u32 id);
/* Make them the guest's own again in the gathered reply. */
void vgpu_fixup_undo_all(struct vgpu_hcall *call);
/* Take out of the fd table what these two put there, even in part. */
void vgpu_fixup_remove_fds(struct vgpu_hcall *call);
/* The call failed: its event is no more. */
void vgpu_fixup_cancel_event(struct vgpu_hcall *call);
/*
 * What is left in the fd table came from the driver: becomes objects of the
 * reply, or is closed. Return: the result of the call.
 */
s64 vgpu_fixup_settle_fds(struct vgpu_hcall *call, s64 result);

/* --- fdtable.c ------------------------------------------------------------ */

/* current's table is its own and holds nothing but @lane. */
bool vgpu_fdtable_is_private(struct file *lane);
int vgpu_fdtable_install(struct file *file);
/*
 * Serves one call. Takes the reference of @object over, and puts its file at the number that the
 * object has, if it has one. Return: the fd, or -errno.
 */
int vgpu_fdtable_place(struct vgpu_object *object, struct vgpu_fd *placed);
/* The number may be none of an object. */
void vgpu_fdtable_remove(struct vgpu_fd *placed);
/*
 * Take everything but @lane out of the table; @fds gets the first @max of them,
 * with a reference each. Return: how many there were.
 */
unsigned int vgpu_fdtable_take(struct file *lane, struct vgpu_fd *fds, unsigned int max);

/* --- card.c: files that NVIDIA's driver looks for ------------------------- */

/* @object is of an export of that driver. */
bool vgpu_card_is_nvidia(const struct vgpu_object *object);
/* The number of the card that @object is a file of, or -1. */
int vgpu_card_of(const struct vgpu_object *object);
/* The session's process has @object open. Return: 0 or -ENOMEM. */
int vgpu_card_add(struct vgpu_session *session, const struct vgpu_object *object);
/* The session's process has closed object @id, which may be any. */
void vgpu_card_forget(struct vgpu_session *session, u32 id);
/* One file of each card that it has open, in the table of @call's thread. Return: 0 or -errno. */
int vgpu_card_place(struct vgpu_hcall *call);
void vgpu_card_remove(struct vgpu_hcall *call);

/* --- owned.c: memory of NVIDIA's driver that shadows map ------------------- */

/* NVIDIA's driver has done @cmd, with the argument at @arg: it may be what a file maps now. */
void vgpu_owned_learn(struct vgpu_hcall *call, u32 cmd, unsigned long arg);
/*
 * A MMAP of a card or of nvidiactl is to map a file of the module's own, which keeps the memory,
 * and any other one the guest's. Return: that file, with a reference, or an ERR_PTR().
 */
struct file *vgpu_owned_file(struct vgpu_hcall *call);
/* @file, which vgpu_owned_file() has returned, is mapped, or will not be. */
void vgpu_owned_done(struct vgpu_hcall *call, struct file *file);
/* @object is being freed. */
void vgpu_owned_forget(struct vgpu_object *object);

/* --- lane.c --------------------------------------------------------------- */

#define VGPU_LANE_BUF		SZ_16K
#define VGPU_LANE_SCRATCH_MIN	SZ_64K

struct vgpu_lane {
	struct vgpu_session *session;
	struct list_head node;
	struct file *file;
	struct file *shadow;
	struct vgpu_conn conn;
	struct task_struct *task;
	bool ready;
	/* An eventfd for the next call that wants one; NULL: to be brought. */
	struct file *event;
	u64 seq;
	/* Objects of the last reply that the guest has yet to acknowledge. */
	bool unacked;
	/* The guest has cancelled call @seq. */
	bool cancelled;
	/* The last call was a CLOSE, which the guest may repeat by a message. */
	bool closes;
	/* An upcall was not answered in time: the call's reply is the last message. */
	bool last;
	/* For bytes of long messages, or NULL; only its thread uses it. */
	struct vgpu_slot *slot;
	/* Bytes already counted. */
	u64 rx_counted;
	u64 tx_counted;
	u8 *buf;
	u8 *reply_buf;
	unsigned long scratch;
	size_t scratch_len;
	/* Beyond this all of the scratch memory is zero. */
	size_t scratch_used;
	/* The shadow's memory has protection keys. */
	bool keys;
	unsigned int room_last;
	struct vgpu_hcall call;

	/* Fetches of the running call; only its thread looks at them. */
	u64 fault_addr;
	bool fault_failed;
	u64 fetch_addr;
	bool gating;
	/* Where a driver that reads on would fault next, and how much it then gets. */
	struct vgpu_ahead ahead;
	/* It needed more pages or time than it may have, or any: an errno. */
	int limited;
	/* A driver waits for upcalls, and for how long it has, in nanoseconds. */
	bool driving;
	u64 upcall_ns;
	/* Time that drivers had waited for the guest when the call began; its lane writes it. */
	u64 guest_call;

	/* What a cancel may do. */
	spinlock_t lock;
	bool running;
	bool upcalling;
	bool signalled;
};

int vgpu_lane_create(struct vgpu_session *session, struct file *shadow, int sock_fd,
		     struct file **file);
/* The lane of @session that runs on current, if its call may upcall. */
struct vgpu_lane *vgpu_lane_current(struct vgpu_session *session);
/* The lane's call has given a reference back. */
void vgpu_lane_closes(struct vgpu_lane *lane);
/**
 * vgpu_lane_upcall - ask the guest something in the middle of a call
 * @lane: whose call is running on current
 * @vec: the request, header first
 * @nr: entries
 * @len: bytes together
 * @type: of the answer
 * @answer: its fixed part; seq and type are right, the rest is checked
 * @answer_len: length of that
 * @data: what follows it unless it is an error
 * @nr_data: entries
 *
 * Return: 0; -EFAULT when the lane is over (deadline, death, nonsense); -ENOBUFS
 * when the call or the guest has used up its time for upcalls.
 */
int vgpu_lane_upcall(struct vgpu_lane *lane, struct kvec *vec, size_t nr, size_t len, u16 type,
		     void *answer, u32 answer_len, const struct kvec *data, unsigned int nr_data);

/* --- demand.c ------------------------------------------------------------- */

extern const struct vm_operations_struct vgpu_demand_vm_ops;

int vgpu_demand_mmap(struct vgpu_session *session, struct vm_area_struct *vma);
/* A call starts. Return: 0 or -EINTR. */
int vgpu_demand_begin(struct vgpu_lane *lane);
/* Its driver is done: send what it wrote. Return: 0, -ENOBUFS (a limit), or another errno. */
int vgpu_demand_end(struct vgpu_lane *lane);
/*
 * mmap() of the shadow's file over [addr, addr + len) and its demand neighbours.
 * map_lock is held.
 */
int vgpu_demand_cover(struct vgpu_session *session, struct file *shadow, u64 addr, u64 len);
static inline bool vgpu_demand_vma(const struct vgpu_session *session,
				   const struct vm_area_struct *vma)
{
	return vma->vm_ops == &vgpu_demand_vm_ops && vma->vm_private_data == session;
}

/* --- page.c --------------------------------------------------------------- */

void vgpu_page_init(struct vgpu_demand *demand);
/* No lane and no VMA is left. */
void vgpu_page_fini(struct vgpu_session *session);
/* May be mapped: fresh for every running call, and nobody works on it. */
bool vgpu_page_usable(const struct vgpu_demand *demand, const struct vgpu_page *page);
/* A new page, claimed, or an error: -ENOBUFS at the limit. */
struct vgpu_page *vgpu_page_add_locked(struct vgpu_session *session, u64 addr);
void vgpu_page_unclaim_locked(struct vgpu_demand *demand, struct vgpu_page *page);
/* What was written to it is in the guest, or of no interest any more. */
void vgpu_page_clean_locked(struct vgpu_demand *demand, struct vgpu_page *page);
/*
 * Wait until claims ended since there were @claims, with a deadline. Return: 0, -EINTR, -ENOBUFS
 * (a driver would wait, and the guest's time is used up).
 */
int vgpu_page_wait_claims(struct vgpu_lane *lane, u64 claims);
void vgpu_page_zap(struct vgpu_session *session, u64 addr, u64 len);
void vgpu_page_zap_all(struct vgpu_session *session);
/* A page that came with the call. */
void vgpu_page_store(struct vgpu_lane *lane, u64 addr, const void *data);
/* A call is over: free what no running call may use any more. */
void vgpu_page_expire(struct vgpu_session *session);

/* --- fetch.c -------------------------------------------------------------- */

/*
 * Makes the page at @addr usable, if it can, and perhaps some up to @end. Called
 * without the mmap lock. Return: 0: look again; else the address is bad.
 */
int vgpu_fetch_page(struct vgpu_session *session, struct vgpu_lane *lane, u64 addr, u64 end);

/* --- writeback.c ---------------------------------------------------------- */

/* Sends all that is dirty. */
int vgpu_writeback_all(struct vgpu_lane *lane);
/* Sends one page, claimed by the caller, and ends the claim. */
int vgpu_writeback_page(struct vgpu_lane *lane, struct vgpu_page *page);

#endif /* VGPU_HOST_H */
