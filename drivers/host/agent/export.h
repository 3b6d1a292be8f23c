/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The agent's list of exports, and the grants of the peers. The structs of exports and grants are
 * in peer/grant.h.
 */
#ifndef _VGPU_HOST_EXPORT_H
#define _VGPU_HOST_EXPORT_H

#include <uapi/linux/vgpu_host.h>

struct vgpu_agent;
struct vgpuh_export;
struct vgpu_host_export_add;
struct vgpu_host_export_change;
struct vgpu_host_denials;
struct vgpu_host_grant;
struct vgpu_peer;

/*
 * The caller of the next two functions holds agent->lock. vgpuh_export_add() returns the export's
 * number, or a negative errno.
 */
int vgpuh_export_add(struct vgpu_agent *agent, const struct vgpu_host_export_add *args);
int vgpuh_export_del(struct vgpu_agent *agent, u32 id);
/* Revoke an export from all peers, and delete it. Context: agent->lock is held. */
void vgpuh_export_end(struct vgpu_agent *agent, struct vgpuh_export *export);
/* Queue a uevent for all peers that have a grant for the export. Context: agent->lock is held. */
int vgpuh_export_change(struct vgpu_agent *agent, const struct vgpu_host_export_change *args);

int vgpu_grant_add(struct vgpu_peer *peer, struct vgpuh_export *export,
		   const struct vgpu_host_grant *args);
/* @now: true if open files are taken as well. */
int vgpu_grant_revoke(struct vgpu_peer *peer, const struct vgpuh_export *export, bool now);
/* Copy the counts of denied ioctls of the peer's grant for args->export to the caller. */
int vgpu_grant_denials(struct vgpu_peer *peer, struct vgpu_host_denials *args);
void vgpu_grant_drop_all(struct vgpu_peer *peer);

#endif /* _VGPU_HOST_EXPORT_H */
