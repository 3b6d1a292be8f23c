/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Devices whose memory may be a host's window.
 */
#ifndef VGPU_GUEST_WINDOW_DEVICE_H
#define VGPU_GUEST_WINDOW_DEVICE_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/rwsem.h>
#include <linux/types.h>

#include "uapi/linux/vgpu_wire.h"

struct device;
struct vgpu_window;
struct vgpu_window_device;

/* Return: number of the window that the device is now, 0: it is none. */
typedef u64 vgpu_window_id_fn(const struct vgpu_window_device *device);

/**
 * struct vgpu_window_device - a device with a window
 * @ref: the driver's, and the window's while that is open
 * @node: in the list of all, under its lock like @window
 * @start: where the memory is
 * @size: bytes
 * @id: which window it is, called until the device is removed
 * @header: first page of the memory, where slots have their ids; NULL: it has no slots
 * @dev: for what is said about it
 * @window: who uses it, or NULL. One of before may keep ranges for mappings that
 *	give SIGBUS, and slots
 * @slots: slots that are used, one bit each
 * @touch: read: while memory of slots is touched; written: before it goes
 * @removed: it has gone; something else may be there
 */
struct vgpu_window_device {
	struct kref ref;
	struct list_head node;
	phys_addr_t start;
	u64 size;
	vgpu_window_id_fn *id;
	void __iomem *header;
	struct device *dev;
	struct vgpu_window *window;
	DECLARE_BITMAP(slots, VGPU_ARENA_SLOTS_MAX);
	struct rw_semaphore touch;
	bool removed;
};

/* Return: one that nobody knows of yet, or NULL: no memory. */
struct vgpu_window_device *vgpu_window_device_alloc(struct device *dev, phys_addr_t start, u64 size,
						    vgpu_window_id_fn *id);
/* The driver's reference ends; @header goes with the last one. */
void vgpu_window_device_put(struct vgpu_window_device *device);
/* Windows may be in it from now on, and no more when the second returns. */
void vgpu_window_device_add(struct vgpu_window_device *device);
void vgpu_window_device_remove(struct vgpu_window_device *device);

#endif /* VGPU_GUEST_WINDOW_DEVICE_H */
