// SPDX-License-Identifier: GPL-2.0-only
/*
 * Agents: the state of vgpud in the module, with the events that it is to be notified of.
 */
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "base/work.h"
#include "peer/agent.h"
#include "peer/control.h"
#include "peer/grant.h"
#include "peer/guest.h"
#include "peer/peer.h"

/* The current agent. Earlier ones whose peers are still ending cannot be found. */
static DEFINE_MUTEX(agent_mutex);
static struct vgpu_agent *agent_current;

static void agent_free(struct kref *ref)
{
	struct vgpu_agent *agent = container_of(ref, struct vgpu_agent, ref);
	struct vgpu_agent_event *event, *next;

	list_splice(&agent->taken, &agent->events);
	list_for_each_entry_safe(event, next, &agent->events, node)
		kfree(event);
	xa_destroy(&agent->peers);
	vgpu_guests_fini(agent);
	kfree(agent);
}

void vgpu_agent_put(struct vgpu_agent *agent)
{
	kref_put(&agent->ref, agent_free);
}

/* Stop the agent's timer. Its work item may run all the same, and finds nothing to do then. */
static void agent_stay_locked(struct vgpu_agent *agent)
{
	lockdep_assert_held(&agent_mutex);
	agent->rest.away = false;
	if (cancel_delayed_work(&agent->rest.work))
		vgpu_agent_put(agent);
}

/* Give the agent to @file, and to the caller's table of files. The file gets a reference. */
static void agent_give_locked(struct vgpu_agent *agent, struct file *file)
{
	lockdep_assert_held(&agent_mutex);
	kref_get(&agent->ref);
	agent->rest.owner = current->files;
	WRITE_ONCE(agent->rest.file, file);
	/* Pairs with vgpu_agent_of(). */
	smp_store_release(&file->private_data, agent);
}

int vgpu_agent_publish(struct vgpu_agent *agent, struct file *file, struct vgpu_agent **old)
{
	int ret = 0;

	*old = NULL;
	mutex_lock(&agent_mutex);
	if ((agent_current && !agent_current->rest.away) || file->private_data) {
		ret = -EBUSY;
	} else {
		*old = agent_current;
		if (*old)
			agent_stay_locked(*old);
		agent_current = agent;
		agent_give_locked(agent, file);
	}
	mutex_unlock(&agent_mutex);
	return ret;
}

int vgpu_agent_adopt(struct file *file, const struct vgpu_agent *wanted,
		     struct vgpu_agent **adopted)
{
	struct vgpu_agent *agent;
	int ret = 0;

	*adopted = NULL;
	mutex_lock(&agent_mutex);
	agent = agent_current;
	if (!agent || agent->reserved_base != wanted->reserved_base ||
	    agent->reserved_size != wanted->reserved_size) {
		ret = -ENOENT;
	} else if (agent->rest.file != file) {
		if (agent->rest.away && !file->private_data)
			*adopted = agent;
		else
			ret = -EBUSY;
	}
	if (!ret) {
		WRITE_ONCE(agent->fetch_timeout_ms, wanted->fetch_timeout_ms);
		WRITE_ONCE(agent->ping_timeout_ms, wanted->ping_timeout_ms);
		WRITE_ONCE(agent->patience_ms, wanted->patience_ms);
		agent->rest.ms = wanted->rest.ms;
		if (wanted->rest.ms)
			WRITE_ONCE(agent->rest.lasted, true);
	}
	if (*adopted) {
		agent_stay_locked(agent);
		agent_give_locked(agent, file);
	}
	mutex_unlock(&agent_mutex);
	return ret;
}

bool vgpu_agent_is_current(const struct vgpu_agent *agent)
{
	bool is;

	mutex_lock(&agent_mutex);
	is = agent_current == agent;
	mutex_unlock(&agent_mutex);
	return is;
}

int vgpu_agent_ask(void)
{
	int ret = -ENOENT;

	mutex_lock(&agent_mutex);
	if (agent_current)
		ret = agent_current->rest.away ? 0 : -EBUSY;
	mutex_unlock(&agent_mutex);
	return ret;
}

bool vgpu_agent_leave(struct vgpu_agent *agent, const struct file *file, fl_owner_t owner,
		      bool *lasts)
{
	bool left;

	mutex_lock(&agent_mutex);
	left = agent->rest.file == file && (!owner || agent->rest.owner == owner);
	if (!left)
		goto out_unlock;
	WRITE_ONCE(agent->rest.file, NULL);
	*lasts = agent->rest.ms;
	if (*lasts) {
		agent->rest.away = true;
		agent->rest.until = jiffies + msecs_to_jiffies(agent->rest.ms);
		/* The work item holds this reference. */
		kref_get(&agent->ref);
		if (!queue_delayed_work(vgpu_host_wq, &agent->rest.work,
					msecs_to_jiffies(agent->rest.ms)))
			vgpu_agent_put(agent);
	} else {
		agent_current = NULL;
	}

out_unlock:
	mutex_unlock(&agent_mutex);
	return left;
}

struct vgpu_agent *vgpu_agent_expire(bool now)
{
	struct vgpu_agent *agent;

	mutex_lock(&agent_mutex);
	agent = agent_current;
	if (agent && agent->rest.away && (now || time_after_eq(jiffies, agent->rest.until))) {
		agent_current = NULL;
		agent_stay_locked(agent);
	} else {
		agent = NULL;
	}
	mutex_unlock(&agent_mutex);
	return agent;
}

void vgpu_agent_notify(struct vgpu_agent *agent, struct vgpu_agent_event *event, u32 type,
		       u32 peer, u64 session)
{
	event->event.type = type;
	event->event.peer = peer;
	event->event.session = session;
	spin_lock(&agent->events_lock);
	list_add_tail(&event->node, &agent->events);
	spin_unlock(&agent->events_lock);
	wake_up_interruptible(&agent->events_wait);
}

void vgpu_agent_kick_peer(u32 cid, u32 port)
{
	struct vgpu_peer *peer;
	unsigned long id;

	mutex_lock(&agent_mutex);
	if (agent_current) {
		mutex_lock(&agent_current->lock);
		xa_for_each(&agent_current->peers, id, peer)
			if (peer->guest->cid == cid && peer->guest->port == port)
				vgpuh_control_kick_window(peer);
		mutex_unlock(&agent_current->lock);
	}
	mutex_unlock(&agent_mutex);
}

bool vgpu_agent_in_reserved(const struct vgpu_agent *agent, u64 addr, u64 len)
{
	return addr < agent->reserved_base + agent->reserved_size &&
	       agent->reserved_base < addr + len;
}

struct vgpuh_export *vgpu_agent_find_export(struct vgpu_agent *agent, u32 id)
{
	struct vgpuh_export *export;

	lockdep_assert_held(&agent->lock);
	list_for_each_entry(export, &agent->exports, node)
		if (export->id == id)
			return export;
	return NULL;
}
