/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Host module: its structs, and the functions that each of its files offers.
 *
 * Lifetimes: a session holds its peer, and a peer the agent. A lane holds its session by the
 * file of the shadow, which the lane's file holds: so a session outlives its last lane. Objects
 * belong to a peer; a running call holds references of the objects that it uses.
 *
 * Lock order, outermost first:
 *
 *   agent_mutex		pointer to the one agent, agent.c
 *   agent->lock		exports, peers
 *   agent->guests_lock		guests that are remembered
 *   peer->lock			grants, sessions, pointer to struct vgpu_memory
 *   memory->lock		table of the guest's memory, ram.c
 *   session->lock		list of lanes
 *   session->map_lock		mappings; order of changes to the shadow's mm
 *   (mmap_lock of the shadow)
 *   demand->lock		pages; taken in faults, so never held over a copy to
 *				or from user memory
 *   peer->objects_lock		object, file and space tables, memory that devices keep
 *   poll->lock			wait entries on a driver's queues, held over its ->poll()
 *   session->unmaps_lock, peer->closes_lock, peer->leave_lock, peer->unbinds_lock,
 *   peer->tgids_lock, agent->events_lock
 *				spinlocks, never two at a time
 *   peer->events_lock		spinlock, taken where drivers signal
 *   guest->lock		spinlock, waiting time that a guest has left
 *   lane->lock			spinlock, innermost, taken in socket callbacks
 *
 * peer->tx_lock serializes senders of the control connection. A sender holds it over a send
 * with a deadline and takes no lock inside it. Of all other locks only map_lock, the mmap lock
 * and poll->lock are held over a send, a receive or a function of a driver.
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
#include "nvidia_rm.h"
#include "patience.h"
#include "policy.h"
#include "segs.h"
#include "wire.h"

struct vgpu_binding;
struct vgpu_call_op;
struct vgpu_export;
struct vgpu_hcall;
struct vgpu_lane;
struct vgpu_memory;
struct vgpu_peer;
struct vgpu_session;
struct vgpu_window;

/*
 * Deadline for a message's header once the first byte is there, and again for each further part
 * that is received. The connection ends if a deadline passes.
 */
#define VGPU_MSG_TIMEOUT_MS	10000

/* --- work.c --------------------------------------------------------------- */

/* Deferred work of all peers that does not wait for guests or drivers: poll, ends of sessions. */
extern struct workqueue_struct *vgpu_host_wq;
/* Deferred work that may wait for a guest that does not read, or for a driver's ->release. */
extern struct workqueue_struct *vgpu_host_patient_wq;

int vgpu_work_init(void);
void vgpu_work_exit(void);

/* --- cmd.c: control ioctls ------------------------------------------------ */

/**
 * struct vgpu_cmd - one ioctl of /dev/vgpu-host or of a file made by it
 * @arg: private copy of the caller's struct, @size bytes long
 * @user: address of the caller's struct
 * @user_size: length of the caller's struct in bytes, as the caller says
 * @size: length in bytes of the struct that struct vgpu_cmd_op asks for
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
/* Copy the outputs to the caller, before anything is published that could not be undone. */
int vgpu_cmd_respond(struct vgpu_cmd *cmd);

/* --- agent.c -------------------------------------------------------------- */

/* Event on its way to the agent. Its memory is allocated before the event happens. */
struct vgpu_agent_event {
	struct list_head node;
	struct vgpu_host_event event;
};

struct vgpu_agent {
	struct kref ref;
	/* Number of the device file that the agent has open. */
	dev_t rdev;
	u64 reserved_base;
	u64 reserved_size;
	u32 fetch_timeout_ms;
	u32 ping_timeout_ms;
	u32 patience_ms;

	/* Mutex that protects exports and peers. */
	struct mutex lock;
	struct list_head exports;
	u32 last_export;
	struct xarray peers;
	u32 next_peer;

	/* Mutex that protects the list of guests that are remembered. */
	struct mutex guests_lock;
	struct list_head guests;

	/* Events that read() of the agent's file returns. */
	spinlock_t events_lock;
	struct list_head events;
	wait_queue_head_t events_wait;
};

void vgpu_agent_get(struct vgpu_agent *agent);
void vgpu_agent_put(struct vgpu_agent *agent);
/*
 * Make @agent the current agent, and the private data of @file, which holds the caller's
 * reference from then on. Return: 0; -EBUSY: there is an agent, or @file has become one.
 */
int vgpu_agent_publish(struct vgpu_agent *agent, struct file *file);
/* Make place for another agent: the current one, whose file is released, is found no more. */
void vgpu_agent_withdraw(void);
/* Queue @event for the reader of the agent's file. */
void vgpu_agent_notify(struct vgpu_agent *agent, struct vgpu_agent_event *event, u32 type,
		       u32 peer, u64 session);
/* Have the peer of guest (@cid, @port), if it is connected, look for changes of its window. */
void vgpu_agent_kick_peer(u32 cid, u32 port);
/* Free the number of @peer, which is gone. */
void vgpu_agent_forget_peer(struct vgpu_agent *agent, struct vgpu_peer *peer);
/* Find an export by its number. Context: agent->lock is held. Return: the export, or NULL. */
struct vgpu_export *vgpu_agent_find_export(struct vgpu_agent *agent, u32 id);
bool vgpu_agent_in_reserved(const struct vgpu_agent *agent, u64 addr, u64 len);

/* --- agent_file.c ---------------------------------------------------------- */

int vgpu_agent_init(void);
void vgpu_agent_exit(void);

/* --- guest.c --------------------------------------------------------------- */

/**
 * struct vgpu_guest - what the host remembers of a guest beyond a connection
 * @node: list entry in agent->guests; protected by agent->guests_lock
 * @cid: context id of the guest
 * @port: port of the host to which the guest connects
 * @peers: number of the guest's connections; protected by agent->guests_lock
 * @lock: spinlock that protects @patience
 * @patience: budget of time that drivers may wait for the guest's answers
 */
struct vgpu_guest {
	struct list_head node;
	u32 cid;
	u32 port;
	unsigned int peers;
	/* Lanes whose drivers wait hold this lock for short times. */
	spinlock_t lock;
	struct vgpu_patience patience;
};

/**
 * struct vgpu_guest_wait - one wait of a driver for the guest
 * @patience: state between vgpu_patience_begin() and vgpu_patience_end()
 * @start: time at which the wait began, in nanoseconds of CLOCK_MONOTONIC
 */
struct vgpu_guest_wait {
	struct vgpu_patience_wait patience;
	u64 start;
};

/* Find or make the guest and count one more connection. Return: NULL if there is no memory. */
struct vgpu_guest *vgpu_guest_get(struct vgpu_agent *agent, u32 cid, u32 port);
void vgpu_guest_put(struct vgpu_agent *agent, struct vgpu_guest *guest);
void vgpu_guests_fini(struct vgpu_agent *agent);
/* Note that a call begins. Return: value for the @call of vgpu_guest_wait_begin(). */
u64 vgpu_guest_call(struct vgpu_guest *guest);
/*
 * Begin a wait of the call's driver for an answer of the guest.
 * Return: milliseconds that it may last; 0: the driver may not wait.
 */
unsigned int vgpu_guest_wait_begin(struct vgpu_guest *guest, u64 call,
				   struct vgpu_guest_wait *wait);
