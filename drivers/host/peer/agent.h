/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Agents: the state of vgpud in the module.
 */
#ifndef _VGPU_HOST_AGENT_H
#define _VGPU_HOST_AGENT_H

#include <linux/fs.h>
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

struct vgpuh_export;
struct vgpu_peer;

/* Event on its way to the agent. Its memory is allocated before the event happens. */
struct vgpu_agent_event {
	struct list_head node;
	struct vgpu_host_event event;
};

/**
 * struct vgpu_agent_rest - time without a file; see lasting.c
 * @ms: time in milliseconds for which the agent lasts without its file; 0: it does not
 * @lasted: true once @ms was not 0, so that shadows may outlive vgpud; read without the mutex
 * @away: true while the agent has no file, and another file may take it over
 * @file: the agent's file, for comparison alone; NULL: none; read without the mutex
 * @owner: table of files of the process that gave the agent @file, for comparison alone
 * @until: time in jiffies at which that ends
 * @work: work item that ends the agent then; holds a reference of the agent while it is queued
 *
 * All fields are protected by a mutex of agent.c.
 */
struct vgpu_agent_rest {
	u32 ms;
	bool lasted;
	bool away;
	const struct file *file;
	fl_owner_t owner;
	unsigned long until;
	struct delayed_work work;
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
	struct vgpu_agent_rest rest;

	/* Mutex that protects exports and peers. */
	struct mutex lock;
	struct list_head exports;
	u32 last_export;
	struct xarray peers;
	u32 next_peer;

	/* Mutex that protects the list of guests that are remembered. */
	struct mutex guests_lock;
	struct list_head guests;

	/* Mutex that protects the notes, a tree of struct vgpu_note (note.c). */
	struct mutex notes_lock;
	struct rb_root notes;

	/*
	 * Spinlock that protects the events that read() of the agent's file returns, and those that
	 * the last read() has returned: the next agent gets these again.
	 */
	spinlock_t events_lock;
	struct list_head events;
	struct list_head taken;
	wait_queue_head_t events_wait;
};

void vgpu_agent_put(struct vgpu_agent *agent);
/*
 * Make @agent the current agent, which holds the caller's reference from then on, and the private
 * data of @file, which has a reference of its own. *@old: out: the agent without a file that has to
 * end now, with the reference of the current agent; or NULL. Return: 0; -EBUSY: there is an agent,
 * or @file has become one.
 */
int vgpu_agent_publish(struct vgpu_agent *agent, struct file *file, struct vgpu_agent **old);
/**
 * vgpu_agent_adopt - take over the agent without a file, or change the current one
 * @file: file that becomes the agent's, or is the agent's already
 * @wanted: agent with the reserved range and the times that the caller asks for; stays the caller's
 * @adopted: out: the agent that was taken over; NULL: @file had one already
 *
 * Return: 0; -EBUSY: the agent has another file; -ENOENT: there is no agent like @wanted.
 */
int vgpu_agent_adopt(struct file *file, const struct vgpu_agent *wanted,
		     struct vgpu_agent **adopted);
/* Return: false if @agent has ended. */
bool vgpu_agent_is_current(const struct vgpu_agent *agent);
/* Return: 0: there is an agent to be taken over; -EBUSY: it has a file; -ENOENT: there is none. */
int vgpu_agent_ask(void);
/**
 * vgpu_agent_leave - take the agent from its file
 * @agent: agent, of which the caller has a reference
 * @file: file that is being closed
 * @owner: table of files that closes @file; NULL: the last reference of @file is dropped
 * @lasts: out: true if the agent waits for another file; false: the caller has to end it with the
 *	reference of the current agent, and it is found no more
 *
 * Return: false if @file is not the agent's any more, or another process closes it; *@lasts is not
 * set then.
 */
bool vgpu_agent_leave(struct vgpu_agent *agent, const struct file *file, fl_owner_t owner,
		      bool *lasts);
/*
 * Find the agent without a file, if its time is over or @now is true; it is found no more then.
 * Return: the agent, with the reference of the current agent; or NULL.
 */
struct vgpu_agent *vgpu_agent_expire(bool now);
/* Queue @event for the reader of the agent's file. */
void vgpu_agent_notify(struct vgpu_agent *agent, struct vgpu_agent_event *event, u32 type,
		       u32 peer, u64 session);
/* Have the peer of guest (@cid, @port), if it is connected, look for changes of its window. */
void vgpu_agent_kick_peer(u32 cid, u32 port);
/* Find an export by its number. Context: agent->lock is held. Return: the export, or NULL. */
struct vgpuh_export *vgpu_agent_find_export(struct vgpu_agent *agent, u32 id);
bool vgpu_agent_in_reserved(const struct vgpu_agent *agent, u64 addr, u64 len);

#endif /* _VGPU_HOST_AGENT_H */
