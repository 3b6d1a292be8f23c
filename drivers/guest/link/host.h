/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A host for the lifetime of one control connection. After a loss the dialer makes a new
 * connection with a new struct vgpu_host; nothing of the old one is used again.
 *
 * Lock order, outermost first:
 *
 *	vgpu_pci_lock()			mutex of the PCI core
 *	window_hosts_lock		mutex (window_announce.c); never with the next two locks
 *	vgpu_drm_lock (drm.c)		mutex
 *	node_lock (node.c)		mutex; never inside vgpu_drm_lock
 *	vgpu_session.reserve_lock	mutex (reserve.c)
 *	mmap_lock of the caller, as the core took it for ->mmap and faults
 *	vgpu_object.file_lock		mutex: the one file of an object
 *	host->memory->keeps.lock	mutex: pinned memory; of the locks below only
 *					host->control.lock and keep_users_lock are taken in it
 *	mapping->mode_lock		rwsem: see mapping.h
 *	space->lock, mapping->lock	mutex and, inside, a spinlock: pages, spans
 *	window->use, window->lock	rwsem and, inside, a mutex: see window.h
 *	flush->lock (flush.h)		spinlock: bytes that a session has to send
 *	spaces.lock (space.h)		spinlock: spaces, flushes
 *	host->lock			spinlock: sessions, objects, exports, down
 *	vgpu_mm_lock (session.c)	spinlock: sessions of an mm
 *	session->lock			spinlock: lanes
 *	object->node.queued		spinlock (xa_lock): fds of V4L2 buffers (video_queue.c)
 *	object->readiness.lock		spinlock: cached readiness
 *	host->control.lock		spinlock: numbers and queue of messages
 *	keep_users_lock (keep.c)	spinlock: pinned pages of each user; taken inside
 *					no other lock than host->memory->keeps.lock
 *	object->times.lock		spinlock, taken inside none of these locks
 *	host->clock.lock		seqlock, taken inside mmap_lock at most
 *
 * None of these locks is held over a send, a receive or an access to user memory, except
 * mmap_lock, under which only calls of class mm are made.
 */
#ifndef VGPU_HOST_H
#define VGPU_HOST_H

#include <linux/hashtable.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "uapi/linux/vgpu_wire.h"

#include "conn.h"
#include "link/clock.h"
#include "link/control.h"
#include "wire.h"

struct vgpu_memory_host;
struct vgpu_session;

/**
 * struct vgpu_host_terms - terms of a connection, set from WELCOME and constant from then on
 * @features: VGPU_FEATURE_* that both sides have
 * @secret: secret by which lanes prove that they belong to this connection
 * @reserved_base: address of the range that the host's shadows reserve for themselves
 * @reserved_size: length of that range in bytes
 * @lanes_max: limit of the lanes of one session
 * @ping_timeout_ms: time in ms for the answer to a PING; 0: no limit
 * @tsc_khz: rate of the host's time-stamp counter in kHz; 0: it has none
 */
struct vgpu_host_terms {
	u64 features;
	u8 secret[VGPU_SECRET_LEN];
	u64 reserved_base;
	u64 reserved_size;
	u32 lanes_max;
	u32 ping_timeout_ms;
	u32 tsc_khz;
};

/**
 * struct vgpu_host_sessions - sessions of a host (session.c), guarded by host->lock
 * @list: list of the sessions whose shadow is in use
 * @by_mm: hash table of the sessions of living processes, by mm
 * @last: number of the newest session
 */
struct vgpu_host_sessions {
	struct list_head list;
	DECLARE_HASHTABLE(by_mm, 6);
	u64 last;
};

/**
 * struct vgpu_host_objects - objects of a host (file/object.c), guarded by host->lock
 * @by_id: hash table of the objects, by number
 * @events_missed: number of POLL_EVENT messages whose object was unknown; also read without
 *	the lock
 */
struct vgpu_host_objects {
	DECLARE_HASHTABLE(by_id, 8);
	u32 events_missed;
};

/**
 * struct vgpu_host_events - eventfds that a host may signal (file/event.c), guarded by host->lock
 * @by_number: hash table of the eventfds, by number
 * @last: number of the newest event
 * @signals: list of struct vgpu_event that the host has signalled and @work will signal
 * @work: work item that signals eventfds; holds a reference of the host while queued; no lock
 */