/* End a wait of the call's driver. Return: true if this wait used up the guest's time. */
bool vgpu_guest_wait_end(struct vgpu_guest *guest, const struct vgpu_guest_wait *wait);
void vgpu_guest_stat(struct vgpu_guest *guest, struct vgpu_host_peer_stat *stat);

/* --- grant.c -------------------------------------------------------------- */

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
	/*
	 * True if the process that offered the export has CAP_SYS_ADMIN. Only then can the export
	 * lend this capability to a guest's call (ioctl_lends_admin()).
	 */
	bool admin;

	/* Mutex that protects the fields below; taken inside peer->lock. */
	struct mutex files_lock;
	/* List of struct vgpu_host_file, sorted by version. */
	struct list_head files;
	u64 files_version;
};

/* Uevents of an export that a guest is not notified of yet; @flags 0: none. */
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
	/* Uevents since the last EXPORT_CHANGE; protected by peer->lock. */
	struct vgpu_change change;
	/* Version of the newest file that was sent to the peer; protected by peer->lock. */
	u64 files_sent;
	/* List of ioctls that @policy points to. */
	u32 ioctls[];
};

void vgpu_export_get(struct vgpu_export *export);
void vgpu_export_put(struct vgpu_export *export);

/*
 * Find the grant with number @id, unless it is revoked.
 * Return: the grant with a reference, or NULL.
 */
struct vgpu_grant *vgpu_grant_find(struct vgpu_peer *peer, u32 id);
void vgpu_grant_get(struct vgpu_grant *grant);
void vgpu_grant_put(struct vgpu_grant *grant);
struct file *vgpu_grant_open(struct vgpu_grant *grant, u32 flags);

/* --- export.c ------------------------------------------------------------- */

/* The caller of the next two functions holds agent->lock. */
int vgpu_export_add(struct vgpu_agent *agent, const struct vgpu_host_export_add *args);
int vgpu_export_del(struct vgpu_agent *agent, u32 id);
/* Queue a uevent for all peers that have a grant for the export. Context: agent->lock is held. */
int vgpu_export_change(struct vgpu_agent *agent, const struct vgpu_host_export_change *args);

/* --- file.c: files of exports --------------------------------------------- */

int vgpu_file_set(struct vgpu_agent *agent, const struct vgpu_host_export_file *args);
/* Send the files that have changed to the peer. Return: 0, or an error of the connection. */
int vgpu_file_announce(struct vgpu_peer *peer);
void vgpu_file_drop_all(struct vgpu_export *export);

/* --- export.c, again ------------------------------------------------------ */

int vgpu_grant_add(struct vgpu_peer *peer, struct vgpu_export *export,
		   const struct vgpu_host_grant *args);
int vgpu_grant_revoke(struct vgpu_peer *peer, const struct vgpu_export *export);
/*
 * Notify the guest of new and revoked grants, and of changed files and uevents of its exports.
 * Context: the peer's sender.
 * Return: 0 or an error of the connection.
 */
int vgpu_grant_announce(struct vgpu_peer *peer);
void vgpu_grant_drop_all(struct vgpu_peer *peer);

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

/* Number of UNBIND messages of a guest that are remembered; older ones are forgotten. */
#define VGPU_PEER_UNBINDS	1024

/* Range of a window that a guest has given back by UNBIND. */
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
	/*
	 * Time in jiffies at which the next idle message (vgpu_control_settle()) is due at the
	 * peer's rate; accessed by the peer's thread only.
	 */
	unsigned long idle_until;
	/* Number of reports that the guest may still make without delay, see vgpu_control_due(). */
	atomic_t dues;
	/* Mutex that serializes senders. */
	struct mutex tx_lock;
	struct work_struct tx_work;

	/* Mutex that protects grants and sessions. */
	struct mutex lock;
	bool closing;
	struct list_head grants;
	u32 last_grant;
	struct list_head sessions;
	u32 nr_sessions;
	/* Source of the guest's memory layout (ram.c), or NULL. */
	struct vgpu_memory *memory;

	/* Mutex that protects the tables of objects and spaces. */
	struct mutex objects_lock;
	struct xarray objects;
	struct xarray files;
	struct xarray spaces;
	/* Numbers in the fd tables of lanes, for objects that have a fixed one. */
	struct ida fds;
	/*
	 * Number of objects, including closed ones whose files are not released yet; protected
	 * by objects_lock.
	 */
	u32 nr_objects;
	/* Number of the guest's references beyond the first one to each object. */
	u32 nr_repeated;
	u32 next_object;
	u64 last_space;
	/*
	 * Memory that devices keep, by the guest's numbers, and list of RELEASEs not answered
	 * yet.
	 */
	struct rb_root kepts;
	struct list_head releases;
	u32 nr_kepts;
	u32 nr_releases;
	u64 kept_bytes;

	/* Closed objects whose release is waited for, in the order of the closes; leave.c. */
	spinlock_t leave_lock;
	struct list_head leaving;
	u64 last_leave;
	struct delayed_work leave_work;
	unsigned long leave_delay;
	/* True if the peer ends: files are put even if others hold them. */
	bool leave_now;

	/* Spinlock that protects families of processes and files of NVIDIA's driver; tgid.c. */
	spinlock_t tgids_lock;

	/* Objects whose last reference was given back by a CLOSE message, in order. */
	spinlock_t closes_lock;
	struct list_head closes;
	u64 closing_seq;
	struct work_struct close_work;
	/* Number of the last sequenced control message that was taken in. */
	u64 control_seq;
	/* Wait queue, woken when control messages were taken in or applied, or sessions ended. */
	wait_queue_head_t wait;

	/* Objects that became ready and of which the guest is not notified yet. */
	spinlock_t events_lock;
	struct list_head events;
	/* List of events that are signalled or over and not reported yet; number of all events. */
	struct list_head fired;
	u32 nr_events;
	/* Bindings that failed or ended, with an INVALIDATE that is not sent yet. */
	struct list_head bad_bindings;
	/* True if the guest's window may differ from the last WINDOW message. */
	bool window_changed;
	/*
	 * Number (0: none) and flags of the window in the last WINDOW message; accessed by the
	 * sender only.
	 */
	u64 window_told;
	u32 window_told_flags;
	/* Ring of the ranges that the guest gave back last; protected by unbinds_lock. */
	spinlock_t unbinds_lock;
	struct vgpu_unbind *unbinds;
	u32 nr_unbinds;
	/* Number of the newest UNBIND that is not in the ring any more. */
	u64 unbinds_gone;
};

struct vgpu_peer *vgpu_peer_alloc(struct vgpu_agent *agent,
				  const struct vgpu_host_peer_add *args);
void vgpu_peer_get(struct vgpu_peer *peer);
void vgpu_peer_put(struct vgpu_peer *peer);
/* Shut the peer's connection down; the peer's thread then ends everything else. */
void vgpu_peer_end(struct vgpu_peer *peer);
void vgpu_peer_stat(struct vgpu_peer *peer, struct vgpu_host_peer_stat *stat);
/* Count and trace a message of the peer that violates the protocol. */
void vgpu_peer_malformed(struct vgpu_peer *peer, u32 type);

/* --- control.c ------------------------------------------------------------ */

