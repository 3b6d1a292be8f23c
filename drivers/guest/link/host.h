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
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "uapi/linux/vgpu_wire.h"

#include "conn.h"
#include "link/clock.h"
#include "link/control.h"
#include "wire.h"

struct vgpu_memory_host;
struct vgpu_session;
struct vgpu_window;

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
 * @features: VGPU_FEATURE_* that both sides have
 * @secret: secret by which lanes prove that they belong to this connection
 * @reserved_base: address of the range that the host's shadows reserve for themselves
 * @reserved_size: length of that range in bytes
 * @limits: limits of one message on a lane
 * @lanes_max: limit of the lanes of one session
 * @ping_timeout_ms: time in ms for the answer to a PING; 0: no limit
 * @tsc_khz: rate of the host's time-stamp counter in kHz; 0: it has none
 * @calls: number of calls that have ended; POLL and calls of class mm are not counted
 * @lock: guards the fields from @down to @move_asked, as far as they name no other lock
 * @down: true if the connection is lost; set once, read without the lock
 * @session_list: list of the sessions whose shadow is in use
 * @sessions: hash table of the sessions of living processes, by mm
 * @last_session: number of the newest session
 * @objects: hash table of the objects, by number
 * @events: hash table of the eventfds that the host may signal, by number
 * @last_event: number of the newest event
 * @events_missed: number of POLL_EVENT messages whose object was unknown
 * @signals: list of struct vgpu_event that the host has signalled and @signal_work will signal
 * @signal_work: work item that signals eventfds; holds a reference of the host while queued
 * @exports: list of struct vgpu_export
 * @window: window of the host, or NULL
 * @window_missed: true once a message was logged that a program needed a window
 * @window_entry: entry in the list of hosts that have announced a window (window_hosts_lock)
 * @window_info: last announcement of the window (window_hosts_lock)
 * @mappings: list of struct vgpu_mapping that may move
 * @move_todo: list of the mappings that @move_work has to look at
 * @move_asked: number of requests for moves
 * @move_work: work item that moves mappings
 * @move_wait: wait queue that is woken when a mapping has moved
 * @parents: list of struct vgpu_parent; the receiving thread's only
 * @memory: state of the host's memory (memory/state.h), from @init of the operations on
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

	/* The fields to tsc_khz are from WELCOME and constant. */
	u64 features;
	u8 secret[VGPU_SECRET_LEN];
	u64 reserved_base;
	u64 reserved_size;
	struct vgpu_wire_limits limits;
	u32 lanes_max;
	u32 ping_timeout_ms;
	u32 tsc_khz;

	atomic64_t calls;
	spinlock_t lock;
	bool down;
	struct list_head session_list;
	DECLARE_HASHTABLE(sessions, 6);
	u64 last_session;
	DECLARE_HASHTABLE(objects, 8);
	DECLARE_HASHTABLE(events, 6);
	u32 last_event;
	u32 events_missed;
	struct list_head signals;
	struct work_struct signal_work;
	struct list_head exports;

	struct vgpu_window *window;
	bool window_missed;
	struct list_head window_entry;
	struct vgpu_window_info window_info;
	struct list_head mappings;
	struct list_head move_todo;
	u64 move_asked;
	struct delayed_work move_work;
	wait_queue_head_t move_wait;

	struct list_head parents;
	struct vgpu_memory_host *memory;
	unsigned long fdinfo_pause;
};

/**
 * struct vgpu_host_ops - work of what is built on connections (main.c)
 * @message: function that handles a checked message other than PING and PONG in the thread that
 *	receives the host's messages; an error that it returns ends the connection
 * @init: function that initializes the fields of a new host, before the connection is made;
 *	returns 0 or -ENOMEM
 * @start: function that is called after the handshake; an error ends the connection
 * @settle: function that the receiving thread calls whenever it has received all messages
 * @abort: function that ends what uses a lost connection, after its sessions are aborted
 * @end: function that is called after @abort, when messages to the host are refused
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
