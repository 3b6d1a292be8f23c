/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Announcements: news of grants for the guests.
 */
#ifndef _VGPU_HOST_ANNOUNCE_H
#define _VGPU_HOST_ANNOUNCE_H

struct vgpu_peer;

/*
 * Notify the guest of new and revoked grants, and of changed files and uevents of its exports.
 * Context: the peer's sender.
 * Return: 0 or an error of the connection.
 */
int vgpu_grant_announce(struct vgpu_peer *peer);

#endif /* _VGPU_HOST_ANNOUNCE_H */
