// SPDX-License-Identifier: GPL-2.0-only
/*
 * Agents: the state of vgpud in the module, with the events that it is to be notified of.
 */
#include <linux/fs.h>
#include <linux/slab.h>

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

int vgpu_agent_publish(struct vgpu_agent *agent, struct file *file)
{
	int ret = 0;

	mutex_lock(&agent_mutex);
	if (agent_current || file->private_data) {
		ret = -EBUSY;
	} else {
		agent_current = agent;
		/* Pairs with vgpu_agent_of(). */
		smp_store_release(&file->private_data, agent);
	}
	mutex_unlock(&agent_mutex);
	return ret;
}

void vgpu_agent_withdraw(void)
{
	mutex_lock(&agent_mutex);
	agent_current = NULL;
	mutex_unlock(&agent_mutex);
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