/* Queue the peer's sender, as there is something to send: changed grants, ready objects, ... */
void vgpu_control_kick(struct vgpu_peer *peer);
/*
 * Have the sender look for a change of the peer's window. vgpu_control_kick() alone does not
 * cause that.
 */
void vgpu_control_kick_window(struct vgpu_peer *peer);
int vgpu_control_send(struct vgpu_peer *peer, void *msg, size_t len);
/*
 * Let the guest report one more end without delay: it has made a session or a mapping, or has
 * named a range of its window, or memory in a call that was refused, and will report the end.
 * It may also repeat a CLOSE call by a message if the call's reply does not come.
 */
void vgpu_control_due(struct vgpu_peer *peer);
/*
 * Account for the report of an end, or for an end that will not be reported. @idle: true if the
 * message is idle, which means that it leads to nothing but a reply. Then the caller must be the
 * peer's thread, which is delayed if the guest has reported more ends than vgpu_control_due() has
 * counted.
 */
void vgpu_control_settle(struct vgpu_peer *peer, bool idle);
/*
 * Delay the peer's thread after an idle message. Further messages wait in the guest's socket
 * meanwhile.
 */
void vgpu_control_idle(struct vgpu_peer *peer);

/* --- control_thread.c ----------------------------------------------------- */

/*
 * Prepare the works of a new peer and start its thread, which takes over the caller's reference.
 * Return: 0, or a negative errno: the peer has still the caller's reference only.
 */
int vgpu_control_start(struct vgpu_peer *peer);

/* --- object.c ------------------------------------------------------------- */

struct vgpu_space {
	struct address_space *mapping;
	u64 id;
	u32 users;
	struct rb_root_cached extents;
};

/* Range of offsets in a space that a mapping shows; protected by peer->objects_lock. */
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
	/* Mutex that protects all fields but @woken, @node and @revents*. */
	struct mutex lock;
	struct list_head entries;
	/* True if the driver's ->poll() takes no event away, so any thread may call it. */
	bool looks;
	bool stay;
	bool failed;
	/* Number in the last POLL call, or in a later IOCTL whose reply had an answer. */
	u32 number;
	/* Events whose wakeups are reported. Written under @lock. */
	__poll_t events;
	/* Events of the wakeups since @work ran last. */
	atomic_t woken;
	struct work_struct work;
	/* Entry of peer->events, and what to report; protected by peer->events_lock. */
	struct list_head node;
	__poll_t revents;
	u32 revents_number;
	bool revents_answer;
};

/* State of a closed object whose file is to be released. */
enum vgpu_leave_state {
	VGPU_LEAVE_USED,	/* calls still use the object */
	VGPU_LEAVE_FREE,	/* no call uses it, its file is to be put */
	VGPU_LEAVE_SHARED,	/* others hold its file, too */
};

struct vgpu_object {
	struct kref ref;
	struct rcu_head rcu;
	struct vgpu_peer *peer;
	struct file *file;
	/* Grant of the device file; NULL: no device file, it came from a device of @origin. */
	struct vgpu_grant *grant;
	struct vgpu_grant *origin;
	struct vgpu_space *space;
	u32 id;
	u32 kind;
	/* Fixed number in the fd tables of all lanes, at least VGPU_LANE_FDS; 0: none. */
	u32 fd;
	/* True if the thread that closes the object frees @fd, instead of object_free(). */
	bool fd_kept;
	/* Numbers of the guest's references, and the next one; protected by peer->objects_lock. */
	struct xarray references;
	u32 next_reference;
	/*
	 * True if the guest has no reference any more; vgpu_object_find() reads it without the
	 * lock.
	 */
	bool closed;
	/* True if the driver gets no pages but those that come with a call. */
	bool no_demand;
	/* True if the driver's ->flush was called. */
	bool flushed;
	/* Number of the CLOSE message of the last reference, and entry of peer->closes. */
	u64 close_seq;
	struct list_head close_node;
	/*
	 * Number in peer->leaving; 0: the object is not in it, and its release is not waited
	 * for.
	 */
	u64 leave;
	struct list_head leave_node;
	enum vgpu_leave_state leave_state;
	/* Memory that a file of NVIDIA's driver maps; protected by objects_lock; NULL: unknown. */
	struct vgpu_owned *owned;
	/* Family of the file; protected by peer->tgids_lock; NULL: no call was made on it. */
	struct vgpu_family *family;
	struct list_head family_node;
	struct vgpu_poll poll;
	/*
	 * Events of calls on the object: list in the order in which ioctls check them, and tree
	 * by number (event.c); protected by peer->events_lock.
	 */
	struct list_head watched;
	struct rb_root events;
};

/*
 * Find the guest's object for @file, or make one, and give the guest one more reference.
 * @reference: out: number of that reference. Consumes the caller's reference of @file in any
 * case.
 * Return: the object, with a reference for the caller, or an ERR_PTR().
 */
struct vgpu_object *vgpu_object_take(struct vgpu_peer *peer, struct file *file,
				     struct vgpu_grant *grant, struct vgpu_grant *origin,
				     u32 *reference);
/* Find the guest's object with number @id. Return: the object with a reference, or NULL. */
struct vgpu_object *vgpu_object_find(struct vgpu_peer *peer, u32 id);
void vgpu_object_put(struct vgpu_object *object);
/*
 * Give back the guest's reference with number @reference.
 * Return: the object if that was its last one, for the caller to put; NULL if it has others;
 * ERR_PTR(-EBADF) if the guest has no such reference.
 */
struct vgpu_object *vgpu_object_release(struct vgpu_peer *peer, u32 id, u32 reference);
/* Check whether @object is a file of an export of NVIDIA's driver. */
bool vgpu_object_is_nvidia(const struct vgpu_object *object);
/* Check whether the guest may read what the driver adds to /proc/PID/fdinfo. */
bool vgpu_object_has_fdinfo(const struct vgpu_object *object);
void vgpu_object_drop_all(struct vgpu_peer *peer);
/*
 * Keep the fd number of @object, which the guest has closed, beyond the object itself: a lane's
 * thread puts the object, but the file keeps its number until its later release.
 * Return: number to give to vgpu_object_free_fd() after the release; 0: none.
 */
u32 vgpu_object_keep_fd(struct vgpu_object *object);
void vgpu_object_describe(struct vgpu_object *object, u32 reference,
			  struct vgpu_object_desc *desc);
struct vgpu_space *vgpu_space_get(struct vgpu_peer *peer, struct address_space *mapping);
void vgpu_space_put(struct vgpu_peer *peer, struct vgpu_space *space);

/* Free the fd number of a file that is released; 0 is ignored. */
static inline void vgpu_object_free_fd(struct vgpu_peer *peer, u32 fd)
{
	if (fd)
		ida_free(&peer->fds, fd);
}

/* Count one object less: its file is released, so the guest may open another one. */
static inline void vgpu_object_uncount(struct vgpu_peer *peer)
{
	mutex_lock(&peer->objects_lock);
	peer->nr_objects--;
	mutex_unlock(&peer->objects_lock);
}

/* --- owned.c: what files of NVIDIA's driver map ----------------------------- */

/**
 * struct vgpu_owned - memory that a file maps
 * @control: path of the control file whose client has the memory
 * @map: RM's answer to the request to map the memory
 */
struct vgpu_owned {
	struct path control;
	struct rm_map map;
};

