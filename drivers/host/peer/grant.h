/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Exports: device files that the host offers; and grants: what one peer may do with one of them.
 */
#ifndef _VGPU_HOST_GRANT_H
#define _VGPU_HOST_GRANT_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/path.h>
#include <linux/types.h>

#include "peer/denial.h"
#include "policy.h"

struct file;
struct vgpu_peer;
struct vgpu_tally;
struct vgpuh_device;
struct vgpuh_share;

struct vgpuh_export {
	struct kref ref;
	struct list_head node;
	u32 id;
	u32 flags;
	u32 kind;
	struct path path;
	dev_t rdev;
	/* True if the next agent has not adopted the export yet; protected by agent->lock. */
	bool stale;
	/* The message that tells guests of the export; each grant puts its own number in. */
	struct vgpu_export_add msg;
	/*
	 * True if the process that offered the export has CAP_SYS_ADMIN. Only then can the export
	 * lend this capability to a guest's call (ioctl_lends_admin()).
	 */
	bool admin;
	/* Device that guests share; NULL: no ioctl of the export gives it work. */
	struct vgpuh_device *device;
	/* Array of the keys of these ioctls (struct vgpu_policy), and number of its entries. */
	u32 *submits;
	u32 nr_submits;

	/* Mutex that protects the fields below; taken inside peer->lock. */
	struct mutex files_lock;
	/* List of struct vgpu_host_file, sorted by version. */
	struct list_head files;
	u64 files_version;
};

/* Uevents of an export that a guest is not notified of yet; @flags 0: none. */
struct vgpu_change {
	u32 flags;
	u32 connector;
	u32 property;
	u32 wedged;
};

/* The rights of one peer to one export. */
struct vgpu_grant {
	struct kref ref;
	struct list_head node;
	struct vgpuh_export *export;
	u32 id;
	struct vgpu_policy policy;
	bool announced;
	bool revoked;
	/* True if the agent was taken over and has not adopted the grant. */
	bool stale;
	/* True once open files are taken as well; set with peer->lock held, read by READ_ONCE(). */
	bool cut;
	/* Uevents since the last EXPORT_CHANGE; protected by peer->lock. */
	struct vgpu_change change;
	/* Version of the newest file that was sent to the peer; protected by peer->lock. */
	u64 files_sent;
	/* Share of the peer's guest in the export's device; NULL: there is no device. */
	struct vgpuh_share *share;
	/* Mutex of opens of a card whose master the peer may not be; protects the next field. */
	struct mutex beside_lock;
	/* Time in nanoseconds before which none of these opens may begin. */
	u64 beside_from;
	/* Counts of the ioctls that @policy, or a rule for the driver, denied. */
	struct vgpu_denials denials;
	/* Tally of the guest and the export, which is the guest's; NULL: it is not counted. */
	struct vgpu_tally *tally;
	/* List of ioctls that @policy points to. */
	u32 ioctls[];
};

void vgpuh_export_put(struct vgpuh_export *export);

/*
 * Find the grant with number @id, unless it is revoked.
 * Return: the grant with a reference, or NULL.
 */
struct vgpu_grant *vgpu_grant_find(struct vgpu_peer *peer, u32 id);
void vgpu_grant_get(struct vgpu_grant *grant);
void vgpu_grant_put(struct vgpu_grant *grant);
struct file *vgpu_grant_open(struct vgpu_grant *grant, u32 flags);

#endif /* _VGPU_HOST_GRANT_H */
