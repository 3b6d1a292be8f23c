// SPDX-License-Identifier: GPL-2.0-only
/*
 * Agents that outlive their files. vgpud may end, be it for an upgrade or by a crash, while guests
 * go on: peers, sessions and objects are the module's, and calls need no agent. So an agent whose
 * file was closed waits for a while for the file of the next vgpud, which gets everything that the
 * last one had. If none comes, the agent ends as if it could not wait.
 */
#include <linux/workqueue.h>

#include "agent/export.h"
#include "agent/lasting.h"
#include "agent/note.h"
#include "conn.h"
#include "peer/agent.h"
#include "peer/control.h"
#include "peer/grant.h"
#include "peer/peer.h"

static void lasting_sweep(struct vgpu_agent *agent)
{
	struct vgpuh_export *export, *next;
	struct vgpu_peer *peer;
	unsigned long id;

	/* Do not wait: the caller's fd table may hold the files of the peers' shadows. */
	mutex_lock(&agent->lock);
	xa_for_each(&agent->peers, id, peer)
		vgpu_conn_shutdown(&peer->control.conn);
	list_for_each_entry_safe(export, next, &agent->exports, node)
		vgpuh_export_del(agent, export->id);
	mutex_unlock(&agent->lock);
	/* A shadow ends when its note is gone, which holds the other end of its connection. */
	vgpu_note_drop_all(agent);
}

void vgpu_lasting_end(struct vgpu_agent *agent)
{
	lasting_sweep(agent);
	vgpu_agent_put(agent);
}

static void lasting_work(struct work_struct *work)
{
	struct vgpu_agent *agent = container_of(to_delayed_work(work), struct vgpu_agent,
						rest.work);
	struct vgpu_agent *expired = vgpu_agent_expire(false);

	if (expired)
		vgpu_lasting_end(expired);
	vgpu_agent_put(agent);
}

void vgpu_lasting_init(struct vgpu_agent *agent)
{
	INIT_DELAYED_WORK(&agent->rest.work, lasting_work);
	mutex_init(&agent->notes_lock);
	agent->notes = RB_ROOT;
}

/*
 * End the peers that need a vgpud at all times. NVIDIA's driver knows processes by their numbers
 * (object/tgid.c), which only the parent of a shadow that has ended can hold; and the process that
 * tells the module where a guest's memory is ends with vgpud.
 */
static void lasting_end_some(struct vgpu_agent *agent)
{
	struct vgpu_peer *peer;
	unsigned long id;

	mutex_lock(&agent->lock);
	xa_for_each(&agent->peers, id, peer)
		if (READ_ONCE(peer->grants.nvidia) || (peer->wire.features & VGPU_FEATURE_KEEP))
			vgpu_conn_shutdown(&peer->control.conn);
	mutex_unlock(&agent->lock);
}

void vgpu_lasting_leave(struct vgpu_agent *agent, const struct file *file, fl_owner_t owner)
{
	bool lasts;

	/* The agent may be taken over at once, and end; the file's reference keeps its memory. */
	if (!vgpu_agent_leave(agent, file, owner, &lasts))
		return;
	if (lasts)
		lasting_end_some(agent);
	else
		vgpu_lasting_end(agent);
}

void vgpu_lasting_release(struct vgpu_agent *agent, const struct file *file)
{
	vgpu_lasting_leave(agent, file, NULL);
	/* An ioctl by this file may have added something after the agent had ended. */
	if (!vgpu_agent_is_current(agent))
		lasting_sweep(agent);
	vgpu_agent_put(agent);
}

/* Mark all exports and grants as not adopted. */
static void lasting_mark(struct vgpu_agent *agent)
{
	struct vgpuh_export *export;
	struct vgpu_grant *grant;
	struct vgpu_peer *peer;
	unsigned long id;

	mutex_lock(&agent->lock);
	list_for_each_entry(export, &agent->exports, node)
		export->stale = true;
	xa_for_each(&agent->peers, id, peer) {
		mutex_lock(&peer->lock);
		peer->grants.adopted = true;
		list_for_each_entry(grant, &peer->grants.list, node)
			grant->stale = true;
		mutex_unlock(&peer->lock);
	}
	mutex_unlock(&agent->lock);
}

int vgpu_lasting_adopt(struct file *file, const struct vgpu_agent *wanted)
{
	struct vgpu_agent *agent;
	int ret = vgpu_agent_adopt(file, wanted, &agent);

	if (ret || !agent)
		return ret;
	lasting_mark(agent);
	/* The last agent may have read these events and not have handled them. */
	spin_lock(&agent->events_lock);
	list_splice_init(&agent->taken, &agent->events);
	spin_unlock(&agent->events_lock);
	return 0;
}

static void lasting_settle_peer(struct vgpu_peer *peer)
{
	struct vgpu_grant *grant;

	mutex_lock(&peer->lock);
	list_for_each_entry(grant, &peer->grants.list, node)
		if (grant->stale)
			grant->revoked = true;
	mutex_unlock(&peer->lock);
	vgpuh_control_kick(peer);
}

void vgpu_lasting_settle(struct vgpu_agent *agent)
{
	struct vgpuh_export *export, *next;
	struct vgpu_peer *peer;
	unsigned long id;

	mutex_lock(&agent->lock);
	xa_for_each(&agent->peers, id, peer) {
		lasting_settle_peer(peer);
		/* The last agent ended before it could note the peer, or the next one is older. */
		if (!vgpu_note_has(agent, peer->id, 0))
			vgpu_conn_shutdown(&peer->control.conn);
	}
	list_for_each_entry_safe(export, next, &agent->exports, node)
		if (export->stale)
			vgpuh_export_end(agent, export);
	mutex_unlock(&agent->lock);
}

void vgpu_lasting_exit(void)
{
	struct vgpu_agent *agent = vgpu_agent_expire(true);

	if (agent)
		vgpu_lasting_end(agent);
}