/*
 * Set what @object maps; NULL: unknown. Consumes @owned, which the caller has allocated, with a
 * reference of its path.
 */
void vgpu_owned_set(struct vgpu_object *object, struct vgpu_owned *owned);
/* Copy what @object maps, with a reference of its path. Return: true if it is known. */
bool vgpu_owned_get(struct vgpu_object *object, struct vgpu_owned *owned);
/* Free what is known of the memory of @object, which is being freed. */
void vgpu_owned_forget(struct vgpu_object *object);

/* --- flush.c -------------------------------------------------------------- */

/*
 * Return the deadline in jiffies for the ->flush of files that a kernel thread closes from now
 * on.
 */
unsigned long vgpu_object_flush_by(void);
/*
 * Call the driver's ->flush once, before the guest's last reference of @object is put. A lane's
 * thread calls ->flush itself, and can be killed meanwhile. A kernel thread has another thread
 * call it, and kills that thread at @by or when the peer ends. Context: the caller holds the
 * guest's last reference.
 */
void vgpu_object_flush(struct vgpu_object *object, unsigned long by);

/* --- close.c -------------------------------------------------------------- */

void vgpu_close_init(struct vgpu_peer *peer);
/* Queue @object for CLOSE message @seq, which has taken the guest's last reference of it. */
void vgpu_close_queue(struct vgpu_object *object, u64 seq);
/*
 * Check whether the control messages up to @seq have come, and all of their closes are applied.
 * peer->wait is woken at a change.
 */
bool vgpu_close_applied(struct vgpu_peer *peer, u64 seq);
/* Check whether all closes that came are applied. peer->wait is woken at a change. */
bool vgpu_close_all_over(struct vgpu_peer *peer);

/* --- leave.c -------------------------------------------------------------- */

void vgpu_leave_init(struct vgpu_peer *peer);
/*
 * Add @object, which the guest has just closed, to peer->leaving.
 * Context: peer->objects_lock is held.
 */
void vgpu_leave_begin(struct vgpu_peer *peer, struct vgpu_object *object);
/* Hand @object to the peer's work, as no call uses it: the work puts its file and frees it. */
void vgpu_leave_free(struct vgpu_object *object);
/* Return the number of the object that was added to peer->leaving last. */
u64 vgpu_leave_last(struct vgpu_peer *peer);
/* Check whether the files of all objects up to number @leave are released. */
bool vgpu_leave_over(struct vgpu_peer *peer, u64 leave);
/*
 * Check whether the close of object @leave has nothing to wait for: its file is released, or
 * calls or others still have it, for which a close does not wait. peer->wait is woken at a
 * change.
 */
bool vgpu_leave_settled(struct vgpu_peer *peer, u64 leave);
/*
 * Put the files of all objects in peer->leaving, even those that others hold, and wait for that.
 * Context: all objects are closed, and no call uses one.
 */
void vgpu_leave_all(struct vgpu_peer *peer);

/* --- extent.c ------------------------------------------------------------- */

/*
 * Record that a VMA maps @len bytes of @file from offset @first on; @data: its vm_private_data.
 * @space must outlive the extent.
 * Return: the extent; NULL if the offset alone says which memory it is; ERR_PTR(-ENOMEM),
 * ERR_PTR(-EOVERFLOW).
 */
struct vgpu_extent *vgpu_extent_add(struct vgpu_peer *peer, struct vgpu_space *space,
				    const struct file *file, const void *data, u64 first,
				    u64 len);
/* Return the offset that the guest is given for @offset. */
u64 vgpu_extent_offset(const struct vgpu_extent *extent, u64 offset);
struct vgpu_extent *vgpu_extent_get(struct vgpu_peer *peer, struct vgpu_extent *extent);
void vgpu_extent_put(struct vgpu_peer *peer, struct vgpu_space *space, struct vgpu_extent *extent);

/* --- poll.c --------------------------------------------------------------- */

/* Initialize object->poll; the object's file and kind are set. */
void vgpu_poll_init(struct vgpu_object *object);
/*
 * Report the signal of a fence to the guest from now on.
 * Return: VGPU_OBJECT_WATCHED, VGPU_OBJECT_SIGNALED, or 0.
 */
u32 vgpu_poll_watch(struct vgpu_object *object);
/*
 * Arm the object for @events of a poller. @number: number of the poller's last call. @stay: true
 * if each wakeup is to be reported, from now on.
 * Return: events that the object is ready for; -EINTR; -ENOMEM: the object is ready for none, and
 * wakeups would be missed.
 */
s64 vgpu_poll_arm(struct vgpu_object *object, u32 events, u32 number, bool stay);
/*
 * Ask an object that is armed for all events what it is ready for, if its ->poll() takes no event
 * away. @number: number of the poller's last call. @revents: out: the events.
 * Return: false if it was not asked.
 */
bool vgpu_poll_ask(struct vgpu_object *object, u32 number, u32 *revents);
void vgpu_poll_fini(struct vgpu_object *object);
/* Send POLL_EVENTs for objects that became ready. Context: the peer's sender. */
int vgpu_poll_announce(struct vgpu_peer *peer);

/* --- event.c -------------------------------------------------------------- */

/*
 * Let @file stand for the guest's eventfd @number: its first signal is reported.
 * Return: 0, -EMFILE, -ENOMEM.
 */
int vgpu_event_add(struct vgpu_object *object, u32 number, struct file *file);
/* Forget event @number, which the driver did not take. */
void vgpu_event_cancel(struct vgpu_object *object, u32 number);
/*
 * Note that the ioctl on @object that named event @number (0: none) is over, and check some
 * events of @object: those that no driver can signal any more are reported as over.
 */
void vgpu_event_settle(struct vgpu_object *object, u32 number);
void vgpu_event_drop_all(struct vgpu_object *object);
/* Send EVENTs for signalled eventfds. Context: the peer's sender. */
int vgpu_event_announce(struct vgpu_peer *peer);

/* --- window.c: see window.h for the rest ----------------------------------- */

int vgpu_window_init(void);
void vgpu_window_exit(void);
int vgpu_window_create(struct vgpu_host_window_create *args, struct vgpu_cmd *cmd);
int vgpu_window_destroy(const struct vgpu_host_window_destroy *args);
int vgpu_window_drain(const struct vgpu_host_window_drain *args);
int vgpu_window_stat(struct vgpu_host_window_stat *args);
/* Check whether @rdev is the device of a window. */
bool vgpu_window_is_device(dev_t rdev);

/* --- offer.c --------------------------------------------------------------- */

/* Send WINDOW and INVALIDATE messages that are due. Context: the peer's sender. */
int vgpu_offer_announce(struct vgpu_peer *peer);
/* Handle an UNBIND message. */
int vgpu_offer_unbind(struct vgpu_peer *peer, const void *msg);
/* End all bindings of @peer, which is closing. */
void vgpu_offer_end(struct vgpu_peer *peer);
/* Drop pending INVALIDATEs; the peer has no sender any more. */
void vgpu_offer_drop(struct vgpu_peer *peer);

/* --- ram.c ----------------------------------------------------------------- */

/**
 * struct vgpu_ram_table - parts of a guest's memory; immutable once published
 * @ref: reference count; each reader holds a reference
 * @nr: number of entries of @parts
 * @parts: parts of the memory, with a reference to each one's file
 */
