// SPDX-License-Identifier: GPL-2.0-only
/*
 * Numbers of shadows' processes. NVIDIA's driver remembers which process has made a client, by
 * the process number alone (RmClient.ProcID). It lets clients with the same number duplicate
 * each other's memory, even if their users differ (cliresShareCallback_IMPL(),
 * RS_SHARE_TYPE_PID). A client lives as long as the file by which it was made, or a file with
 * which that file was registered (NV_ESC_REGISTER_FD). Other processes of the guest may have
 * these files open when this process has ended. Until the files are released no other process
 * may get the number, neither another guest's shadow nor a process of the host. So vgpud leaves
 * the shadow a zombie until the module reports SESSION_REAP.
 *
 * Only the driver knows which client belongs to which file. So files and processes are in
 * families: a call brings the process into the family of its file and of each file that it
 * names, and merges families that meet. Families are never split. A process that has ended
 * stays in its family until the family's last file is released.
 */
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "object/object.h"
#include "object/tgid.h"
#include "peer/agent.h"
#include "peer/peer.h"

struct vgpu_tgid *vgpu_tgid_new(struct vgpu_peer *peer, u64 session)
{
	struct vgpu_tgid *tgid = kzalloc(sizeof(*tgid), GFP_KERNEL_ACCOUNT);

	if (!tgid)
		return NULL;
	tgid->event = kzalloc(sizeof(*tgid->event), GFP_KERNEL_ACCOUNT);
	if (!tgid->event) {
		kfree(tgid);
		return NULL;
	}
	tgid->peer = peer;
	tgid->session = session;
	return tgid;
}

void vgpu_tgid_free(struct vgpu_tgid *tgid)
{
	if (!tgid)
		return;
	kfree(tgid->event);
	kfree(tgid);
}

/*
 * Notify the agent that the driver does not remember the number any more, and free @tgid. No
 * notification is sent at the guest's end, when files are put that others may hold: PEER_GONE
 * then covers all processes.
 */
static void tgid_tell(struct vgpu_tgid *tgid)
{
	struct vgpu_agent_event *event = tgid->event;

	if (!READ_ONCE(tgid->peer->leaves.now)) {
		tgid->event = NULL;
		vgpu_agent_notify(tgid->peer->agent, event, VGPU_HOST_EVENT_SESSION_REAP,
				  tgid->peer->id, tgid->session);
	}
	vgpu_tgid_free(tgid);
}

void vgpu_tgid_end(struct vgpu_tgid *tgid)
{
	struct vgpu_peer *peer = tgid->peer;
	bool known;

	spin_lock(&peer->tgids_lock);
	tgid->ended = true;
	known = tgid->family;
	spin_unlock(&peer->tgids_lock);
	/* A @tgid with a family may have been freed meanwhile, with the family's last file. */
	if (!known)
		tgid_tell(tgid);
}

static void family_merge_locked(struct vgpu_family *to, struct vgpu_family *from)
{
	struct vgpuh_object *object;
	struct vgpu_tgid *tgid;

	list_for_each_entry(object, &from->objects, family_node)
		object->family = to;
	list_for_each_entry(tgid, &from->tgids, node)
		tgid->family = to;
	list_splice_init(&from->objects, &to->objects);
	list_splice_init(&from->tgids, &to->tgids);
}

void vgpu_tgid_use(struct vgpu_tgid *tgid, struct vgpuh_object *object)
{
	struct vgpu_peer *peer = tgid->peer;

	spin_lock(&peer->tgids_lock);
	if (!tgid->family) {
		/*
		 * The memory is part of a process's struct: a family does not outlive any of
		 * its processes.
		 */
		tgid->family = object->family ?: &tgid->own;
		if (!object->family) {
			INIT_LIST_HEAD(&tgid->own.objects);
			INIT_LIST_HEAD(&tgid->own.tgids);
		}
		list_add_tail(&tgid->node, &tgid->family->tgids);
	}
	if (!object->family) {
		object->family = tgid->family;
		list_add_tail(&object->family_node, &tgid->family->objects);
	} else if (object->family != tgid->family) {
		family_merge_locked(object->family, tgid->family);
	}
	spin_unlock(&peer->tgids_lock);
}

void vgpu_tgid_released(struct vgpuh_object *object)
{
	struct vgpu_peer *peer = object->peer;
	struct vgpu_tgid *tgid, *next;
	LIST_HEAD(ended);

	spin_lock(&peer->tgids_lock);
	if (object->family) {
		list_del(&object->family_node);
		if (list_empty(&object->family->objects))
			list_splice_init(&object->family->tgids, &ended);
		object->family = NULL;
	}
	list_for_each_entry_safe(tgid, next, &ended, node) {
		tgid->family = NULL;
		if (!tgid->ended)
			list_del(&tgid->node);
	}
	spin_unlock(&peer->tgids_lock);
	list_for_each_entry_safe(tgid, next, &ended, node)
		tgid_tell(tgid);
}
