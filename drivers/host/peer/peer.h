/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Peers: one guest each, with its limits, counters and control connection.
 */
#ifndef _VGPU_HOST_PEER_H
#define _VGPU_HOST_PEER_H

#include <linux/atomic.h>
#include <linux/idr.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include <uapi/linux/vgpu_host.h>
#include <uapi/linux/vgpu_wire.h>

#include "arbiter.h"
#include "conn.h"
#include "peer/agent.h"
#include "wire.h"

struct mem_cgroup;
struct task_struct;
struct vgpu_guest;
struct vgpu_memory;

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
	atomic64_t delayed;
	atomic64_t queued;
};

/*
 * Deadline for a message's header once the first byte is there, and again for each further part
 * that is received; what is dropped is one part. The connection ends if a deadline passes.
 */
#define VGPU_MSG_TIMEOUT_MS	10000

/* Number of UNBIND messages of a guest that are remembered; older ones are forgotten. */
#define VGPU_PEER_UNBINDS	1024

/* Range of a window that a guest has given back by UNBIND. */
struct vgpu_unbind {
	u64 seq;
	u64 window;
	u64 offset;
	u64 len;
};

/**
 * struct vgpu_peer_control - control connection of a peer
 * @conn: connection; once it is shut down, the peer's thread ends everything else
 * @buf: buffer for received messages, used by the peer's thread only
 * @seq: number of the last sequenced message that was taken in, written by the peer's thread
 * @ping_seq: number of the last ping, written by the peer's thread
 * @idle_until: time in jiffies at which the next idle message (vgpuh_control_settle()) is due at
 *	the peer's rate; accessed by the peer's thread only
 * @dues: number of reports that the guest may still make without delay, see vgpuh_control_due()
 * @tx_lock: mutex that serializes senders
 * @tx_work: work item that sends what is due
 * @thread: peer's thread, with a reference; written before the thread runs
 * @memcg: memory control group of the guest, with a reference; NULL until vgpuh_control_adopt()
 */
struct vgpu_peer_control {
	struct vgpu_conn conn;
	u8 buf[VGPU_CONTROL_MSG_MAX] __aligned(8);
	u64 seq;
	u64 ping_seq;
	unsigned long idle_until;
	atomic_t dues;
	struct mutex tx_lock;
	struct work_struct tx_work;
	struct task_struct *thread;
	struct mem_cgroup *memcg;
};

/**
 * struct vgpu_peer_grants - grants of a peer; protected by peer->lock
 * @list: list of the grants
 * @last: number of the newest grant
 * @nvidia: true once the peer has had a grant for a device of NVIDIA's driver
 * @adopted: true once an agent has taken the peer over; the peer gets no such grant then
 */
struct vgpu_peer_grants {
	struct list_head list;
	u32 last;
	bool nvidia;
	bool adopted;
};

/**
 * struct vgpu_peer_sessions - sessions of a peer and their lanes
 * @list: list of the sessions; protected by peer->lock, as @nr
 * @nr: number of sessions
 * @nr_lanes: number of lanes of all sessions
 * @end_work: work item that shuts down the lanes of sessions that end; holds a reference of the
 *	peer
 */
struct vgpu_peer_sessions {
	struct list_head list;
	u32 nr;
	atomic_t nr_lanes;
	struct work_struct end_work;
};

/**
 * struct vgpu_peer_memory - memory of a guest; demand pages and mappings of all of its sessions
 * @layout: source of the memory's layout (ram.c), or NULL; protected by peer->lock
 * @nr_pages: number of demand pages
 * @nr_mappings: number of mappings
 * @mapped_bytes: number of bytes that are charged for mappings
 */
struct vgpu_peer_memory {
	struct vgpu_memory *layout;
	atomic_t nr_pages;
	atomic_t nr_mappings;
	atomic64_t mapped_bytes;
};