struct vgpu_ram_table {
	struct kref ref;
	u32 nr;
	struct vgpu_ram parts[];
};

/*
 * Make a file by which a process describes the layout of the peer's memory. The layout is used
 * once vgpu_ram_publish() was called for the file.
 */
struct file *vgpu_ram_create(struct vgpu_peer *peer, u32 pieces);
void vgpu_ram_publish(struct vgpu_peer *peer, struct file *file);
/* Forget the memory of @peer, which ends. */
void vgpu_ram_end(struct vgpu_peer *peer);
/*
 * Get the known parts of the guest's memory. @pieces: out: most mappings of that memory in one
 * shadow.
 * Return: the table with a reference; NULL: no part is known.
 */
struct vgpu_ram_table *vgpu_ram_get(struct vgpu_peer *peer, u32 *pieces);
void vgpu_ram_put(struct vgpu_ram_table *table);

/* --- kept.c ----------------------------------------------------------------- */

/* Free all memory that devices may keep; the peer has no sender any more. */
void vgpu_kept_drop_all(struct vgpu_peer *peer);
/*
 * Carry out ->mmap() of the shadow's file at VGPU_KEPT_OFFSET: map the memory that
 * session->kept_map names in place of that file.
 */
int vgpu_kept_mmap(struct vgpu_session *session, struct vm_area_struct *vma);
/*
 * Map, at the program's addresses, the memory that the driver may keep. The mapping has the
 * protection key of the call's room: where there are keys no other call can reach the memory.
 * Return: 0 or a negative errno.
 */
int vgpu_kept_show(struct vgpu_hcall *call);
/* Unmap what vgpu_kept_show() has mapped, even in part, after the driver has returned. */
void vgpu_kept_hide(struct vgpu_hcall *call);
/*
 * Account for the KEPT segments of a refused call. The guest has pinned their memory all the
 * same and will release it, also memory that vgpu_kept_show() did not reach: these RELEASEs
 * cause no delay for the guest.
 */
void vgpu_kept_refuse(struct vgpu_hcall *call);
/*
 * Do the same for a call that could not be received completely. Of its segments, none of which
 * was checked, those count that are among the first call->msg_len bytes.
 */
void vgpu_kept_reject(struct vgpu_hcall *call);
/* Handle a RELEASE message. */
int vgpu_kept_release(struct vgpu_peer *peer, const void *msg);
/* Send answers to RELEASE that are due. Context: the peer's sender. */
int vgpu_kept_announce(struct vgpu_peer *peer);

/* --- session.c ------------------------------------------------------------ */

/* Page of the guest process; the rules are in demand.c. */
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
	/* Mutex that protects this struct and all fields of the pages. */
	struct mutex lock;
	struct xarray pages;
	u32 nr_pages;
	u32 nr_dirty;
	struct vgpu_fresh fresh;
	bool mapped;
	/* Number of PTEs that were inserted; number of claims that have ended. */
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
	/* The guest's own file, held while the module maps another one in its place; or NULL. */
	struct file *theirs;
	struct vgpu_space *space;
	struct vgpu_extent *extent;
	/* Binding, shared by all parts of one mapping; NULL: the mapping is not in a window. */
	struct vgpu_binding *binding;
};

struct vgpu_unmap_req {
	struct list_head node;
	u64 seq;
	u64 addr;
	u64 len;
};

/*
 * Memory for the arguments of one call at a time, which only the driver of that call can reach;
 * see room.c. All bytes beyond @used are zero.
 */
struct vgpu_room {
	unsigned long addr;
	size_t used;
};

#define VGPU_ROOMS	13
/* Number of rooms that any call may take; the others are left to calls that must be alone. */
#define VGPU_ROOMS_ANY	(VGPU_ROOMS - 4)
#define VGPU_ROOM_LEN	SZ_64K
/* Offset in the shadow's file of memory of rooms. Demand pages have their addresses as offsets. */
#define VGPU_ROOM_OFFSET BIT_ULL(62)
/* Offset of memory that drivers keep, which has the key of a room; see kept.c. */
#define VGPU_KEPT_OFFSET (VGPU_ROOM_OFFSET + BIT_ULL(61))

struct vgpu_rooms {
	struct vgpu_room room[VGPU_ROOMS];
	unsigned long busy;
	wait_queue_head_t wait;
};

/*
 * The piece of memory that @task, a lane's thread, is mapping. @task is NULL if no thread is
 * mapping one. Protected by the session's map_lock, which @task holds.
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
	/* Number of the shadow's process, until the shadow's file is closed. */
	struct vgpu_tgid *tgid;
	/*
	 * True once the guest has closed the session. The session ends when its last lane has
	 * ended, or at @close_by, in jiffies.
	 */
	bool closing;
	unsigned long close_by;
	struct delayed_work close_work;

	/* The shadow's process, known from its first mmap() or lane on. */
	spinlock_t bind_lock;
	struct mm_struct *mm;
	struct pid *pid;

	/* Mutex that protects the list of lanes. */
	struct mutex lock;
	struct list_head lanes;
	u32 nr_lanes;
	/* Lanes by the struct task_struct * of the thread that serves them. */
	struct xarray tasks;
	/* Card numbers by the numbers of objects that are files of NVIDIA's cards; card.c. */
	struct xarray cards;
	atomic_t nr_cards;
	/* Number of bytes of messages, replies and arguments in memory. */
	atomic_long_t budget;

	/* Mutex that protects the mappings, and serializes changes of the shadow's mm. */
	struct mutex map_lock;
	struct rb_root mappings;
	u32 nr_mappings;
	/* Number of mappings of the guest's own memory, for running calls; kept.c. */
	u32 nr_pieces;

	/* Unmaps of the guest that are not applied yet. */
	spinlock_t unmaps_lock;
	struct list_head unmaps;
	u32 nr_unmaps;
	wait_queue_head_t service_wait;

	struct vgpu_demand demand;
	struct vgpu_rooms rooms;
	struct vgpu_kept_map kept_map;
};

/*
 * Make a session, which no thread finds yet. vgpu_session_publish() needs its demand pages to be
 * initialized (vgpu_page_init()).
 * Return: the session, with the reference of its shadow's file; or ERR_PTR(-ENOMEM).
 */
struct vgpu_session *vgpu_session_alloc(struct vgpu_peer *peer, u64 number);
/*
 * Let the guest's messages find the session.
 * Return: 0; -ENODEV: the peer ends; -EMFILE: it has too many sessions; -EEXIST: it has one with
 * this number.
 */
int vgpu_session_publish(struct vgpu_session *session);
/*
 * Undo vgpu_session_publish() when the session has neither lanes nor memory any more, notify the
 * agent, and put the reference of the shadow's file.
 */
void vgpu_session_withdraw(struct vgpu_session *session);
void vgpu_session_get(struct vgpu_session *session);
void vgpu_session_put(struct vgpu_session *session);
/* Find a session by its number. Return: the session with a reference, or NULL. */
struct vgpu_session *vgpu_session_find(struct vgpu_peer *peer, u64 number);
/* End the lanes of the session and its VGPU_SHADOW_SERVICE, and kill its shadow. */
void vgpu_session_end(struct vgpu_session *session);
/* End the session soon; the guest has reported that the process is gone. */
void vgpu_session_close_later(struct vgpu_session *session);
/*
 * Bind the session to current, its shadow.
 * Return: 0; -EINVAL: another process is the shadow; -ESHUTDOWN: the session ends.
 */
