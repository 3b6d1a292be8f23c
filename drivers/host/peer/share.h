/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shares of guests in devices.
 */
#ifndef _VGPU_HOST_SHARE_H
#define _VGPU_HOST_SHARE_H

#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/types.h>

#include "arbiter.h"

struct vgpuh_device;

/**
 * struct vgpuh_share - share of a guest in a device
 * @node: list entry in device->shares; protected by devices_lock (share.c)
 * @device: device
 * @cid: context id of the guest
 * @port: port of the host to which the guest connects
 * @grants: number of grants that have this share; protected by devices_lock
 * @flow: flow of the guest; protected by device->lock
 * @pending: list of struct vgpuh_pending, oldest first; protected by device->lock
 * @nr_pending: number of its entries
 * @fences: the fences that these wait for, by their addresses
 */
struct vgpuh_share {
	struct list_head node;
	struct vgpuh_device *device;
	u32 cid;
	u32 port;
	unsigned int grants;
	struct vgpu_flow flow;
	struct list_head pending;
	unsigned int nr_pending;
	DECLARE_HASHTABLE(fences, 6);
};

/*
 * Find or make a device by the number that its nodes share, or if that is 0 by @rdev.
 * Return: the device with a reference, or NULL if there is no memory.
 */
struct vgpuh_device *vgpuh_device_get(u64 number, dev_t rdev);
/* Put a device, of which no grant has a share any more. It may be NULL. */
void vgpuh_device_put(struct vgpuh_device *device);

/*
 * Find or make the share of a guest, and set its terms. Return: the share, which counts one more
 * grant; or NULL if there is no memory.
 */
struct vgpuh_share *vgpuh_share_get(struct vgpuh_device *device, u32 cid, u32 port,
				    const struct vgpu_terms *terms);
/* Count one grant less. What the guest owes is remembered for some time. @share may be NULL. */
void vgpuh_share_put(struct vgpuh_share *share);

/* Change the terms of a guest at all devices. */
void vgpuh_shares_change(u32 cid, u32 port, const struct vgpu_terms *terms);
/* Return the time in nanoseconds that a guest has been charged at all devices. */
u64 vgpuh_shares_used(u32 cid, u32 port);

#endif /* _VGPU_HOST_SHARE_H */