/**
 * struct vgpu_peer_objects - objects of a peer; see object.c
 * @lock: mutex that protects this struct, and the numbers of references in objects
 * @table: objects by their numbers
 * @files: objects by their struct file *
 * @spaces: spaces by their struct address_space *
 * @fds: allocator of the fixed fd numbers that some objects have in the fd tables of all lanes
 * @nr: number of objects, including closed ones whose files are not released yet
 * @nr_repeated: number of the guest's references beyond the first one to each object
 * @next: number from which a new object's number is looked for
 * @last_space: number of the newest space
 */
struct vgpu_peer_objects {
	struct mutex lock;
	struct xarray table;
	struct xarray files;
	struct xarray spaces;
	struct ida fds;
	u32 nr;
	u32 nr_repeated;
	u32 next;
	u64 last_space;
};

/**
 * struct vgpu_peer_kept - memory of the guest that devices keep; see kept.c
 * @tree: such memory, by the guest's numbers; protected by peer->objects.lock, as all fields
 * @releases: list of RELEASEs that are not answered yet
 * @nr: number of nodes of @tree that are not released
 * @nr_releases: number of entries of @releases
 * @bytes: number of bytes of all memory in @tree
 */
struct vgpu_peer_kept {
	struct rb_root_cached tree;
	struct list_head releases;
	u32 nr;
	u32 nr_releases;
	u64 bytes;
};

/**
 * struct vgpu_peer_leaves - closed objects whose release is waited for; see leave.c
 * @lock: spinlock that protects @list
 * @list: list of the objects, in the order of the closes
 * @last: number of the newest entry; protected by peer->objects.lock
 * @work: work item that puts files that have no other reference
 * @delay: time in jiffies until @work runs again; accessed by @work only
 * @now: true once the peer ends: @work puts files even if others hold them
 */
struct vgpu_peer_leaves {
	spinlock_t lock;
	struct list_head list;
	u64 last;
	struct delayed_work work;
	unsigned long delay;
	bool now;
};

/**
 * struct vgpu_peer_closes - objects that the guest closed by messages; see close.c
 * @lock: spinlock that protects @list, @seq and @waits
 * @list: list of the objects whose last reference was given back by a CLOSE message, in order
 * @seq: number of the CLOSE message that is being applied; 0: none
 * @waits: tree of calls that wait for control messages, by the numbers of the messages
 * @work: work item that closes the objects
 */
struct vgpu_peer_closes {
	spinlock_t lock;
	struct list_head list;
	u64 seq;
	struct rb_root_cached waits;
	struct work_struct work;
};

/**
 * struct vgpu_peer_events - events of which the guest is not notified yet; see poll.c and event.c
 * @lock: spinlock that protects this struct, and peer->offer.bad; taken where drivers signal
 * @ready: list of objects that became ready
 * @fired: list of events that are signalled or over
 * @nr: number of all events
 */
struct vgpu_peer_events {
	spinlock_t lock;
	struct list_head ready;
	struct list_head fired;
	u32 nr;
};

/**
 * struct vgpu_peer_offer - messages about the guest's window that are due; see offer.c
 * @bad: list of bindings that failed or ended, with an INVALIDATE that is not sent yet; protected
 *	by peer->events.lock
 * @changed: true if the guest's window may differ from the last WINDOW message
 * @told: number of the window in that message, 0: none; accessed by the sender only
 * @told_flags: flags in that message; accessed by the sender only
 */
struct vgpu_peer_offer {
	struct list_head bad;
	bool changed;
	u64 told;
	u32 told_flags;
};

/**
 * struct vgpu_peer_unbinds - ranges of the window that the guest gave back last; see binding.c
 * @lock: spinlock that protects this struct
 * @ring: ring of VGPU_PEER_UNBINDS ranges
 * @nr: number of ranges that the guest has given back
 * @gone: number of the newest UNBIND that is not in the ring any more
 */
