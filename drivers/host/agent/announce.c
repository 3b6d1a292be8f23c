// SPDX-License-Identifier: GPL-2.0-only
/*
 * Announcements: news of grants for the guests: new and revoked grants, changed files, uevents.
 */
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/string.h>

#include "agent/announce.h"
#include "peer/control.h"
#include "peer/file.h"
#include "peer/grant.h"
#include "peer/peer.h"
#include "wire.h"

/*
 * Find the next grant whose addition or revocation has to be reported to the guest.
 * @revoked: out: true if it is the revocation.
 * Return: the grant with a reference, or NULL.
 */
static struct vgpu_grant *grant_next_news(struct vgpu_peer *peer, bool *revoked)
{
	struct vgpu_grant *grant, *next, *found = NULL;

	mutex_lock(&peer->lock);
	list_for_each_entry_safe(grant, next, &peer->grants.list, node) {
		if (grant->announced && !grant->revoked)
			continue;
		*revoked = grant->revoked;
		if (!grant->revoked || grant->announced)
			found = grant;
		grant->announced = true;
		if (found)
			vgpu_grant_get(grant);
		if (grant->revoked) {
			list_del(&grant->node);
			vgpu_grant_put(grant);
		}
		if (found)
			break;
	}
	mutex_unlock(&peer->lock);
	return found;
}

/*
 * Take the pending uevents of the next grant that the guest knows.
 * Return: number of the grant; 0: there is none.
 */
static u32 grant_next_change(struct vgpu_peer *peer, struct vgpu_change *change)
{
	struct vgpu_grant *grant;
	u32 id = 0;

	mutex_lock(&peer->lock);
	list_for_each_entry(grant, &peer->grants.list, node) {
		if (!grant->change.flags || !grant->announced || grant->revoked)
			continue;
		id = grant->id;
		*change = grant->change;
		memset(&grant->change, 0, sizeof(grant->change));
		break;
	}
	mutex_unlock(&peer->lock);
	return id;
}

static int grant_send_changes(struct vgpu_peer *peer)
{
	struct vgpu_change change;
	int ret = 0;
	u32 id;

	while (!ret && (id = grant_next_change(peer, &change))) {
		struct vgpu_export_change msg = {
			.hdr = VGPU_HDR(sizeof(msg), VGPU_MSG_EXPORT_CHANGE, 0),
			.export = cpu_to_le32(id),
			.flags = cpu_to_le32(change.flags),
			.connector = cpu_to_le32(change.connector),
			.property = cpu_to_le32(change.property),
			.wedged = cpu_to_le32(change.wedged),
		};

		ret = vgpuh_control_send(peer, &msg, sizeof(msg));
	}
	return ret;
}

int vgpu_grant_announce(struct vgpu_peer *peer)
{
	struct vgpu_grant *grant;
	bool revoked;
	int ret = 0;

	while (!ret && (grant = grant_next_news(peer, &revoked))) {
		if (revoked) {
			struct vgpu_export_del msg = {
				.hdr = VGPU_HDR(sizeof(msg), VGPU_MSG_EXPORT_DEL, 0),
				.export = cpu_to_le32(grant->id),
			};

			ret = vgpuh_control_send(peer, &msg, sizeof(msg));
		} else {
			struct vgpu_export_add msg = grant->export->msg;

			msg.export = cpu_to_le32(grant->id);
			ret = vgpuh_control_send(peer, &msg, sizeof(msg));
		}
		vgpu_grant_put(grant);
	}
	/* Files are sent first: a guest reads them when it gets an EXPORT_CHANGE. */
	return ret ?: vgpu_file_announce(peer) ?: grant_send_changes(peer);
}
