/* SPDX-License-Identifier: GPL-2.0-only */
/* Denials: counts of the ioctls that a grant's lists, or rules for its driver, deny. */
#ifndef _VGPU_HOST_DENIAL_H
#define _VGPU_HOST_DENIAL_H

#include <linux/spinlock.h>
#include <linux/types.h>

#include <uapi/linux/vgpu_host.h>

/**
 * struct vgpu_denials - counts of denied ioctls, by their numbers
 * @lock: spinlock that protects this struct; nothing is taken inside it
 * @nr: number of entries of @list, which are never removed
 * @others_denied: number of denied ioctls that @list has no room for
 * @others_audited: number of ioctls that @list has no room for and that an audit let through
 * @list: array of the counts, in the order in which the ioctls were made first
 */
struct vgpu_denials {
	spinlock_t lock;
	u32 nr;
	u64 others_denied;
	u64 others_audited;
	struct vgpu_host_denial list[VGPU_HOST_DENIALS_MAX];
};

void vgpu_denials_init(struct vgpu_denials *denials);
/**
 * vgpu_denial_count - count a denied ioctl
 * @denials: counts of the grant
 * @ioctl: key of the ioctl, as in lists
 * @what: denied part of the argument (struct vgpu_nvidia_look); 0: the ioctl as such
 * @audited: true if the ioctl was let through
 */
void vgpu_denial_count(struct vgpu_denials *denials, u32 ioctl, u32 what, bool audited);
/*
 * Copy the counts out. @args: in: address of the caller's array and its length; out: the rest.
 * Return: 0, -ENOMEM or -EFAULT.
 */
int vgpu_denials_copy(struct vgpu_denials *denials, struct vgpu_host_denials *args);

#endif /* _VGPU_HOST_DENIAL_H */