int vgpu_session_bind(struct vgpu_session *session);
/* Account for @len bytes of a call. Return: false if they exceed the session's budget. */
bool vgpu_session_charge(struct vgpu_session *session, u32 len);
void vgpu_session_uncharge(struct vgpu_session *session, u32 len);

/* --- unmap.c -------------------------------------------------------------- */

/*
 * Queue an unmap that control message @seq asks for.
 * Return: 0; -ENOSPC: there are too many of them; -ENOMEM.
 */
int vgpu_unmap_queue(struct vgpu_session *session, u64 seq, u64 addr, u64 len);
/*
 * Find the oldest unmap up to control message @seq (U64_MAX: any) that is not applied yet.
 * Return: the unmap, which only a holder of map_lock may use; or NULL.
 */
struct vgpu_unmap_req *vgpu_unmap_first(struct vgpu_session *session, u64 seq);
/* Check whether any unmap up to @seq is not applied yet. */
bool vgpu_unmap_due(struct vgpu_session *session, u64 seq);
/* Remove and free @req, which is applied. Context: map_lock is held. */
void vgpu_unmap_remove(struct vgpu_session *session, struct vgpu_unmap_req *req);
/* Free unmaps that were never applied, when the session cannot be found any more. */
void vgpu_unmap_drop_all(struct vgpu_session *session);

/* --- tgid.c --------------------------------------------------------------- */

/**
 * struct vgpu_family - files of NVIDIA's driver, and processes that it may remember with them
 * @objects: list of the files, none of which is released yet
 * @tgids: list of the processes
 *
 * Protected by the peer's tgids_lock.
 */
struct vgpu_family {
	struct list_head objects;
	struct list_head tgids;
};

/**
 * struct vgpu_tgid - number of a shadow's process
 * @node: list entry in its family
 * @peer: guest of the process
 * @session: number of the session, as the guest chose it
 * @ended: true if the shadow's file is closed
 * @family: family of the files that the process has used; NULL: it has used none
 * @own: memory for the family that the first call of the process makes
 * @event: event that notifies the agent of the end; NULL once the agent is notified
 *
 * @node, @ended, @family and @own are protected by the peer's tgids_lock.
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
 * @peer: guest, which outlives the session and its objects
 * @session: number of the session
 *
 * Return: the struct for a process that is not started yet; NULL: no memory.
 */
struct vgpu_tgid *vgpu_tgid_new(struct vgpu_peer *peer, u64 session);
/* Free @tgid without notifying the agent. NULL is ignored. */
void vgpu_tgid_free(struct vgpu_tgid *tgid);
/*
 * Note that the shadow's file is closed. The agent is notified when the process may be reaped,
 * which may be now.
 */
void vgpu_tgid_end(struct vgpu_tgid *tgid);
/* Note that the process, which has not ended, makes a call on @object or names it in a call. */
void vgpu_tgid_use(struct vgpu_tgid *tgid, struct vgpu_object *object);
/* Note that the file of @object is released. */
void vgpu_tgid_released(struct vgpu_object *object);

/* --- shadow.c ------------------------------------------------------------- */

/* Make session @number, and the file by which a process becomes its shadow. */
struct file *vgpu_shadow_create(struct vgpu_peer *peer, u64 number);

/* --- call.c --------------------------------------------------------------- */

#define VGPU_SEGS_SMALL		16

/* NVIDIA's driver supports this many cards at most. */
#define VGPU_CARDS_MAX		32

/* An fd of a lane's thread. */
struct vgpu_fd {
	int fd;
	bool cloexec;
	struct file *file;
	/* Object of a file that was placed for the call, with a reference; or NULL. */
	struct vgpu_object *object;
};

/**
 * struct vgpu_hcall - a call on its way through the host
 * @lane: lane by which the call came
 * @op: entry of the table of operations
 * @msg: the CALL message, in private memory and checked
 * @msg_len: length of @msg in bytes; charged to the session unless @msg is the lane's buffer
 * @clock_in: CLOCK_MONOTONIC in nanoseconds when the header of the CALL had come
 * @tsc_in: time-stamp counter at @clock_in; 0: there is none
 * @view: pointers to the parts of @msg
 * @object: object that the call names, or NULL
 * @result: result of the driver, or a negative errno
 * @flags: VGPU_REPLY_*
 * @pos: file position, updated by the operation
 * @out: results of the operation that go into the reply
 * @nr_objects: number of objects that the guest gets with the reply
 * @objects: descriptions of these objects
 * @data: bytes of the reply; charged to the session unless in the lane's buffer
 * @data_len: number of bytes of the reply
 * @data_size: size of @data in bytes
 * @room: room for the arguments; NULL: they are in the lane's memory, if they need any
 * @room_stuck: true if memory with the room's key could not be unmapped: the session ends, and
 *	no other call gets the room
 * @reach: protection-key rights that the thread had before the call
 * @scratch: address in the shadow of the memory for the arguments
 * @scratch_len: length of that memory in bytes
 * @scratch_mapped: true if the memory was mapped for this call alone
 * @scratch_low: true if the memory is in the place of demand pages
 * @segs: place of each segment
 * @segs_small: memory for @segs that suffices for most calls
 * @nr_kept: number of KEPT segments that are mapped
 * @nr_pieces: number of mappings that they consist of
 * @placed: fds of the FD_IN and EVENT fixups, while they are in the fd table
 * @arg_fd: fd that is the ioctl's argument, while it is in the fd table
 * @cards: files of NVIDIA's cards that are in the fd table while the driver runs
 * @nr_cards: number of entries of @cards
 * @owned_client: handle of the RM client that has the memory of a MMAP, or 0
 * @event: number of the event of the EVENT fixup, or 0
 * @closed_fd: fd number of a file that the call has closed, to be freed; or 0
 * @left: files that the driver left in the fd table
 * @nr_left: number of entries of @left
 * @done: true if the call ran and its reply is not sent yet
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
	bool mm;	/* class mm: never makes upcalls */
	bool leave;	/* return to user mode before the reply */
};

/* --- room.c: what drivers can reach of a shadow's own memory --------------- */

void vgpu_rooms_init(struct vgpu_rooms *rooms);
/* Make a private mapping of the shadow's file; its offset says which key the mapping gets. */
int vgpu_room_mmap(struct vm_area_struct *vma);
/*
 * Restrict what the thread reaches of the shadow's memory. From vgpu_room_begin() to
 * vgpu_room_end() it reaches only memory of the guest process; from vgpu_room_take() on also
 * the memory for the call's arguments. Calls that must be alone (vgpu_room_must_be_alone()) may
 * wait in vgpu_room_take() for a room. Return: 0, -EINTR, -EBUSY (no room became free in time),
 * -ENOMEM.
 */
void vgpu_room_begin(struct vgpu_hcall *call);
int vgpu_room_take(struct vgpu_hcall *call);
void vgpu_room_end(struct vgpu_hcall *call);
/* Return the protection key of the memory that the call's driver can reach. */
unsigned int vgpu_room_key(const struct vgpu_hcall *call);
/*
 * Check whether the call needs a room that no other call has. Arguments for NVIDIA's driver are
 * checked in place and must not change before the driver reads them. Memory that a driver keeps
 * is for the driver of this call alone.
 */