struct vgpu_host_events {
	DECLARE_HASHTABLE(by_number, 6);
	u32 last;
	struct list_head signals;
	struct work_struct work;
};

/**
 * struct vgpu_host - one control connection to a host
 * @ref: references of objects, sessions, exports and the dialer
 * @cid: context id
 * @port: port
 * @name: "CID:PORT", for sysfs and messages
 * @conn: control connection; the dialer's thread receives on it
 * @msg: buffer of the message that was received last; used by the dialer's thread only
 * @control: queue of the messages to be sent on @conn
 * @clock: bounds of the difference between the host's clocks and ours
 * @terms: terms of the connection
 * @limits: limits of one message on a lane; constant from WELCOME on
 * @calls: number of calls that have ended; POLL and calls of class mm are not counted
 * @lock: guards the fields from @down to @exports, and those of @memory that name it
 * @down: true if the connection is lost; set once, read without the lock
 * @sessions: sessions of the host
 * @objects: objects of the host
 * @events: eventfds that the host may signal
 * @exports: list of struct vgpu_export
 * @parents: list of struct vgpu_parent; used by the dialer's thread only
 * @memory: state of the host's memory (memory/state.h); set by @init of struct vgpu_host_ops and
 *	constant from then on
 * @fdinfo_pause: time in jiffies until which no fdinfo is asked for; 0: none; any thread reads
 *	and writes it
 */
struct vgpu_host {
	struct kref ref;
	u32 cid;
	u32 port;
	char name[24];
	struct vgpu_conn conn;
	union {
		struct vgpu_hdr hdr;
		struct vgpu_welcome welcome;
		struct vgpu_refuse refuse;
		u8 room[VGPU_CONTROL_MSG_MAX];
	} msg;
	struct vgpu_control control;
	struct vgpu_clock clock;
	struct vgpu_host_terms terms;
	struct vgpu_wire_limits limits;
	atomic64_t calls;

	spinlock_t lock;
	bool down;
	struct vgpu_host_sessions sessions;
	struct vgpu_host_objects objects;
	struct vgpu_host_events events;
	struct list_head exports;

	struct list_head parents;
	struct vgpu_memory_host *memory;
	unsigned long fdinfo_pause;
};

/**
 * struct vgpu_host_ops - operations of the layers above the connections (main.c)
 * @message: function that handles a checked message other than PING and PONG in the thread that
 *	receives the host's messages; an error that it returns ends the connection
 * @init: function that initializes the fields of a new host, before the connection is made;
 *	returns 0 or -ENOMEM
 * @start: function that is called after the handshake; an error ends the connection
 * @settle: function that the receiving thread calls whenever no further message is pending
 * @abort: function that ends the users of a lost connection
 * @end: function that gives up all that waits for an answer of the host; called after @abort, when
 *	no message to the host is accepted any more
 * @fini: function that undoes @init for a host without references
 * @session_init: function that initializes the fields of a new session; returns 0 or -ENOMEM
 * @session_fini: function that undoes @session_init for a session without references
 */
struct vgpu_host_ops {
	int (*message)(struct vgpu_host *host, const struct vgpu_hdr *hdr);
	int (*init)(struct vgpu_host *host);
	int (*start)(struct vgpu_host *host);
	void (*settle)(struct vgpu_host *host);
	void (*abort)(struct vgpu_host *host);
	void (*end)(struct vgpu_host *host);
	void (*fini)(struct vgpu_host *host);
	int (*session_init)(struct vgpu_session *session);
	void (*session_fini)(struct vgpu_session *session);
};

void vgpu_host_global_init(const struct vgpu_host_ops *ops);
const struct vgpu_host_ops *vgpu_host_ops(void);
struct vgpu_host *vgpu_host_get(struct vgpu_host *host);
void vgpu_host_put(struct vgpu_host *host);
struct vgpu_host *vgpu_host_connect(u32 cid, u32 port, bool *refused);
int vgpu_host_serve(struct vgpu_host *host);
void vgpu_host_abort(struct vgpu_host *host);

/* Return: true if the connection is lost: calls get -ENODEV, files are hung up. */
static inline bool vgpu_host_is_down(struct vgpu_host *host)
{
	return READ_ONCE(host->down);
}

#endif /* VGPU_HOST_H */
