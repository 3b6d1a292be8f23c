/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sessions: one process of a guest, with the shadow that stands for it.
 */
#ifndef _VGPU_HOST_SESSION_H
#define _VGPU_HOST_SESSION_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "fresh.h"
#include "peer/peer.h"
#include "session/card.h"
#include "session/room.h"
#include "session/unmap.h"

struct file;
struct inode;
struct mm_struct;
struct pid;
struct task_struct;
struct vgpu_grant;
struct vgpu_sums;
struct vgpu_tgid;

/**
 * struct vgpu_demand - demand pages of a session; see demand.c
 * @lock: mutex that protects this struct and all fields of the pages
 * @pages: pages by their addresses, in units of PAGE_SIZE
 * @nr_pages: number of entries of @pages
 * @nr_dirty: number of entries that are dirty
 * @fresh: counter of starts of calls and fetches of pages
 * @mapped: true if the shadow's page tables may have a PTE of a page
 * @inserts: number of PTEs that were inserted
 * @claims: number of claims of pages that have ended
 * @gated: number of lanes that hold new calls back; read without the lock
 * @wait: wait queue, woken when @claims or @gated has changed, or the session ends
 */
struct vgpu_demand {
	struct mutex lock;
	struct xarray pages;
	u32 nr_pages;
	u32 nr_dirty;
	struct vgpu_fresh fresh;
	bool mapped;
	u64 inserts;
	u64 claims;
	u32 gated;
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

/**
 * struct vgpuh_session_close - close of a session by the guest: the session ends with its last
 *	lane, or at a deadline
 * @event: event for the agent; NULL once the agent is notified
 * @begun: true once the guest has closed the session; accessed by the peer's thread only
 * @by: deadline in jiffies; written by the peer's thread only, before @work is queued
 * @work: work item that ends the session
 */
struct vgpuh_session_close {
	struct vgpu_agent_event *event;
	bool begun;
	unsigned long by;
	struct delayed_work work;
};

/**
 * struct vgpuh_session_process - the shadow's process, known from its first mmap() or lane on
 * @lock: spinlock that protects this struct, and orders vgpuh_session_bind() with the session's
 *	end
 * @mm: address space of the process, or NULL
 * @pid: struct pid of the process, or NULL
 */
struct vgpuh_session_process {
	spinlock_t lock;
	struct mm_struct *mm;
	struct pid *pid;
};

/**
 * struct vgpuh_session_lanes - lanes of a session
 * @lock: mutex that protects @list and @nr
 * @list: list of the lanes
 * @nr: number of entries of @list
 * @shut: true once the lanes of a session that ends are being shut down; protected by peer->lock
 * @tasks: lanes by the struct task_struct * of the thread that serves them
 */
struct vgpuh_session_lanes {
	struct mutex lock;
	struct list_head list;
	u32 nr;
	bool shut;
	struct xarray tasks;
};

struct vgpuh_session {
	struct kref ref;
	struct vgpu_peer *peer;
	struct list_head node;
	u64 number;
	bool ending;
	struct inode *inode;
	struct vgpu_agent_event *gone;
	/* Number of the shadow's process, until the shadow's file is closed. */
	struct vgpu_tgid *tgid;
	struct vgpuh_session_close close;
	struct vgpuh_session_process process;
	struct vgpuh_session_lanes lanes;
	struct vgpu_cards cards;
	/*
	 * Marks of the grants on whose objects calls were made, by the numbers of the grants; set
	 * by lanes without a common lock, see vgpuh_session_uses().
	 */
	struct xarray grants;
	/* Number of bytes of messages, replies and arguments in memory. */
	atomic_long_t budget;
	/* Sums over the calls of all lanes. */
	struct vgpu_sums __percpu *sums;

	/* Mutex that protects the mappings, and serializes changes of the shadow's mm. */
	struct mutex map_lock;
	struct rb_root_cached mappings;
	u32 nr_mappings;
	/* Number of mappings of the guest's own memory, for running calls; kept.c. */
	u32 nr_pieces;

	struct vgpu_unmaps unmaps;
	struct vgpu_demand demand;
	struct vgpu_rooms rooms;
	struct vgpu_kept_map kept_map;
};

/*
 * Make a session, which no thread finds yet. The caller initializes the session's demand pages by
 * vgpuh_page_init() before it calls vgpuh_session_publish().
 * Return: the session, with the reference of its shadow's file; or ERR_PTR(-ENOMEM).
 */
struct vgpuh_session *vgpuh_session_alloc(struct vgpu_peer *peer, u64 number);
/*
 * Let the guest's messages find the session.
 * Return: 0; -ENODEV: the peer ends; -EMFILE: it has too many sessions; -EEXIST: it has one with
 * this number.
 */
int vgpuh_session_publish(struct vgpuh_session *session);
/*
 * Fill in the counters of a session. Return: 0; -ENOENT: the peer has no session of that number.
 */
int vgpuh_session_stat(struct vgpu_peer *peer, struct vgpu_host_session_stat *stat);
/* Fill in the largest numbers of lanes, pages and mappings that a session of the peer has now. */
void vgpuh_sessions_use(struct vgpu_peer *peer, struct vgpu_host_use *use);
/*
 * Undo vgpuh_session_publish() when the session has neither lanes nor memory any more, notify the
 * agent, and put the reference of the shadow's file.
 */
void vgpuh_session_withdraw(struct vgpuh_session *session);
void vgpuh_session_put(struct vgpuh_session *session);
/* Find a session by its number. Return: the session with a reference, or NULL. */
struct vgpuh_session *vgpuh_session_find(struct vgpu_peer *peer, u64 number);
/*
 * Note that a call is about to be made on an object that came from @origin.
 * Return: 0; -ENODEV: open files of the grant are taken; -ENOMEM.
 */
int vgpuh_session_uses(struct vgpuh_session *session, const struct vgpu_grant *origin);
void vgpuh_sessions_init(struct vgpu_peer *peer);
/* Kill the session's shadow, and let no call begin any more. */
void vgpuh_session_kill(struct vgpuh_session *session);
/*
 * Kill the session's shadow, end its VGPU_SHADOW_SERVICE, and have a work item end the lanes.
 * Context: the caller may hold mutexes.
 */
void vgpuh_session_end(struct vgpuh_session *session);
/* End the session soon; the guest has reported that the process is gone. */
void vgpuh_session_close_later(struct vgpuh_session *session);
/*
 * Bind the session to current, its shadow.
 * Return: 0; -EINVAL: another process is the shadow; -ESHUTDOWN: the session ends.
 */
int vgpuh_session_bind(struct vgpuh_session *session);
/* Account for @len bytes of a call. Return: false if they exceed the session's budget. */
bool vgpuh_session_charge(struct vgpuh_session *session, u32 len);
void vgpuh_session_uncharge(struct vgpuh_session *session, u32 len);
/* Allocate @len bytes for a message or a reply, and account for them; or return NULL. */
void *vgpuh_session_get_buf(struct vgpuh_session *session, u32 len);
void vgpuh_session_put_buf(struct vgpuh_session *session, void *buf, u32 len);

#endif /* _VGPU_HOST_SESSION_H */