bool vgpu_room_must_be_alone(const struct vgpu_hcall *call);
/*
 * Map zeroed memory that the call's driver can reach: vgpu_room_map() at @addr if @flags has
 * MAP_FIXED, with map_lock held; vgpu_room_map_reserved() in the reserved range.
 * Return: the address or a negative errno.
 */
unsigned long vgpu_room_map(struct vgpu_hcall *call, unsigned long addr, size_t len,
			    unsigned long flags);
unsigned long vgpu_room_map_reserved(struct vgpu_hcall *call, size_t len);

int vgpu_call_send_reply(struct vgpu_hcall *call);
/* Free what the call holds, when its reply is sent or cannot be sent. */
void vgpu_call_finish(struct vgpu_hcall *call);
/* Mark the call as refused by the host. Return: @error. */
s64 vgpu_call_refuse(struct vgpu_hcall *call, int error);
/* Allocate @len bytes at call->data. */
int vgpu_call_alloc_data(struct vgpu_hcall *call, u32 len);
/* Provide @len zeroed bytes of the shadow's memory at call->scratch. */
int vgpu_call_alloc_scratch(struct vgpu_hcall *call, size_t len);
u16 vgpu_call_nr(const struct vgpu_hcall *call);
/* Take back the objects of the reply, as the guest will not get them. */
void vgpu_call_take_back(struct vgpu_hcall *call);

/* Check whether the call is that of a 32-bit program. */
static inline bool vgpu_call_is_compat(const struct vgpu_hcall *call)
{
	return le16_to_cpu(call->view.call->flags) & VGPU_CALL_COMPAT;
}

static inline u32 vgpu_seg_len(const struct vgpu_hcall *call, u32 i)
{
	return vgpu_view_seg_len(&call->view, i);
}

static inline bool vgpu_seg_is(const struct vgpu_hcall *call, u32 i, u32 flag)
{
	return vgpu_view_seg_is(&call->view, i, flag);
}

/* --- run.c ---------------------------------------------------------------- */

/* Run the CALL in call->msg. Return: 0, or -EPROTO for a malformed one. */
int vgpu_call_run(struct vgpu_hcall *call);
/* Make @error the result of the call in call->msg, which could not be received completely. */
void vgpu_call_reject(struct vgpu_hcall *call, int error);

/* --- fops.c, ioctl.c, mapping.c: one function an operation -------- */

s64 vgpu_fops_open(struct vgpu_hcall *call);
s64 vgpu_fops_close(struct vgpu_hcall *call);
s64 vgpu_fops_read(struct vgpu_hcall *call);
s64 vgpu_fops_write(struct vgpu_hcall *call);
s64 vgpu_fops_llseek(struct vgpu_hcall *call);
s64 vgpu_fops_poll(struct vgpu_hcall *call);
s64 vgpu_fops_fdinfo(struct vgpu_hcall *call);
s64 vgpu_ioctl_run(struct vgpu_hcall *call);
s64 vgpu_mapping_mmap(struct vgpu_hcall *call);
s64 vgpu_mapping_bind(struct vgpu_hcall *call);
s64 vgpu_mapping_protect(struct vgpu_hcall *call);
s64 vgpu_mapping_read_pages(struct vgpu_hcall *call);
s64 vgpu_mapping_write_pages(struct vgpu_hcall *call);

/* Apply queued unmaps up to control message @seq (U64_MAX: all). Context: current is the shadow. */
int vgpu_mapping_apply_unmaps(struct vgpu_session *session, struct file *shadow, u64 seq);
/*
 * Map zeroed memory at [addr, addr + len) of the shadow in place of demand pages;
 * vgpu_mapping_displace() restores the demand pages.
 * Return: 0; -EINVAL: something else is mapped there; -ENOMEM, -EINTR.
 */
int vgpu_mapping_place(struct vgpu_hcall *call, u64 addr, u64 len);
void vgpu_mapping_displace(struct vgpu_lane *lane, u64 addr, u64 len);
/* Check that only demand pages are at [addr, end). Context: map_lock is held. */
bool vgpu_mapping_vacant_locked(struct vgpu_session *session, u64 addr, u64 end);
void vgpu_mapping_drop_all(struct vgpu_session *session);

/* --- fixup.c -------------------------------------------------------------- */

/* Put pointers and fds into the placed segments. */
int vgpu_fixup_apply(struct vgpu_hcall *call);
/*
 * Install an fd of object @id, the ioctl's argument, in the fd table.
 * Return: the fd, or a negative errno.
 */
int vgpu_fixup_arg_fd(struct vgpu_hcall *call, u32 id);
/* Restore the guest's own pointers and fds in the gathered reply. */
void vgpu_fixup_undo_all(struct vgpu_hcall *call);
/* Remove the fds that vgpu_fixup_apply() and vgpu_fixup_arg_fd() installed, even in part. */
void vgpu_fixup_remove_fds(struct vgpu_hcall *call);
/* Cancel the event of a call that failed. */
void vgpu_fixup_cancel_event(struct vgpu_hcall *call);
/*
 * Turn the files that the driver left in the fd table into objects of the reply, or close them.
 * Return: the result of the call.
 */
s64 vgpu_fixup_settle_fds(struct vgpu_hcall *call, s64 result);

/* --- fdtable.c ------------------------------------------------------------ */

/* Check that the fd table of current is not shared and holds nothing but @lane. */
bool vgpu_fdtable_is_private(struct file *lane);
int vgpu_fdtable_install(struct file *file);
/*
 * Install the file of @object for one call, at the object's fixed number if it has one.
 * Consumes the caller's reference of @object. Return: the fd, or a negative errno.
 */
int vgpu_fdtable_place(struct vgpu_object *object, struct vgpu_fd *placed);
/* Remove a placed file from the fd table; placed->object may be NULL. */
void vgpu_fdtable_remove(struct vgpu_fd *placed);
/*
 * Take all files but @lane out of the fd table. @fds gets the first @max of them, with a
 * reference each. Return: number of files that were taken out.
 */
unsigned int vgpu_fdtable_take(struct file *lane, struct vgpu_fd *fds, unsigned int max);

/* --- card.c: files that NVIDIA's driver looks for ------------------------- */

/* Return the number of the card that @object is a file of, or -1. */
int vgpu_card_of(const struct vgpu_object *object);
/* Note that the session's process has @object open. Return: 0 or -ENOMEM. */
int vgpu_card_add(struct vgpu_session *session, const struct vgpu_object *object);
/* Forget object @id, which the session's process has closed; any object may be given. */
void vgpu_card_forget(struct vgpu_session *session, u32 id);
/*
 * Install one file of each card that the session's process has open in the fd table.
 * Return: 0 or a negative errno.
 */
int vgpu_card_place(struct vgpu_hcall *call);
void vgpu_card_remove(struct vgpu_hcall *call);

/* --- owner.c: memory of NVIDIA's driver that shadows map ------------------- */

/*
 * Learn which memory a file maps after NVIDIA's driver has successfully done @cmd with the
 * argument at @arg.
 */
void vgpu_owner_learn(struct vgpu_hcall *call, u32 cmd, unsigned long arg);
/*
 * Choose the file that a MMAP maps: for a card or nvidiactl a new file of the module's own,
 * which keeps the memory; for all others the guest's file. Return: the file with a reference,
 * or an ERR_PTR().
 */
