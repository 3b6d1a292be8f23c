// SPDX-License-Identifier: MIT
/* Grants: the rights of guests to exports, of which the host module or the engines are told. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device/exporter.h"
#include "device/nvidia.h"
#include "export/denial.h"
#include "export/export.h"
#include "export/grant.h"
#include "export/list.h"
#include "guest/listener.h"
#include "guest/peer.h"
#include "host/hostdev.h"
#include "shared/log.h"

bool grant_fits(const struct grant *grant, const struct peer *peer)
{
	return grant->cid == peer->cid && grant->port == peer->port &&
	       (grant->any_port || peer->trusted_port);
}

/*
 * Grant an export to a connected peer. A peer that is about to go gets the grant when it
 * connects again. A card of NVIDIA's may be granted later (see exporter.h). Return: 0, or a
 * negative errno with words in @answer.
 */
static int grant_tell(struct export *export, struct grant *grant, struct peer *peer,
		      struct answer *answer)
{
	struct vgpu_host_grant arg = {
		.flags = (grant->read_only ? VGPU_HOST_GRANT_READ_ONLY : 0) |
			 (export->spec.audit ? VGPU_HOST_GRANT_AUDIT : 0),
		.peer = peer->number,
		.export = export->number,
	};
	static struct ioctl_list list;
	int ret;

	if (!export->number || peer->state != PEER_UP || !grant_fits(grant, peer))
		return 0;
	if (export->device.kind == VGPU_EXPORT_NVIDIA && nvidia_is_card(export->device.rdev) &&
	    !exporter_is_ready(export->spec.path, export->device.rdev))
		return 0;
	ret = export_list(&export->spec, &export->device, grant->read_only, &list, answer);
	if (ret)
		return ret;
	arg.ioctls = (uintptr_t)list.keys;
	arg.nr_ioctls = list.nr;
	arg.ioctls_deny = list.deny;
	ret = hostdev_grant(&arg);
	if (!ret && export->spec.audit)
		audits_begin();
	if (!ret || ret == -ENODEV || ret == -ENOENT)
		return 0;
	return answer_say(answer, ret, "%s refused to let guest %u:%u use %s: %s",
			  hostdev_is_engine() ? "its engine" : "the host module", peer->cid,
			  peer->port, export->spec.name, strerror(-ret));
}

/* Grant an export when no client waits for the answer: a failure is logged. */
static void grant_tell_or_log(struct export *export, struct grant *grant, struct peer *peer)
{
	struct answer answer;

	if (grant_tell(export, grant, peer, &answer))
		log_limited(peer->cid, peer->port, "%s", answer.text);
}

bool grant_same_terms(const struct grant *grant, bool any_port, bool read_only)
{
	return grant->any_port == any_port && grant->read_only == read_only;
}

int grant_taken(const struct export *export, const struct grant *grant, struct answer *answer)
{
	return answer_say(answer, -EEXIST, "%s is exported to guest %u:%u with other options: unexport the name first",
			  export->spec.name, grant->cid, grant->port);
}

int export_grant_add(struct export *export, uint32_t cid, uint32_t port, bool any_port,
		     bool read_only, struct answer *answer)
{
	struct grant *grant = export_grant(export, cid, port);
	struct peer *peer;
	int ret;

	if (grant)
		return grant_same_terms(grant, any_port, read_only) ? 0 :
		       grant_taken(export, grant, answer);
	ret = listener_get(port);
	if (ret)
		return answer_say(answer, ret, "cannot listen on vsock port %u: %s", port,
			   strerror(-ret));
	grant = calloc(1, sizeof(*grant));
	if (!grant) {
		listener_put(port);
		return answer_say(answer, -ENOMEM, "out of memory");
	}
	grant->cid = cid;
	grant->port = port;
	grant->any_port = any_port;
	grant->read_only = read_only;
	TAILQ_INSERT_TAIL(&export->grants, grant, node);
	LIST_FOREACH(peer, &peers, node) {
		ret = grant_tell(export, grant, peer, answer);
		if (ret) {
			export_grant_del(export, grant);
			return ret;
		}
	}
	return 0;
}

/* Revoke the export from the peer, if the peer has it by this grant. */
static void grant_revoke(struct export *export, const struct grant *grant, struct peer *peer)
{
	if (export->number && peer->state == PEER_UP && grant_fits(grant, peer))
		hostdev_revoke(peer->number, export->number, false);
}

void export_grant_cut(struct export *export, const struct grant *grant)
{
	struct peer *peer;

	LIST_FOREACH(peer, &peers, node)
		if (export->number && peer->state == PEER_UP && grant_fits(grant, peer))
			hostdev_revoke(peer->number, export->number, true);
}

void export_grant_del(struct export *export, struct grant *grant)
{
	struct peer *peer;

	LIST_FOREACH(peer, &peers, node)
		grant_revoke(export, grant, peer);
	TAILQ_REMOVE(&export->grants, grant, node);
	listener_put(grant->port);
	free(grant);
	exporters_review();
}

int export_grant_change(struct export *export, struct grant *grant, bool any_port,
			bool read_only, struct answer *answer)
{
	const bool anew = grant->read_only != read_only;
	const struct grant old = *grant;
	struct peer *peer;
	int ret;

	grant->any_port = any_port;
	grant->read_only = read_only;
	LIST_FOREACH(peer, &peers, node) {
		if (!anew && grant_fits(&old, peer) == grant_fits(grant, peer))
			continue;
		grant_revoke(export, &old, peer);
		ret = grant_tell(export, grant, peer, answer);
		if (ret) {
			export_grant_del(export, grant);
			return ret;
		}
	}
	exporters_review();
	return 0;
}

bool exports_for_guest(uint32_t cid, uint32_t port, bool *any_port)
{
	struct export *export;
	struct grant *grant;
	bool found = false;

	*any_port = false;
	TAILQ_FOREACH(export, &exports, node) {
		grant = export_grant(export, cid, port);
		if (grant) {
			found = true;
			*any_port |= grant->any_port;
		}
	}
	return found;
}

void exports_grant_all(struct peer *peer)
{
	struct export *export;
	struct grant *grant;

	TAILQ_FOREACH(export, &exports, node)
		TAILQ_FOREACH(grant, &export->grants, node)
			grant_tell_or_log(export, grant, peer);
}

/* Shadows of a guest that has disconnected may still use devices. */
static bool peer_is_there(const struct peer *peer)
{
	return peer->state == PEER_UP || sessions_count(peer, false);
}

bool exports_for_device(dev_t rdev)
{
	struct export *export;
	struct grant *grant;
	struct peer *peer;

	TAILQ_FOREACH(export, &exports, node) {
		if (!export->number || export->device.rdev != rdev)
			continue;
		TAILQ_FOREACH(grant, &export->grants, node)
			LIST_FOREACH(peer, &peers, node)
				if (grant_fits(grant, peer) && peer_is_there(peer))
					return true;
	}
	return false;
}

void export_grant_all(struct export *export)
{
	struct grant *grant;
	struct peer *peer;

	TAILQ_FOREACH(grant, &export->grants, node)
		LIST_FOREACH(peer, &peers, node)
			grant_tell_or_log(export, grant, peer);
}

void exports_grant_device(dev_t rdev)
{
	struct export *export;

	TAILQ_FOREACH(export, &exports, node)
		if (export->number && export->device.rdev == rdev)
			export_grant_all(export);
}
