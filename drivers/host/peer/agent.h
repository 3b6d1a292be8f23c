/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Agents: the state of vgpud in the module.
 */
#ifndef _VGPU_HOST_AGENT_H
#define _VGPU_HOST_AGENT_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include <uapi/linux/vgpu_host.h>

struct file;
struct vgpuh_export;
struct vgpu_peer;

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

	/* Spinlock that protects the events that read() of the agent's file returns. */
	spinlock_t events_lock;
	struct list_head events;
	wait_queue_head_t events_wait;
};

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
/* Find an export by its number. Context: agent->lock is held. Return: the export, or NULL. */
struct vgpuh_export *vgpu_agent_find_export(struct vgpu_agent *agent, u32 id);
bool vgpu_agent_in_reserved(const struct vgpu_agent *agent, u64 addr, u64 len);

#endif /* _VGPU_HOST_AGENT_H */