struct file *vgpu_owner_file(struct vgpu_hcall *call);
/* Clean up after @file, from vgpu_owner_file(), was mapped or its mapping has failed. */
void vgpu_owner_done(struct vgpu_hcall *call, struct file *file);

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
	/* Eventfd for the next call that needs one; NULL: the thread has to bring one. */
	struct file *event;
	u64 seq;
	/* True if the guest has yet to acknowledge objects of the last reply. */
	bool unacked;
	/* True if the guest has cancelled call @seq. */
	bool cancelled;
	/* True if the last call was a CLOSE, which the guest may repeat by a message. */
	bool closes;
	/* True if an upcall was not answered in time: the call's reply is the last message. */
	bool last;
	/* Number of bytes that lane_count_bytes() has counted already. */
	u64 rx_counted;
	u64 tx_counted;
	u8 *buf;
	u8 *reply_buf;
	unsigned long scratch;
	size_t scratch_len;
	/* Number of bytes of the scratch memory that may not be zero. */
	size_t scratch_used;
	/* True if the shadow's memory has protection keys. */
	bool keys;
	unsigned int room_last;
	struct vgpu_hcall call;

	/*
	 * Fetches of the running call; accessed by the lane's thread only: address of the last
	 * fault and whether its fetch has failed, address of the last fetch, and whether this
	 * call holds new calls back (demand->gated).
	 */
	u64 fault_addr;
	bool fault_failed;
	u64 fetch_addr;
	bool gating;
	/* Read-ahead: next address if the driver reads on; number of pages of the last fetch. */
	struct vgpu_ahead ahead;
	/*
	 * Errno if the call needed more pages or time than it may have, or any page without the
	 * right to one, or if there was no memory; else 0.
	 */
	int limited;
	/* True while the call's driver runs; time that it has waited for upcalls in nanoseconds. */
	bool driving;
	u64 upcall_ns;
	/* Result of vgpu_guest_call() when the call began; written by the lane's thread. */
	u64 guest_call;

	/* State for cancels; protected by @lock. */
	spinlock_t lock;
	bool running;
	bool upcalling;
	bool signalled;
};

/* Interrupt a running call of lane @data: bytes or the end have arrived. Context: atomic. */
void vgpu_lane_event(void *data);
/* Note that a call begins to run, which bytes that arrive interrupt, or that it has ended. */
void vgpu_lane_set_running(struct vgpu_lane *lane, bool running);
/*
 * Find the lane of @session that current serves. Return: the lane; NULL if there is none, or if
 * its call may not make upcalls.
 */
struct vgpu_lane *vgpu_lane_current(struct vgpu_session *session);
/* Note that the lane's call has given a reference back. */
void vgpu_lane_closes(struct vgpu_lane *lane);
/**
 * vgpu_lane_upcall - ask the guest something in the middle of a call
 * @lane: lane whose call is running on current
 * @vec: the request, header first
 * @nr: number of entries of @vec
 * @len: number of bytes in @vec
 * @type: type of the answer
 * @answer: buffer for the fixed part of the answer, which is checked completely
 * @answer_len: length of the fixed part in bytes
 * @data: buffers for the bytes that follow it in a successful answer
 * @nr_data: number of entries of @data
 *
 * Return: 0; -EFAULT when the lane is over (deadline, death, a malformed answer); -ENOBUFS when
 * the call or the guest has used up its time for upcalls.
 */
int vgpu_lane_upcall(struct vgpu_lane *lane, struct kvec *vec, size_t nr, size_t len, u16 type,
		     void *answer, u32 answer_len, const struct kvec *data, unsigned int nr_data);

/* --- serve.c -------------------------------------------------------------- */

int vgpu_lane_create(struct vgpu_session *session, struct file *shadow, int sock_fd,
		     struct file **file);

/* --- demand.c ------------------------------------------------------------- */

extern const struct vm_operations_struct vgpu_demand_vm_ops;

int vgpu_demand_mmap(struct vgpu_session *session, struct vm_area_struct *vma);
/* Begin a call. Return: 0 or -EINTR. */
int vgpu_demand_begin(struct vgpu_lane *lane);
/*
 * End a call: send what its driver wrote.
 * Return: 0; -ENOBUFS: the call needed more pages or time than it may have; -EOPNOTSUPP: it
 * needed a page and may have none; or another errno.
 */
int vgpu_demand_end(struct vgpu_lane *lane);
/*
 * Map the shadow's file over [addr, addr + len) and its demand neighbours, as one VMA.
 * Context: map_lock is held.
 */
int vgpu_demand_cover(struct vgpu_session *session, struct file *shadow, u64 addr, u64 len);
static inline bool vgpu_demand_vma(const struct vgpu_session *session,
				   const struct vm_area_struct *vma)
{
	return vma->vm_ops == &vgpu_demand_vm_ops && vma->vm_private_data == session;
}

/* --- page.c --------------------------------------------------------------- */

void vgpu_page_init(struct vgpu_demand *demand);
/* Free all pages, when no lane and no VMA is left. */
void vgpu_page_fini(struct vgpu_session *session);
/* Check that @page may be mapped: it is fresh for every running call, and not claimed. */
bool vgpu_page_usable(const struct vgpu_demand *demand, const struct vgpu_page *page);
/*
 * Add a new page, claimed by the caller. Return: the page, or an ERR_PTR(): -ENOBUFS at the
 * limit.
 */
struct vgpu_page *vgpu_page_add_locked(struct vgpu_session *session, u64 addr);
void vgpu_page_unclaim_locked(struct vgpu_demand *demand, struct vgpu_page *page);
/* Mark @page as clean: its changes were sent to the guest, or are of no interest. */
void vgpu_page_clean_locked(struct vgpu_demand *demand, struct vgpu_page *page);
/*
 * Wait, with a deadline, until the number of ended claims is not @claims any more.
 * Return: 0, also at the deadline; -EINTR; -ENOBUFS: a driver would wait, and the guest's time is
 * used up.
 */
int vgpu_page_wait_claims(struct vgpu_lane *lane, u64 claims);
void vgpu_page_zap(struct vgpu_session *session, u64 addr, u64 len);
void vgpu_page_zap_all(struct vgpu_session *session);
/* Store a page that came with the call. */
void vgpu_page_store(struct vgpu_lane *lane, u64 addr, const void *data);
/* End a call: free the pages that no running call may use any more. */
void vgpu_page_expire(struct vgpu_session *session);

/* --- fetch.c -------------------------------------------------------------- */

/*
 * Make the page at @addr usable, if possible, and perhaps some more up to @end.
 * Context: the mmap lock is not held. Return: 0: look again; -ENOBUFS: the limit of pages or
 * time is reached; -ENOMEM; another errno: the address is bad, or the task or the lane ends.
 */
int vgpu_fetch_page(struct vgpu_session *session, struct vgpu_lane *lane, u64 addr, u64 end);

/* --- writeback.c ---------------------------------------------------------- */

/* Send all dirty pages to the guest. */
int vgpu_writeback_all(struct vgpu_lane *lane);
/* Send one page, which the caller has claimed, and end the claim. */
int vgpu_writeback_page(struct vgpu_lane *lane, struct vgpu_page *page);

#endif /* VGPU_HOST_H */