struct vgpu_peer_unbinds {
	spinlock_t lock;
	struct vgpu_unbind *ring;
	u32 nr;
	u64 gone;
};

/**
 * struct vgpu_peer_bounds - limits of all sessions together, rates, and largest use; see limit.c
 * @all_pages: maximum number of demand pages; 0: no limit
 * @all_mappings: maximum number of mappings; 0: no limit
 * @rates: maximum numbers of calls, opens and bytes in a second; 0: no limit
 * @rated: true if a rate is limited; otherwise calls do not look at the rates
 * @terms: terms on which the guest uses devices, beside others
 * @mappings_ever: largest value that limits.mappings has had; see vgpuh_parts_max()
 * @most: largest use; written without a common lock, see vgpuh_use_most()
 *
 * All fields but @most are written under agent->lock, and read once by READ_ONCE().
 */
struct vgpu_peer_bounds {
	u32 all_pages;
	u32 all_mappings;
	struct vgpu_host_rates rates;
	bool rated;
	struct vgpu_terms terms;
	u32 mappings_ever;
	struct vgpu_host_use most;
};

struct vgpu_peer {
	struct kref ref;
	u32 id;
	struct vgpu_agent *agent;
	struct vgpu_guest *guest;
	/*
	 * Limits, which an agent may change at any time (limit.c): read once by READ_ONCE(), also
	 * under the lock of what is counted.
	 */
	struct vgpu_host_limits limits;
	struct vgpu_peer_bounds bounds;
	struct vgpu_wire_limits wire;
	struct vgpu_counters counters;
	struct vgpu_agent_event *gone;

	struct vgpu_peer_control control;

	/* Mutex that protects @closing, the grants, the sessions and the memory's layout. */
	struct mutex lock;
	bool closing;
	struct vgpu_peer_grants grants;
	struct vgpu_peer_sessions sessions;
	struct vgpu_peer_memory memory;

	struct vgpu_peer_objects objects;
	struct vgpu_peer_kept kept;

	struct vgpu_peer_leaves leaves;

	/* Spinlock that protects families of processes and files of NVIDIA's driver; tgid.c. */
	spinlock_t tgids_lock;

	struct vgpu_peer_closes closes;
	/* Wait queue, woken when closes were applied or sessions ended. */
	wait_queue_head_t wait;

	struct vgpu_peer_events events;
	struct vgpu_peer_offer offer;
	struct vgpu_peer_unbinds unbinds;
};

/*
 * Return the number of parts of mappings that a session may have, as unmaps in the middle split
 * them, and of its unmaps that may wait. An honest guest is far from it.
 */
static inline u64 vgpuh_parts_max(const struct vgpu_peer *peer)
{
	return 2ULL * READ_ONCE(peer->bounds.mappings_ever) + 64;
}

struct vgpu_peer *vgpu_peer_alloc(struct vgpu_agent *agent,
				  const struct vgpu_host_peer_add *args);
void vgpu_peer_get(struct vgpu_peer *peer);
void vgpu_peer_put(struct vgpu_peer *peer);
void vgpu_peer_stat(struct vgpu_peer *peer, struct vgpu_host_peer_stat *stat);
/*
 * Add the peer's counters to those of its guest's earlier connections. The peer counts no more.
 * Context: agent->lock is held.
 */
void vgpu_peer_leave(struct vgpu_peer *peer);
/*
 * Fill in the counters of a guest, and @nr tallies. @tallies: array that is filled in.
 * Context: agent->lock is held. Return: 0; -ENOENT: there is no such guest.
 */
int vgpu_peers_guest_stat(struct vgpu_agent *agent, struct vgpu_host_guest_stat *stat,
			  struct vgpu_host_tally *tallies, u32 nr);
/* Count and trace a message of the peer that violates the protocol. */
void vgpu_peer_malformed(struct vgpu_peer *peer, u32 type);

#endif /* _VGPU_HOST_PEER_H */
