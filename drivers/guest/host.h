/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A host, as long as one control connection to it lasts. After a loss the
 * dialer makes a new one: nothing of the old one comes back to life.
 *
 * Lock order, outermost first:
 *
 *	vgpu_pci_lock()			mutex of the PCI core
 *	window_hosts_lock (window.c)	mutex; not with the two that follow
 *	vgpu_drm_lock (drm.c)		mutex
 *	node_lock (node.c)		mutex; never inside the one above
 *	vgpu_session.reserve_lock	mutex (reserve.c)
 *	mmap_lock of the caller, as the VFS took it for ->mmap and faults
 *	vgpu_object.file_lock		mutex: the one file of an object
 *	host->keeps.lock		mutex: pinned memory; with none of those that follow
 *					but host->control.lock and keep_users_lock
 *	mapping->mode_lock		rwsem: see mapping.h
 *	space->lock, mapping->lock	mutex, and in it a spinlock: pages, spans
 *	window->use, window->lock	rwsem, and in it a mutex: see window.h
 *	flush->lock (flush.h)		spinlock: what a session has to send
 *	spaces.lock (space.h)		spinlock: spaces, flushes
 *	host->lock			spinlock: sessions, objects, exports, down
 *	vgpu_mm_lock (session.c)	spinlock: sessions of an mm
 *	session->lock			spinlock: lanes
 *	object->poll_lock		spinlock: cached readiness
 *	host->control.lock		spinlock: numbers and queue of messages
 *	keep_users_lock (keep.c)	spinlock: what users have pinned; in no other but
 *					host->keeps.lock
 *	object->times.lock		spinlock, in none of these
 *	host->clock.lock		seqlock, likewise
 *
 * No lock of these is held over a send, a receive or an access to user memory,
 * but for mmap_lock, under which only calls of class mm are made.
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

#include "clock.h"
#include "conn.h"
#include "control.h"
#include "keep.h"
#include "space.h"
#include "wire.h"

struct vgpu_window;

/**
 * struct vgpu_host - one control connection to a host
 * @ref: references of objects, sessions, exports and the dialer
 * @cid: context id
 * @port: port
 * @name: "CID:PORT", for sysfs and messages
 * @conn: the control connection; the dialer's thread receives
 * @control: what is to be sent on it
 * @clock: the host's
 * @features: VGPU_FEATURE_* that both have
 * @secret: what lanes prove
 * @reserved_base: range that the host's shadows keep for themselves
 * @reserved_size: bytes of it
 * @limits: of one lane message
 * @lanes_max: of one session
 * @ping_timeout_ms: how long a PING may stay unanswered; 0: for ever
 * @tsc_khz: rate of its time-stamp counter, in kHz; 0: it has none
 * @calls: calls that have ended, but for POLL and those of class mm
 * @lock: guards what follows
 * @down: the connection is lost; set once, read anywhere
 * @session_list: sessions whose shadow lives
 * @sessions: those of living processes, by mm
 * @last_session: number of the newest session
 * @objects: by number
 * @events: eventfds that the host may signal, by number
 * @last_event: number of the newest
 * @events_missed: poll events of objects that nobody knew
 * @signals: struct vgpu_event that were signalled, and whose programs are yet to hear of it
 * @signal_work: tells them; has a reference of the host while it is queued
 * @exports: struct vgpu_export
 * @window: memory of the host that its mappings are seen in, or NULL
 * @window_missed: the log says that a program was refused what works only in one
 * @window_entry: in the list of hosts that have announced one, under its lock
 * @window_info: the last announcement, likewise
 * @mappings: struct vgpu_mapping that may move
 * @move_todo: those that are to be looked at
 * @move_asked: how often moves were asked for
 * @move_work: brings each where it is to be
 * @move_wait: woken when a mapping has moved
 * @parents: struct vgpu_parent; the receiving thread's
 * @spaces: device memory that this host's mappings show
 * @keeps: pins of programs' memory that its devices may keep
 * @fdinfo_pause: jiffies, until which no fdinfo is asked for; 0: it may be; any thread's
 */
struct vgpu_host {
	struct kref ref;
	u32 cid;
	u32 port;
	char name[24];
	struct vgpu_conn conn;
	struct vgpu_control control;
	struct vgpu_clock clock;

	/* Of WELCOME; constant. */
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
	struct vgpu_space_set spaces;
	struct vgpu_keep_set keeps;
	unsigned long fdinfo_pause;
};

void vgpu_host_global_init(void);
struct vgpu_host *vgpu_host_connect(u32 cid, u32 port, bool *refused);
int vgpu_host_serve(struct vgpu_host *host);
void vgpu_host_shutdown(struct vgpu_host *host);
void vgpu_host_abort(struct vgpu_host *host);
struct vgpu_host *vgpu_host_get(struct vgpu_host *host);
void vgpu_host_put(struct vgpu_host *host);

/* The connection is lost: calls get -ENODEV, files are hung up. */
static inline bool vgpu_host_is_down(struct vgpu_host *host)
{
	return READ_ONCE(host->down);
}

#endif /* VGPU_HOST_H */
